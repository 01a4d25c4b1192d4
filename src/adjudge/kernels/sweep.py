"""One sweep of Gibbs sampling over the items: every truth is drawn and counted in one pass.

Truths are drawn from p(truth | labels, prevalence, confusion), the posterior of ``kernels.truth``. The sum over sweeps
of this posterior is stored rather than that of the draws: its mean is the same, has less variance, and is never exactly
0 or 1.

Random bits depend on a key and the index of the item alone (the counter-based generator Philox; Salmon, Moraes, Dror &
Shaw 2011), so that the draws are the same in one process, in threads and on a cluster.

With two truths an item is described by the odds of the second. Odds need one product per judgment instead of two, and
only draws of the second truth are counted; the first gets the rest. The index of a count then does not depend on the
draw, which saves a third of the time. Items are sorted by their number of judgments, which makes branches predictable,
and the most common number has its own compiled loop.

Draws that are kept are stored as bits (``pack``): one draw needs log2(K) bits per item, rounded up.
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

Key: TypeAlias = NDArray[np.uint64]  # (2)

PIECE = 8  # items per step of the counter: four words of 64 bits, two items per word


def new_key(rng: np.random.Generator) -> Key:
    """Return a key for a sweep, from the chain's own stream."""
    key: Key = rng.bit_generator.random_raw(2)
    return key


