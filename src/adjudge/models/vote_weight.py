"""Votes weighed by how often a judge agrees with the outcome (Xia et al. 2011, section 2.1; paper 002).

A judge who is right with probability P_c has the weight V = log((K - 1) P_c / P_e), with P_e = 1 - P_c; the label with
most weight wins, and both are repeated until no label changes. Adding logarithms is multiplying probabilities: it is
hard-assignment EM with one coin per judge and truths that are all equally common. ``vote-weight-biased`` has one such
probability, and so one weight, for every truth.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "vote-weight")
>>> fit.judges.columns
['judge', 'judgments', 'accuracy', 'vote_weight']
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import EQUAL, HARD, majority_vote, smoothed_coin, smoothed_coins, tied
from adjudge.inference.model import Model
from adjudge.inference.params import Params


def weight_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's vote weight V."""
    return {"vote_weight": _weights(params)[:, 0]}


def weight_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's vote weight for every truth."""
    weights = _weights(params)
    return {f"vote_weight_{label}": weights[:, k] for k, label in enumerate(labels)}


def _weights(params: Params) -> Floats:
    """Return log((K - 1) P_c / P_e) per judge and truth (J, K)."""
    right = np.diagonal(params.confusion, axis1=1, axis2=2)
    odds = max(1, right.shape[1] - 1) * right / np.maximum(1 - right, np.finfo(float).tiny)
    weights: Floats = np.log(odds)
    return weights


MODELS = (
    Model(
        "vote-weight",
        "votes weighed by how often a judge agrees with the outcome, until no label changes",
        "Xia et al. 2011, section 2.1",
        prevalence=EQUAL,
        confusion=tied(smoothed_coin, weight_column),
        assignment=HARD,
        starts={"vote": majority_vote},
        auto_rank=40,
    ),
    Model(
        "vote-weight-biased",
        "the same, with a weight for every truth",
        "Xia et al. 2011, section 2.1",
        prevalence=EQUAL,
        confusion=tied(smoothed_coins, weight_columns),
        assignment=HARD,
        starts={"vote": majority_vote},
        auto_rank=50,
    ),
)
