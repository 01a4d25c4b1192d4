/** The set that is being judged: the open document, the answers, the ranking, undo and redo. */

import { announce } from "./announce.js";
import { createHistory } from "./history.js";
import { preferences } from "./preferences.js";
import * as ranking from "./ranking.js";
import { createRows, verdictName, verdictText } from "./rows.js";
import { holdSentence, problemSentence } from "./sentences.js";
import { createTabs } from "./tabs.js";
import { letter, t } from "./text.js";

/**
 * Return the sheet of a set. `changed(slots)` is called with the answers that are new, `left(slot)` with a document that
 * was closed. `seconds` is counted elsewhere and only displayed here.
 */
export function createSheet({ part, set, seconds, placed, least, viewer, isLast, signal, changed, left }) {
  const { documents, topic } = set;
  const history = createHistory(ranking.stateOf(documents, placed));
  const rows = createRows(part("ranking"), documents, { move, open });
  const tabs = createTabs(part("tabs"), documents, least, open);
  let opened = null;
  let held = false; // whether everything is judged, but in too short a time

  /** Apply a new state, report what is new in it, and draw it. */
  function take(next, group = null) {
    const before = history.now;
    history.step(next, group);
    settle(before);
  }

  function settle(before) {
    const slots = ranking.changedSlots(before, history.now);
    if (slots.length) changed(slots);
    draw();
  }

  /** Label the open document; after a key or a click, the next document without a label is opened. */
  function choose(relevance, advance) {
    take(ranking.choose(history.now, opened, relevance));
    const sentence = t("chosen", { name: letter(opened), verdict: verdictText(history.now, opened) });
    const next = advance && preferences().advance ? ranking.nextUntold(history.now, opened) : null;
    announce(`${sentence} ${messageOf(ranking.problems(history.now))}`);
    if (next !== null) open(next);
  }

  function move(slot, index) {
    const next = ranking.place(history.now, slot, index);
    if (next.order.indexOf(slot) === history.now.order.indexOf(slot)) return; // nothing to undo
    take(next);
    tellRank(slot);
  }

  function tellRank(slot) {
    const at = history.now.order.indexOf(slot) + 1;
    const wrong = ranking.problems(history.now).find((problem) => problem.kind === "order");
    announce(`${t("ranked", { name: letter(slot), at, n: documents.length })} ${wrong ? problemSentence(wrong) : ""}`);
  }

  /** Fix the order as the message suggests. */
  function fix() {
    const wrong = ranking.problems(history.now).find((problem) => problem.kind === "order");
    if (!wrong) return;
    take(ranking.putAbove(history.now, ...wrong.slots));
    tellRank(wrong.slots[0]);
  }

  function back(step, word) {
    const before = history.now;
    history[step]();
    settle(before);
    if (before !== history.now) announce(word);
  }

  /** Open a document. */
  function open(slot) {
    if (slot === opened) return;
    if (opened !== null) left(opened);
    opened = slot;
    viewer.show(documents[slot].url, documents[slot].title);
    draw();
  }

  const step = (by) => open((opened + by + documents.length) % documents.length);

  function draw() {
    const state = history.now;
    const found = ranking.problems(state);
    tabs.draw(state, opened);
    drawAnswer(state);
    showProblems(found);
    part("undo").setAttribute("aria-disabled", String(!history.canUndo));
    part("redo").setAttribute("aria-disabled", String(!history.canRedo));
    drawTime();
  }

  function drawAnswer(state) {
    part("title").textContent = `${letter(opened)} · ${documents[opened].title}`;
    part("document").setAttribute("aria-labelledby", `tab-${opened}`);
    for (const radio of part("verdict").querySelectorAll("input"))
      radio.checked = radio.value === verdictName(state, opened);
    part("comment-name").textContent = letter(opened);
    if (part("comment").value !== state.comment[opened]) part("comment").value = state.comment[opened];
  }

  /** Show the seconds of each document, and whether the open one had enough time. */
  function drawTime() {
    const short = seconds[opened] < least;
    const n = Math.floor(seconds[opened]);
    tabs.drawTime(seconds);
    part("time").textContent = short ? t("time_short", { n, least }) : t("time_fine", { n });
    part("time").classList.toggle("brief", short);
    if (held) countDown();
  }

  /** Return the seconds that each document must still be read. */
  const missing = () => seconds.map((spent) => Math.max(0, least - spent));
  const needsTime = () => missing().some((left) => left > 0);

  /** Draw the seconds that are missing; only their end is announced, so that a screen reader is not interrupted. */
  function countDown() {
    const found = ranking.problems(history.now);
    drawMessage(found);
    if (!found.length && !held) announce(messageOf(found));
  }

  /** Open a document that must be read on, and say how long. */
  function readOn() {
    const left = missing();
    if (!left[opened]) open(left.findIndex((seconds) => seconds > 0));
    draw();
    announce(messageOf(ranking.problems(history.now)));
  }

  /** Show why the set cannot be finished yet, or that it can. */
  function showProblems(found) {
    const wrong = found.find((problem) => problem.kind === "order");
    const [a, b] = wrong?.slots.map(letter) ?? [];
    part("fix").hidden = !wrong;
    part("fix-text").textContent = wrong ? t("fix", { a, b }) : "";
    drawMessage(found);
    rows.draw(history.now, opened, wrong?.slots ?? []);
  }

  /** Draw the message and the button that leaves the set; it is held while documents need more time. */
  function drawMessage(found) {
    held = !found.length && needsTime();
    const wrong = found.some((problem) => problem.kind === "order");
    const total = Math.ceil(missing().reduce((sum, left) => sum + left, 0));
    const word = isLast ? t("finish") : t("next_set");
    part("message").dataset.kind = wrong ? "wrong" : found.length || held ? "open" : "fine";
    setText("message-text", messageOf(found));
    setText("next-text", held ? t("next_held", { next: word, n: total }) : word);
    part("next").setAttribute("aria-disabled", String(found.length > 0 || held));
  }

  function setText(name, text) {
    if (part(name).textContent !== text) part(name).textContent = text;
  }

  function messageOf(found) {
    if (found.length) return problemSentence(found[0]);
    if (needsTime()) return holdSentence(missing(), opened);
    return isLast ? t("ready_last") : t("ready");
  }

  function write() {
    part("topic").textContent = topic.query;
    part("description").textContent = topic.description;
    part("narrative").textContent = topic.narrative;
    part("more").hidden = !topic.description && !topic.narrative;
  }

  function hear() {
    const on = (name, kind, action) => part(name).addEventListener(kind, action, { signal });
    let pointed = false; // arrow keys choose among radio buttons too, and must not lead away from them
    on("verdict", "pointerdown", () => (pointed = true));
    on("verdict", "keydown", () => (pointed = false));
    on("verdict", "change", (event) => choose(RELEVANCE[event.target.value], pointed));
    on("comment", "input", (event) =>
      take(ranking.remark(history.now, opened, event.target.value), `comment-${opened}`),
    );
    on("fix", "click", fix);
    on("undo", "click", () => back("undo", t("undone")));
    on("redo", "click", () => back("redo", t("redone")));
  }

  write();
  hear();
  open(history.now.told.includes(false) ? history.now.told.indexOf(false) : 0);
  return {
    choose,
    open,
    step,
    fix,
    drawTime,
    showProblems,
    readOn,
    /** Return whether everything is judged, but in too short a time. */
    isHeld: () => held,
    undo: () => back("undo", t("undone")),
    redo: () => back("redo", t("redone")),
    rank: (rank) => rank <= documents.length && move(opened, rank - 1),
    shift: (by) => move(opened, history.now.order.indexOf(opened) + by),
    get state() {
      return history.now;
    },
    get opened() {
      return opened;
    },
  };
}

const RELEVANCE = { relevant: 1, irrelevant: 0, unsure: null };
