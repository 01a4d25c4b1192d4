"""From what was counted to what is believed: the M-steps, by what judges share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Tally
from adjudge.kernels.simplex import normal, normal_matrices
from adjudge.models.base import Estimate, Params

Tie: TypeAlias = Callable[[Floats, Floats], Floats]


def mode(tie: Tie) -> Estimate:
    """Return the M-step of maximum likelihood, given what judges share."""

    def estimate(tally: Tally, start: Params) -> Params:
        return Params(
            normal(tally.truth, start.prevalence),
            tie(tally.label, start.confusion),
            tie(tally.label.sum(axis=0)[None], start.population[None])[0],
        )

    return estimate


def own(counts: Floats, start: Floats) -> Floats:
    """Give each judge the matrix of her own labels."""
    return normal_matrices(counts, start)


def shared(counts: Floats, start: Floats) -> Floats:
    """Give all judges the matrix of all labels."""
    return np.broadcast_to(normal(counts.sum(axis=0), start[0]), counts.shape)


def coin(counts: Floats, start: Floats) -> Floats:
    """Give each judge one probability of being right; her wrong labels are equally likely."""
    K = counts.shape[2]
    total, right = counts.sum(axis=(1, 2)), np.trace(counts, axis1=1, axis2=2)
    accuracy = np.divide(right, total, out=np.array(start[:, 0, 0]), where=total > 0)[:, None, None]  # (J, 1, 1)
    matrices: Floats = np.where(np.eye(K, dtype=bool), accuracy, (1 - accuracy) / max(K - 1, 1))
    return matrices
