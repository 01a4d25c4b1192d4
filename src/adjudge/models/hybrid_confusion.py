"""Hybrid confusion: Dawid-Skene with a prior that trusts judges (Liu & Wang 2012, algorithm 1; paper 003).

The rows of a judge's matrix are Dirichlet(ones + lambda * identity), and truths Dirichlet(alpha): a judge counts as
good until their labels say otherwise. The model is sampled, or taken at its mode by EM.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "hybrid-confusion", inference="map")
>>> fit.model, fit.stopped
('hybrid-confusion', 'converged')
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.chains import Step, Truths
from adjudge.inference.components import (
    DIFFICULTY,
    NO_EFFECTS,
    SOFT,
    difficult_confusion,
    difficult_prevalence,
    dirichlet_confusion,
    dirichlet_prevalence,
)
from adjudge.inference.gibbs import with_difficulty, with_priors
from adjudge.inference.model import Model
from adjudge.inference.params import Prior


def hybrid_confusion(prior: Prior) -> Model:
    """Return the model under a prior."""
    prior.refuse_beyond(
        "hybrid-confusion", ("trust", "decay", "rows", "prevalence", "gold_informs", "difficulty", "families")
    )

    prevalence = dirichlet_prevalence(prior.prevalence)

    def sampler(over: Truths, counted: Floats) -> Step:
        rows, alpha = prior.pseudo_counts(over.labels), np.full(over.labels, prior.prevalence)
        return (with_difficulty if prior.difficulty else with_priors)(over, rows, alpha - counted)

    return Model(
        "hybrid-confusion",
        "each judge has a confusion matrix of their own, with a prior that they are good",
        "Liu & Wang 2012, algorithm 1",
        prevalence=difficult_prevalence(prevalence) if prior.difficulty else prevalence,
        confusion=(difficult_confusion if prior.difficulty else dirichlet_confusion)(prior),
        assignment=SOFT,
        items=DIFFICULTY if prior.difficulty else NO_EFFECTS,
        sampler=sampler,
        with_prior=hybrid_confusion,
        auto_rank=100,
    )


MODELS = (hybrid_confusion(Prior()),)
