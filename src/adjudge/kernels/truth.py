"""Posteriors, counts and votes of items: what every consensus model computes from judgments.

- ``truth_posterior``: p(truth | labels) of every item, and the log evidence (the E-step);
- ``count``: the tally of truths by topic and of labels by judge and truth;
- ``expect``: both at once for soft assignments, without storing the posterior;
- ``vote_shares`` and ``label_counts``: the labels of an item, and their mean and median on a scale.

An item's posterior is a product of probabilities. Up to some hundred judgments it is computed as that
product: no logarithm, no exponential. All factors are at most one, so if the largest entry ends above
``SMALL``, an entry that underflowed is negligible beside it (150 digits). If the largest entry ends below, the item is
computed again with a separate exponent for every entry. Weighted judgments are computed with logarithms.

Truths may be finer than labels: degrees on a grid, or a label together with how hard the item is. ``side`` then says
which label each truth stands for, so that gold fixes the label and nothing else.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally, item_of
from adjudge.kernels.compiled import compiled, pays, prefetch, put

FLOOR = 1e-100  # the probability of an impossible label, so that contradictions stay comparable
SMALL = 1e-150  # below this a product is computed again with exponents
SHIFT = 2.0**500  # one step of such an exponent
LOG_SHIFT = 500 * np.log(2.0)
AHEAD = 32  # judgments between prefetching the row of a judge and using it
REGISTERS = 8  # truths that fit into the registers of a processor
FAR = 1 << 21  # bytes of judge rows beyond which prefetching pays
FAR_OUT = 1.5  # interquartile ranges outside the quartiles, beyond which a label is an outlier
TINY = np.finfo(float).tiny  # replaces zero in a logarithm
ROUNDING = 1e-9  # difference of counts that is no difference


def truth_posterior(
    block: Block, prevalence: Floats, confusion: Floats, side: Codes | None = None
) -> tuple[Floats, float]:
    """Return p(truth | labels) of every item, and the log evidence: Bayes' rule, the E-step.

    p(truth z | labels of item i) is in proportion to pi[t, z] prod_n theta[judge_n, z, label_n], t the item's topic.

    Parameters
    ----------
    block
        The judgments; gold fixes the truths of its items.
    prevalence
        pi (T, Z).
    confusion
        theta (J, Z, K).
    side
        The label that each truth stands for (Z), if truths are finer than labels.

    Returns
    -------
    tuple
        The posterior (I, Z), and log p(labels, gold).
    """
    Z = prevalence.shape[1]
    posterior = np.empty((block.topic.size, Z))
    evidence = _pass(block, prevalence, _board(confusion), posterior, np.empty((0, Z)), side)
    return posterior, evidence


def expect(block: Block, prevalence: Floats, confusion: Floats, side: Codes | None = None) -> Tally:
    """Return the expected counts under the posterior, in one pass that does not store the posterior.

    The parameters are those of ``truth_posterior``; the result is that of ``count`` with its posterior, and the log
    evidence.
    """
    Z = prevalence.shape[1]
    board, truth = _board(confusion), np.zeros(prevalence.shape)
    evidence = _pass(block, prevalence, board, np.empty((0, Z)), truth, side)
    return Tally(truth, board[:, :, 1].transpose(0, 2, 1), evidence)


def count(block: Block, posterior: Floats, topics: int = 1) -> Tally:
    """Return the counts for known weights of each item's truths.

    Parameters
    ----------
    block
        The judgments.
    posterior
        The weight of every truth of every item (I, Z).
    topics
        The number T of topics that truths are counted by.

    Returns
    -------
    Tally
        Truths by topic (T, Z), labels by judge and truth (J, Z, K), and no evidence.
    """
    Z = posterior.shape[1]
    truth, label = np.zeros((topics, Z)), np.zeros((block.judges * block.labels, Z))
    if pays(_count, (block.cell.size + block.topic.size) * Z):
        _count(block.start, block.cell, block.topic, block.weight, posterior, truth, label)
    else:
        _count_in_numpy(block, posterior, truth, label)
    return Tally(truth, label.reshape(block.judges, block.labels, Z).transpose(0, 2, 1), 0.0)


def fix_gold(posterior: Floats, gold: Codes) -> Floats:
    """Return p(label | judgments) with the labels of gold items at exactly one (I, K)."""
    capped = np.minimum(posterior, 1.0)  # a sum of shares may be above one by rounding
    fixed: Floats = np.where(gold[:, None] >= 0, gold[:, None] == np.arange(posterior.shape[1]), capped)
    return fixed


def vote_shares(block: Block, counts: Floats | None = None) -> Floats:
    """Return the share of every label among the judgments of each item (I, K); a gold label has share one.

    ``counts`` (J) is how much one vote of each judge counts; by default 1.
    """
    share, times = np.zeros((block.topic.size, block.labels)), np.ones(block.judges) if counts is None else counts
    if pays(_vote_shares, block.cell.size + share.size):
        _vote_shares(block.start, block.cell, block.gold, block.weight, times, share)
        return share
    item, (judge, label) = item_of(block), np.divmod(block.cell.astype(np.int64), block.labels)
    vote = times[judge] * block.weight if block.weight.size else times[judge]
    np.copyto(share, _sums(item * block.labels + label, vote, share.size).reshape(share.shape))
    total = _sums(item, vote, len(share))
    np.divide(share, total[:, None], out=share, where=total[:, None] > 0)
    share[total <= 0] = 1.0 / block.labels
    gold = np.flatnonzero(block.gold >= 0)
    share[gold] = block.gold[gold, None] == np.arange(block.labels)
    return share


def _board(confusion: Floats) -> Floats:
    """Return (J, K, 2, Z): for each judge and label the likelihood of each truth and, beside it, space for counts.

    Both lie in the same cache lines, so that a judgment needs one memory access instead of two.
    """
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))
    np.maximum(confusion.transpose(0, 2, 1), FLOOR, out=board[:, :, 0])
    return board


def _pass(
    block: Block, prevalence: Floats, board: Floats, posterior: Floats, truth: Floats, side: Codes | None
) -> float:
    """Pass over the items once and fill ``posterior`` or, if it is empty, the board and ``truth``."""
    kernel = _kernel(board.nbytes > FAR, bool(block.weight.size), not posterior.size)
    safe, Z = np.maximum(prevalence, FLOOR), board.shape[3]
    blank = (0.0,) * Z if Z <= REGISTERS else np.empty(Z)
    label = np.arange(Z) if side is None else side.astype(np.int64)
    if not block.weight.size and not pays(kernel, (block.cell.size + block.topic.size) * Z + board.size):
        return _pass_in_numpy(block, safe, board, posterior, truth, label)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight, safe, board, posterior, truth)
    return float(kernel(*arrays, label, blank))


def _pass_in_numpy(
    block: Block, prevalence: Floats, board: Floats, posterior: Floats, truth: Floats, side: Codes
) -> float:
    """Do the same as the kernel without weights: the same operations in the same order, so that the bits are equal."""
    Z, item, gold = board.shape[3], item_of(block), block.gold[:, None]
    prior = prevalence[block.topic] if len(prevalence) > 1 else np.broadcast_to(prevalence, (block.topic.size, Z))
    first = block.start[:-1] + np.arange(block.topic.size)  # each item's prior, then its judgments
    factor = np.empty((Z, item.size + block.topic.size))
    factor[:, first] = prior.T
    factor[:, np.arange(item.size) + item + 1] = board.reshape(-1, 2, Z)[block.cell, 0].T
    p = np.multiply.reduceat(factor, first, axis=1) if first.size else factor  # (Z, I), multiplied from left to right
    p = np.where((gold.T >= 0) & (side[:, None] != gold.T), 0.0, p)
    total = _total(p)
    evidence, running = 0.0, 1.0
    small = total < SMALL
    for i, product in enumerate(total.tolist()):
        if small[i]:
            logs = np.empty(Z)
            _product_logs(block.start[i], block.start[i + 1], block.cell, prior[i], board, logs)
            logs[(block.gold[i] >= 0) & (block.gold[i] != side)] = -np.inf
            most = float(logs.max())
            evidence += most
            p[:, i] = [math.exp(log - most) for log in logs.tolist()]
            total[i] = product = float(_total(p[:, i : i + 1])[0])
        running *= product
        if running < SMALL or running > 1 / SMALL:
            evidence += math.log(running)
            running = 1.0
    p = np.where(gold.T >= 0, p / total, p * (1 / total))
    if posterior.size:
        posterior[:] = p.T
    else:
        _count_in_numpy(block, p.T, truth, board.reshape(-1, 2, Z)[:, 1])
    return float(evidence + math.log(running))


@cache
def _kernel(far: bool, weighted: bool, tallying: bool) -> Callable[..., Any]:
    """Return the compiled pass; ``blank`` (Z) is a tuple if Z is small, so that it stays in registers."""

    @compiled
    def run(start, cell, topic, gold, weight, prevalence, board, posterior, truth, side, blank):  # type: ignore[no-untyped-def]
        Z = len(blank)
        logs = np.empty(Z)
        flat = board.reshape(-1)  # one index to compute, not four
        evidence, running = 0.0, 1.0  # the product of totals; its log is taken when it gets small
        topics = prevalence.shape[0] > 1
        for i in range(topic.size):
            first, last = start[i], start[i + 1]
            t = topic[i] if topics else 0
            p, total = blank, 0.0
            if not weighted:
                for k in range(Z):
                    p = put(p, k, prevalence[t, k])
                for n in range(first, last):
                    if far:
                        row = cell[min(n + AHEAD, cell.size - 1)] * (2 * Z)
                        prefetch(flat, row)
                        prefetch(flat, row + 8)
                    row = cell[n] * (2 * Z)
                    for k in range(Z):
                        p = put(p, k, p[k] * flat[row + k])
                if gold[i] >= 0:
                    for k in range(Z):
                        p = put(p, k, p[k] if gold[i] == side[k] else 0.0)
                for k in range(Z):
                    total += p[k]
            if total < SMALL:
                if weighted:
                    sum_logs(first, last, cell, weight, prevalence[t], board, logs)
                else:
                    product_logs(first, last, cell, prevalence[t], board, logs)
                if gold[i] >= 0:
                    for k in range(Z):
                        logs[k] = logs[k] if gold[i] == side[k] else -np.inf
                most = logs.max()
                evidence += most
                total = 0.0
                for k in range(Z):
                    p = put(p, k, np.exp(logs[k] - most))
                    total += p[k]
            running *= total
            if running < SMALL or running > 1 / SMALL:
                evidence += np.log(running)
                running = 1.0
            share = 1 / total
            for k in range(Z):
                p = put(p, k, p[k] / total if gold[i] >= 0 else p[k] * share)
            if tallying:
                for k in range(Z):
                    truth[t, k] += p[k]
                for n in range(first, last):
                    row = cell[n] * (2 * Z) + Z
                    for k in range(Z):
                        flat[row + k] += weight[n] * p[k] if weighted else p[k]
            else:
                for k in range(Z):
                    posterior[i, k] = p[k]
        return evidence + np.log(running)

    return run


def _total(p: Floats) -> Floats:
    """Return the sum of each column (Z, I), added from the first row to the last."""
    total = np.zeros(p.shape[1])
    for row in p:
        total += row
    return total


def _sums(group: Codes, value: Floats, groups: int) -> Floats:
    """Return the sum of the values of each group, added in their order."""
    return np.bincount(group, value, groups).astype(np.float64, copy=False)


def _count_in_numpy(block: Block, posterior: Floats, truth: Floats, tally: Floats) -> None:
    """Do the same as ``_count``: the same additions in the same order."""
    item, cell = item_of(block), block.cell.astype(np.int64)
    topic = block.topic if len(truth) > 1 else np.zeros_like(block.topic)
    for k in range(posterior.shape[1]):
        truth[:, k] = _sums(topic, posterior[:, k], len(truth))
        probability = posterior[item, k]
        tally[:, k] = _sums(cell, probability * block.weight if block.weight.size else probability, len(tally))


def _product_logs(first: int, last: int, cell: Codes, prior: Floats, board: Floats, logs: Floats) -> None:
    """Do the same as ``product_logs`` for one item."""
    for k in range(logs.size):
        mantissa, shifts = float(prior[k]), 0
        for likelihood in board.reshape(-1, 2, logs.size)[cell[first:last], 0, k].tolist():
            mantissa *= likelihood
            if mantissa < SMALL:
                mantissa *= SHIFT
                shifts += 1
        logs[k] = math.log(mantissa) - shifts * LOG_SHIFT


@compiled
def product_logs(first: int, last: int, cell: Codes, prior: Floats, board: Floats, logs: Floats) -> None:
    """Fill in the log of each truth's product; a separate exponent prevents underflow."""
    rows = board.reshape(-1, 2, logs.size)
    for k in range(logs.size):
        mantissa, shifts = prior[k], 0
        for n in range(first, last):
            mantissa *= rows[cell[n], 0, k]
            if mantissa < SMALL:
                mantissa *= SHIFT
                shifts += 1
        logs[k] = np.log(mantissa) - shifts * LOG_SHIFT


