/** The bar at the top: progress, time left, and whether all changes are saved. */

import { announce } from "./announce.js";
import { element, partsOf } from "./dom.js";
import { timeLeft } from "./sentences.js";
import { t } from "./text.js";

const part = partsOf(document.querySelector(".bar"));
const SHORT = 300; // seconds left below which the judge is warned
const SETTLED = 1_500; // milliseconds before "saved" is announced
let announced = "saved";
let timer = 0;
let warned = false;

/** Show the position of the set and how many of its documents are judged. */
export function showProgress({ position, of, judged, documents }) {
  part("progress").hidden = false;
  part("set").textContent = t("set_of", { at: position + 1, n: of });
  part("judged").textContent = t("judged_of", { judged, n: documents });
  const marks = Array.from({ length: of }, (_, at) => element("i", { className: markName(at, position) }));
  part("marks").replaceChildren(...marks);
}

const markName = (at, position) => (at < position ? "past" : at === position ? "present" : "");

/** Show the time left of the lease, and warn once when it gets short. */
export function showLease(seconds) {
  const short = seconds < SHORT;
  part("lease").textContent = timeLeft(seconds);
  part("lease").classList.toggle("warn", short);
  if (short && !warned) announce(t("lease_short", { left: timeLeft(seconds) }));
  warned = short;
}

/** Show whether changes are saved, being sent, or stored here until the network is back. */
export function showSaved(state, waiting) {
  const words = { saved: t("saved"), saving: t("saving"), offline: t("offline", { n: waiting }) };
  part("saved").dataset.state = state;
  part("saved-word").textContent = words[state];
  clearTimeout(timer);
  if (state === "saving") return;
  timer = setTimeout(() => say(state, words[state]), state === "offline" ? 0 : SETTLED);
}

function say(state, sentence) {
  if (state !== announced || state === "saved") announce(sentence);
  announced = state;
}

/** Show the bar without progress. */
export function clearBar() {
  part("progress").hidden = true;
  clearTimeout(timer);
}
