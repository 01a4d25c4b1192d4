"""Ordinal truth by hard-assignment EM (Faridani, Buscher & Xu 2013; paper 001).

Every item has one label, and every judge a confusion matrix by counting against these labels (Laplace +1, +K); then

    P(T_ik | data_i) ~ P(T_ik) prod_n theta[judge_n, k, y_n],    P(T_ik) = (count_ik + 1) / (n_i + K),

and every item gets its most likely label, until no label changes. The paper also divides by the judge's rate of labels,
which is the same for all k and cancels. The result is reported as an expected value on the scale.

>>> import adjudge, polars
>>> table = polars.DataFrame({"item": ["a", "a", "b", "b"], "judge": ["x", "y"] * 2, "label": [1, 1, 2, 3]})
>>> adjudge.fit(adjudge.read(table, labels=[1, 2, 3], ordinal=True), "ordinal").labels.columns[-2:]
['expected', 'between']
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import (
    COUNTED,
    ORDERED,
    Assignment,
    confusion_columns,
    smoothed_matrix,
    tied,
    winners,
)
from adjudge.inference.model import Model
from adjudge.inference.params import Assign, Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import ROUNDING, count, inliers, label_counts, mean, median, truth_posterior

HALF_UP = 0.5 + ROUNDING  # added before the fraction is cut off, so that halves go up


def nearest(point: Floats) -> Codes:
    """Return the label nearest to a point of the scale 0 to K - 1 (I), rounded half up."""
    rounded: Codes = np.floor(point + HALF_UP).astype(np.int64)
    return rounded


def start_at(centre: Callable[[Floats, Floats], Floats], trimmed: bool) -> Assign:
    """Return the first assignment: each item at the mean or median of its labels, with outliers removed or not."""

    def assign(block: Block, params: Params) -> Tally:
        counts, position = label_counts(block), np.arange(float(block.labels))
        label = nearest(centre(inliers(counts, position) if trimmed else counts, position))
        return count(block, np.eye(block.labels)[np.where(block.gold >= 0, block.gold, label)])

    return assign


def item_posterior(block: Block, params: Params) -> tuple[Floats, float]:
    """Return P(T_ik | data_i), with the item's own label rates as its prior; there is no evidence."""
    counts = label_counts(block)
    prior = (counts + 1) / (counts.sum(axis=1, keepdims=True) + counts.shape[1])
    alone = block._replace(topic=np.arange(block.topic.size, dtype=np.int32))  # every item a topic of its own
    return truth_posterior(alone, prior, params.confusion)[0], 0.0


def most_likely_labels(block: Block, params: Params) -> Tally:
    """Assign every judgment to its item's most likely label; tied labels share it."""
    return count(block, winners(item_posterior(block, params)[0]))


MODELS = (
    Model(
        "ordinal",
        "labels in an order; hard assignments, reported as an expected value on the scale",
        "Faridani et al. 2013",
        prevalence=COUNTED,
        confusion=tied(smoothed_matrix, confusion_columns),
        assignment=Assignment(hard=True, assign=most_likely_labels, posterior=item_posterior),
        labels=ORDERED,
        starts={
            "mean": start_at(mean, trimmed=False),
            "median": start_at(median, trimmed=False),
            "mean-trimmed": start_at(mean, trimmed=True),
            "median-trimmed": start_at(median, trimmed=True),
        },
        auto_rank=60,
    ),
)
