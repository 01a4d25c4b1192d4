/** An assignment from its first set to its last: answers are sent, and finished sets are left. */

import { announce } from "./announce.js";
import { Failure, send } from "./api.js";
import { clearBar, showLease, showProgress, showSaved } from "./bar.js";
import { createClock } from "./clock.js";
import { cloneTemplate, partsOf } from "./dom.js";
import { listen } from "./keys.js";
import { load, save, workName } from "./local.js";
import { createOutbox, uniqueKey } from "./outbox.js";
import { answerOf, problems } from "./ranking.js";
import { persist } from "./retry.js";
import { createSheet } from "./sheet.js";
import { t } from "./text.js";
import { createViewer } from "./viewer.js";

const ALIVE = 60_000; // milliseconds of activity between two keep-alive requests
const NOTED = 2_000; // milliseconds between two local saves of the times
const LOOKAHEAD = 1_500; // milliseconds before the next set's documents are loaded

/**
 * Open an assignment in the main part of the page. `context` has the judge and the rules ({ person, rules }) and a
 * function for each end: reviewed(review), over(), elsewhere(), signedOut(), and message(sentence) for other failures.
 */
export function openWork(main, first, context) {
  const view = cloneTemplate("work-view");
  const part = partsOf(view);
  const ended = new AbortController();
  const name = workName(context.person, first.token);
  const viewer = createViewer(part);
  const outbox = createOutbox(name, { state: showSaved, lease: setLease, refused: failed });
  const clock = createClock(beat, viewer.isReading);
  let assignment = first;
  let sheet = null;
  let left = null; // aborted when the set is left
  let seconds = [];
  let sent = []; // seconds that were sent to the studio
  let deadline = 0;
  let active = 0; // milliseconds since the last keep-alive request
  let noted = 0;
  let busy = false;

  /** Enter the current set of an assignment. */
  function enter(next) {
    assignment = next;
    left?.abort();
    left = new AbortController();
    const { set } = assignment;
    const notes = load(`${name}/notes`);
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

  /** Load the documents of the next set after those of this one. */
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

  /** Send the time of a document that was closed, unless it is less than a second. */
  function sendTime(slot) {
    if (sheet && seconds[slot] - sent[slot] >= 1) put(slot);
  }

  /** Save in the browser what is not sent to the studio at once. */
  function note() {
    const placed = sheet.state.placed.flatMap((by, slot) => (by ? [slot] : []));
    save(`${name}/notes`, { set: assignment.set.token, seconds, placed });
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
      .catch((error) => error.status === 410 && failed(error)); // the outbox reports any other failure
  }

  /** Finish the set, if it is complete. Stored changes are sent first, so that none arrives after the end. */
  async function finish() {
    if (busy) return;
    const incomplete = problems(sheet.state);
    if (incomplete.length) return refuse(incomplete);
    if (sheet.isHeld()) return sheet.readOn();
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
    const answerTo = (slot) => ({ key: uniqueKey(), ...answerOf(sheet.state, slot), seconds: seconds[slot] });
    const body = { set: token, answers: assignment.set.documents.map((one) => answerTo(one.slot)), hold: true };
    view.inert = true; // changes made now would come too late
    const answer = await persist(
      () => send("/api/finish", body),
      () => showSaved("offline", body.answers.length),
    );
    showSaved("saved", 0);
    outbox.forgetSet(token);
    save(`${name}/notes`, null);
    view.inert = false;
    if (answer.review) return end(() => context.reviewed(answer.review));
    enter(answer);
    window.scrollTo(0, 0);
    part("topic").focus();
    announce(t("set_of", { at: answer.set.position + 1, n: answer.of }));
  }

  function refuse(incomplete) {
    sheet.showProblems(incomplete);
    announce(part("message-text").textContent);
    const untold = incomplete.find((problem) => problem.kind === "untold");
    if (untold) sheet.open(untold.slots[0]);
  }

  /** Count as the studio does, whose clock decides, where it has counted fewer seconds. */
  function recount(missing) {
    missing.forEach((left, slot) => {
      if (left > 0) seconds[slot] = Math.min(seconds[slot], context.rules.seconds - left);
    });
    sheet.readOn();
  }

  function failed(error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status === 401 || error.status === 403) return context.signedOut();
    if (error.code === "brief") return recount(error.missing);
    if (error.status === 409 && error.problems.length) return refuse(error.problems);
    if (error.code === "quota") return context.message(t("quota"));
    if (error.code === "finished" || error.code === "early") return end(context.elsewhere);
    if (error.status === 410 || error.status === 404) return end(context.over);
    context.message(error.message || t("failed"));
  }

  /** Stop everything, delete what is stored here, and continue elsewhere. */
  function end(next) {
    close();
    save(`${name}/notes`, null);
    save(`${name}/outbox`, null);
    next();
  }

  function close() {
    ended.abort();
    left?.abort();
    clock.stop();
    outbox.close();
    clearBar();
  }

  /** Send the remaining changes before the page is closed. */
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
  return { close, end, token: first.token, kind: first.kind };
}