def random_bits(key: Key, first: int, count: int) -> NDArray[np.uint32]:
    """Return 32 random bits for each of ``count`` items from index ``first`` on.

    One call for all items: drawn one by one in a compiled loop, they are many times slower.
    """
    step, skipped = divmod(first, PIECE)
    raw: NDArray[np.uint64] = np.random.Philox(key=key, counter=step).random_raw(-(-(skipped + count) // 2))
    return raw.view(np.uint32)[skipped : skipped + count]


FAR = 1e150  # a product beyond this may have overflowed
ULP = 2.0**-32  # resolution of 32 random bits
LONGEST = 12  # largest number of judgments per item that gets its own compiled loop


class SortedItems(NamedTuple):
    """The items of a block, sorted by their number of judgments."""

    item: NDArray[np.int64]  # (I) their index in the block
    start: Codes  # (I + 1)
    cell: Codes  # (N)
    topic: Codes  # (I)
    gold: Codes  # (I)
    total: Floats  # (J * K) count of each label of each judge


def sort_items(block: Block) -> SortedItems:
    """Return the items of a block, sorted by their number of judgments."""
    length = np.diff(block.start)
    item = np.argsort(length, kind="stable")
    start = np.r_[0, np.cumsum(length[item])]
    judgment = np.arange(start[-1]) + np.repeat(block.start[item] - start[:-1], length[item])
    cell = block.cell[judgment]
    total = np.bincount(cell, minlength=block.judges * block.labels).astype(float)
    return SortedItems(item, start, cell, block.topic[item], block.gold[item], total)


class OddsSweep:
    """Sweeps over the items of a block with two truths."""

    def __init__(self, block: Block) -> None:
        self.items = sort_items(block)
        length = np.diff(self.items.start)
        most = int(np.bincount(length).argmax())
        first, last = np.searchsorted(length, [most, most + 1])
        parts = [(0, 0, first), (most if most <= LONGEST else 0, first, last), (0, last, length.size)]
        self.loops = [(_odds_loop(many), int(begin), int(end)) for many, begin, end in parts if begin < end]

    def __call__(
        self, prevalence: Floats, confusion: Floats, chance: Codes, probability: Floats, drawn: Codes
    ) -> tuple[Floats, Floats]:
        """Draw every truth and return the counts: truths by topic (T, 2), labels by judge and truth (J, 2, K).

        ``probability`` and ``drawn`` are as in ``Sweep``.
        """
        *arrays, total = self.items
        truth, label, prior = np.zeros(prevalence.shape), np.empty(confusion.shape), np.empty(prevalence.shape[0])
        odds, second = np.empty(total.size), np.zeros(total.size, np.int32)  # (J * K)
        _fill_odds(prevalence, confusion, prior, odds)
        for loop, first, last in self.loops:
            loop(first, last, *arrays, prior, odds, chance, probability, drawn, truth, second)
        _count_first_truth(total, second, truth, label)
        return truth, label


@compiled
def _fill_odds(prevalence: Floats, confusion: Floats, prior: Floats, odds: Floats) -> None:
    """Fill in the odds of the second truth, for each topic and for each label of each judge."""
    J, _, K = confusion.shape
    for t in range(prior.size):
        prior[t] = max(prevalence[t, 1], FLOOR) / max(prevalence[t, 0], FLOOR)
    for j in range(J):
        for k in range(K):
            odds[j * K + k] = max(confusion[j, 1, k], FLOOR) / max(confusion[j, 0, k], FLOOR)


@compiled
def _count_first_truth(total: Floats, second: Codes, truth: Floats, label: Floats) -> None:
    """Fill in the counts of the first truth: all minus those of the second."""
    J, _, K = label.shape
    for t in range(truth.shape[0]):
        truth[t, 0] -= truth[t, 1]
    for j in range(J):
        for k in range(K):
            label[j, 1, k] = second[j * K + k]
            label[j, 0, k] = total[j * K + k] - second[j * K + k]


@cache
def _odds_loop(length: int) -> Callable[..., Any]:
    """Return a compiled loop over items with ``length`` judgments each, or with any number if ``length`` is 0.

    It counts all items in the first column of ``truth``, and the second truth in the second column and in ``second``.
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
                p = _odds_by_logs(base, base + many, cell, prior[t], odds)
            share = 1 / (1 + p)
            k = np.int32((chance[item[i]] + 0.5) * ULP >= share)  # by the index of the item, whatever the order
            is_gold = gold[i] >= 0
            if is_gold:
                k = np.int32(gold[i])
            if probability.size:
                probability[item[i], 0] += 1.0 - k if is_gold else share
                probability[item[i], 1] += k if is_gold else p * share
            if drawn.size:
                drawn[item[i]] = k
            truth[t, 0] += 1.0
            truth[t, 1] += k
            for n in range(many):
                second[cell[base + n]] += k

    return run


@compiled
def _odds_by_logs(first: int, last: int, cell: Codes, prior: float, odds: Floats) -> float:
    """Return the odds of an item with any number of judgments, bounded to the range of floats."""
    total = math.log(prior)
    for n in range(first, last):
        total += math.log(odds[cell[n]])
    return math.exp(min(max(total, -700.0), 700.0))


NO_DRAWS = np.empty(0, np.int32)


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
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Draw every truth and return the counts of the draws (the evidence is not computed).

        If they are not empty, p(truth | rest) is added to ``probability`` (I, Z) and the truths are written to
        ``drawn`` (I), so that thousands of sweeps need one array of each.
        """
        return self.by_key(prevalence, confusion, new_key(rng), 0, probability, drawn)

    def by_key(
        self, prevalence: Floats, confusion: Floats, key: Key, first: int, probability: Floats, drawn: Codes = NO_DRAWS
    ) -> Tally:
        """Do the same with the random bits of a key, for items from index ``first`` on."""
        chance = random_bits(key, first, self.block.topic.size)
        if self.by_odds is not None:
            return Tally(*self.by_odds(prevalence, confusion, chance, probability, drawn), 0.0)
        return _sweep_any(self.block, prevalence, confusion, chance, probability, drawn)


def sweep_once(block: Block, prevalence: Floats, confusion: Floats, key: Key, first: int) -> Tally:
    """Draw the truths of a block once with the random bits of a key, for items from index ``first`` on."""
    return _sweep_any(
        block, prevalence, confusion, random_bits(key, first, block.topic.size), np.empty((0, 0)), NO_DRAWS
    )


def _sweep_any(
    block: Block, prevalence: Floats, confusion: Floats, chance: Codes, probability: Floats, drawn: Codes
) -> Tally:
    """Draw and count for any number of truths, with or without weights."""
    J, Z, K = confusion.shape
    board = np.zeros((J, K, 2, Z))  # for each judge and label the likelihoods and, beside them, counts
    _fill_board(confusion, board)
    truth, blank = np.zeros(prevalence.shape), (0.0,) * Z if Z <= REGISTERS else np.empty(Z)
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    _sweep(*arrays, np.maximum(prevalence, FLOOR), board, chance, probability, drawn, truth, blank)
    return Tally(truth, board[:, :, 1].transpose(0, 2, 1), 0.0)


@compiled
def _fill_board(confusion: Floats, board: Floats) -> None:
    """Fill in the likelihoods of all truths."""
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
    """Draw and count; ``blank`` (Z) is a tuple if Z is small, so that it stays in registers."""
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
        target, below, k = (chance[i] + 0.5) * ULP * total, 0.0, 0
        for z in range(Z - 1):  # counting, not searching: a branch here would be mispredicted
            below += p[z]
            k += target >= below
        is_gold = gold[i] >= 0
        if is_gold:
            k = gold[i]
        if probability.size:
            share = 1 / total
            for z in range(Z):
                probability[i, z] += (1.0 if z == k else 0.0) if is_gold else p[z] * share
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
    """Fill in the logs of an item's probabilities relative to the most likely truth."""
    if weight.size:
        sum_logs(first, last, cell, weight, prior, board, logs)
    else:
        product_logs(first, last, cell, prior, board, logs)
    logs -= logs.max()


def pack(truth: Codes, labels: int) -> NDArray[np.uint8]:
    """Return truths (I) as planes of bits, the lowest first, eight items per byte (B, I / 8)."""
    plane = np.arange(max(1, (labels - 1).bit_length()))[:, None]
    return np.packbits((truth >> plane & 1).astype(np.uint8), axis=1)


def unpack(bits: NDArray[np.uint8], items: int) -> Codes:
    """Return truths (..., I) from planes of bits (..., B, I / 8)."""
    planes = np.unpackbits(bits, axis=-1, count=items).astype(np.int32)
    truth: Codes = (planes << np.arange(bits.shape[-2])[:, None]).sum(axis=-2)
    return truth
