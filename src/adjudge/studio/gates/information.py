"""How much one more judgment is expected to tell about an item, and when an item needs no more.

With P(relevant) = p and a judge who gives label ``l`` to truth ``k`` with probability theta_kl, the mutual information
of truth and label is H(p theta) - sum_k p(k) H(theta_k), in bits. It is near 0 for an item that is almost settled; the
next item to judge is the one with the most expected information.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen

LEAST = 1e-300  # replaces a probability of 0 in a logarithm
TYPICAL = frozen(np.array([[0.85, 0.15], [0.15, 0.85]]))  # the confusion of a judge before there is any data


class Redundancy(Protocol):
    """The table [redundancy] of ``campaign.toml``."""

    @property
    def judgments(self) -> int:
        """How many judgments an item gets, unless redundancy is adaptive."""

    @property
    def adaptive(self) -> bool:
        """Whether judging stops when the label of an item is probable enough."""

    @property
    def target(self) -> float:
        """The probability of a label at which judging stops."""

    @property
    def least(self) -> int:
        """The fewest judgments that an item gets, however probable its label is."""

    @property
    def most(self) -> int:
        """The most judgments that an item gets, however uncertain its label is."""


def expected_information(belief: Floats, confusion: Floats) -> Floats:
    """Return the expected information of one judgment with this confusion (2, 2) about each item (I), in bits.

    ``belief`` (I) is P(relevant); ``confusion[k, l]`` is the probability that truth k gets label l.
    """
    matrix = np.asarray(confusion, dtype=float)
    truth = _probabilities(belief)  # (2, I)
    bits = _entropy(matrix.T @ truth) - _entropy(matrix.T) @ truth
    return np.maximum(bits, 0.0)  # rounding may give a value slightly below 0


def update_belief(belief: float, relevance: int, confusion: Floats) -> float:
    """Return P(relevant) after one more judgment, by Bayes' rule; a judgment of probability 0 changes nothing."""
    irrelevant, relevant = _probabilities(belief) * np.asarray(confusion, dtype=float)[:, relevance]
    total = float(irrelevant + relevant)
    return float(relevant) / total if total > 0 else float(belief)


def settled_items(belief: Floats, judged: Codes, redundancy: Redundancy) -> Flags:
    """Return which items (I) need no further judgment, by P(relevant) and how often each is judged."""
    times = np.asarray(judged)
    if not redundancy.adaptive:
        return np.asarray(times >= redundancy.judgments)
    sure = _probabilities(belief).max(axis=0) >= redundancy.target
    return np.asarray(((times >= redundancy.least) & sure) | (times >= redundancy.most))


def judgments_saved(judged: Codes, settled: Flags, redundancy: Redundancy) -> int:
    """Return how many judgments settled items have saved, compared with a fixed number for each.

    Items with more judgments than that number reduce the saving.
    """
    times = np.asarray(judged)[np.asarray(settled, dtype=bool)]
    return int(redundancy.judgments * times.size - times.sum())


def _probabilities(belief: Floats | float) -> Floats:
    """Return P(irrelevant) and P(relevant), one row each."""
    relevant = np.asarray(belief, dtype=float)
    return np.stack([1.0 - relevant, relevant])


def _entropy(probability: Floats) -> Floats:
    """Return the entropy of the columns of a table, in bits."""
    bits: Floats = -(probability * np.log2(np.maximum(probability, LEAST))).sum(axis=0)
    return bits
