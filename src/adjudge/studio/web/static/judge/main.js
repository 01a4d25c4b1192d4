/** The judge's way: from the state that the studio tells to the page that belongs to it. */

import { announce } from "./announce.js";
import { ask, Failure, send } from "./api.js";
import { clearBar, showSaved } from "./bar.js";
import { asked, partsOf } from "./dom.js";
import { fillRules, openHome } from "./home.js";
import { listen } from "./keys.js";
import { keep, keptWork, workName } from "./local.js";
import { openNotice, stageWords } from "./notice.js";
import { createOutbox } from "./outbox.js";
import { prefer, preferences } from "./preferences.js";
import { persist } from "./retry.js";
import { openReview } from "./review.js";
import { t } from "./text.js";
import { openWork } from "./work.js";

const main = document.getElementById("main");
const dialog = (name) => document.getElementById(`${name}-dialog`);
const bar = partsOf(document.querySelector(".bar"));
let state = null;
let work = null;

/** Ask the studio how things stand, after it has all that is still kept here, and show that. */
async function refresh() {
  try {
    state = await told();
    if (await drained(state.person.name)) state = await told();
    show();
  } catch (error) {
    failed(error);
  }
}

const told = () => persist(() => ask("/api/state"), () => showSaved("offline", 0));

/** Send what this person's browser still keeps; return whether there was anything. */
async function drained(person) {
  const names = keptWork(person).filter((name) => name.endsWith("/outbox"));
  for (const name of names) await drainOne(workName(person, name.slice(0, -"/outbox".length)));
  return names.length > 0;
}

/** Send what is kept of one assignment. What comes too late is told, what needs a sign-in stays. */
async function drainOne(name) {
  let late = null;
  const outbox = createOutbox(name, { state: showSaved, lease: () => {}, refused: (error) => (late = error) });
  await outbox.flush();
  if (late?.status === 401 || late?.status === 403) throw late;
  if (late) message(t("kept_too_late"));
}

/** Show the page of a stage. */
function show() {
  work?.close();
  settle();
  clearBar();
  const { stage, assignment } = state;
  bar("name").textContent = state.person.name;
  fillRules(partsOf(dialog("rules")), state);
  showSaved("saved", 0);
  const going = stage === "qualification" || stage === "work";
  if (assignment && going) return judge(assignment);
  if (state.review && (going || stage === "review")) return review(state.review);
  if (!going) return rest(stage);
  openHome(main, state, begin);
}

function rest(stage) {
  const [heading, sentence] = stageWords(stage);
  const contact = state.campaign.contact ? t("contact", { contact: state.campaign.contact }) : "";
  const again = { action: t("look_again"), go: refresh };
  const last = state.review ? { second: t("last_review"), goSecond: () => review(state.review) } : {};
  const why = stage === "nothing" ? "" : state.why;
  openNotice(main, { heading, sentences: [sentence, why, contact], ...again, ...last });
}

/** Take the assignment that is open, or a new one. */
async function begin() {
  try {
    judge(await persist(() => send("/api/assignment"), () => showSaved("offline", 0)));
  } catch (error) {
    if (error.status === 409) await refresh();
    else failed(error);
  }
}

function judge(assignment) {
  forgetOthers(assignment.token);
  const { person, rules } = state;
  const ends = { reviewed: review, over, signedOut, elsewhere, told: message };
  work = openWork(main, assignment, { person: person.name, rules, ...ends });
  document.body.classList.add("working");
  bar("release").hidden = false;
}

/** Forget what is kept of assignments that are over. */
function forgetOthers(token) {
  const { name } = state.person;
  for (const other of keptWork(name)) if (!other.startsWith(`${token}/`)) keep(workName(name, other), null);
}

function settle() {
  work = null;
  document.body.classList.remove("working");
  bar("release").hidden = true;
}

function review(found) {
  settle();
  openReview(main, found, { again: begin, home: refresh, failed });
}

function over() {
  settle();
  openNotice(main, { heading: t("over"), sentences: [t("over_why")], action: t("go_on"), go: refresh });
}

/** Go on where another window has led. */
function elsewhere() {
  message(t("elsewhere"));
  return refresh();
}

/** Ask to sign in again. In another site's frame there is no door to sign in at: the frame is loaded anew. */
function signedOut() {
  const asking = dialog("signed-out");
  if (document.querySelector("meta[name=session]")) asking.querySelector("a").href = location.href;
  if (!asking.open) asking.showModal();
}

function failed(error) {
  if (!(error instanceof Failure)) throw error;
  if (error.status === 401) return signedOut();
  message(error.message || t("failed"));
}

/** Say something that fits no place of the page. */
function message(sentence) {
  const place = document.getElementById("toast");
  place.querySelector("p").textContent = sentence;
  place.hidden = false;
  announce(sentence);
}

/** Give the assignment up, after a question. */
async function release() {
  if (!work || (await asked(dialog("release"))) !== "yes") return;
  const leaving = work;
  try {
    await send("/api/release", { assignment: leaving.token });
    leaving.end(settle);
    await refresh();
  } catch (error) {
    failed(error);
  }
}

async function speak(language) {
  try {
    await send("/api/language", { language });
    location.reload();
  } catch (error) {
    failed(error);
  }
}

/** Connect what is on every page: the bar, its menu, the dialogs. */
function connect() {
  const menu = bar("menu");
  const help = () => dialog("help").showModal();
  bar("help").addEventListener("click", help);
  for (const name of ["rules", "rules-item"]) bar(name).addEventListener("click", () => dialog("rules").showModal());
  bar("release").addEventListener("click", release);
  bar("language").addEventListener("change", (event) => speak(event.target.value));
  document.addEventListener("click", (event) => !menu.contains(event.target) && (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  const toast = document.getElementById("toast");
  toast.querySelector("button").addEventListener("click", () => (toast.hidden = true));
  for (const box of dialog("help").querySelectorAll("input")) {
    box.checked = preferences()[box.name];
    box.addEventListener("change", () => prefer(box.name, box.checked));
  }
  listen({ "?": help }, new AbortController().signal);
}

connect();
refresh();
