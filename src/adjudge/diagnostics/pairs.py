"""Pairs of judges who met at an item, and whether two agree more than judges who err on their own.

Given the truth z, judges a and b who do not know of each other say k and l with chance theta_a[z,k] theta_b[z,l]. If
one copies from the other with chance c, both say k with chance (1 - c) theta_a[z,k] theta_b[z,k] + c m[z,k], where m is
the mean of the two, since it is not known who copies. What the other judges of the item say makes z likely as q(z), so

    p_k = sum_z q(z) theta_a[z,k] theta_b[z,k]        both say k, on their own
    x_k = log(1 - c + c sum_z q(z) m[z,k] / p_k)      what that says for copying; log(1 - c) if they disagree

The sum of x over the items of a pair is the best test there is of c against none (Neyman and Pearson): to agree on what
most would call wrong counts most. Its distribution under no copying is a sum of independent variables, each with K + 1
values. The tail is found by saddlepoint (Lugannani and Rice 1980, in Barndorff-Nielsen's form). Where all steps are
equal the sum lies on a lattice, of which a smooth tail counts only half of the point reached: u = t sqrt(K'') becomes
(1 - exp(-t h)) / h sqrt(K''), h the step (Daniels 1987). A lattice that is blurred, because the steps differ a little,
counts as much less as its characteristic function at 2 pi / h is below 1.

Copying distorts the consensus, so both judges' votes are left out of q, and each one's matrix is counted anew with the
votes of the other left out of the truths of the items they share.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.diagnostics.others import Votes
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.probability import normalise

STEPS = 60  # of Newton's method, halved where it would overshoot
NEAR = 1e-4  # |r| below which the saddlepoint's own formula is 0 / 0
HALVINGS = 40


class Met(NamedTuple):
    """Who met whom: pair p met at visits start[p] to start[p + 1], each a judgment of the one and of the other."""

    one: Codes  # (P) judge, the smaller code
    other: Codes  # (P)
    start: Codes  # (P + 1)
    left: Codes  # (V) the first judgment of the one on the item
    right: Codes  # (V) and of the other
    item: Codes  # (V)


class Agreement(NamedTuple):
    """What each pair's agreement says (P)."""

    agreed: Floats  # items on which both gave the same label
    expected: Floats  # the same, expected of judges on their own
    wrong: Floats  # items on which both gave the same wrong label, as far as the others and their agreement tell
    expected_wrong: Floats  # the same, expected of judges on their own
    score: Floats  # the sum of x
    mean: Floats  # its mean without copying
    deviation: Floats  # its standard deviation without copying
    p: Floats  # the chance of a sum as large without copying
    copied: Floats  # the most likely share of copied labels


def met(block: Block, least: int = 1) -> Met:
    """Return all pairs of judges who share at least so many items, and where they met."""
    count = _visits(block.start, block.cell, block.labels, np.empty((0, 4), np.int64))
    found = np.empty((count, 4), np.int64)  # pair, left, right, item
    _visits(block.start, block.cell, block.labels, found)
    order = np.argsort(found[:, 0], kind="stable")
    pair = found[order, 0]
    first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]]) if count else np.empty(0, np.int64)
    size = np.diff(np.r_[first, count])
    kept = order[np.repeat(size >= least, size)]
    first, size = first[size >= least], size[size >= least]
    one, other = np.divmod(pair[first], _WIDE)
    return Met(one, other, np.r_[0, size.cumsum()], found[kept, 1], found[kept, 2], found[kept, 3])


def agreement(block: Block, seen: Votes, pairs: Met, prior: Floats, copying: float) -> Agreement:
    """Return what the agreement of each pair says; ``prior`` (J, K, K) is added to the counts of each judge."""
    K, widest = block.labels, int(np.diff(pairs.start).max(initial=0))
    given = prior.copy()
    _give(block.start, block.cell, seen.whole, given)
    room = np.empty((widest, K + 1)), np.empty((widest, K + 1)), np.empty((widest, K))
    out = np.zeros((len(Agreement._fields), pairs.one.size))
    _test(
        pairs.one,
        pairs.other,
        pairs.start,
        pairs.left,
        pairs.right,
        pairs.item,
        block.label,
        seen.whole,
        seen.own,
        given,
        copying,
        *room,
        out,
    )
    return Agreement(*out)


def tail(chance: Floats, value: Floats, total: float) -> float:
    """Return p(sum >= total) of independent variables with these chances and values (n, V), by saddlepoint."""
    return float(_tail(np.ascontiguousarray(chance), np.ascontiguousarray(value), chance.shape[0], total)[0])


_WIDE = 1 << 31  # a pair's key is one * _WIDE + other


@compiled
def _visits(start: Codes, cell: Codes, K: int, found: Codes) -> int:
    """Count the visits of all pairs, a judge's repeats on an item passed over; write them down if there is room."""
    count = 0
    for i in range(start.size - 1):
        for n in range(start[i], start[i + 1]):
            if _repeats(cell, K, start[i], n):
                continue
            for m in range(start[i], n):
                if _repeats(cell, K, start[i], m):
                    continue
                if found.shape[0]:
                    a, b = np.int64(cell[m]) // K, np.int64(cell[n]) // K
                    low, high = (m, n) if a < b else (n, m)
                    found[count, 0] = min(a, b) * _WIDE + max(a, b)
                    found[count, 1], found[count, 2], found[count, 3] = low, high, i
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
def _give(start: Codes, cell: Codes, whole: Floats, given: Floats) -> None:
    """Add every judgment to its judge's counts (J, K, K), by the truths that all judges together make likely."""
    K = whole.shape[1]
    q = np.empty(K)
    for i in range(start.size - 1):
        for k in range(K):
            q[k] = whole[i, k]
        normalise(q)
        for n in range(start[i], start[i + 1]):
            j, said = cell[n] // K, cell[n] % K
            for k in range(K):
                given[j, k, said] += q[k]


