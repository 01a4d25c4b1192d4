"""Votes: every answer counts the same, or as much as its worker has been right.

Tied labels: the first in order wins, with any version of pandas.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import pandas as pd

from adjudge.arrays import Floats
from adjudge.compat.crowdkit.base import (
    COLUMNS,
    Answers,
    BaseClassificationAggregator,
    check_on_missing_skill,
    encode,
    first_label,
    known_skills,
)
from adjudge.compat.value_errors import ArgumentValueError


class MajorityVote(BaseClassificationAggregator):
    """Majority vote, weighted by ``skills`` if given: ``labels_``, ``probas_`` (shares), ``skills_`` (agreement)."""

    skills_: pd.Series

    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error") -> None:
        check_on_missing_skill(on_missing_skill)
        self.on_missing_skill, self.default_skill = on_missing_skill, default_skill

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Fit the vote; ``skills`` (indexed by worker) are the weights of the workers' votes."""
        table = data[COLUMNS]
        if skills is not None:
            table, skill = known_skills(table, skills, self.on_missing_skill, self.default_skill)
        if not len(table):
            self._set_empty()
            self.skills_ = pd.Series(dtype=float, name="skill")
            return self
        answers = encode(table)
        weight = np.ones(len(answers.workers))
        if skills is not None:
            weight[answers.worker] = skill
        shares = answers.weighted_votes(weight)
        label = first_label(shares)
        self._set_labels(answers, shares, label)
        self.skills_ = _skills(answers, answers.accuracy(label))
        return self


class _Skilled(BaseClassificationAggregator):
    """Votes weighted by skills: ``skills_``, and ``predict`` for these and other tasks of the same workers."""

    skills_: pd.Series

    def fit_predict(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.Series:
        """Return the consensus label of every task."""
        return self._fit(data, true_labels).predict(data)

    def fit_predict_proba(self, data: pd.DataFrame, true_labels: pd.Series | None = None) -> pd.DataFrame:
        """Return the share of every label (columns) in the weighted vote on every task."""
        return self._fit(data, true_labels).predict_proba(data)

    def predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus label of every task, with the fitted skills."""
        return self._predict(data).labels_

    def predict_proba(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return the share of every label (columns) in the weighted vote on every task, with the fitted skills."""
        return self._predict(data).probas_

    def _fit(self, data: pd.DataFrame, true_labels: pd.Series | None) -> Self:
        """Fit the skills."""
        return self.fit(data)

    def _predict(self, data: pd.DataFrame) -> Self:
        """Set the labels and the shares of tasks."""
        if not hasattr(self, "skills_"):
            raise ArgumentValueError(f"{type(self).__name__} has no skills yet: call fit before predict")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_, self.probas_ = vote.labels_, vote.probas_
        return self


class GoldMajorityVote(_Skilled):
    """Votes weighted by the share of right answers on tasks with true labels; a task may have several true labels."""

    def fit(self, data: pd.DataFrame, true_labels: pd.Series) -> Self:  # type: ignore[override]
        """Learn the skills of workers from the tasks that have true labels (indexed by task)."""
        table = data[COLUMNS]
        table = table[table["task"].isin(true_labels.index)]
        if not len(table):
            self.skills_ = pd.Series(dtype=float, name="skill")
            return self
        answers = encode(table)
        pairs = pd.MultiIndex.from_arrays([true_labels.index, true_labels])
        right = pd.MultiIndex.from_frame(table[["task", "label"]]).isin(pairs)
        self.skills_ = _skills(answers, answers.shares_right(right))
        return self

    def _fit(self, data: pd.DataFrame, true_labels: pd.Series | None) -> Self:
        """Fit the skills with the true labels."""
        if true_labels is None:
            raise ArgumentValueError("GoldMajorityVote needs true_labels, a series indexed by task")
        return self.fit(data, true_labels)


class Wawa(_Skilled):
    """Votes weighted by agreement with the majority: ``labels_``, ``probas_``, ``skills_``."""

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn the skills of workers: the share of their answers that agree with the majority."""
        self.skills_ = MajorityVote().fit(data).skills_
        return self


class ZeroBasedSkill(_Skilled):
    """Votes weighted by skills, which move towards the agreement with this weighted vote.

    All skills start just above guessing. The step is ``lr_init``, and is multiplied by ``lr_reduce_factor`` after every
    ``lr_steps_to_reduce`` steps. It ends when no skill changes, or after ``n_iter`` steps.
    """

    def __init__(
        self,
        n_iter: int = 100,
        lr_init: float = 1.0,
        lr_steps_to_reduce: int = 20,
        lr_reduce_factor: float = 0.5,
        eps: float = 1e-5,
    ) -> None:
        self.n_iter, self.eps = n_iter, eps
        self.lr_init, self.lr_steps_to_reduce, self.lr_reduce_factor = lr_init, lr_steps_to_reduce, lr_reduce_factor

    def fit(self, data: pd.DataFrame) -> Self:
        """Learn the skills of workers."""
        if not len(data[COLUMNS]):
            self.skills_ = pd.Series(dtype=float, name="skill")
            return self
        answers = encode(data)
        skill, rate = np.full(len(answers.workers), 1 / len(answers.labels) + self.eps), self.lr_init
        for step in range(1, self.n_iter + 1):
            rate *= self.lr_reduce_factor if step % self.lr_steps_to_reduce == 0 else 1
            after = skill + rate * (answers.accuracy(first_label(answers.weighted_votes(skill))) - skill)
            if (after == skill).all():
                break
            skill = after
        self.skills_ = _skills(answers, skill)
        return self


def _skills(answers: Answers, skill: Floats) -> pd.Series:
    """Return the skills of workers as a series."""
    return pd.Series(skill, answers.workers.rename("worker"), name="skill")
