"""Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao & Gabry 2024, JMLR 25:72).

Draws from one distribution stand for another when each weighs as their ratio. A few huge ratios make such means
useless, so the largest are replaced by the quantiles of a generalised Pareto distribution that is fitted to them
(Zhang & Stephens 2009). Its shape k tells how far the mean can be trusted: ratios have 1 / k finite moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.inference.chains import Draws
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.probability import log_sum, log_sums
from adjudge.kernels.truth import FLOOR
from adjudge.kernels.truth import SMALL as TRUTH_SMALL

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


# How likely each item's judgments are under each draw of a posterior, the item's truth summed out.
#
# log p(labels of i | draw s) = log sum_z prevalence[s, topic, z] prod_n confusion[s, judge[n], z, y[n]]; where gold
# tells the truth, z is that one alone. As in ``kernels.truth`` an item is a product of probabilities as long as it is
# not too small, and a sum of logs otherwise, or where judgments have weights. Of many items and draws all logs at
# once would fill the memory, so items are done in runs.

TOGETHER = 8  # draws whose tables stay near while a run of items goes by, and whose logs are one cache line


def log_likelihoods(
    block: Block, prevalence: Floats, confusion: Floats, first: int, last: int, *, gold_informs: bool = True
) -> Floats:
    """Return log p(labels | draw) of items first to last (last - first, S), of draws (S, T, K) and (S, J, K, K).

    An item with gold k is log p(labels, z = k); where gold does not inform prevalence, log p(labels | z = k).
    """
    S, _, Z, K = confusion.shape
    logs = np.empty((last - first, S))
    row = (block.cell.astype(np.int64) - block.label) * Z + block.label  # (N) where p(y[n] | first truth) is in a draw
    flat = np.ascontiguousarray(confusion).reshape(S, -1)
    _fill(first, block.start, row, block.topic, block.gold, block.weight, prevalence, flat, K, gold_informs, logs)
    return logs


@compiled
def _fill(
    begin: int,
    start: Codes,
    row: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    prevalence: Floats,
    flat: Floats,
    K: int,
    gold_informs: bool,
    logs: Floats,
) -> None:
    """Fill in the logs of items from ``begin`` on, a few draws at a time."""
    items, S = logs.shape
    Z, topics = prevalence.shape[2], prevalence.shape[1] > 1
    own = np.empty(Z)
    for low in range(0, S, TOGETHER):
        for i in range(items):
            first, last, known = start[begin + i], start[begin + i + 1], gold[begin + i]
            t = topic[begin + i] if topics else 0
            for s in range(low, min(low + TOGETHER, S)):
                total = 0.0
                for z in range(Z):
                    if known < 0 or known == z:
                        own[z] = 1.0 if known == z and not gold_informs else max(prevalence[s, t, z], FLOOR)
                        if not weight.size:
                            total += _product(own[z], first, last, row, flat[s], z * K)
                    else:
                        own[z] = 0.0
                if total < TRUTH_SMALL:
                    logs[i, s] = _log_sum(own, first, last, row, weight, flat[s], K)
                else:
                    logs[i, s] = np.log(total)


@compiled
def _product(prior: float, first: int, last: int, row: Codes, table: Floats, shift: int) -> float:
    """Return p(labels, truth): the prior times a factor a judgment."""
    product = prior
    for n in range(first, last):
        product *= max(table[row[n] + shift], FLOOR)
    return product


@compiled
def _log_sum(own: Floats, first: int, last: int, row: Codes, weight: Floats, table: Floats, K: int) -> float:
    """Return log p(labels) from sums of logs, every judgment as often as it counts; a truth with prior 0 is out."""
    most, total = -np.inf, 0.0  # the largest log so far, and the sum of all relative to it
    for z in range(own.size):
        if own[z] > 0:
            log = np.log(own[z])
            for n in range(first, last):
                times = weight[n] if weight.size else 1.0
                log += times * np.log(max(table[row[n] + z * K], FLOOR))
            if log > most:
                total, most = total * np.exp(most - log) + 1.0, log
            else:
                total += np.exp(log - most)
    return float(most + np.log(total))


# How well a posterior would foretell an item it had not seen: leave-one-out cross-validation, and WAIC, from draws.
#
# One item is left out at a time, with all its judgments. Nothing is fitted anew: every draw is weighted as the
# posterior without the item would hold it, by 1 / p(labels of the item | draw), and these weights are smoothed
# (``kernels.pareto``; Vehtari, Gelman & Gabry 2017, Statistics and Computing 27, 1413-1432). The item's truth is
# summed out, so a draw is one of topics and judges alone. Gold is foretold with the labels: such an item counts as
# p(labels, truth = gold).

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
