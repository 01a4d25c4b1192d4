"""Convergence of chains: R-hat, effective sample sizes and Monte Carlo errors (Vehtari et al. 2021).

All functions take draws (C, D, ...) of C chains and return one number per parameter. R-hat is the larger of
rhat(z(x)) and rhat(z(fold(x))), with chains split in two and z the normal scores of ranks: it detects chains that
differ in location or in spread, and needs no moments. R-hat of draws that never change is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled

# Effective sample sizes from autocorrelations, cut off where they become noise (Geyer 1992).


def effective(draws: Floats) -> Floats:
    """Return how many independent draws those of M chains are worth (P), from draws (M, D, P)."""
    M, D, P = draws.shape
    covariance = autocovariance(draws).mean(axis=0)  # (D, P)
    within = covariance[0] * D / (D - 1)
    total = within * (D - 1) / D + (draws.mean(axis=1).var(axis=0, ddof=1) if M > 1 else 0.0)
    moving = total > 0
    correlation = 1 - (within - covariance) / np.where(moving, total, 1.0)
    time = np.empty(P)
    _times(np.ascontiguousarray(correlation.T), time)
    shortest = 1 / np.log10(M * D)  # limits the effective size of antithetic chains
    return np.where(moving, M * D / np.maximum(time, shortest), float(M * D))


def autocovariance(draws: Floats) -> Floats:
    """Return the covariance of every chain with itself at each distance (M, D, P), by the Fourier transform."""
    D = draws.shape[1]
    waves = np.fft.rfft(draws - draws.mean(axis=1, keepdims=True), 2 * D, axis=1)
    covariance: Floats = np.fft.irfft(np.square(np.abs(waves)), 2 * D, axis=1)[:, :D] / D
    return covariance


@compiled
def _times(correlation: Floats, time: Floats) -> None:
    """Fill in the autocorrelation time of each (P, D): sums of pairs, as long as they are positive and do not rise."""
    P, D = correlation.shape
    for p in range(P):
        rho = correlation[p]
        before = 1.0 + rho[1]
        total, last, t = before, 0.0, 2
        while t < D - 2 and before > 0:
            pair = rho[t] + rho[t + 1]
            if pair < 0:
                break
            before = min(before, pair)
            total, last, t = total + before, before, t + 2
        if t >= D - 2 and t > 2:  # no pair was negative: the last one may be cut short
            total, t = total - last, t - 2
        time[p] = -1 + 2 * total + max(rho[t], 0.0) if t < D else -1 + 2 * total


CLOSE = 1.01  # largest good R-hat
ENOUGH = 400  # smallest good effective sample size
FEWEST = 4  # draws of a chain below which nothing is computed
UNCONVERGED = "the chains have not converged"


class Convergence(NamedTuple):
    """Whether chains agree, by the parameters that mix worst."""

    worst: str  # the parameter with the largest R-hat
    r_hat: float
    fewest: str  # the parameter with the fewest effective draws
    ess: float
    close: float = CLOSE  # largest good R-hat
    enough: int = ENOUGH  # smallest good effective sample size

    @property
    def good(self) -> bool:
        """Whether means and intervals can be trusted."""
        return not (self.r_hat > self.close or self.ess < self.enough)

    @property
    def words(self) -> str:
        """Whether chains agree, in words."""
        measures = f"R-hat of {self.worst} at most {self.r_hat:.3f}, bulk ESS of {self.fewest} at least {self.ess:,.0f}"
        return measures if self.good else f"{UNCONVERGED}: {measures}; {self.close} and {self.enough} are good"


def convergence(draws: Mapping[str, Floats]) -> Convergence:
    """Return the convergence of named draws (C, D, ...); draws that never change are left out."""
    measures = {name: (r_hat(drawn), bulk_ess(drawn)) for name, drawn in draws.items()}
    split_r = [(float(np.nanmax(r, initial=1.0)), name) for name, (r, _) in measures.items()]
    drawn_in_all = float(max(drawn.shape[0] * drawn.shape[1] for drawn in draws.values()))
    ess = [(float(np.nanmin(e, initial=drawn_in_all)), name) for name, (_, e) in measures.items()]
    (worst, where), (least, fewest) = max(split_r), min(ess)
    return Convergence(where, worst, fewest, least)


def _of_enough(measure: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """Return a measure that is NaN if there are too few draws."""

    @wraps(measure)
    def measured(draws: Floats) -> Floats:
        return measure(draws) if draws.shape[1] >= FEWEST else np.full(draws.shape[2:], np.nan)

    return measured


@_of_enough
def r_hat(draws: Floats) -> Floats:
    """Return the rank-normalised split R-hat: near 1 where chains agree, and at most 1.01 is good."""
    halves = split(draws)
    return np.fmax(_r_hat(normal_scores(halves)), _r_hat(normal_scores(folded(halves))))


@_of_enough
def bulk_ess(draws: Floats) -> Floats:
    """Return the effective sample size of ranks: how many independent draws are worth as much for a mean."""
    return _ess(normal_scores(split(draws)))


@_of_enough
def tail_ess(draws: Floats) -> Floats:
    """Return the smaller effective sample size of the 5 % and the 95 % quantile."""
    return np.fmin(*(_ess(split(_below(draws, share))) for share in (0.05, 0.95)))


@_of_enough
def mean_error(draws: Floats) -> Floats:
    """Return the Monte Carlo standard error of the mean."""
    error: Floats = draws.std(axis=(0, 1), ddof=1) / np.sqrt(_ess(split(draws)))
    return error


def split(draws: Floats) -> Floats:
    """Return every chain in two halves (2 C, D // 2, ...); the middle one of an odd number is dropped."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def folded(draws: Floats) -> Floats:
    """Return how far draws are from their median: chains that differ in spread then differ in location."""
    return np.abs(draws - np.median(draws, axis=(0, 1)))


def normal_scores(draws: Floats) -> Floats:
    """Return the normal quantiles of the draws' ranks among all chains."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
    scores: Floats = ndtri((rankdata(flat, axis=0) - 0.375) / (flat.shape[0] + 0.25))
    return scores.reshape(draws.shape)


def _below(draws: Floats, share: float) -> Floats:
    """Return which draws are below a quantile, as zeros and ones."""
    return (draws <= np.quantile(draws, share, axis=(0, 1))).astype(float)


def _r_hat(draws: Floats) -> Floats:
    """Return the root of the ratio of all variance to that within chains."""
    D = draws.shape[1]
    between, within = draws.mean(axis=1).var(axis=0, ddof=1), draws.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = np.sqrt((D - 1) / D + between / within)
    return ratio


def _ess(draws: Floats) -> Floats:
    """Return the effective sample size of the mean of draws, over chains as they are."""
    M, D = draws.shape[:2]
    flat = draws.reshape(M, D, -1)
    return effective(flat).reshape(draws.shape[2:])
