"""All that is drawn given the truths of a sweep, in one call: populations first, then the rows that come from them.

One call and not one for each population and each table of rows: chains are threads, and between calls they wait for
each other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.conjugate import fill_rows
from adjudge.kernels.population import Pareto, draw_logs, expanded, tabulated


class Redrawn(NamedTuple):
    """Rows, and what they have in common."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (K + 1, K) of judges' rows under each truth and, last, of topics
    kappa: Floats  # (K + 1)


def redraw(tally: Tally, phi: Floats, kappa: Floats, prior: Pareto, rng: np.random.Generator) -> Redrawn:
    """Return populations drawn given a tally with rows integrated out, then rows drawn given both."""
    found = Redrawn(*(np.empty(array.shape) for array in (tally.truth, tally.label, phi, kappa)))
    _redraw(tally.label, tally.truth, phi, kappa, prior.shape, prior.least, rng, *found)
    return found


@compiled
def _redraw(
    label: Floats,
    truth: Floats,
    old_phi: Floats,
    old_kappa: Floats,
    shape: float,
    least: float,
    rng: np.random.Generator,
    prevalence: Floats,
    confusion: Floats,
    phi: Floats,
    kappa: Floats,
) -> None:
    """Fill in the last four."""
    K = truth.shape[1]
    for p in range(K):
        kappa[p] = _population(label[:, p], old_phi[p], float(old_kappa[p]), shape, least, rng, phi[p])
    kappa[K] = _population(truth, old_phi[K], float(old_kappa[K]), shape, least, rng, phi[K])
    pseudo = np.empty((K + 1, K))
    for p in range(K + 1):
        for k in range(K):
            pseudo[p, k] = kappa[p] * phi[p, k]
    fill_rows(pseudo[:K], label, rng, confusion)
    fill_rows(pseudo[K:], truth.reshape(-1, 1, K), rng, prevalence.reshape(-1, 1, K))


@compiled
def _population(
    counts: Floats, old: Floats, kappa: float, shape: float, least: float, rng: np.random.Generator, phi: Floats
) -> float:
    """Fill in phi and return kappa, drawn given the counts of rows (R, K)."""
    logit = np.log(old) - math.log(old[-1])
    table = expanded(tabulated(counts), math.log(kappa), np.log(old))
    log_kappa = draw_logs(table, math.log(kappa), logit, shape, least, rng)
    share = np.exp(logit - logit.max())
    phi[:] = share / share.sum()
    return math.exp(log_kappa)
