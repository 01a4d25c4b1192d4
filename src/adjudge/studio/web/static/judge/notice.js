/** A page with one thing to say. */

import { copied, partsOf } from "./dom.js";
import { t } from "./text.js";

/** Say something, and offer a way on where there is one. */
export function openNotice(main, { heading, sentences, action, go, second, goSecond }) {
  const view = copied("notice-view");
  const part = partsOf(view);
  part("heading").textContent = heading;
  part("text").replaceChildren(...sentences.filter(Boolean).map(paragraph));
  part("action").textContent = action;
  part("action").addEventListener("click", go);
  part("second").hidden = !second;
  part("second").textContent = second ?? "";
  if (second) part("second").addEventListener("click", goSecond);
  main.replaceChildren(view);
  part("heading").focus();
}

function paragraph(sentence) {
  const made = document.createElement("p");
  made.textContent = sentence;
  return made;
}

/** Return heading and sentence of a stage in which there is nothing to judge. */
export function stageWords(stage) {
  const words = {
    unqualified: [t("stage_unqualified"), t("stage_unqualified_why")],
    paused: [t("stage_paused"), t("stage_paused_why")],
    excluded: [t("stage_excluded"), t("stage_excluded_why")],
  };
  return words[stage] ?? [t("stage_nothing"), t("stage_nothing_why")];
}
