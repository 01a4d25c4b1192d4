"""A sweep of Gibbs sampling over the items: every truth drawn, and counted, in one pass.

Truths are drawn from p(truth | labels, prevalence, confusion), the posterior of ``kernels.truth``. That posterior is
added up rather than the draws themselves: its mean over sweeps is the same, smoother, and never exactly 0 or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled, put
from adjudge.kernels.truth import FLOOR, REGISTERS, SMALL, product_logs, sum_logs

NOT_KEPT = np.empty(0, np.int32)


def sweep(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    rng: np.random.Generator,
    probability: Floats,
    drawn: Codes = NOT_KEPT,
) -> Tally:
    """Draw every truth and return the tally of the draws.

    ``probability`` (I, Z) and ``drawn`` (I) are changed if they have room: p(truth | rest) is added to the one, the
    truths go to the other. So a run of thousands of sweeps keeps one array of each.
    """
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))  # per judge and label the likelihood of each truth and, beside it, room to count
    _set_up(confusion, board)
    truth, blank = np.zeros(prevalence.shape), (0.0,) * Z if Z <= REGISTERS else np.empty(Z)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    chance = rng.random(block.topic.size)  # all at once: one by one in a compiled loop they cost three times as much
    evidence = _sweep(*arrays, np.maximum(prevalence, FLOOR), board, chance, probability, drawn, truth, blank)
    return Tally(truth, board[:, :, 1].transpose(0, 2, 1), evidence)


@compiled
def _set_up(confusion: Floats, board: Floats) -> None:
    """Put the likelihoods of all truths on the board."""
    J, Z, K = confusion.shape
    for j in range(J):
        for z in range(Z):
            for k in range(K):
                board[j, k, 0, z] = max(confusion[j, z, k], FLOOR)


@compiled
def _sweep(
    start: Codes,
    cell: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    prevalence: Floats,
    board: Floats,
    chance: Floats,
    probability: Floats,
    drawn: Codes,
    truth: Floats,
    blank: Any,
) -> float:
    """Draw and count; return the log evidence, with truths summed out. An item begins at ``blank`` (Z)."""
    Z = len(blank)
    logs, flat = np.empty(Z), board.reshape(-1)
    topics, evidence, running = prevalence.shape[0] > 1, 0.0, 1.0  # the log of a product, taken when it gets small
    first = start[0]
    for i in range(topic.size):
        last, t = start[i + 1], topic[i] if topics else 0
        p, total = blank, 0.0
        if not weight.size:
            for z in range(Z):
                p = put(p, z, prevalence[t, z])
            for n in range(first, last):
                row = cell[n] * (2 * Z)
                for z in range(Z):
                    p = put(p, z, p[z] * flat[row + z])
            for z in range(Z):
                total += p[z]
        if total < SMALL:
            evidence += _relative_logs(first, last, cell, weight, prevalence[t], board, logs)
            total = 0.0
            for z in range(Z):
                p = put(p, z, np.exp(logs[z]))
                total += p[z]
        place, below, k = chance[i] * total, 0.0, 0
        for z in range(Z - 1):  # counted, not searched: a branch here could not be predicted
            below += p[z]
            k += place >= below
        known = gold[i] >= 0
        if known:
            k = gold[i]
        running *= p[k] if known else total
        if running < SMALL or running > 1 / SMALL:
            evidence += np.log(running)
            running = 1.0
        if probability.size:
            share = 1 / total
            for z in range(Z):
                probability[i, z] += (1.0 if z == k else 0.0) if known else p[z] * share
        if drawn.size:
            drawn[i] = k
        truth[t, k] += 1.0
        for n in range(first, last):
            flat[cell[n] * (2 * Z) + Z + k] += weight[n] if weight.size else 1.0
        first = last
    return float(evidence + np.log(running))


@compiled
def _relative_logs(
    first: int, last: int, cell: Codes, weight: Floats, prior: Floats, board: Floats, logs: Floats
) -> float:
    """Fill in the logs of an item's shares relative to the likeliest truth, whose log is returned."""
    if weight.size:
        sum_logs(first, last, cell, weight, prior, board, logs)
    else:
        product_logs(first, last, cell, prior, board, logs)
    most = logs.max()
    logs -= most
    return float(most)
