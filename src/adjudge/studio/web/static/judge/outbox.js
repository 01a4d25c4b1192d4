/**
 * Changes on their way to the studio. Each one is stored in the browser until the studio has saved it, so that nothing
 * is lost by a network failure, a reload or a closed tab. A change is the complete state of its document under a unique
 * key: a newer change replaces an older one, and a change that is sent twice counts once.
 */

import { Failure, send } from "./api.js";
import { load, save } from "./local.js";
import { delay, pause } from "./retry.js";

const QUIET = 300; // milliseconds without a change before a batch is sent

/** Return a unique key. `randomUUID` exists only on pages served over TLS or from the same machine. */
export function uniqueKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Return the outbox that is stored under a name.
 * `listener.state(word, waiting)` is called with "saved", "saving" or "offline", `listener.lease(seconds)` with the time
 * that is left, and `listener.refused(failure)` with changes that the studio will never accept.
 */
export function createOutbox(name, listener) {
  const storageName = `${name}/outbox`;
  const waiting = () => load(storageName) ?? {};
  const store = (entries) => save(storageName, Object.keys(entries).length ? entries : null);
  let timer = 0;
  let running = null;
  let closed = false;

  /** Store a change, and send it when the judge pauses. */
  function put(set, answer) {
    const entry = { set, answer: { key: uniqueKey(), ...answer } };
    store({ ...waiting(), [`${set}/${answer.slot}`]: entry });
    listener.state("saving", Object.keys(waiting()).length);
    clearTimeout(timer);
    timer = setTimeout(flush, QUIET);
  }

  /** Delete changes that the studio has saved, unless there is a newer one. */
  function forget(keys) {
    const saved = new Set(keys);
    store(Object.fromEntries(Object.entries(waiting()).filter(([, entry]) => !saved.has(entry.answer.key))));
  }

  /** Delete all changes of a set. */
  function forgetSet(set) {
    store(Object.fromEntries(Object.entries(waiting()).filter(([, entry]) => entry.set !== set)));
    if (!Object.keys(waiting()).length) listener.state("saved", 0);
  }

  /** Send all stored changes, one batch at a time, until none is left or the studio refuses one. */
  function flush() {
    clearTimeout(timer);
    running ??= alone(drain).finally(() => (running = null));
    return running;
  }

  async function drain() {
    for (let attempt = 0; !closed; attempt += 1) {
      const entries = Object.values(waiting());
      if (!entries.length) return listener.state("saved", 0);
      const { set } = entries[0];
      try {
        await deliver(set, entries.filter((entry) => entry.set === set).map((entry) => entry.answer));
        attempt = -1;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (!error.passes) return refused(set, error);
        listener.state("offline", entries.length);
        await pause(delay(attempt, error.wait), error.wait === 0);
      }
    }
  }

  async function deliver(set, answers) {
    const { seconds_left: left } = await send("/api/answers", { set, answers });
    forget(answers.map((answer) => answer.key)); // all are saved, including those that the studio had before
    listener.lease(left);
  }

  /** Keep changes that can be sent after a new sign-in; delete those that will never be accepted, and report it. */
  function refused(set, error) {
    if (error.status !== 401 && error.status !== 403) forgetSet(set);
    listener.refused(error);
  }

  /** Stop sending: the view is closed. */
  function close() {
    closed = true;
    clearTimeout(timer);
  }

  return { put, flush, forgetSet, close, isEmpty: () => !Object.keys(waiting()).length };
}

/** Do something while no other tab does it, if the browser supports locks. */
function alone(work) {
  return navigator.locks ? navigator.locks.request("adjudge/outbox", work) : work();
}
