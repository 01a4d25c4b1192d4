"""``RankSVM``: the pairwise linear SVM with squared hinge of paper 004, equation 3, with a weight for every pair.

    min |w|^2 / 2 + c sum_ij f_ij max(0, 1 - w (x_i - x_j))^2

over the pairs of rows of one group of which i is to be above j. It is scikit-learn's LinearSVC(loss="squared_hinge",
fit_intercept=False, dual=False) on difference vectors with the pairs' weights as sample_weight; solver="liblinear" is
just that, and the usual "newton" finds the same optimum without forming a pair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, quote, quoted
from adjudge.learn.pairs import (
    NothingToLearn,
    Paired,
    Rows,
    curve,
    differences,
    loss_and_pull,
    paired,
    told,
    unchanging,
)
from adjudge.learn.ranker import Ranker, is_number, refuse_unless_flags, tell_without_groups
from adjudge.learn.scikit import LinearSVC, check_is_fitted, validate_data

# Newton's method for the ranking SVM, without a pair being formed.
#
#     min |w|^2 / 2 + c sum_ij f_ij max(0, 1 - w (x_i - x_j))^2
#
# The loss is piecewise quadratic, so that Newton's steps, halved where they would overshoot, end after a few; where
# features are many, conjugate gradients find each (Chapelle and Keerthi 2010). The optimum is that of liblinear on
# difference vectors.

ENOUGH = 1e-4  # of the decrease that a step promises
HALVINGS = 40
FEW = 300  # features up to which the second derivative is formed


class Solved(NamedTuple):
    """Where the climb ended."""

    w: Floats  # (F)
    value: float  # of the objective
    steps: int
    gradient: float  # its norm, as a share of that at w = 0
    settled: bool


def solve(X: Floats, rows: Rows, c: float, *, tolerance: float = 1e-8, most: int = 200) -> Solved:
    """Return the minimum, for rows X (N, F) in the order of ``rows``."""
    w = np.zeros(X.shape[1])
    score = np.zeros(X.shape[0])
    loss, pull = loss_and_pull(rows, score)
    value, gradient = c * loss, -2 * c * (X.T @ pull)
    norm = first = float(np.linalg.norm(gradient))
    steps = 0
    while norm > tolerance * first and steps < most:
        step = _step(X, rows, c, score, gradient, min(0.1, norm / first) * norm)
        slope, ahead, t = float(gradient @ step), X @ step, 1.0
        for _ in range(HALVINGS):
            loss, pull = loss_and_pull(rows, score + t * ahead)
            reached = 0.5 * float((w + t * step) @ (w + t * step)) + c * loss
            if reached <= value + ENOUGH * t * slope:
                break
            t /= 2
        else:
            break  # as near as floating point goes
        w, score, value, steps = w + t * step, score + t * ahead, reached, steps + 1
        gradient = w - 2 * c * (X.T @ pull)
        norm = float(np.linalg.norm(gradient))
    share = norm / first if first else 0.0
    return Solved(w, value, steps, share, share <= max(tolerance, 1e-6))


def _step(X: Floats, rows: Rows, c: float, score: Floats, gradient: Floats, near: float) -> Floats:
    """Return Newton's step: solved outright where features are few, else to a residual of ``near``."""
    F = gradient.size
    if F <= FEW:
        bend = np.eye(F) + 2 * c * (X.T @ curve(rows, score, X))
        return np.asarray(np.linalg.solve(bend, -gradient), dtype=np.float64)

    def bent(v: Floats) -> Floats:
        """Return the second derivative times v."""
        moved: Floats = v + 2 * c * (X.T @ curve(rows, score, (X @ v)[:, None])[:, 0])
        return moved

    return conjugate(bent, -gradient, near)


