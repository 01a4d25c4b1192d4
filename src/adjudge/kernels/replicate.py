"""Replicated judgments: the same judges on the same items with labels drawn from a model, and counts of agreement.

Agreement is not counted pair by pair: for one item it is enough to know how often each label was given by all judges
and by each judge. Judgments are compared with those of other judges only; repeated judgments of one judge do not count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import NO_FAMILIES, Block
from adjudge.kernels.compiled import compiled

FLATTER = 0.346  # (16 sqrt(3) / (15 pi))^2: attenuation per variance of the effect (Zeger, Liang & Albert 1988)
LEAST = 1e-6  # bound of probabilities whose log odds are taken


class Counts(NamedTuple):
    """Counts of judgments, weighted if the judgments have weights."""

    labels: Floats  # (J, K) labels of each judge
    agreed: Floats  # (J) pairs with a judgment of another judge on the same item, with equal labels
    paired: Floats  # (J) all such pairs
    unanimous: int  # items with two or more judges who all gave the same label
    shared: int  # items with two or more judges


class Replicate(NamedTuple):
    """Replicated judgments and their truths."""

    block: Block
    truth: Codes  # (I) that they were drawn from


def replicate(block: Block, prevalence: Floats, confusion: Floats, rng: np.random.Generator) -> Block:
    """Return the same judges on the same items with labels drawn from (T, K) and (J, K, K); gold keeps its truth."""
    return replicate_with_truth(block, prevalence, confusion, rng).block


def replicate_with_truth(
    block: Block,
    prevalence: Floats,
    confusion: Floats,
    rng: np.random.Generator,
    strength: float = 0.0,
    shared: float = 1.0,
) -> Replicate:
    """Return replicated judgments with correlated errors: items have an effect of this ``strength`` on all judges.

    A normal effect of the item with this standard deviation is added to the log odds of being right. The log odds are
    scaled so that judges keep the accuracy of their matrices (a logistic of a normal is nearly a flatter logistic).

    Parameters
    ----------
    block
        The judgments whose judges and items are kept; gold items keep their truth.
    prevalence, confusion
        The params that truths (T, K) and labels (J, K, K) are drawn from.
    rng
        The random stream.
    strength
        The standard deviation of the effect of items; 0 for independent errors.
    shared
        The probability that a family of judges has the effect of the item, and not one of its own.

    Returns
    -------
    Replicate
        The same block with other labels, and the truths.
    """
    label, truth = np.empty_like(block.label), np.empty(block.topic.size, np.int32)
    judge, stretch = _judge(block), math.sqrt(1 + FLATTER * strength**2)
    family = block.family if shared < 1 else NO_FAMILIES
    items = (block.start, judge, block.topic, block.gold, family)
    _draw(*items, prevalence, confusion, rng, strength, stretch, shared, label, truth)
    return Replicate(block._replace(cell=(judge * block.labels + label).astype(block.cell.dtype), label=label), truth)


def count_agreement(block: Block) -> Counts:
    """Count labels by judge, and pairs of equal labels.

    A pair is two judgments of different judges on the same item. A judgment of weight w counts w times.
    """
    J, K = block.judges, block.labels
    labels, agreed, paired, items = np.zeros((J, K)), np.zeros(J), np.zeros(J), np.zeros(2, np.int64)
    _count(block.start, _judge(block), block.label, block.weight, labels, agreed, paired, items)
    return Counts(labels, agreed, paired, int(items[0]), int(items[1]))


def _judge(block: Block) -> Codes:
    """Return the judge of every judgment (N)."""
    return (block.cell // block.labels).astype(np.int64)


@compiled
def _draw(
    start: Codes,
    judge: Codes,
    topic: Codes,
    gold: Codes,
    family: Codes,
    prevalence: Floats,
    confusion: Floats,
    rng: np.random.Generator,
    strength: float,
    stretch: float,
    shared: float,
    label: Codes,
    truth: Codes,
) -> None:
    """Draw the truth and the effect of every item, then the label of every judgment."""
    topics = prevalence.shape[0] > 1
    last_item = np.full(family.max() + 1 if family.size else 0, -1)  # of each family, and its effect there
    family_effect = np.empty(last_item.size)
    for i in range(topic.size):
        z = gold[i] if gold[i] >= 0 else _draw_index(prevalence[topic[i] if topics else 0], rng)
        truth[i] = z
        effect = strength * rng.standard_normal() if strength > 0 else 0.0
        for n in range(start[i], start[i + 1]):
            row = confusion[judge[n], z]
            if strength > 0:
                right = min(max(row[z], LEAST), 1 - LEAST)
                shift = effect
                if family.size:
                    f = family[judge[n]]
                    if last_item[f] != i:
                        last_item[f] = i
                        family_effect[f] = effect if rng.random() < shared else strength * rng.standard_normal()
                    shift = family_effect[f]
                odds = stretch * math.log(right / (1 - right)) + shift
                label[n] = z if rng.random() < 1 / (1 + math.exp(-odds)) else _draw_other_index(row, z, rng)
            else:
                label[n] = _draw_index(row, rng)


@compiled
def _draw_other_index(probability: Floats, but: int, rng: np.random.Generator) -> int:
    """Draw an index other than ``but`` with these probabilities; if they are all zero, any other index."""
    rest = 0.0
    for k in range(probability.size):
        rest += 0.0 if k == but else probability[k]
    target, last = rng.random(), but
    for k in range(probability.size):
        if k == but:
            continue
        target -= probability[k] / rest if rest > 0 else 1 / (probability.size - 1)
        last = k
        if target < 0:
            break
    return last


@compiled
def _draw_index(probability: Floats, rng: np.random.Generator) -> int:
    """Draw an index with these probabilities."""
    target, k = rng.random(), 0
    while k < probability.size - 1 and target >= probability[k]:
        target -= probability[k]
        k += 1
    return k


@compiled
def _count(
    start: Codes,
    judge: Codes,
    label: Codes,
    weight: Floats,
    labels: Floats,
    agreed: Floats,
    paired: Floats,
    items: Codes,
) -> None:
    """Count labels, pairs and, in ``items``, the unanimous items and the items with two or more judges."""
    J, K = labels.shape
    of_label, of_judge_label, of_judge = (
        np.zeros(K),
        np.zeros((J, K)),
        np.zeros(J),
    )  # of one item: by label, judge and label, judge
    for i in range(start.size - 1):
        first, last = start[i], start[i + 1]
        same, several, total = True, False, 0.0
        of_label[:] = 0.0
        for n in range(first, last):
            j, k, times = judge[n], label[n], weight[n] if weight.size else 1.0
            of_label[k] += times
            of_judge_label[j, k] += times
            of_judge[j] += times
            labels[j, k] += times
            total += times
            same &= k == label[first]
            several |= j != judge[first]
        for n in range(first, last):
            j, k, times = judge[n], label[n], weight[n] if weight.size else 1.0
            agreed[j] += times * (of_label[k] - of_judge_label[j, k])
            paired[j] += times * (total - of_judge[j])
        for n in range(first, last):
            of_judge_label[judge[n], label[n]] = 0.0
            of_judge[judge[n]] = 0.0
        items[0] += same and several
        items[1] += several
