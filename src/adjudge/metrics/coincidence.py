"""Votes, sums over items, and the measures of agreement that follow from the sums.

A judge has one vote per item. If a judge judged an item several times, the vote is shared among the labels by how often
each was votes (by weight, if judgments have weights), so that judges do not agree with themselves or count twice.

With m votes on an item, every ordered pair of votes of two judges has the weight 1 / (m - 1) (Krippendorff 2004), so
that an item counts as much as it has votes. A measure is ``None`` if all votes are for one label.

Cohen's kappa of two judges on the items that both judged (Cohen 1960) is (agreed - by chance) / (1 - by chance), where
chance is the agreement expected from their own shares of labels on these items. Pairs of judges are found from the
pairs of votes of each item, without a table of judges by items.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments

MOST_PAIRS = 5_000_000  # pairs of votes that are compared; if there are more, of a random sample of items
DENSE = 16  # codes are renumbered by a table of all codes if it is at most this many times longer than the codes
NEGLIGIBLE = 1e-9  # a chance to disagree below this is rounding
GROUPS = 1_000
CELLS = 20_000_000  # numbers that the groups may hold
FEW_GROUPS = 40  # too few for a spread
CHUNK = 4_000_000  # numbers that are summed at once


class Votes(NamedTuple):
    """The votes on items with at least two judges, in the order of items (V).

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


def count_votes(judgments: Judgments) -> Votes:
    """Return the votes of judgments; judgments of weight 0 do not count."""
    item, judge, label = judgments.item(), judgments.judge, judgments.label
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    if judgments.weight is not None:
        counted = weight > 0
        item, judge, label, weight = item[counted], judge[counted], label[counted], weight[counted]
    ballot = item.astype(np.int64) * len(judgments.judges) + judge  # one number for item and judge
    repeats = _count_repeats(ballot)
    share = np.ones(ballot.size)
    if repeats:
        cell, index = np.unique(ballot * len(judgments.scale) + label, return_inverse=True)
        total = group_total(index, weight)  # of each label of a ballot
        ballot, label = np.divmod(cell, len(judgments.scale))
        item, judge = np.divmod(ballot, len(judgments.judges))
        share = total / _ballot_weight(ballot, total)
    return _several_votes(item, judge, label, share, len(judgments.items), repeats)


def _count_repeats(ballot: Codes) -> int:
    """Return how many judgments are not the first of their judge on the item."""
    ordered = np.sort(ballot)
    return int((ordered[1:] == ordered[:-1]).sum())


def _ballot_weight(ballot: Codes, weight: Floats) -> Floats:
    """Return the total weight of the ballot of each row; rows of a ballot are neighbours."""
    number = np.r_[0, np.cumsum(ballot[1:] != ballot[:-1])]
    return group_total(number, weight)[number]


def group_total(group: Codes, part: Floats, size: int = 0) -> Floats:
    """Return the sum of the parts of each group from 0 on, for at least ``size`` groups."""
    total: Any = np.bincount(group, part, size)
    return np.asarray(total, np.float64)


def _several_votes(item: Codes, judge: Codes, label: Codes, share: Floats, items: int, repeats: int) -> Votes:
    """Return the votes on items that have two or more, with these items renumbered."""
    voters = np.rint(group_total(item, share, items)).astype(np.int64)
    several = voters > 1
    number = np.cumsum(several) - 1
    rows = several[item]
    chosen = (number[item[rows]], judge[rows], label[rows], share[rows])
    return Votes(*chosen, voters[several], items - int(several.sum()), repeats)


class Meeting(NamedTuple):
    """Two votes on one item (M), the judge with the lower number first."""

    item: Codes  # (M)
    pair: Codes  # (M) the two judges, from 0 to P - 1
    first: Codes  # (M) label of the first judge
    second: Codes  # (M) label of the second
    weight: Floats  # (M) 1 for whole votes
    judges: tuple[Codes, Codes]  # (P) each
    items: int  # items that were compared


