/** A page with a single message. */

import { cloneTemplate, partsOf } from "./dom.js";
import { t } from "./text.js";

/** Show a message with one or two buttons. */
export function openNotice(main, { heading, sentences, action, go, second, goSecond }) {
  const view = cloneTemplate("notice-view");
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
  const created = document.createElement("p");
  created.textContent = sentence;
  return created;
}

/** Return the heading and the sentence of a stage without anything to judge. */
export function stageWords(stage) {
  const words = {
    unqualified: [t("stage_unqualified"), t("stage_unqualified_why")],
    paused: [t("stage_paused"), t("stage_paused_why")],
    archived: [t("stage_archived"), t("stage_archived_why")],
    excluded: [t("stage_excluded"), t("stage_excluded_why")],
  };
  return words[stage] ?? [t("stage_nothing"), t("stage_nothing_why")];
}
