/**
 * The answers of a judge to one set, as immutable values: every function returns a new state.
 * State = { told: [bool], relevance: [1 | 0 | null], comment: [text], placed: [bool], order: [slots, best first] }
 */

/** Return the state of the documents of a set. Documents without a rank come last, in the order of their slots. */
export function stateOf(documents, placed = []) {
  const ranked = [...documents].sort((a, b) => (a.rank ?? Infinity) - (b.rank ?? Infinity) || a.slot - b.slot);
  return {
    told: documents.map((one) => one.told),
    relevance: documents.map((one) => one.relevance),
    comment: documents.map((one) => one.comment),
    placed: documents.map((one) => placed.includes(one.slot)),
    order: ranked.map((one) => one.slot),
  };
}

/** Return the answer to one slot as the studio expects it, without key and seconds. */
export function answerOf(state, slot) {
  const { told, relevance, comment, order } = state;
  return { slot, relevance: relevance[slot], told: told[slot], rank: order.indexOf(slot) + 1, comment: comment[slot] };
}

const isRelevant = (state) => (slot) => state.told[slot] && state.relevance[slot] === 1;
const isIrrelevant = (state) => (slot) => state.told[slot] && state.relevance[slot] === 0;
const replaced = (values, slot, value) => values.map((old, at) => (at === slot ? value : old));
const moved = (order, slot, index) => order.filter((other) => other !== slot).toSpliced(index, 0, slot);

/** Label a document. It moves to the matching position, unless the judge has placed it by hand. */
export function choose(state, slot, relevance) {
  const next = {
    ...state,
    told: replaced(state.told, slot, true),
    relevance: replaced(state.relevance, slot, relevance),
  };
  return state.placed[slot] ? next : { ...next, order: moved(next.order, slot, matchingIndex(next, slot)) };
}

/** Return the matching index of a document: the end of the relevant ones, or the start of the irrelevant ones. */
function matchingIndex(state, slot) {
  const others = state.order.filter((other) => other !== slot);
  const relevantEnd = others.findLastIndex(isRelevant(state)) + 1;
  const first = others.findIndex(isIrrelevant(state));
  const irrelevantStart = first < 0 ? others.length : first;
  return isIrrelevant(state)(slot) ? Math.max(relevantEnd, irrelevantStart) : Math.min(relevantEnd, irrelevantStart);
}

/** Move a document to a position (0: best) by hand. */
export function place(state, slot, index) {
  const within = Math.max(0, Math.min(state.order.length - 1, index));
  return { ...state, placed: replaced(state.placed, slot, true), order: moved(state.order, slot, within) };
}

/** Change the comment on a document. */
export const remark = (state, slot, comment) => ({ ...state, comment: replaced(state.comment, slot, comment) });

/** Return why the set cannot be finished yet, as the studio would report it. */
export function problems(state) {
  const untold = state.told.flatMap((told, slot) => (told ? [] : [slot]));
  const missing = untold.length ? [{ kind: "untold", slots: untold }] : [];
  const wrong = firstWrong(state);
  return wrong ? [{ kind: "order", slots: wrong }, ...missing] : missing;
}

/** Return the best irrelevant document and the first relevant one below it, or null. */
function firstWrong(state) {
  const start = state.order.findIndex(isIrrelevant(state));
  const below = start < 0 ? undefined : state.order.slice(start).find(isRelevant(state));
  return below === undefined ? null : [below, state.order[start]];
}

/** Move a document right above another one, which solves an "order" problem. */
export function putAbove(state, slot, other) {
  const rest = state.order.filter((one) => one !== slot);
  return { ...state, order: rest.toSpliced(rest.indexOf(other), 0, slot) };
}

/** Return the slots whose answers differ between two states. */
export function changedSlots(before, after) {
  return before.told.flatMap((_, slot) => {
    const [old, now] = [answerOf(before, slot), answerOf(after, slot)];
    return Object.keys(now).some((name) => old[name] !== now[name]) ? [slot] : [];
  });
}

/** Return the next document without an answer after this one, cyclically, or null. */
export function nextUntold(state, slot) {
  const all = state.told.map((_, step) => (slot + 1 + step) % state.told.length);
  return all.find((other) => !state.told[other]) ?? null;
}
