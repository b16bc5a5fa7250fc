// The editor of queries: a text area with marks where something is wrong, completion of what the data have, and what can
// be done with the text.

import { Refused, ask } from "./api.js";
import { el, table, text, whole } from "./dom.js";
import { full, short } from "./terms.js";

const EXAMPLE = `PREFIX : <http://example.org/>
REGISTER RSTREAM :mine AS
SELECT ?s ?o
FROM NAMED WINDOW :w ON :stream [RANGE PT10S STEP PT1S]
WHERE { WINDOW :w { ?s :p ?o } }
`;
const KEYWORDS = ["PREFIX", "REGISTER RSTREAM", "REGISTER ISTREAM", "REGISTER DSTREAM", "SELECT", "CONSTRUCT", "ASK", "FROM NAMED WINDOW", "RANGE PT10S STEP PT1S",
  "ELEMENTS 10", "WHERE", "WINDOW", "GRAPH", "FILTER", "OPTIONAL", "MINUS", "UNION", "BIND", "VALUES", "EXISTS", "GROUP BY", "HAVING", "ORDER BY", "LIMIT",
  "COUNT", "AVG", "MIN", "MAX", "SUM"];
const MOST_OFFERED = 50;

export class Editor {
  /** `registered(name)` is told of a query that was registered, `failed(error)` what no answer of the server explains. */
  constructor(room, registered, failed) {
    this.registered = registered;
    this.failed = failed;
    this.words = { prefixes: {}, predicates: [], graphs: [], streams: [] };
    this.offers = [];
    this.chosen = 0;
    this.flaw = null;
    this.behind = el("pre", { "aria-hidden": "true" });
    this.area = el("textarea", {
      id: "query-text", spellcheck: false, rows: 16, value: EXAMPLE, "aria-describedby": "problems", "aria-autocomplete": "list", "aria-controls": "complete",
      oninput: () => this.changed(true), onkeydown: (event) => this.key(event), onscroll: () => { this.behind.scrollTop = this.area.scrollTop; }, onblur: () => setTimeout(() => this.close(), 150),
    });
    this.area.setAttribute("autocapitalize", "off");
    this.list = el("ul", { id: "complete", role: "listbox", "aria-label": "Completions", hidden: true });
    this.problems = el("div", { id: "problems", role: "status" });
    this.run = el("button", { class: "main", type: "button", id: "register", onclick: () => this.submit() }, "Register");
    this.streams = el("span", {});
    this.result = el("div", { id: "result" });
    room.append(
      el("label", { for: "query-text" }, "A query in RSP-QL or SPARQL. ", el("span", { class: "quiet" }, "Ctrl+Space completes, Ctrl+Enter registers or asks.")),
      el("div", { class: "write" }, this.behind, this.area, this.list), this.problems, el("div", { class: "bar" }, this.run, this.streams), this.result);
    document.addEventListener("selectionchange", () => { if (this.offers.length && this.area.selectionStart !== this.at) this.close(); });
    this.changed(false);
  }

  set value(said) { this.area.value = said; this.changed(false); }

  // -- what is wrong ------------------------------------------------------------------------------------

