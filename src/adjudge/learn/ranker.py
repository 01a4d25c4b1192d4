"""What rankers have in common, however they learn: they score rows, and are judged by the pairs they order rightly."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, quote
from adjudge.learn.pairs import NothingToLearn, concordance
from adjudge.learn.scikit import BaseEstimator

ROUTE = (
    "by sklearn.set_config(enable_metadata_routing=True), .set_fit_request(groups=True, sample_weight=True)"
    ".set_score_request(groups=True, sample_weight=True) on the ranker, and cv=GroupKFold()"
)


class NoGroupsWarning(AdjudgeWarning):
    """A ranker was given no groups, and takes all rows for those of one question."""


def tell_without_groups(groups: Any, method: str) -> None:
    """Warn the caller of a ranker's method that rows of different questions are compared, if they are."""
    if groups is None:
        warnings.warn(
            f"{method} was given no groups: all rows are taken for one question, and rows of different questions are "
            f"compared. Pass groups, the question of each row; in a search over parameters, {ROUTE}. If it is one "
            "question, say so by equal groups",
            NoGroupsWarning,
            stacklevel=3,
        )


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A ranker of scikit-learn's kind; ``decision_function`` is its own."""

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn should know of it: without targets there is nothing to learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def predict(self, X: Any) -> Floats:
        """Return the score of every row (N), as ``decision_function`` does."""
        scores: Floats = self.decision_function(X)
        return scores

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the share of pairs that are in the right order, ties counting half."""
        tell_without_groups(groups, "score")
        return concordance(self.decision_function(X), y, groups, sample_weight)

    def save(self, folder: str | Path) -> None:
        """Save to a folder of open files (JSON, NPZ, text); ``load_ranker`` reads it."""
        from adjudge.learn.saved_ranker import save

        save(self, folder)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a parameter is a number, numpy's too; a bool is none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def refuse_unless_flags(**values: object) -> None:
    """Refuse a parameter that is neither True nor False: 'no' would count as True."""
    for name, value in values.items():
        if not isinstance(value, Integral | np.bool_) or value not in (0, 1):
            raise NothingToLearn(f"{name} {quote(value)} is neither True nor False")
