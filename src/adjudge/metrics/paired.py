"""Paired tests of whether one model is better than another on the same items, and Holm's correction.

Under the hypothesis that two models are equally good, either could have given the other's answer, so the sign of each
item's difference is a fair coin. For right and wrong answers the p-value is exact (McNemar 1947); for losses it is
estimated by random signs (Fisher's randomisation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.metrics.bootstrap import DRAWS, item_losses
from adjudge.metrics.labels import Scored

TESTED = ("log_loss", "brier")  # losses that are tested; for ordered labels also the absolute error
CHUNK = 64  # draws at once
ROUNDING = 1e-12  # relative difference of sums of the same numbers in another order


class Paired(NamedTuple):
    """One model compared with another."""

    difference: float  # of the means; above 0, this model's is higher
    p: float
    adjusted: float  # p after Holm's correction


def mcnemar(first: Flags, second: Flags) -> float:
    """Return the exact two-sided p-value of two models' right answers (I): only items where they differ count."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return min(1.0, 2 * _at_most(min(only_first, only_second), only_first + only_second))


def sign_flips(difference: Floats, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Return the two-sided p-value of mean differences (I, C) of C pairs of models, under random signs of items.

    p = (1 + draws as far from 0 as the observed mean) / (1 + draws), so it is never 0 (Phipson & Smyth 2010).
    """
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    rng = np.random.default_rng(seed)
    enough = np.abs(difference.sum(axis=0)) - ROUNDING * np.abs(difference).sum(axis=0)  # (C)
    reached = np.zeros(difference.shape[1])
    for begin in range(0, draws, CHUNK):
        coin = rng.integers(2, size=(min(CHUNK, draws - begin), difference.shape[0]), dtype=np.int8)
        reached += (np.abs((2.0 * coin - 1) @ difference) >= enough).sum(axis=0)
    p: Floats = (1 + reached) / (1 + draws)
    return p


def holm(p: Floats) -> Floats:
    """Return p-values with Holm's correction: the smallest times their number, the next times one less, and so on."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def against(best: Scored, others: Sequence[Scored], *, draws: int = DRAWS, seed: int = 0) -> list[dict[str, Paired]]:
    """Return, for each of the other models, its tests against the best by measure, with Holm's correction."""
    right = best.answer == best.truth
    exact = np.array([mcnemar(other.answer == other.truth, right) for other in others])
    gain = [float(np.mean(other.answer == other.truth) - right.mean()) for other in others]
    tests = {"accuracy": _corrected(gain, exact)}
    base, rest = _losses(best), [_losses(other) for other in others]
    for measure in base if others else ():
        difference = np.column_stack([losses[measure] - base[measure] for losses in rest])  # (I, C)
        tests[measure] = _corrected(difference.mean(axis=0), sign_flips(difference, draws=draws, seed=seed))
    return [{measure: pairs[n] for measure, pairs in tests.items()} for n in range(len(others))]


def _corrected(difference: Sequence[float] | Floats, p: Floats) -> list[Paired]:
    """Return differences with their p-values, before and after the correction."""
    return [Paired(*map(float, row)) for row in zip(difference, p, holm(p), strict=True)]


def _losses(scored: Scored) -> dict[str, Floats]:
    """Return the tested losses of every item (I)."""
    losses = {measure: loss for measure, loss in item_losses(scored).items() if measure in TESTED}
    if scored.scale.ordinal:
        value = np.array(scored.scale.values)
        losses["absolute_error"] = np.abs(value[scored.answer] - value[scored.truth])
    return losses


def _at_most(heads: int, tosses: int) -> float:
    """Return the chance of at most this many heads of a fair coin."""
    log_factorial = np.r_[0.0, np.cumsum(np.log(np.arange(1, tosses + 1)))]
    head = np.arange(heads + 1)
    ways = log_factorial[tosses] - log_factorial[head] - log_factorial[tosses - head]
    return float(np.exp(ways - tosses * np.log(2)).sum())
