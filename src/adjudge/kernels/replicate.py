"""Judgments drawn anew from a model, by the same judges on the same items, and what is counted of judgments.

Who agrees with whom is not counted pair by pair: of an item it is enough how often each label was given, by anyone and
by the judge herself. Judgments are paired with those of other judges only; a judge who repeats herself says nothing of
the crowd.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled

FLATTER = 0.346  # (16 sqrt(3) / (15 pi))^2: how much flatter, a variance of the effect (Zeger, Liang & Albert 1988)
LEAST = 1e-6  # chance of being right, and of being wrong, whose odds have a logarithm


class Counts(NamedTuple):
    """What is counted of judgments; with weights, each as often as it counts."""

    said: Floats  # (J, K) labels that each judge gave
    agreed: Floats  # (J) pairs of a judgment of hers and another judge's of the same item, with equal labels
    paired: Floats  # (J) all such pairs
    unanimous: int  # items that two judges or more labelled, all the same
    shared: int  # items that two judges or more labelled


class Replicate(NamedTuple):
    """Judgments drawn anew."""

    block: Block
    truth: Codes  # (I) that they were drawn from


def replicate(block: Block, prevalence: Floats, confusion: Floats, rng: np.random.Generator) -> Block:
    """Return the same judges on the same items with labels drawn from (T, K) and (J, K, K); gold keeps its truth."""
    return replicated(block, prevalence, confusion, rng).block


def replicated(
    block: Block, prevalence: Floats, confusion: Floats, rng: np.random.Generator, strength: float = 0.0
) -> Replicate:
    """Return judgments drawn anew of judges who err together by the ``strength`` of what items do to all of them.

    The log odds of being right have an effect of the item added, normal with this deviation; they are stretched so that
    a judge is right as often as her matrix has it (a logistic of a normal is nearly a flatter logistic).
    """
    label, truth = np.empty_like(block.label), np.empty(block.topic.size, np.int32)
    judge, stretch = _judge(block), math.sqrt(1 + FLATTER * strength**2)
    _draw(block.start, judge, block.topic, block.gold, prevalence, confusion, rng, strength, stretch, label, truth)
    return Replicate(block._replace(cell=(judge * block.labels + label).astype(block.cell.dtype), label=label), truth)


def count_agreement(block: Block) -> Counts:
    """Count labels by judge, and pairs of equal labels."""
    J, K = block.judges, block.labels
    said, agreed, paired, items = np.zeros((J, K)), np.zeros(J), np.zeros(J), np.zeros(2, np.int64)
    _count(block.start, _judge(block), block.label, block.weight, said, agreed, paired, items)
    return Counts(said, agreed, paired, int(items[0]), int(items[1]))


def _judge(block: Block) -> Codes:
    """Return the judge of every judgment (N)."""
    return (block.cell // block.labels).astype(np.int64)


@compiled
def _draw(
    start: Codes,
    judge: Codes,
    topic: Codes,
    gold: Codes,
    prevalence: Floats,
    confusion: Floats,
    rng: np.random.Generator,
    strength: float,
    stretch: float,
    label: Codes,
    truth: Codes,
) -> None:
    """Draw a truth an item, and what it does to all judges, then a label a judgment."""
    topics = prevalence.shape[0] > 1
    for i in range(topic.size):
        z = gold[i] if gold[i] >= 0 else _one_of(prevalence[topic[i] if topics else 0], rng)
        truth[i] = z
        effect = strength * rng.standard_normal() if strength > 0 else 0.0
        for n in range(start[i], start[i + 1]):
            row = confusion[judge[n], z]
            if strength > 0:
                right = min(max(row[z], LEAST), 1 - LEAST)
                odds = stretch * math.log(right / (1 - right)) + effect
                label[n] = z if rng.random() < 1 / (1 + math.exp(-odds)) else _other(row, z, rng)
            else:
                label[n] = _one_of(row, rng)


@compiled
def _other(probability: Floats, but: int, rng: np.random.Generator) -> int:
    """Return an index drawn with these probabilities, one left out; if nothing is left, any other."""
    rest = 0.0
    for k in range(probability.size):
        rest += 0.0 if k == but else probability[k]
    place, last = rng.random(), but
    for k in range(probability.size):
        if k == but:
            continue
        place -= probability[k] / rest if rest > 0 else 1 / (probability.size - 1)
        last = k
        if place < 0:
            break
    return last


@compiled
def _one_of(probability: Floats, rng: np.random.Generator) -> int:
    """Return an index drawn with these probabilities."""
    place, k = rng.random(), 0
    while k < probability.size - 1 and place >= probability[k]:
        place -= probability[k]
        k += 1
    return k


@compiled
def _count(
    start: Codes, judge: Codes, label: Codes, weight: Floats, said: Floats, agreed: Floats, paired: Floats, items: Codes
) -> None:
    """Add up labels, pairs, and in ``items`` the unanimous and all that are shared."""
    J, K = said.shape
    given, own, hers = np.zeros(K), np.zeros((J, K)), np.zeros(J)  # of one item: by label, judge and label, judge
    for i in range(start.size - 1):
        first, last = start[i], start[i + 1]
        same, several, total = True, False, 0.0
        given[:] = 0.0
        for n in range(first, last):
            j, k, times = judge[n], label[n], weight[n] if weight.size else 1.0
            given[k] += times
            own[j, k] += times
            hers[j] += times
            said[j, k] += times
            total += times
            same &= k == label[first]
            several |= j != judge[first]
        for n in range(first, last):
            j, k, times = judge[n], label[n], weight[n] if weight.size else 1.0
            agreed[j] += times * (given[k] - own[j, k])
            paired[j] += times * (total - hers[j])
        for n in range(first, last):
            own[judge[n], label[n]] = 0.0
            hers[judge[n]] = 0.0
        items[0] += same and several
        items[1] += several
