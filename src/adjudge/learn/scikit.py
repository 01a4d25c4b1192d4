"""The parts of scikit-learn that are used here, or the line to type: the one place that imports it."""

from __future__ import annotations

from adjudge.errors import MissingExtra

try:
    from sklearn.base import BaseEstimator, clone  # type: ignore[import-untyped]
    from sklearn.metrics import make_scorer  # type: ignore[import-untyped]
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]
    from sklearn.utils.validation import check_is_fitted, validate_data  # type: ignore[import-untyped]
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with it
except ImportError as error:
    raise MissingExtra("'adjudge[learn]'", "learning to rank") from error

__all__ = [
    "BaseEstimator",
    "LinearSVC",
    "check_is_fitted",
    "clone",
    "make_scorer",
    "threadpool_limits",
    "validate_data",
]
