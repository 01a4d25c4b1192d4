/** The review after the last set: the result, the mistakes on documents with known answers, and what to do next. */

import { announce } from "./announce.js";
import { address, send } from "./api.js";
import { cloneTemplate, element, partsOf } from "./dom.js";
import { criterionWords } from "./sentences.js";
import { number, t } from "./text.js";

/** Open a review. `context` = { again(), home(), failed(error) }. */
export function openReview(main, review, context) {
  const view = cloneTemplate("review-view");
  const part = partsOf(view);
  part("heading").textContent = heading(review);
  part("summary").textContent = summary(review);
  part("summary").classList.add(review.passed ? "good" : "warn");
  part("criteria").replaceChildren(...review.criteria.map(criterionRow));
  const { length: n } = review.mistakes;
  part("lesson").textContent = n ? t("mistakes", { n, gold: review.gold }) : t("no_mistakes");
  part("mistakes").replaceChildren(...review.mistakes.map((mistake) => mistakeCard(mistake, context)));
  fillActions(part, review, context);
  main.replaceChildren(view);
  window.scrollTo(0, 0);
  part("heading").focus();
  if (review.code) showCode(part, review);
}

function heading({ passed, kind }) {
  if (kind === "qualification") return passed ? t("qualified") : t("not_qualified");
  return passed ? t("accepted") : t("returned");
}

/** Return the result in words; if it was not accepted, with the failed checks. */
function summary({ passed, kind, criteria }) {
  if (passed && criteria.some((criterion) => !criterion.passed)) return t("summary_approved");
  if (passed) return kind === "qualification" ? t("summary_qualified") : t("summary_accepted");
  const missed = criteria.filter((criterion) => !criterion.passed).map((criterion) => {
    const { label, wanted, got } = criterionWords(criterion);
    return t("missed", { label, wanted, got });
  });
  return `${kind === "qualification" ? t("summary_not_qualified") : t("summary_returned")} ${missed.join(" ")}`;
}

function criterionRow(criterion) {
  const { label, wanted, got } = criterionWords(criterion);
  const mark = criterion.passed ? t("reached") : t("not_reached");
  const word = element("span", { className: `chip ${criterion.passed ? "good" : "warn"}`, textContent: mark });
  const cells = [wanted, got].map((textContent) => element("td", { className: "number", textContent }));
  return element("tr", {}, element("th", { scope: "row" }, label, " ", word), ...cells);
}

/** Return the card of a document that was judged wrongly. */
function mistakeCard(mistake, context) {
  const card = cloneTemplate("mistake-card");
  const part = partsOf(card);
  part("topic").textContent = mistake.topic.query;
  part("title").textContent = mistake.title;
  part("yours").textContent = { 1: t("relevant"), 0: t("irrelevant") }[mistake.yours] ?? t("cannot_tell");
  part("right").textContent = { 0: t("grade_0"), 1: t("grade_1"), 2: t("grade_2") }[mistake.grade];
  part("rank").textContent = number(mistake.rank);
  part("reason").textContent = mistake.reason || t("no_reason");
  part("reading").addEventListener("toggle", () => showDocument(part("document"), mistake), { once: true });
  part("contest").addEventListener("submit", (event) => {
    event.preventDefault();
    contest(part, mistake).catch(context.failed);
  });
  if (mistake.contested) markContested(part);
  return card;
}

function showDocument(container, { url, title }) {
  const frame = element("iframe", { title: t("document_frame", { title }) });
  frame.setAttribute("sandbox", "");
  frame.src = address(url);
  container.replaceChildren(frame);
}

async function contest(part, { set, slot }) {
  const comment = part("why").value.trim();
  part("why").setAttribute("aria-invalid", String(!comment));
  if (!comment) {
    announce(t("contest_empty"));
    return part("why").focus();
  }
  await send("/api/contest", { set, slot, comment });
  markContested(part);
  part("contested").focus();
}

function markContested(part) {
  part("objection").hidden = true;
  part("contested").hidden = false;
}

/** Show the possible actions: submit, try again, contest, or stop. */
function fillActions(part, review, context) {
  const { submit, again } = review.may;
  part("submit").hidden = !submit || Boolean(review.code);
  part("submit").textContent = review.kind === "qualification" ? t("go_on_work") : t("submit");
  part("again").hidden = !again;
  part("again").textContent = review.kind === "qualification" ? t("again_qualification") : t("again_work");
  part("may").textContent = may(review);
  part("submit").addEventListener("click", () => submitted(part, review, context).catch(context.failed));
  part("again").addEventListener("click", context.again);
  part("on").addEventListener("click", context.home);
  part("copy").addEventListener("click", () => copyCode(part));
}

function may({ may: { submit, again }, mistakes, kind }) {
  if (submit && kind === "qualification") return mistakes.length ? t("may_go_on_contest") : t("may_go_on");
  if (submit) return mistakes.length ? t("may_submit_contest") : t("may_submit");
  return `${again ? t("may_again") : t("may_not_again")} ${mistakes.length ? t("may_contest") : ""} ${t("may_stop")}`;
}

async function submitted(part, review, context) {
  const answer = await send("/api/submit", { assignment: review.token });
  if (answer.post) return postTo(answer.post);
  if (review.kind === "qualification" && !answer.back) return context.home();
  showCode(part, answer);
  part("code").focus();
}

/** Submit the work to a platform that expects a form. */
function postTo({ url, fields }) {
  const inputs = Object.entries(fields).map(([name, value]) => element("input", { type: "hidden", name, value }));
  const form = element("form", { method: "post", action: url, hidden: true }, ...inputs);
  document.body.append(form);
  form.submit();
}

function showCode(part, { code, back }) {
  part("actions").hidden = true;
  part("completion").hidden = false;
  part("summary").textContent = t("summary_submitted");
  part("code").textContent = code;
  part("back").hidden = !back;
  if (back) part("back").href = back;
}

async function copyCode(part) {
  try {
    await navigator.clipboard.writeText(part("code").textContent);
    part("copied").textContent = t("copied");
  } catch {
    getSelection().selectAllChildren(part("code")); // if the page may not copy, the reader can
    part("copied").textContent = t("copy_by_hand");
  }
}