@compiled
def sum_logs(first: int, last: int, cell: Codes, weight: Floats, prior: Floats, board: Floats, logs: Floats) -> None:
    """Fill in the weighted sum of the logs of each truth."""
    rows = board.reshape(-1, 2, logs.size)
    for k in range(logs.size):
        logs[k] = np.log(prior[k])
        for n in range(first, last):
            logs[k] += weight[n] * np.log(rows[cell[n], 0, k])


@compiled
def _count(
    start: Codes, cell: Codes, topic: Codes, weight: Floats, posterior: Floats, truth: Floats, tally: Floats
) -> None:
    """Add every item's truths to its topic, and every judgment to its judge's row under each truth."""
    topics = truth.shape[0] > 1
    for i in range(topic.size):
        t = topic[i] if topics else 0
        for k in range(posterior.shape[1]):
            truth[t, k] += posterior[i, k]
        for n in range(start[i], start[i + 1]):
            times = weight[n] if weight.size else 1.0
            for k in range(posterior.shape[1]):
                tally[cell[n], k] += times * posterior[i, k]


@compiled
def _vote_shares(start: Codes, cell: Codes, gold: Codes, weight: Floats, counts: Floats, share: Floats) -> None:
    """Fill in each item's vote shares; an item without judgments gets equal shares."""
    K = share.shape[1]
    for i in range(gold.size):
        total = 0.0
        for n in range(start[i], start[i + 1]):
            j, k = divmod(cell[n], K)
            times = counts[j] * (weight[n] if weight.size else 1.0)
            share[i, k] += times
            total += times
        for k in range(K):
            if gold[i] >= 0:
                share[i, k] = 1.0 if gold[i] == k else 0.0
            else:
                share[i, k] = share[i, k] / total if total > 0 else 1.0 / K


