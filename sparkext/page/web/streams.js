// Streams with rates, windows with sizes, what was set aside or came late; the static sides that are kept.

import { PALETTE, bytes, drawing, el, facts, table, whole } from "./dom.js";

const KEPT = 120;

export class Streams {
  constructor(cards, kept) {
    this.cards = cards;
    this.kept = kept;
    this.known = new Map(); // IRI -> {card, rates, before}
  }

  /** Takes in a state of the engine; `shown` says whether anybody looks. */
  show(state, shown) {
    for (const stream of state.streams) {
      let one = this.known.get(stream.iri);
      if (one === undefined) this.known.set(stream.iri, one = this.made(stream));
      if (one.before !== undefined && state.now > one.before.now) {
        one.rates.push(Math.max(0, (stream.elements - one.before.elements) / (state.now - one.before.now)));
        if (one.rates.length > KEPT) one.rates.shift();
      }
      if (one.before === undefined || state.now > one.before.now) one.before = { now: state.now, elements: stream.elements };
      if (shown) this.fill(one, stream);
    }
    if (!shown) return;
    if (!state.streams.length) this.cards.replaceChildren(el("p", { class: "quiet" }, "No stream is registered."));
    const sides = JSON.stringify(state.kept_sides);
    if (sides !== this.sides) {
      this.sides = sides;
      this.kept.replaceChildren(state.kept_sides.length
        ? table("Kept static sides", ["side", "rows", "bytes", "read in ms", "since", "uses", "queries"], state.kept_sides.map((s) => [s.side, s.rows, bytes(s.bytes), s.read_ms, s.since, s.uses, s.queries.join(", ")]))
        : el("p", { class: "quiet" }, "None: no unchanged streaming job of this Spark session joins static data."));
    }
  }

  made(stream) {
    if (!this.known.size) this.cards.replaceChildren();
    const one = { rates: [], facts: el("div"), canvas: el("canvas", { role: "img", "aria-label": "Elements a second" }), windows: el("div"), reasons: el("div") };
    one.canvas.style.height = "4rem";
    one.card = el("article", { class: "card" }, el("h3", {}, stream.iri), one.facts, one.canvas, one.windows, one.reasons);
    this.cards.append(one.card);
    return one;
  }

  fill(one, stream) {
    const rate = one.rates.at(-1) ?? 0;
    const lines = [
      ["rate", `${whole(Math.round(rate * 10) / 10)} elements/s`], ["elements", whole(stream.elements)],
      ["set aside", whole(stream.malformed), stream.malformed ? "bad" : ""], ["late", whole(stream.late), stream.late ? "warn" : ""],
      ["newest", stream.newest ?? "–"], ["complete up to", stream.complete_up_to ?? "–"],
      ["held", `${whole(stream.quads ?? 0)} quads${stream.records ? `, ${whole(stream.records)} records` : ""} in ${whole(stream.panes ?? 0)} panes`],
      ...(stream.finished ? [["ended", "yes"]] : []),
    ];
    one.facts.replaceChildren(facts(lines));
    this.spark(one, rate);
    const windows = stream.windows ?? [];
    const label = `Windows over ${stream.iri}`;
    const told = JSON.stringify(windows);
    if (told !== one.told) {
      one.told = told;
      const kept = one.windows.querySelector(".scroll")?.scrollLeft ?? 0;
      one.windows.replaceChildren(windows.length
        ? table(label, ["window", "shows after", "up to", "elements", "rows of patterns", "queries"], windows.map((w) => [w.window, w.opens, w.closes, w.elements, w.rows,
          `${w.named.join(", ")}${w.queries > w.named.length ? ` and ${whole(w.queries - w.named.length)} more` : ""}`]))
        : el("p", { class: "quiet" }, "No window reads it."));
      if (kept) one.windows.querySelector(".scroll").scrollLeft = kept;
    }
    const reasons = stream.reasons.join("\n");
    if (reasons !== one.said) {
      one.said = reasons;
      one.reasons.replaceChildren(...(stream.reasons.length ? [el("p", {}, "Set aside lately:"), el("ul", {}, stream.reasons.map((reason) => el("li", {}, reason)))] : []));
    }
  }

  spark(one, rate) {
    const made = drawing(one.canvas);
    if (!made) return;
    const { context: c, width, height } = made;
    const most = Math.max(1, ...one.rates);
    c.strokeStyle = PALETTE[0];
    c.lineWidth = 1.5;
    c.beginPath();
    one.rates.forEach((value, n) => c.lineTo(width * n / (KEPT - 1), height - 4 - (height - 8) * value / most));
    c.stroke();
    one.canvas.setAttribute("aria-label", `Elements a second in the last two minutes: now ${whole(Math.round(rate))}, at most ${whole(Math.round(most))}`);
  }
}

/** A line about the server. */
export function aboutServer(state) {
  const up = state.up_seconds;
  const time = up < 120 ? `${Math.round(up)} s` : up < 7200 ? `${Math.round(up / 60)} min` : `${Math.round(up / 3600)} h`;
  const load = state.overload;
  const behind = load.waiting || load.behind_seconds > 0.5 ? `, ${whole(load.waiting)} pushes wait (${load.behind_seconds.toFixed(1)} s)` : "";
  const lost = load.refused || load.sampled_out ? `, ${whole(load.refused)} pushes refused, ${whole(load.sampled_out)} elements sampled out` : "";
  return `${state.status}${state.detail ? ` (${state.detail})` : ""}, up ${time}${load.overloaded ? ", overloaded" : ""}${behind}${lost}`;
}
