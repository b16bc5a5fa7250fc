// Requests to the server, with the token of this tab.

const KEY = "cqels-token";
let token = null;

/** The token of the address (`#token=..`, taken out of it at once), or the one that this tab had before. */
export function begin() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) {
    setToken(decodeURIComponent(given[1]));
    history.replaceState(null, "", location.pathname + location.search);
  } else token = sessionStorage.getItem(KEY);
  return token;
}

export function setToken(value) {
  token = value.trim();
  sessionStorage.setItem(KEY, token);
}
export const currentToken = () => token;

/** What a server refused: `status`, and `problem` as it told it. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem?.detail ?? `the server answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

/** Asks the server; gives what it answers in JSON, null for an empty answer. Raises Refused, or what fetch does. */
export async function ask(method, path, body, headers = {}) {
  const used = token;
  const asked = { method, headers: { Authorization: `Bearer ${token}`, ...headers }, signal: AbortSignal.timeout(20000) };
  if (body !== undefined) {
    asked.body = typeof body === "string" ? body : JSON.stringify(body);
    asked.headers["Content-Type"] ??= "application/json";
  }
  const answer = await fetch(path, asked);
  const kind = answer.headers.get("content-type") ?? "";
  const found = kind.includes("json") ? await answer.json() : null;
  if (!answer.ok) throw Object.assign(new Refused(answer.status, found), { used });
  return found;
}

export const queryPath = (name) => `/queries/${encodeURIComponent(name)}`;
