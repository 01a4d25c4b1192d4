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

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.inference.params import Params
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
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
    sampled = rng.random(block.topic.size) < ENOUGH / max(block.cell.size, 1)
    item = np.repeat(np.arange(block.topic.size), np.diff(block.start))
    used = sampled[item] if not block.weight.size else sampled[item] & (block.weight > 0)
    rows = block.judges * block.labels
    triple, row = np.unique(item[used] * rows + block.cell[used], return_inverse=True)  # a repeat is a weight of two
    weight = np.bincount(row, block.weight[used] if block.weight.size else None).astype(float)
    item, cell = triple // rows, triple % rows  # of every item, judge and label
    order = np.lexsort((rng.random(triple.size), item))
    start = np.searchsorted(item, np.arange(block.topic.size + 1))
    chance = np.ascontiguousarray(np.maximum(params.confusion, FLOOR).transpose(0, 2, 1)).reshape(
        rows, -1
    )  # (J * K, Z)
    prior = np.log(np.maximum(params.prevalence, FLOOR))
    topic = block.topic if len(prior) > 1 else np.zeros_like(block.topic)
    pairs = np.unique(item * block.judges + cell // block.labels) // block.judges
    repeated = np.bincount(item, minlength=block.topic.size) > np.bincount(pairs, minlength=block.topic.size)
    arrays = (start, cell[order], weight[order], repeated, prior, topic, np.log(chance), chance)
    return _Sums(*_compare_pairs(*arrays, block.labels))


@compiled
def _compare_pairs(
    start: Codes,
    cell: Codes,
    weight: Floats,
    repeated: Flags,
    prior: Floats,
    topic: Codes,
    logs: Floats,
    chance: Floats,
    K: int,
) -> tuple[float, float, float, float, float]:
    """Add up over pairs of judgments; ``chance`` (J * K, Z) is p(label of judge | truth), and ``logs`` its logarithm.

    ``repeated`` (I) says whether a judge gave an item several labels.
    """
    Z = logs.shape[1]
    total, q = np.empty(Z), np.empty(Z)
    pairs, agreed, expected, squares, items = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(start.size - 1):
        first, last = start[i], min(start[i + 1], start[i] + MOST)
        n = last - first
        total[:] = prior[topic[i]]
        for m in range(first, last):
            total += weight[m] * logs[cell[m]]
        above, before = 0.0, pairs
        for step in range(1, min(REACH, n // 2) + 1):
            for m in range(n if 2 * step < n else n // 2):  # opposite judgments of an even circle meet once
                a, b = first + m, first + (m + step) % n
                first_judge, second_judge = cell[a] // K, cell[b] // K
                if first_judge == second_judge:
                    continue
                rest = n - 2
                for z in range(Z):
                    q[z] = total[z] - weight[a] * logs[cell[a], z] - weight[b] * logs[cell[b], z]
                if repeated[i]:  # without all that the two judges said
                    q[:] = total
                    rest = 0
                    for k in range(first, last):
                        if cell[k] // K in (first_judge, second_judge):
                            q -= weight[k] * logs[cell[k]]
                        else:
                            rest += 1
                if not rest:
                    continue
                q[:] = np.exp(q - q.max())
                same, mass, times = 0.0, q.sum(), weight[a] * weight[b]
                for z in range(Z):
                    both = 0.0
                    for label in range(K):
                        both += chance[first_judge * K + label, z] * chance[second_judge * K + label, z]
                    same += q[z] / mass * both
                alike = 1.0 if cell[a] % K == cell[b] % K else 0.0
                pairs += times
                agreed += times * alike
                expected += times * same
                above += times * (alike - same)
        squares += above * above
        items += 1.0 if pairs > before else 0.0
    return pairs, agreed, expected, squares, items
