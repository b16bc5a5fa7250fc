// Places of the newest answers on a plain map: degrees of latitude and longitude, no tiles, as nothing is fetched.

import { batched, colour, drawing, el, redrawn, text, whole, within } from "./dom.js";
import { number, short } from "./terms.js";

const MOST_PLACES = 2000, MOST_NAMES = 40;

export class PlaceMap {
  constructor() {
    this.points = [];
    this.canvas = el("canvas", { role: "img", "aria-label": "Places" });
    this.said = el("p", { class: "quiet" });
    this.element = el("section", { hidden: true, "aria-label": "Map" }, el("h3", {}, "Places"), this.canvas, this.said);
    this.draw = batched(() => this.render());
    this.close = redrawn(this.canvas, this.draw);
  }

  show(vars, rows, place, numbers) {
    if (place === null) { this.element.hidden = true; return; }
    if (!rows.length) return; // what was there last stays
    const value = numbers.find((column) => !place.columns.includes(column));
    const name = vars.findIndex((_, n) => n !== value && !place.columns.includes(n));
    this.points = rows.slice(0, MOST_PLACES).map((row) => ({
      at: place.of(row), name: name < 0 ? "" : short(row[name]), value: value === undefined ? NaN : number(row[value]),
    })).filter(({ at }) => Math.abs(at[0]) <= 90 && Math.abs(at[1]) <= 180);
    this.what = value === undefined ? null : vars[value];
    this.element.hidden = this.points.length === 0;
    this.draw();
  }

  render() {
    const made = drawing(this.canvas);
    if (made === null || !this.points.length) return;
    const { context: c, width, height } = made;
    const lats = this.points.map((p) => p.at[0]), longs = this.points.map((p) => p.at[1]);
    // The part of the world that is shown only grows, so that places stay where they are; a degree of longitude is shorter.
    const box = this.box = grown(this.box, Math.min(...lats), Math.max(...lats), Math.min(...longs), Math.max(...longs));
    const middle = (box.south + box.north) / 2, shrink = Math.cos(middle * Math.PI / 180);
    const high = Math.max(box.north - box.south, 1e-4), wide = Math.max((box.east - box.west) * shrink, 1e-4);
    const scale = Math.min((width - 90) / wide, (height - 50) / high);
    const x = (long) => width / 2 + (long - (box.west + box.east) / 2) * shrink * scale;
    const y = (lat) => height / 2 - (lat - middle) * scale;
    const values = this.points.map((p) => p.value).filter((v) => !Number.isNaN(v));
    const low = Math.min(...values), span = Math.max(...values) - low || 1;
    c.strokeStyle = colour("line");
    c.fillStyle = colour("quiet");
    const step = 10 ** Math.floor(Math.log10(Math.max(high, wide))) / 2;
    for (let lat = Math.ceil((middle - height / 2 / scale) / step) * step; y(lat) > 0; lat += step) {
      c.beginPath(); c.moveTo(0, y(lat)); c.lineTo(width, y(lat)); c.stroke();
      c.fillText(`${+lat.toFixed(4)}°`, 4, y(lat) - 3);
    }
    const ink = colour("ink");
    for (const [place, point] of this.points.entries()) {
      const [lat, long] = point.at;
      const part = Number.isNaN(point.value) ? 0.5 : (point.value - low) / span;
      c.fillStyle = `hsl(${Math.round(230 - 215 * part)} 70% 50%)`;
      c.beginPath(); c.arc(x(long), y(lat), 5, 0, 7); c.fill();
      if (place < MOST_NAMES && width > 500) { c.fillStyle = ink; c.fillText(point.name, x(long) + 7, y(lat) + 4); }
    }
    const said = this.what === null || !values.length ? "" : `, coloured by ?${this.what} from ${within(low, span)} (blue) to ${within(low + span, span)} (red)`;
    text(this.said, `${whole(this.points.length)} places of the newest instant${said}.`);
    this.canvas.setAttribute("aria-label", this.said.textContent);
  }
}

function grown(box, south, north, west, east) {
  if (box === undefined) return { south, north, west, east };
  return { south: Math.min(south, box.south), north: Math.max(north, box.north), west: Math.min(west, box.west), east: Math.max(east, box.east) };
}
