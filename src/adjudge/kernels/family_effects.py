"""Items that are hard for some families of judges and not for others: a sweep over truths, item and family effects.

An item has a truth and an effect, as in ``kernels.difficulty``. On each item, a family of judges has the effect of the
item with probability ``shared``, and otherwise one of its own, from the same grid. All judges of the family have it: a
judge is right with probability logistic(c logit(theta_kk) + spread e). So the effects of two families have a
correlation of shared^2, and judges keep the accuracy of their matrices. With ``shared`` = 1 there is the difficulty of
items alone, and with 0 every family has difficulties of its own. A judge without a family is a family of their own.

Given truth and effect of an item, families are independent. Their effects are summed out, family by family, when these
two are drawn, and drawn afterwards. The rows of judges depend only on how often judges were right at each point of the
grid, so that they are drawn as without families.

The prior of ``shared`` is uniform, and that of the spread half-normal; the part of the spread that all families share,
spread x shared, is cut off as the spread is without families.

Families share how often they are right, not which wrong label they give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block, Tally, item_of
from adjudge.kernels.compiled import compiled
from adjudge.kernels.difficulty import (
    GRID,
    POINTS,
    SHARES,
    TINY,
    Swept,
    fill_likelihood,
    multiply,
    state_prior,
    stretch,
    sum_labels,
    sweep_states,
)
from adjudge.kernels.sweep import NO_DRAWS, ULP, Key, random_bits

NO_SUMMARY = np.empty((0, 2))


class FamilyBlock(NamedTuple):
    """A block whose judgments of an item are sorted by family: a group is the judgments of a family on an item."""

    block: Block
    group: Codes  # (I + 1) item i has the groups group[i] to group[i + 1]
    start: Codes  # (F + 1) group f has the judgments start[f] to start[f + 1]


def by_family(block: Block) -> FamilyBlock:
    """Return a block with the judgments of every item sorted by the family of their judge."""
    item = item_of(block)
    of_judgment = block.family[block.cell // block.labels]
    order = np.lexsort((of_judgment, item))
    of_judgment = of_judgment[order]
    weight = block.weight[order] if block.weight.size else block.weight
    is_first = np.r_[True, (item[1:] != item[:-1]) | (of_judgment[1:] != of_judgment[:-1])][: item.size]
    first = np.flatnonzero(is_first)
    group = np.searchsorted(first, block.start)
    in_order = block._replace(cell=block.cell[order], label=block.label[order], weight=weight)
    return FamilyBlock(in_order, group, np.r_[first, item.size])


def sweep_families(
    families: FamilyBlock,
    prevalence: Floats,
    confusion: Floats,
    spread: float,
    shared: float,
    chance: Codes,
    probability: Floats,
    drawn: Codes = NO_DRAWS,
    item: Floats = NO_SUMMARY,
) -> Tally:
    """Draw truth and effects of every item together, and count them; see ``difficulty.sweep_states``.

    ``chance`` (I + N) are random bits for items and judgments; a group has those of its first judgment. If ``item``
    (I, 2) is not empty, the expected effect and the log evidence of every item are written to it.
    """
    block = families.block
    J, K = block.judges, block.labels
    likelihood, counts, truth = np.empty((J * K, K * GRID)), np.zeros(J * K * K * GRID), np.zeros(prevalence.shape)
    fill_likelihood(confusion, spread, stretch(spread), POINTS, likelihood)
    states = likelihood.reshape(-1, K, GRID)
    alone = shared * states + (1 - shared) * (states @ SHARES)[..., None]  # of the only judge of a family on an item
    groups = (families.group, families.start, block.cell, block.topic, block.gold, block.weight)
    prior, most = np.maximum(state_prior(prevalence), TINY), int(np.diff(families.group).max(initial=1))
    tables = (prior, likelihood.reshape(-1), alone.reshape(-1), shared, SHARES, POINTS)
    outputs = (probability, drawn, item, truth, counts)
    evidence = _family_loop(K * GRID)(*groups, *tables, most, chance, *outputs)
    return Tally(truth, counts.reshape(J, K, K, GRID), evidence)


def family_posterior(
    families: FamilyBlock, prevalence: Floats, confusion: Floats, spread: float, shared: float
) -> tuple[Floats, Floats]:
    """Return p(truth | labels) (I, K), and the expected effect and the log evidence of every item (I, 2)."""
    block = families.block
    probability, item = np.zeros((block.topic.size, block.labels)), np.empty((block.topic.size, 2))
    chance = np.zeros(block.topic.size + block.cell.size, np.uint32)
    sweep_families(families, prevalence, confusion, spread, shared, chance, probability, NO_DRAWS, item)
    return probability, item


class StateSweep:
    """Sweeps over truths and effects of a block: effects of its items and, if its judges have families, of these.

    Parameters
    ----------
    block
        The items.
    first, first_judgment
        The position of the first item and of the first judgment of the block among those of all blocks. Random bits
        depend on them, so that blocks have the draws that they have as parts of one block.
    items
        The number of items in all blocks; by default this is the only one.
    """

    def __init__(self, block: Block, first: int = 0, first_judgment: int = 0, items: int | None = None) -> None:
        self.block, self.first = block, first
        self.first_judgment = first_judgment + (block.topic.size if items is None else items)
        self.families = by_family(block) if block.family.size else None

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        spread: Floats,
        key: Key,
        probability: Floats,
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Draw truths and effects under a spread (1, or 2 with families); see ``difficulty.sweep_states``."""
        chance = random_bits(key, self.first, self.block.topic.size)
        if self.families is None:
            return sweep_states(self.block, prevalence, confusion, float(spread[0]), chance, probability, drawn)
        chance = np.r_[chance, random_bits(key, self.first_judgment, self.block.cell.size)]
        effect, shared = spread.tolist()
        return sweep_families(self.families, prevalence, confusion, effect, shared, chance, probability, drawn)

    def sweep_spreads(
        self, prevalence: Floats, confusion: Floats, spreads: list[Floats], key: Key, room: Floats, truths: int = 0
    ) -> list[Swept]:
        """Sweep under every spread, with p(truth | rest) in arrays like ``room``, and the truths of so many items."""
        swept = []
        for spread in spreads:
            probability, drawn = np.zeros(room.shape), np.empty(truths, np.int32)
            counts = self(prevalence, confusion, spread, key, probability, drawn)
            swept.append(Swept(counts, probability, drawn))
        return swept


