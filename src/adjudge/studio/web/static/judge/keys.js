/** Keyboard shortcuts. Letters are shortcuts only outside text fields, and only if the judge has enabled them. */

import { isTyping } from "./dom.js";
import { preferences } from "./preferences.js";

/** Return the name of a pressed key as in the tables of shortcuts: "r", "Alt+ArrowUp", "Ctrl+z". */
function pressed(event) {
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const isLetter = event.key.length === 1;
  const shift = event.shiftKey && (control || !isLetter) ? "Shift+" : ""; // a shifted letter is another letter
  return `${control}${alt}${shift}${control && isLetter ? event.key.toLowerCase() : event.key}`;
}

/** Listen to a table of shortcuts until the signal ends. Escape leaves a text field. */
export function listen(table, signal) {
  const hear = (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) return leave(event, table);
    const name = pressed(event);
    const action = table[name];
    if (!action || (name.length === 1 && name !== "?" && !preferences().letters)) return;
    event.preventDefault();
    action();
  };
  window.addEventListener("keydown", hear, { signal });
}

/** Handle the keys that work inside text fields: Escape and Ctrl+Enter. */
function leave(event, table) {
  if (event.key === "Escape") event.target.blur();
  if (pressed(event) !== "Ctrl+Enter" || !table["Ctrl+Enter"]) return;
  event.preventDefault();
  event.target.blur();
  table["Ctrl+Enter"]();
}
