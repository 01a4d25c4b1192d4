"""Gibbs sampling of the confusion models: hybrid-confusion (paper 003) and the hierarchical model (paper 000).

A sweep draws every truth given prevalence and confusion, then these given the tally of the truths. In hybrid-confusion
the priors are fixed: theta[j, k] ~ Dirichlet(Lambda_k + counts), pi ~ Dirichlet(alpha + counts). In the hierarchical
model they are those of populations, phi and kappa, one a truth for judges and one for topics, and are drawn first, with
theta and pi integrated out: given theta and pi they would hardly move.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block
from adjudge.kernels.conjugate import dirichlet_rows
from adjudge.kernels.population import Pareto, Population, draw_population
from adjudge.kernels.sweep import sweep
from adjudge.models.chains import State, Step


def with_priors(block: Block, rows: Floats, topics: Floats) -> Step:
    """Return a sweep under fixed priors: pseudo-counts of a judge's rows (K, K), and of prevalence (K)."""

    def step(here: State, rng: np.random.Generator, probability: Floats) -> State:
        tally = sweep(block, here.prevalence, here.confusion, rng, probability)
        prevalence, confusion = dirichlet_rows(topics + tally.truth, rng), dirichlet_rows(rows + tally.label, rng)
        return here._replace(prevalence=prevalence, confusion=confusion)

    return step


def with_populations(block: Block, prior: Pareto, counted: Floats | None = None) -> Step:
    """Return a sweep in which the populations of judges' rows and of topics are drawn too.

    ``counted`` (T, K) is taken off the tally of topics: gold that is not to inform prevalence.
    """

    def step(here: State, rng: np.random.Generator, probability: Floats) -> State:
        tally = sweep(block, here.prevalence, here.confusion, rng, probability)
        truth = tally.truth if counted is None else tally.truth - counted
        tables = [*tally.label.transpose(1, 0, 2), truth]  # of each population: (J, K) a truth, (T, K)
        old = [Population(phi, float(kappa)) for phi, kappa in zip(here.phi, here.kappa, strict=True)]
        new = [draw_population(table, p, prior, rng) for table, p in zip(tables, old, strict=True)]
        pseudo = np.stack([p.kappa * p.phi for p in new])  # (K + 1, K)
        confusion = dirichlet_rows(pseudo[:-1] + tally.label, rng)
        prevalence = dirichlet_rows(pseudo[-1] + truth, rng)
        return State(prevalence, confusion, np.stack([p.phi for p in new]), np.array([p.kappa for p in new]))

    return step


def diffuse(block: Block, topics: int, seed: int, chains: int) -> Sequence[State]:
    """Return starts that are far apart: judges between a coin and certainty, so that chains must find each other."""
    K = block.labels
    starts = []
    for child in np.random.SeedSequence(seed, spawn_key=(1,)).spawn(chains):
        rng = np.random.default_rng(child)
        right = rng.uniform(1 / K, 1, (block.judges, K, 1)) if K > 1 else np.ones((block.judges, 1, 1))
        confusion = np.where(np.eye(K, dtype=bool), right, (1 - right) / max(1, K - 1))
        phi = np.vstack([(np.ones((K, K)) + np.eye(K)) / (K + 1), np.full((1, K), 1 / K)])
        starts.append(State(rng.dirichlet(np.full(K, 5.0), topics), confusion, phi, rng.uniform(2, 20, K + 1)))
    return starts
