"""The squared hinge over pairs of rows, without a pair ever being kept.

Rows stand sorted by group and, in a group, by target, highest first, so that row i is to be above the rows ``lower[i]``
to ``end[i]``. With a score s of every row, a pair that should be i above j has the slack max(0, 1 - s_i + s_j), and

    loss     sum f_ij slack_ij^2
    pull_i   sum_j f_ij slack_ij, where i is to be above j, less the same where it is to be below
    curve_i  sum_j f_ij (m_i - m_j) over the pairs with slack: what the pull loses when scores move by m (any number of
             moves at once)

are sums of numbers: their cost is that of the pairs, whatever the number of features, and nothing is stored. The weight
f_ij of a pair follows from those of its rows; of soft pairs it is multiplied by the difference of the targets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.compiled import compiled

MEAN, PRODUCT, LEAST, UPPER = range(4)  # how a pair weighs: by the mean of its rows' weights, ..., by the upper row's


class Rows(NamedTuple):
    """Rows in the order of their groups and targets."""

    lower: Codes  # (N) the first row that each is to be above
    end: Codes  # (N) where its group ends
    target: Floats  # (N)
    weight: Floats  # (N)
    how: int  # pairs weigh
    soft: bool  # whether a pair weighs as much as its targets differ


def loss_and_pull(rows: Rows, score: Floats) -> tuple[float, Floats]:
    """Return the weighted sum of squared slacks, and the pull on every row (N)."""
    pull = np.zeros(score.size)
    return float(_slacks(*rows, score, pull)), pull


def curve(rows: Rows, score: Floats, move: Floats) -> Floats:
    """Return what the pull on every row loses (N, M) to first order when scores move by each of ``move`` (N, M)."""
    lost = np.zeros(move.shape)
    _curve(*rows, score, move, lost)
    return lost


def pairs(rows: Rows) -> tuple[int, float]:
    """Return how many pairs have a weight above 0, and the sum of their weights."""
    count, total = _pairs(*rows)
    return int(count), float(total)


@compiled
def _weight(above: float, below: float, how: int) -> float:  # pragma: no cover
    """Return the weight of a pair from those of its rows."""
    if how == 0:
        return 0.5 * (above + below)
    if how == 1:
        return above * below
    if how == 2:
        return min(above, below)
    return above


@compiled
def _slacks(
    lower: Codes, end: Codes, target: Floats, weight: Floats, how: int, soft: bool, score: Floats, pull: Floats
) -> float:  # pragma: no cover
    """Add to the pull of every row, and return the loss."""
    loss = 0.0
    for i in range(score.size):
        need = 1.0 - score[i]
        for j in range(lower[i], end[i]):
            slack = need + score[j]
            if slack > 0.0:
                f = _weight(weight[i], weight[j], how)
                if soft:
                    f *= target[i] - target[j]
                loss += f * slack * slack
                pull[i] += f * slack
                pull[j] -= f * slack
    return loss


@compiled
def _curve(
    lower: Codes,
    end: Codes,
    target: Floats,
    weight: Floats,
    how: int,
    soft: bool,
    score: Floats,
    move: Floats,
    lost: Floats,
) -> None:  # pragma: no cover
    """Add to what the pull of every row loses."""
    for i in range(score.size):
        need = 1.0 - score[i]
        for j in range(lower[i], end[i]):
            if need + score[j] > 0.0:
                f = _weight(weight[i], weight[j], how)
                if soft:
                    f *= target[i] - target[j]
                for m in range(move.shape[1]):
                    apart = f * (move[i, m] - move[j, m])
                    lost[i, m] += apart
                    lost[j, m] -= apart


@compiled
def _pairs(
    lower: Codes, end: Codes, target: Floats, weight: Floats, how: int, soft: bool
) -> tuple[int, float]:  # pragma: no cover
    """Return how many pairs weigh something, and how much in all."""
    count, total = 0, 0.0
    for i in range(target.size):
        for j in range(lower[i], end[i]):
            f = _weight(weight[i], weight[j], how)
            if soft:
                f *= target[i] - target[j]
            count += f > 0.0
            total += f
    return count, total