@cache
def _family_loop(S: int) -> Callable[..., Any]:
    """Return a compiled loop over items with S states, which returns the log evidence."""
    G, K = GRID, S // GRID

    @compiled
    def run(  # type: ignore[no-untyped-def]
        group,
        start,
        cell,
        topic,
        gold,
        weight,
        prior,
        flat,
        alone,
        shared,
        shares,
        points,
        most,
        chance,
        probability,
        drawn,
        item,
        truth,
        counts,
    ):
        p, of_label, evidence, product, topics = np.empty(S), np.empty(K), 0.0, 1.0, prior.shape[0] > 1
        likelihood, items = np.empty((most, S)), topic.size
        for i in range(items):
            t = topic[i] if topics else 0
            total = 0.0
            for s in range(S):
                p[s] = prior[t, s] if gold[i] < 0 or s // G == gold[i] else 0.0
            if not weight.size:
                for f in range(group[i], group[i + 1]):
                    first, last = start[f], start[f + 1]
                    if last == first + 1:
                        a = cell[first] * S
                        for s in range(S):
                            p[s] *= alone[a + s]
                        continue
                    row = likelihood[f - group[i]]
                    a, b = cell[first] * S, cell[first + 1] * S
                    if last - first == 2:
                        for s in range(S):
                            row[s] = flat[a + s] * flat[b + s]
                    elif last - first == 3:
                        c = cell[first + 2] * S
                        for s in range(S):
                            row[s] = flat[a + s] * flat[b + s] * flat[c + s]
                    else:
                        c, d = cell[first + 2] * S, cell[first + 3] * S
                        for s in range(S):
                            row[s] = flat[a + s] * flat[b + s] * (flat[c + s] * flat[d + s])
                        for n in range(first + 7, last, 4):  # four at once save loads and stores
                            a, b, c, d = cell[n - 3] * S, cell[n - 2] * S, cell[n - 1] * S, cell[n] * S
                            for s in range(S):
                                row[s] *= flat[a + s] * flat[b + s] * (flat[c + s] * flat[d + s])
                        for n in range(last - (last - first) % 4, last):
                            a = cell[n] * S
                            for s in range(S):
                                row[s] *= flat[a + s]
                    for z in range(0, S, G):
                        independent = (1 - shared) * _mean(row, z, shares)
                        for s in range(z, z + G):
                            p[s] *= shared * row[s] + independent
                total = sum_labels(p, of_label)
            careful, logs = total < TINY, 0.0
            if careful:
                for s in range(S):
                    p[s] = prior[t, s] if gold[i] < 0 or s // G == gold[i] else 0.0
                for f in range(group[i], group[i + 1]):
                    row = likelihood[f - group[i]]
                    row[:] = 1.0
                    logs += multiply(row, start[f], start[f + 1], cell, weight, flat)
                    for z in range(0, S, G):
                        independent = (1 - shared) * _mean(row, z, shares)
                        for s in range(z, z + G):
                            p[s] *= shared * row[s] + independent
                    largest = p.max()
                    p /= largest
                    logs += math.log(largest)
                total = sum_labels(p, of_label)
                evidence += logs
            product *= total
            if product < TINY:  # a logarithm for several items
                evidence += math.log(product)
                product = 1.0
            target, below, k, g = (chance[i] + 0.5) * ULP * total, 0.0, 0, 0
            for z in range(K - 1):
                below += of_label[z]
                k += target >= below
            for z in range(k):
                target -= of_label[z]
            below = 0.0
            for s in range(k * G, k * G + G - 1):
                below += p[s]
                g += target >= below
            truth[t, k] += 1.0
            if probability.size:
                share = 1 / total
                for z in range(K):
                    probability[i, z] += of_label[z] * share
            if drawn.size:
                drawn[i] = k
            if item.size:
                mean = 0.0
                for s in range(S):
                    mean += p[s] * points[s % G]
                item[i, 0], item[i, 1] = mean / total, math.log(total) + logs
            for f in range(group[i], group[i + 1]):
                first, last = start[f], start[f + 1]
                row, z = likelihood[f - group[i]], k * G
                if last == first + 1 and not careful:
                    a = cell[first] * S + z
                    for h in range(G):
                        row[z + h] = flat[a + h]
                same, independent = shared * row[z + g], (1 - shared) * _mean(row, z, shares)
                target, below, e = (chance[items + first] + 0.5) * ULP * (same + independent) - same, 0.0, 0
                if target < 0:
                    e = g
                else:
                    for h in range(G - 1):
                        below += (1 - shared) * shares[h] * row[z + h]
                        e += target >= below
                state = k * G + e
                for n in range(first, last):
                    counts[cell[n] * S + state] += weight[n] if weight.size else 1.0
        return evidence + math.log(product)

    return run


@compiled
def _mean(row: Floats, z: int, shares: Floats) -> float:
    """Return the mean over the effect of a family; sums of pairs need no waiting."""
    first = (shares[0] * row[z] + shares[1] * row[z + 1]) + (shares[2] * row[z + 2] + shares[3] * row[z + 3])
    last = (shares[4] * row[z + 4] + shares[5] * row[z + 5]) + (shares[6] * row[z + 6] + shares[7] * row[z + 7])
    return float(first + last)
