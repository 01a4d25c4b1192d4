/** Retries: with growing delays, at once when the network is back, and never earlier than the studio allows. */

import { Failure } from "./api.js";

const FIRST = 0.5;
const LONGEST = 30;

/** Return the seconds to wait before the next attempt, with random jitter, so that pages do not retry all at once. */
export function delay(attempt, least = 0) {
  return Math.max(least, Math.min(LONGEST, FIRST * 2 ** attempt) * (0.75 + Math.random() / 2));
}

/** Wait some seconds, or until the network is back. */
export function pause(seconds, hasty = true) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    if (hasty) window.addEventListener("online", done);
  });
}

/** Do something until it succeeds or fails permanently. `onFailure` is called for every temporary failure. */
export async function persist(work, onFailure = () => {}) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Failure && error.passes)) throw error;
      onFailure(error);
      await pause(delay(attempt, error.wait), error.wait === 0);
    }
  }
}
