"""Models of workers who err: Dawid-Skene, GLAD, MACE, KOS and M-MSR, computed by adjudge's models.

``n_iter`` is the number of times that the probabilities of tasks are computed, as in crowd-kit; with 0, they are vote
shares. EM is accelerated, so that more than a few of these passes are worth more than crowd-kit's. ``tol`` is the
improvement of the log-likelihood per answer. Nothing is initialised at random: ``random_state`` and ``n_restarts`` are
accepted and have no effect.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from adjudge.arrays import Codes, Floats
from adjudge.compat.crowdkit.base import (
    COLUMNS,
    Answers,
    BaseClassificationAggregator,
    encode,
    evidence_per_answer,
    gold_codes,
)
from adjudge.compat.crowdkit.votes import MajorityVote
from adjudge.compat.value_errors import ArgumentValueError, DataValueError
from adjudge.data.judgments import Judgments
from adjudge.errors import not_one_of, quote, quoted
from adjudge.inference.components import EQUAL, SOFT, by_vote_shares
from adjudge.inference.infer import infer, parallel_blocks
from adjudge.inference.model import Model, model_named
from adjudge.inference.options import Options
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count
from adjudge.models.mace import expected_chances, variational
from adjudge.models.vote import shares

STRATEGIES = ("assign", "addition")
METHODS = ("vb", "em")


class _Aggregator(BaseClassificationAggregator):
    """What the models share: EM with the passes and the tolerance of the constructor."""

    model: str

    def __init__(self, n_iter: int = 100, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol

    def fit(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> Self:
        """Fit the model; ``true_labels`` is indexed by task."""
        if not len(data[COLUMNS]):
            self._set_empty()
            return self
        answers = encode(data, true_labels)
        gold = gold_codes(answers, true_labels)
        fit = self._infer(model_named(self.model), answers, answers.judgments, gold)
        self._set_labels(answers, fit.posterior, fit.label)
        self._set_fit(answers, fit)
        return self

    def _infer(self, model: Model, answers: Answers, judgments: Judgments, gold: Codes | None) -> Fit:
        """Return the fit of a model after ``n_iter`` passes at most."""
        if self.n_iter <= 1 and model.rounds is None:
            model = replace(model, rounds=0)
        options = Options(ties="first", tolerance=max(self.tol, 0.0), iterations=max(self.n_iter - 1, 1))
        return infer(model, judgments, gold, options)

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set the attributes of the model."""


class DawidSkene(_Aggregator):
    """Dawid-Skene: ``labels_``, ``probas_``, ``priors_``, ``errors_``, ``loss_history_``.

    ``priors_`` and ``errors_`` are those that follow from ``probas_``. ``initial_error`` of ``fit`` has what is known
    about the workers, in the layout of ``errors_``: with ``initial_error_strategy`` ``"addition"``, counts of earlier
    answers that are added to those of the first step; with ``"assign"``, the matrices at which EM starts.
    """

    model = "dawid-skene"
    priors_: pd.Series
    errors_: pd.DataFrame
    loss_history_: list[float]

    def __init__(self, n_iter: int = 100, tol: float = 1e-5, initial_error_strategy: str | None = None) -> None:
        super().__init__(n_iter, tol)
        if initial_error_strategy not in (None, *STRATEGIES):
            raise ArgumentValueError(
                f"initial_error_strategy {initial_error_strategy!r} is not one of {quoted(STRATEGIES)}"
            )
        self.initial_error_strategy = initial_error_strategy

    def fit(
        self,
        data: pd.DataFrame,
        true_labels: pd.Series | None = None,
        initial_error: pd.DataFrame | None = None,
    ) -> Self:
        """Fit the model; ``true_labels`` is indexed by task, ``initial_error`` by worker and label."""
        self._initial_error: Any = None if self.initial_error_strategy is None else initial_error
        return super().fit(data, true_labels)

    def _infer(self, model: Model, answers: Answers, judgments: Judgments, gold: Codes | None) -> Fit:
        """Return the fit, which starts at the initial errors if there are any, with params that follow from it."""
        if self._initial_error is not None:
            counts, blocks = self._initial_counts(answers), len(parallel_blocks(judgments.block()))
            model = _starting_from(model, counts / blocks, self.initial_error_strategy == "assign")
        if self.n_iter <= 0:
            return super()._infer(replace(model, assignment=replace(SOFT, posterior=shares)), answers, judgments, gold)
        fit = super()._infer(model, answers, judgments, gold)
        return replace(fit, params=model.estimate(count(judgments.block(gold), fit.posterior), fit.params))

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        super()._set_empty()
        self.priors_, self.errors_, self.loss_history_ = pd.Series(dtype=float, name="prior"), pd.DataFrame(), []

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set the prior, and the error matrices: indexed by worker and observed label, one column per true label."""
        J, Z, K = fit.params.confusion.shape
        index = pd.MultiIndex.from_product([answers.workers, answers.labels], names=["worker", "label"])
        table = fit.params.confusion.transpose(0, 2, 1).reshape(J * K, Z)
        self.errors_ = pd.DataFrame(table, index, answers.labels)
        if self._initial_error is not None and self.initial_error_strategy == "assign":
            self.errors_ = self.errors_.reindex(self._initial_error.index)  # in the order of the user
        self.priors_ = pd.Series(fit.params.prevalence[0], answers.labels.rename("label"), name="prior")
        self.loss_history_ = evidence_per_answer(fit)

    def _initial_counts(self, answers: Answers) -> Floats:
        """Return the initial errors as counts (J, true label, observed label); refuse what they lack."""
        initial = self._initial_error
        if list(initial.index.names) != ["worker", "label"]:
            raise DataValueError(
                f"the index has the names {quoted(initial.index.names)}, expected 'worker', 'label'", "initial_error"
            )
        missing = answers.labels.difference(initial.columns)
        if len(missing):
            raise DataValueError(f"there is no column for the true label {quote(missing[0])}", "initial_error")
        if self.initial_error_strategy == "assign":
            _refuse_partial(answers, initial)
        index = pd.MultiIndex.from_product([answers.workers, answers.labels])
        table = initial.reindex(index=index, columns=answers.labels).fillna(0.0).to_numpy(float)  # (J * K, Z)
        counts: Floats = table.reshape(len(answers.workers), len(answers.labels), -1).transpose(0, 2, 1)
        return counts


class OneCoinDawidSkene(DawidSkene):
    """One-coin Dawid-Skene: the attributes of ``DawidSkene``, and ``skills_``."""

    model = "one-coin"
    skills_: pd.Series

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        super()._set_empty()
        self.skills_ = pd.Series(dtype=float, name="skill")

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set the error matrices and the accuracies."""
        super()._set_fit(answers, fit)
        self.skills_ = pd.Series(fit.params.confusion[:, 0, 0], answers.workers.rename("worker"), name="skill")


