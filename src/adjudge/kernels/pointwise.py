"""How likely each item's judgments are under each draw of a posterior, the item's truth summed out.

log p(labels of i | draw s) = log sum_z prevalence[s, topic, z] prod_n confusion[s, judge[n], z, y[n]]; where gold tells
the truth, z is that one alone. As in ``kernels.truth`` an item is a product of probabilities as long as it is not too
small, and a sum of logs otherwise, or where judgments have weights. Of many items and draws all logs at once would fill
the memory, so items are done in runs.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR, SMALL

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
                if total < SMALL:
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