def conjugate(bend: Callable[[Floats], Floats], goal: Floats, near: float) -> Floats:
    """Return x with bend(x) = goal, to a residual of ``near``: conjugate gradients (Hestenes and Stiefel 1952)."""
    x, left = np.zeros(goal.size), goal.copy()
    way, size = left.copy(), float(left @ left)
    for _ in range(2 * goal.size + 10):
        if size <= near**2:
            break
        bent = bend(way)
        far = size / float(way @ bent)
        x, left = x + far * way, left - far * bent
        size, before = float(left @ left), size
        way = left + (size / before) * way
    return x


SOLVERS = ("newton", "liblinear")
ROUNDING = 1e-12  # by which a feature may change, as a share of its size, and still count as constant


class RankSVM(Ranker):
    """A linear ranker learned from pairs of rows of the same group.

    Parameters
    ----------
    c : float or "svmlight", default=1.0
        What slack costs. "svmlight" is that program's own: 1 / mean(|x|^2).
    pair_weight : {"mean", "product", "min", "positive"}, default="mean"
        How much a pair weighs, from the ``sample_weight`` of its rows; "positive" is that of the row to be above.
    soft : bool, default=False
        Whether targets are degrees, such as probabilities: a pair then weighs |y_i - y_j| times as much.
    standardise : bool, default=True
        Whether features are brought to mean 0 and variance 1; a feature that never changes is left out of account.
    solver : {"newton", "liblinear"}, default="newton"
        Newton's method keeps no pair; liblinear is given all difference vectors.
    tolerance : float, default=1e-8
        The gradient's norm at the end, as a share of that at the beginning.

    Attributes
    ----------
    coef_ : array (F), in the units of the features
    intercept_ : float, which gives the rows that were learned from the mean 0
    pairs_ : int, pairs that weigh something
    groups_without_pairs_ : int, groups that taught nothing
    objective_ : float, the minimum found
    c_ : float, what was taken for ``c``

    Groups are passed as ``fit(X, y, groups=...)``, and in a pipeline as ``fit(X, y, ranksvm__groups=...)``. Without
    groups all rows are taken for one question, with a ``NoGroupsWarning``; equal groups say the same without it.

    >>> X, y, question = [[0.0], [1.0], [5.0], [4.0]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> ranker = RankSVM(standardise=False).fit(X, y, question)
    >>> ranker.coef_.round(3), ranker.pairs_
    (array([0.8]), 2)

    In a search over parameters groups must reach the folds, the ranker and its score, which takes scikit-learn's
    routing (``sklearn.set_config(enable_metadata_routing=True)`` turns it on for good):

    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     ranker = RankSVM().set_fit_request(groups=True, sample_weight=True)
    ...     ranker.set_score_request(groups=True, sample_weight=True)
    ...     search = GridSearchCV(ranker, {"c": [0.1, 1.0]}, cv=GroupKFold(2))
    ...     float(search.fit(X, y, groups=question, sample_weight=[1, 1, 2, 2]).best_score_)
    RankSVM()
    1.0

    """

    def __init__(
        self,
        c: float | str = 1.0,
        *,
        pair_weight: str = "mean",
        soft: bool = False,
        standardise: bool = True,
        solver: str = "newton",
        tolerance: float = 1e-8,
    ) -> None:
        self.c = c
        self.pair_weight = pair_weight
        self.soft = soft
        self.standardise = standardise
        self.solver = solver
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> RankSVM:
        """Learn from rows X (N, F) with targets y (N): 0 and 1, grades, or degrees; higher is to be above."""
        self.refuse_wrong_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        found = paired(y, groups, sample_weight, pair_weight=self.pair_weight, soft=self.soft)
        tell_without_groups(groups, "fit")
        without = told(found)
        if without is not None:
            warnings.warn(without, AdjudgeWarning, stacklevel=2)
        with np.errstate(over="ignore", invalid="ignore"):  # refused below, in a sentence
            centre, spread = X.mean(axis=0), _spread(X) if self.standardise else np.ones(X.shape[1])
            plain = (X - centre) / spread if self.standardise else X  # 0 of a feature that never changes
            _refuse_too_large(plain)
            if unchanging(found, plain).all():
                warnings.warn(_flat(X.shape[1]), AdjudgeWarning, stacklevel=2)
            c = _cost(self.c, plain)
            w, value, steps = self._solved(plain, found, c)
            coef = w / spread
            intercept = -float(centre @ coef)
            _refuse_too_large(coef, intercept, value)
        self.coef_, self.intercept_, self.c_, self.objective_, self.n_iter_ = coef, intercept, c, value, steps
        self.pairs_, self.groups_without_pairs_ = found.pairs, found.without
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (N): in a group, higher is above."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        score: Floats = X @ self.coef_ + self.intercept_
        return score

    def refuse_wrong_parameters(self) -> None:
        """Refuse parameters that cannot be: when fitted, since a search sets them one by one."""
        if self.solver not in SOLVERS:
            raise NothingToLearn(f"solver {quote(self.solver)} is not one of {quoted(SOLVERS)}")
        if not is_number(self.tolerance) or not 0 <= self.tolerance < 1:
            raise NothingToLearn(f"tolerance {quote(self.tolerance)} is not a number from 0 to below 1")
        refuse_unless_flags(soft=self.soft, standardise=self.standardise)
        if self.c != "svmlight" if isinstance(self.c, str) else not (is_number(self.c) and 0 < self.c < np.inf):
            raise NothingToLearn(f"c {quote(self.c)} is not a number above 0, nor 'svmlight'")

    def _solved(self, X: Floats, found: Paired, c: float) -> tuple[Floats, float, int]:
        """Return the optimum, its value, and the number of steps."""
        if self.solver == "liblinear":
            return _liblinear(*differences(found, X), c, self.tolerance)
        solved = solve(np.ascontiguousarray(X[found.order]), found.rows, c, tolerance=self.tolerance)
        _refuse_too_large(solved.w, solved.value, solved.gradient)
        if not solved.settled:
            warnings.warn(
                f"the ranker has not settled after {solved.steps} steps: a smaller c, or standardised features, help",
                AdjudgeWarning,
                stacklevel=3,
            )
        return solved.w, solved.value, solved.steps


