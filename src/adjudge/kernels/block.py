"""Blocks of judgments as arrays, and the counts that one pass over a block returns.

A block holds complete items. Counts of blocks with different items can be added, which is what threads, blocks on disk
and clusters rely on.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats

NO_FAMILIES: Codes = np.empty(0, np.int32)


class Block(NamedTuple):
    """Judgments sorted by item, in compressed rows: item i owns judgments start[i] to start[i + 1]."""

    start: Codes  # (I + 1)
    cell: Codes  # (N) judge * K + label: one number to look up instead of two
    label: Codes  # (N)
    topic: Codes  # (I)
    gold: Codes  # (I), -1 if the truth is unknown
    weight: Floats  # (N), or (0) when every judgment counts once
    judges: int  # J
    labels: int  # K
    value: Floats  # (K) the value of each label on the user's scale
    family: Codes = NO_FAMILIES  # (J) family of each judge, or (0) if they are not known or say nothing


class Tally(NamedTuple):
    """The counts of one pass over judgments. Tallies of blocks with different items can be added.

    A model with its own E-step may count other things, in the shapes that its ``estimate`` expects.
    """

    truth: Floats  # (T, Z) weight of each truth in each topic
    label: Floats  # (J, Z, K) how often each judge gave each label to each truth
    evidence: float  # log p(labels, gold | params)


def add(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies, added in their order, so that the result does not depend on timing."""
    rest = iter(tallies)
    total = next(rest)
    for n, tally in enumerate(rest):
        if not n:  # the first tally belongs to the caller
            total = Tally(total.truth.copy(), total.label.copy(order="K"), total.evidence)
        np.add(total.truth, tally.truth, out=total.truth)
        np.add(total.label, tally.label, out=total.label)
        total = total._replace(evidence=total.evidence + tally.evidence)
    return total


def subtract(first: Tally, other: Tally) -> Tally:
    """Return the difference of two tallies, without counts that rounding made negative."""
    truth, label = first.truth - other.truth, first.label - other.label
    return Tally(
        np.where(first.truth >= 0, np.maximum(truth, 0), truth),
        np.where(first.label >= 0, np.maximum(label, 0), label),
        first.evidence - other.evidence,
    )


def item_of(block: Block) -> Codes:
    """Return the item of every judgment (N)."""
    item: Codes = np.repeat(np.arange(block.topic.size), np.diff(block.start))
    return item


def split(block: Block, parts: int) -> list[Block]:
    """Return the block in ``parts`` consecutive pieces of complete items with about as many judgments each."""
    if parts <= 1:
        return [block]
    goals = np.linspace(0, block.cell.size, parts + 1)
    cuts = np.unique(np.r_[0, np.searchsorted(block.start, goals[1:-1]), block.topic.size])
    return [_items(block, first, last) for first, last in pairwise(cuts)]


def _items(block: Block, first: int, last: int) -> Block:
    """Return items first to last as a block (views; only ``start`` is copied)."""
    low, high = block.start[first], block.start[last]
    return block._replace(
        start=block.start[first : last + 1] - low,
        cell=block.cell[low:high],
        label=block.label[low:high],
        topic=block.topic[first:last],
        gold=block.gold[first:last],
        weight=block.weight[low:high] if block.weight.size else block.weight,
    )


def join_items(blocks: Sequence[Block]) -> Block:
    """Return the items of several blocks of the same judges as one block."""
    first = blocks[0]
    ends = np.cumsum([0, *(block.cell.size for block in blocks)])
    starts = [block.start[1:] + end for block, end in zip(blocks, ends[:-1], strict=True)]
    return first._replace(
        start=np.concatenate([[0], *starts]),
        cell=np.concatenate([block.cell for block in blocks]),
        label=np.concatenate([block.label for block in blocks]),
        topic=np.concatenate([block.topic for block in blocks]),
        gold=np.concatenate([block.gold for block in blocks]),
        weight=np.concatenate([block.weight for block in blocks]),
    )


def take_items(block: Block, index: Codes) -> Block:
    """Return the items at these positions, in this order, as a block."""
    size = np.diff(block.start)[index]
    start = np.r_[0, np.cumsum(size)]
    rows = np.repeat(block.start[index] - start[:-1], size) + np.arange(start[-1])
    return block._replace(
        start=start,
        cell=block.cell[rows],
        label=block.label[rows],
        topic=block.topic[index],
        gold=block.gold[index],
        weight=block.weight[rows] if block.weight.size else block.weight,
    )
