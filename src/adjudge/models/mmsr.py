"""M-MSR: skills of judges from the agreement of pairs alone (Ma & Olshevsky 2020).

The agreement C_jl of two judges has the expectation s_j s_l, so the matrix of agreements has rank one where two judges
have items in common. It is completed by trimmed means, so that judges who collude or attack mislead it only if they are
many. A judge is then right with probability p_j = s_j (K - 1)/K + 1/K, and their votes weigh
log((K - 1) p_j / (1 - p_j)): Bayes' rule with one coin per judge and truths that are all equally common.

The paper removes F extremes, the same F for all judges; here every judge has their own F, one less than half of their
co-judges, which is the same if all judges meet. The paper starts at random, this at the agreements' row sums. Gold
counts as one more judge. Judges need items in common, dozens rather than a few: |C_jl| of a single one is always one.

>>> import adjudge
>>> adjudge.fit(adjudge.dataset("anesthesia"), "m-msr").judges.columns[-1]
'skill'
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.inference.components import EQUAL, Assignment, Confusion, JudgeParams
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled

# How often judges agree with each other, and the skills that explain it: rank-one completion by trimmed means.
#
# If judge j is right with probability p_j and errs evenly, the agreement of two judges, C_jl = (K share - 1)/(K - 1),
# has the expectation s_j s_l, with s_j = (K p_j - 1)/(K - 1): 1 for a judge who is always right, 0 for one who
# guesses. Only pairs with common items are seen, and some judges do not follow the model; so every |s_j| is a mean of
# |C_jl| / |s_l| over their co-judges l without the extremes (Ma & Olshevsky 2020, "matrix mean-subsequence-reduced").
#
# Pairs j < l lie one after another in a triangle: (0, 1), (0, 2), ..., (1, 2), ...

CAP = 1_000  # rounds of the completion
CALM = 1e-7  # the largest change of a skill, beside its size, that ends it
SAME = 1e-9  # values closer than this, beside their size, are taken for equal
WALK = 30  # steps in which signs spread: ever shorter, so that a step less or more hardly matters
UNDECIDED = 1e-12  # where the crowd is split in halves, less than this is left of a sign, and that is rounding


class Pairs(NamedTuple):
    """The co-judges of every judge, in compressed rows: judge j owns pairs start[j] to start[j + 1]."""

    start: Codes  # (J + 1)
    other: Codes  # (P) the co-judge
    agreement: Floats  # (P) C_jl
    common: Floats  # (P) on how many items it rests


def agreements(block: Block) -> Floats:
    """Return for every two judges the weight of judgments that agree, and of all on common items (pairs, 2).

    Weights multiply. Gold is one more judge, the last.
    """
    J = block.judges + 1
    pairs = np.zeros((J * (J - 1) // 2, 2))
    most = min(int(np.diff(block.start).max(initial=0)), block.judges * block.labels) + 1
    _agreements(block.start, block.cell, block.gold, block.weight, block.judges, block.labels, most, pairs)
    return pairs


def pairs_seen(counted: Floats, J: int, K: int) -> Pairs:
    """Return the pairs that have common items, with their agreement C_jl, from both sides."""
    start = np.zeros(J + 1, np.int64)
    _degrees(counted, start)
    np.cumsum(start, out=start)
    other, agreement, common = np.empty(start[-1], np.int32), np.empty(start[-1]), np.empty(start[-1])
    _fill(counted, K, start[:-1].copy(), other, agreement, common)
    return Pairs(start, other, agreement, common)


def completed(pairs: Pairs, least: float) -> Floats:
    """Return the size of every judge's skill (J), at least ``least``; smaller ones cannot be distinguished from zero.

    It begins at s_j = sum_l |C_jl| / sqrt(sum_jl |C_jl|), which is the answer where all pairs are seen and agree.
    """
    J, size = pairs.start.size - 1, np.abs(pairs.agreement)
    begin = np.zeros(J)
    _row_sums(pairs.start, size, begin)
    left = np.maximum(begin / np.sqrt(begin.sum() or 1.0), least)
    right, room = left.copy(), np.empty(np.diff(pairs.start).max())  # (most co-judges)
    _complete(pairs.start, pairs.other, size, least, left, right, room)
    skill: Floats = left * np.sqrt(np.linalg.norm(right) / np.linalg.norm(left))
    return skill


def signs(pairs: Pairs, size: Floats) -> Floats:
    """Return +1 for judges on the crowd's side, -1 for those who answer the reverse, 0 where there is no telling (J).

    A judge's side is the mean of their co-judges' sides, weighed by skill and net agreement, n C_jl |s_l|.
    All begin at +1 and keep half of what they had in every step. Steps only shrink sides, so that rounding never grows
    into a sign; and among judges who are connected, sides weighed by |s_j| and net agreements never sum below zero.
    """
    side = np.ones(size.size)
    net = pairs.agreement * pairs.common * size[pairs.other]
    for _ in range(WALK):
        after = np.empty_like(side)
        _walk(pairs.start, pairs.other, net, side, after)
        side = after
    sign: Floats = np.where(np.abs(side) > UNDECIDED, np.sign(side), 0.0)
    return sign


@compiled
def _agreements(
    start: Codes, cell: Codes, gold: Codes, weight: Floats, judges: int, labels: int, most: int, pairs: Floats
) -> None:
    """Add up every item's pairs; repeats of a judge's label are merged first, so only distinct ones are paired."""
    position, met = (
        np.full((judges + 1) * labels, -1),
        np.empty(most, np.int64),
    )  # a cell's place among the item's, and back
    times = np.empty(most)
    for i in range(gold.size):
        heard = 0
        for n in range(start[i], start[i + 1]):
            c = cell[n]
            if position[c] < 0:
                position[c], met[heard], times[heard] = heard, c, 0.0
                heard += 1
            times[position[c]] += weight[n] if weight.size else 1.0
        if gold[i] >= 0:
            met[heard], times[heard] = judges * labels + gold[i], 1.0
            heard += 1
        for a in range(heard):
            position[met[a]] = -1
            j, k = met[a] // labels, met[a] % labels
            for b in range(a):
                other, label = met[b] // labels, met[b] % labels
                if other != j:
                    pair = _pair(min(j, other), max(j, other), judges + 1)
                    both = times[a] * times[b]
                    pairs[pair, 1] += both
                    if k == label:
                        pairs[pair, 0] += both


@compiled
def _pair(j: int, other: int, J: int) -> int:
    """Return where the pair j < other stands in the triangle."""
    return j * (2 * J - j - 1) // 2 + other - j - 1


@compiled
def _degrees(counted: Floats, start: Codes) -> None:
    """Count every judge's co-judges, one place on."""
    J, pair = start.size - 1, 0
    for j in range(J):
        for other in range(j + 1, J):
            if counted[pair, 1] > 0:
                start[j + 1] += 1
                start[other + 1] += 1
            pair += 1