def _liblinear(difference: Floats, weight: Floats, c: float, tolerance: float) -> tuple[Floats, float, int]:
    """Return liblinear's optimum; every second pair is turned round, since it wants two classes."""
    sign = np.where(np.arange(weight.size) % 2, -1.0, 1.0)
    if weight.size == 1:  # one pair, from both sides
        difference, weight, sign = np.vstack([difference] * 2), np.r_[weight, weight] / 2, np.array([1.0, -1.0])
    svm = LinearSVC(
        C=c, loss="squared_hinge", fit_intercept=False, dual=False, tol=tolerance, max_iter=10_000, random_state=0
    )
    svm.fit(difference * sign[:, None], sign, sample_weight=weight)
    w: Floats = svm.coef_[0]
    slack = np.maximum(0.0, 1 - difference @ w)
    return w, float(0.5 * w @ w + c * (weight @ slack**2)), int(svm.n_iter_)


def _spread(X: Floats) -> Floats:
    """Return the standard deviation of every feature (F); it is infinite of one that changes by rounding alone."""
    low, high = X.min(axis=0), X.max(axis=0)
    same = high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.where(same, np.inf, X.std(axis=0))


def _flat(features: int) -> str:
    """Return what is said where no pair differs by any feature."""
    return (
        f"none of {features:,} features differs between rows of one group: nothing is learned, and all rows of a group "
        "have the same score"
    )


def _refuse_too_large(*numbers: Any) -> None:
    """Refuse what has gone beyond what a number can hold."""
    if not all(np.isfinite(number).all() for number in numbers):
        raise NothingToLearn("the features, weights or c are too large to be computed with: give them in other units")


def _cost(c: float | str, X: Floats) -> float:
    """Return what slack costs."""
    if isinstance(c, str):  # svmlight's
        length = float((X**2).sum(axis=1).mean())
        return 1 / length if length > 0 else 1.0
    return float(c)
