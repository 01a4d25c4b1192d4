/** The documents of a set as tabs, with their labels and times. */

import { element } from "./dom.js";
import { verdictName, verdictText } from "./rows.js";
import { letter, t } from "./text.js";

const STEPS = { ArrowRight: 1, ArrowLeft: -1 };

/** Return the tabs. `open(slot)` is called to open a document; `least` is the number of seconds each must be open. */
export function createTabs(list, documents, least, open) {
  const tabs = documents.map(createTab);
  list.replaceChildren(...tabs.map(({ tab }) => tab));

  tabs.forEach(({ tab }, slot) => {
    tab.addEventListener("click", () => open(slot));
    tab.addEventListener("keydown", (event) => {
      if (!(event.key in STEPS) || event.altKey) return;
      event.preventDefault();
      const next = (slot + STEPS[event.key] + tabs.length) % tabs.length;
      open(next);
      tabs[next].tab.focus();
    });
  });

  /** Draw the labels, and which document is open. */
  function draw(state, opened) {
    tabs.forEach(({ tab, word }, slot) => {
      tab.setAttribute("aria-selected", String(slot === opened));
      tab.tabIndex = slot === opened ? 0 : -1;
      tab.dataset.verdict = verdictName(state, slot);
      word.textContent = `${documents[slot].title}, ${verdictText(state, slot)}`;
    });
  }

  /** Draw the seconds; a document that was open for too short a time is marked. */
  function drawTime(seconds) {
    tabs.forEach(({ tab, time }, slot) => {
      const text = t("short_seconds", { n: Math.floor(seconds[slot]) });
      tab.classList.toggle("brief", seconds[slot] < least);
      if (time.textContent !== text) time.textContent = text;
    });
  }

  return { draw, drawTime };
}

/** Return the parts of a tab. */
function createTab({ slot, title }) {
  const name = element("span", { className: "letter", textContent: letter(slot) });
  const word = element("span", { className: "unseen" });
  const time = element("span", { className: "time number" });
  const properties = { type: "button", role: "tab", id: `tab-${slot}`, title, "aria-controls": "document" };
  return { tab: element("button", properties, name, word, time), word, time };
}
