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
    """Draws the truths of all items, given the rest, and counts them: a sweep over a block, or an engine."""

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


Begin: TypeAlias = Callable[[Key], Tally]  # the tally of the truths that chains start with


def with_priors(over: Truths, rows: Floats, topics: Floats) -> Step:
    """Return a sweep under fixed priors: pseudo-counts of a judge's rows (K, K), and of prevalence (K)."""

    def step(state: State, rng: np.random.Generator, probability: Floats) -> State:
        tally, state = _swept(over, state, rng, probability)
        prevalence, confusion = dirichlet_rows(topics + tally.truth, rng), dirichlet_rows(rows + tally.label, rng)
        return state._replace(prevalence=prevalence, confusion=confusion)

    return step


def with_populations(over: Truths, prior: Pareto, counted: Floats | None = None) -> Step:
    """Return a sweep in which the populations of judges' rows and of topics are drawn too.

    ``counted`` (T, K) is taken off the tally of topics: gold that is not to inform prevalence.
    """

    def swept(state: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
        tally, state = _swept(over, state, rng, probability)
        return (tally if counted is None else tally._replace(truth=tally.truth - counted)), state

    def mirrored(state: State, rng: np.random.Generator) -> State:
        (tally, _), pseudo = swept(state, rng, NOWHERE), state.kappa[:, None] * state.phi  # (K + 1, K)
        prevalence = mirrored_rows(pseudo[-1] + tally.truth, state.prevalence, rng)
        return state._replace(
            prevalence=prevalence, confusion=mirrored_rows(pseudo[:-1] + tally.label, state.confusion, rng)
        )

    def step(state: State, rng: np.random.Generator, probability: Floats) -> State:
        if probability.size:  # only for draws that are kept: warm-up is long enough without
            state = mirrored(state, rng)
        tally, state = swept(state, rng, probability)
        return State(*redraw(tally, state.phi, state.kappa, prior, rng), state.truth)

    return step


def _swept(over: Truths, state: State, rng: np.random.Generator, probability: Floats) -> tuple[Tally, State]:
    """Return the tally of drawn truths, and the state, with these truths if they are kept."""
    drawn = np.empty(over.items if state.truth.size and probability.size else 0, np.int32)
    tally = over(state.prevalence, state.confusion, rng, probability, drawn)
    return tally, state._replace(truth=pack(drawn, over.labels)) if drawn.size else state


def voted_by_chance(block: Block, key: Key, first: int = 0, topics: int = 1) -> Tally:
    """Return the tally of the majority labels of items from number ``first`` on; ties are broken at random."""
    best = most_likely(vote_shares(block))
    which = np.floor(random_bits(key, first, block.topic.size) * ULP * best.sum(axis=1))  # of the tied labels
    truth = (best.cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return count(block, np.eye(block.labels)[truth], topics)


def diffuse(begin: Begin, seed: int, chains: int, least: float = 0.0) -> Sequence[State]:
    """Return starts that are far apart: truths by the vote, ties at random, and very different populations.

    ``begin`` gives the tally of such truths by a key (``voted_by_chance``). The average judge is anywhere between
    chance and certainty. Prevalence and confusion are drawn given all this. No kappa is below the ``least`` of its
    prior.
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
