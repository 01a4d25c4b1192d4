/** Trying again: later each time, at once when the network comes back, and never before the studio wants it. */

import { Failure } from "./api.js";

const FIRST = 0.5;
const LONGEST = 30;

/** Return seconds to wait before the next attempt; a little by chance, so that many pages do not come at once. */
export function delay(attempt, wanted = 0) {
  return Math.max(wanted, Math.min(LONGEST, FIRST * 2 ** attempt) * (0.75 + Math.random() / 2));
}

/** Wait so many seconds, or until the network is back. */
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

/** Do something until it succeeds or fails for good. `told` hears of every failure that passes. */
export async function persist(work, told = () => {}) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Failure && error.passes)) throw error;
      told(error);
      await pause(delay(attempt, error.wait), error.wait === 0);
    }
  }
}
