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


def sweep(block: Block, prevalence: Floats, confusion: Floats, rng: np.random.Generator, probability: Floats) -> Tally:
    """Draw every truth and return the tally of the draws; add p(truth | rest) to ``probability`` (I, Z) if it has room.

    ``probability`` is the one argument that is changed: a run of thousands of sweeps keeps one array.
    """
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))  # per judge and label the likelihood of each truth and, beside it, room to count
    np.maximum(confusion.transpose(0, 2, 1), FLOOR, out=board[:, :, 0])
    truth, blank = np.zeros(prevalence.shape), (0.0,) * Z if Z <= REGISTERS else np.empty(Z)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    evidence = _sweep(*arrays, np.maximum(prevalence, FLOOR), board, rng, probability, truth, blank)
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
    blank: Any,
) -> float:
    """Draw and count; return the log evidence, with truths summed out. An item begins at ``blank`` (Z)."""
    Z = len(blank)
    logs, flat = np.empty(Z), board.reshape(-1)
    topics, evidence, running = prevalence.shape[0] > 1, 0.0, 1.0  # the log of a product, taken when it gets small
    for i in range(topic.size):
        first, last, t = start[i], start[i + 1], topic[i] if topics else 0
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
        k = gold[i]
        running *= total if k < 0 else p[k]
        if running < SMALL or running > 1 / SMALL:
            evidence += np.log(running)
            running = 1.0
        if k < 0:
            place, k = rng.random() * total, 0
            while k < Z - 1 and place >= p[k]:
                place -= p[k]
                k += 1
        if probability.size:
            share = 1 / total
            for z in range(Z):
                probability[i, z] += p[z] * share if gold[i] < 0 else (1.0 if z == k else 0.0)
        truth[t, k] += 1.0
        for n in range(first, last):
            flat[cell[n] * (2 * Z) + Z + k] += weight[n] if weight.size else 1.0
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