class Kappas(NamedTuple):
    """The kappa of each pair of judges, and their mean."""

    judges: tuple[Codes, Codes]  # (P) each
    shared: Floats  # (P) items
    agreement: Floats  # (P) share of them that have the same label
    kappa: Floats  # (P) NaN if both gave all of them the same label
    mean: float | None  # weighted by shared items
    influence: Floats  # (I) the derivative of the mean by each item's weight
    items: int  # items that were compared

    @property
    def undefined(self) -> int:
        """How many pairs have no kappa."""
        return int(np.isnan(self.kappa).sum())


def pairwise_kappas(votes: Votes, J: int, K: int, rng: np.random.Generator, most: int = MOST_PAIRS) -> Kappas:
    """Return the kappa of every two of J judges who share items, and their mean.

    The mean under resampled items follows from the influence of each item, the derivative by its weight: with s shared
    items, a of them agreed, and e = s^2 times the agreement by chance, s kappa = s - s^2 (s - a) / (s^2 - e).
    """
    met = find_meetings(votes, J, rng, most)
    P, w, same = met.judges[0].size, met.weight, met.first == met.second
    cell, index = renumber(np.r_[met.pair * K + met.first, met.pair * K + met.second], P * K)
    first, second = index[: w.size], index[w.size :]  # (M) the cell of pair and label of each vote
    by_first, by_second = (group_total(side, w, cell.size) for side in (first, second))
    s, a = group_total(met.pair, w, P), group_total(met.pair, w * same, P)
    chance = s**2 - group_total(cell // K, by_first * by_second, P)  # (P) s^2 - e: 0 if nothing else is possible
    defined = chance > NEGLIGIBLE * s**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(defined, 1 - s * (s - a) / chance, np.nan)
    total = float(s[defined].sum())
    if not total:
        return Kappas(met.judges, s, a / s, kappa, None, np.zeros(votes.voters.size), met.items)
    mean = float(s[defined] @ kappa[defined] / total)
    n = np.flatnonzero(defined[met.pair])
    slope = _slope(s, a, chance, met.pair[n], same[n], by_second[first[n]] + by_first[second[n]])
    influence = group_total(met.item[n], w[n] * (slope - mean) / total, votes.voters.size)
    return Kappas(met.judges, s, a / s, kappa, mean, influence, met.items)


def _slope(s: Floats, a: Floats, chance: Floats, pair: Codes, same: Flags, chance_met: Floats) -> Floats:
    """Return the derivative of s kappa by the weight of a meeting (M)."""
    s, a, chance = s[pair], a[pair], chance[pair]
    slope: Floats = 1 - (2 * s * (s - a) + s**2 * ~same) / chance + s**2 * (s - a) * (2 * s - chance_met) / chance**2
    return slope


def find_meetings(votes: Votes, J: int, rng: np.random.Generator, most: int = MOST_PAIRS) -> Meeting:
    """Return every two votes of two judges on one item; if these are too many, of items drawn at random."""
    rows = np.bincount(votes.item, minlength=votes.voters.size)  # (I) a split vote has several
    sample = _sample(rows * (rows - 1) // 2, rng, most)
    index = np.flatnonzero(sample[votes.item]) if not sample.all() else np.arange(votes.item.size)
    first, second = row_pairs(rows[sample])
    first, second = index[first], index[second]
    apart = votes.judge[first] != votes.judge[second]  # the labels of one vote are no pair
    first, second = first[apart], second[apart]
    turned = votes.judge[first] > votes.judge[second]
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    name, pair = renumber(votes.judge[first].astype(np.int64) * J + votes.judge[second], J * J)
    weight = votes.share[first] * votes.share[second]
    labels = (votes.label[first].astype(np.int64), votes.label[second].astype(np.int64))
    return Meeting(votes.item[first], pair, *labels, weight, (name // J, name % J), int(sample.sum()))


def _sample(pairs: Codes, rng: np.random.Generator, most: int) -> Flags:
    """Return which items (I) are compared: all, or as many at random as have at most so many pairs in total."""
    if pairs.sum() <= most:
        return np.ones(pairs.size, bool)
    order = rng.permutation(np.flatnonzero(pairs <= most))
    sample = np.zeros(pairs.size, bool)
    sample[order[np.cumsum(pairs[order]) <= most]] = True
    return sample


def row_pairs(rows: Codes) -> tuple[Codes, Codes]:
    """Return the indices of every two rows of one item, the earlier first, from the number of rows of each item (I)."""
    end = np.repeat(np.cumsum(rows), rows)
    after = end - np.arange(end.size) - 1  # (V) rows of the same item after each
    first = np.repeat(np.arange(end.size), after)
    begin = np.cumsum(after) - after
    return first, first + 1 + np.arange(first.size) - begin[first]


def renumber(key: Codes, most: int) -> tuple[Codes, Codes]:
    """Return the codes below ``most`` that occur, in order, and the index of each key among them."""
    if most > DENSE * key.size:
        name, index = np.unique(key, return_inverse=True)
        return name, index
    occurs = np.zeros(most, bool)
    occurs[key] = True
    return np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[key]


class Sums(NamedTuple):
    """Sums over items or, with a leading axis, over each group of items; all measures follow from them."""

    items: Any
    votes: Any
    pairs: Any  # ordered pairs of votes of two judges on an item
    agreed: Any  # those of them that have the same label
    share: Any  # the share of agreeing pairs, summed over items
    parted: Any  # pairs that disagree, with weights 1 / (m - 1)
    squares: Any  # squared distances, with weights 1 / (m - 1)
    influence: Any  # on the mean of Cohen's kappas
    label: Floats  # (K) votes
    common: Floats  # (K) shares of items' votes
    met: Floats  # (K, K) pairs by their labels, with weights 1 / (m - 1); (0, 0) if labels have no order


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
    rank -= sums.label @ rank / max(sums.votes, 1)  # centred, so that squares keep their digits
    observed = 2 * (sums.met.sum(axis=1) @ rank**2 - rank @ sums.met @ rank)
    return _alpha(sums, observed, spread(sums.label, rank))


def fleiss_kappa(sums: Sums, value: Floats) -> float | None:
    """Return Fleiss' kappa, every item counting the same."""
    common = sums.common / max(sums.items, 1)
    chance = float(common @ common)
    return None if has_single_label(sums) else float((sums.share / sums.items - chance) / (1 - chance))


def spread(count: Floats, value: Floats) -> float:
    """Return the sum of squared distances of all ordered pairs, from the count (K) of each value (K)."""
    total = count.sum()
    centred = value - count @ value / max(total, 1)
    return float(2 * total * (count @ centred**2))


def _alpha(sums: Sums, observed: float, expected: float) -> float | None:
    """Return 1 - observed / expected disagreement, of pairs within items and of pairs of all votes."""
    return None if has_single_label(sums) else float(1 - observed * (sums.votes - 1) / expected)


def has_single_label(sums: Sums) -> bool:
    """Whether all votes are for one label, or there are none."""
    return int(np.count_nonzero(sums.label)) < 2


def group_sums(votes: Votes, influence: Floats, value: Floats, rng: np.random.Generator, ordered: bool) -> Sums:
    """Return the sums of random groups of items, each with a leading axis (G)."""
    I, K, m = votes.voters.size, value.size, votes.voters  # noqa: E741
    room = CELLS // (K * K if ordered else 2 * K)
    G = max(1, min(I, GROUPS, room))
    group = np.empty(I, np.int64)
    group[rng.permutation(I)] = np.arange(I) * G // I
    count = csr_array((votes.share, (votes.item, votes.label)), shape=(I, K))
    pairs = (m * (m - 1)).astype(np.float64)
    agreed = count.multiply(count).sum(axis=1) - group_total(
        votes.item, votes.share**2, I
    )  # nobody is paired with themselves
    parts = {
        "items": np.ones(I),
        "votes": m.astype(np.float64),
        "pairs": pairs,
        "agreed": agreed,
        "share": agreed / pairs,
        "parted": (pairs - agreed) / (m - 1),
        "squares": distances(votes, value) / (m - 1),
        "influence": influence,
    }
    cell = group[votes.item] * K + votes.label
    return Sums(
        **{name: group_total(group, part, G) for name, part in parts.items()},
        label=group_total(cell, votes.share, G * K).reshape(G, K),
        common=group_total(cell, votes.share / m[votes.item], G * K).reshape(G, K),
        met=coincidences(votes, group, G, K) if ordered else np.zeros((G, 0, 0)),
    )


def too_many_labels(K: int) -> bool:
    """Whether there are too many labels to store pairs by label for groups of items."""
    return K * K * FEW_GROUPS > CELLS


def distances(votes: Votes, value: Floats) -> Floats:
    """Return each item's squared distances between the votes of two judges, both orders counted (I)."""
    x = value[votes.label] - value.mean()  # (V)
    every = _squared_distances(votes.item, votes.share, x)
    if not votes.split:
        return every
    ballot, item = _ballots(votes)
    return every - group_total(
        item, _squared_distances(ballot, votes.share, x), every.size
    )  # nobody is paired with themselves


def _squared_distances(of: Codes, share: Floats, x: Floats) -> Floats:
    """Return the squared distances of all ordered pairs of values within each group ``of``."""
    count, first, second = (group_total(of, share * x**power) for power in range(3))
    return 2 * (count * second - first**2)


def _ballots(votes: Votes) -> tuple[Codes, Codes]:
    """Return the vote of each row (V), and the item of each vote."""
    new = (np.diff(votes.item) != 0) | (np.diff(votes.judge) != 0)  # rows of a split vote are neighbours
    return np.r_[0, np.cumsum(new)], votes.item[np.r_[True, new]]


def coincidences(votes: Votes, group: Codes, G: int, K: int) -> Floats:
    """Return pairs of votes by their labels, with weights 1 / (m - 1), for each group of items (G, K, K).

    Votes paired with themselves are on the diagonal, where the distance is 0, and are left there.
    """
    row, label, share, of = votes.item, votes.label, votes.share, group
    weight: Floats = 1 / (votes.voters - 1)
    if votes.split:  # votes are rows below the items, to be subtracted
        ballot, item = _ballots(votes)
        row, of = np.r_[row, group.size + ballot], np.r_[of, group[item]]
        label, share, weight = np.tile(label, 2), np.tile(share, 2), np.r_[weight, -weight[item]]
    order = np.argsort(of, kind="stable")
    rows = csr_array((share, (row, label)), shape=(of.size, K))[order]
    edge = np.searchsorted(of[order], np.arange(G + 1))
    weighted = rows.multiply(weight[order, None]).tocsr()
    met = np.empty((G, K, K))
    for g in range(G):
        part = slice(edge[g], edge[g + 1])  # an item has few of many labels, so the products are sparse, too
        met[g] = (weighted[part].T @ rows[part]).toarray()
    return met


def sum_groups(groups: Sums, times: Floats) -> list[Sums]:
    """Return the sums over all groups, each counted as often as ``times`` (R, G) says."""
    parts = [np.tensordot(times, np.asarray(part), axes=1) for part in groups]  # (R, ...)
    return [Sums(*(part[r] for part in parts)) for r in range(times.shape[0])]


def resample_sums(groups: Sums, rng: np.random.Generator, draws: int) -> Iterator[Sums]:
    """Yield the sums of bootstrap draws of the groups."""
    G, width = groups.items.size, max(groups.label.shape[1], groups.met[0].size)
    chunk = max(1, min(draws, CHUNK // max(width, G)))
    for begin in range(0, draws, chunk):
        times = rng.multinomial(G, np.full(G, 1 / G), size=min(chunk, draws - begin))
        yield from sum_groups(groups, times.astype(np.float64))
