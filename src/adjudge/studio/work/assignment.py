"""Which items a judge gets next: pure functions of what is judged, what is out, and what the judge has met.

Each set of an assignment has one topic, and the topics differ if there are enough. The items of a topic that need
judging most go out first: the least judged ones or, with adaptive redundancy, those with the most expected information
(``record.items``). Sets are full as long as any topic can fill one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudge.studio.record.items import Ids, Items, ItemSet, expected_information, settled_items
from adjudge.studio.records import FixedSet
from adjudge.studio.settings import Redundancy

TOPICS_COMPARED = 8  # of which the one is drawn whose graded documents were shown least


class PlannedSet(NamedTuple):
    """A set of a new assignment."""

    use: str
    name: str
    items: tuple[int, ...]


def open_items(items: Items, redundancy: Redundancy, belief: NDArray[np.float64] | None) -> NDArray[np.bool_]:
    """Return which items may go out to one more judge, (I,).

    With adaptive redundancy, ``least`` judgments of an item may be out at once; after that, one at a time, so that
    judging stops as soon as the item is settled.
    """
    out = items.judged + items.leased
    decidable = items.pooled & (items.undecided < redundancy.judgments)  # stop after so many "cannot tell"
    if not redundancy.adaptive:
        return decidable & (out < redundancy.judgments)
    done = settled_items(item_beliefs(items, belief), items.judged, redundancy)
    at_once = np.maximum(redundancy.least, items.judged + 1)
    return decidable & ~done & (out < np.minimum(at_once, redundancy.most))


def item_beliefs(items: Items, belief: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return P(relevant) of every item, (I,); one half for items without a belief."""
    values = np.full(len(items.pairs), 0.5, np.float64)
    if belief is not None:
        values[: len(belief)] = belief[: len(values)]
    return values


