// A worker that follows one query: server-sent events read, parsed and cut into small batches beside the page.
//
// In: {url, token, most}, later "taken" for each batch. Out: {items, notices} and {connection, detail}. A connection that
// breaks is made again with the id of the last answers, so that what came meanwhile comes, or a gap is told.

let mostRows = 5000;
let underWay = 0; // batches that the page has not taken yet
let proceed = null;
const UNTAKEN = 3, SILENT_MS = 45000, BATCH_MS = 30, BATCH_ROWS = 1000;

addEventListener("message", ({ data }) => {
  if (data === "taken") {
    underWay -= 1;
    if (proceed && underWay < UNTAKEN) { proceed(); proceed = null; }
  } else { mostRows = data.most; follow(data.url, data.token); }
});

async function follow(url, token) {
  let last = null, pause = 250;
  for (;;) {
    const gone = new AbortController();
    const watched = { timer: 0, touch() { clearTimeout(this.timer); this.timer = setTimeout(() => gone.abort(), SILENT_MS); } };
    let detail = "the connection was closed";
    try {
      watched.touch();
      const headers = { Authorization: `Bearer ${token}`, Accept: "text/event-stream" };
      if (last !== null) headers["Last-Event-ID"] = last;
      const answer = await fetch(last === null ? `${url}?last=20` : url, { headers, signal: gone.signal, cache: "no-store" });
      if (answer.status === 401) { say("token", "the token is wrong"); return; }
      if (answer.status === 404) { say("ended", "the query is registered no more"); return; }
      if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
      say("live", "");
      pause = 250;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const batch = new Batch();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        watched.touch();
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const event = read(part);
          if (event === null) continue;
          if (event.kind === "end" || event.kind === "overrun") detail = JSON.parse(event.data).reason ?? "too slow: goes on from the last answers";
          batch.add(event);
          if (event.id !== null) last = event.id;
          if (batch.full) await batch.send();
        }
        batch.soon();
      }
      await batch.send();
    } catch (error) {
      detail = error.name === "AbortError" ? "the server is silent" : error.message;
    }
    clearTimeout(watched.timer);
    gone.abort();
    say("lost", detail);
    await new Promise((resolve) => setTimeout(resolve, pause * (0.75 + Math.random() / 2)));
    pause = Math.min(pause * 2, 5000);
  }
}

function say(connection, detail) { postMessage({ connection, detail }); }

/** An event of its lines; null for a comment. */
function read(part) {
  let kind = "message", id = null;
  const data = [];
  for (const line of part.split("\n")) {
    if (line.startsWith("data: ")) data.push(line.slice(6));
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("id: ")) id = line.slice(4);
  }
  return data.length ? { kind, id, data: data.join("\n") } : null;
}

class Batch {
  constructor() { this.clear(); }
  clear() { this.items = []; this.notices = []; this.rows = 0; this.began = 0; clearTimeout(this.timer); this.timer = 0; }
  get full() { return this.rows >= BATCH_ROWS || this.items.length >= BATCH_ROWS || (this.began && Date.now() - this.began > 4 * BATCH_MS); }

  add(event) {
    if (!this.began) this.began = Date.now();
    if (event.kind === "answers") {
      const item = answersOf(JSON.parse(event.data));
      this.items.push(item);
      this.rows += item.rows.length;
    } else this.notices.push({ kind: event.kind, ...JSON.parse(event.data) });
  }

  soon() { if (!this.timer && (this.items.length || this.notices.length)) this.timer = setTimeout(() => this.post(), BATCH_MS); }

  post() {
    if (this.items.length || this.notices.length) { underWay += 1; postMessage({ items: this.items, notices: this.notices }); }
    this.clear();
  }

  /** Posts what there is, and waits while the page is busy: the server is read no faster than the page shows. */
  async send() {
    this.post();
    if (underWay >= UNTAKEN) await new Promise((resolve) => { proceed = resolve; });
  }
}

/** The answers of one evaluation: of very many rows only the first are kept, `count` has all. */
function answersOf(found) {
  const { revision, time } = found;
  if ("boolean" in found) return { revision, time, vars: ["answer"], rows: [[["literal", String(found.boolean), null]]], count: 1 };
  if ("triples" in found) {
    const rows = found.triples.slice(0, mostRows).map((line) => [["text", Array.isArray(line) ? line.join(" ") : line, null]]);
    return { revision, time, vars: ["triple"], rows, count: found.triples.length };
  }
  const vars = found.head.vars, bindings = found.results.bindings;
  const rows = bindings.slice(0, mostRows).map((one) => vars.map((name) => one[name] === undefined ? null : cell(one[name])));
  return { revision, time, vars, rows, count: bindings.length };
}

/** A term as [kind, value, datatype or @language]. */
function cell(term) {
  if (term.type === "triple") return ["triple", ["subject", "predicate", "object"].map((part) => cell(term.value[part])), null];
  return [term.type, term.value, term["xml:lang"] ? `@${term["xml:lang"]}` : term.datatype ?? null];
}
