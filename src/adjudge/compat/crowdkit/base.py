"""What the aggregators of labels share: the table of answers as codes, votes weighed by skills, and attributes.

Names of tasks, workers and labels are taken as they are: any hashable values. Workers and labels are sorted, if they
have an order; tasks are in the order in which they occur, because sorting many names takes longer than a vote.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.compat.value_errors import ArgumentValueError, DataValueError
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.scale import Scale
from adjudge.errors import not_one_of, quote
from adjudge.inference.components import most_likely
from adjudge.inference.result import Fit

COLUMNS = ["task", "worker", "label"]
ON_MISSING_SKILL = ("error", "ignore", "value")


class Answers(NamedTuple):
    """Workers' answers as codes, and the names of the codes."""

    task: Codes  # (N)
    worker: Codes  # (N)
    label: Codes  # (N)
    tasks: pd.Index  # (I)
    workers: pd.Index  # (J)
    labels: pd.Index  # (K)

    @property
    def judgments(self) -> Judgments:
        """The answers as adjudge's judgments, whose names are the codes."""
        items, judges = (pl.Series(name, np.arange(len(names))) for name, names in zip("ij", self[3:5], strict=True))
        scale = Scale(tuple(range(len(self.labels))))
        return from_codes(self.task, self.worker, self.label, items=items, judges=judges, scale=scale)

    def weighted_votes(self, weight: Floats) -> Floats:
        """Return each label's share of the votes of a task (I, K), where a worker's vote has a weight (J).

        The shares of a task whose weights sum to zero are equal.
        """
        shape = len(self.tasks), len(self.labels)
        cell = self.task * shape[1] + self.label
        votes = np.bincount(cell, weight[self.worker], shape[0] * shape[1]).reshape(shape)
        total = votes.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(votes, total, out=np.full(shape, 1 / shape[1]), where=total != 0)
        return shares

    def accuracy(self, label: Codes) -> Floats:
        """Return the share of each worker's answers (J) that are the label of their task (I)."""
        return self.shares_right(label[self.task] == self.label)

    def shares_right(self, right: Any) -> Floats:
        """Return the share of each worker's answers (J) that are right (N)."""
        J = len(self.workers)
        return np.bincount(self.worker, right, J) / np.bincount(self.worker, minlength=J)


def encode(data: pd.DataFrame, true_labels: pd.Series | None = None) -> Answers:
    """Return the answers of a table with the columns task, worker and label; true labels extend the scale."""
    table = data[COLUMNS]
    task, tasks = codes(table["task"], sort=False)
    worker, workers = codes(table["worker"])
    values = table["label"] if true_labels is None else pd.concat([table["label"], true_labels])
    label, labels = codes(values)
    return Answers(task, worker, label[: len(table)], tasks, workers, labels)


def codes(column: pd.Series, sort: bool = True) -> tuple[Codes, pd.Index]:
    """Return the codes of a column and their names, in order if they can be sorted; refuse missing values."""
    try:
        code, names = pd.factorize(column, sort=sort)
    except TypeError:  # names of several types have no order
        code, names = pd.factorize(column)
    if code.min(initial=0) < 0:
        raise DataValueError(f"column {quote(column.name)} has no value", row=int(np.argmax(code < 0)) + 1)
    return code, pd.Index(names)


def gold_codes(answers: Answers, true_labels: pd.Series | None) -> Codes | None:
    """Return the true label of each task (I), -1 if it is unknown; true labels of other tasks are ignored."""
    if true_labels is None or not len(true_labels):
        return None
    if not true_labels.index.is_unique:
        task = true_labels.index[true_labels.index.duplicated()][0]
        raise DataValueError(f"task {quote(task)} has several true labels: give one label per task", "true_labels")
    position = answers.tasks.get_indexer(true_labels.index)
    gold = np.full(len(answers.tasks), -1, np.int32)
    gold[position[position >= 0]] = answers.labels.get_indexer(pd.Index(true_labels))[position >= 0]
    return gold


def first_label(probability: Floats) -> Codes:
    """Return the most likely label of each task (I); of tied labels, the first."""
    label: Codes = most_likely(probability).argmax(axis=1)
    return label


def known_skills(
    data: pd.DataFrame, skills: pd.Series, on_missing_skill: str, default_skill: float | None
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the answers that count and the skill of each, by what is to be done with workers who have none."""
    if on_missing_skill != "value" and default_skill is not None:
        raise ArgumentValueError(f"default_skill is for on_missing_skill 'value', and it is {quote(on_missing_skill)}")
    if on_missing_skill == "value" and default_skill is None:
        raise ArgumentValueError("on_missing_skill 'value' needs a default_skill")
    skill = data["worker"].map(skills.to_dict()).astype(float)
    missing = skill.isna()
    if on_missing_skill == "value":
        return data, skill.fillna(default_skill)
    if on_missing_skill == "error":
        if missing.any():
            worker = quote(data["worker"][missing].iloc[0])
            raise DataValueError(f"worker {worker} has no skill (see on_missing_skill)", "skills")
        return data, skill
    lost = set(data["task"]) - set(data["task"][~missing])
    if lost:
        task = next(task for task in data["task"] if task in lost)
        raise DataValueError(f"no worker of task {quote(task)} has a skill (see on_missing_skill)", "skills")
    return data[~missing], skill[~missing]


def check_on_missing_skill(on_missing_skill: str) -> None:
    """Refuse an unknown value of ``on_missing_skill``."""
    if on_missing_skill not in ON_MISSING_SKILL:
        raise ArgumentValueError(not_one_of("on_missing_skill", on_missing_skill, ON_MISSING_SKILL))


class BaseClassificationAggregator:
    """What all aggregators of labels share. Input has the columns task, worker and label; results are by task."""

    labels_: pd.Series
    probas_: pd.DataFrame

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit the model to the answers."""
        raise NotImplementedError

    def fit_predict(self, data: pd.DataFrame, *args: Any, **options: Any) -> pd.Series:
        """Return the consensus label of every task; the arguments are those of ``fit``."""
        return self.fit(data, *args, **options).labels_

    def fit_predict_proba(self, data: pd.DataFrame, *args: Any, **options: Any) -> pd.DataFrame:
        """Return the probability of every label (columns) for every task; the arguments are those of ``fit``."""
        return self.fit(data, *args, **options).probas_

    def _set_labels(self, answers: Answers, probability: Floats, label: Codes) -> None:
        """Set the label and the probabilities of every task."""
        tasks = answers.tasks.rename("task")
        self.labels_ = pd.Series(answers.labels.take(label), tasks, name="agg_label")
        self.probas_ = pd.DataFrame(np.array(probability), tasks, answers.labels.rename("label"))

    def _set_empty(self) -> None:
        """Set the results of a table without answers."""
        self.labels_, self.probas_ = pd.Series(dtype=float, name="agg_label"), pd.DataFrame()


def evidence_per_answer(fit: Fit) -> list[float]:
    """Return the log-likelihood per answer before each EM step."""
    return [evidence / fit.judged.sum() for evidence in fit.evidence]
