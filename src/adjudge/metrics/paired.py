"""Is one model better than another on the same items? Paired tests, and Holm's correction for asking several times.

Both tests know only the items: under the hypothesis that two models are as good, either might have had the other's
answer, so the sign of each item's difference is a fair coin. Where answers are right or wrong the coins can be counted
(McNemar 1947, exact); where they have losses the coins are thrown (Fisher's randomisation).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.metrics.bootstrap import DRAWS, item_losses
from adjudge.metrics.labels import Scored

TESTED = ("log_loss", "brier")  # of the losses; with labels in an order, the absolute error too
CHUNK = 64  # draws thrown at once
ROUNDING = 1e-12  # sums of the same numbers in another order are this near, as a share of their size


class Paired(NamedTuple):
    """One model held against another."""

    difference: float  # of the mean; above 0, this model's is higher
    p: float
    adjusted: float  # p after Holm's correction


def mcnemar(first: Flags, second: Flags) -> float:
    """Return the exact two-sided p of two models' right answers (I): only items that one alone has right count."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return min(1.0, 2 * _at_most(min(only_first, only_second), only_first + only_second))


def sign_flips(difference: Floats, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Return the two-sided p of mean differences (I, C) of C pairs of models, each item's sign being a coin.

    p = (1 + draws as far from 0 as what was seen) / (1 + draws), so it is never 0 (Phipson & Smyth 2010).
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
    """Return p values corrected for there being several: the smallest times all, the next times one less (Holm)."""
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def against(best: Scored, others: Sequence[Scored], *, draws: int = DRAWS, seed: int = 0) -> list[dict[str, Paired]]:
    """Return, for each of the others, its tests against the best by measure, corrected for their number."""
    right = best.answer == best.truth
    exact = np.array([mcnemar(other.answer == other.truth, right) for other in others])
    gain = [float(np.mean(other.answer == other.truth) - right.mean()) for other in others]
    tests = {"accuracy": _corrected(gain, exact)}
    own, theirs = _tested(best), [_tested(other) for other in others]
    for measure in own if others else ():
        difference = np.column_stack([losses[measure] - own[measure] for losses in theirs])  # (I, C)
        tests[measure] = _corrected(difference.mean(axis=0), sign_flips(difference, draws=draws, seed=seed))
    return [{measure: pairs[n] for measure, pairs in tests.items()} for n in range(len(others))]


def _corrected(difference: Sequence[float] | Floats, p: Floats) -> list[Paired]:
    """Return differences with their p values, before and after the correction."""
    return [Paired(*map(float, row)) for row in zip(difference, p, holm(p), strict=True)]


def _tested(scored: Scored) -> dict[str, Floats]:
    """Return the losses of every item (I) that are tested."""
    losses = {measure: loss for measure, loss in item_losses(scored).items() if measure in TESTED}
    if scored.scale.ordinal:
        value = np.array(scored.scale.values)
        losses["absolute_error"] = np.abs(value[scored.answer] - value[scored.truth])
    return losses


def _at_most(heads: int, tosses: int) -> float:
    """Return the chance of at most so many heads of a fair coin."""
    log_factorial = np.r_[0.0, np.cumsum(np.log(np.arange(1, tosses + 1)))]
    head = np.arange(heads + 1)
    ways = log_factorial[tosses] - log_factorial[head] - log_factorial[tosses - head]
    return float(np.exp(ways - tosses * np.log(2)).sum())
