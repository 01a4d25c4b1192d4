/**
 * Active time of the open document: the seconds in which the page is visible and focused, and the judge pressed, moved
 * or typed something recently. Events in a sandboxed frame cannot be observed, so a judge who reads in the frame counts
 * as active for longer.
 */

const AWAY = 30_000; // milliseconds without an event before a judge counts as away
const AWAY_READING = 120_000;
const BEAT = 500;
const EVENTS = ["pointermove", "pointerdown", "keydown", "wheel", "touchstart", "scroll", "focus"];

/** Return a running clock. `beat(seconds)` receives the active seconds since the last call, which may be 0. */
export function createClock(beat, isReading) {
  let lastEvent = performance.now();
  let last = lastEvent;
  let wasReading = false;

  const noteEvent = () => (lastEvent = performance.now());

  function tick() {
    const now = performance.now();
    const reading = isReading();
    if (reading !== wasReading) noteEvent(); // entering or leaving the document counts as an event
    wasReading = reading;
    const present = document.visibilityState === "visible" && document.hasFocus();
    const active = present && now - lastEvent < (reading ? AWAY_READING : AWAY);
    beat(active ? Math.min(now - last, 2 * BEAT) / 1000 : 0);
    last = now;
  }

  EVENTS.forEach((name) => window.addEventListener(name, noteEvent, { passive: true, capture: true }));
  const timer = setInterval(tick, BEAT);
  return {
    /** Stop the clock. */
    stop() {
      clearInterval(timer);
      EVENTS.forEach((name) => window.removeEventListener(name, noteEvent, { capture: true }));
    },
  };
}
