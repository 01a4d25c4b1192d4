"""Ordinal truth by hard-assignment EM: Faridani, Buscher and Xu 2013 (paper 001).

Every item is given one label, and every judge a confusion matrix by counting under these labels (Laplace +1, +K); then
P(T_ik | data_i) is proportional to P(T_ik) prod_n theta[judge[n], k, y[n]], with P(T_ik) = (count_ik + 1) / (n_i + K),
and the most likely label is given anew, until no label changes. The judge's rate of labels that the paper divides by
is the same for all k and cancels. What is told in the end is an expected value on the scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import laplace, mode, winners
from adjudge.inference.model import Model
from adjudge.inference.params import Assign, Params
from adjudge.inference.tables import confusion_columns, expected_value
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.centre import ROUNDING, inliers, label_counts, mean, median
from adjudge.kernels.truth import count, truth_posterior

HALF_UP = 0.5 + ROUNDING  # added before the fraction is cut off: halves go up


def nearest(point: Floats) -> Codes:
    """Return the label next to a point of the scale 0 to K - 1 (I), rounded half up."""
    rounded: Codes = np.floor(point + HALF_UP).astype(np.int64)
    return rounded


def start_at(centre: Callable[[Floats, Floats], Floats], trimmed: bool) -> Assign:
    """Return the first assignment: each item at the mean or median of its labels, outliers removed or not."""

    def assign(block: Block, params: Params) -> Tally:
        counts, place = label_counts(block), np.arange(float(block.labels))
        label = nearest(centre(inliers(counts, place) if trimmed else counts, place))
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
            "mean": start_at(mean, trimmed=False),
            "median": start_at(median, trimmed=False),
            "mean-trimmed": start_at(mean, trimmed=True),
            "median-trimmed": start_at(median, trimmed=True),
        },
        until="labels",
        ordered=True,
    ),
)
