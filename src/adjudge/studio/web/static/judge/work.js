/** An assignment from its first set to its last: what is judged is sent, what is finished is left. */

import { announce } from "./announce.js";
import { Failure, send } from "./api.js";
import { clearBar, showLease, showProgress, showSaved } from "./bar.js";
import { createClock } from "./clock.js";
import { copied, partsOf } from "./dom.js";
import { listen } from "./keys.js";
import { keep, kept, workName } from "./local.js";
import { createOutbox, uniqueKey } from "./outbox.js";
import { answerOf, problems } from "./ranking.js";
import { persist } from "./retry.js";
import { createSheet } from "./sheet.js";
import { t } from "./text.js";
import { createViewer } from "./viewer.js";

const ALIVE = 60_000; // milliseconds between two signs of life
const NOTED = 2_000; // milliseconds between two notes of the time
const LOOKAHEAD = 1_500; // milliseconds before the next set's documents are loaded

/**
 * Open an assignment in the page's main part. `context` says who judges by which rules ({ person, rules }), and hears
 * of each end: reviewed(review), over(), elsewhere(), signedOut(), and told(sentence) of what ends nothing.
 */
export function openWork(main, first, context) {
  const view = copied("work-view");
  const part = partsOf(view);
  const ended = new AbortController();
  const name = workName(context.person, first.token);
  const viewer = createViewer(part);
  const outbox = createOutbox(name, { state: showSaved, lease: setLease, refused: failed });
  const clock = createClock(beat, viewer.isReading);
  let assignment = first;
  let sheet = null;
  let left = null; // ends with the set
  let seconds = [];
  let sent = []; // seconds that the studio knows
  let deadline = 0;
  let active = 0; // milliseconds since the last sign of life
  let noted = 0;
  let busy = false;

  /** Enter the current set of an assignment. */
  function enter(next) {
    assignment = next;
    left?.abort();
    left = new AbortController();
    const { set } = assignment;
    const notes = kept(`${name}/notes`);
    const mine = notes?.set === set.token ? notes : { seconds: [], placed: [] };
    seconds = set.documents.map((one, slot) => Math.max(one.seconds, mine.seconds[slot] ?? 0));
    sent = set.documents.map((one) => one.seconds);
    viewer.retain([...set.documents]);
    const isLast = set.position + 1 === assignment.of;
    const least = assignment.kind === "work" ? context.rules.seconds : 0; // a qualification is not timed
    const hooks = { changed, left: sendTime, signal: left.signal };
    sheet = createSheet({ part, set, seconds, placed: mine.placed, least, viewer, isLast, ...hooks });
    setLease(assignment.seconds_left);
    drawProgress();
    lookAhead();
  }

  /** Load the documents of the next set once those of this one are there. */
  function lookAhead() {
    const { documents } = assignment.set;
    viewer.prefetch(documents);
    const timer = setTimeout(() => viewer.prefetch(assignment.next?.documents ?? []), LOOKAHEAD);
    left.signal.addEventListener("abort", () => clearTimeout(timer));
  }

  function changed(slots) {
    slots.forEach(put);
    note();
    drawProgress();
  }

  function put(slot) {
    sent[slot] = seconds[slot];
    outbox.put(assignment.set.token, { ...answerOf(sheet.state, slot), seconds: seconds[slot] });
  }

  /** Send the time of a document that was closed; a glance is not worth a message. */
  function sendTime(slot) {
    if (sheet && seconds[slot] - sent[slot] >= 1) put(slot);
  }

  /** Note on this machine what the studio is not told at once. */
  function note() {
    const placed = sheet.state.placed.flatMap((by, slot) => (by ? [slot] : []));
    keep(`${name}/notes`, { set: assignment.set.token, seconds, placed });
    noted = performance.now();
  }

  function drawProgress() {
    const { set, of } = assignment;
    const judged = sheet.state.told.filter(Boolean).length;
    showProgress({ position: set.position, of, judged, documents: set.documents.length });
  }

  function setLease(secondsLeft) {
    if (!(secondsLeft >= 0)) return;
    deadline = performance.now() + secondsLeft * 1000;
    showLease(secondsLeft);
  }

  function beat(passed) {
    if (!sheet) return;
    seconds[sheet.opened] += passed;
    active += passed * 1000;
    sheet.drawTime();
    showLease((deadline - performance.now()) / 1000);
    part("away").hidden = !viewer.hasKeyboard();
    if (passed && performance.now() - noted > NOTED) note();
    if (active > ALIVE) stayAlive();
  }

  function stayAlive() {
    active = 0;
    send("/api/alive", { set: assignment.set.token })
      .then(() => setLease(60 * context.rules.lease_minutes))
      .catch((error) => error.status === 410 && failed(error)); // any other failure is the outbox's to tell
  }

  /** Leave the set, if it may be left. All that waits goes first, so that nothing comes after the end. */
  async function finish() {
    if (busy) return;
    const found = problems(sheet.state);
    if (found.length) return refuse(found);
    busy = true;
    part("next").setAttribute("aria-busy", "true");
    try {
      await outbox.flush();
      if (outbox.isEmpty() && !problems(sheet.state).length) await leave();
    } catch (error) {
      failed(error);
    } finally {
      busy = false;
      view.inert = false;
      part("next").removeAttribute("aria-busy");
    }
  }

  async function leave() {
    const { token } = assignment.set;
    const whole = (slot) => ({ key: uniqueKey(), ...answerOf(sheet.state, slot), seconds: seconds[slot] });
    const body = { set: token, answers: assignment.set.documents.map((one) => whole(one.slot)) };
    view.inert = true; // what is changed now would come too late
    const answer = await persist(
      () => send("/api/finish", body),
      () => showSaved("offline", body.answers.length),
    );
    showSaved("saved", 0);
    outbox.forgetSet(token);
    keep(`${name}/notes`, null);
    view.inert = false;
    if (answer.review) return end(() => context.reviewed(answer.review));
    enter(answer);
    window.scrollTo(0, 0);
    part("topic").focus();
    announce(t("set_of", { at: answer.set.position + 1, n: answer.of }));
  }

  function refuse(found) {
    sheet.showProblems(found);
    announce(part("message-text").textContent);
    const untold = found.find((problem) => problem.kind === "untold");
    if (untold) sheet.open(untold.slots[0]);
  }

  function failed(error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status === 401 || error.status === 403) return context.signedOut();
    if (error.status === 409 && error.problems.length) return refuse(error.problems);
    if (error.code === "finished" || error.code === "early") return end(context.elsewhere);
    if (error.status === 410 || error.status === 404) return end(context.over);
    context.told(error.message || t("failed"));
  }

  /** Stop all that runs, forget what was kept here, and go on elsewhere. */
  function end(next) {
    close();
    keep(`${name}/notes`, null);
    keep(`${name}/outbox`, null);
    next();
  }

  function close() {
    ended.abort();
    left?.abort();
    clock.stop();
    outbox.close();
    clearBar();
  }

  /** Send what is left before the page may be closed. */
  function hurry() {
    if (document.visibilityState !== "hidden" || busy) return;
    sendTime(sheet.opened);
    note();
    if (!outbox.isEmpty()) outbox.flush();
  }

  const table = {
    r: () => sheet.choose(1, true),
    i: () => sheet.choose(0, true),
    c: () => sheet.choose(null, true),
    j: () => sheet.step(1),
    k: () => sheet.step(-1),
    x: () => sheet.fix(),
    u: () => sheet.undo(),
    U: () => sheet.redo(),
    "Ctrl+z": () => sheet.undo(),
    "Ctrl+Shift+z": () => sheet.redo(),
    "Ctrl+y": () => sheet.redo(),
    "Alt+ArrowUp": () => sheet.shift(-1),
    "Alt+ArrowDown": () => sheet.shift(1),
    "/": () => viewer.finder.focus(),
    n: () => viewer.finder.step(1),
    N: () => viewer.finder.step(-1),
    "+": () => viewer.magnify(1),
    "-": () => viewer.magnify(-1),
    0: () => viewer.magnify(0),
    d: () => viewer.enter(),
    m: () => part("comment").focus(),
    "Ctrl+Enter": finish,
  };
  for (let digit = 1; digit <= 9; digit += 1) table[digit] = () => sheet.rank(digit);

  main.replaceChildren(view);
  listen(table, ended.signal);
  part("next").addEventListener("click", finish);
  document.addEventListener("visibilitychange", hurry, { signal: ended.signal });
  part("frames").addEventListener("pointerleave", () => viewer.hasKeyboard() && document.activeElement.blur());
  enter(first);
  part("topic").focus();
  outbox.flush();
  return { close, end, token: first.token };
}
