"""Pairs of rows of one group, the one to be above the other: checked, counted, and as difference vectors if need be.

Groups are whatever equals: they need not stand together. A pair are two rows of one group whose targets differ; a group
without such rows (all relevant, none relevant) teaches nothing, and is counted. Pairs of weight 0 are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, quote, quoted
from adjudge.kernels.compiled import compiled

# The squared hinge over pairs of rows, without a pair ever being kept.
#
# Rows stand sorted by group and, in a group, by target, highest first, so that row i is to be above the rows
# ``lower[i]`` to ``end[i]``. With a score s of every row, a pair that should be i above j has the slack max(0, 1 -
# s_i + s_j), and
#
# loss     sum f_ij slack_ij^2 pull_i   sum_j f_ij slack_ij, where i is to be above j, less the same where it is to be
# below curve_i  sum_j f_ij (m_i - m_j) over the pairs with slack: what the pull loses when scores move by m (any
# number of moves at once)
#
# are sums of numbers: their cost is that of the pairs, whatever the number of features, and nothing is stored. The
# weight f_ij of a pair follows from those of its rows; of soft pairs it is multiplied by the difference of the
# targets.

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


PAIR_WEIGHTS: Mapping[str, int] = {
    "mean": MEAN,
    "product": PRODUCT,
    "min": LEAST,
    "positive": UPPER,
}


class NothingToLearn(UsageError, ValueError):  # noqa: N818
    """Rows that cannot teach an order; a ValueError too, as scikit-learn expects."""


class Paired(NamedTuple):
    """Rows arranged so that pairs can be run through."""

    order: Codes  # (N) the row of the caller that each stands for
    rows: Rows
    pairs: int  # that weigh something
    weight: float  # of all pairs
    groups: int
    without: int  # groups that have no pair


def paired(
    target: Any,
    groups: Any = None,
    weight: Any = None,
    *,
    pair_weight: str = "mean",
    soft: bool = False,
) -> Paired:
    """Arrange rows by group and target; without groups all rows are of one. Refuses what can teach nothing."""
    if not isinstance(pair_weight, str) or pair_weight not in PAIR_WEIGHTS:
        raise NothingToLearn(f"pair_weight {quote(pair_weight)} is not one of {quoted(PAIR_WEIGHTS)}")
    goal = targets(target)
    code, count = group_codes(groups, goal.size)
    own = row_weights(weight, goal.size)
    order = np.lexsort((-goal, code))
    lower, end, without = _spans(code[order], goal[order], count)
    rows = Rows(lower, end, goal[order], own[order], PAIR_WEIGHTS[pair_weight], bool(soft))
    found, total = pairs(rows)
    if not found:
        raise NothingToLearn(_nothing(goal, own, count, int((end - lower).sum())))
    if not np.isfinite(total):
        raise NothingToLearn("the weights of pairs add up to more than a number can hold: divide sample_weight")
    return Paired(order, rows, found, total, count, without)


def group_codes(groups: Any, rows: int) -> tuple[Codes, int]:
    """Return the number of each row's group (N), in the order of first appearance, and how many there are."""
    if groups is None:
        return np.zeros(rows, np.int64), 1
    try:  # of a list the names as they are: an array would make the text 'nan' of a NaN among names
        given = np.asarray(groups) if hasattr(groups, "__array__") else np.asarray(groups, dtype=object)
    except ValueError as error:
        raise NothingToLearn(f"groups are not one name or number for each of {rows:,} rows: {error}") from error
    if given.shape != (rows,):
        raise NothingToLearn(f"groups have the shape {given.shape}, expected one for each of {rows:,} rows")
    if given.dtype.kind == "O":
        return _named_codes(given.tolist())
    missing = given != given  # NaN, and NaT
    if missing.any():
        raise _without_group(int(missing.argmax()), given[missing.argmax()])
    _, first, code = np.unique(given, return_index=True, return_inverse=True)
    place = np.empty(first.size, np.int64)
    place[np.argsort(first)] = np.arange(first.size)
    return place[code], first.size


def _named_codes(names: list[Any]) -> tuple[Codes, int]:
    """Return the number of each name (N), in the order of first appearance: of any kinds, which need not sort."""
    place: dict[Any, int] = {}
    code = np.empty(len(names), np.int64)
    for row, name in enumerate(names):
        try:
            whole = name is not None and bool(name == name)
            code[row] = place.setdefault(name, len(place)) if whole else -1
        except (TypeError, ValueError):  # pandas' NA is neither true nor false, a list has no hash
            whole = False
        if not whole:
            raise _without_group(row, name)
    return code, len(place)


def _without_group(row: int, name: Any) -> NothingToLearn:
    """Return what is said of a row whose group is missing, or is none."""
    told = "NaN" if isinstance(name, float) else str(name)
    return NothingToLearn(f"the group of row {row} is {told}: give every row a group, a name or a number")


def targets(target: Any) -> Floats:
    """Return the targets (N), refusing what is no number."""
    goal = _numbers(target, "the targets")
    if goal.ndim != 1:
        raise NothingToLearn(f"the targets have the shape {goal.shape}, expected one for each row")
    wrong = ~np.isfinite(goal)
    if wrong.any():
        row = int(wrong.argmax())
        raise NothingToLearn(f"the target of row {row} is {goal[row]}, expected a finite number")
    return goal


