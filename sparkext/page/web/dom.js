// Elements made by hand: what data say becomes text, never markup.

export const $ = (id) => document.getElementById(id);

/** An element with properties, attributes (named with a dash or in ATTRIBUTES) and children, which may be text. */
export function el(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || ATTRIBUTES.has(name)) made.setAttribute(name, value === true ? "" : value);
    else made[name] = value;
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return made;
}
const ATTRIBUTES = new Set(["role", "scope", "for", "colspan"]);

/** Sets a text only where it differs: what did not change is not laid out again. */
export function text(element, value) {
  const said = String(value);
  if (element.textContent !== said) element.textContent = said;
}

/** A list of names and values. */
export function facts(pairs) {
  return el("dl", {}, pairs.map(([name, value, kind]) =>
    el("div", {}, el("dt", {}, name), el("dd", { class: kind ?? "" }, String(value)))));
}

/** A table in a box that scrolls by itself and can be reached by keys. */
export function table(label, heads, rows) {
  return el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": label },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) =>
        el("td", { class: typeof cell === "number" ? "number" : "" },
          typeof cell === "number" ? whole(cell) : cell ?? "–")))))));
}

export const whole = (number) => Number.isInteger(number) ? number.toLocaleString("en") :
  number.toLocaleString("en", { maximumSignificantDigits: 4 });

/** A number in a range of numbers, with as many digits as tell the quarters of the range apart. */
export function within(number, span) {
  const digits = Math.max(0, 1 - Math.floor(Math.log10(span / 4)));
  if (digits > 15 || Math.abs(number) >= 1e21) return number.toExponential(3);
  return number.toLocaleString("en", { maximumFractionDigits: digits });
}

export function bytes(number) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (number >= 1000 && place < units.length - 1) { number /= 1000; place += 1; }
  return `${place ? number.toFixed(1) : number} ${units[place]}`;
}

/** A colour of the page by its name in the style sheet. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A canvas cleared and scaled to the screen's pixels: its context, width and height; null where it is not shown. */
export function drawing(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !height) return null;
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio), high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) { canvas.width = wide; canvas.height = high; }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  return { context, width, height };
}

/** Colours of lines and points, told apart in dark and light, also by people who see few of them (Okabe and Ito). */
export const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a63d2", "#7f7f7f"];

/** Calls once for each frame in which it was asked, also where the page is hidden and has no frames. */
export function batched(work) {
  let asked = false;
  const run = () => { asked = false; work(); };
  return () => {
    if (asked) return;
    asked = true;
    if (document.hidden) setTimeout(run, 250); else requestAnimationFrame(run);
  };
}

/** Draws a canvas again when its size or the colours of the page change; gives what ends that. */
export function redrawn(canvas, draw) {
  const sizes = new ResizeObserver(() => draw()), colours = matchMedia("(prefers-color-scheme: dark)");
  sizes.observe(canvas);
  colours.addEventListener("change", draw);
  return () => { sizes.disconnect(); colours.removeEventListener("change", draw); };
}
