"""Pairs of judges who judged the same items, and a test of whether they agree more than independent judges do.

Given the truth z, independent judges a and b give the labels k and l with chance theta_a[z,k] theta_b[z,l]. If one
copies from the other with chance c, both give k with chance (1 - c) theta_a[z,k] theta_b[z,k] + c m[z,k], where m is
the mean of the two matrices, because it is unknown who copies. The other judges of the item give z the chance q(z), so

    p_k = sum_z q(z) theta_a[z,k] theta_b[z,k]        both give k, independently
    x_k = log(1 - c + c sum_z q(z) m[z,k] / p_k)      evidence for copying; log(1 - c) if they disagree

The sum of x over the items of a pair is the most powerful test of c against none (Neyman and Pearson): agreement on a
label that most judges would call wrong counts most. Its distribution without copying is that of a sum of independent
variables, each with K + 1 values. The tail is computed by a saddlepoint approximation (Lugannani and Rice 1980, in
Barndorff-Nielsen's form). If all steps are equal the sum lies on a lattice, and a smooth tail counts only half of the
point reached: u = t sqrt(K'') becomes (1 - exp(-t h)) / h sqrt(K''), h the step (Daniels 1987). If the steps differ a
little, the correction is multiplied by the absolute value of the characteristic function at 2 pi / h.

If items differ in difficulty, independent judges err on the same items. So z is a state: a truth and an effect of the
item (``kernels.difficulty``), whose spread is given. The other judges of the item say how hard it is, too.

Copying distorts the consensus, so the labels of both judges are left out of q, and the matrix of each is counted again
with the labels of the other left out of the truths of the items they share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.diagnostics.leave_out import ItemLogs
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.difficulty import POINTS, fill_likelihood, stretch
from adjudge.kernels.probability import normalise

STEPS = 60  # of Newton's method
NEAR = 1e-4  # |r| below which the saddlepoint formula is 0 / 0
HALVINGS = 40
_WIDE = 1 << 31  # the key of a pair is first * _WIDE + second


class Meetings(NamedTuple):
    """The judgments that pairs of judges made of the same items; pair p has the rows start[p] to start[p + 1]."""

    first: Codes  # (P) judge, the smaller code
    second: Codes  # (P)
    start: Codes  # (P + 1)
    left: Codes  # (V) the first judgment of the first judge on the item
    right: Codes  # (V) the first judgment of the second judge
    item: Codes  # (V)


class PairTest(NamedTuple):
    """The agreement of each pair of judges (P)."""

    agreed: Floats  # items on which both gave the same label
    expected: Floats  # the same, expected of independent judges
    wrong: Floats  # expected items on which both gave the same wrong label
    expected_wrong: Floats  # the same, expected of independent judges
    score: Floats  # the sum of x
    mean: Floats  # its mean without copying
    deviation: Floats  # its standard deviation without copying
    p: Floats  # the chance of a sum as large without copying
    copied: Floats  # the most likely share of copied labels


def find_meetings(block: Block, least: int = 1) -> Meetings:
    """Return all pairs of judges who share at least ``least`` items, and their judgments of these."""
    count = _visits(block.start, block.cell, block.labels, np.empty((0, 4), np.int64))
    rows = np.empty((count, 4), np.int64)  # pair, left, right, item
    _visits(block.start, block.cell, block.labels, rows)
    order = np.argsort(rows[:, 0], kind="stable")
    pair = rows[order, 0]
    first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]]) if count else np.empty(0, np.int64)
    size = np.diff(np.r_[first, count])
    order = order[np.repeat(size >= least, size)]
    first, size = first[size >= least], size[size >= least]
    one_judge, other_judge = np.divmod(pair[first], _WIDE)
    return Meetings(one_judge, other_judge, np.r_[0, size.cumsum()], rows[order, 1], rows[order, 2], rows[order, 3])


def pair_tests(
    block: Block, logs: ItemLogs, pairs: Meetings, prior: Floats, copying: float, spread: float = 0.0
) -> PairTest:
    """Return the test of each pair; ``prior`` (J, K, K) is added to the counts of each judge.

    ``logs`` are those of states if they are finer than truths, with a ``spread`` of the difficulty of items.
    """
    K, widest = block.labels, int(np.diff(pairs.start).max(initial=0))
    points = POINTS if logs.item.shape[1] > K else np.zeros(1)
    counts = prior.copy()
    _add_counts(block.start, block.cell, logs.item, counts)
    room = np.empty((widest, K + 1)), np.empty((widest, K + 1)), np.empty((widest, K))
    out = np.zeros((len(PairTest._fields), pairs.first.size))
    effect = (spread, stretch(spread), points)
    _test(*pairs, block.label, logs.item, logs.judge, counts, copying, *effect, *room, out)
    return PairTest(*out)


def tail(chance: Floats, value: Floats, total: float) -> float:
    """Return p(sum >= total) of independent variables with these chances and values (n, V), by saddlepoint."""
    return float(_tail(np.ascontiguousarray(chance), np.ascontiguousarray(value), chance.shape[0], total)[0])


@compiled
def _visits(start: Codes, cell: Codes, K: int, rows: Codes) -> int:
    """Count the shared items of all pairs, repeats of a judge left out; write them down if there is room."""
    count = 0
    for i in range(start.size - 1):
        for n in range(start[i], start[i + 1]):
            if _repeats(cell, K, start[i], n):
                continue
            for m in range(start[i], n):
                if _repeats(cell, K, start[i], m):
                    continue
                if rows.shape[0]:
                    a, b = np.int64(cell[m]) // K, np.int64(cell[n]) // K
                    low, high = (m, n) if a < b else (n, m)
                    rows[count, 0] = min(a, b) * _WIDE + max(a, b)
                    rows[count, 1], rows[count, 2], rows[count, 3] = low, high, i
                count += 1
    return count


@compiled
def _repeats(cell: Codes, K: int, first: int, n: int) -> bool:
    """Whether the judge has judged this item before."""
    again = False
    for m in range(first, n):
        again |= cell[m] // K == cell[n] // K
    return again


@compiled
def _add_counts(start: Codes, cell: Codes, item_log: Floats, counts: Floats) -> None:
    """Add every judgment to its judge's counts (J, K, K), weighted by the posterior of the truth."""
    S, K = item_log.shape[1], counts.shape[1]
    G = S // K
    q = np.empty(S)
    for i in range(start.size - 1):
        for s in range(S):
            q[s] = item_log[i, s]
        normalise(q)
        for n in range(start[i], start[i + 1]):
            j, label = cell[n] // K, cell[n] % K
            for s in range(S):
                counts[j, s // G, label] += q[s]


@compiled
def _test(
    first: Codes,
    second: Codes,
    start: Codes,
    left: Codes,
    right: Codes,
    item: Codes,
    label: Codes,
    item_log: Floats,
    judge_log: Floats,
    counts: Floats,
    copying: float,
    spread: float,
    factor: float,
    points: Floats,
    chance: Floats,
    value: Floats,
    ratio: Floats,
    out: Floats,
) -> None:
    """Fill in the test of each pair; the rows of ``out`` are the fields of ``PairTest``."""
    S, K = item_log.shape[1], counts.shape[1]
    matrices, q, posterior = np.empty((2, K, K)), np.empty(S), np.empty(S)
    matrix_a, matrix_b = matrices[0], matrices[1]
    likelihood_of = np.empty((2 * K, S))  # of each label of the two judges, given each state
    rows_a, rows_b = np.empty((S, K)), np.empty((S, K))
    for p in range(first.size):
        for z in range(K):
            for k in range(K):
                matrix_a[z, k], matrix_b[z, k] = counts[first[p], z, k], counts[second[p], z, k]
        for v in range(start[p], start[p + 1]):
            n, m, i = left[v], right[v], item[v]
            for s in range(S):
                posterior[s] = item_log[i, s]
            normalise(posterior)
            _recount(matrix_a, label[n], posterior, item_log[i], judge_log[m], q)
            _recount(matrix_b, label[m], posterior, item_log[i], judge_log[n], q)
        _normalise_rows(matrix_a)
        _normalise_rows(matrix_b)
        if S > K:
            fill_likelihood(matrices, spread, factor, points, likelihood_of)
        for s in range(S):
            for k in range(K):
                rows_a[s, k] = likelihood_of[k, s] if S > K else matrix_a[s, k]
                rows_b[s, k] = likelihood_of[K + k, s] if S > K else matrix_b[s, k]
        size, likelihood = start[p + 1] - start[p], 1.0
        for v in range(start[p], start[p + 1]):
            n, m, i, r = left[v], right[v], item[v], v - start[p]
            for s in range(S):
                q[s] = item_log[i, s] - judge_log[n, s] - judge_log[m, s]
            normalise(q)
            agreed = label[n] if label[n] == label[m] else -1
            cell = _compare(q, rows_a, rows_b, agreed, copying, chance[r], value[r], ratio[r], out[:, p])
            likelihood *= chance[r, cell]
        result = _tail(chance, value, size, out[4, p])
        out[5, p], out[6, p] = result[1], result[2]
        out[7, p] = max(result[0], likelihood)  # with few items, the observed labels themselves are not that unlikely
        out[8, p] = _most_likely(ratio, size)


@compiled
def _recount(counts: Floats, label: int, posterior: Floats, item_log: Floats, other_log: Floats, q: Floats) -> None:
    """Count a judgment again, with the labels of the other judge of the pair left out of the truth; q is room."""
    G = q.size // counts.shape[0]
    for s in range(q.size):
        q[s] = item_log[s] - other_log[s]
    normalise(q)
    for s in range(q.size):
        counts[s // G, label] += q[s] - posterior[s]


@compiled
def _normalise_rows(matrix: Floats) -> None:
    """Turn counts into a confusion matrix."""
    for k in range(matrix.shape[0]):
        total = 0.0
        for m in range(matrix.shape[1]):
            matrix[k, m] = max(matrix[k, m], 0.0)
            total += matrix[k, m]
        for m in range(matrix.shape[1]):
            matrix[k, m] /= total


@compiled
def _compare(
    q: Floats,
    matrix_a: Floats,
    matrix_b: Floats,
    agreed: int,
    copying: float,
    chance: Floats,
    value: Floats,
    ratio: Floats,
    out: Floats,
) -> int:
    """Fill in what a shared item says about a pair; return the index of what happened, K if they disagree.

    ``agreed`` is the label that both gave, -1 if they disagree.
    """
    S, K, apart = q.size, matrix_a.shape[1], 1.0
    G = S // K
    for k in range(K):  # if both give k, they are right with chance right_both / both
        both, either, right_both = 0.0, 0.0, 0.0
        for z in range(S):
            chance_both = q[z] * matrix_a[z, k] * matrix_b[z, k]
            both += chance_both
            right_both += chance_both if z // G == k else 0.0
            either += q[z] * (matrix_a[z, k] + matrix_b[z, k]) / 2
        ratio[k] = either / both if both > 0 else 1.0
        chance[k] = both
        value[k] = np.log(1 - copying + copying * ratio[k])
        apart -= both
        out[1] += both
        out[3] += both - right_both
        if k == agreed and both > 0:
            out[2] += 1 - right_both / both
    chance[K] = max(apart, 0.0)
    value[K] = np.log(1 - copying)
    cell = agreed if agreed >= 0 else K
    out[0] += agreed >= 0
    out[4] += value[cell]
    ratio[0] = ratio[cell] if agreed >= 0 else 0.0  # only the ratio of what happened is needed from now on
    return cell


@compiled
def _most_likely(ratio: Floats, size: int) -> float:
    """Return the c from 0 to 1 that maximises sum log(1 - c + c ratio): it is concave, so its slope is bisected."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        c, slope = (low + high) / 2, 0.0
        for r in range(size):
            slope += (ratio[r, 0] - 1) / (1 - c + c * ratio[r, 0])
        if slope > 0:
            low = c
        else:
            high = c
    return (low + high) / 2


@compiled
def _tail(chance: Floats, value: Floats, size: int, total: float) -> tuple[float, float, float]:
    """Return p(sum >= total), the mean and the standard deviation of the sum of the first ``size`` variables."""
    mean, variance, third, steps, most, least, at_most = _moments(chance, value, size)
    spread = np.sqrt(variance)
    slack = 1e-9 * max(abs(most), abs(least), 1.0)
    if total >= most - slack:
        return (at_most, mean, spread) if total <= most + slack else (0.0, mean, spread)
    if total <= least + slack or variance <= 0:
        return 1.0, mean, spread
    t, logs, curve = _saddlepoint(chance, value, size, total, mean, variance)
    step = steps / variance  # of the lattice, if there is one: the mean step, weighted by variance
    step *= _sharpness(chance, value, size, step)
    r = np.sign(t) * np.sqrt(max(2 * (t * total - logs), 0.0))
    u = (-np.expm1(-t * step) / step if step > 0 else t) * np.sqrt(curve)
    if abs(r) < NEAR or u * r <= 0:
        skew = third / (variance * spread)
        z = (total - mean - step / 2) / spread + skew / 6  # the limit of the formula below
        return _above(z), mean, spread
    return _above(r + np.log(u / r) / r), mean, spread


@compiled
def _moments(chance: Floats, value: Floats, size: int) -> tuple[float, float, float, float, float, float, float]:
    """Return mean, variance, third moment and weighted steps of the sum, its largest and smallest value, p(largest)."""
    mean, variance, third, most, least, at_most, steps = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0
    for r in range(size):
        top, bottom, at_top = -np.inf, np.inf, 0.0
        centre = 0.0
        for k in range(value.shape[1]):
            if chance[r, k] <= 0:
                continue
            centre += chance[r, k] * value[r, k]
            if value[r, k] > top:
                top, at_top = value[r, k], 0.0
            if value[r, k] == top:
                at_top += chance[r, k]
            bottom = min(bottom, value[r, k])
        mean += centre
        most += top
        least += bottom
        at_most *= at_top
        for k in range(value.shape[1]):
            away = value[r, k] - centre
            variance += chance[r, k] * away * away
            third += chance[r, k] * away * away * away
            steps += chance[r, k] * away * away * (top - bottom)
    return mean, variance, third, steps, most, least, at_most


@compiled
def _saddlepoint(
    chance: Floats, value: Floats, size: int, total: float, mean: float, variance: float
) -> tuple[float, float, float]:
    """Return the t at which the slope of the cumulant is the total, and the cumulant and its curvature there.

    Newton's method on the slope, which rises, kept between its two bounds.
    """
    t, low, high = 0.0, -np.inf, np.inf
    logs, slope, curve = 0.0, mean, variance
    for _ in range(STEPS):
        if slope < total:
            low = t
        else:
            high = t
        step = t + (total - slope) / curve if curve > 0 else np.nan
        if not (low < step < high):
            if high == np.inf:
                step = 2 * t + 1
            elif low == -np.inf:
                step = 2 * t - 1
            else:
                step = (low + high) / 2
        moved, t = abs(step - t), step
        logs, slope, curve = _cumulant(chance, value, size, t)
        if moved <= 1e-10 * (1 + abs(t)):
            break
    return t, logs, curve


@compiled
def _sharpness(chance: Floats, value: Floats, size: int, step: float) -> float:
    """Return how nearly the sum lies on a lattice with this step: |E exp(2 pi i sum / step)|, 1 if exactly."""
    sharp = 1.0
    for r in range(size):
        across, up = 0.0, 0.0
        for k in range(value.shape[1]):
            angle = 2 * math.pi * (value[r, k] - value[r, 0]) / step
            across += chance[r, k] * math.cos(angle)
            up += chance[r, k] * math.sin(angle)
        sharp *= math.hypot(across, up)
    return min(sharp, 1.0)


@compiled
def _cumulant(chance: Floats, value: Floats, size: int, t: float) -> tuple[float, float, float]:
    """Return the log of the moment generating function of the sum at t, its slope and its curvature."""
    logs, slope, curve = 0.0, 0.0, 0.0
    for r in range(size):
        most = -np.inf
        for k in range(value.shape[1]):
            if chance[r, k] > 0:
                most = max(most, t * value[r, k])
        total, first, second = 0.0, 0.0, 0.0
        for k in range(value.shape[1]):
            if chance[r, k] > 0:
                weight = chance[r, k] * np.exp(t * value[r, k] - most)
                total += weight
                first += weight * value[r, k]
                second += weight * value[r, k] * value[r, k]
        logs += np.log(total) + most
        slope += first / total
        curve += max(second / total - (first / total) ** 2, 0.0)
    return logs, slope, curve


@compiled
def _above(z: float) -> float:
    """Return the chance that a standard normal variable is above z."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))
