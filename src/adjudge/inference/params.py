"""``Params``: what a model learns about topics and judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.prior import TRUST
from adjudge.kernels.block import Block, Tally


class Params(NamedTuple):
    """What is believed about topics and judges."""

    prevalence: Floats  # (T, K), or (T, K * G) where every label comes in G kinds
    confusion: Floats  # (J, K, K) p(judge j says l | truth k)
    population: Floats  # (K, K) the matrix of a judge never seen
    skill: Floats = np.empty((0, 0))  # (J, S) the model's own numbers of a judge, from which her matrix follows
    typical: Floats = np.empty(0)  # (S) those of a judge never seen
    unseen: Floats = np.empty(0)  # (K) prevalence in a topic never seen, where every topic has its own

    @property
    def label_prevalence(self) -> Floats:
        """How common each label is (K): where every topic has its own prevalence, in a topic never seen."""
        if self.unseen.size:
            return self.unseen
        common: Floats = self.prevalence[0].reshape(self.population.shape[1], -1).sum(axis=1)
        return common


Assign: TypeAlias = Callable[[Block, Params], Tally]
Estimate: TypeAlias = Callable[[Tally, Params], Params]


def accurate(judges: int, labels: int, trust: float = TRUST) -> Params:
    """Return the start of paper 003: equal prevalence, and the normalised rows of ones + lambda * identity."""
    matrix = (np.ones((labels, labels)) + trust * np.eye(labels)) / (trust + labels)
    return Params(np.full((1, labels), 1 / labels), np.broadcast_to(matrix, (judges, labels, labels)), matrix)
