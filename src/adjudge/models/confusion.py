"""TrueLabel + Confusion: Dawid and Skene (1979) and what Liu and Wang (paper 003) make of it.

Every judge has a confusion matrix, theta[j, k, l] = p(judge j says l | truth k). The models differ only in
what judges share: nothing (dawid-skene), everything (single-confusion), or the shape of their errors
(one-coin: right with one probability, wrong labels equally likely).
"""

from __future__ import annotations

from adjudge.arrays import Floats
from adjudge.models.assign import soft
from adjudge.models.base import Model, Params
from adjudge.models.confusion_columns import confusion_columns
from adjudge.models.estimate import coin, mode, own, shared


def coin_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return the probability that a judge is right, as the model has it."""
    return {"p_right": params.confusion[:, 0, 0]}


MODELS = (
    Model(
        "dawid-skene",
        "each judge has a confusion matrix of her own, by maximum likelihood",
        "Dawid & Skene 1979",
        assign=soft,
        estimate=mode(own),
        judge_columns=confusion_columns,
    ),
    Model(
        "one-coin",
        "each judge is right with one probability of her own",
        "Dawid & Skene 1979, with one parameter a judge",
        assign=soft,
        estimate=mode(coin),
        judge_columns=coin_column,
    ),
    Model(
        "single-confusion",
        "all judges share one confusion matrix",
        "Liu & Wang 2012, algorithm 2",
        assign=soft,
        estimate=mode(shared),
    ),
)
