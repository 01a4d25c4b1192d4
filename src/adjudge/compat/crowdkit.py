"""crowd-kit's aggregators of labels over ``adjudge.fit``.

>>> import pandas as pd
>>> from adjudge.compat.crowdkit import DawidSkene
>>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 1, 1]})
>>> DawidSkene(n_iter=100).fit_predict(table).to_dict()
{'a': 0, 'b': 1}

Constructors, ``fit``, ``fit_predict``, ``fit_predict_proba`` and attributes are as crowd-kit's users know them,
except for initial error matrices, priors, and what steers an optimiser that is not used here: these are not taken.
What differs, on purpose: ``tol`` is a rise of the log likelihood a judgment (crowd-kit adds the log prior once a
label, and may stop after two steps); the climb leaps, so ``n_iter`` counts passes over the data; of tied labels the
first in order is given, whatever the version of pandas. Nothing begins at random: ``random_state`` and ``n_restarts``
are taken and change nothing.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.read import read
from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.inference.fit import fit
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit

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
        labels = self._answered(found)
        self.priors_ = pd.Series(found.params.prevalence[0], labels, name="prior")
        self._of_workers(found, labels, pd.Index(found.judge_names.to_list(), name="worker"))
        return self

    def _answered(self, found: Fit) -> pd.Index:
        """Set the answers, and return the labels."""
        labels = pd.Index(found.scale.labels, name="label")
        tasks = pd.Index(found.items.to_list(), name="task")
        self.labels_ = pd.Series(labels.to_numpy()[found.label], tasks, name="agg_label")
        self.probas_ = pd.DataFrame(np.array(found.posterior), tasks, labels)
        return labels

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


class GLAD(_Aggregator):
    """Abilities and ease: ``labels_``, ``probas_``, ``priors_``, ``alphas_``, ``betas_``, ``loss_history_``.

    An ability is the most likely one, as in crowd-kit. A beta is the mean of the log of an item's ease, which is
    integrated out here; crowd-kit climbs in it.
    """

    model = "glad"

    def __init__(self, n_iter: int = 100, tol: float = 1e-5, silent: bool = True) -> None:
        super().__init__(n_iter, tol)
        self.silent = silent

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set abilities, and the logs of ease."""
        self.alphas_ = pd.Series(found.params.skill[:, 0], workers, name="alpha")
        self.betas_ = pd.Series(-np.log(found.more[:, 0]), self.labels_.index, name="beta")
        self.loss_history_ = [evidence / found.judged.sum() for evidence in found.evidence]


class MACE(_Aggregator):
    """Knowing or spamming: ``labels_``, ``probas_``, ``spamming_`` (spams, knows), ``thetas_`` (labels when spamming).

    A row a worker, a column of ``thetas_`` a label, which crowd-kit leaves without names.
    """

    model = "mace"

    def __init__(self, n_restarts: int = 10, n_iter: int = 50, *, random_state: int = 0, verbose: int = 0) -> None:
        super().__init__(n_iter)
        self.n_restarts, self.random_state, self.verbose = n_restarts, random_state, verbose

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set how often each worker spams, and with which labels."""
        chance = np.exp(found.params.skill)  # (J, 1 + K) knows, or spams with each label
        spam = chance[:, 1:].sum(axis=1)
        self.spamming_ = pd.DataFrame(np.column_stack([spam, chance[:, 0]]), workers, ["spams", "knows"])
        self.thetas_ = pd.DataFrame(chance[:, 1:] / spam[:, None], workers, labels)


class KOS(_Aggregator):
    """Messages between tasks and workers, of two labels: ``labels_``, ``probas_`` (shares of the weight).

    Messages go ten rounds, whatever ``n_iter`` says; labels rarely change after the third.
    """

    model = "kos"

    def __init__(self, n_iter: int = 100, random_state: int = 0) -> None:
        super().__init__(n_iter)
        self.random_state = random_state


class _Skilled(_Aggregator):
    """What weighs votes by skills: ``skills_``, and ``predict`` of other tasks by the same workers."""

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus label of every task, with the workers as they were fitted."""
        self._predicted(data)
        return self.labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of every label (columns) for every task, with the workers as they were fitted."""
        self._predicted(data)
        return self.probas_

    def _predicted(self, data: pd.DataFrame) -> None:
        """Set the answers for other tasks."""
        if not hasattr(self, "_found"):
            raise UsageError(f"{type(self).__name__} has no skills yet: call fit before predict")
        scale = self._found.scale
        table = read(data[COLUMNS], item="task", judge="worker", label="label", labels=scale.labels)
        self._answered(predict(self._found, table))

    def _of_workers(self, found: Fit, labels: pd.Index, workers: pd.Index) -> None:
        """Set what a worker's vote counts."""
        self._found = found
        self.skills_ = pd.Series(self._skills(found), workers, name="skill")

    def _skills(self, found: Fit) -> Floats:
        """Return each worker's probability of being right."""
        right: Floats = found.params.confusion[:, 0, 0]
        return right


class Wawa(_Skilled):
    """Votes weighed by agreement with the majority: ``labels_``, ``probas_``, ``skills_``."""

    model = "wawa"

    def __init__(self) -> None:
        super().__init__()


class ZeroBasedSkill(_Skilled):
    """The same, with the weighted vote in the majority's place until no label changes; there are no learning rates."""

    model = "zbs"

    def __init__(self, n_iter: int = 100) -> None:
        super().__init__(n_iter)


class MMSR(_Skilled):
    """Skills from agreement of pairs: ``labels_``, ``probas_``, ``skills_`` (what a vote weighs)."""

    model = "m-msr"

    def __init__(self, n_iter: int = 10_000, tol: float = 1e-10, random_state: int | None = 0) -> None:
        super().__init__(n_iter, tol)
        self.random_state = random_state

    def _skills(self, found: Fit) -> Floats:
        """Return log((K - 1) p / (1 - p)) of each worker's probability p of being right."""
        right = super()._skills(found)
        weight: Floats = np.log((len(found.scale) - 1) * right / (1 - right))
        return weight
