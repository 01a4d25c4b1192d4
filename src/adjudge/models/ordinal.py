"""Ordinal truth by hard-assignment EM: Faridani, Buscher and Xu 2013 (paper 001).

Every item is given one label, and every judge a confusion matrix by counting under these labels (Laplace +1, +K); then
P(T_ik | data_i) is proportional to P(T_ik) prod_n theta[judge[n], k, y[n]], with P(T_ik) = (count_ik + 1) / (n_i + K),
and the most likely label is given anew, until no label changes. The judge's rate of labels that the paper divides by
is the same for all k and cancels. What is told in the end is an expected value on the scale.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.judgments.scale import number_of
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, truth_posterior, vote_shares
from adjudge.models.assign import winners
from adjudge.models.base import Assign, Model, Params
from adjudge.models.confusion_columns import confusion_columns
from adjudge.models.estimate import laplace, mode

if TYPE_CHECKING:
    from adjudge.judgments.scale import Scale

FAR_OUT = 1.5  # interquartile ranges outside the quartiles, beyond which a label is an outlier


def label_counts(block: Block) -> Floats:
    """Return how often each item was given each label (I, K), gold aside."""
    ungilded = block._replace(gold=np.full_like(block.gold, -1))
    counted = np.r_[0.0, np.cumsum(block.weight)] if block.weight.size else np.arange(block.cell.size + 1.0)
    return vote_shares(ungilded) * np.diff(counted[block.start])[:, None]


def quantile(counts: Floats, share: float) -> Floats:
    """Return the value below which a share of each item's labels lies (I); between two labels, their middle."""
    total, below = counts.sum(axis=1, keepdims=True), np.cumsum(counts, axis=1)
    reached, passed = below >= share * total - 1e-9, below > share * total + 1e-9
    middle: Floats = (
        reached.argmax(axis=1) + np.where(passed.any(axis=1), passed.argmax(axis=1), reached.argmax(axis=1))
    ) / 2
    return middle


def inliers(counts: Floats) -> Floats:
    """Return the counts without labels further than 1.5 interquartile ranges outside the item's quartiles."""
    low, high = quantile(counts, 0.25), quantile(counts, 0.75)
    reach = FAR_OUT * (high - low)
    place = np.arange(counts.shape[1])
    kept: Floats = counts * ((place >= (low - reach)[:, None]) & (place <= (high + reach)[:, None]))
    return kept


def centre(counts: Floats, median: bool) -> Codes:
    """Return the mean or median label of each item (I), rounded half up; nobody's item is in the middle."""
    place, total = np.arange(counts.shape[1]), counts.sum(axis=1)
    mean = np.divide(counts @ place, total, out=np.full(total.size, place.mean()), where=total > 0)
    value = np.where(total > 0, quantile(counts, 0.5), mean) if median else mean
    rounded: Codes = np.floor(value + 0.5 + 1e-9).astype(np.int64)
    return rounded


def start_at(median: bool, trimmed: bool) -> Assign:
    """Return the first assignment: each item at the mean or median of its labels, outliers removed or not."""

    def assign(block: Block, params: Params) -> Tally:
        counts = label_counts(block)
        label = centre(inliers(counts) if trimmed else counts, median)
        return count(block, np.eye(block.labels)[np.where(block.gold >= 0, block.gold, label)])

    return assign


def item_posterior(block: Block, params: Params) -> tuple[Floats, float]:
    """Return P(T_ik | data_i), with the item's own label rates as its prior; a hard model has no evidence."""
    counts = label_counts(block)
    prior = (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    alone = block._replace(topic=np.arange(block.topic.size, dtype=np.int32))  # every item a topic of its own
    return truth_posterior(alone, prior, params.confusion)[0], 0.0


def most_likely_labels(block: Block, params: Params) -> Tally:
    """Assign every judgment to its item's most likely label; ties share."""
    return count(block, winners(item_posterior(block, params)[0]))


def expected_value(posterior: Floats, scale: Scale) -> dict[str, Any]:
    """Return each item's expected value, and the two labels around it: 0.7 good + 0.3 very good."""
    numbers = [number_of(label) for label in scale.labels]
    values = np.array(numbers if None not in numbers else range(len(scale)), float)
    expected = posterior @ values
    low = np.clip(np.searchsorted(values, expected, side="right") - 1, 0, max(0, values.size - 2))
    high = np.minimum(low + 1, values.size - 1)
    step = np.where(high > low, values[high] - values[low], 1.0)
    share = np.clip((expected - values[low]) / step, 0, 1)
    return {"expected": expected, "between": [_mixed(scale, *row) for row in zip(low, high, share, strict=True)]}


def _mixed(scale: Scale, low: int, high: int, share: float) -> str:
    """Return two labels with their shares, or the one that has all of it."""
    above = round(float(share), 1)
    if above in (0.0, 1.0):
        return scale.names[high if above else low]
    return f"{1 - above:.1f} {scale.names[low]} + {above:.1f} {scale.names[high]}"


MODELS = (
    Model(
        "ordinal",
        "labels in an order; hard assignments, told as an expected value on the scale",
        "Faridani et al. 2013",
        assign=most_likely_labels,
        estimate=mode(laplace),
        posterior=item_posterior,
        judge_columns=confusion_columns,
        label_columns=expected_value,
        begins={
            "mean": start_at(median=False, trimmed=False),
            "median": start_at(median=True, trimmed=False),
            "mean-trimmed": start_at(median=False, trimmed=True),
            "median-trimmed": start_at(median=True, trimmed=True),
        },
        until="labels",
        ordered=True,
    ),
)
