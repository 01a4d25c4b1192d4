"""A sweep of Gibbs sampling over the items: every truth drawn, and counted, in one pass.

Truths are drawn from p(truth | labels, prevalence, confusion), the posterior of ``kernels.truth``. That posterior is
added up rather than the draws themselves: its mean over sweeps is the same, smoother, and never exactly 0 or 1.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR, SMALL, _product_logs, _sum_logs


def sweep(block: Block, prevalence: Floats, confusion: Floats, rng: np.random.Generator, probability: Floats) -> Tally:
    """Draw every truth and return the tally of the draws; add p(truth | rest) to ``probability`` (I, Z) if it has room.

    ``probability`` is the one argument that is changed: a run of thousands of sweeps keeps one array.
    """
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))
    np.maximum(confusion.transpose(0, 2, 1), FLOOR, out=board[:, :, 0])
    truth = np.zeros(prevalence.shape)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    evidence = _sweep(*arrays, np.maximum(prevalence, FLOOR), board, rng, probability, truth)
    return Tally(truth, board[:, :, 1].transpose(0, 2, 1), evidence)


@compiled
def _sweep(
    start: Codes,
    cell: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    prevalence: Floats,
    board: Floats,
    rng: np.random.Generator,
    probability: Floats,
    truth: Floats,
) -> float:
    """Draw and count; return the log evidence, with truths summed out."""
    Z = prevalence.shape[1]
    p, logs = np.empty(Z), np.empty(Z)
    rows = board.reshape(-1, 2, Z)
    topics, evidence = prevalence.shape[0] > 1, 0.0
    for i in range(topic.size):
        first, last, t = start[i], start[i + 1], topic[i] if topics else 0
        total = 0.0
        if not weight.size:
            for z in range(Z):
                p[z] = prevalence[t, z]
            for n in range(first, last):
                for z in range(Z):
                    p[z] *= rows[cell[n], 0, z]
            for z in range(Z):
                total += p[z]
        if total < SMALL:
            total = _scaled(first, last, cell, weight, prevalence[t], board, logs, p)
            evidence += logs.max()
        evidence += np.log(total) if gold[i] < 0 else np.log(p[gold[i]])
        k = gold[i] if gold[i] >= 0 else _drawn(p, rng.random() * total)
        if probability.size:
            for z in range(Z):
                probability[i, z] += (1.0 if z == k else 0.0) if gold[i] >= 0 else p[z] / total
        truth[t, k] += 1.0
        for n in range(first, last):
            rows[cell[n], 1, k] += weight[n] if weight.size else 1.0
    return evidence


@compiled
def _scaled(
    first: int, last: int, cell: Codes, weight: Floats, prior: Floats, board: Floats, logs: Floats, p: Floats
) -> float:
    """Fill in an item's shares relative to the likeliest truth, where products would underflow; return their total."""
    if weight.size:
        _sum_logs(first, last, cell, weight, prior, board, logs)
    else:
        _product_logs(first, last, cell, prior, board, logs)
    most, total = logs.max(), 0.0
    for z in range(p.size):
        p[z] = np.exp(logs[z] - most)
        total += p[z]
    return total


@compiled
def _drawn(p: Floats, place: float) -> int:
    """Return the truth on whose share a place between 0 and the total falls."""
    for k in range(p.size - 1):
        if place < p[k]:
            return k
        place -= p[k]
    return p.size - 1