@compiled
def _fill(counted: Floats, K: int, free: Codes, others: Codes, agreement: Floats, common: Floats) -> None:
    """Write every pair into the rows of both its judges, at their next free places."""
    J, pair = free.size, 0
    for j in range(J):
        for other in range(j + 1, J):
            n = counted[pair, 1]
            if n > 0:
                for first, two in ((j, other), (other, j)):
                    at = free[first]
                    others[at], common[at] = two, n
                    agreement[at] = (K * (counted[pair, 0] / n) - 1) / (K - 1)
                    free[first] += 1
            pair += 1


@compiled
def _row_sums(start: Codes, values: Floats, sums: Floats) -> None:
    """Sum up the values of every row."""
    for j in range(sums.size):
        for at in range(start[j], start[j + 1]):
            sums[j] += values[at]


@compiled
def _complete(
    start: Codes, other: Codes, size: Floats, least: float, left: Floats, right: Floats, room: Floats
) -> None:
    """Make left_j right_l fit |C_jl|, one side after the other, until neither changes; ``room`` is for one judge."""
    for _ in range(CAP):
        change = _fit_side(start, other, size, least, left, right, room)
        change = max(change, _fit_side(start, other, size, least, right, left, room))
        if change < CALM:
            break


@compiled
def _fit_side(
    start: Codes, other: Codes, size: Floats, least: float, fixed: Floats, side: Floats, room: Floats
) -> float:
    """Move every skill to the trimmed mean of |C_jl| / known_l, and return the largest change beside its size."""
    change = 0.0
    for j in range(side.size):
        before, first = side[j], start[j]
        values = room[: start[j + 1] - first]
        for at in range(values.size):
            values[at] = size[first + at] / fixed[other[first + at]]
        side[j] = max(least, _trimmed_mean(values, before))
        change = max(change, abs(side[j] - before) / before)
    return change


