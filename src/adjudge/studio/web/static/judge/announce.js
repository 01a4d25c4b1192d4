/** What is said to those who do not see the screen: politely, the last word counts. */

const region = document.getElementById("announcer");

/** Say a sentence; the same sentence twice is said twice. */
export function announce(sentence) {
  region.textContent = region.textContent === sentence ? `${sentence}\u00a0` : sentence;
}