def row_weights(weight: Any, rows: int) -> Floats:
    """Return a weight for each row (N), all 1 where none are given."""
    if weight is None:
        return np.ones(rows)
    own = _numbers(weight, "sample_weight")
    if own.ndim == 0:
        own = np.full(rows, float(own))
    if own.shape != (rows,):
        raise NothingToLearn(f"sample_weight has the shape {own.shape}, expected one for each of {rows:,} rows")
    wrong = ~np.isfinite(own) | (own < 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise NothingToLearn(f"sample_weight of row {row} is {own[row]}, expected a number of at least 0")
    return own


def _numbers(given: Any, what: str) -> Floats:
    """Return numbers as an array, refusing what is none."""
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise NothingToLearn(f"{what} must be numbers, one for each row: {error}") from error


def differences(found: Paired, X: Floats, most: int = 200_000_000) -> tuple[Floats, Floats]:
    """Return the difference vector (P, F) of every pair that weighs something, and the weights (P).

    These are what a solver needs that knows no pairs; ``most`` numbers at most.
    """
    if found.pairs * X.shape[1] > most:
        raise NothingToLearn(
            f"{found.pairs:,} pairs of {X.shape[1]:,} features are too many to be formed: take solver='newton', "
            "which forms none"
        )
    rows = found.rows
    above = np.repeat(np.arange(found.order.size), rows.end - rows.lower)
    first = np.repeat(np.cumsum(rows.end - rows.lower) - (rows.end - rows.lower), rows.end - rows.lower)
    below = np.arange(above.size) - first + rows.lower[above]
    ways: dict[int, Callable[[Floats, Floats], Floats]] = {
        MEAN: lambda a, b: (a + b) / 2,
        PRODUCT: np.multiply,
        LEAST: np.minimum,
        UPPER: lambda a, b: a,
    }
    f = ways[rows.how](rows.weight[above], rows.weight[below])
    if rows.soft:
        f = f * (rows.target[above] - rows.target[below])
    kept = f > 0
    at = found.order
    return X[at[above[kept]]] - X[at[below[kept]]], f[kept]


def unchanging(found: Paired, X: Floats) -> Flags:
    """Return which features (F) have one value in every group, so that no pair differs by them."""
    ends = np.unique(found.rows.end)
    starts, own = np.r_[0, ends[:-1]], X[found.order]
    low, high = np.minimum.reduceat(own, starts), np.maximum.reduceat(own, starts)  # (G, F)
    same: Flags = (low == high).all(axis=0)
    return same


def concordance(score: Floats, target: Any, groups: Any = None, weight: Any = None) -> float:
    """Return the share of pairs in the right order, ties counting half: each pair by the mean of its rows' weights."""
    found = paired(target, groups, weight)
    if np.shape(score) != found.order.shape:
        raise NothingToLearn(f"there are {found.order.size:,} targets for scores of the shape {np.shape(score)}")
    s, rows = np.asarray(score, dtype=float)[found.order], found.rows
    right = 0.0
    for i in range(s.size):
        below = slice(rows.lower[i], rows.end[i])
        f = (rows.weight[i] + rows.weight[below]) / 2
        right += float(f @ ((s[i] > s[below]) + 0.5 * (s[i] == s[below])))
    return right / found.weight


def told(found: Paired) -> str | None:
    """Return a sentence on groups that teach nothing, None where all do."""
    if not found.without:
        return None
    return (
        f"{found.without:,} of {found.groups:,} groups have no pair, since all their rows have the same target "
        "(none or all relevant): they teach nothing"
    )


def _spans(code: Codes, goal: Floats, groups: int) -> tuple[Codes, Codes, int]:
    """Return, of sorted rows, where those begin that each is to be above and where its group ends (N)."""
    close = np.searchsorted(code, np.arange(groups), side="right")  # (G)
    end = close[code].astype(np.int64)
    last = np.r_[(code[1:] != code[:-1]) | (goal[1:] != goal[:-1]), True] if code.size else np.zeros(0, bool)
    level = np.r_[0, np.cumsum(last)[:-1]] if code.size else np.zeros(0, np.int64)
    lower = (np.flatnonzero(last) + 1)[level].astype(np.int64)
    open_ = np.r_[0, close[:-1]]
    without = int((lower[open_] == end[open_]).sum()) if code.size else groups
    return lower, end, without


def _nothing(goal: Floats, weight: Floats, groups: int, pairs: int) -> str:
    """Return why there is nothing to learn."""
    if goal.size == 1:
        return "there is 1 sample only: a pair is of two rows of one group"
    if not weight.any():
        return f"sample_weight is zero for all {goal.size:,} rows: give at least one pair a weight above 0"
    if pairs:
        return f"all {pairs:,} pairs have the weight 0: give at least one a weight above 0, or another pair_weight"
    return (
        f"none of {groups:,} groups has a pair: in each, all rows have the same target. A group needs a relevant row "
        "and an irrelevant one"
    )
