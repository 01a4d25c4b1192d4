"""Effective sample sizes from autocorrelations, cut off where they become noise (Geyer 1992)."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled


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
    shortest = 1 / np.log10(M * D)  # beyond it, chains that swing to and fro would be worth more than is believed
    return np.where(moving, M * D / np.maximum(time, shortest), float(M * D))


def autocovariance(draws: Floats) -> Floats:
    """Return the covariance of every chain with itself at each distance (M, D, P), by Fourier's transform."""
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
        if t >= D - 2 and t > 2:  # no pair was negative: of the last, which may be cut short, the first half counts
            total, t = total - last, t - 2
        time[p] = -1 + 2 * total + max(rho[t], 0.0) if t < D else -1 + 2 * total
