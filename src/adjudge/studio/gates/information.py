"""What one more judgment tells, and when an item needs none.

With P(relevant) = p and a judge who says ``l`` of truth ``k`` with probability theta_kl, the mutual information of
truth and label is H(p theta) - sum_k p(k) H(theta_k), in bits. Of an item that is as good as settled a judge tells
nothing; the next item to judge is the one of which most is told.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen

LEAST = 1e-300  # stands for no probability where a logarithm is taken


TYPICAL = frozen(np.array([[0.85, 0.15], [0.15, 0.85]]))  # of a judge, before anything is known of judges


class Redundancy(Protocol):
    """What ``campaign.toml`` says under [redundancy]."""

    @property
    def judgments(self) -> int:
        """How many judgments an item gets, unless redundancy is adaptive."""

    @property
    def adaptive(self) -> bool:
        """Whether an item stops when its label is sure enough."""

    @property
    def target(self) -> float:
        """The probability of a label at which an item stops."""

    @property
    def least(self) -> int:
        """How many judgments an item gets however sure its label is."""

    @property
    def most(self) -> int:
        """How many judgments an item gets however unsure its label is."""


def expected_information(belief: Floats, confusion: Floats) -> Floats:
    """Return what a judgment by this confusion (2, 2) is expected to tell of each item (I), in bits.

    ``belief`` (I) is P(relevant); ``confusion[k, l]`` is the probability that truth k is called l.
    """
    matrix = np.asarray(confusion, dtype=float)
    truth = _chances(belief)  # (2, I)
    told = _entropy(matrix.T @ truth) - _entropy(matrix.T) @ truth
    return np.maximum(told, 0.0)  # rounding may leave a hair below none


def revised(belief: float, relevance: int, confusion: Floats) -> float:
    """Return P(relevant) after one more judgment: Bayes' rule."""
    irrelevant, relevant = _chances(belief) * np.asarray(confusion, dtype=float)[:, relevance]
    total = float(irrelevant + relevant)
    return float(relevant) / total if total > 0 else float(belief)  # what cannot have been said teaches nothing


def settled(belief: Floats, judged: Codes, redundancy: Redundancy) -> Flags:
    """Return which items (I) need no further judgment, by P(relevant) and how often each is judged."""
    times = np.asarray(judged)
    if not redundancy.adaptive:
        return np.asarray(times >= redundancy.judgments)
    sure = _chances(belief).max(axis=0) >= redundancy.target
    return np.asarray(((times >= redundancy.least) & sure) | (times >= redundancy.most))


def saved(judged: Codes, settled: Flags, redundancy: Redundancy) -> int:
    """Return how many judgments settled items have saved against a fixed number for each.

    Items that are given more than that number count against it.
    """
    times = np.asarray(judged)[np.asarray(settled, dtype=bool)]
    return int(redundancy.judgments * times.size - times.sum())


def _chances(belief: Floats | float) -> Floats:
    """Return P(irrelevant) and P(relevant), one row each."""
    relevant = np.asarray(belief, dtype=float)
    return np.stack([1.0 - relevant, relevant])


def _entropy(chances: Floats) -> Floats:
    """Return the entropy of the columns of a table, in bits."""
    found: Floats = -(chances * np.log2(np.maximum(chances, LEAST))).sum(axis=0)
    return found