class GLAD(_Aggregator):
    """GLAD: ``labels_``, ``probas_``, ``priors_``, ``alphas_`` (abilities), ``betas_`` (ease), ``loss_history_``.

    An ability is a posterior mode, as in crowd-kit. A beta is the posterior mean of the log of a task's ease, which is
    integrated out here; crowd-kit maximises over it. Its M-step has no settings.
    """

    model = "glad"
    priors_: pd.Series
    alphas_: pd.Series
    betas_: pd.Series
    loss_history_: list[float]

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-5,
        silent: bool = True,
        *,
        m_step_max_iter: int = 25,
        m_step_tol: float = 1e-2,
    ) -> None:
        super().__init__(n_iter, tol)
        self.silent, self.m_step_max_iter, self.m_step_tol = silent, m_step_max_iter, m_step_tol

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        super()._set_empty()
        self.alphas_, self.betas_ = pd.Series(dtype=float, name="alpha"), pd.Series(dtype=float, name="beta")
        self.priors_, self.loss_history_ = pd.Series(dtype=float, name="prior"), []

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set the prior, the abilities and the logs of ease."""
        self.priors_ = pd.Series(fit.params.prevalence[0], answers.labels.rename("label"), name="prior")
        self.alphas_ = pd.Series(fit.params.skill[:, 0], answers.workers.rename("worker"), name="alpha")
        self.betas_ = pd.Series(-np.log(fit.more[:, 0]), answers.tasks.rename("task"), name="beta")
        self.loss_history_ = evidence_per_answer(fit)


class MACE(_Aggregator):
    """MACE: ``labels_``, ``probas_``, ``spamming_`` (spams, knows), ``thetas_`` (labels when spamming).

    The tables have one row per worker. With ``method`` ``"vb"`` they are exponentials of expected logarithms, which sum
    to less than one; with ``"em"`` they are probabilities. The columns of ``thetas_`` are named by label; crowd-kit
    numbers them. All true labels are equally common, as in the paper.
    """

    model = "mace"
    spamming_: pd.DataFrame
    thetas_: pd.DataFrame

    def __init__(
        self,
        n_restarts: int = 10,
        n_iter: int = 50,
        method: str = "vb",
        smoothing: float = 0.1,
        default_noise: float = 0.5,
        alpha: float = 0.5,
        beta: float = 0.5,
        random_state: int = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(n_iter)
        if method not in METHODS:
            raise ArgumentValueError(not_one_of("method", method, METHODS))
        self.n_restarts, self.method, self.alpha, self.beta = n_restarts, method, alpha, beta
        self.smoothing, self.default_noise = smoothing, default_noise
        self.random_state, self.verbose = random_state, verbose

    def _infer(self, model: Model, answers: Answers, judgments: Judgments, gold: Codes | None) -> Fit:
        """Return the fit of the variant."""
        model = replace(model, prevalence=EQUAL) if self.method == "em" else variational(self.alpha, self.beta)
        return super()._infer(model, answers, judgments, gold)

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set how often each worker spams, and with which labels."""
        if self.method == "vb":
            states, labels = expected_chances(fit.params.skill)
        else:
            chance = np.exp(fit.params.skill)  # (J, 1 + K) knows, or spams with each label
            spam = chance[:, 1:].sum(axis=1)
            states, labels = np.column_stack([spam, chance[:, 0]]), chance[:, 1:] / spam[:, None]
        workers = answers.workers.rename("worker")
        self.spamming_ = pd.DataFrame(states, workers, ["spams", "knows"])
        self.thetas_ = pd.DataFrame(labels, workers, answers.labels.rename("label"))


