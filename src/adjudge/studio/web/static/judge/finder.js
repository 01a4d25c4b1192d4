/** Searching in the open document. The studio marks the matches (#m1, #m2, ...); this module moves between them. */

import { announce } from "./announce.js";
import { ask } from "./api.js";
import { t } from "./text.js";

const QUIET = 250; // milliseconds

/** Return the finder. `go(url, address)` loads an address into the frame of a document. */
export function createFinder(part, go) {
  const field = part("find");
  let url = "";
  let word = "";
  let count = 0;
  let at = 0;
  let timer = 0;

  /** Search for the same text in another document, or for another text in the same document. */
  async function renew(document = url) {
    [url, word] = [document, field.value.trim()];
    [count, at] = [0, 0];
    showResult("");
    if (!word) return go(url, url);
    const query = [url, word];
    const answer = await ask(`${url}/matches?find=${encodeURIComponent(word)}`).catch(() => null);
    if (query[0] !== url || query[1] !== word) return; // the query has changed meanwhile
    if (!answer) return showResult(t("find_failed"));
    count = answer.matches;
    step(1);
  }

  /** Go to the next match (1) or the previous one (-1), cyclically. */
  function step(by) {
    if (!word) return field.focus();
    at = count ? ((at - 1 + by + count) % count) + 1 : 0;
    go(url, `${url}?find=${encodeURIComponent(word)}${at ? `#m${at}` : ""}`);
    showResult(count ? t("find_at", { at, n: count }) : t("find_none"));
  }

  function showResult(sentence) {
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
