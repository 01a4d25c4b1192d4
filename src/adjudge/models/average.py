"""Averages on an ordered scale: the mean, the median, and the mean without outliers (Faridani et al. 2013; paper 001).

An average lies between two labels and is reported as shares of both: 2.3 is .7 of 2 and .3 of 3. Outliers are labels
further than 1.5 interquartile ranges outside the item's quartiles. Prevalence and confusion follow by counting.

>>> import adjudge, polars
>>> table = polars.DataFrame({"item": ["a", "a", "b", "b"], "judge": ["x", "y"] * 2, "label": [1, 1, 2, 3]})
>>> adjudge.fit(adjudge.read(table, labels=[1, 2, 3], ordinal=True), "mean").labels["between"].to_list()
['1', '0.5 of 2 + 0.5 of 3']
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import COUNTED, ORDERED, Assignment, own_matrix, tied
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, inliers, label_counts, mean, median, shares_between


def _average(name: str, summary: str, centre: Callable[[Floats, Floats], Floats]) -> Model:
    """Return the model that puts each item at a centre of its labels."""

    def shares(block: Block) -> Floats:
        point = centre(label_counts(block), block.value)
        return shares_between(np.where(block.gold >= 0, block.value[block.gold], point), block.value)

    def posterior(block: Block, params: Params) -> tuple[Floats, float]:
        return shares(block), 0.0

    def assign(block: Block, params: Params) -> Tally:
        return count(block, shares(block))

    return Model(
        name,
        summary,
        "Faridani et al. 2013, its baselines",
        prevalence=COUNTED,
        confusion=tied(own_matrix),
        assignment=Assignment(hard=True, assign=assign, posterior=posterior),
        labels=ORDERED,
        starts={"vote": assign},
        rounds=0,
    )


MODELS = (
    _average("mean", "labels in an order; the mean of an item's labels", mean),
    _average("median", "labels in an order; the middle one of an item's labels", median),
    _average(
        "trimmed-mean",
        "labels in an order; the mean without outliers",
        lambda counts, value: mean(inliers(counts, value), value),
    ),
)
