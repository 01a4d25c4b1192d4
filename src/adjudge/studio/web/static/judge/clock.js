/**
 * Active time of the open document: seconds in which somebody is there. The page is visible and focused, and something
 * was pressed, moved or typed not long ago. A sandboxed frame tells us nothing of what happens in it, so a reader who
 * is in the frame is believed for longer.
 */

const AWAY = 30_000; // milliseconds without a sign before a judge counts as away
const AWAY_READING = 120_000;
const BEAT = 500;
const SIGNS = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart", "scroll", "focus"];

/** Return a running clock. `beat(seconds)` is called with the active seconds since the last beat, which may be 0. */
export function createClock(beat, isReading) {
  let sign = performance.now();
  let last = sign;
  let wasReading = false;

  const seen = () => (sign = performance.now());

  function tick() {
    const now = performance.now();
    const reading = isReading();
    if (reading !== wasReading) seen(); // entering or leaving the document is a sign as well
    wasReading = reading;
    const there = document.visibilityState === "visible" && document.hasFocus();
    const active = there && now - sign < (reading ? AWAY_READING : AWAY);
    beat(active ? Math.min(now - last, 2 * BEAT) / 1000 : 0);
    last = now;
  }

  SIGNS.forEach((name) => window.addEventListener(name, seen, { passive: true, capture: true }));
  const timer = setInterval(tick, BEAT);
  return {
    /** Stop for good. */
    stop() {
      clearInterval(timer);
      SIGNS.forEach((name) => window.removeEventListener(name, seen, { capture: true }));
    },
  };
}
