"""Cohen's kappa of every two judges on the items that both judged (Cohen 1960).

kappa = (agreed - by chance) / (1 - by chance), where chance is what the two judges' own shares of labels, on those
items, would let them agree in. Pairs of judges are found by going through the pairs of votes of each item: nowhere is
there a table of judges by items.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.score.votes import Votes, sums_of

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
