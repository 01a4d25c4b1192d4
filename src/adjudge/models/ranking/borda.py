"""Borda's count, of rankings that may be partial and have ties.

Of m items that a judge ranked, the one at place p has beaten m - p (Borda, 1781, Mémoire sur les élections au
scrutin); tied ones share the mean of their places. Here points are (m - p) / (m - 1), the share of the others that
an item beats, so that rankings of different lengths are comparable, and the score is their mean over rankings.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.data.rankings import Rankings
from adjudge.models.ranking.worth import Consensus, Wishes


def borda(rankings: Rankings, wishes: Wishes) -> Consensus:
    """Return the mean points of each item, with the standard error of the mean; 1/2 where nothing was compared."""
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
    new = np.r_[True, (np.diff(ranking) != 0) | (np.diff(rankings.level) != 0)]  # a group of tied ones begins
    begin = np.flatnonzero(new)[np.cumsum(new) - 1]
    tied = np.diff(np.r_[np.flatnonzero(new), new.size])[np.cumsum(new) - 1]
    place = begin - rankings.start[ranking] + (tied + 1) / 2
    points: Floats = (m - place) / np.maximum(m - 1, 1)
    return points, m > 1
