/** Announcements for screen readers: polite, and the last one counts. */

const region = document.getElementById("announcer");

/** Announce a sentence; the same sentence can be announced twice. */
export function announce(sentence) {
  region.textContent = region.textContent === sentence ? `${sentence}\u00a0` : sentence;
}
