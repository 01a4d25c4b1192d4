"""A population of rows: what judges, or topics, have in common, drawn with their own rows integrated out.

Rows ~ Dirichlet(kappa phi), phi ~ Dirichlet(1), kappa ~ Pareto(shape, least). Given only the counts of every row, the
likelihood is Polya's: prod_r G(kappa) / G(kappa + n_r) prod_l G(kappa phi_l + n_rl) / G(kappa phi_l). Phi and kappa are
drawn from it by slice sampling (Neal 2003), in the logs of kappa and of phi_l / phi_K. What depends on single rows is
tabulated once a draw: how many counts exceed 0, 1, 2, ..., and those that are large or (with weights) no whole numbers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled

SMALL = 32  # counts below which a ratio of gamma functions is a product; beyond, Stirling's series has 14 digits
WIDTH = 1.0  # of a slice's first interval, in logs
MOST = 100  # times an interval is widened or narrowed


class Population(NamedTuple):
    """What rows have in common."""

    phi: Floats  # (K) their mean
    kappa: float  # how alike they are, as a number of judgments


class Pareto(NamedTuple):
    """The prior of kappa."""

    shape: float = 1.5
    least: float = 0.1


def draw_population(counts: Floats, here: Population, prior: Pareto, rng: np.random.Generator) -> Population:
    """Return phi and kappa drawn given the counts of rows (R, K), once each."""
    R, K = counts.shape
    logit = np.log(here.phi) - np.log(here.phi[-1])
    room = np.empty((K + 1, SMALL)), np.empty((K + 1, R)), np.empty(K + 1, np.int64)
    log_kappa = _draw(np.ascontiguousarray(counts.T), math.log(here.kappa), logit, *room, *prior, rng)
    share = np.exp(logit - logit.max())
    return Population(share / share.sum(), math.exp(log_kappa))


def log_likelihood(counts: Floats, here: Population) -> float:
    """Return the log likelihood of the counts of rows (R, K), the rows integrated out."""
    R, K = counts.shape
    above, large, found = np.empty((K + 1, SMALL)), np.empty((K + 1, R)), np.empty(K + 1, np.int64)
    _tabulate(np.ascontiguousarray(counts.T), above, large, found)
    return float(_polya(math.log(here.kappa), np.log(here.phi), above, large, found))


@compiled
def _draw(
    count: Floats,
    log_kappa: float,
    logit: Floats,
    above: Floats,
    large: Floats,
    found: Codes,
    shape: float,
    least: float,
    rng: np.random.Generator,
) -> float:
    """Draw log kappa, and every logit in place; ``count`` is (K, R)."""
    _tabulate(count, above, large, found)
    log_kappa = _slice(-1, log_kappa, logit, above, large, found, shape, least, rng)
    for k in range(logit.size - 1):
        logit[k] = _slice(k, log_kappa, logit, above, large, found, shape, least, rng)
    return log_kappa


@compiled
def _tabulate(count: Floats, above: Floats, large: Floats, found: Codes) -> None:
    """Fill in how many counts of each label, and of all, exceed 0 to 31; others are kept, below 0 if not whole."""
    K, R = count.shape
    above[:], found[:] = 0.0, 0
    for r in range(R):
        total = 0.0
        for k in range(K + 1):
            n = total if k == K else count[k, r]
            total += n
            whole = n == int(n)
            if n >= SMALL or not whole:
                large[k, found[k]] = n if whole else -n
                found[k] += 1
            if whole:
                for i in range(min(int(n), SMALL)):
                    above[k, i] += 1.0


@compiled
def _slice(
    which: int,
    log_kappa: float,
    logit: Floats,
    above: Floats,
    large: Floats,
    found: Codes,
    shape: float,
    least: float,
    rng: np.random.Generator,
) -> float:
    """Return a new value of log kappa (-1) or of one logit, by stepping out and shrinking."""
    here = log_kappa if which < 0 else logit[which]
    floor = _at(which, here, log_kappa, logit, above, large, found, shape, least) - rng.standard_exponential()
    low = here - WIDTH * rng.random()
    high = low + WIDTH
    for _ in range(MOST):
        if _at(which, low, log_kappa, logit, above, large, found, shape, least) < floor:
            break
        low -= WIDTH
    for _ in range(MOST):
        if _at(which, high, log_kappa, logit, above, large, found, shape, least) < floor:
            break
        high += WIDTH
    for _ in range(MOST):
        after = low + (high - low) * rng.random()
        if _at(which, after, log_kappa, logit, above, large, found, shape, least) >= floor:
            return after
        if after < here:
            low = after
        else:
            high = after
    return here


@compiled
def _at(
    which: int,
    value: float,
    log_kappa: float,
    logit: Floats,
    above: Floats,
    large: Floats,
    found: Codes,
    shape: float,
    least: float,
) -> float:
    """Return the log density with one coordinate at a value; those of log kappa and of logits, so with Jacobians."""
    kept = logit[which]
    if which < 0:
        log_kappa = value
    else:
        logit[which] = value
    if log_kappa < math.log(least):
        density = -np.inf
    else:
        total = 0.0
        for k in range(logit.size):
            total += math.exp(logit[k])
        logs = logit - math.log(total)
        density = -shape * log_kappa + logs.sum() + _polya(log_kappa, logs, above, large, found)
    logit[which] = kept
    return density


@compiled
def _polya(log_kappa: float, log_phi: Floats, above: Floats, large: Floats, found: Codes) -> float:
    """Return the log likelihood of tabulated counts."""
    K = log_phi.size
    total = -_rising(math.exp(log_kappa), above[K], large[K], found[K])
    for k in range(K):
        total += _rising(math.exp(log_kappa + log_phi[k]), above[k], large[k], found[k])
    return total


@compiled
def _rising(a: float, above: Floats, large: Floats, found: int) -> float:
    """Return sum_r log G(a + n_r) - log G(a) of tabulated counts."""
    total = 0.0
    for i in range(SMALL):
        if above[i] == 0:
            break
        total += above[i] * math.log(a + i)
    if found:
        base = _log_gamma(a + SMALL)
        for r in range(found):
            if large[r] > 0:
                total += _log_gamma(a + large[r]) - base
            else:
                total += math.lgamma(a - large[r]) - math.lgamma(a)
    return total


@compiled
def _log_gamma(x: float) -> float:
    """Return log G(x) for x of at least 32, by Stirling's series."""
    inverse = 1 / x
    square = inverse * inverse
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return (x - 0.5) * math.log(x) - x + 0.9189385332046727 + series
