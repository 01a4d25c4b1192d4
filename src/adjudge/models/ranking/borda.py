"""The Borda count of rankings that may be partial and have ties.

Among m ranked items, the one with rank p beats m - p others (Borda, 1781, Mémoire sur les élections au scrutin); tied
items share the mean of their ranks. The points are (m - p) / (m - 1), the share of the other items that an item beats,
so that rankings of different lengths are comparable. The score is the mean over rankings.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.data.rankings import Rankings
from adjudge.models.ranking.worth import Consensus, RankOptions


def borda(rankings: Rankings, options: RankOptions) -> Consensus:
    """Return the mean points of each item with standard errors; 1/2 for an item that was never compared."""
    points, compared = _points(rankings)
    item, items = rankings.item[compared], len(rankings.items)
    count = np.bincount(item, minlength=items)
    sums = np.bincount(item, points[compared], items)
    mean = np.divide(sums, count, out=np.full(items, 0.5), where=count > 0)
    squares = np.bincount(item, (points[compared] - mean[item]) ** 2, items)
    variance = np.divide(squares, count * (count - 1), out=np.full(items, np.nan), where=count > 1)
    return Consensus(mean, np.sqrt(variance), "counted once")


def _points(rankings: Rankings) -> tuple[Floats, Flags]:
    """Return the points of each entry (N), and which entries are of rankings of two items or more (N)."""
    size = np.diff(rankings.start)
    m = np.repeat(size, size)
    ranking = np.repeat(np.arange(size.size), size)
    new = np.r_[True, (np.diff(ranking) != 0) | (np.diff(rankings.level) != 0)]  # where a group of tied items begins
    begin = np.flatnonzero(new)[np.cumsum(new) - 1]
    tied = np.diff(np.r_[np.flatnonzero(new), new.size])[np.cumsum(new) - 1]
    rank = begin - rankings.start[ranking] + (tied + 1) / 2
    points: Floats = (m - rank) / np.maximum(m - 1, 1)
    return points, m > 1
