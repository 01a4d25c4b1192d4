"""Gibbs sampling of the confusion models: hybrid-confusion (paper 003) and the hierarchical model (paper 000).

A sweep draws every truth given prevalence and confusion, then these given the tally of the truths. In hybrid-confusion
the priors are fixed: theta[j, k] ~ Dirichlet(Lambda_k + counts), pi ~ Dirichlet(alpha + counts). In the hierarchical
model they are those of populations, phi and kappa, one a truth for judges and one for topics, and are drawn first, with
theta and pi integrated out: given theta and pi they would hardly move. There, between two draws that are kept, another
sweep mirrors theta and pi: with few judgments a judge, truths and theta hold each other, and a swing to the other side
gets a chain on. It costs a sweep, and is worth more in effective draws (``studies/benchmarks/bayes.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.chains import NOWHERE, State, Step
from adjudge.inference.components import most_likely
from adjudge.kernels.bits import pack
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.conjugate import dirichlet_rows, mirrored_rows, redraw
from adjudge.kernels.population import Pareto
from adjudge.kernels.sweep import NO_DRAWS, ULP, Key, new_key, random_bits
from adjudge.kernels.truth import count, vote_shares


class Truths(Protocol):
    """Who draws the truths of all items, given the rest, and counts them: a sweep over a block, or an engine."""

    items: int
    labels: int

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        rng: np.random.Generator,
        probability: Floats,
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Return the tally of the draws; see ``Sweep``."""
        ...


Begin: TypeAlias = Callable[[Key], Tally]  # the tally of the truths that chains begin with


def with_priors(over: Truths, rows: Floats, topics: Floats) -> Step:
    """Return a sweep under fixed priors: pseudo-counts of a judge's rows (K, K), and of prevalence (K)."""

    def step(here: State, rng: np.random.Generator, probability: Floats) -> State:
        tally, here = _swept(over, here, rng, probability)
        prevalence, confusion = dirichlet_rows(topics + tally.truth, rng), dirichlet_rows(rows + tally.label, rng)
        return here._replace(prevalence=prevalence, confusion=confusion)

    return step


def with_populations(over: Truths, prior: Pareto, counted: Floats | None = None) -> Step:
    """Return a sweep in which the populations of judges' rows and of topics are drawn too.

    ``counted`` (T, K) is taken off the tally of topics: gold that is not to inform prevalence.
    """

    def swept(here: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
        tally, here = _swept(over, here, rng, probability)
        return (tally if counted is None else tally._replace(truth=tally.truth - counted)), here

    def mirrored(here: State, rng: np.random.Generator) -> State:
        (tally, _), pseudo = swept(here, rng, NOWHERE), here.kappa[:, None] * here.phi  # (K + 1, K)
        prevalence = mirrored_rows(pseudo[-1] + tally.truth, here.prevalence, rng)
        return here._replace(
            prevalence=prevalence, confusion=mirrored_rows(pseudo[:-1] + tally.label, here.confusion, rng)
        )

    def step(here: State, rng: np.random.Generator, probability: Floats) -> State:
        if probability.size:  # what is kept is worth a sweep more; warm-up is long enough without
            here = mirrored(here, rng)
        tally, here = swept(here, rng, probability)
        return State(*redraw(tally, here.phi, here.kappa, prior, rng), here.truth)

    return step


def _swept(over: Truths, here: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
    """Return the tally of truths drawn and, where truths are kept, the state with these."""
    drawn = np.empty(over.items if here.truth.size and probability.size else 0, np.int32)
    tally = over(here.prevalence, here.confusion, rng, probability, drawn)
    return tally, here._replace(truth=pack(drawn, over.labels)) if drawn.size else here


def voted_by_chance(block: Block, key: Key, first: int = 0, topics: int = 1) -> Tally:
    """Return the tally of the labels that items, from place ``first`` on, were given most often; of several, any."""
    best = most_likely(vote_shares(block))
    which = np.floor(random_bits(key, first, block.topic.size) * ULP * best.sum(axis=1))  # of those that tie
    truth = (best.cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return count(block, np.eye(block.labels)[truth], topics)


def diffuse(begin: Begin, seed: int, chains: int, least: float = 0.0) -> Sequence[State]:
    """Return starts that are far apart: truths by the vote, a coin where it ties, and populations that differ much.

    ``begin`` gives the tally of such truths by a key (``voted_by_chance``). Judges as such are anywhere between a coin
    and certainty. Prevalence and confusion are drawn given all this. No kappa is below the ``least`` that its prior
    knows.
    """
    starts = []
    for child in np.random.SeedSequence(seed, spawn_key=(1,)).spawn(chains):
        rng = np.random.default_rng(child)
        tally = begin(new_key(rng))
        K = tally.truth.shape[1]
        right = rng.uniform(1 / K, 1, (K, 1)) if K > 1 else np.ones((1, 1))
        rows = np.where(np.eye(K, dtype=bool), right, (1 - right) / max(1, K - 1))
        phi, kappa = np.vstack([rows, rng.dirichlet(np.ones(K))]), least + rng.uniform(2, 20, K + 1)
        starts.append(_rows_given(tally, phi, kappa, rng))
    return starts


def _rows_given(tally: Tally, phi: Floats, kappa: Floats, rng: np.random.Generator) -> State:
    """Return populations with prevalence and confusion drawn given them and the tally."""
    pseudo = kappa[:, None] * phi  # (K + 1, K)
    prevalence = dirichlet_rows(pseudo[-1] + tally.truth, rng)
    return State(prevalence, dirichlet_rows(pseudo[:-1] + tally.label, rng), phi, kappa)
