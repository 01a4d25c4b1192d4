"""How correlated the errors of judges are, from the judgments alone: the excess agreement of pairs, and kappa.

Two judges of an item agree because they both know the truth, or because the same thing misled them. Given the
posterior of the *other* judgments of the item, a model of independent errors says how often the pair should agree. The
excess over that, as a share of the disagreements that it expects, is an estimate of the correlation of errors; it is
zero if judges err independently. It needs items with three judges or more. Without them, Fleiss' kappa is all there is:
it cannot distinguish agreement on the truth from shared errors, and crowds with gold say how much of it is shared.

An item with n judgments whose errors have the correlation r is worth n / (1 + (n - 1) r) independent ones (Kish 1965).

>>> import numpy as np
>>> effective_judges(np.array([1.0, 5.0, 50.0]), 0.2).round(2).tolist()
[1.0, 2.78, 4.63]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.params import Params
from adjudge.kernels.block import Block
from adjudge.kernels.truth import FLOOR

BASE, SLOPE = 0.02, 2.5  # correlation of errors for an excess agreement of zero, and per unit of it
KAPPA_SLOPE = 0.55  # the same per unit of kappa, where excess agreement cannot be measured
TYPICAL = 0.25  # correlation where no item has two judges
TYPICAL_KAPPA = 0.35
UNANIMOUS = 0.98  # kappa from which judges hardly ever disagree: all judgments of an item count as one
SPREAD = 0.05  # standard deviation of excess agreement among crowds
LOWEST, HIGHEST = 0.01, 0.6
REACH = 6  # each judgment of an item is compared with so many others: all of them up to 13 judgments
MOST = 200  # judgments of an item that are used, at random
ENOUGH = 30_000  # judgments that suffice; of larger crowds, items are sampled
CLEAR, SLIGHT = 3.5, 0.02  # standard errors of the excess, and the excess, above which errors are clearly correlated


class Correlation(NamedTuple):
    """What judgments say about how correlated errors are."""

    errors: float  # estimated correlation of the errors of two judges
    kappa: float | None  # Fleiss' kappa, None if no item has two judges
    excess: float | None  # excess agreement of pairs, None if no item has three judges
    error: float = 0.0  # standard error of the excess

    @property
    def unanimous(self) -> bool:
        """Whether judges hardly ever disagree, so that nothing shows how often they err together."""
        return self.kappa is not None and self.kappa >= UNANIMOUS

    @property
    def clear(self) -> bool:
        """Whether errors are clearly correlated."""
        return self.unanimous or (self.excess is not None and self.excess > max(SLIGHT, CLEAR * self.error))


def effective_judges(judgments: Floats, correlation: float) -> Floats:
    """Return how many independent judgments so many correlated ones are worth."""
    worth: Floats = judgments / (1 + np.maximum(judgments - 1, 0) * correlation)
    return worth


def correlation_of(block: Block, params: Params, counts: Floats, seed: int = 0) -> Correlation:
    """Return how correlated errors are, given confusions and prevalence; ``counts`` (I, K) are the labels of items."""
    kappa = fleiss_kappa(counts)
    if kappa is None:
        return Correlation(TYPICAL, None, None)
    if kappa >= UNANIMOUS:
        return Correlation(1.0, kappa, None)
    by_kappa = float(np.clip(BASE + KAPPA_SLOPE * max(kappa, 0.0), BASE, HIGHEST))
    sums = _sums_over_pairs(block, params, seed)
    if sums.items < 2:
        return Correlation(by_kappa, kappa, None)
    disagreements = max(sums.pairs - sums.expected, FLOOR)
    excess = (sums.agreed - sums.expected) / disagreements
    error = float(np.sqrt(sums.squares * sums.items / (sums.items - 1))) / disagreements
    certainty = SPREAD**2 / (SPREAD**2 + error**2)
    errors = certainty * (BASE + SLOPE * max(excess, 0.0)) + (1 - certainty) * by_kappa
    return Correlation(float(np.clip(errors, LOWEST, HIGHEST)), kappa, float(excess), error)


def fleiss_kappa(counts: Floats) -> float | None:
    """Return Fleiss' kappa of counts of labels (I, K), generalised to any number of judgments per item."""
    n = counts.sum(axis=1)
    pairs = float((n * np.maximum(n - 1, 0)).sum())
    if pairs <= 0:
        return None
    chance = float(np.square(counts.sum(axis=0) / n.sum()).sum())
    agreed = float((counts * np.maximum(counts - 1, 0)).sum()) / pairs
    return (agreed - chance) / (1 - chance) if chance < 1 else 1.0


class _Sums(NamedTuple):
    """Sums over pairs of judgments of an item by two judges; a pair counts by the product of their weights."""

    pairs: float
    agreed: float
    expected: float  # agreement that independent errors would give
    squares: float  # of the items' sums of agreed - expected
    items: float  # with such pairs


