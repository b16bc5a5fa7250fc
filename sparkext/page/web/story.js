// The time line of a query: how long its evaluations took, in which join order, and why the order changed.

import { PALETTE, colour, drawing, el, whole } from "./dom.js";

export class Story {
  constructor() {
    this.canvas = el("canvas", { role: "img", "aria-label": "Milliseconds of evaluations" });
    this.list = el("ol", { class: "story", id: "story" });
    this.said = el("p", { class: "quiet" });
    this.element = el("div", {}, this.canvas, this.said, el("h3", {}, "Plan switches and filter moves"), this.list);
  }

  show(found) {
    this.found = found;
    this.draw();
    const known = `${found.count} ${found.switches.at(-1)?.time}`;
    if (known === this.known) return;
    this.known = known;
    this.list.replaceChildren(...found.switches.slice().reverse().map((one) =>
      el("li", { class: one.kind === "filter move" ? "filter" : "" },
        el("p", {}, el("strong", {}, new Date(one.time).toISOString().replace("T", " ").replace("Z", "")), " ",
          el("span", { class: "badge" }, one.kind), ` ${one.cause}`),
        one.moved.length ? el("p", {}, `moved: ${one.moved.join(", ")}`) : null,
        el("p", { class: "quiet" }, `from ${one.old}`), el("p", {}, `to ${one.new}`),
        el("p", { class: "quiet" }, `${whole(Math.round(one.cost_before_us))} µs before, ${whole(Math.round(one.cost_after_us))} µs after, by what is known now`))));
    if (!found.switches.length) this.list.append(el("li", { class: "quiet" }, "The order has not changed."));
  }

  draw() {
    const made = this.found && drawing(this.canvas);
    if (!made) return;
    const { context: c, width, height } = made;
    const points = this.found.evaluations.filter(([, ms]) => ms > 0);
    if (!points.length) { this.said.textContent = "Not evaluated yet."; return; }
    const first = points[0][0], span = points.at(-1)[0] - first || 1;
    let low = Infinity, high = 0;
    for (const [, ms] of points) { low = Math.min(low, ms); high = Math.max(high, ms); }
    low = Math.log10(low) - 0.1; high = Math.log10(high) + 0.1;
    const left = 58, bottom = height - 24;
    const x = (time) => left + (width - left - 10) * (time - first) / span;
    const y = (ms) => bottom - (bottom - 12) * (Math.log10(ms) - low) / (high - low);
    c.fillStyle = colour("quiet");
    c.strokeStyle = colour("line");
    for (let power = Math.ceil(low * 3); power <= high * 3; power += 1) {
      const ms = 10 ** (power / 3);
      c.beginPath(); c.moveTo(left, y(ms)); c.lineTo(width - 10, y(ms)); c.stroke();
      c.textAlign = "right";
      c.fillText(`${whole(Number(ms.toPrecision(2)))} ms`, left - 5, y(ms) + 4);
    }
    c.textAlign = "left"; c.fillText(new Date(first).toISOString().slice(11, 19), left, height - 7);
    c.textAlign = "right"; c.fillText(new Date(first + span).toISOString().slice(11, 19), width - 10, height - 7);
    for (const one of this.found.switches) {
      if (one.time < first) continue;
      c.strokeStyle = colour(one.kind === "filter move" ? "warn" : "accent");
      c.beginPath(); c.moveTo(x(one.time), 8); c.lineTo(x(one.time), bottom); c.stroke();
    }
    for (const [time, ms, order] of points) {
      c.fillStyle = PALETTE[order % PALETTE.length];
      c.beginPath(); c.arc(x(time), y(ms), 2.5, 0, 7); c.fill();
    }
    this.said.textContent = `${whole(points.length)} evaluations, a colour for each of ${this.found.orders.length} join order(s); ${whole(this.found.count)} changes in all.`;
    this.canvas.setAttribute("aria-label", `Milliseconds of evaluations over event time. ${this.said.textContent}`);
  }
}
