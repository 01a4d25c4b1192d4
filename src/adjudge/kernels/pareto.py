"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao & Gabry 2024, JMLR 25:72).

Draws from one distribution stand for another when each weighs as their ratio. A few huge ratios make such means
useless, so the largest are replaced by the quantiles of a generalised Pareto distribution that is fitted to them
(Zhang & Stephens 2009). Its shape k tells how far the mean can be trusted: ratios have 1 / k finite moments.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled
from adjudge.kernels.logspace import log_sum

FEWEST = 5  # ratios to which a distribution can be fitted
SAME = 100 * np.finfo(float).eps  # logs this near are equal: there is no tail
NOTHING = 10 * np.finfo(float).eps  # a weight in the fit that is left out
SHARPNESS = 3.0  # of the prior of Zhang & Stephens
BELIEVED, HALF = 10.0, 0.5  # k is shrunk to a half as if that had been seen in ten ratios more


class Smoothed(NamedTuple):
    """Weights of draws, and whether to trust them."""

    weight: Floats  # (I, S) logs of weights that sum to one
    k: Floats  # (I) shape of the tail; -inf where there is none, inf where none can be fitted


def smoothed(ratio: Floats, efficiency: float = 1.0) -> Smoothed:
    """Return the smoothed log weights of draws, of log ratios (I, S) that lack a constant.

    For leaving an item out, its log ratios are MINUS the logs of its likelihood: a draw under which the item is
    unlikely is one that the posterior without it would hold more often. ``efficiency`` is the share of independent
    draws that the draws are worth; the tail is longer where they are worth less.
    """
    weight, k = np.array(ratio, np.float64, order="C"), np.empty(ratio.shape[0])
    tail = tail_length(ratio.shape[1], efficiency)
    steps = 30 + int(tail**0.5)
    _smooth(weight, k, np.empty(tail), np.empty(tail, np.int64), np.empty((2, steps)))
    return Smoothed(weight, k)


def tail_length(draws: int, efficiency: float = 1.0) -> int:
    """Return how many of the largest ratios are the tail."""
    return int(3 * (draws / efficiency) ** 0.5) if draws * efficiency > 225 else draws // 5


@compiled
def _smooth(weight: Floats, k: Floats, value: Floats, place: Codes, grid: Floats) -> None:
    """Smooth every row in place; the last three are room for a tail, its places, and the fit."""
    M = value.size
    for i in range(k.size):
        row = weight[i]
        row -= row.max()
        if M < FEWEST:
            k[i] = np.inf
        else:
            cutoff = _largest(row, value, place)
            if value[M - 1] - value[0] <= SAME:
                k[i] = -np.inf
            else:
                k[i] = _replace(row, np.exp(cutoff), value, place, grid)
        row -= log_sum(row)


@compiled
def _replace(row: Floats, cutoff: float, value: Floats, place: Codes, grid: Floats) -> float:
    """Replace a row's tail by the quantiles of the distribution fitted to it, and return the shape of that."""
    M = value.size
    for m in range(M):
        value[m] = np.exp(value[m]) - cutoff
    k, sigma = _fit(value, grid)
    if not np.isfinite(k) or not sigma > 0:
        return float(np.inf)
    for m in range(M):
        rarer = -np.log1p(-(m + 0.5) / M)
        beyond = sigma * (rarer if k == 0 else np.expm1(k * rarer) / k)
        row[place[m]] = min(np.log(cutoff + beyond), 0.0)  # the largest ratio there was, of which the log is 0
    return k


@compiled
def _fit(x: Floats, grid: Floats) -> tuple[float, float]:
    """Return shape and scale of a generalised Pareto distribution of excesses, ascending (Zhang & Stephens 2009).

    b = -shape / scale is averaged over a grid by its profile likelihood; shape and scale follow from it.
    """
    n, (b, log) = x.size, grid
    steps, quartile = b.size, x[int(n / 4 + 0.5) - 1]
    for g in range(steps):
        b[g] = (1 - np.sqrt(steps / (g + 0.5))) / (SHARPNESS * quartile) + 1 / x[-1]
        shape = _shape(b[g], x)
        log[g] = n * (np.log(-b[g] / shape) - shape - 1)
    total = log_sum(log)
    mean, used = 0.0, 0.0
    for g in range(steps):
        share = np.exp(log[g] - total)
        if share >= NOTHING:
            mean, used = mean + share * b[g], used + share
    mean /= used
    shape = _shape(mean, x)
    return (n * shape + BELIEVED * HALF) / (n + BELIEVED), -shape / mean


@compiled
def _shape(b: float, x: Floats) -> float:
    """Return the likeliest shape for a given b."""
    total = 0.0
    for m in range(x.size):
        total += np.log1p(-b * x[m])
    return total / x.size


@compiled
def _largest(row: Floats, value: Floats, place: Codes) -> float:
    """Fill in a row's largest values, ascending, and where they are; return the largest of the others.

    They are kept in a heap with the smallest on top: most of a row is then passed over by one comparison each.
    """
    M, cutoff = value.size, -np.inf
    for m in range(M):
        value[m], place[m] = row[m], m
    for top in range(M // 2 - 1, -1, -1):
        _sink(value, place, top, M)
    for s in range(M, row.size):
        if row[s] > value[0]:
            cutoff = max(cutoff, value[0])
            value[0], place[0] = row[s], s
            _sink(value, place, 0, M)
        else:
            cutoff = max(cutoff, row[s])
    for end in range(M - 1, 0, -1):  # the smallest to the end, again and again: a heap sort, descending
        _swap(value, place, 0, end)
        _sink(value, place, 0, end)
    for m in range(M // 2):
        _swap(value, place, m, M - 1 - m)
    return float(cutoff)


@compiled
def _sink(value: Floats, place: Codes, top: int, end: int) -> None:
    """Let one value sink in a heap that ends before ``end`` until nothing below it is smaller."""
    while 2 * top + 1 < end:
        low = 2 * top + 1
        if low + 1 < end and value[low + 1] < value[low]:
            low += 1
        if value[top] <= value[low]:
            return
        _swap(value, place, top, low)
        top = low


@compiled
def _swap(value: Floats, place: Codes, one: int, other: int) -> None:
    """Exchange two entries."""
    value[one], value[other] = value[other], value[one]
    place[one], place[other] = place[other], place[one]
