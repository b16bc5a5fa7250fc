// A line chart of a column of numbers over time: a line for each value of the first other column, on a canvas.

import { PALETTE, batched, colour, drawing, el, redrawn, text, within } from "./dom.js";
import { isNumber, number, short } from "./terms.js";

const MOST_LINES = 8, MOST_POINTS = 600, MOST_RECENT = 200, MOST_ROWS = 20000;

export class Chart {
  constructor() {
    this.lines = new Map(); // name -> [[milliseconds, value], ..]
    this.column = null;
    this.recent = []; // answers that another column can be drawn of
    this.recentRows = 0;
    this.vars = [];
    this.columns = [];
    this.others = 0;
    this.choice = el("select", { id: "chart-column", onchange: () => this.choose(Number(this.choice.value)) });
    this.canvas = el("canvas", { role: "img", "aria-label": "Numbers over time" });
    this.legend = el("p", { class: "quiet" });
    this.element = el("section", { hidden: true, "aria-label": "Chart" },
      el("h3", {}, "Over time"),
      el("div", { class: "bar" }, el("label", { for: "chart-column" }, "Number "), this.choice),
      this.canvas, this.legend);
    this.draw = batched(() => this.render());
    this.close = redrawn(this.canvas, this.draw);
  }

  /** More columns that can be shown: one stays, also where an instant binds it to nothing. With none the chart is not there. */
  offer(vars, found) {
    const same = vars.join() === this.vars.join();
    const columns = same ? [...new Set([...this.columns, ...found])].sort((a, b) => a - b) : found;
    if (same && columns.length === this.columns.length) return;
    if (!same) this.column = null;
    this.vars = vars;
    this.columns = columns;
    this.element.hidden = columns.length === 0;
    this.choice.replaceChildren(...columns.map((column) => el("option", { value: column }, `?${vars[column]}`)));
    if (this.column !== null) this.choice.value = String(this.column);
    else if (columns.length) this.choose(columns[0]);
  }

  choose(column) {
    this.column = column;
    this.choice.value = String(column);
    this.lines.clear();
    this.others = 0;
    for (const item of this.recent) this.add(item);
    this.draw();
  }

  take(item) {
    this.recent.push(item);
    this.recentRows += item.rows.length;
    while (this.recent.length > 1 && (this.recent.length > MOST_RECENT || this.recentRows > MOST_ROWS)) this.recentRows -= this.recent.shift().rows.length;
    if (this.column !== null) { this.add(item); this.draw(); }
  }

  add(item) {
    if (item.vars.join() !== this.vars.join()) return; // of another query that was registered by this name
    const time = Date.parse(item.time);
    if (item.revision) { // the whole answers of an instant that was answered before
      for (const [name, line] of this.lines) this.lines.set(name, line.filter((point) => point[0] !== time));
    }
    const label = item.vars.findIndex((name, n) => n !== this.column && item.rows.some((row) => row[n] && !isNumber(row[n])));
    for (const row of item.rows) {
      const value = number(row[this.column]);
      if (Number.isNaN(value)) continue;
      const name = label < 0 ? `?${item.vars[this.column]}` : short(row[label]);
      let line = this.lines.get(name);
      if (line === undefined) {
        if (this.lines.size >= MOST_LINES) { this.others += 1; continue; }
        this.lines.set(name, line = []);
      }
      let place = line.length; // late elements correct, and make, instants before the newest
      while (place > 0 && line[place - 1][0] > time) place -= 1;
      line.splice(place, 0, [time, value]);
      if (line.length > 2 * MOST_POINTS) line.splice(0, line.length - MOST_POINTS);
    }
    for (const [name, line] of this.lines) if (!line.length) this.lines.delete(name);
  }

  render() {
    const made = drawing(this.canvas);
    if (made === null || this.column === null) return;
    const { context: c, width, height } = made;
    const lines = [...this.lines].map(([name, points]) => [name, points.slice(-MOST_POINTS)]);
    const all = lines.flatMap(([, points]) => points);
    if (!all.length) return;
    const times = range(all.map((p) => p[0])), values = range(all.map((p) => p[1]));
    const labels = [0, 1, 2, 3, 4].map((n) => within(values.low + values.span * n / 4, values.span));
    const left = 12 + Math.ceil(Math.max(46, ...labels.map((label) => c.measureText(label).width)));
    const bottom = height - 24, right = width - 10, top = 10;
    const x = (time) => left + (right - left) * (time - times.low) / times.span;
    const y = (value) => bottom - (bottom - top) * (value - values.low) / values.span;
    c.strokeStyle = colour("line");
    c.fillStyle = colour("quiet");
    c.textAlign = "right";
    for (let n = 0; n <= 4; n += 1) {
      const value = values.low + values.span * n / 4;
      c.beginPath(); c.moveTo(left, y(value)); c.lineTo(right, y(value)); c.stroke();
      c.fillText(labels[n], left - 6, y(value) + 4);
    }
    for (let n = 0; n <= 2; n += 1) {
      c.textAlign = ["left", "center", "right"][n];
      c.fillText(new Date(times.low + times.span * n / 2).toISOString().slice(11, 19), left + (right - left) * n / 2, height - 7);
    }
    c.lineWidth = 1.6;
    lines.forEach(([, points], n) => {
      c.strokeStyle = c.fillStyle = PALETTE[n];
      c.beginPath();
      points.forEach(([time, value], place) => place ? c.lineTo(x(time), y(value)) : c.moveTo(x(time), y(value)));
      c.stroke();
      if (points.length < 60) for (const [time, value] of points) { c.beginPath(); c.arc(x(time), y(value), 2, 0, 7); c.fill(); }
    });
    this.canvas.setAttribute("aria-label", `${lines.length} lines of ?${this.vars[this.column]} over time, from ${labels[0]} to ${labels[4]}`);
    const names = lines.map(([name]) => name).join("\n");
    if (names !== this.named) {
      this.named = names;
      this.legend.replaceChildren(...lines.map(([name], n) => {
        const mark = el("span", { "aria-hidden": "true" }, "■ ");
        mark.style.color = PALETTE[n];
        return el("span", {}, mark, `${name}  `);
      }));
      this.legend.append(el("span"));
    }
    text(this.legend.lastChild, this.others ? `(others are not drawn: ${MOST_LINES} lines at most)` : "");
  }
}

function range(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  if (low === high) { low -= 0.5; high += 0.5; }
  return { low, span: high - low };
}