@compiled
def _test(
    one: Codes,
    other: Codes,
    start: Codes,
    left: Codes,
    right: Codes,
    item: Codes,
    label: Codes,
    whole: Floats,
    own: Floats,
    given: Floats,
    copying: float,
    chance: Floats,
    value: Floats,
    ratio: Floats,
    out: Floats,
) -> None:
    """Fill in what each pair's agreement says, one row of ``out`` a field of ``Agreement``."""
    K = whole.shape[1]
    hers, his, all_of_them, q = np.empty((K, K)), np.empty((K, K)), np.empty(K), np.empty(K)
    for p in range(one.size):
        hers[:] = given[one[p]]
        his[:] = given[other[p]]
        for v in range(start[p], start[p + 1]):
            n, m, i = left[v], right[v], item[v]
            all_of_them[:] = whole[i]
            normalise(all_of_them)
            for side in range(2):
                for k in range(K):
                    q[k] = whole[i, k] - (own[m, k] if side == 0 else own[n, k])
                normalise(q)
                for k in range(K):
                    if side == 0:
                        hers[k, label[n]] += q[k] - all_of_them[k]
                    else:
                        his[k, label[m]] += q[k] - all_of_them[k]
        for matrix in (hers, his):
            for k in range(K):
                matrix[k] = np.maximum(matrix[k], 0.0)
                matrix[k] /= matrix[k].sum()
        size, seen = start[p + 1] - start[p], 1.0
        for v in range(start[p], start[p + 1]):
            n, m, i, r = left[v], right[v], item[v], v - start[p]
            for k in range(K):
                q[k] = whole[i, k] - own[n, k] - own[m, k]
            normalise(q)
            apart, same = 1.0, label[n] == label[m]
            for k in range(K):  # if both say k, they are right with chance right_both / both
                both, either, right_both = 0.0, 0.0, q[k] * hers[k, k] * his[k, k]
                for z in range(K):
                    both += q[z] * hers[z, k] * his[z, k]
                    either += q[z] * (hers[z, k] + his[z, k]) / 2
                ratio[r, k] = either / both if both > 0 else 1.0
                chance[r, k] = both
                value[r, k] = np.log(1 - copying + copying * ratio[r, k])
                apart -= both
                out[1, p] += both
                out[3, p] += both - right_both
                if same and k == label[n] and both > 0:
                    out[2, p] += 1 - right_both / both
            chance[r, K] = max(apart, 0.0)
            value[r, K] = np.log(1 - copying)
            said = label[n] if same else K
            out[0, p] += same
            out[4, p] += value[r, said]
            seen *= chance[r, said]
            if not same:
                ratio[r, 0] = 0.0  # from here on only the ratio of what was said is needed
            else:
                ratio[r, 0] = ratio[r, said]
        found = _tail(chance, value, size, out[4, p])
        out[5, p], out[6, p] = found[1], found[2]
        out[7, p] = max(found[0], seen)  # of few items, what was seen is itself not that unlikely
        out[8, p] = _most_likely(ratio, size)


@compiled
def _most_likely(ratio: Floats, size: int) -> float:
    """Return the c from 0 to 1 that makes sum log(1 - c + c ratio) largest: it is concave, so its slope is halved."""
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
    spread = np.sqrt(variance)
    slack = 1e-9 * max(abs(most), abs(least), 1.0)
    if total >= most - slack:
        return (at_most, mean, spread) if total <= most + slack else (0.0, mean, spread)
    if total <= least + slack or variance <= 0:
        return 1.0, mean, spread
    t, low, high = 0.0, -np.inf, np.inf
    logs, slope, curve = 0.0, mean, variance
    for _ in range(STEPS):  # Newton's method on the slope of the cumulant, which rises; kept between its two bounds
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
    step = steps / variance  # of a lattice, if there is one: the mean, what varies most counting most
    step *= _sharpness(chance, value, size, step)
    r = np.sign(t) * np.sqrt(max(2 * (t * total - logs), 0.0))
    u = (-np.expm1(-t * step) / step if step > 0 else t) * np.sqrt(curve)
    if abs(r) < NEAR or u * r <= 0:
        skew = third / (variance * spread)
        z = (total - mean - step / 2) / spread + skew / 6  # the limit of what follows
        return _above(z), mean, spread
    return _above(r + np.log(u / r) / r), mean, spread


@compiled
def _sharpness(chance: Floats, value: Floats, size: int, step: float) -> float:
    """Return how nearly the sum lies on a lattice of such a step: |E exp(2 pi i sum / step)|, 1 if exactly."""
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
    """Return the normal chance of more than z."""
    return 0.5 * math.erfc(z / math.sqrt(2.0))
