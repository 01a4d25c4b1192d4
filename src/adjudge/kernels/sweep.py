"""A sweep of Gibbs sampling over the items: every truth drawn, and counted, in one pass.

Truths are drawn from p(truth | labels, prevalence, confusion), the posterior of ``kernels.truth``. That posterior is
added up rather than the draws themselves: its mean over sweeps is the same, smoother, and never exactly 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled, put
from adjudge.kernels.truth import FLOOR, REGISTERS, SMALL, product_logs, sum_logs

# Random bits by place: what an item draws follows from a key and the item's place alone.
#
# So the draws are the same whoever makes them, and in whatever parts: a counter is put through Philox (Salmon, Moraes,
# Dror & Shaw 2011), and any part of its stream can be had without the parts before.

Key: TypeAlias = NDArray[np.uint64]  # (2)

PIECE = 8  # items that one step of the counter serves: four words of 64 bits, two items a word


def new_key(rng: np.random.Generator) -> Key:
    """Return a key for a sweep, from the chain's own stream."""
    key: Key = rng.bit_generator.random_raw(2)
    return key


def chances(key: Key, first: int, many: int) -> NDArray[np.uint32]:
    """Return random 32 bits for each of ``many`` items from place ``first`` on.

    All at once: one by one in a compiled loop they cost many times as much.
    """
    step, skipped = divmod(first, PIECE)
    raw: NDArray[np.uint64] = np.random.Philox(key=key, counter=step).random_raw(-(-(skipped + many) // 2))
    return raw.view(np.uint32)[skipped : skipped + many]


# A sweep over items that have two truths: all there is to know of an item is the odds of the second.
#
# Odds take one product a judgment, not two, and only draws of the second truth are counted: of the first are those that
# are left. The place of a count then does not wait for the draw, which is worth a third of the time. Items are taken by
# how many judgments they have, so that a processor foretells where each ends, and the commonest number has a loop
# compiled for it.

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
        _odds_set_up(prevalence, confusion, prior, odds)
        for loop, first, last in self.loops:
            loop(first, last, *arrays, prior, odds, chance, probability, drawn, truth, second)
        _sum_up(total, second, truth, label)
        return truth, label


@compiled
def _odds_set_up(prevalence: Floats, confusion: Floats, prior: Floats, odds: Floats) -> None:
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
