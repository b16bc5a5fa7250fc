// The answers of one query as they come: kept up to a bound, shown as a table of which only the visible rows exist, a
// line chart and a map.

import { batched, el, text, whole } from "./dom.js";
import { Chart } from "./chart.js";
import { PlaceMap } from "./map.js";
import { full, isNumber, numericColumns, placeOf, short } from "./terms.js";

const MOST_ROWS = 5000, ROW = 26, SPARE = 6;

export class Answers {
  /** `onConnection(state, detail)` is told how the connection stands, `onSome()` that answers came. */
  constructor(url, token, onConnection, onSome) {
    this.url = url;
    this.token = token;
    this.onConnection = onConnection;
    this.onSome = onSome;
    this.rows = []; // [time, term, ..], oldest first
    this.newest = { vars: [], rows: [], time: null, count: 0 };
    this.newestTime = -Infinity;
    this.received = 0;
    this.evaluations = 0;
    this.gaps = 0;
    this.gapAfter = null;
    this.paused = false;
    this.mode = "all";
    this.added = 0;
    this.draw = batched(() => this.render());
    this.make();
    this.follow();
  }

  make() {
    this.counts = el("p", { class: "quiet", id: "answer-counts" });
    this.note = el("p", { class: "warn", role: "status" });
    this.pause = el("button", { type: "button", "aria-pressed": "false", onclick: () => this.setPaused(!this.paused) }, "Pause");
    this.which = el("select", { id: "which", onchange: () => { this.mode = this.which.value; this.added = 0; this.scroller.scrollTop = 0; this.draw(); } },
      el("option", { value: "all" }, "as they come"), el("option", { value: "newest" }, "newest instant"));
    this.head = el("tr");
    this.above = el("tr", { class: "space", "aria-hidden": "true" }, el("td"));
    this.below = el("tr", { class: "space", "aria-hidden": "true" }, el("td"));
    this.body = el("tbody", {}, this.above, this.below);
    this.grid = el("table", { id: "answers" }, el("thead", {}, this.head), this.body);
    this.scroller = el("div", { class: "scroll rows", tabIndex: 0, role: "region", "aria-label": "Answers, newest first", onscroll: () => this.draw() }, this.grid);
    this.chart = new Chart();
    this.map = new PlaceMap();
    this.shown = []; // rows of the table that exist
    this.first = 0; // the place of the first of them
    this.element = el("div", {},
      el("div", { class: "bar" }, el("label", { for: "which" }, "Show "), this.which, this.pause, this.counts),
      this.note, this.scroller, this.chart.element, this.map.element);
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.scroller);
  }

  follow() {
    this.worker = new Worker(workerUrl("/page/follower.js"));
    this.worker.addEventListener("message", ({ data }) => {
      if (data.connection) this.onConnection(data.connection, data.detail);
      else {
        for (const notice of data.notices) this.noticed(notice);
        for (const item of data.items) this.take(item);
        this.worker.postMessage("taken");
        this.draw();
        if (data.items.length) this.onSome();
      }
    });
    this.worker.postMessage({ url: this.url, token: this.token, most: MOST_ROWS });
  }

  close() {
    this.worker.terminate();
    this.resized.disconnect();
    this.chart.close();
    this.map.close();
  }

  setPaused(paused) {
    this.paused = paused;
    // What is looked at stays and can be scrolled, while answers go on coming.
    this.frozen = paused ? { rows: this.rows.slice(-MOST_ROWS), newest: this.newest } : null;
    this.added = 0;
    this.pause.setAttribute("aria-pressed", String(paused));
    text(this.pause, paused ? "Go on" : "Pause");
    this.draw();
  }

  noticed(notice) {
    if (notice.kind === "gap") {
      if (notice.after !== this.gapAfter) this.gaps += 1; // told again where a connection broke before anything came
      this.gapAfter = notice.after;
      this.newestTime = -Infinity; // what comes may be of a query that was registered anew
      text(this.note, `Answers after number ${notice.after} are kept no more${notice.first === null ? "" : `; these begin with number ${notice.first}`}.`);
    } else if (notice.kind === "failure") text(this.note, `An evaluation failed: ${notice.detail}`);
    else if (notice.kind === "overload") text(this.note, notice.state === "begins" ? `The server is overloaded (${notice.policy}).` : "");
    else if (notice.kind === "unwritable") text(this.note, notice.detail);
  }

  take(item) {
    this.gapAfter = null;
    this.evaluations += 1;
    this.received += item.count;
    if (item.vars.join() !== this.newest.vars.join()) { this.rows = []; this.newestTime = -Infinity; }
    const time = Date.parse(item.time);
    if (!(time < this.newestTime)) { // else late elements correct an instant before it
      this.newest = item;
      this.newestTime = time;
    }
    const said = item.revision ? `${item.time} (revised)` : item.time;
    for (let n = item.rows.length - 1; n >= 0; n -= 1) this.rows.push([said, item.rows[n]]);
    if (!this.paused) this.added += item.rows.length;
    if (this.rows.length > 2 * MOST_ROWS) this.rows = this.rows.slice(-MOST_ROWS);
    this.chart.take(item);
  }

  get seen() { return this.frozen ?? this; }
  get held() { return Math.min(this.seen.rows.length, MOST_ROWS); }

  row(place) {
    const { newest, rows } = this.seen;
    return this.mode === "newest" ? [newest.time, newest.rows[place]] : rows[rows.length - 1 - place];
  }

  render() {
    text(this.counts, `${whole(this.received)} answers of ${whole(this.evaluations)} evaluations` +
      (this.gaps ? `, some are missing in ${whole(this.gaps)} place(s)` : "") +
      (this.received > this.held ? `; the newest ${whole(this.held)} are kept here` : ""));
    Object.assign(this.grid.dataset, { received: this.received, evaluations: this.evaluations, gaps: this.gaps });
    if (!this.element.isConnected) return;
    this.heads();
    this.window();
    if (this.paused) return;
    const { vars, rows } = this.newest;
    const numbers = numericColumns(vars, rows), place = placeOf(vars, rows);
    this.chart.offer(vars, numbers.filter((column) => !place?.columns.includes(column)));
    this.map.show(vars, rows, place, numbers);
  }

  heads() {
    const names = ["time", ...this.seen.newest.vars];
    const known = names.join("\n");
    if (this.known === known) return;
    this.known = known;
    this.head.replaceChildren(...names.map((name) => el("th", { scope: "col" }, name === "time" ? name : `?${name}`)));
    for (const space of [this.above, this.below]) space.firstChild.colSpan = names.length;
    for (const row of this.shown) row.remove();
    this.shown = [];
  }

  /** Has the rows that are in view, and a few beside them, exist; those above and below are two empty rows. */
  window() {
    const total = this.mode === "newest" ? this.seen.newest.rows.length : this.held;
    const { scroller } = this;
    // Who has scrolled down goes on seeing the rows that are in view, while new ones come in above.
    if (this.mode === "all" && !this.paused && this.added && scroller.scrollTop > ROW) {
      this.space(this.first, this.shown.length, total); // first, as the table may be too low to be scrolled so far
      scroller.scrollTop += this.added * ROW;
    }
    this.added = 0;
    const first = this.first = Math.max(0, Math.min(total, Math.floor(scroller.scrollTop / ROW) - SPARE));
    const count = Math.min(total - first, Math.ceil(scroller.clientHeight / ROW) + 2 * SPARE);
    this.space(first, count, total);
    this.grid.setAttribute("aria-rowcount", String(total + 1));
    while (this.shown.length < count) {
      const row = el("tr", {}, ["", ...this.seen.newest.vars].map(() => el("td")));
      this.shown.push(row);
      this.body.insertBefore(row, this.below);
    }
    while (this.shown.length > count) this.shown.pop().remove();
    this.shown.forEach((row, n) => this.fill(row, first + n, this.row(first + n)));
  }

  /** Makes the empty rows as high as the rows of `total` that do not exist: all but `count` from `first` on. */
  space(first, count, total) {
    this.above.firstChild.style.height = `${first * ROW}px`;
    this.below.firstChild.style.height = `${Math.max(0, total - first - count) * ROW}px`;
  }

  fill(row, place, [time, terms]) {
    row.classList.toggle("even", place % 2 === 0);
    row.setAttribute("aria-rowindex", String(place + 2));
    text(row.cells[0], time.replace("T", " ").replace("Z", ""));
    terms.forEach((term, n) => {
      const cell = row.cells[n + 1];
      text(cell, short(term));
      cell.title = full(term);
      cell.classList.toggle("number", isNumber(term));
    });
  }
}

/** The address of a script of this page; nothing else is ever made a script. */
function workerUrl(path) {
  if (!window.trustedTypes) return path;
  policy ??= trustedTypes.createPolicy("cqels", { createScriptURL: (url) => {
    if (url !== "/page/follower.js") throw new TypeError("no script of this page");
    return url;
  } });
  return policy.createScriptURL(path);
}
let policy;