@compiled
def _label_counts(start: Codes, label: Codes, weight: Floats, counts: Floats) -> None:
    """Add every judgment to the count of its item and label."""
    for i in range(start.size - 1):
        for n in range(start[i], start[i + 1]):
            counts[i, label[n]] += weight[n] if weight.size else 1.0


def label_counts(block: Block) -> Floats:
    """Return how often each label was given to each item (I, K), ignoring gold."""
    counts = np.zeros((block.topic.size, block.labels))
    if pays(_label_counts, block.cell.size + counts.size):
        _label_counts(block.start, block.label, block.weight, counts)
        return counts
    cell = item_of(block) * block.labels + block.label
    return _sums(cell, block.weight if block.weight.size else np.ones(cell.size), counts.size).reshape(counts.shape)


def quantile(counts: Floats, share: float, value: Floats) -> Floats:
    """Return the value below which a share of each item's labels lies (I); between two labels, their middle."""
    total, below = counts.sum(axis=1, keepdims=True), np.cumsum(counts, axis=1)
    reached = (below >= share * total - ROUNDING).argmax(axis=1)
    beyond = below > share * total + ROUNDING
    passed = np.where(beyond.any(axis=1), beyond.argmax(axis=1), reached)
    middle: Floats = (value[reached] + value[passed]) / 2
    return middle


