"""How well a posterior would foretell an item it had not seen: leave-one-out cross-validation, and WAIC, from draws.

One item is left out at a time, with all its judgments. Nothing is fitted anew: every draw is weighted as the posterior
without the item would hold it, by 1 / p(labels of the item | draw), and these weights are smoothed
(``kernels.pareto``; Vehtari, Gelman & Gabry 2017, Statistics and Computing 27, 1413-1432). The item's truth is summed
out, so a draw is one of topics and judges alone. Gold is foretold with the labels: such an item counts as
p(labels, truth = gold).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import UsageError
from adjudge.kernels.block import Block
from adjudge.kernels.logspace import log_sums
from adjudge.kernels.pareto import smoothed
from adjudge.kernels.pointwise import log_likelihoods
from adjudge.models.chains import Draws

ROOM = 1 << 22  # logs of items and draws that are held at once: 32 MB, some three times over
GOOD_K = 0.7  # beyond it no feasible number of draws is enough
UNSTEADY = 0.4  # variance of an item's log likelihood beyond which WAIC fails (Vehtari, Gelman & Gabry 2017)
SMALL = 4.0  # a difference in elpd below which its error means little (Sivula et al. 2020)


class Loo(NamedTuple):
    """How well left-out items are foretold."""

    elpd: float  # expected log predictive density: the sum over items, higher is better
    error: float  # its standard error, by the spread over items
    p: float  # effective number of parameters
    item: Floats  # (I) elpd of each
    k: Floats  # (I) shape of the tail of each item's weights
    good: float  # a k up to this can be trusted, with this many draws
    bad: int  # items with a k above
    note: str  # what cannot be trusted; empty where all can


class Waic(NamedTuple):
    """The widely applicable information criterion, as an elpd."""

    elpd: float
    error: float
    p: float
    item: Floats  # (I)
    variance: Floats  # (I) of the log likelihood over draws: each item's part of p
    bad: int  # items whose variance is too large
    note: str


class Difference(NamedTuple):
    """How much better one model foretells than another, item by item."""

    elpd: float  # above 0, the first is better
    error: float  # smaller than the two errors would suggest, since both foretell the same items
    note: str


def loo(draws: Draws, block: Block, *, efficiency: float = 1.0, gold_informs: bool = True) -> Loo:
    """Return the leave-one-item-out predictive density of a posterior.

    ``efficiency`` is the share of independent draws that the draws are worth, and changes little (ArviZ takes the mean
    over parameters, R's loo 1). ``gold_informs`` says whether gold informed prevalence in the fit: if not, an item
    counts as p(labels | gold).
    """
    if not efficiency > 0:
        raise UsageError(f"efficiency {efficiency} is not above 0")
    S = draws.prevalence.shape[0] * draws.prevalence.shape[1]
    item, seen, k = np.empty((3, block.topic.size))
    for run, logs in _runs(draws, block, gold_informs):
        weight, k[run] = smoothed(-logs, efficiency)
        item[run] = log_sums(np.add(weight, logs, out=weight))
        seen[run] = log_sums(logs) - np.log(S)
    good = good_k(S)
    bad = int((~(k <= good)).sum())
    return Loo(*_summed(item), float((seen - item).sum()), item, k, good, bad, _loo_note(bad, k.size, good, S))


def waic(draws: Draws, block: Block, *, gold_informs: bool = True) -> Waic:
    """Return WAIC: the density of what was seen, less the variance of each item's log (Watanabe 2010)."""
    S = draws.prevalence.shape[0] * draws.prevalence.shape[1]
    seen, variance = np.empty((2, block.topic.size))
    for run, logs in _runs(draws, block, gold_informs):
        seen[run] = log_sums(logs) - np.log(S)
        variance[run] = logs.var(axis=1, ddof=1) if S > 1 else np.nan
    item = seen - variance
    bad = int((~(variance <= UNSTEADY)).sum())
    return Waic(*_summed(item), float(variance.sum()), item, variance, bad, _waic_note(bad, item.size))


def difference(one: Loo | Waic, other: Loo | Waic) -> Difference:
    """Return how much better the first foretells the same items than the second."""
    if one.item.size != other.item.size:
        raise UsageError(f"one has {one.item.size:,} items and the other {other.item.size:,}: give both the same")
    if type(one) is not type(other):
        raise UsageError("one is of loo and the other of waic: give two of a kind")
    elpd, error = _summed(one.item - other.item)
    return Difference(elpd, error, _difference_note(elpd, one, other))


def good_k(draws: int) -> float:
    """Return the k up to which weights can be trusted: with few draws less than .7 (Vehtari et al. 2024)."""
    return min(1 - 1 / np.log10(draws), GOOD_K) if draws > 1 else -np.inf


def _runs(draws: Draws, block: Block, gold_informs: bool) -> Iterator[tuple[slice, Floats]]:
    """Yield runs of items with the logs of their likelihoods under every draw (I', S)."""
    prevalence, confusion = (field.reshape(-1, *field.shape[2:]) for field in (draws.prevalence, draws.confusion))
    items, at_once = block.topic.size, max(1, ROOM // prevalence.shape[0])
    for first in range(0, items, at_once):
        last = min(first + at_once, items)
        logs = log_likelihoods(block, prevalence, confusion, first, last, gold_informs=gold_informs)
        yield slice(first, last), logs


def _summed(item: Floats) -> tuple[float, float]:
    """Return the sum over items, and its standard error; one item alone has none."""
    error = np.sqrt(item.size * item.var()) if item.size > 1 else np.nan
    return float(item.sum()), float(error)


def _loo_note(bad: int, items: int, good: float, draws: int) -> str:
    """Say where weights cannot be trusted."""
    if not bad:
        return ""
    where = f"k is above {good:.2f} for {bad:,} of {items:,} items"
    if good < GOOD_K:
        return f"{where}: {draws:,} draws may be too few to leave these out; draw more"
    return f"{where}: without them the posterior would be another, and the elpd is likely too high"


def _waic_note(bad: int, items: int) -> str:
    """Say where the variance is too large."""
    where = f"the log likelihood of {bad:,} of {items:,} items varies by more than {UNSTEADY}"
    return f"{where}: WAIC cannot be trusted there; use loo" if bad else ""


def _difference_note(elpd: float, one: Loo | Waic, other: Loo | Waic) -> str:
    """Say what speaks against a difference."""
    notes = []
    if one.bad or other.bad:
        notes.append(f"the elpd cannot be trusted for {one.bad:,} items of the one and {other.bad:,} of the other")
    if abs(elpd) < SMALL:
        notes.append(f"a difference below {SMALL:.0f} is small, and its error means little")
    return "; ".join(notes)
