/** The list in which documents are ranked: by dragging, with buttons, or with arrow keys on the handle. */

import { element } from "./dom.js";
import { makeDraggable } from "./drag.js";
import { letter, t } from "./text.js";

const STEPS = { ArrowUp: -1, ArrowDown: 1 };

/** Return a list that draws states. `move(slot, index)` and `open(slot)` are called when the judge asks for it. */
export function createRows(list, documents, { move, open }) {
  const rows = documents.map((one) => createRow(one, documents.length));
  let order = [];
  list.replaceChildren();

  rows.forEach((row, slot) => {
    const by = (step) => move(slot, order.indexOf(slot) + step);
    makeDraggable(row.item, row.handle, () => [...list.children], (_, index) => move(slot, index));
    row.handle.addEventListener("keydown", (event) => {
      if (!(event.key in STEPS) || event.altKey) return;
      event.preventDefault();
      by(STEPS[event.key]);
    });
    row.up.addEventListener("click", () => by(-1));
    row.down.addEventListener("click", () => by(1));
    row.open.addEventListener("click", () => open(slot));
  });

  /** Draw a state; the focus is kept. */
  function draw(state, opened, wrong) {
    order = state.order;
    const focused = document.activeElement;
    if ([...list.children].some((item, at) => item !== rows[order[at]].item) || !list.children.length)
      list.append(...order.map((slot) => rows[slot].item));
    order.forEach((slot, at) => drawRow(rows[slot], slot, at, state, { opened, wrong }));
    if (list.contains(focused)) focused.focus();
  }

  return { draw };
}

/** Return the parts of a row. */
function createRow({ slot, title }, count) {
  const name = letter(slot);
  const handle = element("button", { type: "button", className: "handle", "aria-label": t("rank_handle", { name }) });
  const rank = element("span", { className: "rank", "aria-hidden": "true" });
  const open = element("button", { type: "button", className: "opener" });
  const badge = element("span", { className: "letter", textContent: name });
  const verdict = element("span", { className: "verdict-word" });
  const heading = element("span", { className: "title", textContent: title, title });
  open.append(badge, element("span", { className: "words" }, heading, verdict));
  const up = arrow("\u2191", t("rank_up", { name }));
  const down = arrow("\u2193", t("rank_down", { name }));
  const item = element("li", { className: "ranked" }, handle, rank, open, up, down);
  return { item, handle, rank, open, verdict, up, down, last: count - 1 };
}

const arrow = (sign, label) =>
  element("button", { type: "button", className: "quiet small", textContent: sign, "aria-label": label });

/** Draw one row: its rank, its label, and whether its position is wrong. */
function drawRow(row, slot, at, state, { opened, wrong }) {
  row.rank.textContent = at + 1;
  row.item.dataset.verdict = verdictName(state, slot);
  row.verdict.textContent = verdictText(state, slot);
  row.item.classList.toggle("current", slot === opened);
  row.item.classList.toggle("wrong", wrong.includes(slot));
  row.up.setAttribute("aria-disabled", String(at === 0));
  row.down.setAttribute("aria-disabled", String(at === row.last));
}

/** Return the name of an answer in style sheets. */
export function verdictName(state, slot) {
  if (!state.told[slot]) return "untold";
  return { 1: "relevant", 0: "irrelevant" }[state.relevance[slot]] ?? "unsure";
}

/** Return an answer as text. */
export function verdictText(state, slot) {
  if (!state.told[slot]) return t("untold");
  return { 1: t("relevant"), 0: t("irrelevant") }[state.relevance[slot]] ?? t("cannot_tell");
}
