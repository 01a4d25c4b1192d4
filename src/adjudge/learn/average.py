"""``AverageRanker``: the average of the scores of linear rankers and trees.

The scores of each ranker are divided by their standard deviation within the groups of the training rows, so that each
has as much effect on the order as its weight says. The linear rankers are then one linear function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.learn.lambdamart import LambdaMART, boosted_scores
from adjudge.learn.pairs import NothingToLearn, group_codes
from adjudge.learn.ranker import Ranker, warn_without_groups
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import check_is_fitted, clone, validate_data

ROUNDING = 1e-12  # a standard deviation below this share of the largest score is rounding


class AverageRanker(Ranker):
    """A weighted average of rankers.

    Parameters
    ----------
    rankers : sequence of RankSVM and LambdaMART
        They are copied, and not changed by ``fit``.
    weights : sequence of float, optional
        One weight above 0 per ranker. By default all are equal.

    Attributes
    ----------
    coef_ : array (F), of the linear rankers together, in the units of the features
    intercept_ : float
    trees_ : tuple of str, the trees of each ``LambdaMART`` as LightGBM writes them
    tree_weights_ : array, what the scores of the trees are multiplied by
    pairs_ : int, the largest number of pairs that a ranker learned from
    groups_without_pairs_ : int, the smallest number of groups without a pair

    A ranker that was loaded from a folder has the attributes, but no ``rankers`` to be trained again.

    >>> X, y, question = [[0.0, 3.0], [1.0, 2.0], [5.0, 0.0], [4.0, 1.0]], [0, 1, 1, 0], ["a", "a", "b", "b"]
    >>> ranker = AverageRanker([RankSVM(0.1), RankSVM(10.0)]).fit(X, y, question)
    >>> ranker.predict(X).argmax(), ranker.coef_.size
    (np.int64(2), 2)

    """

    def __init__(self, rankers: Sequence[Any] = (), weights: Sequence[float] | None = None) -> None:
        self.rankers = rankers
        self.weights = weights

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> AverageRanker:
        """Train every ranker on rows X (N, F) with targets y (N)."""
        self.check_parameters()
        if not self.rankers:
            raise NothingToLearn("an average of no rankers cannot be trained: give rankers")
        warn_without_groups(groups, "fit")
        same = np.zeros(len(y)) if groups is None else groups  # one group, without a second warning
        return self.combine([clone(ranker).fit(X, y, same, sample_weight) for ranker in self.rankers], X, same)

    def combine(self, fitted: Sequence[Any], X: Any, groups: Any) -> AverageRanker:
        """Average rankers that are trained already, on rows X (N, F) or rows like them."""
        validate_data(self, X, dtype=np.float64)
        code, _ = group_codes(groups, len(groups))
        weights = np.ones(len(fitted)) if self.weights is None else np.asarray(self.weights, dtype=float)
        scale = [share / spread_within(r.decision_function(X), code) for share, r in zip(weights, fitted, strict=True)]
        linear = [(w, ranker) for w, ranker in zip(scale, fitted, strict=True) if isinstance(ranker, RankSVM)]
        trees = [(w, ranker) for w, ranker in zip(scale, fitted, strict=True) if isinstance(ranker, LambdaMART)]
        self.coef_: Floats = np.zeros(self.n_features_in_) + sum(w * ranker.coef_ for w, ranker in linear)
        self.intercept_ = float(sum(w * ranker.intercept_ for w, ranker in linear))
        self.trees_ = tuple(ranker.trees_ for _, ranker in trees)
        self.tree_weights_: Floats = np.array([w for w, _ in trees], dtype=float)
        self.pairs_ = max(ranker.pairs_ for ranker in fitted)
        self.groups_without_pairs_ = min(ranker.groups_without_pairs_ for ranker in fitted)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the score of every row (N); within a group, higher scores rank above."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        score: Floats = X @ self.coef_ + self.intercept_
        for weight, trees in zip(self.tree_weights_.tolist(), self.trees_, strict=True):
            score = score + weight * boosted_scores(trees, X)
        return score

    def check_parameters(self) -> None:
        """Refuse rankers that cannot be averaged, and weights that are not one per ranker."""
        for ranker in self.rankers:
            if not isinstance(ranker, RankSVM | LambdaMART):
                raise NothingToLearn(f"{type(ranker).__name__} cannot be averaged; RankSVM and LambdaMART can")
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=float)
            if weights.shape != (len(self.rankers),) or not ((weights > 0) & (weights < np.inf)).all():
                raise NothingToLearn(f"weights must be {len(self.rankers):,} numbers above 0, one for each ranker")


def spread_within(score: Floats, code: Codes) -> float:
    """Return the standard deviation of scores (N) within groups; infinite if scores are equal within every group.

    >>> spread_within(np.array([1.0, 3.0, 11.0, 13.0]), np.array([0, 0, 1, 1]))
    1.0
    """
    size = np.bincount(code)
    mean = np.bincount(code, score) / np.maximum(size, 1)
    spread = float(np.sqrt(np.mean((score - mean[code]) ** 2)))
    return spread if spread > ROUNDING * float(np.abs(score).max()) else float("inf")
