"""The mean and the median of an item's labels on a scale, with and without outliers."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block
from adjudge.kernels.truth import vote_shares

FAR_OUT = 1.5  # interquartile ranges outside the quartiles, beyond which a label is an outlier
ROUNDING = 1e-9


def label_counts(block: Block) -> Floats:
    """Return how often each label was given to each item (I, K), ignoring gold."""
    without_gold = block._replace(gold=np.full_like(block.gold, -1))
    total = np.r_[0.0, np.cumsum(block.weight)] if block.weight.size else np.arange(block.cell.size + 1.0)
    return vote_shares(without_gold) * np.diff(total[block.start])[:, None]


def quantile(counts: Floats, share: float, value: Floats) -> Floats:
    """Return the value below which a share of each item's labels lies (I); between two labels, their middle."""
    total, below = counts.sum(axis=1, keepdims=True), np.cumsum(counts, axis=1)
    reached = (below >= share * total - ROUNDING).argmax(axis=1)
    beyond = below > share * total + ROUNDING
    passed = np.where(beyond.any(axis=1), beyond.argmax(axis=1), reached)
    middle: Floats = (value[reached] + value[passed]) / 2
    return middle


def inliers(counts: Floats, value: Floats) -> Floats:
    """Return the counts without labels further than 1.5 interquartile ranges outside the item's quartiles."""
    low, high = quantile(counts, 0.25, value), quantile(counts, 0.75, value)
    reach = FAR_OUT * (high - low)
    inside: Floats = counts * ((value >= (low - reach)[:, None]) & (value <= (high + reach)[:, None]))
    return inside


def mean(counts: Floats, value: Floats) -> Floats:
    """Return the mean value of each item's labels (I); an item without labels is at the middle of the scale."""
    total = counts.sum(axis=1)
    centre: Floats = np.divide(counts @ value, total, out=np.full(total.size, value.mean()), where=total > 0)
    return centre


def median(counts: Floats, value: Floats) -> Floats:
    """Return the middle value of each item's labels (I); an item without labels is at the middle of the scale."""
    middle: Floats = np.where(counts.sum(axis=1) > 0, quantile(counts, 0.5, value), value.mean())
    return middle


def shares_between(point: Floats, value: Floats) -> Floats:
    """Return each point as shares of the two values around it (I, K): 2.3 is .7 of 2 and .3 of 3."""
    low = np.clip(np.searchsorted(value, point, side="right") - 1, 0, max(0, value.size - 2))
    high = np.minimum(low + 1, value.size - 1)
    step = np.where(high > low, value[high] - value[low], 1.0)
    above = np.clip((point - value[low]) / step, 0, 1)
    share, rows = np.zeros((point.size, value.size)), np.arange(point.size)
    share[rows, high] = above
    share[rows, low] += 1 - above
    return share
