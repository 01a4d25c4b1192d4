"""TrueLabel + Confusion: Dawid and Skene (1979) and what Liu and Wang (paper 003) make of it.

Every judge has a confusion matrix, theta[j, k, l] = p(judge j says l | truth k). The models differ only in
what judges share: nothing (dawid-skene), a prior (hybrid-confusion), everything (single-confusion), or the shape of
their errors (one-coin: right with one probability, wrong labels equally likely).
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.chains import Step
from adjudge.inference.components import coin, flat, mode, own, shared, soft, trusted, trusted_log_prior
from adjudge.inference.gibbs import Truths, with_priors
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.inference.prior import Prior
from adjudge.inference.tables import confusion_columns


def hybrid(prior: Prior) -> Model:
    """Return hybrid-confusion under a prior."""
    prior.refuse_beyond("hybrid-confusion", ("trust", "decay", "rows", "prevalence", "gold_informs"))

    def sampler(over: Truths, counted: Floats) -> Step:
        alpha = np.full(over.labels, prior.prevalence)
        return with_priors(over, prior.pseudo_counts(over.labels), alpha - counted)

    return Model(
        "hybrid-confusion",
        "each judge has a confusion matrix of her own, taken to be good until she shows otherwise",
        "Liu & Wang 2012, algorithm 1",
        assign=soft,
        estimate=trusted(prior),
        judge_columns=confusion_columns,
        log_prior=trusted_log_prior(prior),
        sampler=sampler,
        under=hybrid,
    )


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
    hybrid(Prior()),
    Model(
        "one-coin",
        "each judge is right with one probability of her own",
        "Dawid & Skene 1979, with one parameter a judge",
        assign=soft,
        estimate=mode(coin),
        judge_columns=coin_column,
    ),
    Model(
        "zencrowd",
        "the same, with truths that are all as common",
        "Demartini, Difallah & Cudre-Mauroux 2012",
        assign=soft,
        estimate=flat(coin),
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
