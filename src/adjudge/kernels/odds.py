"""A sweep over items that have two truths: all there is to know of an item is the odds of the second.

Odds take one product a judgment, not two, and only draws of the second truth are counted: of the first are those that
are left. The place of a count then does not wait for the draw, which is worth a third of the time. Items are taken by
how many judgments they have, so that a processor foretells where each ends, and the commonest number has a loop
compiled for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

FAR = 1e150  # beyond which a product may have left the range of numbers on its way
ULP = 2.0**-32  # of a chance, which has 32 bits
LONGEST = 12  # judgments of an item for which a loop is compiled


class Ordered(NamedTuple):
    """The items of a block by how many judgments they have."""

    item: NDArray[np.int64]  # (I) which they are
    start: Codes  # (I + 1)
    cell: Codes  # (N)
    topic: Codes  # (I)
    gold: Codes  # (I)
    total: Floats  # (J * K) how often every judge gave every label


def ordered(block: Block) -> Ordered:
    """Return the items of a block by how many judgments they have."""
    length = np.diff(block.start)
    item = np.argsort(length, kind="stable")
    start = np.r_[0, np.cumsum(length[item])]
    judgment = np.arange(start[-1]) + np.repeat(block.start[item] - start[:-1], length[item])
    cell = block.cell[judgment]
    total = np.bincount(cell, minlength=block.judges * block.labels).astype(float)
    return Ordered(item, start, cell, block.topic[item], block.gold[item], total)


class OddsSweep:
    """Sweeps over the items of a block that have two truths."""

    def __init__(self, block: Block) -> None:
        self.items = ordered(block)
        length = np.diff(self.items.start)
        most = int(np.bincount(length).argmax())
        first, last = np.searchsorted(length, [most, most + 1])
        parts = [(0, 0, first), (most if most <= LONGEST else 0, first, last), (0, last, length.size)]
        self.loops = [(_drawing(many), int(begin), int(end)) for many, begin, end in parts if begin < end]

    def __call__(
        self, prevalence: Floats, confusion: Floats, chance: Codes, probability: Floats, drawn: Codes
    ) -> tuple[Floats, Floats]:
        """Draw every truth and return how often: truths by topic (T, 2), labels by judge and truth (J, 2, K).

        ``probability`` and ``drawn`` are as in ``Sweep``.
        """
        *arrays, total = self.items
        truth, label, prior = np.zeros(prevalence.shape), np.empty(confusion.shape), np.empty(prevalence.shape[0])
        odds, second = np.empty(total.size), np.zeros(total.size, np.int32)  # (J * K)
        _set_up(prevalence, confusion, prior, odds)
        for loop, first, last in self.loops:
            loop(first, last, *arrays, prior, odds, chance, probability, drawn, truth, second)
        _sum_up(total, second, truth, label)
        return truth, label


@compiled
def _set_up(prevalence: Floats, confusion: Floats, prior: Floats, odds: Floats) -> None:
    """Fill in the odds of the second truth, in each topic and by each label of each judge."""
    J, _, K = confusion.shape
    for t in range(prior.size):
        prior[t] = max(prevalence[t, 1], FLOOR) / max(prevalence[t, 0], FLOOR)
    for j in range(J):
        for k in range(K):
            odds[j * K + k] = max(confusion[j, 1, k], FLOOR) / max(confusion[j, 0, k], FLOOR)


@compiled
def _sum_up(total: Floats, second: Codes, truth: Floats, label: Floats) -> None:
    """Of the first truth is what is not of the second."""
    J, _, K = label.shape
    for t in range(truth.shape[0]):
        truth[t, 0] -= truth[t, 1]
    for j in range(J):
        for k in range(K):
            label[j, 1, k] = second[j * K + k]
            label[j, 0, k] = total[j * K + k] - second[j * K + k]


@cache
def _drawing(length: int) -> Callable[..., Any]:
    """Return a loop over items that draws and counts; each has ``length`` judgments, or any number if that is 0.

    It counts all items in the first column of ``truth``, and the second truth in the other and in ``second``.
    """

    @compiled
    def run(from_item, to_item, item, start, cell, topic, gold, prior, odds, chance, probability, drawn, truth, second):  # type: ignore[no-untyped-def]
        topics = prior.size > 1
        for i in range(from_item, to_item):
            base, t = start[i], topic[i] if topics else 0
            many = length if length else start[i + 1] - base
            p, q = prior[t], 1.0
            for n in range(many // 2):  # two products at once
                p *= odds[cell[base + 2 * n]]
                q *= odds[cell[base + 2 * n + 1]]
            if many % 2:
                p *= odds[cell[base + many - 1]]
            if 1 / FAR < p < FAR and 1 / FAR < q < FAR:
                p *= q
            else:
                p = _by_logs(base, base + many, cell, prior[t], odds)
            share = 1 / (1 + p)
            k = np.int32((chance[item[i]] + 0.5) * ULP >= share)  # an item has its own, in whatever order
            known = gold[i] >= 0
            if known:
                k = np.int32(gold[i])
            if probability.size:
                probability[item[i], 0] += 1.0 - k if known else share
                probability[item[i], 1] += k if known else p * share
            if drawn.size:
                drawn[item[i]] = k
            truth[t, 0] += 1.0
            truth[t, 1] += k
            for n in range(many):
                second[cell[base + n]] += k

    return run


@compiled
def _by_logs(first: int, last: int, cell: Codes, prior: float, odds: Floats) -> float:
    """Return an item's odds, of however many judgments, as far as numbers go."""
    total = math.log(prior)
    for n in range(first, last):
        total += math.log(odds[cell[n]])
    return math.exp(min(max(total, -700.0), 700.0))
