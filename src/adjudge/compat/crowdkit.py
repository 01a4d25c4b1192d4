"""The interface of crowd-kit's aggregators of labels, computed by ``adjudge.fit``.

>>> import pandas as pd
>>> from adjudge.compat.crowdkit import DawidSkene
>>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 1, 1]})
>>> DawidSkene(n_iter=100).fit_predict(table).to_dict()
{'a': 0, 'b': 1}

Constructors, ``fit``, ``fit_predict``, ``fit_predict_proba`` and attributes have the names and shapes of crowd-kit.
Initial error matrices, priors and settings of an optimiser are not accepted. Three things differ:

- ``tol`` is the improvement of the log-likelihood per judgment. (crowd-kit adds the log prior once per label, and may
  stop after two steps.)
- EM is accelerated, so ``n_iter`` counts passes over the data.
- Of tied labels the first in order is returned, with any version of pandas.

Nothing is initialised at random: ``random_state`` and ``n_restarts`` are accepted and have no effect.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.read import read
from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.inference.fit import fit as fit_model
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise MissingExtra("pandas", "adjudge.compat.crowdkit") from error

COLUMNS = ["task", "worker", "label"]


class _Aggregator:
    """What all aggregators share. Input has the columns task, worker and label; results are indexed by task."""

    model: str

    def __init__(self, n_iter: int = 100, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> Self:
        """Fit the model; ``true_labels`` is indexed by task."""
        return self._fit(data[COLUMNS], None if true_labels is None else true_labels.to_dict())

    def fit_predict(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.Series:
        """Return the consensus label of every task."""
        return self.fit(data, true_labels).labels_

    def fit_predict_proba(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.DataFrame:
        """Return the probability of every label (columns) for every task."""
        return self.fit(data, true_labels).probas_

    def _fit(self, data: pd.DataFrame, gold: dict[Any, Any] | None = None) -> Self:
        """Fit the model and set the attributes of crowd-kit."""
        table = read(data, item="task", judge="worker", label="label")
        fit = fit_model(table, self.model, gold, ties="first", iterations=self.n_iter, tolerance=self.tol)
        labels = self._set_labels(fit)
        self.priors_ = pd.Series(fit.params.prevalence[0], labels, name="prior")
        self._set_workers(fit, labels, pd.Index(fit.judge_names.to_list(), name="worker"))
        return self

    def _set_labels(self, fit: Fit) -> pd.Index:
        """Set the labels and probabilities of tasks, and return the labels of the scale."""
        labels = pd.Index(fit.scale.labels, name="label")
        tasks = pd.Index(fit.items.to_list(), name="task")
        self.labels_ = pd.Series(labels.to_numpy()[fit.label], tasks, name="agg_label")
        self.probas_ = pd.DataFrame(np.array(fit.posterior), tasks, labels)
        return labels

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the attributes about workers."""


class DawidSkene(_Aggregator):
    """Dawid-Skene: ``labels_``, ``probas_``, ``priors_``, ``errors_``, ``loss_history_``."""

    model = "dawid-skene"

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the error matrices: indexed by worker and observed label, one column per true label."""
        J, Z, K = fit.params.confusion.shape
        index = pd.MultiIndex.from_product([workers, labels], names=["worker", "label"])
        table = fit.params.confusion.transpose(0, 2, 1).reshape(J * K, Z)
        self.errors_ = pd.DataFrame(table, index, pd.Index(fit.scale.labels))
        self.loss_history_ = [evidence / fit.judged.sum() for evidence in fit.evidence]


class OneCoinDawidSkene(DawidSkene):
    """One-coin Dawid-Skene: the attributes of ``DawidSkene``, and ``skills_``."""

    model = "one-coin"

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the error matrices and the accuracies."""
        super()._set_workers(fit, labels, workers)
        self.skills_ = pd.Series(fit.params.confusion[:, 0, 0], workers, name="skill")


class MajorityVote(_Aggregator):
    """Majority vote, weighted by ``skills`` if given: ``labels_``, ``probas_``, ``skills_``."""

    model = "majority"

    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error") -> None:
        super().__init__()
        if on_missing_skill not in ("error", "ignore", "value"):
            raise UsageError(f"on_missing_skill {on_missing_skill!r} is not one of 'error', 'ignore', 'value'")
        self.on_missing_skill, self.default_skill = on_missing_skill, default_skill

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Fit the vote; ``skills`` (indexed by worker) are the weights of the workers' votes."""
        table = data[COLUMNS]
        return self._fit(table if skills is None else self._with_weights(table, skills))

    def fit_predict(self, data: pd.DataFrame, skills: pd.Series | None = None) -> pd.Series:
        """Return the consensus label of every task."""
        return self.fit(data, skills).labels_

    def fit_predict_proba(self, data: pd.DataFrame, skills: pd.Series | None = None) -> pd.DataFrame:
        """Return the share of every label (columns) for every task."""
        return self.fit(data, skills).probas_

    def _with_weights(self, table: pd.DataFrame, skills: pd.Series) -> pd.DataFrame:
        """Return the table with a weight per row; ``on_missing_skill`` says what happens to workers without one."""
        weight = table["worker"].map(skills.to_dict())
        missing = weight.isna()
        if missing.any() and self.on_missing_skill == "error":
            raise InputError(
                f"worker '{table['worker'][missing].iloc[0]}' has no skill (see on_missing_skill)", "skills"
            )
        if self.on_missing_skill == "value":
            weight = weight.fillna(self.default_skill)
        return table.assign(weight=weight)[weight.notna()]

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set each worker's agreement with the vote."""
        self.skills_ = pd.Series(np.array(fit.accuracy), workers, name="skill")


