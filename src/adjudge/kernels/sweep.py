"""A sweep of Gibbs sampling over the items: every truth drawn, and counted, in one pass.

Truths are drawn from p(truth | labels, prevalence, confusion), the posterior of ``kernels.truth``. That posterior is
added up rather than the draws themselves: its mean over sweeps is the same, smoother, and never exactly 0 or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.chances import Key, chances, new_key
from adjudge.kernels.compiled import compiled, put
from adjudge.kernels.odds import ULP, OddsSweep
from adjudge.kernels.truth import FLOOR, REGISTERS, SMALL, product_logs, sum_logs

NOT_KEPT = np.empty(0, np.int32)


class Sweep:
    """Sweeps over the items of a block."""

    def __init__(self, block: Block) -> None:
        self.block, self.items, self.labels = block, block.topic.size, block.labels
        self.by_odds = OddsSweep(block) if block.labels == 2 and not block.weight.size else None

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        rng: np.random.Generator,
        probability: Floats,
        drawn: Codes = NOT_KEPT,
    ) -> Tally:
        """Draw every truth and return the tally of the draws, whose evidence is not asked for.

        ``probability`` (I, Z) and ``drawn`` (I) are changed if they have room: p(truth | rest) is added to the one, the
        truths go to the other. So a run of thousands of sweeps keeps one array of each.
        """
        return self.by_key(prevalence, confusion, new_key(rng), 0, probability, drawn)

    def by_key(
        self, prevalence: Floats, confusion: Floats, key: Key, first: int, probability: Floats, drawn: Codes = NOT_KEPT
    ) -> Tally:
        """Do the same with the random bits that a key has for items from place ``first`` on."""
        chance = chances(key, first, self.block.topic.size)
        if self.by_odds is not None:
            return Tally(*self.by_odds(prevalence, confusion, chance, probability, drawn), 0.0)
        return _swept(self.block, prevalence, confusion, chance, probability, drawn)


def swept(block: Block, prevalence: Floats, confusion: Floats, key: Key, first: int) -> Tally:
    """Draw the truths of a block once, by the random bits that a key has for items from place ``first`` on."""
    return _swept(block, prevalence, confusion, chances(key, first, block.topic.size), np.empty((0, 0)), NOT_KEPT)


def _swept(
    block: Block, prevalence: Floats, confusion: Floats, chance: Codes, probability: Floats, drawn: Codes
) -> Tally:
    """Draw and count, of however many truths, with weights or without."""
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))  # per judge and label the likelihood of each truth and, beside it, room to count
    _set_up(confusion, board)
    truth, blank = np.zeros(prevalence.shape), (0.0,) * Z if Z <= REGISTERS else np.empty(Z)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    _sweep(*arrays, np.maximum(prevalence, FLOOR), board, chance, probability, drawn, truth, blank)
    return Tally(truth, board[:, :, 1].transpose(0, 2, 1), 0.0)


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
    chance: Codes,
    probability: Floats,
    drawn: Codes,
    truth: Floats,
    blank: Any,
) -> None:
    """Draw and count; an item begins at ``blank`` (Z)."""
    Z = len(blank)
    logs, flat, topics = np.empty(Z), board.reshape(-1), prevalence.shape[0] > 1
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
            _relative_logs(first, last, cell, weight, prevalence[t], board, logs)
            total = 0.0
            for z in range(Z):
                p = put(p, z, np.exp(logs[z]))
                total += p[z]
        place, below, k = (chance[i] + 0.5) * ULP * total, 0.0, 0
        for z in range(Z - 1):  # counted, not searched: a branch here could not be predicted
            below += p[z]
            k += place >= below
        known = gold[i] >= 0
        if known:
            k = gold[i]
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


@compiled
def _relative_logs(
    first: int, last: int, cell: Codes, weight: Floats, prior: Floats, board: Floats, logs: Floats
) -> None:
    """Fill in the logs of an item's shares relative to the likeliest truth."""
    if weight.size:
        sum_logs(first, last, cell, weight, prior, board, logs)
    else:
        product_logs(first, last, cell, prior, board, logs)
    logs -= logs.max()
