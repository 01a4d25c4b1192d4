"""A scikit-learn estimator: items are samples, judges are features, and labels are the values.

>>> import numpy as np
>>> from adjudge.compat.sklearn import Consensus
>>> X = np.array([["no", "no", "yes"], ["yes", "yes", "yes"], ["no", "no", None], ["yes", "no", "yes"]], dtype=object)
>>> Consensus("majority").fit_predict(X).tolist()
['no', 'yes', 'no', 'yes']
"""

from __future__ import annotations

from dataclasses import fields
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.compat.value_errors import ArgumentValueError, DataValueError
from adjudge.compat.wide import is_missing, wide_judgments
from adjudge.data.judgments import Judgments
from adjudge.errors import MissingExtra, not_one_of, quote, quoted
from adjudge.inference.fit import fit as fit_model
from adjudge.inference.model import MODELS, model_named
from adjudge.inference.options import options_of
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit

try:
    from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
    from sklearn.utils.validation import (  # type: ignore[import-untyped]
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ModuleNotFoundError as error:
    raise MissingExtra("scikit-learn", "adjudge.compat.sklearn") from error


class Consensus(BaseEstimator):  # type: ignore[misc]
    """The consensus of judges as a scikit-learn estimator.

    Parameters
    ----------
    model
        A name of ``adjudge.MODELS``, or ``"auto"``; see ``adjudge models``.
    random_state
        The seed of sampled models and of calibration. Of tied labels, the first is predicted.

    Attributes
    ----------
    classes_
        The labels, in order.
    labels_
        The consensus label of every item that was fitted.
    fit_
        The ``adjudge.Fit``, in which items, judges and labels are named by their number.

    Examples
    --------
    >>> X = np.array([[0, 0, 1], [1, 1, np.nan], [0, 0, 0], [1, 0, 1]])
    >>> consensus = Consensus("dawid-skene").fit(X)
    >>> consensus.predict(np.array([[1, 1, np.nan]])).tolist()
    [1.0]
    """

    def __init__(self, model: str = "consensus", *, random_state: int = 0) -> None:
        self.model = model
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to a wide array of labels.

        Parameters
        ----------
        X
            One row per item and one column per judge: numbers or texts, NaN or None where a judge gave no label.
        y
            Gold: the true label of every item, NaN or None where it is unknown.
        """
        if self.model != "auto" and self.model not in MODELS:
            raise ArgumentValueError(not_one_of("model", self.model, ("auto", *MODELS)))
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        _refuse_infinite(X)
        gold = None
        values = X[~is_missing(X)]
        if y is not None:
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            gold = y[~is_missing(y)]
            values = np.concatenate([values.astype(object), gold.astype(object)]) if gold.size else values
        if not values.size:
            raise DataValueError("X has no label")
        self.classes_ = _sorted(values)
        truths = None if gold is None or not gold.size else _codes(y[:, None], self.classes_, "y")[:, 0]
        judgments = wide_judgments(_codes(X, self.classes_, "X"), len(self.classes_))
        self.fit_ = fit_model(judgments, self.model, truths, seed=self.random_state, ties="first")
        self.labels_ = self.classes_[self.fit_.label]
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Return the consensus label of every item."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> Any:
        """Return the consensus label of new items, with what was learned about the judges."""
        label = self._predict(X).label
        return self.classes_[label]

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every label (columns, as ``classes_``) of new items."""
        return np.array(self._predict(X).posterior)

    def score(self, X: Any, y: Any) -> float:
        """Return the share of items whose predicted label is ``y``; items without ``y`` do not count."""
        y = column_or_1d(y)
        is_known = ~is_missing(y)
        return float(np.mean(self.predict(X)[is_known] == y[is_known]))

    def _predict(self, X: Any) -> Fit:
        """Return the consensus of new items."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=False)
        judgments: Judgments = wide_judgments(_codes(X, self.classes_, "X"), len(self.classes_))
        return predict(self.fit_, judgments)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle, in which the model of a fit is named: functions cannot be pickled."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "fit_" in state:
            parts = {part.name: getattr(state["fit_"], part.name) for part in fields(Fit)}
            state["fit_"] = parts | {"definition": parts["definition"].name, "options": dict(parts["options"])}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickled state."""
        if "fit_" in state:
            options = options_of(state["fit_"]["options"])
            model = model_named(state["fit_"]["definition"]).variant(options.prior, options.prevalence)
            parts = state["fit_"] | {"definition": model, "options": MappingProxyType(state["fit_"]["options"])}
            state = state | {"fit_": Fit(**parts)}
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        """Labels are categories, and may be missing or texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.string = True
        return tags


def _refuse_infinite(X: Any) -> None:
    """Refuse infinite numbers, which are no labels."""
    if X.dtype.kind == "f" and np.isinf(X).any():
        raise DataValueError("Input X contains infinity, which is no label")


def _sorted(values: Any) -> Any:
    """Return the different values, in order."""
    if values.dtype.kind != "O":
        return np.unique(values)
    listed = values.tolist()
    strange = next((value for value in listed if not isinstance(value, str | bool | int | float | np.generic)), None)
    if strange is not None:
        raise TypeError(f"a label is a {type(strange).__name__}: the argument must be a string or a number")
    kinds = {isinstance(value, str) for value in listed}
    if len(kinds) > 1:
        raise DataValueError("some labels are texts and some are numbers: give labels of one type")
    return np.array(sorted(set(listed)), dtype=object if kinds == {True} else None)


def _codes(values: Any, classes: Any, name: str) -> Codes:
    """Return the code of every label, -1 if it is missing; refuse labels that were not fitted."""
    code = np.full(values.shape, -1, np.int32)
    has_label = ~is_missing(values)
    position = {label: k for k, label in enumerate(classes.tolist())}
    try:
        code[has_label] = [position[label] for label in values[has_label].tolist()]
    except KeyError as error:
        raise DataValueError(
            f"label {quote(error.args[0])} was not fitted; the labels are {quoted(classes.tolist())}", name
        ) from None
    return code