class GLAD(_Aggregator):
    """GLAD: ``labels_``, ``probas_``, ``priors_``, ``alphas_`` (abilities), ``betas_`` (ease), ``loss_history_``.

    An ability is a posterior mode, as in crowd-kit. A beta is the posterior mean of the log of a task's ease, which is
    integrated out here; crowd-kit maximises over it.
    """

    model = "glad"

    def __init__(self, n_iter: int = 100, tol: float = 1e-5, silent: bool = True) -> None:
        super().__init__(n_iter, tol)
        self.silent = silent

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the abilities and the logs of ease."""
        self.alphas_ = pd.Series(fit.params.skill[:, 0], workers, name="alpha")
        self.betas_ = pd.Series(-np.log(fit.more[:, 0]), self.labels_.index, name="beta")
        self.loss_history_ = [evidence / fit.judged.sum() for evidence in fit.evidence]


class MACE(_Aggregator):
    """MACE: ``labels_``, ``probas_``, ``spamming_`` (spams, knows), ``thetas_`` (labels when spamming).

    The tables have one row per worker. The columns of ``thetas_`` are named by label; crowd-kit numbers them.
    """

    model = "mace"

    def __init__(self, n_restarts: int = 10, n_iter: int = 50, *, random_state: int = 0, verbose: int = 0) -> None:
        super().__init__(n_iter)
        self.n_restarts, self.random_state, self.verbose = n_restarts, random_state, verbose

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set how often each worker spams, and with which labels."""
        chance = np.exp(fit.params.skill)  # (J, 1 + K) knows, or spams with each label
        spam = chance[:, 1:].sum(axis=1)
        self.spamming_ = pd.DataFrame(np.column_stack([spam, chance[:, 0]]), workers, ["spams", "knows"])
        self.thetas_ = pd.DataFrame(chance[:, 1:] / spam[:, None], workers, labels)


class KOS(_Aggregator):
    """KOS, message passing for two labels: ``labels_``, ``probas_`` (shares of the weight).

    There are always ten rounds of messages, whatever ``n_iter`` is; labels rarely change after the third.
    """

    model = "kos"

    def __init__(self, n_iter: int = 100, random_state: int = 0) -> None:
        super().__init__(n_iter)
        self.random_state = random_state


class _Skilled(_Aggregator):
    """Votes weighted by skills: ``skills_``, and ``predict`` for other tasks of the same workers."""

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus label of every task, with the fitted skills."""
        self._predict(data)
        return self.labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of every label (columns) for every task, with the fitted skills."""
        self._predict(data)
        return self.probas_

    def _predict(self, data: pd.DataFrame) -> None:
        """Set the labels and probabilities of other tasks."""
        if not hasattr(self, "_fit_result"):
            raise UsageError(f"{type(self).__name__} has no skills yet: call fit before predict")
        scale = self._fit_result.scale
        table = read(data[COLUMNS], item="task", judge="worker", label="label", labels=scale.labels)
        self._set_labels(predict(self._fit_result, table))

    def _set_workers(self, fit: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set the skills."""
        self._fit_result = fit
        self.skills_ = pd.Series(self._skills(fit), workers, name="skill")

    def _skills(self, fit: Fit) -> Floats:
        """Return the accuracy of each worker."""
        accuracy: Floats = fit.params.confusion[:, 0, 0]
        return accuracy


class Wawa(_Skilled):
    """Votes weighted by agreement with the majority: ``labels_``, ``probas_``, ``skills_``."""

    model = "wawa"

    def __init__(self) -> None:
        super().__init__()


class ZeroBasedSkill(_Skilled):
    """Wawa repeated with the weighted vote as the majority until no label changes; there are no learning rates."""

    model = "zbs"

    def __init__(self, n_iter: int = 100) -> None:
        super().__init__(n_iter)


class MMSR(_Skilled):
    """M-MSR, skills from the agreement of workers: ``labels_``, ``probas_``, ``skills_`` (weights of votes)."""

    model = "m-msr"

    def __init__(self, n_iter: int = 10_000, tol: float = 1e-10, random_state: int | None = 0) -> None:
        super().__init__(n_iter, tol)
        self.random_state = random_state

    def _skills(self, fit: Fit) -> Floats:
        """Return log((K - 1) p / (1 - p)), where p is the accuracy of a worker."""
        accuracy = super()._skills(fit)
        weight: Floats = np.log((len(fit.scale) - 1) * accuracy / (1 - accuracy))
        return weight
