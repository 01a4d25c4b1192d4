/**
 * Changes on their way to the studio. Each is kept here until the studio has it, so that a lost network, a reload or a
 * closed tab loses nothing. A change is the whole present state of its document under a key of its own: a newer one
 * takes the place of an older, and what is sent twice counts once.
 */

import { Failure, send } from "./api.js";
import { keep, kept } from "./local.js";
import { delay, pause } from "./retry.js";

const QUIET = 300; // milliseconds without a change before a batch leaves

/** Return a key that nobody else has. `randomUUID` exists only where the page came over TLS or from this machine. */
export function uniqueKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return the outbox kept under a name.
 * `told.state(word, waiting)` hears "saved", "saving" or "offline"; `told.lease(seconds)` what is left of it;
 * `told.refused(failure)` what will never be taken.
 */
export function createOutbox(name, told) {
  const place = `${name}/outbox`;
  const waiting = () => kept(place) ?? {};
  const store = (entries) => keep(place, Object.keys(entries).length ? entries : null);
  let timer = 0;
  let running = null;
  let closed = false;

  /** Keep a change, and send it once the judge pauses. */
  function put(set, answer) {
    const entry = { set, answer: { key: uniqueKey(), ...answer } };
    store({ ...waiting(), [`${set}/${answer.slot}`]: entry });
    told.state("saving", Object.keys(waiting()).length);
    clearTimeout(timer);
    timer = setTimeout(flush, QUIET);
  }

  /** Forget entries that the studio has, unless they were changed meanwhile. */
  function forget(keys) {
    const gone = new Set(keys);
    store(Object.fromEntries(Object.entries(waiting()).filter(([, entry]) => !gone.has(entry.answer.key))));
  }

  /** Forget everything of a set. */
  function forgetSet(set) {
    store(Object.fromEntries(Object.entries(waiting()).filter(([, entry]) => entry.set !== set)));
    if (!Object.keys(waiting()).length) told.state("saved", 0);
  }

  /** Send all that waits, one batch at a time, until nothing does or the studio refuses. */
  function flush() {
    clearTimeout(timer);
    running ??= alone(drain).finally(() => (running = null));
    return running;
  }

  async function drain() {
    for (let attempt = 0; !closed; attempt += 1) {
      const entries = Object.values(waiting());
      if (!entries.length) return told.state("saved", 0);
      const { set } = entries[0];
      try {
        await deliver(set, entries.filter((entry) => entry.set === set).map((entry) => entry.answer));
        attempt = -1;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (!error.passes) return refused(set, error);
        told.state("offline", entries.length);
        await pause(delay(attempt, error.wait), error.wait === 0);
      }
    }
  }

  async function deliver(set, answers) {
    const { seconds_left: left } = await send("/api/answers", { set, answers });
    forget(answers.map((answer) => answer.key)); // all are safe, also those that it had before
    told.lease(left);
  }

  /** Keep what waits where a new sign-in helps; drop what will never be taken, and say so. */
  function refused(set, error) {
    if (error.status !== 401 && error.status !== 403) forgetSet(set);
    told.refused(error);
  }

  /** Stop sending: the view is gone. */
  function close() {
    closed = true;
    clearTimeout(timer);
  }

  return { put, flush, forgetSet, close, isEmpty: () => !Object.keys(waiting()).length };
}

/** Do something while no other tab does it, where the browser can tell. */
function alone(work) {
  return navigator.locks ? navigator.locks.request("adjudge/outbox", work) : work();
}
