/** The judge's page: shows the view that belongs to the state reported by the studio. */

import { announce } from "./announce.js";
import { ask, Failure, send } from "./api.js";
import { clearBar, showSaved } from "./bar.js";
import { partsOf, showDialog } from "./dom.js";
import { fillRules, openHome } from "./home.js";
import { listen } from "./keys.js";
import { save, storedWork, workName } from "./local.js";
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

/** Send the changes that are still stored here, ask the studio for the state, and show it. */
async function refresh() {
  try {
    state = await readState();
    if (await drain(state.person.name)) state = await readState();
    show();
  } catch (error) {
    failed(error);
  }
}

const readState = () => persist(() => ask("/api/state"), () => showSaved("offline", 0));

/** Send the stored changes of a person; return whether there were any. */
async function drain(person) {
  const names = storedWork(person).filter((name) => name.endsWith("/outbox"));
  for (const name of names) await drainOne(workName(person, name.slice(0, -"/outbox".length)));
  return names.length > 0;
}

/** Send the stored changes of one assignment. Late ones are reported; those that need a sign-in stay. */
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
  openHome(main, state, begin, lastReview);
}

/** Show the review of the last assignment again, in which its known answers can be contested. */
async function lastReview() {
  try {
    review(await ask(`/api/review/${state.last}`));
  } catch (error) {
    failed(error);
  }
}

function rest(stage) {
  const [heading, sentence] = stageWords(stage);
  const contact = state.campaign.contact ? t("contact", { contact: state.campaign.contact }) : "";
  const again = { action: t("look_again"), go: refresh };
  const last = state.last ? { second: t("last_review"), goSecond: lastReview } : {};
  const why = stage === "nothing" ? "" : state.why;
  openNotice(main, { heading, sentences: [sentence, why, contact], ...again, ...last });
}

/** Open the current assignment, or a new one. */
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
  const ends = { reviewed: review, over, signedOut, elsewhere, message };
  work = openWork(main, assignment, { person: person.name, rules, ...ends });
  document.body.classList.add("working");
  bar("release").hidden = false;
}

/** Delete what is stored of assignments that are over. */
function forgetOthers(token) {
  const { name } = state.person;
  for (const other of storedWork(name)) if (!other.startsWith(`${token}/`)) save(workName(name, other), null);
}

function settle() {
  work = null;
  document.body.classList.remove("working");
  bar("release").hidden = true;
}

function review(result) {
  settle();
  openReview(main, result, { again: begin, home: refresh, failed });
}

function over() {
  settle();
  openNotice(main, { heading: t("over"), sentences: [t("over_why")], action: t("go_on"), go: refresh });
}

/** Continue after the set was finished in another window. */
function elsewhere() {
  message(t("elsewhere"));
  return refresh();
}

/** Ask the judge to sign in again. In a platform's frame nobody can sign in, so the frame is loaded again. */
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

/** Show a message in a corner of the page. */
function message(sentence) {
  const toast = document.getElementById("toast");
  toast.querySelector("p").textContent = sentence;
  toast.hidden = false;
  announce(sentence);
}

/** Give up the assignment, after a confirmation. */
async function release() {
  if (!work) return;
  const means = work.kind === "qualification" ? t("release_means_qualification") : t("release_means");
  partsOf(dialog("release"))("means").textContent = means;
  if ((await showDialog(dialog("release"))) !== "yes") return;
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

/** Connect the parts of every view: the bar, its menu, the dialogs. */
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