def inliers(counts: Floats, value: Floats) -> Floats:
    """Return the counts without labels further than 1.5 interquartile ranges outside the item's quartiles."""
    low, high = quantile(counts, 0.25, value), quantile(counts, 0.75, value)
    reach = FAR_OUT * (high - low)
    inside: Floats = counts * ((value >= (low - reach)[:, None]) & (value <= (high + reach)[:, None]))
    return inside


def mean(counts: Floats, value: Floats) -> Floats:
    """Return the mean value of each item's labels (I); an item without labels is at the middle of the scale."""
    total = counts.sum(axis=1)
    centre: Floats = np.divide(counts @ value, total, out=np.full(total.size, value.mean()), where=total > 0)
    return centre


def median(counts: Floats, value: Floats) -> Floats:
    """Return the middle value of each item's labels (I); an item without labels is at the middle of the scale."""
    middle: Floats = np.where(counts.sum(axis=1) > 0, quantile(counts, 0.5, value), value.mean())
    return middle


def value_log_odds(posterior: Floats, value: Floats) -> Floats:
    """Return log (E - lowest) / (highest - E) of the expected value E of each posterior (I, K), with values (K).

    It orders items as E does, and with two labels it is the log odds of the higher one. Expected values that are both
    2 to sixteen digits still differ here, because the distances to the two ends are summed, not subtracted.
    """
    above, below = posterior @ (value - value.min()), posterior @ (value.max() - value)
    odds: Floats = np.log(np.maximum(above, TINY)) - np.log(np.maximum(below, TINY))
    return odds


def shares_between(point: Floats, value: Floats) -> Floats:
    """Return each point as shares of the two values around it (I, K): 2.3 is .7 of 2 and .3 of 3.

    Values rise or fall.
    """
    if value.size and value[0] > value[-1]:
        return shares_between(point, value[::-1])[:, ::-1]
    low = np.clip(np.searchsorted(value, point, side="right") - 1, 0, max(0, value.size - 2))
    high = np.minimum(low + 1, value.size - 1)
    step = np.where(high > low, value[high] - value[low], 1.0)
    above = np.clip((point - value[low]) / step, 0, 1)
    share, rows = np.zeros((point.size, value.size)), np.arange(point.size)
    share[rows, high] = above
    share[rows, low] += 1 - above
    return share
