"""Pairs of rows of one group with different targets, and the squared hinge loss over them.

Rows with equal group values form a group; they need not be adjacent. A pair is two rows of one group whose targets
differ; a group without such rows (all relevant, or none relevant) has no pair, and is counted. Pairs of weight 0 are
ignored.

Rows are sorted by group and, within a group, by target, highest first, so that row i should rank above the rows
``lower[i]`` to ``end[i]``. With a score s of every row, a pair (i above j) has the slack max(0, 1 - s_i + s_j), and

    loss     sum of f_ij slack_ij^2 over all pairs
    pull_i   sum of f_ij slack_ij over pairs with i above, minus the sum over pairs with i below
    curve_i  sum of f_ij (m_i - m_j) over pairs with slack: the change of the pull if scores move by m

are sums over pairs, computed without storing a pair and whatever the number of features. The weight f_ij of a pair is
computed from the weights of its rows; with soft targets it is multiplied by their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, not_one_of
from adjudge.kernels.compiled import compiled

MEAN, PRODUCT, LEAST, UPPER = range(4)  # the weight of a pair, from the weights of its two rows


class Rows(NamedTuple):
    """Rows sorted by group and target."""

    lower: Codes  # (N) the first row below each row
    end: Codes  # (N) the end of its group
    target: Floats  # (N)
    weight: Floats  # (N)
    how: int  # how pairs are weighted
    soft: bool  # whether the weight of a pair is multiplied by the difference of its targets


def loss_and_pull(rows: Rows, score: Floats) -> tuple[float, Floats]:
    """Return the weighted sum of squared slacks, and the pull on every row (N)."""
    pull = np.zeros(score.size)
    return float(_slacks(*rows, score, pull)), pull


def curve(rows: Rows, score: Floats, move: Floats) -> Floats:
    """Return the first-order change of the pull (N, M) if scores move by each column of ``move`` (N, M)."""
    lost = np.zeros(move.shape)
    _curve(*rows, score, move, lost)
    return lost


def count_pairs(rows: Rows) -> tuple[int, float]:
    """Return the number of pairs with a weight above 0, and the sum of their weights."""
    count, total = _count_pairs(*rows)
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
    """Add to the change of the pull of every row."""
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
def _count_pairs(
    lower: Codes, end: Codes, target: Floats, weight: Floats, how: int, soft: bool
) -> tuple[int, float]:  # pragma: no cover
    """Return the number of pairs with a weight above 0, and the sum of all weights."""
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
    """Rows that no order can be learned from; also a ValueError, as scikit-learn expects."""


class Pairs(NamedTuple):
    """Sorted rows, and the number of their pairs."""

    order: Codes  # (N) index of each sorted row in the caller's rows
    rows: Rows
    number: int  # pairs with a weight above 0
    weight: float  # sum over all pairs
    groups: int
    without: int  # groups without a pair


def make_pairs(
    target: Any,
    groups: Any = None,
    weight: Any = None,
    *,
    pair_weight: str = "mean",
    soft: bool = False,
) -> Pairs:
    """Sort rows by group and target; without groups all rows form one group. Rows without a pair are refused."""
    if not isinstance(pair_weight, str) or pair_weight not in PAIR_WEIGHTS:
        raise NothingToLearn(not_one_of("pair_weight", pair_weight, PAIR_WEIGHTS))
    goal = targets(target)
    code, count = group_codes(groups, goal.size)
    weights = row_weights(weight, goal.size)
    order = np.lexsort((-goal, code))
    lower, end, without = _spans(code[order], goal[order], count)
    rows = Rows(lower, end, goal[order], weights[order], PAIR_WEIGHTS[pair_weight], bool(soft))
    number, total = count_pairs(rows)
    if not number:
        raise NothingToLearn(_why_no_pairs(goal, weights, count, int((end - lower).sum())))
    if not np.isfinite(total):
        raise NothingToLearn("the sum of the weights of pairs overflows: divide sample_weight by a constant")
    return Pairs(order, rows, number, total, count, without)


def group_codes(groups: Any, rows: int) -> tuple[Codes, int]:
    """Return the group number of each row (N), in order of first appearance, and the number of groups."""
    if groups is None:
        return np.zeros(rows, np.int64), 1
    try:  # lists become object arrays: a string array would turn NaN into the text 'nan'
        values = np.asarray(groups) if hasattr(groups, "__array__") else np.asarray(groups, dtype=object)
    except ValueError as error:
        raise NothingToLearn(f"groups must be one name or number for each of {rows:,} rows: {error}") from error
    if values.shape != (rows,):
        raise NothingToLearn(f"groups have the shape {values.shape}, expected one for each of {rows:,} rows")
    if values.dtype.kind == "O":
        return _codes_of_objects(values.tolist())
    missing = values != values  # NaN, and NaT
    if missing.any():
        raise _missing_group(int(missing.argmax()), values[missing.argmax()])
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int64)
    number[np.argsort(first)] = np.arange(first.size)
    return number[code], first.size


def _codes_of_objects(names: list[Any]) -> tuple[Codes, int]:
    """Return the group number of each name (N), for names of any types, which need not be sortable."""
    number: dict[Any, int] = {}
    code = np.empty(len(names), np.int64)
    for row, name in enumerate(names):
        try:
            valid = name is not None and bool(name == name)
            code[row] = number.setdefault(name, len(number)) if valid else -1
        except (TypeError, ValueError):  # pandas.NA has no truth value, a list has no hash
            valid = False
        if not valid:
            raise _missing_group(row, name)
    return code, len(number)


def _missing_group(row: int, name: Any) -> NothingToLearn:
    """Return the error for a row without a group."""
    text = "NaN" if isinstance(name, float) else str(name)
    return NothingToLearn(f"the group of row {row} is {text}: give every row a group, a name or a number")


def targets(target: Any) -> Floats:
    """Return the targets (N) as finite numbers."""
    goal = _numbers(target, "the targets")
    if goal.ndim != 1:
        raise NothingToLearn(f"the targets have the shape {goal.shape}, expected one for each row")
    wrong = ~np.isfinite(goal)
    if wrong.any():
        row = int(wrong.argmax())
        raise NothingToLearn(f"the target of row {row} is {goal[row]}, expected a finite number")
    return goal


def row_weights(weight: Any, rows: int) -> Floats:
    """Return the weight of each row (N); 1 by default."""
    if weight is None:
        return np.ones(rows)
    weights = _numbers(weight, "sample_weight")
    if weights.ndim == 0:
        weights = np.full(rows, float(weights))
    if weights.shape != (rows,):
        raise NothingToLearn(f"sample_weight has the shape {weights.shape}, expected one for each of {rows:,} rows")
    wrong = ~np.isfinite(weights) | (weights < 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise NothingToLearn(f"sample_weight of row {row} is {weights[row]}, expected a number of at least 0")
    return weights


def _numbers(values: Any, name: str) -> Floats:
    """Return values as an array of floats; ``name`` is for the error."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise NothingToLearn(f"{name} must be numbers, one for each row: {error}") from error


