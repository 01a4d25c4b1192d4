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
    size = block.cell.size
    sampled = rng.random(block.topic.size) < ENOUGH / max(size, 1)
    chance = np.ascontiguousarray(np.maximum(params.confusion, FLOOR).transpose(0, 2, 1))  # (J, K, Z)
    both = _agreement(chance) if block.judges**2 <= min(size, ENOUGH) else np.empty((0, 0, chance.shape[2]))
    prior = np.log(np.maximum(params.prevalence, FLOOR))
    topic = block.topic if len(prior) > 1 else np.zeros_like(block.topic)
    key = rng.random(int(np.diff(block.start)[sampled].sum()))  # of every judgment of these items
    return _Sums(*_compare_pairs(block.start, block.cell, block.weight, sampled, key, prior, topic, chance, both))


@compiled
def _agreement(chance: Floats) -> Floats:
    """Return how often two independent judges agree, given each truth (J, J, Z)."""
    J, K, Z = chance.shape
    both = np.zeros((J, J, Z))
    for a in range(J):
        for b in range(J):
            for label in range(K):
                for z in range(Z):
                    both[a, b, z] += chance[a, label, z] * chance[b, label, z]
    return both


@compiled
def _compare_pairs(
    start: Codes,
    cell: Codes,
    weight: Floats,
    sampled: Flags,
    key: Floats,
    prior: Floats,
    topic: Codes,
    chance: Floats,
    both: Floats,
) -> tuple[float, float, float, float, float]:
    """Add up over pairs of judgments of sampled items; ``chance`` (J, K, Z) is p(label of judge | truth).

    ``key`` orders judgments at random, and ``both`` (J, J, Z) is how often two judges agree, or empty. A label that a
    judge repeats on an item is one judgment with the sum of the weights.
    """
    J, K, Z = chance.shape
    rows = chance.reshape(J * K, Z)
    logs, inverse = np.log(rows), 1 / rows
    mass, labels = np.zeros(J * K), np.zeros(J, np.int64)  # of one item: weight by cell, different labels by judge
    cells, judge = np.empty(np.diff(start).max(), np.int64), np.empty(MOST, np.int64)
    total, rest, q = np.empty(Z), np.empty(Z), np.empty(Z)
    pairs, agreed, expected, squares, items = 0.0, 0.0, 0.0, 0.0, 0.0
    keys = 0  # that were used
    for i in range(start.size - 1):
        if not sampled[i]:
            continue
        n, repeated = 0, False
        for m in range(start[i], start[i + 1]):
            times, c = weight[m] if weight.size else 1.0, np.int64(cell[m])
            if times > 0:
                if mass[c] == 0:
                    cells[n] = c
                    n += 1
                    labels[c // K] += 1
                    repeated |= labels[c // K] > 1
                mass[c] += times
        several = n
        if n > 2 * REACH + 1:  # not all pairs are compared: put the judgments in a random order, whatever the rows have
            cells[:n] = np.sort(cells[:n])[np.argsort(key[keys : keys + n])]
            n = min(n, MOST)
        keys += several
        total[:] = prior[topic[i]]
        for m in range(n):
            judge[m] = cells[m] // K
            total += mass[cells[m]] * logs[cells[m]]
        rest[:] = np.exp(total - total.max())
        above, before = 0.0, pairs
        for step in range(1, min(REACH, n // 2) + 1):
            for m in range(n if 2 * step < n else n // 2):  # opposite judgments of an even circle meet once
                other = m + step if m + step < n else m + step - n
                a, b, first, second = cells[m], cells[other], judge[m], judge[other]
                if first == second:
                    continue
                times = mass[a] * mass[b]
                if repeated:  # without all that the two judges said
                    q[:] = total
                    others = 0
                    for k in range(n):
                        if judge[k] in (first, second):
                            q -= mass[cells[k]] * logs[cells[k]]
                        else:
                            others += 1
                    if not others:
                        continue
                    q[:] = np.exp(q - q.max())
                elif n < 3:
                    continue
                elif times == 1 and mass[a] == 1:  # no exponential per pair
                    for z in range(Z):
                        q[z] = rest[z] * inverse[a, z] * inverse[b, z]
                else:
                    q[:] = total - mass[a] * logs[a] - mass[b] * logs[b]
                    q[:] = np.exp(q - q.max())
                same, whole = 0.0, 0.0
                if both.size:
                    for z in range(Z):
                        same += q[z] * both[first, second, z]
                        whole += q[z]
                else:
                    for z in range(Z):
                        whole += q[z]
                    for label in range(K):
                        for z in range(Z):
                            same += q[z] * chance[first, label, z] * chance[second, label, z]
                same /= whole
                alike = 1.0 if a - first * K == b - second * K else 0.0
                pairs += times
                agreed += times * alike
                expected += times * same
                above += times * (alike - same)
        squares += above * above
        items += 1.0 if pairs > before else 0.0
        for m in range(several):
            mass[cells[m]] = 0.0
            labels[cells[m] // K] = 0
    return pairs, agreed, expected, squares, items
