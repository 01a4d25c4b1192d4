"""``Params``: what a model learns about topics and judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.prior import TRUST
from adjudge.kernels.block import Block, Tally


class Params(NamedTuple):
    """The estimates of a model: how common truths are, and how judges err.

    T is 1, or the number of topics if each has its own prevalence: items without a topic are the last one then.
    """

    prevalence: Floats  # (T, K), or (T, K * G) if every label has G states
    confusion: Floats  # (J, K, K) p(judge j says l | truth k)
    population: Floats  # (K, K) the matrix of a judge that the fit does not have
    skill: Floats = np.empty((0, 0))  # (J, S) other numbers of a judge, from which the model computes the matrix
    typical: Floats = np.empty(0)  # (S) those of a judge that the fit does not have
    unseen: Floats = np.empty(0)  # (K) the prevalence in any other topic, if every topic has its own

    @property
    def topic_prevalence(self) -> Floats:
        """The prevalence of labels in every topic (T, K), summed over the states of a label."""
        T, K = self.prevalence.shape[0], self.population.shape[1]
        rows: Floats = self.prevalence.reshape(T, K, -1).sum(axis=2)
        return rows

    @property
    def label_prevalence(self) -> Floats:
        """The prevalence of labels (K): if every topic has its own, that of any other topic."""
        if self.unseen.size:
            common: Floats = self.unseen.reshape(self.population.shape[1], -1).sum(axis=1)
            return common
        first: Floats = self.topic_prevalence[0]
        return first


Assign: TypeAlias = Callable[[Block, Params], Tally]
Estimate: TypeAlias = Callable[[Tally, Params], Params]
Posterior: TypeAlias = Callable[[Block, Params], tuple[Floats, float]]  # (I, K + E) and the log evidence
LogPrior: TypeAlias = Callable[[Params], float]
JudgeColumns: TypeAlias = Callable[[Params, tuple[str, ...]], dict[str, Floats]]


def accurate(judges: int, labels: int, topics: int = 1, trust: float = TRUST) -> Params:
    """Return the start of Liu & Wang (2012): equal prevalence, and the normalised rows of ones + lambda * identity."""
    matrix = (np.ones((labels, labels)) + trust * np.eye(labels)) / (trust + labels)
    prevalence = np.full((topics, labels), 1 / labels)
    return Params(prevalence, np.broadcast_to(matrix, (judges, labels, labels)), matrix)
