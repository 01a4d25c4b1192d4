/** The page before the work: instructions, rules, and the button to start. */

import { cloneTemplate, element, partsOf } from "./dom.js";
import { ruleSentences } from "./sentences.js";
import { number, t } from "./text.js";

/** Fill in the rules and the campaign's own instructions. */
export function fillRules(part, state) {
  const kind = state.stage === "qualification" ? "qualification" : "work";
  const paragraphs = state.campaign.instructions.map((text) => element("p", { textContent: text }));
  part("instructions").replaceChildren(...paragraphs);
  const rules = ruleSentences(state.rules, kind).map((text) => element("li", { textContent: text }));
  part("rules").replaceChildren(...rules);
  part("contact").textContent = state.campaign.contact ? t("contact", { contact: state.campaign.contact }) : "";
}

/** Open the page before the work; `begin` is called when the judge starts, `last` when they want their last review. */
export function openHome(main, state, begin, last) {
  const view = cloneTemplate("home-view");
  const part = partsOf(view);
  const qualifying = state.stage === "qualification";
  part("name").textContent = state.campaign.name;
  part("intro").textContent = qualifying ? t("intro_qualification") : t("intro_work");
  fillRules(part, state);
  fillDone(part, state.done);
  part("begin").textContent = qualifying ? t("begin_qualification") : t("begin_work");
  part("begin").addEventListener("click", begin);
  part("last").hidden = !state.last;
  part("last").addEventListener("click", last);
  main.replaceChildren(view);
  part("name").focus();
}

/** Show the work done so far, if there is any. */
function fillDone(part, done) {
  part("done").hidden = !(done.passed + done.returned);
  for (const name of ["passed", "returned", "judgments"]) part(name).textContent = number(done[name]);
}