  changed(typed) {
    this.flaw = null;
    this.mark();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), typed ? 350 : 0);
    if (typed) this.offer(false);
  }

  async check() {
    const query = this.area.value;
    if (!query.trim() || !this.ready) return;
    let found;
    try { found = await ask("POST", "/check", { query }); } catch (error) { this.failed(error); return; }
    if (query !== this.area.value) return;
    this.flaw = found.ok ? null : found.problem;
    this.found = found;
    this.mark();
    this.tell();
  }

  tell() {
    const { found, flaw } = this;
    if (flaw !== null) {
      const place = flaw.line === undefined ? null : el("button", { type: "button", id: "go-to-flaw", onclick: () => this.goTo(flaw.line, flaw.column) }, `line ${flaw.line}, column ${flaw.column}`);
      this.problems.replaceChildren(el("p", { class: "bad" }, place, place ? " " : "", flaw.detail));
      if (flaw.expected?.length) this.problems.append(el("p", { class: "quiet" }, `expected: ${flaw.expected.slice(0, 12).join(", ")}`));
      this.streams.replaceChildren();
      return;
    }
    text(this.run, found.continuous ? "Register" : "Ask");
    this.problems.replaceChildren(
      el("p", { class: "good" }, found.continuous ? `A continuous ${found.form} query over ${found.streams.length} stream(s).` : `A ${found.form} query over the static data, asked once.`),
      ...found.warnings.map((one) => el("p", { class: "warn" }, `line ${one.line}, column ${one.column}: ${one.message}`)));
    this.streams.replaceChildren(...found.unknown_streams.map((iri) => el("button", { type: "button", onclick: () => this.addStream(iri) }, `Register the stream ${iri}`)));
  }

  goTo(line, column) {
    const at = this.offset(line, column);
    this.area.focus();
    this.area.setSelectionRange(at, at);
  }

  /** The place of a line and column, which the server counts in code points, in the text, which counts in UTF-16. */
  offset(line, column) {
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    return Math.min(before + [...(lines[line - 1] ?? "")].slice(0, Math.max(0, column - 1)).join("").length, this.area.value.length);
  }

  /** Puts the text behind the area once more, with a mark at the flaw. */
  mark() {
    const said = this.area.value;
    if (this.flaw === null || this.flaw.line === undefined) { this.behind.replaceChildren(`${said}\n`); this.area.removeAttribute("aria-invalid"); return; }
    const from = this.offset(this.flaw.line, this.flaw.column);
    const word = /^(?:[\w:?<>/#.-]+|\s*\S|\s)/u.exec(said.slice(from))?.[0] ?? " ";
    this.behind.replaceChildren(said.slice(0, from), el("mark", {}, said.slice(from, from + word.length) || " "), `${said.slice(from + word.length)}\n`);
    this.behind.scrollTop = this.area.scrollTop;
    this.area.setAttribute("aria-invalid", "true");
  }

  // -- completion ---------------------------------------------------------------------------------------

  async load() {
    this.ready = true;
    try { this.words = await ask("GET", "/vocabulary"); } catch (error) { this.failed(error); return; }
    this.names = this.words.predicates.map(({ iri, triples, streams }) => {
      const [namespace, prefix] = Object.entries(this.words.prefixes).map(([p, n]) => [n, p]).filter(([n]) => iri.startsWith(n)).sort((a, b) => b[0].length - a[0].length)[0] ?? [null, null];
      const from = [streams.length ? "in a stream" : "", triples ? `${whole(triples)} triples` : ""].filter(Boolean).join(", ");
      const local = namespace === null ? iri : iri.slice(namespace.length);
      const plain = namespace !== null && /^[\w-]*$/.test(local);
      return { label: plain ? `${prefix}:${local}` : `<${iri}>`, detail: from || iri, prefix: plain ? prefix : null, namespace, local };
    });
    this.check();
  }

  offer(asked) {
    const at = this.area.selectionStart, before = this.area.value.slice(0, at);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const prefixLine = /^\s*PREFIX\s+([\w-]*)$/i.exec(line);
    const iri = /<([^<>\s]*)$/.exec(line), name = /(?:^|[\s({;.^/|])((?:[A-Za-z][\w-]*)?:[\w-]*)$/.exec(line), word = /(?:^|[\s({;.^/|])([A-Za-z]\w*)$/.exec(line);
    let offers = [], typed = "";
    if (prefixLine) {
      typed = prefixLine[1];
      offers = Object.entries(this.words.prefixes).filter(([prefix]) => prefix.startsWith(typed)).map(([prefix, namespace]) => ({ label: `${prefix}: <${namespace}>`, detail: "", prefix: null }));
    } else if (iri) {
      typed = `<${iri[1]}`;
      const known = [...this.words.streams.map((one) => [one, "stream"]), ...this.words.graphs.map((one) => [one, "graph"]), ...this.words.predicates.map((one) => [one.iri, "predicate"])];
      offers = known.filter(([one]) => one.includes(iri[1])).map(([one, kind]) => ({ label: `<${one}>`, detail: kind, prefix: null }));
    } else if (name) {
      typed = name[1];
      const [prefix, local] = typed.split(":");
      const declared = this.declared();
      const namespace = declared.get(prefix) ?? this.words.prefixes[prefix];
      offers = (this.names ?? []).filter((one) => one.namespace === namespace && one.local.toLowerCase().startsWith(local.toLowerCase())).map((one) => ({ ...one, label: `${prefix}:${one.local}`, prefix }));
    } else if (word && (asked || word[1].length > 1)) {
      typed = word[1];
      const low = typed.toLowerCase();
      offers = [...KEYWORDS.filter((one) => one.startsWith(typed.toUpperCase()) && one !== typed).map((one) => ({ label: one, detail: "", prefix: null })),
        ...(this.names ?? []).filter((one) => one.prefix?.startsWith(low) || one.local.toLowerCase().includes(low)).map(this.writable())];
    } else if (asked) offers = (this.names ?? []).map(this.writable());
    this.typed = typed;
    this.at = at;
    this.open(offers.filter((one) => one.label !== typed).slice(0, MOST_OFFERED));
  }

  /** The prefixes that the text declares. Comments and IRIs are found as well, so that nothing in them counts. */
  declared() {
    const found = this.area.value.matchAll(/#.*|\bPREFIX\s+([^\s:<>]*):\s*<([^>]*)>|<[^<>\s]*>/gi);
    return new Map([...found].filter(([, , namespace]) => namespace !== undefined).map(([, prefix, namespace]) => [prefix, namespace]));
  }

  /** How names are offered so that they mean the same in this text, which may declare their prefixes as something else. */
  writable() {
    const declared = this.declared();
    return (one) => {
      if (one.prefix === null || (declared.get(one.prefix) ?? one.namespace) === one.namespace) return one;
      const other = [...declared.keys()].find((prefix) => declared.get(prefix) === one.namespace);
      return other === undefined ? { ...one, label: `<${one.namespace}${one.local}>`, prefix: null } : { ...one, label: `${other}:${one.local}`, prefix: other };
    };
  }

  open(offers) {
    this.offers = offers;
    this.chosen = 0;
    this.list.hidden = offers.length === 0;
    if (!offers.length) { this.area.removeAttribute("aria-activedescendant"); return; }
    this.list.replaceChildren(...offers.map((one, n) => el("li", { id: `offer-${n}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); this.accept(n); } },
      one.label, " ", el("small", {}, one.detail ?? ""))));
    const lines = this.area.value.slice(0, this.area.selectionStart).split("\n");
    this.list.style.top = `${Math.min(lines.length * 20 + 12 - this.area.scrollTop, this.area.clientHeight)}px`;
    this.list.style.left = `${Math.min(lines.at(-1).length * 8, Math.max(0, this.area.clientWidth - 300))}px`;
    this.choose(0);
  }

  close() { this.open([]); }

  choose(place) {
    this.list.children[this.chosen]?.setAttribute("aria-selected", "false");
    this.chosen = (place + this.offers.length) % this.offers.length;
    const item = this.list.children[this.chosen];
    item.setAttribute("aria-selected", "true");
    item.scrollIntoView({ block: "nearest" });
    this.area.setAttribute("aria-activedescendant", item.id);
  }

  /** Puts an offer in the place of what was typed; false where that is not before the caret any more. */
  accept(place) {
    const one = this.offers[place], { area } = this, at = area.selectionStart;
    if (!area.value.slice(0, at).endsWith(this.typed)) { this.close(); return false; }
    area.setRangeText(one.label, at - this.typed.length, at, "end");
    if (one.prefix !== null && one.namespace && !this.declared().has(one.prefix)) {
      const line = `PREFIX ${one.prefix}: <${one.namespace}>\n`, end = area.selectionEnd + line.length;
      area.value = line + area.value;
      area.setSelectionRange(end, end);
    }
    this.close();
    this.changed(false);
    return true;
  }

  key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.close(); this.submit(); return; }
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); this.offer(true); return; }
    if (!this.offers.length) return;
    if (event.key === "ArrowDown") this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp") this.choose(this.chosen - 1);
    else if (event.key === "Enter" || event.key === "Tab") { if (!this.accept(this.chosen)) return; }
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  // -- what is done -------------------------------------------------------------------------------------

  async addStream(iri) {
    try { await ask("POST", "/streams", { iri }); } catch (error) { this.wrong(error); return; }
    await this.load();
  }

  async submit() {
    const query = this.area.value;
    this.run.disabled = true;
    try {
      this.found = await ask("POST", "/check", { query });
      if (!this.found.ok) { this.flaw = this.found.problem; this.mark(); this.tell(); return; }
      if (this.found.continuous) {
        const made = await ask("POST", "/queries", { query });
        this.registered(made.name);
      } else this.answer(await ask("POST", "/sparql", query, { "Content-Type": "application/sparql-query", Accept: ["CONSTRUCT", "DESCRIBE"].includes(this.found.form) ? "application/n-triples" : "application/sparql-results+json" }));
    } catch (error) { this.wrong(error); } finally { this.run.disabled = false; }
  }

  wrong(error) {
    if (!(error instanceof Refused) || error.status === 401) { this.failed(error); return; }
    this.flaw = error.problem ?? { detail: error.message };
    this.mark();
    this.tell();
  }

  answer(found) {
    if (found === null) { this.result.replaceChildren(el("p", {}, "Answered, in a format that is not shown here.")); return; }
    if ("boolean" in found) { this.result.replaceChildren(el("p", {}, `The answer is ${found.boolean}.`)); return; }
    const rows = found.results.bindings, vars = found.head.vars;
    const shown = rows.slice(0, 500).map((row) => vars.map((name) => {
      if (!row[name]) return null;
      const term = [row[name].type, row[name].value, row[name]["xml:lang"] ? `@${row[name]["xml:lang"]}` : row[name].datatype ?? null];
      return el("span", { title: term[0] === "triple" ? "" : full(term) }, term[0] === "triple" ? JSON.stringify(term[1]) : short(term));
    }));
    this.result.replaceChildren(el("p", {}, `${whole(rows.length)} answers${rows.length > 500 ? ", the first 500:" : ":"}`), table("Answers", vars.map((name) => `?${name}`), shown));
  }
}
