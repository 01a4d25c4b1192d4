/** Looking for words in the open document. The studio marks them (#m1, #m2, ...); here one goes from mark to mark. */

import { announce } from "./announce.js";
import { ask } from "./api.js";
import { t } from "./text.js";

const QUIET = 250; // milliseconds

/** Return the finder. `go(url, address)` leads the frame of a document to an address. */
export function createFinder(part, go) {
  const field = part("find");
  let url = "";
  let word = "";
  let count = 0;
  let at = 0;
  let timer = 0;

  /** Look for the same word in another document, or for another word in the same one. */
  async function renew(document = url) {
    [url, word] = [document, field.value.trim()];
    [count, at] = [0, 0];
    tell("");
    if (!word) return go(url, url);
    const wanted = [url, word];
    const found = await ask(`${url}/matches?find=${encodeURIComponent(word)}`).catch(() => null);
    if (wanted[0] !== url || wanted[1] !== word) return; // something else is wanted by now
    if (!found) return tell(t("find_failed"));
    count = found.matches;
    step(1);
  }

  /** Go to the next mark (1) or the one before (-1), going round. */
  function step(by) {
    if (!word) return field.focus();
    at = count ? ((at - 1 + by + count) % count) + 1 : 0;
    go(url, `${url}?find=${encodeURIComponent(word)}${at ? `#m${at}` : ""}`);
    tell(count ? t("find_at", { at, n: count }) : t("find_none"));
  }

  function tell(sentence) {
    part("found").textContent = sentence;
    for (const name of ["found", "previous-match", "next-match"]) part(name).hidden = !word;
    for (const name of ["previous-match", "next-match"]) part(name).setAttribute("aria-disabled", String(!count));
    if (sentence) announce(sentence);
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(renew, QUIET);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (field.value.trim() === word) step(event.shiftKey ? -1 : 1);
    else renew();
  });
  part("next-match").addEventListener("click", () => step(1));
  part("previous-match").addEventListener("click", () => step(-1));
  return { renew, step, focus: () => field.select() };
}
