// The plan of a query: join orders with estimated and counted rows and times, and the operators that ran.

import { el, table, whole } from "./dom.js";

/** An element for what `explain()` tells. */
export function planOf(found) {
  return el("div", {},
    el("p", {}, `Runs on ${found.execution}. `, found.evaluation === "once" ? "" : `${capital(found.evaluation)}.`),
    found.instances ? el("p", {}, `One execution answers ${whole(found.instances)} queries that differ in constants.`) : null,
    found.choices.map((choice, n) => joinOrder(choice, n + 1, found.choices.length)),
    found.matches?.length ? [el("h3", {}, "Event patterns"), table("Event patterns", ["pattern", "found", "matches", "kept", "bytes"],
      found.matches.map((m) => [m.pattern, m.found, m.matches, m.open, m.state_bytes]))] : null,
    found.calls?.length ? [el("h3", {}, "Calls of functions"), table("Calls of functions", ["expression", "rows in", "rows passed", "calls", "cache hits", "ms"],
      found.calls.map((c) => [c.expression, c.last.rows_in, c.last.rows_passed, c.last.calls, c.last.cache_hits, c.last.seconds * 1e3]))] : null,
    found.statistics?.length ? [el("h3", {}, "What windows hold"), table("What windows hold", ["pattern", "rows", "variable", "values", "most frequent"],
      found.statistics.map((s) => [s.relation, s.card, `?${s.variable}`, s.distinct, s.top.slice(0, 2).map((t) => `${t.value} ${(100 * t.selectivity).toFixed(1)} %`).join(", ")]))] : null,
    el("h3", {}, "Operators, rows and times of the last evaluation"),
    found.operators.length ? found.operators.map((plan) => el("div", {}, el("p", { class: "quiet" }, plan.plan), el("ul", { class: "tree" }, operator(plan.root))))
      : el("p", { class: "quiet" }, "Not evaluated yet."),
    el("details", {}, el("summary", {}, "Spark's plan"), el("pre", { class: "text", tabIndex: 0 }, found.spark_plan)));
}

const capital = (said) => said[0].toUpperCase() + said.slice(1);

function joinOrder(choice, number, count) {
  const order = choice.order;
  const title = el("h3", {}, count > 1 ? `Join order ${number}` : "Join order");
  if (!order) return [title, el("ul", { class: "tree" }, node(choice.plan ?? choice))];
  if (order.begins_with === null) return [title, el("p", { class: "quiet" }, "Chosen at the first evaluation, by what the relations hold then.")];
  const most = Math.max(1, ...order.steps.map((step) => step.us));
  const grid = table("Join order", ["step", "rows in", "estimated", "counted", "values read", "time", ""],
    [[`begin with ${order.begins_with}`, "", "", "", "", "", ""],
      ...order.steps.map((step) => [step.step, step.rows_in, Math.round(step.estimated_out), step.rows_out, step.read, duration(step.us), bar(step.us / most)])]);
  const rivals = order.rivals.length > 1 ? el("p", { class: "quiet" }, `Chosen in ${duration(order.decision_us)}; to begin with `,
    order.rivals.map((rival) => `${rival.begins_with}: ${duration(rival.us)}`).join(" · "), " (estimated).") : null;
  const notes = (choice.notes ?? []).map((note) => el("p", { class: "quiet" }, note));
  return [title, grid, rivals, notes];
}

const duration = (us) => us < 1000 ? `${Math.round(us)} µs` : `${(us / 1000).toFixed(us < 10000 ? 2 : 1)} ms`;

const bar = (part) => el("meter", { min: 0, max: 1, value: part, "aria-hidden": "true" });

function operator(one) {
  const said = [];
  if (one.actual_rows !== null) said.push(`${whole(one.actual_rows)} rows`);
  if (one.seconds !== null) said.push(duration(one.seconds * 1e6));
  return el("li", {}, el("strong", {}, one.operator), one.detail ? ` ${one.detail}` : "", said.length ? el("span", { class: "quiet" }, ` · ${said.join(" · ")}`) : null,
    one.children.length ? el("ul", {}, one.children.map(operator)) : null);
}

/** A part of a plan that was chosen once: any object with children. */
function node(one) {
  const said = Object.entries(one).filter(([, value]) => ["string", "number"].includes(typeof value)).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "number" ? whole(value) : value}`);
  const children = Object.values(one).flatMap((value) => Array.isArray(value) ? value : [value]).filter((value) => value && typeof value === "object" && !Array.isArray(value));
  return el("li", {}, said.join(" · "), children.length ? el("ul", {}, children.map(node)) : null);
}
