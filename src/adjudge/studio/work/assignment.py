"""Who judges what next: pure functions of what is judged, what is out, and what the judge has met.

An assignment has sets of one topic each, of different topics where there are enough. Among the items of a topic those
go out first that need judging most: the least judged, or with adaptive redundancy those of which one more judgment
is expected to tell most. Sets are full while any topic can fill one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudge.studio.campaign.campaign import FixedSet
from adjudge.studio.gates.information import expected_information, settled_items
from adjudge.studio.record.items import Ids, Items, ItemSet
from adjudge.studio.settings import Redundancy


class Planned(NamedTuple):
    """A set to hand out."""

    use: str
    name: str
    items: tuple[int, ...]


def open_items(items: Items, redundancy: Redundancy, belief: NDArray[np.float64] | None) -> NDArray[np.bool_]:
    """Return which items may go out once more, (I,).

    With adaptive redundancy, ``least`` judgments may be out at once; beyond that an item goes out one at a time, so
    that it stops as soon as it is settled.
    """
    taken = items.judged + items.leased
    tellable = items.pooled & (items.undecided < redundancy.judgments)  # what nobody can tell is not asked of everybody
    if not redundancy.adaptive:
        return tellable & (taken < redundancy.judgments)
    done = settled_items(believed(items, belief), items.judged, redundancy)
    at_once = np.maximum(redundancy.least, items.judged + 1)
    return tellable & ~done & (taken < np.minimum(at_once, redundancy.most))


def believed(items: Items, belief: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return P(relevant) of every item, (I,); one half where nothing is known yet."""
    known = np.full(len(items.pairs), 0.5, np.float64)
    if belief is not None:
        known[: len(belief)] = belief[: len(known)]
    return known


def priority(
    items: Items,
    redundancy: Redundancy,
    belief: NDArray[np.float64] | None,
    typical: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Return how pressing every item is, (I,), larger first; chance breaks ties.

    With adaptive redundancy, the bits that one more judgment by a typical judge is expected to tell; otherwise how
    many judgments are still to be given out.
    """
    if not redundancy.adaptive:
        return redundancy.judgments - items.judged - items.leased + 0.5 * rng.random(len(items.pairs))
    bits: NDArray[np.float64] = expected_information(believed(items, belief), typical)
    return bits + 1e-9 * rng.random(len(items.pairs))


def work_sets(
    items: Items,
    met: ItemSet,
    shape: tuple[int, int],
    may: NDArray[np.bool_],
    press: NDArray[np.float64],
    rng: np.random.Generator,
    taken: Collection[int] = (),
) -> list[tuple[int, ...]]:
    """Return up to so many sets of up to so many items (``shape``) that this judge has not met.

    Each is of a topic of its own, and not of those ``taken`` by other sets of the assignment, where that can be: a
    topic that came twice would tell which sets are gold.
    """
    sets, size = shape
    pressing = np.maximum(press[may], 1e-9)
    weight = np.bincount(items.topic[may], weights=pressing, minlength=len(items.topic_items)).astype(float)
    chosen: list[tuple[int, ...]] = []
    rest: list[Ids] = []  # what topics have left once each has given a set, or cannot fill one
    for t in _shuffled(weight, rng):
        if len(chosen) == sets:
            return chosen
        ids = items.topic_items[t]
        ids = ids[may[ids]]
        ids = ids[~met.among(ids)]
        ids = ids[np.argsort(-press[ids], kind="stable")]
        if len(ids) < size or t in taken:
            rest.append(ids)
            continue
        chosen.append(_ids(ids[:size], rng))
        rest.append(ids[size:])
    return chosen + _leftovers(rest, sets - len(chosen), size, rng)


def _leftovers(rest: Sequence[Ids], sets: int, size: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return further sets of the same topics, full ones first, and at the very end of a campaign short ones."""
    parts = [ids[k : k + size] for ids in rest for k in range(0, len(ids), size)]
    parts.sort(key=len, reverse=True)
    return [_ids(part, rng) for part in parts[:sets]]


def _ids(ids: Ids, rng: np.random.Generator) -> tuple[int, ...]:
    """Return items in random order: their place says nothing of them."""
    return tuple(int(item) for item in rng.permutation(ids))


def _shuffled(weight: NDArray[np.float64], rng: np.random.Generator) -> list[int]:
    """Return the topics that have any weight in random order, heavier ones earlier by chance (exponential races)."""
    some = np.flatnonzero(weight)
    return [int(t) for t in some[np.argsort(rng.exponential(size=len(some)) / weight[some])]]


def unmet(sets: Sequence[FixedSet], use: str, names: Collection[str]) -> list[FixedSet]:
    """Return the fixed sets of a use that a judge has not met."""
    return [one for one in sets if one.use == use and one.name not in names]


def of_different_topics(sets: Iterable[FixedSet], count: int, taken: Collection[str]) -> list[FixedSet]:
    """Return so many sets, of topics that are not taken and differ where that can be; it looks at few to find them."""
    chosen: list[FixedSet] = []
    others: list[FixedSet] = []
    used = set(taken)
    for one in sets:
        (others if one.topic in used else chosen).append(one)
        used.add(one.topic)
        if len(chosen) == count:
            break
    return [*chosen, *others][:count]


def fixed(one: FixedSet, items: Items, rng: np.random.Generator) -> Planned:
    """Return a fixed set, its documents in random order."""
    ids = np.array([items.ids[one.topic, document] for document in one.documents], np.int64)
    return Planned(one.use, one.name, _ids(ids, rng))