def differences(pairs: Pairs, X: Floats, most: int = 200_000_000) -> tuple[Floats, Floats]:
    """Return the difference vector (P, F) of every pair with a weight above 0, and the weights (P).

    This is the input of a solver for classification. More than ``most`` numbers are refused.
    """
    if pairs.number * X.shape[1] > most:
        raise NothingToLearn(
            f"{pairs.number:,} pairs of {X.shape[1]:,} features do not fit into memory: use solver='newton', which "
            "does not store pairs"
        )
    rows = pairs.rows
    above = np.repeat(np.arange(pairs.order.size), rows.end - rows.lower)
    first = np.repeat(np.cumsum(rows.end - rows.lower) - (rows.end - rows.lower), rows.end - rows.lower)
    below = np.arange(above.size) - first + rows.lower[above]
    combine: dict[int, Callable[[Floats, Floats], Floats]] = {
        MEAN: lambda a, b: (a + b) / 2,
        PRODUCT: np.multiply,
        LEAST: np.minimum,
        UPPER: lambda a, b: a,
    }
    f = combine[rows.how](rows.weight[above], rows.weight[below])
    if rows.soft:
        f = f * (rows.target[above] - rows.target[below])
    positive, order = f > 0, pairs.order
    return X[order[above[positive]]] - X[order[below[positive]]], f[positive]


def constant_features(pairs: Pairs, X: Floats) -> Flags:
    """Return which features (F) are constant within every group, so that no pair differs in them."""
    ends = np.unique(pairs.rows.end)
    starts, rows = np.r_[0, ends[:-1]], X[pairs.order]
    low, high = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)  # (G, F)
    same: Flags = (low == high).all(axis=0)
    return same


def concordance(score: Floats, target: Any, groups: Any = None, weight: Any = None) -> float:
    """Return the weighted share of pairs in the right order; a tie counts one half."""
    pairs = make_pairs(target, groups, weight)
    if np.shape(score) != pairs.order.shape:
        raise NothingToLearn(f"there are {pairs.order.size:,} targets for scores of the shape {np.shape(score)}")
    s, rows = np.asarray(score, dtype=float)[pairs.order], pairs.rows
    right = 0.0
    for i in range(s.size):
        below = slice(rows.lower[i], rows.end[i])
        f = (rows.weight[i] + rows.weight[below]) / 2
        right += float(f @ ((s[i] > s[below]) + 0.5 * (s[i] == s[below])))
    return right / pairs.weight


def groups_without_pairs(pairs: Pairs) -> str | None:
    """Return a sentence about groups without a pair, None if there are none."""
    if not pairs.without:
        return None
    return (
        f"{pairs.without:,} of {pairs.groups:,} groups have no pair, because all their rows have the same target "
        "(none or all relevant): nothing is learned from them"
    )


def _spans(code: Codes, goal: Floats, groups: int) -> tuple[Codes, Codes, int]:
    """Return, for sorted rows, the first row below each (N), the end of its group (N), and groups without pairs."""
    close = np.searchsorted(code, np.arange(groups), side="right")  # (G)
    end = close[code].astype(np.int64)
    last = np.r_[(code[1:] != code[:-1]) | (goal[1:] != goal[:-1]), True] if code.size else np.zeros(0, bool)
    level = np.r_[0, np.cumsum(last)[:-1]] if code.size else np.zeros(0, np.int64)
    lower = (np.flatnonzero(last) + 1)[level].astype(np.int64)
    open_ = np.r_[0, close[:-1]]
    without = int((lower[open_] == end[open_]).sum()) if code.size else groups
    return lower, end, without


def _why_no_pairs(goal: Floats, weight: Floats, groups: int, pairs: int) -> str:
    """Return a sentence that says why there is no pair to learn from."""
    if goal.size == 1:
        return "there is 1 sample only: a pair needs two rows of one group"
    if not weight.any():
        return f"sample_weight is zero for all {goal.size:,} rows: give at least one pair a weight above 0"
    if pairs:
        return f"all {pairs:,} pairs have the weight 0: give at least one a weight above 0, or another pair_weight"
    return (
        f"none of {groups:,} groups has a pair: in each, all rows have the same target. A group needs a relevant row "
        "and an irrelevant one"
    )
