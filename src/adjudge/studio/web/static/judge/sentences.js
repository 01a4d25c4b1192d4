/** Sentences about numbers and problems. */

import { letter, listed, money, number, percent, t } from "./text.js";

/** Return a problem of a set as a sentence. */
export function problemSentence({ kind, slots }) {
  const names = slots.map(letter);
  const values = { a: names[0], b: names[1] };
  const sentences = {
    order: () => t("problem_order", values),
    brief: () => t("problem_brief", { names: listed(names), n: names.length }),
    untold: () => t("problem_untold", { names: listed(names), n: names.length }),
    unranked: () => t("problem_unranked", { names: listed(names), n: names.length }),
    "same-rank": () => t("problem_same_rank", values),
  };
  return (sentences[kind] ?? sentences.unranked)();
}

/** Return what a judge who is faster than the time gate must still do: read the open document on, or open others. */
export function holdSentence(missing, opened) {
  const slots = missing.flatMap((seconds, slot) => (seconds > 0 ? [slot] : []));
  const others = listed(slots.filter((slot) => slot !== opened).map(letter));
  if (!missing[opened]) return t("hold_others", { names: others, n: slots.length });
  const values = { name: letter(opened), n: Math.ceil(missing[opened]), names: others };
  return slots.length > 1 ? t("hold_both", values) : t("hold_open", values);
}

/** Return the name of a criterion, the needed value and the reached value as text. */
export function criterionWords({ name, wanted, got }) {
  const words = {
    binary: [t("criterion_binary"), percent],
    ndcg: [t("criterion_ndcg"), (value) => number(value, 2)],
    time: [t("criterion_time"), (value) => t("seconds", { n: Math.floor(value * 10) / 10 })],
    qualification: [t("criterion_qualification"), (value) => number(value)],
  };
  const [label, written] = words[name] ?? [name, (value) => number(value, 2)];
  const at = (value) => (value === null || Number.isNaN(value) ? t("none") : written(value));
  return { label, wanted: t("at_least", { value: at(wanted) }), got: at(got) };
}

/** Return the rules of a gate as sentences. */
export function ruleSentences(rules, kind) {
  const size = { n: kind === "qualification" ? rules.qualification.jobs : rules.sets, documents: rules.documents };
  const special = kind === "qualification" ? qualificationRules(rules) : workRules(rules);
  const always = [t("rule_size", size), t("rule_relevance"), t("rule_order"), t("rule_unsure")];
  const lease = kind === "qualification" ? [] : [t("rule_lease", { n: rules.lease_minutes })];
  return [...always, ...special, ...lease, t("rule_review")];
}

function qualificationRules({ qualification: { correct, gold, attempts } }) {
  const tries = attempts ? [t("rule_attempts", { n: attempts }), t("rule_attempt_counts")] : [];
  return [t("rule_qualification", { correct, n: gold }), ...tries];
}

function workRules({ binary, ndcg, seconds, pay, most_returns: returns }) {
  return [
    ...(binary || ndcg ? [t("rule_gold", { binary: percent(binary), ndcg: number(ndcg, 2) })] : []),
    ...(seconds ? [t("rule_time", { n: seconds })] : []),
    ...(returns ? [t("rule_returns", { n: returns })] : []),
    ...(pay?.amount ? [t("rule_pay", { amount: money(pay.amount, pay.currency) })] : []),
  ];
}

/** Return the time left as text. */
export function timeLeft(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes >= 1 ? t("minutes_left", { n: minutes }) : t("seconds_left", { n: Math.max(0, Math.floor(seconds)) });
}