def _sums_over_pairs(block: Block, params: Params, seed: int) -> _Sums:
    """Return the sums over pairs that are drawn at random within items."""
    rng = np.random.default_rng(seed)
    sampled = np.flatnonzero(rng.random(block.topic.size) < ENOUGH / max(block.cell.size, 1))
    pile = _pile(block, sampled, rng)
    J, Z, K = params.confusion.shape
    chance = np.ascontiguousarray(np.maximum(params.confusion, FLOOR).transpose(0, 2, 1))  # (J, K, Z)
    both = _agreement(chance, tabulated=min(block.cell.size, ENOUGH) >= J**2)
    prior = np.log(np.maximum(params.prevalence, FLOOR))
    total = prior[block.topic[sampled] if len(prior) > 1 else np.zeros(sampled.size, np.int64)]
    logs = pile.weight[:, None] * np.log(chance.reshape(J * K, Z))[pile.cell]  # (M, Z) log likelihood of each label
    judge_logs = np.empty_like(logs)  # of all labels of its judge on its item
    for z in range(Z):
        total[:, z] += np.bincount(pile.item, logs[:, z], sampled.size)
        judge_logs[:, z] = np.bincount(pile.group, logs[:, z])[pile.group]
    labels = np.bincount(pile.group)[pile.group]  # (M) that its judge gave to the item
    many, sums, above = np.bincount(pile.item, minlength=sampled.size), np.zeros(3), np.zeros((2, sampled.size))
    position = np.arange(pile.item.size) - (np.cumsum(many) - many)[pile.item]
    for step in range(1, REACH + 1):
        n = many[pile.item]
        first = np.flatnonzero((2 * step < n) | ((2 * step == n) & (position < step)))  # in a circle, every pair once
        second = first + step - n[first] * (position[first] + step >= n[first])
        first, second = (side[pile.group[first] != pile.group[second]] for side in (first, second))
        # only items that other judges labelled too
        first, second = (side[labels[first] + labels[second] < n[first]] for side in (first, second))
        q = total[pile.item[first]] - judge_logs[first] - judge_logs[second]  # without all that the two judges said
        q = np.exp(q - q.max(axis=1, keepdims=True))
        same = (q * both(pile.cell[first] // K, pile.cell[second] // K)).sum(axis=1) / q.sum(axis=1)
        alike, times = pile.cell[first] % K == pile.cell[second] % K, pile.weight[first] * pile.weight[second]
        sums += [times.sum(), times[alike].sum(), (times * same).sum()]
        above += [np.bincount(pile.item[first], value, sampled.size) for value in (times * (alike - same), times)]
    pairs, agreed, expected = sums.tolist()
    return _Sums(pairs, agreed, expected, float(np.square(above[0]).sum()), float((above[1] > 0).sum()))


def _agreement(chance: Floats, tabulated: bool) -> Callable[[Codes, Codes], Floats]:
    """Return a function of two judges (M): how often they agree under independent errors, given truths (M, Z)."""

    def agreement(first: Codes, second: Codes) -> Floats:
        total: Floats = chance[first, 0] * chance[second, 0]
        for label in range(1, chance.shape[1]):
            total += chance[first, label] * chance[second, label]
        return total

    if not tabulated:
        return agreement
    judges = np.arange(len(chance))
    table = agreement(judges[:, None], judges[None, :])  # (J, J, Z)
    return lambda first, second: table[first, second]


class _Pile(NamedTuple):
    """The labels of sampled items, those of an item together; a label that a judge repeats counts once (M)."""

    item: Codes  # position of the item in the sample
    cell: Codes  # judge * K + label
    weight: Floats  # of all judgments that gave the label
    group: Codes  # the same for all labels that a judge gave to an item


def _pile(block: Block, sampled: Codes, rng: np.random.Generator) -> _Pile:
    """Return the labels of sampled items in a random order if an item has so many that not all pairs are compared."""
    size = np.diff(block.start)[sampled]
    item = np.repeat(np.arange(sampled.size), size)
    key = rng.random(item.size)
    row = np.arange(item.size) + (block.start[sampled] - (np.cumsum(size) - size))[item]
    weight = block.weight[row] if block.weight.size else np.ones(row.size)
    code = item * (block.judges * block.labels) + block.cell[row]
    code, where = np.unique(code[weight > 0], return_inverse=True)
    weight = np.bincount(where, weight[weight > 0], code.size).astype(np.float64, copy=False)
    item, cell = np.divmod(code, block.judges * block.labels)
    many = np.bincount(item, minlength=sampled.size)[item]
    order = np.lexsort((np.where(many > 2 * REACH + 1, key[: item.size], 0.0), item))
    position = np.arange(item.size) - np.searchsorted(item, item)
    chosen = order[position < MOST]
    _, group = np.unique(code[chosen] // block.labels, return_inverse=True)
    return _Pile(item[chosen], cell[chosen], weight[chosen], group)
