// The page: which view is shown, which query is followed, and how the connection stands.

import { Answers } from "./answers.js";
import { Refused, ask, begin, currentToken, queryPath, setToken } from "./api.js";
import { $, el, facts, text, whole } from "./dom.js";
import { Editor } from "./editor.js";
import { planOf } from "./plan.js";
import { Story } from "./story.js";
import { Streams, aboutServer } from "./streams.js";
import { setPrefixes } from "./terms.js";

const STATE_MS = 1000, PLAN_MS = 3000;
const VIEWS = ["queries", "streams", "editor"];
let state = null;
let view = "queries";
let open = null; // the query that is shown: {name, answers, ..}
let lacking = true; // whether what `askOnce` asks for has to be asked for: at the start, and whenever the server was away
const connections = { state: ["connecting", ""], answers: null };

// -- connection -------------------------------------------------------------------------------------------

function connection(part, known, detail) {
  connections[part] = known === null ? null : [known, detail];
  const worst = ["token", "lost", "connecting"].map((one) => Object.values(connections).find((c) => c?.[0] === one)).find(Boolean);
  const [now, why] = worst ?? ["live", ""];
  const shown = $("connection");
  shown.dataset.state = now;
  text(shown, { token: "no token", lost: "connection lost, trying again", connecting: "connecting", live: "live" }[now]);
  shown.title = why ?? "";
}

function failed(error) {
  if (error instanceof Refused && error.status === 401 && error.used !== currentToken()) return;
  // A server that is starting refuses all (503), and one that comes back may have other data than it had.
  if (!(error instanceof Refused) || error.status === 503) lacking = true;
  if (error instanceof Refused && error.status === 401) askToken("The server does not take this token.");
  else if (!(error instanceof Refused)) connection("state", "lost", error.message);
}

function askToken(said) {
  connection("state", "token", said);
  const dialog = $("token-dialog");
  if (said) text($("token-said"), said);
  if (!dialog.open) dialog.showModal();
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  setToken($("token").value);
  $("token").value = "";
  $("token-dialog").close();
  start();
});

// -- views ------------------------------------------------------------------------------------------------

