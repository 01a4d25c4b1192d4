"""Sums over items that the measures of agreement are read off, and these measures; of groups of items, for intervals.

With m votes on an item, every ordered pair of votes of two judges weighs 1 / (m - 1) (Krippendorff 2004), so that an
item weighs as much as it has votes. A measure is ``None`` where all votes are for one label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from adjudge.arrays import Codes, Floats
from adjudge.score.votes import Votes, sums_of

GROUPS = 1_000
CELLS = 20_000_000  # numbers that the groups may hold
FEW = 40  # groups that tell no spread
CHUNK = 4_000_000  # numbers that are summed at once


class Sums(NamedTuple):
    """What the measures are read off, summed over items or, with one axis more, over each group of them."""

    items: Any
    votes: Any
    pairs: Any  # ordered pairs of votes of two judges on an item
    agreed: Any  # those of them that have the same label
    share: Any  # the share of them, an item at a time
    parted: Any  # pairs that disagree, each weighing 1 / (m - 1)
    squares: Any  # their squared distances, weighed so
    influence: Any  # on the mean of Cohen's kappas
    label: Floats  # (K) votes
    common: Floats  # (K) shares of items' votes
    met: Floats  # (K, K) pairs by their labels, weighing 1 / (m - 1); (0, 0) where labels have no order


def raw_agreement(sums: Sums, value: Floats) -> float | None:
    """Return the share of agreeing pairs."""
    return float(sums.agreed / sums.pairs) if sums.pairs else None


def alpha_nominal(sums: Sums, value: Floats) -> float | None:
    """Return Krippendorff's alpha of labels that are the same or not."""
    return _alpha(sums, sums.parted, sums.votes**2 - sums.label @ sums.label)


def alpha_interval(sums: Sums, value: Floats) -> float | None:
    """Return Krippendorff's alpha of the labels' values (K)."""
    return _alpha(sums, sums.squares, spread(sums.label, value))


def alpha_ordinal(sums: Sums, value: Floats) -> float | None:
    """Return Krippendorff's alpha of the labels' middle ranks."""
    rank = np.cumsum(sums.label) - sums.label / 2  # (K)
    rank -= sums.label @ rank / max(sums.votes, 1)  # centred, or the squares lose their digits
    observed = 2 * (sums.met.sum(axis=1) @ rank**2 - rank @ sums.met @ rank)
    return _alpha(sums, observed, spread(sums.label, rank))


def fleiss_kappa(sums: Sums, value: Floats) -> float | None:
    """Return Fleiss' kappa, every item counting the same."""
    common = sums.common / max(sums.items, 1)
    chance = float(common @ common)
    return None if of_one_label(sums) else float((sums.share / sums.items - chance) / (1 - chance))


def spread(count: Floats, value: Floats) -> float:
    """Return the squared distances of all ordered pairs of so many (K) of each value (K)."""
    total = count.sum()
    centred = value - count @ value / max(total, 1)
    return float(2 * total * (count @ centred**2))


def _alpha(sums: Sums, observed: float, expected: float) -> float | None:
    """Return 1 - observed / expected disagreement, of pairs within items and of pairs of all votes."""
    return None if of_one_label(sums) else float(1 - observed * (sums.votes - 1) / expected)


def of_one_label(sums: Sums) -> bool:
    """Whether all votes are for one label, or there are none."""
    return int(np.count_nonzero(sums.label)) < 2


