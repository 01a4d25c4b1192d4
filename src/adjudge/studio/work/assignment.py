"""Which items a judge gets next: pure functions of what is judged, what is out, and what the judge has met.

Each set of an assignment has one topic, and the topics differ if there are enough. The items of a topic that need
judging most go out first: the least judged ones or, with adaptive redundancy, those with the most expected information
(``record.items``). Sets are full as long as any topic can fill one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudge.studio.record.items import Ids, Items, ItemSet, expected_information, settled_items
from adjudge.studio.records import FixedSet
from adjudge.studio.settings import Redundancy


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
        ids = ids[np.argsort(-priorities[ids], kind="stable")]
        if len(ids) < size or t in used:
            rest.append(ids)
            continue
        chosen.append(_shuffled_ids(ids[:size], rng))
        rest.append(ids[size:])
    return chosen + _leftovers(rest, sets - len(chosen), size, rng)


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


def plan_fixed(source: FixedSet, items: Items, rng: np.random.Generator) -> PlannedSet:
    """Return a fixed set, its documents in random order."""
    ids = np.array([items.ids[pair] for pair in source.pairs], np.int64)
    return PlannedSet(source.use, source.name, _shuffled_ids(ids, rng))