function route() {
  const [, first, rest] = /^#\/(\w+)(?:\/(.*))?$/.exec(location.hash) ?? [null, "queries", undefined];
  view = VIEWS.includes(first) ? first : "queries";
  for (const one of VIEWS) {
    $(one).hidden = one !== view;
    const link = $(`go-${one}`);
    if (one === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (view === "queries") select(rest === undefined ? null : decodeURIComponent(rest));
  if (view === "editor" && !lacking) editor.load();
  if (state !== null) show();
}

const place = (name) => `#/queries/${encodeURIComponent(name)}`;
const streams = new Streams($("stream-cards"), $("kept"));
const editor = new Editor($("editor-room"), (name) => { location.hash = place(name); }, failed);

// -- queries ----------------------------------------------------------------------------------------------

const listed = new Map(); // name -> {item, link, small, said}

function list() {
  const wanted = $("filter").value.toLowerCase();
  const there = new Set(state.queries.map((query) => query.name));
  for (const [name, one] of listed) if (!there.has(name)) { one.item.remove(); listed.delete(name); }
  for (const query of state.queries) {
    let one = listed.get(query.name);
    if (one === undefined) {
      const small = el("small"), link = el("a", { href: place(query.name) }, el("span", {}, query.name), small);
      one = { item: el("li", {}, link), link, small };
      listed.set(query.name, one);
      $("query-list").append(one.item);
    }
    text(one.small, `${whole(query.answers)} answers, last ${(query.last_seconds * 1e3).toFixed(1)} ms` +
      (query.failures ? `, ${whole(query.failures)} failures` : "") + (query.lag_seconds > 1 ? `, ${query.lag_seconds.toFixed(1)} s behind` : ""));
    one.item.hidden = wanted !== "" && !query.name.toLowerCase().includes(wanted);
    if (query.name === open?.name) one.link.setAttribute("aria-current", "true"); else one.link.removeAttribute("aria-current");
  }
  $("no-queries").hidden = state.queries.length > 0;
}

$("filter").addEventListener("input", () => { if (state !== null) list(); });
$("query-list").addEventListener("keydown", (event) => {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const links = [...$("query-list").querySelectorAll("li:not([hidden]) a")];
  const next = links[links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) { event.preventDefault(); next.focus(); }
});

function select(name) {
  const chosen = name ?? state?.queries[0]?.name ?? null;
  if (chosen === open?.name) return;
  leave();
  if (chosen === null || currentToken() === null) return;
  open = { name: chosen, tab: "answers", asked: new Set(), ...aborting() };
  open.facts = el("div");
  open.source = el("pre", { class: "text", tabIndex: 0, id: "query-source", "aria-label": "Text of the query" });
  open.answers = new Answers(`${queryPath(chosen)}/answers`, currentToken(), (known, detail) => {
    if (known === "ended") { connection("answers", null); text(open.ended, detail); } else connection("answers", known, detail);
    if (known === "token") askToken("The server does not take this token.");
  }, () => {});
  open.story = new Story();
  open.plan = el("div", { id: "plan" });
  open.ended = el("p", { class: "warn", role: "status" });
  const panels = { answers: open.answers.element, plan: open.plan, "time line": open.story.element };
  const tabs = Object.keys(panels).map((tab) => el("button", {
    type: "button", role: "tab", id: `tab-${tab.replace(" ", "-")}`, "aria-controls": `panel-${tab.replace(" ", "-")}`, "aria-selected": String(tab === "answers"), tabIndex: tab === "answers" ? 0 : -1,
    onclick: () => turn(tab),
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length]; next.focus(); next.click(); }
    } }, capital(tab)));
  open.tabs = tabs;
  open.panels = Object.entries(panels).map(([tab, panel]) => el("div", { role: "tabpanel", id: `panel-${tab.replace(" ", "-")}`, "aria-labelledby": `tab-${tab.replace(" ", "-")}`, hidden: tab !== "answers" }, panel));
  const drop = el("button", { type: "button", onclick: () => dropQuery(chosen) }, "Drop this query");
  const edit = el("button", { type: "button", onclick: () => { editor.value = open.source.textContent; location.hash = "#/editor"; } }, "Edit a copy");
  $("query").replaceChildren(el("div", { class: "card" }, el("h2", {}, chosen), open.ended, open.facts,
    el("details", { open: true }, el("summary", {}, "Query"), open.source, el("div", { class: "bar" }, edit, drop)),
    el("div", { class: "tabs", role: "tablist", "aria-label": "What to see of the query" }, tabs), open.panels));
  connection("answers", "connecting", "");
  if (!lacking) describe();
  if (state !== null) list();
}

function describe() {
  const { name, signal } = open;
  ask("GET", queryPath(name)).then((found) => { if (!signal.aborted) { text(open.source, found.query); open.described = found; } },
    (error) => { if (!signal.aborted) { failed(error); if (error.status === 404) text(open.ended, "No such query is registered."); } });
}

const capital = (said) => said[0].toUpperCase() + said.slice(1);
function aborting() { const control = new AbortController(); return { control, signal: control.signal }; }

function leave() {
  if (open === null) return;
  open.control.abort();
  open.answers.close();
  open = null;
  connection("answers", null);
  $("query").replaceChildren();
}

function turn(tab) {
  open.tab = tab;
  open.tabs.forEach((button, n) => {
    const chosen = button.textContent === capital(tab);
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    open.panels[n].hidden = !chosen;
  });
  open.answers.draw();
  details();
}

/** The plan or the time line, where one of them is looked at. */
async function details() {
  const shown = open;
  if (shown === null || view !== "queries" || document.hidden || currentToken() === null) return;
  const { tab } = shown;
  if (shown.asked.has(tab)) return; // an explanation may take longer than until the next one is due
  shown.asked.add(tab);
  try {
    if (tab === "plan") {
      const found = await ask("GET", `${queryPath(shown.name)}/explanation`);
      const told = JSON.stringify(found);
      if (shown === open && told !== shown.told && !shown.plan.contains(document.activeElement)) {
        const opened = shown.plan.querySelector("details")?.open ?? false;
        shown.told = told;
        shown.plan.replaceChildren(planOf(found));
        shown.plan.querySelector("details").open = opened;
      }
    } else if (tab === "time line") {
      const found = await ask("GET", `${queryPath(shown.name)}/history`);
      if (shown === open) shown.story.show(found);
    }
  } catch (error) { if (shown === open && error.status !== 404) failed(error); } finally { shown.asked.delete(tab); }
}

