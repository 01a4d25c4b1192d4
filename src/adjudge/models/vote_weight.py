"""Votes weighed by how often a judge agrees with the outcome: the EM of paper 002, section 2.1.

A judge who is right with probability P_c weighs V = log((K - 1) P_c / P_e), with P_e = 1 - P_c; the label with most
weight wins, and both are repeated until no label changes. Adding logarithms is multiplying probabilities: it is
hard-assignment EM with one coin a judge and truths that are all as common.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import flat, hard, smoothed_coin, smoothed_coins, voted
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
        assign=hard,
        estimate=flat(smoothed_coin),
        judge_columns=weight_column,
        begins={"vote": voted},
        until="labels",
    ),
    Model(
        "vote-weight-biased",
        "the same, with a weight for every truth",
        "Xia et al. 2011, section 2.1",
        assign=hard,
        estimate=flat(smoothed_coins),
        judge_columns=weight_columns,
        begins={"vote": voted},
        until="labels",
    ),
)
