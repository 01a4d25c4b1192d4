"""Rows of probabilities drawn from their Dirichlet posteriors: independently, or by over-relaxation.

A row is gamma draws divided by their sum. Gamma(a) is nearly normal in v = (g / d)^(1/3), d = a - 1/3, around v = 1:
its density v^(3d) exp(-d v^3) has no skew there, which is why Marsaglia and Tsang (2000) draw from it. So a row can be
mirrored, v to 2 - v, and stays a draw from the same distribution if the small remaining asymmetry is corrected by a
Metropolis step. Such draws are over-relaxed (Adler 1981; Neal 1998): if rows and the truths that they are conditioned
on are strongly dependent, a chain mixes in half the sweeps or fewer.

``redraw`` draws everything that depends on the truths of a sweep in one compiled call: first the populations, then the
rows. Chains are threads, and between calls they would wait for the interpreter lock.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.population import Pareto, draw_logs, expand, tabulate

LEAST = 0.6  # pseudo-counts below which a gamma is too skewed to be mirrored


def dirichlet_rows(pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Return rows drawn from Dirichlet(pseudo), along the last axis of an array of any shape."""
    rows, K = np.empty(pseudo.shape), pseudo.shape[-1]
    fill_rows(np.zeros((1, K)), np.ascontiguousarray(pseudo).reshape(-1, 1, K), rng, rows.reshape(-1, 1, K))
    return rows


def mirrored_rows(pseudo: Floats, rows: Floats, rng: np.random.Generator) -> Floats:
    """Return over-relaxed rows: if ``rows`` were draws from Dirichlet(pseudo), these are too."""
    K = pseudo.shape[-1]
    a = np.ascontiguousarray(pseudo).reshape(-1, K)
    gamma, cube = np.empty(a.shape), np.empty(a.shape)
    _as_gammas(a, rows.reshape(-1, K), rng, gamma, cube)
    _mirror(a, np.cbrt(cube), rng, gamma)  # numpy takes many cubic roots at once
    return gamma.reshape(pseudo.shape)


@compiled
def fill_rows(prior: Floats, counts: Floats, rng: np.random.Generator, rows: Floats) -> None:
    """Fill in rows (R, G, K) drawn from Dirichlet(prior + counts); all rows of a group share one prior (G, K)."""
    for r in range(rows.shape[0]):
        for g in range(rows.shape[1]):
            total = 0.0
            for k in range(rows.shape[2]):
                rows[r, g, k] = _gamma(prior[g, k] + counts[r, g, k], rng)
                total += rows[r, g, k]
            if total > 0:
                for k in range(rows.shape[2]):
                    rows[r, g, k] /= total
            else:
                _all_to_one(prior[g] + counts[r, g], rng, rows[r, g])


@compiled
def _all_to_one(pseudo: Floats, rng: np.random.Generator, row: Floats) -> None:
    """Put the whole mass of a row whose gammas underflowed on one label, drawn by its share."""
    rest, k = rng.random() * pseudo.sum(), 0
    while k < pseudo.size - 1 and rest >= pseudo[k]:
        rest -= pseudo[k]
        k += 1
    row[k] = 1.0


@compiled
def _as_gammas(pseudo: Floats, rows: Floats, rng: np.random.Generator, gamma: Floats, cube: Floats) -> None:
    """Turn rows back into gammas with a drawn sum; fill in g / d too."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            total += pseudo[r, k]
        total = _gamma(total, rng)
        for k in range(K):
            gamma[r, k] = total * rows[r, k]
            cube[r, k] = gamma[r, k] / (max(pseudo[r, k], LEAST) - 1 / 3)


@compiled
def _mirror(pseudo: Floats, v: Floats, rng: np.random.Generator, gamma: Floats) -> None:
    """Mirror the gammas (those with few pseudo-counts are drawn independently) and divide by their sum."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            a, w = pseudo[r, k], 2 - v[r, k]
            if a < LEAST:
                gamma[r, k] = _gamma(a, rng)
            elif _accepts(a - 1 / 3, v[r, k], rng):
                gamma[r, k] = (a - 1 / 3) * w * w * w
            total += gamma[r, k]
        if total > 0:
            for k in range(K):
                gamma[r, k] /= total
        else:
            _all_to_one(pseudo[r], rng, gamma[r])


@compiled
def _accepts(d: float, v: float, rng: np.random.Generator) -> bool:
    """Return whether the move from v to 2 - v is accepted; the log of the ratio is -d (6/5 u^5 + 6/7 u^7 + ...)."""
    u = v - 1
    if u <= 0 or u >= 1:
        return u <= 0
    chance = rng.random()
    if chance < 1 - 1.2 * d * u**5 / (1 - u * u):
        return True
    return math.log(chance) < d * (3 * math.log((1 - u) / v) + v**3 - (1 - u) ** 3)


@compiled
def _gamma(a: float, rng: np.random.Generator) -> float:
    """Return a draw from Gamma(a) (Marsaglia and Tsang 2000); below 1, from Gamma(a + 1) times U^(1 / a)."""
    d = (a if a >= 1 else a + 1) - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = rng.standard_normal()
        v = 1 + c * x
        if v <= 0:
            continue
        v, square, chance = v * v * v, x * x, rng.random()
        if chance < 1 - 0.0331 * square * square or math.log(chance) < 0.5 * square + d * (1 - v + math.log(v)):
            return d * v if a >= 1 else d * v * math.exp(-rng.standard_exponential() / a)


class Redraw(NamedTuple):
    """Rows and their populations, drawn given the truths."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (K + 1, K) of judges' rows under each truth and, last, of topics
    kappa: Floats  # (K + 1)


def redraw(tally: Tally, phi: Floats, kappa: Floats, prior: Pareto, rng: np.random.Generator) -> Redraw:
    """Draw the populations given the counts with rows integrated out, then the rows given both."""
    drawn = Redraw(*(np.empty(array.shape) for array in (tally.truth, tally.label, phi, kappa)))
    _redraw(tally.label, tally.truth, phi, kappa, prior.shape, prior.least, rng, *drawn)
    return drawn


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
    """Fill in prevalence, confusion, phi and kappa."""
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
    table = expand(tabulate(counts), math.log(kappa), np.log(old))
    log_kappa = draw_logs(table, math.log(kappa), logit, shape, least, rng)
    share = np.exp(logit - logit.max())
    phi[:] = share / share.sum()
    return math.exp(log_kappa)
