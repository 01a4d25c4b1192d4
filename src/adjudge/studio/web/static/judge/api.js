/** Requests to the studio. */

/** A request that failed. Status 0: the studio could not be reached. */
export class Failure extends Error {
  constructor(status, body = {}, wait = 0) {
    super(body.error ?? "");
    this.status = status;
    this.code = body.code ?? "";
    this.problems = body.problems ?? [];
    this.missing = body.missing ?? []; // seconds that documents of the set need, by slot
    this.wait = wait; // seconds the studio asks us to wait
  }

  /** Return whether the same request may succeed later. */
  get passes() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

const root = document.documentElement.dataset.root ?? ""; // the path below which the campaign is served

/** Return the address of a path of the studio. */
export const address = (path) => root + path;

const meta = (name) => document.querySelector(`meta[name=${name}]`)?.content ?? "";

/** Return the headers that identify the judge: a session in a platform's frame, or the CSRF token of the cookie. */
function identity() {
  const session = meta("session");
  return session ? { Authorization: `Bearer ${session}` } : { "X-CSRF": meta("csrf") };
}

async function request(method, path, body) {
  const options = { method, headers: { Accept: "application/json", ...identity() }, credentials: "same-origin" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
    options.keepalive = options.body.length < 60_000; // so that the last change is sent when the page is closed
  }
  const response = await fetch(address(path), options).catch(() => {
    throw new Failure(0);
  });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new Failure(response.status, answer, Number(response.headers.get("Retry-After")) || 0);
}

export const ask = (path) => request("GET", path);
export const send = (path, body = {}) => request("POST", path, body);
