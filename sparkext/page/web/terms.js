// Terms for reading: IRIs by prefixes, numbers as numbers, places as coordinates.

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS = new Set(["integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger",
  "positiveInteger", "unsignedInt", "unsignedLong", "unsignedShort", "negativeInteger", "nonPositiveInteger"].map((name) => XSD + name));
let namespaces = []; // [namespace, prefix], the longest first

export function setPrefixes(prefixes) {
  namespaces = Object.entries(prefixes).map(([prefix, iri]) => [iri, prefix]).sort((a, b) => b[0].length - a[0].length);
}

/** An IRI by its prefix, or as it is; null for one without a prefix. */
export function prefixed(iri) {
  for (const [namespace, prefix] of namespaces) {
    if (iri.startsWith(namespace)) {
      const local = iri.slice(namespace.length);
      if (/^[\w][\w-]*$/.test(local)) return `${prefix}:${local}`;
    }
  }
  return null;
}

/** A term in short. */
export function short(term) {
  if (term === null || term === undefined) return "";
  const [kind, value, extra] = term;
  if (kind === "uri") return prefixed(value) ?? value;
  if (kind === "bnode") return `_:${value}`;
  if (kind === "triple") return `<< ${value.map(short).join(" ")} >>`;
  return extra?.startsWith("@") ? `${value} ${extra}` : value;
}

/** A term in full, for a tip. */
export function full(term) {
  if (term === null || term === undefined) return "unbound";
  const [kind, value, extra] = term;
  if (kind === "uri") return `<${value}>`;
  if (kind === "literal") return `"${value}"${extra ? (extra.startsWith("@") ? extra : `^^<${extra}>`) : ""}`;
  return short(term);
}

/** Whether a term is a number, by its datatype; INF and NaN are. */
export const isNumber = (term) => term !== null && term !== undefined && term[0] === "literal" && NUMBERS.has(term[2]);

/** The finite number that a term is, NaN for what is none. */
export function number(term) {
  const found = isNumber(term) ? Number(term[1]) : NaN;
  return Number.isFinite(found) ? found : NaN;
}

const LAT = /^(.*[_-]?)?lat(itude)?$/i, LONG = /^(.*[_-]?)?(lon|long|lng|longitude)$/i;
const POINT = /^(?:<[^>]*>\s*)?POINT\s*\(\s*(-?[\d.]+(?:e-?\d+)?)\s+(-?[\d.]+(?:e-?\d+)?)\s*\)$/i;

/** How to find [latitude, longitude] in rows of these variables, by a sample; null where there are none. */
export function placeOf(vars, rows) {
  const lat = vars.findIndex((name) => LAT.test(name)), long = vars.findIndex((name) => LONG.test(name));
  if (lat >= 0 && long >= 0) return { columns: [lat, long], of: (row) => [numeric(row[lat]), numeric(row[long])] };
  for (let column = 0; column < vars.length; column += 1) {
    const sample = rows.find((row) => row[column]);
    if (sample && sample[column][0] === "literal" && POINT.test(sample[column][1])) {
      return { columns: [column], of: (row) => {
        const found = row[column] && POINT.exec(row[column][1]);
        return found ? [Number(found[2]), Number(found[1])] : [NaN, NaN];
      } };
    }
  }
  return null;
}
const numeric = (term) => term ? Number(term[1]) : NaN;

/** The variables whose terms are numbers in a sample of rows. */
export function numericColumns(vars, rows) {
  return vars.map((name, column) => column).filter((column) => {
    const sample = rows.find((row) => row[column]);
    return sample !== undefined && isNumber(sample[column]);
  });
}