def priority(
    items: Items,
    redundancy: Redundancy,
    belief: NDArray[np.float64] | None,
    typical: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return the priority of every item, (I,), largest first; ties are broken at random.

    With adaptive redundancy it is the expected information of one more judgment by a typical judge, in bits; otherwise
    the number of judgments that are still to be given out.
    """
    if not redundancy.adaptive:
        return redundancy.judgments - items.judged - items.leased + 0.5 * rng.random(len(items.pairs))
    bits: NDArray[np.float64] = expected_information(item_beliefs(items, belief), typical)
    return bits + 1e-9 * rng.random(len(items.pairs))


def work_sets(
    items: Items,
    met: ItemSet,
    shape: tuple[int, int],
    allowed: NDArray[np.bool_],
    priorities: NDArray[np.float64],
    rng: np.random.Generator,
    used: Collection[int] = (),
) -> list[tuple[int, ...]]:
    """Return up to ``shape[0]`` sets of up to ``shape[1]`` items that this judge has not met.

    If possible, each has its own topic, and none that is ``used`` by other sets of the assignment: a topic that comes
    twice would show which sets are gold.
    """
    sets, size = shape
    positive = np.maximum(priorities[allowed], 1e-9)
    weight = np.bincount(items.topic[allowed], weights=positive, minlength=len(items.topic_items)).astype(float)
    chosen: list[tuple[int, ...]] = []
    rest: list[Ids] = []  # what is left of topics after one set each, or of topics that cannot fill one
    for t in _shuffled_topics(weight, rng):
        if len(chosen) == sets:
            return chosen
        ids = items.topic_items[t]
        ids = ids[allowed[ids]]
        ids = ids[~met.among(ids)]
        ids = _best_block(ids[np.argsort(-priorities[ids], kind="stable")], items.block, priorities, size)
        if len(ids) < size or t in used:
            rest.append(ids)
            continue
        chosen.append(_shuffled_ids(ids[:size], rng))
        rest.append(ids[size:])
    return chosen + _leftovers(rest, sets - len(chosen), size, rng)


def _best_block(ids: Ids, block: NDArray[np.int32], priorities: NDArray[np.float64], size: int) -> Ids:
    """Return sorted items with those of one block first: the one whose best set has the highest priority.

    Documents that recur together are then no sign of gold, since those of a block of work do so too. If no block can
    fill a set, the order stays.
    """
    of = block[ids]
    blocks = [part for part in (ids[of == b] for b in np.unique(of)) if len(part) >= size]
    if not blocks:
        return ids
    best = max(blocks, key=lambda part: float(priorities[part[:size]].sum()))
    return np.concatenate([best, ids[of != block[best[0]]]])


def _leftovers(rest: Sequence[Ids], sets: int, size: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return more sets of the same topics, full ones first; short ones occur only at the end of a campaign."""
    parts = [ids[k : k + size] for ids in rest for k in range(0, len(ids), size)]
    parts.sort(key=len, reverse=True)
    return [_shuffled_ids(part, rng) for part in parts[:sets]]


def _shuffled_ids(ids: Ids, rng: np.random.Generator) -> tuple[int, ...]:
    """Return items in random order, so that their position tells nothing."""
    return tuple(int(item) for item in rng.permutation(ids))


def _shuffled_topics(weight: NDArray[np.float64], rng: np.random.Generator) -> list[int]:
    """Return the topics with a weight in weighted random order (by exponential races)."""
    topics = np.flatnonzero(weight)
    return [int(t) for t in topics[np.argsort(rng.exponential(size=len(topics)) / weight[topics])]]


def unmet_sets(sets: Sequence[FixedSet], use: str, names: Collection[str]) -> list[FixedSet]:
    """Return the fixed sets of a use that a judge has not met."""
    return [fixed for fixed in sets if fixed.use == use and fixed.name not in names]


def choose_by_topic(sets: Iterable[FixedSet], count: int, used_topics: Collection[str]) -> list[FixedSet]:
    """Return ``count`` sets, if possible of different topics that are not used; it reads few of ``sets``."""
    chosen: list[FixedSet] = []
    others: list[FixedSet] = []
    used = set(used_topics)
    for fixed in sets:
        (others if fixed.topic in used else chosen).append(fixed)
        used.add(fixed.topic)
        if len(chosen) == count:
            break
    return [*chosen, *others][:count]


def draw_gold(
    items: Items,
    count: int,
    costs: Mapping[tuple[int, ...], float],
    is_barred: Callable[[int], bool],
    used_topics: Collection[str],
    rng: np.random.Generator,
) -> list[PlannedSet]:
    """Return up to ``count`` gold sets drawn from the graded documents, if possible of different topics.

    The documents that were shown least are drawn first, ties at random. Of a few topics that can fill a set, and of
    the compositions that are possible there, it takes the one with the lowest sum of ``costs`` (the error of the gate)
    and the mean number of times that its documents were shown.

    Parameters
    ----------
    items
        The items of the campaign; ``gold`` and ``shown`` are read.
    count
        How many sets are wanted.
    costs
        The compositions that may be drawn (``gate_designer.set_costs``).
    is_barred
        Whether an item may not be drawn: one that the judge has met, or whose gold was ruled wrong.
    used_topics
        Topics of other sets of the assignment, which are used only if there is no other.
    rng
        The source of randomness.
    """
    names = list(items.gold)
    shuffled = [names[k] for k in rng.permutation(len(names))]
    free = [topic for topic in shuffled if topic not in used_topics]
    others = [topic for topic in shuffled if topic in used_topics]
    drawn: list[PlannedSet] = []
    for group in (free, others):
        able = _drawable_sets(items, group, costs, is_barred, rng)
        best = sorted(islice(able, max(TOPICS_COMPARED, count - len(drawn))), key=lambda scored: scored[0])
        drawn += [PlannedSet("gold", "", tuple(ids)) for _, ids in best[: count - len(drawn)]]
    return drawn


def _drawable_sets(
    items: Items,
    topics: Iterable[str],
    costs: Mapping[tuple[int, ...], float],
    is_barred: Callable[[int], bool],
    rng: np.random.Generator,
) -> Iterator[tuple[float, list[int]]]:
    """Yield the best set of each topic that can fill one, with its score; a low score is good."""
    for topic in topics:
        ranked = [
            sorted((float(items.shown[id_] + rng.random()), id_) for id_ in ids if not is_barred(id_))
            for ids in items.gold[topic]
        ]
        sums = [list(accumulate((times for times, _ in part), initial=0.0)) for part in ranked]
        needs = {grades: [grades.count(grade) for grade in range(len(ranked))] for grades in costs}
        scores = [
            (costs[grades] + sum(part[n] for part, n in zip(sums, need, strict=True)) / len(grades), need)
            for grades, need in needs.items()
            if all(n < len(part) for part, n in zip(sums, need, strict=True))
        ]
        if scores:
            score, need = min(scores)
            yield score, [id_ for part, n in zip(ranked, need, strict=True) for _, id_ in part[:n]]


def plan_fixed(source: FixedSet, items: Items) -> PlannedSet:
    """Return a fixed set as it is in the file."""
    return PlannedSet(source.use, source.name, tuple(items.ids[pair] for pair in source.pairs))


def shuffle_documents(plan: PlannedSet, rng: np.random.Generator) -> PlannedSet:
    """Return a set with its documents in random order."""
    return plan._replace(items=_shuffled_ids(np.array(plan.items, np.int64), rng))
