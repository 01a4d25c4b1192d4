"""How well a posterior predicts items that it has not used: PSIS-LOO and WAIC, from draws.

One item is left out at a time, with all its judgments. Nothing is fitted again: every draw has the weight that the
posterior without the item would give it, 1 / p(labels of the item | draw), and these weights are smoothed (Vehtari,
Gelman & Gabry 2017, Statistics and Computing 27, 1413-1432). The truth of the item is summed out, so a draw is one of
topics and judges alone. Gold is predicted with the labels: an item with gold counts as p(labels, truth = gold).

Pareto smoothing (Vehtari, Simpson, Gelman, Yao & Gabry 2024, JMLR 25:72): a few huge weights make such means useless,
so the largest are replaced by the quantiles of a generalised Pareto distribution (Zhang & Stephens 2009). Its
shape k says how far the mean can be trusted: the weights have 1 / k finite moments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.inference.chains import Draws
from adjudge.kernels.block import Block, take_items
from adjudge.kernels.compiled import compiled
from adjudge.kernels.difficulty import GRID, state_labels, state_prior, state_rows
from adjudge.kernels.family_effects import by_family, family_posterior
from adjudge.kernels.probability import log_sum, log_sums
from adjudge.kernels.truth import FLOOR
from adjudge.kernels.truth import SMALL as TRUTH_SMALL

LOGS_AT_ONCE = 1 << 22  # log-likelihoods in memory at once: 32 MB, about three times over
GOOD_K = 0.7  # beyond it no feasible number of draws is enough
MOST_VARIANCE = 0.4  # of an item's log-likelihood; beyond it WAIC fails (Vehtari, Gelman & Gabry 2017)
SMALL_DIFFERENCE = 4.0  # a difference in elpd below which its error means little (Sivula et al. 2020)
FEWEST_RATIOS = 5  # to which a distribution can be fitted
SAME = 100 * np.finfo(float).eps  # logs that differ by less are equal: there is no tail
NEGLIGIBLE = 10 * np.finfo(float).eps  # a weight in the fit that is left out
SHARPNESS = 3.0  # of the prior of Zhang & Stephens
PRIOR_RATIOS, PRIOR_SHAPE = 10.0, 0.5  # k is shrunk to this shape as if ten more ratios had it
DRAWS_AT_ONCE = 8  # draws whose tables stay in the cache while a run of items is computed, one cache line of logs


class Loo(NamedTuple):
    """The expected log predictive density of items that are left out, by PSIS-LOO."""

    elpd: float  # expected log predictive density: the sum over items, higher is better
    error: float  # its standard error, by the spread over items
    p: float  # effective number of parameters
    item: Floats  # (I) elpd of each
    k: Floats  # (I) shape of the tail of each item's weights
    good: float  # a k up to this can be trusted, with this many draws
    bad: int  # items with a k above
    note: str  # what cannot be trusted; empty if all can


class Waic(NamedTuple):
    """The widely applicable information criterion, as an elpd."""

    elpd: float
    error: float
    p: float
    item: Floats  # (I)
    variance: Floats  # (I) of the log-likelihood over draws: each item's part of p
    bad: int  # items whose variance is too large
    note: str


class Difference(NamedTuple):
    """The difference in predictive density of two models on the same items."""

    elpd: float  # above 0, the first is better
    error: float  # smaller than the two errors suggest, because both predict the same items
    note: str


def loo(draws: Draws, block: Block, *, efficiency: float = 1.0, gold_informs: bool = True) -> Loo:
    """Return the leave-one-item-out predictive density of a posterior.

    ``efficiency`` is the effective sample size as a share of the draws, and changes little (ArviZ uses the mean over
    parameters, R's loo 1). ``gold_informs`` says whether gold informed prevalence in the fit; if not, an item with gold
    counts as p(labels | gold).
    """
    if not efficiency > 0:
        raise UsageError(f"efficiency {efficiency} is not above 0")
    S = draws.prevalence.shape[0] * draws.prevalence.shape[1]
    item, log_mean, k = np.empty((3, block.topic.size))
    for run, logs in _runs(draws, block, gold_informs):
        weight, k[run] = smooth_weights(-logs, efficiency)
        item[run] = log_sums(np.add(weight, logs, out=weight))
        log_mean[run] = log_sums(logs) - np.log(S)
    good = good_k(S)
    bad = int((~(k <= good)).sum())
    return Loo(*_sum_items(item), float((log_mean - item).sum()), item, k, good, bad, _loo_note(bad, k.size, good, S))


def waic(draws: Draws, block: Block, *, gold_informs: bool = True) -> Waic:
    """Return WAIC: the density of the items minus the variance of each item's log-likelihood (Watanabe 2010)."""
    S = draws.prevalence.shape[0] * draws.prevalence.shape[1]
    log_mean, variance = np.empty((2, block.topic.size))
    for run, logs in _runs(draws, block, gold_informs):
        log_mean[run] = log_sums(logs) - np.log(S)
        variance[run] = logs.var(axis=1, ddof=1) if S > 1 else np.nan
    item = log_mean - variance
    bad = int((~(variance <= MOST_VARIANCE)).sum())
    return Waic(*_sum_items(item), float(variance.sum()), item, variance, bad, _waic_note(bad, item.size))


def difference(first: Loo | Waic, second: Loo | Waic) -> Difference:
    """Return how much better the first model predicts the same items than the second."""
    if first.item.size != second.item.size:
        raise UsageError(
            f"one result has {first.item.size:,} items and the other {second.item.size:,}: use the same items"
        )
    if type(first) is not type(second):
        raise UsageError("one result is of loo and the other of waic: compare two of a kind")
    elpd, error = _sum_items(first.item - second.item)
    return Difference(elpd, error, _difference_note(elpd, first, second))


def good_k(draws: int) -> float:
    """Return the k up to which weights can be trusted: .7, or less with few draws (Vehtari et al. 2024)."""
    return min(1 - 1 / np.log10(draws), GOOD_K) if draws > 1 else -np.inf


class Smoothed(NamedTuple):
    """Weights of draws, and how far they can be trusted."""

    weight: Floats  # (I, S) logs of weights that sum to one
    k: Floats  # (I) shape of the tail; -inf if there is none, inf if it cannot be fitted


def smooth_weights(ratio: Floats, efficiency: float = 1.0) -> Smoothed:
    """Return the smoothed log weights of draws from log ratios (I, S), which are known up to a constant.

    To leave an item out, the log ratios are MINUS its log-likelihoods: the posterior without the item has more draws
    under which the item is unlikely. ``efficiency`` is the effective sample size as a share of the draws; the tail is
    longer if it is smaller.
    """
    weight, k = np.array(ratio, np.float64, order="C"), np.empty(ratio.shape[0])
    tail = tail_length(ratio.shape[1], efficiency)
    steps = 30 + int(tail**0.5)
    _smooth_rows(weight, k, np.empty(tail), np.empty(tail, np.int64), np.empty((2, steps)))
    return Smoothed(weight, k)


def tail_length(draws: int, efficiency: float = 1.0) -> int:
    """Return the number of largest ratios that form the tail."""
    return int(3 * (draws / efficiency) ** 0.5) if draws * efficiency > 225 else draws // 5


@compiled
def _smooth_rows(weight: Floats, k: Floats, value: Floats, index: Codes, grid: Floats) -> None:
    """Smooth every row in place; the last three arguments are room for a tail, its indices, and the fit."""
    M = value.size
    for i in range(k.size):
        row = weight[i]
        row -= row.max()
        if M < FEWEST_RATIOS:
            k[i] = np.inf
        else:
            cutoff = _largest(row, value, index)
            if value[M - 1] - value[0] <= SAME:
                k[i] = -np.inf
            else:
                k[i] = _replace(row, np.exp(cutoff), value, index, grid)
        row -= log_sum(row)


@compiled
def _replace(row: Floats, cutoff: float, value: Floats, index: Codes, grid: Floats) -> float:
    """Replace a row's tail by the quantiles of the distribution fitted to it, and return its shape."""
    M = value.size
    for m in range(M):
        value[m] = np.exp(value[m]) - cutoff
    k, sigma = _fit(value, grid)
    if not np.isfinite(k) or not sigma > 0:
        return float(np.inf)
    for m in range(M):
        rarer = -np.log1p(-(m + 0.5) / M)
        beyond = sigma * (rarer if k == 0 else np.expm1(k * rarer) / k)
        row[index[m]] = min(np.log(cutoff + beyond), 0.0)  # at most the largest ratio, whose log is 0
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
        if share >= NEGLIGIBLE:
            mean, used = mean + share * b[g], used + share
    mean /= used
    shape = _shape(mean, x)
    return (n * shape + PRIOR_RATIOS * PRIOR_SHAPE) / (n + PRIOR_RATIOS), -shape / mean


@compiled
def _shape(b: float, x: Floats) -> float:
    """Return the most likely shape given b."""
    total = 0.0
    for m in range(x.size):
        total += np.log1p(-b * x[m])
    return total / x.size


@compiled
def _largest(row: Floats, value: Floats, index: Codes) -> float:
    """Fill in a row's largest values, ascending, and their indices; return the largest of the others.

    They are in a heap with the smallest on top, so that most values of a row need a single comparison.
    """
    M, cutoff = value.size, -np.inf
    for m in range(M):
        value[m], index[m] = row[m], m
    for top in range(M // 2 - 1, -1, -1):
        _sink(value, index, top, M)
    for s in range(M, row.size):
        if row[s] > value[0]:
            cutoff = max(cutoff, value[0])
            value[0], index[0] = row[s], s
            _sink(value, index, 0, M)
        else:
            cutoff = max(cutoff, row[s])
    for end in range(M - 1, 0, -1):  # heap sort, descending
        _swap(value, index, 0, end)
        _sink(value, index, 0, end)
    for m in range(M // 2):
        _swap(value, index, m, M - 1 - m)
    return float(cutoff)


@compiled
def _sink(value: Floats, index: Codes, top: int, end: int) -> None:
    """Let a value sink in a heap that ends before ``end`` until nothing below it is smaller."""
    while 2 * top + 1 < end:
        low = 2 * top + 1
        if low + 1 < end and value[low + 1] < value[low]:
            low += 1
        if value[top] <= value[low]:
            return
        _swap(value, index, top, low)
        top = low


@compiled
def _swap(value: Floats, index: Codes, first: int, second: int) -> None:
    """Exchange two entries."""
    value[first], value[second] = value[second], value[first]
    index[first], index[second] = index[second], index[first]


def log_likelihoods(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    first: int,
    last: int,
    *,
    gold_informs: bool = True,
    side: Codes | None = None,
) -> Floats:
    """Return log p(labels | draw) of items first to last (last - first, S), for draws (S, T, K) and (S, J, K, K).

    The truth z is summed out: log sum_z prevalence[s, topic, z] prod_n confusion[s, judge[n], z, y[n]]. For an item
    with gold k it is log p(labels, z = k), or log p(labels | z = k) if gold does not inform prevalence. As in
    ``kernels.truth`` an item is a product of probabilities unless that is too small or judgments have weights; then it
    is a sum of logs. ``side`` (Z) is the label of every state z, if states are finer than labels.
    """
    S, _, Z, K = confusion.shape
    logs = np.empty((last - first, S))
    row = (block.cell.astype(np.int64) - block.label) * Z + block.label  # (N) index of p(y[n] | first truth) in a draw
    flat = np.ascontiguousarray(confusion).reshape(S, -1)
    label_of = np.arange(Z, dtype=np.int32) if side is None else side
    arrays = (block.start, row, block.topic, block.gold, block.weight)
    _fill(first, *arrays, prevalence, flat, K, gold_informs, label_of, logs)
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
    side: Codes,
    logs: Floats,
) -> None:
    """Fill in the logs of items from ``begin`` on, for a few draws at a time."""
    items, S = logs.shape
    Z, topics = prevalence.shape[2], prevalence.shape[1] > 1
    prior_of = np.empty(Z)
    for low in range(0, S, DRAWS_AT_ONCE):
        for i in range(items):
            first, last, truth = start[begin + i], start[begin + i + 1], gold[begin + i]
            t = topic[begin + i] if topics else 0
            for s in range(low, min(low + DRAWS_AT_ONCE, S)):
                total, of_gold = 0.0, 1.0
                if truth >= 0 and not gold_informs:
                    of_gold = 0.0
                    for z in range(Z):
                        of_gold += max(prevalence[s, t, z], FLOOR) if truth == side[z] else 0.0
                for z in range(Z):
                    if truth < 0 or truth == side[z]:
                        prior_of[z] = max(prevalence[s, t, z], FLOOR) / of_gold
                        if not weight.size:
                            total += _product(prior_of[z], first, last, row, flat[s], z * K)
                    else:
                        prior_of[z] = 0.0
                if total < TRUTH_SMALL:
                    logs[i, s] = _log_sum(prior_of, first, last, row, weight, flat[s], K)
                else:
                    logs[i, s] = np.log(total)


@compiled
def _product(prior: float, first: int, last: int, row: Codes, table: Floats, shift: int) -> float:
    """Return p(labels, truth): the prior times one factor per judgment."""
    product = prior
    for n in range(first, last):
        product *= max(table[row[n] + shift], FLOOR)
    return product


@compiled
def _log_sum(prior_of: Floats, first: int, last: int, row: Codes, weight: Floats, table: Floats, K: int) -> float:
    """Return log p(labels) from sums of logs, with the weight of every judgment; truths with prior 0 are skipped."""
    most, total = -np.inf, 0.0  # the largest log so far, and the sum of all relative to it
    for z in range(prior_of.size):
        if prior_of[z] > 0:
            log = np.log(prior_of[z])
            for n in range(first, last):
                times = weight[n] if weight.size else 1.0
                log += times * np.log(max(table[row[n] + z * K], FLOOR))
            if log > most:
                total, most = total * np.exp(most - log) + 1.0, log
            else:
                total += np.exp(log - most)
    return float(most + np.log(total))


def item_log_likelihoods(draws: Draws, block: Block, *, gold_informs: bool = True) -> Floats:
    """Return log p(labels of the item | draw) of every chain, draw and item (C, D, I), as ``loo`` uses it."""
    logs = np.empty((*draws.prevalence.shape[:2], block.topic.size))
    for run, some in _runs(draws, block, gold_informs):
        logs[:, :, run] = some.T.reshape(*logs.shape[:2], -1)
    return logs


def _runs(draws: Draws, block: Block, gold_informs: bool) -> Iterator[tuple[slice, Floats]]:
    """Yield runs of items with their log-likelihoods under every draw (I', S)."""
    prevalence, confusion = (field.reshape(-1, *field.shape[2:]) for field in (draws.prevalence, draws.confusion))
    items, at_once = block.topic.size, max(1, LOGS_AT_ONCE // prevalence.shape[0])
    for first in range(0, items, at_once):
        last = min(first + at_once, items)
        if draws.spread.size:
            logs = _with_difficulty(draws, block, first, last, gold_informs)
        else:
            logs = log_likelihoods(block, prevalence, confusion, first, last, gold_informs=gold_informs)
        yield slice(first, last), logs


def _with_difficulty(draws: Draws, block: Block, first: int, last: int, gold_informs: bool) -> Floats:
    """Return the log-likelihoods of items first to last with their difficulty summed out, for some draws at a time."""
    prevalence, confusion = (field.reshape(-1, *field.shape[2:]) for field in (draws.prevalence, draws.confusion))
    if draws.spread.shape[2] == 2:
        return _with_families(draws, take_items(block, np.arange(first, last)), gold_informs)
    spread, side = draws.spread.reshape(-1), state_labels(block.labels)
    step = max(1, LOGS_AT_ONCE // (confusion[0].size * GRID))
    parts = []
    for begin in range(0, spread.size, step):
        some = slice(begin, begin + step)
        rows = np.stack([state_rows(*each) for each in zip(confusion[some], spread[some].tolist(), strict=True)])
        prior = state_prior(prevalence[some])
        parts.append(log_likelihoods(block, prior, rows, first, last, gold_informs=gold_informs, side=side))
    return np.concatenate(parts, axis=1)


def _with_families(draws: Draws, block: Block, gold_informs: bool) -> Floats:
    """Return the log-likelihoods of the items of a block under every draw (I, S), with effects of families summed out.

    If gold does not inform prevalence, the labels of a gold item are given its truth.
    """
    families, gold_items = by_family(block), np.flatnonzero(block.gold >= 0)
    logs = np.empty((block.topic.size, draws.prevalence.shape[0] * draws.prevalence.shape[1]))
    for s, (c, d) in enumerate(np.ndindex(draws.prevalence.shape[:2])):
        prevalence = draws.prevalence[c, d]
        logs[:, s] = family_posterior(families, prevalence, draws.confusion[c, d], *draws.spread[c, d].tolist())[1][
            :, 1
        ]
        if gold_items.size and not gold_informs:
            topic = block.topic[gold_items] if len(prevalence) > 1 else 0
            logs[gold_items, s] -= np.log(np.maximum(prevalence[topic, block.gold[gold_items]], FLOOR))
    return logs


def _sum_items(item: Floats) -> tuple[float, float]:
    """Return the sum over items and its standard error, nan for a single item."""
    error = np.sqrt(item.size * item.var()) if item.size > 1 else np.nan
    return float(item.sum()), float(error)


def _loo_note(bad: int, items: int, good: float, draws: int) -> str:
    """Return a note on weights that cannot be trusted."""
    if not bad:
        return ""
    where = f"k is above {good:.2f} for {bad:,} of {items:,} items"
    if good < GOOD_K:
        return f"{where}: {draws:,} draws may be too few to leave these out; draw more"
    return f"{where}: the posterior depends strongly on them, and the elpd is likely too high"


def _waic_note(bad: int, items: int) -> str:
    """Return a note on items whose variance is too large."""
    where = f"the log-likelihood of {bad:,} of {items:,} items varies by more than {MOST_VARIANCE}"
    return f"{where}: WAIC cannot be trusted there; use loo" if bad else ""


def _difference_note(elpd: float, first: Loo | Waic, second: Loo | Waic) -> str:
    """Return a note on reasons to distrust a difference."""
    notes = []
    if first.bad or second.bad:
        notes.append(
            f"the elpd cannot be trusted for {first.bad:,} items of the first model and {second.bad:,} of the second"
        )
    if abs(elpd) < SMALL_DIFFERENCE:
        notes.append(f"a difference below {SMALL_DIFFERENCE:.0f} is small, and its error means little")
    return "; ".join(notes)