@compiled
def _trimmed_mean(values: Floats, now: float) -> float:
    """Return the mean of values without the F largest and F smallest, of which only those beyond ``now`` go.

    F is one less than half of the values, the most that leaves some. The values are moved about.
    """
    F, below, above = max(values.size // 2 - 1, 0), 0, 0
    for value in values:
        below += value < now * (1 - SAME)
        above += value > now * (1 + SAME)
    first, last = min(F, below), values.size - min(F, above)
    if first >= last:
        return now
    _part(values, 0, first)
    _part(values, first, last - 1)
    total = 0.0
    for at in range(first, last):
        total += values[at]
    return total / (last - first)


@compiled
def _part(values: Floats, low: int, position: int) -> None:
    """Put from ``low`` on smaller values before ``position`` and larger ones after it: Hoare's find, in linear time."""
    high = values.size - 1
    while low < high:
        pivot, a, b = values[(low + high) // 2], low, high
        while a <= b:
            while values[a] < pivot:
                a += 1
            while values[b] > pivot:
                b -= 1
            if a <= b:
                values[a], values[b] = values[b], values[a]
                a += 1
                b -= 1
        if position <= b:
            high = b
        elif position >= a:
            low = a
        else:
            break


@compiled
def _walk(start: Codes, other: Codes, net: Floats, side: Floats, after: Floats) -> None:
    """Take one step: half of a judge's side is the previous one, half the mean over their co-judges."""
    for j in range(side.size):
        total, size = 0.0, 0.0
        for at in range(start[j], start[j + 1]):
            total += net[at] * side[other[at]]
            size += abs(net[at])
        after[j] = (side[j] + total / size) / 2 if size > 0 else side[j]


MOST_JUDGES = 8_000  # 32 million pairs: half a gigabyte a block


def compare_judges(block: Block, params: Params) -> Tally:
    """Count for every two judges what they agree on, and what they have in common; truths are judged items."""
    if block.judges > MOST_JUDGES:
        raise UsageError(
            f"model 'm-msr' compares every two judges, of {MOST_JUDGES:,} at most, and there are {block.judges:,}: "
            "'one-coin' and 'vote-weight' learn one skill a judge of any number"
        )
    judged = np.count_nonzero(np.diff(block.start))
    return Tally(np.array([[float(judged)]]), agreements(block), 0.0)


def complete(tally: Tally, start: Params) -> JudgeParams:
    """Return one coin a judge, from the skills whose products are the agreements; whom nobody met is as the others."""
    J, K = start.confusion.shape[:2]
    if K == 1:
        return JudgeParams(start.confusion, start.population)
    margin = 1 / np.sqrt(max(tally.truth[0, 0], 1.0))
    pairs = pairs_seen(tally.label, J + 1, K)
    size = completed(pairs, margin)
    skill = (size * signs(pairs, size))[:J]
    met = np.diff(pairs.start)[:J] > 0
    typical = _within(skill[met], margin, K).mean() if met.any() else _skill(start.population[None])[0]
    skill = _within(np.append(np.where(met, skill, typical), typical), margin, K)
    coins = _coins(skill, K)
    return JudgeParams(coins[:-1], coins[-1])


def skill_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's skill s_j: 1 if always right, 0 if guessing, negative if they answer the reverse."""
    return {"skill": _skill(params.confusion)}


def _skill(confusion: Floats) -> Floats:
    """Return (K p - 1)/(K - 1) (J); of one label there is nothing to know, and everybody knows it."""
    K = confusion.shape[2]
    return (K * confusion[:, 0, 0] - 1) / (K - 1) if K > 1 else np.ones(len(confusion))


def _within(skill: Floats, margin: float, K: int) -> Floats:
    """Return skills kept off their limits -1/(K - 1) and 1 by a margin, of half their distance at most."""
    margin = min(margin, K / (K - 1) / 2)
    return np.clip(skill, -1 / (K - 1) + margin, 1 - margin)


def _coins(skill: Floats, K: int) -> Floats:
    """Return the matrices (J, K, K) of judges who are right with p = s (K - 1)/K + 1/K, and err evenly."""
    right = (skill * (K - 1) / K + 1 / K)[:, None, None]
    coins: Floats = np.where(np.eye(K, dtype=bool), right, (1 - right) / (K - 1))
    return coins


MODELS = (
    Model(
        "m-msr",
        "each judge has one skill, learned from the agreement of pairs of judges; robust against attacks",
        "Ma & Olshevsky 2020",
        prevalence=EQUAL,
        confusion=Confusion(complete, columns=skill_column),
        assignment=Assignment(hard=True, assign=compare_judges),
        starts={"agreement": compare_judges},
        rounds=0,
    ),
)