class KOS(_Aggregator):
    """KOS, message passing for two labels: ``labels_``, ``probas_`` (shares of the weight).

    There are ten rounds of messages at most; labels rarely change after the third.
    """

    model = "kos"

    def __init__(self, n_iter: int = 100, random_state: int = 0) -> None:
        super().__init__(n_iter)
        self.random_state = random_state

    def _infer(self, model: Model, answers: Answers, judgments: Judgments, gold: Codes | None) -> Fit:
        """Return the fit; refuse any number of labels but two."""
        if len(answers.labels) != 2:
            raise DataValueError(f"KOS takes two labels, and there are {len(answers.labels)}: {quoted(answers.labels)}")
        return super()._infer(replace(model, rounds=min(self.n_iter, model.rounds or 0)), answers, judgments, gold)

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        super()._set_empty()
        self.labels_ = pd.Series(dtype=object, name="agg_label")


class MMSR(_Aggregator):
    """M-MSR, skills from the agreement of workers: ``labels_``, ``scores_`` (shares of the weight), ``skills_``.

    A skill is the weight of a worker's votes, below zero for a worker who tends to the opposite.
    """

    model = "m-msr"
    skills_: pd.Series
    scores_: pd.DataFrame

    def __init__(self, n_iter: int = 10_000, tol: float = 1e-10, random_state: int | None = 0) -> None:
        super().__init__(n_iter, tol)
        self.random_state = random_state

    def fit_predict_score(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of every label (columns) in the weighted vote on every task."""
        return self.fit(data).scores_

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus label of every task, with the fitted skills."""
        self._predict(data)
        return self.labels_

    def predict_score(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of every label (columns) in the weighted vote on every task, with the fitted skills."""
        self._predict(data)
        return self.scores_

    def _predict(self, data: pd.DataFrame) -> None:
        """Set the labels and the scores of tasks."""
        if not hasattr(self, "skills_"):
            raise ArgumentValueError("MMSR has no skills yet: call fit before predict")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.scores_ = vote.labels_, vote.probas_

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        super()._set_empty()
        self.skills_, self.scores_ = pd.Series(dtype=float, name="skill"), pd.DataFrame()

    def _set_fit(self, answers: Answers, fit: Fit) -> None:
        """Set the weights log((K - 1) p / (1 - p)), where p is the accuracy of a worker, and the scores."""
        accuracy = fit.params.confusion[:, 0, 0]
        weight: Floats = np.log((len(answers.labels) - 1) * accuracy / (1 - accuracy))
        self.skills_ = pd.Series(weight, answers.workers.rename("worker"), name="skill")
        tasks, labels = answers.tasks.rename("task"), answers.labels.rename("label")
        self.scores_ = pd.DataFrame(answers.weighted_votes(weight), tasks, labels)


def _starting_from(model: Model, counts: Floats, assign: bool) -> Model:
    """Return a model whose first counts of labels are these (J, Z, K), or the votes with these in addition.

    The matrices say which truth has which name, so that EM keeps the names.
    """

    def start(block: Block, params: Params) -> Tally:
        tally = by_vote_shares(block, params)
        return tally._replace(label=counts + (0 if assign else tally.label))

    return replace(model, starts={"initial": start}, confusion=replace(model.confusion, free=False))


def _refuse_partial(answers: Answers, initial: Any) -> None:
    """Refuse initial errors of some workers only, and probabilities that do not sum to one."""
    missing = answers.workers.difference(initial.index.get_level_values("worker"))
    if len(missing):
        raise DataValueError(
            f"worker {quote(missing[0])} has no matrix: 'assign' needs one of every worker, 'addition' does not",
            "initial_error",
        )
    sums = initial.groupby("worker", sort=False).sum()
    if (initial <= 1).all().all() and not np.allclose(sums, 1):
        worker = sums.index[~np.isclose(sums, 1).all(axis=1)][0]
        raise DataValueError(
            f"The sum of each worker's error matrix in initial_error should be 1.0 for every true label (column), "
            f"and that of worker {quote(worker)} is not"
        )
