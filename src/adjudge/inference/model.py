"""``Model``: a composition of components, and the steps that follow from it.

A model of another package is a file with a ``Model`` in it, registered through the entry point group
``adjudge.models`` (see ``registry``). One coin per judge with a prevalence per topic:

>>> from adjudge.inference.components import ONE_COIN, PER_TOPIC, SOFT
>>> from adjudge.inference.model import Model
>>> model = Model(
...     "one-coin-topics",
...     "each judge is right with one probability, and every topic has its own prevalence",
...     "Dawid & Skene 1979, with one parameter per judge",
...     prevalence=PER_TOPIC,
...     confusion=ONE_COIN,
...     assignment=SOFT,
... )
>>> model.inferences
('map',)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.chains import Step
from adjudge.inference.components import (
    ANY,
    LEARNED,
    NO_EFFECTS,
    OWN,
    SOFT,
    Assignment,
    Confusion,
    ItemEffects,
    Labels,
    Prevalence,
    by_vote_shares,
    matrices,
    winners,
)
from adjudge.inference.gibbs import Truths
from adjudge.inference.params import Assign, Params
from adjudge.inference.prior import Prior
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, expect, truth_posterior

Sampler: TypeAlias = Callable[[Truths, Floats], Step]  # (T, K): gold counts that do not inform prevalence
ACCURATE = "accurate"  # the start at accurate judges, without a first assignment
STARTS: Mapping[str, Assign | None] = MappingProxyType({"vote": by_vote_shares, ACCURATE: None})


class States(NamedTuple):
    """What Bayes' rule needs: p(state), p(label | state) and the label of every state."""

    prior: Floats  # (T, Z)
    rows: Floats  # (J, Z, K)
    label: Codes | None  # (Z), None if states are labels


@dataclass(frozen=True)
class Model:
    """A consensus model: which components it has, how it starts, and how it is inferred.

    EM alternates ``assign`` and ``estimate`` until the evidence converges (soft assignments), until nothing changes
    (hard ones), or ``rounds`` times. ``starts`` names the first assignments, the default first; None is the model's
    own assignment at accurate judges. A model with a ``sampler`` is drawn from by Markov chains; without an
    ``assignment`` it has no EM. ``auto_rank`` orders the candidates of ``auto``, the simplest first; a model without
    one is no candidate.
    """

    name: str
    summary: str
    paper: str
    prevalence: Prevalence = LEARNED
    confusion: Confusion = OWN
    assignment: Assignment | None = SOFT
    items: ItemEffects = NO_EFFECTS
    labels: Labels = ANY
    starts: Mapping[str, Assign | None] = field(default_factory=lambda: STARTS)
    rounds: int | None = None
    sampler: Sampler | None = None
    with_prior: Callable[[Prior], Model] | None = None
    auto_rank: float | None = None

    @property
    def inferences(self) -> tuple[str, ...]:
        """How the model can be inferred, the default first and the fastest last."""
        em = () if self.assignment is None else ("map",)
        return ("gibbs", *em) if self.sampler is not None else em

    @property
    def hard(self) -> bool:
        """Whether an item counts for its most likely truth alone, so that there is no evidence."""
        return self.assignment is not None and self.assignment.hard

    @property
    def uses_matrices(self) -> bool:
        """Whether p(truth | labels) is Bayes' rule with the judges' matrices and nothing else."""
        own_pass = self.assignment is not None and self.assignment.posterior is not None
        return not own_pass and self.confusion.rows is matrices and self.items is NO_EFFECTS

    def variant(self, prior: Prior | None, prevalence: str = "global") -> Model:
        """Return the model with another prior, and with one prevalence per topic if ``prevalence`` is "topic"."""
        model = self if prior is None or self.with_prior is None else self.with_prior(prior)
        return model if prevalence == "global" else replace(model, prevalence=model.prevalence.per_topic())

    def block(self, judgments: Judgments, gold: Codes | None = None) -> tuple[Block, int]:
        """Return judgments as a block, and the number T of rows of the prevalence.

        If every topic has a row, items without a topic share one more.
        """
        if not self.prevalence.by_topic or judgments.topics is None:
            return judgments.block(gold), 1
        block, T = judgments.block(gold, by_topic=True), len(judgments.topics)
        missing = block.topic < 0
        return (block._replace(topic=np.where(missing, T, block.topic)), T + 1) if missing.any() else (block, T)

    def states(self, params: Params) -> States:
        """Return what Bayes' rule needs of the params."""
        label = None if self.items.labels is None else self.items.labels(params.confusion.shape[2])
        return States(self.items.prior(params), self.confusion.rows(params), label)

    def assign(self, block: Block, params: Params) -> Tally:
        """Return the tally of judgments assigned to truths under the params: the E-step."""
        if self.assignment is None:
            raise UsageError("the model is sampled only (inference 'gibbs')")
        if self.assignment.assign is not None:
            return self.assignment.assign(block, params)
        states = self.states(params)
        if not self.assignment.hard:
            return expect(block, *states)
        return count(block, winners(truth_posterior(block, *states)[0]), len(states.prior))

    def estimate(self, tally: Tally, start: Params) -> Params:
        """Return the params that follow from a tally: the M-step. What was never counted keeps its start."""
        prevalence, unseen = self.prevalence.estimate(tally.truth, start.prevalence)
        return Params(prevalence, *self.confusion.estimate(tally, start), unseen)

    def posterior(self, block: Block, params: Params) -> tuple[Floats, float]:
        """Return p(truth | labels) and the columns of item effects (I, K + E), and the log evidence."""
        if self.assignment is not None and self.assignment.posterior is not None:
            return self.assignment.posterior(block, params)
        posterior, evidence = truth_posterior(block, *self.states(params))
        return posterior if self.items.summary is None else self.items.summary(posterior, block), evidence

    def log_prior(self, params: Params) -> float:
        """Return the log density of the params, up to a constant, which EM adds to the evidence."""
        return self.confusion.log_prior(params) + self.prevalence.log_prior(params)

    def credit(self, posterior: Floats) -> Floats:
        """Return the truths (I, K) against which the labels of judges are counted as right or wrong."""
        return winners(posterior) if self.hard or self.items.degrees else posterior
