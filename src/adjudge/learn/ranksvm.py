"""``RankSVM``: the pairwise linear SVM with squared hinge of paper 004, equation 3, with a weight for every pair.

    min |w|^2 / 2 + c sum_ij f_ij max(0, 1 - w (x_i - x_j))^2

over the pairs of rows of one group in which i should rank above j. It is scikit-learn's LinearSVC(loss="squared_hinge",
fit_intercept=False, dual=False) on difference vectors with the pairs' weights as sample_weight, which is what
solver="liblinear" runs. The default solver, "newton", finds the same optimum without storing a pair: the loss is
piecewise quadratic, so that Newton's method with step halving ends after a few steps; with many features each step is
found by conjugate gradients (Chapelle and Keerthi 2010).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, not_one_of, quote
from adjudge.learn.pairs import (
    NothingToLearn,
    Pairs,
    Rows,
    constant_features,
    curve,
    differences,
    groups_without_pairs,
    loss_and_pull,
    make_pairs,
)
from adjudge.learn.ranker import Ranker, check_flags, is_number, warn_without_groups
from adjudge.learn.scikit import LinearSVC, check_is_fitted, validate_data

ENOUGH = 1e-4  # share of the predicted decrease that a step must reach
HALVINGS = 40
FEW = 300  # features up to which the Hessian is computed


class Solved(NamedTuple):
    """The result of the optimiser."""

    w: Floats  # (F)
    value: float  # of the objective
    steps: int
    gradient: float  # its norm, relative to that at w = 0
    converged: bool


def solve(X: Floats, rows: Rows, c: float, *, tolerance: float = 1e-8, most: int = 200) -> Solved:
    """Return the minimum for rows X (N, F), sorted as ``rows``."""
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
            break  # no further progress in floating point
        w, score, value, steps = w + t * step, score + t * ahead, reached, steps + 1
        gradient = w - 2 * c * (X.T @ pull)
        norm = float(np.linalg.norm(gradient))
    share = norm / first if first else 0.0
    return Solved(w, value, steps, share, share <= max(tolerance, 1e-6))


def _step(X: Floats, rows: Rows, c: float, score: Floats, gradient: Floats, near: float) -> Floats:
    """Return the Newton step: exact with few features, otherwise up to a residual of ``near``."""
    F = gradient.size
    if F <= FEW:
        hessian = np.eye(F) + 2 * c * (X.T @ curve(rows, score, X))
        return np.asarray(np.linalg.solve(hessian, -gradient), dtype=np.float64)

    def apply_hessian(v: Floats) -> Floats:
        """Return the Hessian times v."""
        product: Floats = v + 2 * c * (X.T @ curve(rows, score, (X @ v)[:, None])[:, 0])
        return product

    return conjugate_gradients(apply_hessian, -gradient, near)


def conjugate_gradients(matrix: Callable[[Floats], Floats], goal: Floats, near: float) -> Floats:
    """Return x with matrix(x) = goal, up to a residual of ``near`` (Hestenes and Stiefel 1952)."""
    x, residual = np.zeros(goal.size), goal.copy()
    direction, size = residual.copy(), float(residual @ residual)
    for _ in range(2 * goal.size + 10):
        if size <= near**2:
            break
        product = matrix(direction)
        length = size / float(direction @ product)
        x, residual = x + length * direction, residual - length * product
        size, before = float(residual @ residual), size
        direction = residual + (size / before) * direction
    return x


SOLVERS = ("newton", "liblinear")
ROUNDING = 1e-12  # relative range below which a feature counts as constant


class RankSVM(Ranker):
    """A linear ranker trained on pairs of rows of the same group.

    Parameters
    ----------
    c : float or "svmlight", default=1.0
        Cost of slack. "svmlight" is the default of that program, 1 / mean(|x|^2). None is for ``rerank.train`` alone,
        which chooses c.
    pair_weight : {"mean", "product", "min", "positive"}, default="mean"
        The weight of a pair from the ``sample_weight`` of its rows; "positive" is that of the higher row.
    soft : bool, default=False
        Whether targets are degrees, such as probabilities: the weight of a pair is multiplied by |y_i - y_j|.
    standardise : bool, default=True
        Whether features are scaled to mean 0 and variance 1; constant features are ignored.
    solver : {"newton", "liblinear"}, default="newton"
        Newton's method stores no pair; liblinear gets all difference vectors.
    tolerance : float, default=1e-8
        Norm of the gradient at the end, relative to that at the start.

    Attributes
    ----------
    coef_ : array (F), in the units of the features
    intercept_ : float, which gives the training rows a mean score of 0
    pairs_ : int, pairs with a weight above 0
    groups_without_pairs_ : int, groups without a pair
    objective_ : float, the minimum of the objective
    c_ : float, the value of ``c``

    Groups are passed as ``fit(X, y, groups=...)``, and in a pipeline as ``fit(X, y, ranksvm__groups=...)``. Without
    groups all rows form one group, with a ``NoGroupsWarning``; pass equal groups to avoid the warning.

    >>> X, y, question = [[0.0], [1.0], [5.0], [4.0]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> ranker = RankSVM(standardise=False).fit(X, y, question)
    >>> ranker.coef_.round(3), ranker.pairs_
    (array([0.8]), 2)

    In a parameter search, the folds, the ranker and its score need the groups, which requires scikit-learn's metadata
    routing (``sklearn.set_config(enable_metadata_routing=True)`` enables it globally):

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
        c: float | str | None = 1.0,
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
        """Train on rows X (N, F) with targets y (N): 0 and 1, grades, or degrees; higher targets rank above."""
        self.check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        pairs = make_pairs(y, groups, sample_weight, pair_weight=self.pair_weight, soft=self.soft)
        warn_without_groups(groups, "fit")
        without = groups_without_pairs(pairs)
        if without is not None:
            warnings.warn(without, AdjudgeWarning, stacklevel=2)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            centre, spread = X.mean(axis=0), _spread(X) if self.standardise else np.ones(X.shape[1])
            plain = (X - centre) / spread if self.standardise else X  # 0 for a constant feature
            _refuse_too_large(plain)
            if constant_features(pairs, plain).all():
                warnings.warn(_no_difference(X.shape[1]), AdjudgeWarning, stacklevel=2)
            c = _cost(self.c, plain)
            w, value, steps = self._solve(plain, pairs, c)
            coef = w / spread
            intercept = -float(centre @ coef)
            _refuse_too_large(coef, intercept, value)
        self.coef_, self.intercept_, self.c_, self.objective_, self.n_iter_ = coef, intercept, c, value, steps
        self.pairs_, self.groups_without_pairs_ = pairs.number, pairs.without
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (N); within a group, higher scores rank above."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        score: Floats = X @ self.coef_ + self.intercept_
        return score

    def check_parameters(self) -> None:
        """Refuse invalid parameters; called by ``fit``, because a search sets them one by one."""
        if self.solver not in SOLVERS:
            raise NothingToLearn(not_one_of("solver", self.solver, SOLVERS))
        if not is_number(self.tolerance) or not 0 <= self.tolerance < 1:
            raise NothingToLearn(f"tolerance {quote(self.tolerance)} is not a number from 0 to below 1")
        check_flags(soft=self.soft, standardise=self.standardise)
        if self.c != "svmlight" if isinstance(self.c, str) else not (is_number(self.c) and 0 < self.c < np.inf):
            raise NothingToLearn(f"c {quote(self.c)} is not a number above 0, nor 'svmlight'")

    def _solve(self, X: Floats, pairs: Pairs, c: float) -> tuple[Floats, float, int]:
        """Return the optimum, its value, and the number of steps."""
        if self.solver == "liblinear":
            return _liblinear(*differences(pairs, X), c, self.tolerance)
        solved = solve(np.ascontiguousarray(X[pairs.order]), pairs.rows, c, tolerance=self.tolerance)
        _refuse_too_large(solved.w, solved.value, solved.gradient)
        if not solved.converged:
            warnings.warn(
                f"the ranker has not converged after {solved.steps} steps: try a smaller c or standardised features",
                AdjudgeWarning,
                stacklevel=3,
            )
        return solved.w, solved.value, solved.steps


def _liblinear(difference: Floats, weight: Floats, c: float, tolerance: float) -> tuple[Floats, float, int]:
    """Return the optimum of liblinear; every second pair is reversed, because it needs two classes."""
    sign = np.where(np.arange(weight.size) % 2, -1.0, 1.0)
    if weight.size == 1:  # one pair, in both directions
        difference, weight, sign = np.vstack([difference] * 2), np.r_[weight, weight] / 2, np.array([1.0, -1.0])
    svm = LinearSVC(
        C=c, loss="squared_hinge", fit_intercept=False, dual=False, tol=tolerance, max_iter=10_000, random_state=0
    )
    svm.fit(difference * sign[:, None], sign, sample_weight=weight)
    w: Floats = svm.coef_[0]
    slack = np.maximum(0.0, 1 - difference @ w)
    return w, float(0.5 * w @ w + c * (weight @ slack**2)), int(svm.n_iter_)


def _spread(X: Floats) -> Floats:
    """Return the standard deviation of every feature (F), infinite for a feature that is constant up to rounding."""
    low, high = X.min(axis=0), X.max(axis=0)
    same = high - low <= ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return np.where(same, np.inf, X.std(axis=0))


def _no_difference(features: int) -> str:
    """Return the warning for pairs that do not differ in any feature."""
    return (
        f"none of {features:,} features differs between rows of one group: nothing is learned, and all rows of a group "
        "have the same score"
    )


def _refuse_too_large(*numbers: Any) -> None:
    """Refuse results that are not finite."""
    if not all(np.isfinite(number).all() for number in numbers):
        raise NothingToLearn("the features, weights or c are too large and overflow: rescale them")


def _cost(c: float | str | None, X: Floats) -> float:
    """Return the cost of slack."""
    if isinstance(c, str):  # svmlight's
        length = float((X**2).sum(axis=1).mean())
        return 1 / length if length > 0 else 1.0
    assert c is not None  # refused by ``check_parameters``
    return float(c)