def grouped(given: Votes, influence: Floats, value: Floats, rng: np.random.Generator, ordered: bool) -> Sums:
    """Return the sums of random groups of items, each with a leading axis (G)."""
    I, K, m = given.voters.size, value.size, given.voters  # noqa: E741
    room = CELLS // (K * K if ordered else 2 * K)
    G = max(1, min(I, GROUPS, room))
    group = np.empty(I, np.int64)
    group[rng.permutation(I)] = np.arange(I) * G // I
    count = csr_array((given.share, (given.item, given.label)), shape=(I, K))
    pairs = (m * (m - 1)).astype(np.float64)
    agreed = count.multiply(count).sum(axis=1) - sums_of(given.item, given.share**2, I)  # nobody meets herself
    parts = {
        "items": np.ones(I),
        "votes": m.astype(np.float64),
        "pairs": pairs,
        "agreed": agreed,
        "share": agreed / pairs,
        "parted": (pairs - agreed) / (m - 1),
        "squares": distances(given, value) / (m - 1),
        "influence": influence,
    }
    cell = group[given.item] * K + given.label
    return Sums(
        **{name: sums_of(group, part, G) for name, part in parts.items()},
        label=sums_of(cell, given.share, G * K).reshape(G, K),
        common=sums_of(cell, given.share / m[given.item], G * K).reshape(G, K),
        met=coincidences(given, group, G, K) if ordered else np.zeros((G, 0, 0)),
    )


def too_many(K: int) -> bool:
    """Whether groups of items could not hold pairs by their labels."""
    return K * K * FEW > CELLS


def distances(given: Votes, value: Floats) -> Floats:
    """Return each item's squared distances between the votes of two judges, both orders counted (I)."""
    x = value[given.label] - value.mean()  # (V)
    every = _squares(given.item, given.share, x)
    if not given.split:
        return every
    ballot, item = _ballots(given)
    return every - sums_of(item, _squares(ballot, given.share, x), every.size)  # nobody is far from herself


def _squares(of: Codes, share: Floats, x: Floats) -> Floats:
    """Return the squared distances of all ordered pairs of values within each number of ``of``."""
    count, first, second = (sums_of(of, share * x**power) for power in range(3))
    return 2 * (count * second - first**2)


def _ballots(given: Votes) -> tuple[Codes, Codes]:
    """Return which vote each row is of (V), and the item of each vote."""
    new = (np.diff(given.item) != 0) | (np.diff(given.judge) != 0)  # rows of a split vote are neighbours
    return np.r_[0, np.cumsum(new)], given.item[np.r_[True, new]]


def coincidences(given: Votes, group: Codes, G: int, K: int) -> Floats:
    """Return pairs of votes by their labels, weighing 1 / (m - 1), for each group of items (G, K, K).

    Whole votes meeting themselves are on the diagonal, where nothing is far apart, and are left there.
    """
    row, label, share, of = given.item, given.label, given.share, group
    weight: Floats = 1 / (given.voters - 1)
    if given.split:  # votes are rows below the items, to be taken away
        ballot, item = _ballots(given)
        row, of = np.r_[row, group.size + ballot], np.r_[of, group[item]]
        label, share, weight = np.tile(label, 2), np.tile(share, 2), np.r_[weight, -weight[item]]
    order = np.argsort(of, kind="stable")
    rows = csr_array((share, (row, label)), shape=(of.size, K))[order]
    edge = np.searchsorted(of[order], np.arange(G + 1))
    weighed = rows.multiply(weight[order, None]).tocsr()
    met = np.empty((G, K, K))
    for g in range(G):
        part = slice(edge[g], edge[g + 1])  # of items are few of many labels: products are sparse, too
        met[g] = (weighed[part].T @ rows[part]).toarray()
    return met


def summed(groups: Sums, times: Floats) -> list[Sums]:
    """Return the sums of all groups, each counted so many times (R, G)."""
    parts = [np.tensordot(times, np.asarray(part), axes=1) for part in groups]  # (R, ...)
    return [Sums(*(part[r] for part in parts)) for r in range(times.shape[0])]


def drawn(groups: Sums, rng: np.random.Generator, draws: int) -> Iterator[Sums]:
    """Yield the sums of draws of as many groups as there are."""
    G, width = groups.items.size, max(groups.label.shape[1], groups.met[0].size)
    chunk = max(1, min(draws, CHUNK // max(width, G)))
    for begin in range(0, draws, chunk):
        times = rng.multinomial(G, np.full(G, 1 / G), size=min(chunk, draws - begin))
        yield from summed(groups, times.astype(np.float64))