async function dropQuery(name) {
  if (!confirm(`End the query ${name}?`)) return;
  try { await ask("DELETE", queryPath(name)); } catch (error) { failed(error); return; }
  location.hash = "#/queries";
  leave();
  await poll();
}

function about() {
  const query = state.queries.find((one) => one.name === open.name);
  if (query === undefined) return;
  open.facts.replaceChildren(facts([
    ["evaluations", whole(query.evaluations)], ["answers", whole(query.answers)], ["failures", whole(query.failures), query.failures ? "bad" : ""],
    ["last evaluation", `${(query.last_seconds * 1e3).toFixed(2)} ms`], ["behind", `${query.lag_seconds.toFixed(1)} s`], ["order changes", whole(query.switches)],
    ["runs on", query.execution], ["by", query.evaluation],
  ]));
}

// -- demo -------------------------------------------------------------------------------------------------

$("demo").addEventListener("click", async () => {
  const button = $("demo");
  button.disabled = true;
  try {
    const runs = button.dataset.runs === "true";
    text($("demo-said"), runs ? "ending ..." : "preparing three queries ...");
    const found = await ask(runs ? "DELETE" : "POST", "/demo");
    await told(found ?? await ask("GET", "/demo"));
    await poll();
    await words();
    if (!runs) location.hash = place(found.queries[0]);
  } catch (error) { text($("demo-said"), error.message); failed(error); } finally { button.disabled = false; }
});

async function told(demo) {
  $("demo").dataset.runs = String(demo.runs);
  text($("demo"), demo.runs ? "End the demo" : "Try with a demo stream");
  text($("demo-said"), demo.runs ? `${demo.rate} readings a second of ${demo.stream}` : "");
}

// -- the course of things ---------------------------------------------------------------------------------

function show() {
  text($("server"), aboutServer(state));
  list();
  if (open === null && view === "queries" && state.queries.length) select(null);
  if (open !== null) about();
  streams.show(state, view === "streams");
}

let polling = false;
async function poll() {
  if (polling || currentToken() === null) return;
  polling = true;
  try {
    state = await ask("GET", "/state");
    connection("state", "live", "");
    if (lacking) askOnce();
    show();
  } catch (error) { failed(error); if (error instanceof Refused && error.status !== 401) connection("state", "lost", error.message); } finally { polling = false; }
}

/** Asks for what does not come with each poll, when one has been answered: before that, a server may be starting. */
function askOnce() {
  lacking = false;
  words();
  ask("GET", "/demo").then(told, failed);
  if (open !== null) describe();
  if (view === "editor") editor.load();
}

async function words() {
  try { setPrefixes((await ask("GET", "/vocabulary")).prefixes); } catch (error) { failed(error); return; }
  open?.answers.draw(); // what is shown already is shown in short
}

let ticks = null;
function start() {
  if (currentToken() === null) { askToken(""); return; }
  lacking = true;
  state = null; // of a server that may have had other queries
  leave();
  route();
  poll();
  if (ticks === null) { ticks = setInterval(poll, STATE_MS); setInterval(details, PLAN_MS); }
}

addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) {
    begin();
    $("token-dialog").close();
    start();
  } else if (location.hash !== "#main") {
    if (currentToken() !== null) route(); else start();
  }
});

document.addEventListener("keydown", (event) => {
  const writing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName) || $("token-dialog").open;
  if (writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const going = { 1: "queries", 2: "streams", 3: "editor" }[event.key];
  if (going) location.hash = `#/${going}`;
  else if (event.key === "/") { event.preventDefault(); location.hash = "#/queries"; $("filter").focus(); }
  else if (event.key === "p" && open !== null) open.answers.setPaused(!open.answers.paused);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => open?.story.draw());

begin();
start();
