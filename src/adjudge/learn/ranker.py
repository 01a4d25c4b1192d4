"""What rankers have in common, however they learn: they score rows, and are judged by the pairs they order rightly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from adjudge.arrays import Floats
from adjudge.learn.pairs import concordance
from adjudge.learn.scikit import BaseEstimator


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A ranker of scikit-learn's kind; ``decision_function`` is its own."""

    def predict(self, X: Any) -> Floats:
        """Return the score of every row (N), as ``decision_function`` does."""
        scores: Floats = self.decision_function(X)
        return scores

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the share of pairs that are in the right order, ties counting half."""
        return concordance(self.decision_function(X), y, groups, sample_weight)

    def save(self, folder: str | Path) -> None:
        """Save to a folder of open files (JSON, NPZ, text); ``load_ranker`` reads it."""
        from adjudge.learn.saved_ranker import save

        save(self, folder)
