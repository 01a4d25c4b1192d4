"""crowd-kit's MajorityVote, DawidSkene and OneCoinDawidSkene over ``adjudge.fit``.

>>> import pandas as pd
>>> from adjudge.compat.crowdkit import DawidSkene
>>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 1, 1]})
>>> DawidSkene(n_iter=100).fit_predict(table).to_dict()
{'a': 0, 'b': 1}

Constructors, ``fit``, ``fit_predict``, ``fit_predict_proba`` and attributes are as crowd-kit's users know them,
except for initial error matrices, which are not taken. What differs, on purpose: ``tol`` is a rise of the log
likelihood a judgment (crowd-kit adds the log prior once a label, and may stop after two steps); the climb leaps,
so ``n_iter`` counts passes over the data; of tied labels the first in order is given, whatever the version of
pandas.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.judgments.read import read
from adjudge.models.fit import fit
from adjudge.models.record import Fit

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise MissingExtra("pandas", "adjudge.compat.crowdkit") from error

COLUMNS = ["task", "worker", "label"]


class _Aggregator:
    """What crowd-kit's classifiers share: task, worker, label in; a Series or frame indexed by task out."""

    model: str

    def __init__(self, n_iter: int = 100, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> Self:
        """Fit the model; ``true_labels`` is indexed by task."""
        return self._fitted(data[COLUMNS], None if true_labels is None else true_labels.to_dict())

    def fit_predict(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.Series:
        """Return the consensus label of every task."""
        return self.fit(data, true_labels).labels_

    def fit_predict_proba(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.DataFrame:
        """Return the probability of every label (columns) for every task."""
        return self.fit(data, true_labels).probas_

    def _fitted(self, data: pd.DataFrame, gold: dict[Any, Any] | None = None) -> Self:
        """Fit and set the attributes that crowd-kit's users know."""
        table = read(data, item="task", judge="worker", label="label")
        found = fit(table, self.model, gold, ties="first", iterations=self.n_iter, tolerance=self.tol)
        labels = pd.Index(found.scale.labels, name="label")
        tasks = pd.Index(found.items.to_list(), name="task")
        self.labels_ = pd.Series(labels.to_numpy()[found.label], tasks, name="agg_label")
        self.probas_ = pd.DataFrame(np.array(found.posterior), tasks, labels)
        self.priors_ = pd.Series(found.params.prevalence[0], labels, name="prior")
        self._of_workers(found, labels, pd.Index(found.judge_names.to_list(), name="worker"))
        return self

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set what the model says of workers."""


class DawidSkene(_Aggregator):
    """Dawid-Skene: ``labels_``, ``probas_``, ``priors_``, ``errors_``, ``loss_history_``."""

    model = "dawid-skene"

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the error matrices: indexed by worker and observed label, a column a true label."""
        J, Z, K = found.params.confusion.shape
        index = pd.MultiIndex.from_product([workers, labels], names=["worker", "label"])
        table = found.params.confusion.transpose(0, 2, 1).reshape(J * K, Z)
        self.errors_ = pd.DataFrame(table, index, pd.Index(found.scale.labels))
        self.loss_history_ = [evidence / found.judged.sum() for evidence in found.evidence]


class OneCoinDawidSkene(DawidSkene):
    """One coin a worker: as ``DawidSkene``, and ``skills_``."""

    model = "one-coin"

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the error matrices and the probability of being right."""
        super()._of_workers(found, labels, workers)
        self.skills_ = pd.Series(found.params.confusion[:, 0, 0], workers, name="skill")


class MajorityVote(_Aggregator):
    """The vote, weighted by ``skills`` where they are given: ``labels_``, ``probas_``, ``skills_``."""

    model = "majority"

    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error") -> None:
        super().__init__()
        if on_missing_skill not in ("error", "ignore", "value"):
            raise UsageError(f"on_missing_skill {on_missing_skill!r} is not one of 'error', 'ignore', 'value'")
        self.on_missing_skill, self.default_skill = on_missing_skill, default_skill

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Fit the vote; ``skills`` (indexed by worker) says how much each worker's vote counts."""
        table = data[COLUMNS]
        return self._fitted(table if skills is None else self._weighed(table, skills))

    def fit_predict(self, data: pd.DataFrame, skills: pd.Series | None = None) -> pd.Series:
        """Return the consensus label of every task."""
        return self.fit(data, skills).labels_

    def fit_predict_proba(self, data: pd.DataFrame, skills: pd.Series | None = None) -> pd.DataFrame:
        """Return the share of every label (columns) for every task."""
        return self.fit(data, skills).probas_

    def _weighed(self, table: pd.DataFrame, skills: pd.Series) -> pd.DataFrame:
        """Return the table with a weight a row, missing skills handled as the constructor was told."""
        weight = table["worker"].map(skills.to_dict())
        missing = weight.isna()
        if missing.any() and self.on_missing_skill == "error":
            raise InputError(
                f"worker '{table['worker'][missing].iloc[0]}' has no skill (on_missing_skill allows it)", "skills"
            )
        if self.on_missing_skill == "value":
            weight = weight.fillna(self.default_skill)
        return table.assign(weight=weight)[weight.notna()]

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set each worker's agreement with the vote."""
        self.skills_ = pd.Series(np.array(found.accuracy), workers, name="skill")
