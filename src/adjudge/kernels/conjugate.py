"""Rows of probabilities drawn from their Dirichlet posteriors, anew or on the other side of where they are.

A row is gamma draws divided by their sum. Gamma(a) is nearly normal in v = (g / d)^(1/3), d = a - 1/3, around v = 1:
its density v^(3d) exp(-d v^3) has no skew there, which is why Marsaglia and Tsang (2000) draw from it. So a row can be
mirrored, v to 2 - v, and stays a draw from the same distribution once the little asymmetry left is made up for by
Metropolis' rule. Draws that swing to the other side are over-relaxed (Adler 1981; Neal 1998): where rows and what they
are drawn given hold each other, a chain gets about in half the sweeps or fewer.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.population import Pareto, draw_logs, expanded, tabulated

LEAST = 0.6  # pseudo-counts below which a gamma is too skewed to be mirrored


def dirichlet_rows(pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Return rows drawn from Dirichlet(pseudo), along the last axis of an array of any shape."""
    rows, K = np.empty(pseudo.shape), pseudo.shape[-1]
    fill_rows(np.zeros((1, K)), np.ascontiguousarray(pseudo).reshape(-1, 1, K), rng, rows.reshape(-1, 1, K))
    return rows


def mirrored_rows(pseudo: Floats, rows: Floats, rng: np.random.Generator) -> Floats:
    """Return rows on the other side of Dirichlet(pseudo): if they were draws from it, these are too."""
    K = pseudo.shape[-1]
    a = np.ascontiguousarray(pseudo).reshape(-1, K)
    gamma, cube = np.empty(a.shape), np.empty(a.shape)
    _as_gammas(a, rows.reshape(-1, K), rng, gamma, cube)
    _mirror(a, np.cbrt(cube), rng, gamma)  # numpy takes many cubic roots at once
    return gamma.reshape(pseudo.shape)


@compiled
def fill_rows(prior: Floats, counts: Floats, rng: np.random.Generator, rows: Floats) -> None:
    """Fill in rows (R, G, K) drawn from Dirichlet(prior + counts); every row of a group G has one prior (G, K)."""
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
    """Give all of a row whose gammas underflowed to one label, drawn by its share."""
    place, k = rng.random() * pseudo.sum(), 0
    while k < pseudo.size - 1 and place >= pseudo[k]:
        place -= pseudo[k]
        k += 1
    row[k] = 1.0


@compiled
def _as_gammas(pseudo: Floats, rows: Floats, rng: np.random.Generator, gamma: Floats, cube: Floats) -> None:
    """Turn rows back into gammas, whose sum may be any that a row's sum can be; fill in g / d too."""
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
    """Mirror the gammas, those of few pseudo-counts are drawn anew, and divide by their sum."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            a, w = pseudo[r, k], 2 - v[r, k]
            if a < LEAST:
                gamma[r, k] = _gamma(a, rng)
            elif _goes(a - 1 / 3, v[r, k], rng):
                gamma[r, k] = (a - 1 / 3) * w * w * w
            total += gamma[r, k]
        if total > 0:
            for k in range(K):
                gamma[r, k] /= total
        else:
            _all_to_one(pseudo[r], rng, gamma[r])


@compiled
def _goes(d: float, v: float, rng: np.random.Generator) -> bool:
    """Return whether v goes to 2 - v by Metropolis' rule; the log of the ratio is -d (6/5 u^5 + 6/7 u^7 + ...)."""
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


# All that is drawn given the truths of a sweep, in one call: populations first, then the rows that come from them.
#
# One call and not one for each population and each table of rows: chains are threads, and between calls they wait for
# each other.


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
