"""Sums over items that the measures of agreement are read off, and these measures; of groups of items, for intervals.

With m votes on an item, every ordered pair of votes of two judges weighs 1 / (m - 1) (Krippendorff 2004), so that an
item weighs as much as it has votes. A measure is ``None`` where all votes are for one label.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments

# Votes: one a judge and item, which is what judges can agree in.
#
# A judge who judged an item several times has one vote there all the same, shared among her labels by how often she
# gave each (by their weights, where judgments have weights): she does not agree with herself, and does not count
# twice.


class Votes(NamedTuple):
    """The votes on items that two judges or more have voted on, in the order of items (V).

    A vote that is shared among labels has a row for each of them.
    """

    item: Codes  # (V) from 0 to I - 1
    judge: Codes  # (V)
    label: Codes  # (V)
    share: Floats  # (V) of the judge's vote
    voters: Codes  # (I) judges of each item, 2 or more
    alone: int  # items with a single judge, or none, which are left out
    repeats: int  # judgments beyond a judge's first on an item

    @property
    def split(self) -> bool:
        """Whether some vote is shared among labels."""
        return self.item.size > int(self.voters.sum())


def votes(judgments: Judgments) -> Votes:
    """Return the votes of judgments; those of weight 0 are none."""
    item, judge, label = judgments.item(), judgments.judge, judgments.label
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    if judgments.weight is not None:
        counted = weight > 0
        item, judge, label, weight = item[counted], judge[counted], label[counted], weight[counted]
    ballot = item.astype(np.int64) * len(judgments.judges) + judge  # one number for item and judge
    repeats = _repeats(ballot)
    share = np.ones(ballot.size)
    if repeats:
        cell, place = np.unique(ballot * len(judgments.scale) + label, return_inverse=True)
        total = sums_of(place, weight)  # of each label of a ballot
        ballot, label = np.divmod(cell, len(judgments.scale))
        item, judge = np.divmod(ballot, len(judgments.judges))
        share = total / _whole(ballot, total)
    return _shared(item, judge, label, share, len(judgments.items), repeats)


def _repeats(ballot: Codes) -> int:
    """Return how many ballots are not the first of their item and judge."""
    ordered = np.sort(ballot)
    return int((ordered[1:] == ordered[:-1]).sum())


def _whole(ballot: Codes, weight: Floats) -> Floats:
    """Return the whole weight of the ballot that each row is of; rows of a ballot are neighbours."""
    number = np.r_[0, np.cumsum(ballot[1:] != ballot[:-1])]
    return sums_of(number, weight)[number]


def sums_of(number: Codes, part: Floats, size: int = 0) -> Floats:
    """Return the sum of the parts of each number from 0 on, for ``size`` numbers at least."""
    total: Any = np.bincount(number, part, size)
    return np.asarray(total, np.float64)


def _shared(item: Codes, judge: Codes, label: Codes, share: Floats, items: int, repeats: int) -> Votes:
    """Return the votes on items that have two or more, and the items numbered anew."""
    voters = np.rint(sums_of(item, share, items)).astype(np.int64)
    several = voters > 1
    number = np.cumsum(several) - 1
    kept = several[item]
    chosen = (number[item[kept]], judge[kept], label[kept], share[kept])
    return Votes(*chosen, voters[several], items - int(several.sum()), repeats)


# Cohen's kappa of every two judges on the items that both judged (Cohen 1960).
#
# kappa = (agreed - by chance) / (1 - by chance), where chance is what the two judges' own shares of labels, on those
# items, would let them agree in. Pairs of judges are found by going through the pairs of votes of each item: nowhere is
# there a table of judges by items.

MOST = 5_000_000  # pairs of votes that are looked at; of more, the items are a random sample
ROOM = 16  # numbers are sorted where a list of all there could be would be this much longer than those there are
NOTHING = 1e-9  # a chance to disagree that is below this is rounding


class Meeting(NamedTuple):
    """Two votes on one item (M), the judge with the lower number first."""

    item: Codes  # (M)
    pair: Codes  # (M) the two judges, from 0 to P - 1
    first: Codes  # (M) label of the one
    second: Codes  # (M) label of the other
    weight: Floats  # (M) 1 for whole votes
    judges: tuple[Codes, Codes]  # (P) each
    seen: int  # items looked at


class Kappas(NamedTuple):
    """What each pair of judges has in common, and what it comes to."""

    judges: tuple[Codes, Codes]  # (P) each
    shared: Floats  # (P) items
    agreement: Floats  # (P) share of them that have the same label
    kappa: Floats  # (P) NaN where both gave all of them one and the same label
    mean: float | None  # weighted by shared items
    influence: Floats  # (I) how the mean moves with each item's weight
    seen: int  # items looked at

    @property
    def undefined(self) -> int:
        """How many pairs have no kappa."""
        return int(np.isnan(self.kappa).sum())


def kappas(votes: Votes, J: int, K: int, rng: np.random.Generator, most: int = MOST) -> Kappas:
    """Return the kappa of every two of J judges who share items, and their mean.

    The mean of an item drawn twice follows from its influence, the derivative by the item's weight: with s shared
    items, a of them agreed, and e = s^2 times the agreement by chance, s kappa = s - s^2 (s - a) / (s^2 - e).
    """
    met = meetings(votes, J, rng, most)
    P, w, same = met.judges[0].size, met.weight, met.first == met.second
    cell, place = renumbered(np.r_[met.pair * K + met.first, met.pair * K + met.second], P * K)
    one, other = place[: w.size], place[w.size :]  # (M) the cell of pair and label that each vote is in
    by_one, by_other = (sums_of(side, w, cell.size) for side in (one, other))
    s, a = sums_of(met.pair, w, P), sums_of(met.pair, w * same, P)
    chance = s**2 - sums_of(cell // K, by_one * by_other, P)  # (P) s^2 - e: 0 where nothing else could be
    told = chance > NOTHING * s**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(told, 1 - s * (s - a) / chance, np.nan)
    whole = float(s[told].sum())
    if not whole:
        return Kappas(met.judges, s, a / s, kappa, None, np.zeros(votes.voters.size), met.seen)
    mean = float(s[told] @ kappa[told] / whole)
    n = np.flatnonzero(told[met.pair])
    moved = _moved(s, a, chance, met.pair[n], same[n], by_other[one[n]] + by_one[other[n]])
    influence = sums_of(met.item[n], w[n] * (moved - mean) / whole, votes.voters.size)
    return Kappas(met.judges, s, a / s, kappa, mean, influence, met.seen)


def _moved(s: Floats, a: Floats, chance: Floats, pair: Codes, same: Flags, chance_met: Floats) -> Floats:
    """Return d(s kappa) by the weight of a meeting (M)."""
    s, a, chance = s[pair], a[pair], chance[pair]
    moved: Floats = 1 - (2 * s * (s - a) + s**2 * ~same) / chance + s**2 * (s - a) * (2 * s - chance_met) / chance**2
    return moved


def meetings(votes: Votes, J: int, rng: np.random.Generator, most: int = MOST) -> Meeting:
    """Return every two votes of two judges on one item; where these are too many, of items drawn at random."""
    rows = np.bincount(votes.item, minlength=votes.voters.size)  # (I) a split vote has several
    sample = _sample(rows * (rows - 1) // 2, rng, most)
    place = np.flatnonzero(sample[votes.item]) if not sample.all() else np.arange(votes.item.size)
    one, other = later(rows[sample])
    one, other = place[one], place[other]
    apart = votes.judge[one] != votes.judge[other]  # the labels of one vote do not meet
    one, other = one[apart], other[apart]
    turned = votes.judge[one] > votes.judge[other]
    one, other = np.where(turned, other, one), np.where(turned, one, other)
    name, pair = renumbered(votes.judge[one].astype(np.int64) * J + votes.judge[other], J * J)
    weight = votes.share[one] * votes.share[other]
    labels = (votes.label[one].astype(np.int64), votes.label[other].astype(np.int64))
    return Meeting(votes.item[one], pair, *labels, weight, (name // J, name % J), int(sample.sum()))


def _sample(pairs: Codes, rng: np.random.Generator, most: int) -> Flags:
    """Return which items (I) are looked at: all, or at random as many as have so many pairs together."""
    if pairs.sum() <= most:
        return np.ones(pairs.size, bool)
    order = rng.permutation(np.flatnonzero(pairs <= most))
    sample = np.zeros(pairs.size, bool)
    sample[order[np.cumsum(pairs[order]) <= most]] = True
    return sample


def later(rows: Codes) -> tuple[Codes, Codes]:
    """Return the places of every two rows of one item, the earlier first, from how many rows each item has (I)."""
    end = np.repeat(np.cumsum(rows), rows)
    after = end - np.arange(end.size) - 1  # (V) rows of the same item after each
    one = np.repeat(np.arange(end.size), after)
    begin = np.cumsum(after) - after
    return one, one + 1 + np.arange(one.size) - begin[one]


def renumbered(key: Codes, most: int) -> tuple[Codes, Codes]:
    """Return the numbers below ``most`` that occur, in order, and the place of each among them."""
    if most > ROOM * key.size:
        name, place = np.unique(key, return_inverse=True)
        return name, place
    seen = np.zeros(most, bool)
    seen[key] = True
    return np.flatnonzero(seen), (np.cumsum(seen) - 1)[key]


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
