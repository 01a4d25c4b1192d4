"""What others say of an item: its truth with one judge's votes, or two judges', left out.

The log of p(truth, labels) of an item is a sum over its judgments, so a judge's votes are left out by taking them away
again. Everything is kept in logs: a product that was divided may lose all its digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

IMPOSSIBLE = -1e9  # the log of what gold rules out; added to, it stays far below all that is possible


class Votes(NamedTuple):
    """What is needed to leave votes out."""

    whole: Floats  # (I, K) log p(truth, labels) of an item
    own: Floats  # (N, K) the part of it that is the judge's own: all that she said of the item


def votes(block: Block, prevalence: Floats, confusion: Floats) -> Votes:
    """Return the logs of items and of each judge's part in them, under (T, K) and (J, K, K)."""
    whole, own = np.empty((block.topic.size, block.labels)), np.empty((block.label.size, block.labels))
    log_prior = np.log(np.maximum(prevalence, FLOOR))
    log_chance = np.log(np.maximum(confusion, FLOOR)).transpose(0, 2, 1).reshape(-1, block.labels)  # (J * K, K)
    _add_up(block.start, block.cell, block.topic, block.gold, block.weight, log_prior, log_chance, whole, own)
    return Votes(whole, own)


def without_her(block: Block, seen: Votes) -> Floats:
    """Return p(truth | what the others said, gold) for each judgment (N, K)."""
    size = np.diff(block.start)
    return softmax(np.repeat(seen.whole, size, axis=0) - seen.own)


def softmax(logs: Floats) -> Floats:
    """Return rows of logs as probabilities."""
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


@compiled
def _add_up(
    start: Codes,
    cell: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    log_prior: Floats,
    log_chance: Floats,
    whole: Floats,
    own: Floats,
) -> None:
    """Fill in the logs of items and of judges' parts in them: a judge may have said several things of one item."""
    K = whole.shape[1]
    said = np.zeros((log_chance.shape[0] // K, K))  # (J, K) by each judge of this item
    for i in range(topic.size):
        t = topic[i] if log_prior.shape[0] > 1 else 0
        for k in range(K):
            whole[i, k] = log_prior[t, k] + (IMPOSSIBLE if gold[i] >= 0 and gold[i] != k else 0.0)
        for n in range(start[i], start[i + 1]):
            times = weight[n] if weight.size else 1.0
            for k in range(K):
                whole[i, k] += times * log_chance[cell[n], k]
                said[cell[n] // K, k] += times * log_chance[cell[n], k]
        for n in range(start[i], start[i + 1]):
            for k in range(K):
                own[n, k] = said[cell[n] // K, k]
        for n in range(start[i], start[i + 1]):
            for k in range(K):
                said[cell[n] // K, k] = 0.0
