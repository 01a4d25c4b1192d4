"""Measures of answers and of workers: those of ``crowdkit.metrics.data`` and ``crowdkit.metrics.workers``.

``get_accuracy`` is that of ``crowdkit.aggregation.utils``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

from adjudge.arrays import Floats
from adjudge.compat.crowdkit.base import COLUMNS, Answers, BaseClassificationAggregator, codes, encode
from adjudge.compat.crowdkit.votes import MajorityVote
from adjudge.compat.value_errors import ArgumentValueError
from adjudge.errors import InputError, UsageError, not_one_of, quote

BY = ("task", "worker")
SMALL = 1e-6  # what crowd-kit adds to a sum before it divides by it


class SkillError(InputError, AssertionError):
    """A worker has no skill; crowd-kit raises ``AssertionError``."""


class GroupError(UsageError, KeyError):
    """There is no such group; crowd-kit raises ``KeyError``."""

    __str__ = Exception.__str__  # KeyError would show the message in quotation marks


def consistency(
    answers: pd.DataFrame,
    workers_skills: pd.Series | None = None,
    aggregator: BaseClassificationAggregator | None = None,
    by_task: bool = False,
) -> float | pd.Series:
    """Return the posterior probability of the consensus label, for workers with one probability of being right.

    Parameters
    ----------
    answers
        A table with the columns task, worker and label.
    workers_skills
        The probability of each worker to be right, indexed by worker. By default ``skills_`` of the aggregator.
    aggregator
        The model of the consensus label, by default ``MajorityVote()``.
    by_task
        Whether to return the probability of every task, and not their mean.

    Examples
    --------
    >>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 0, 1]})
    >>> consistency(table, pd.Series({"x": 0.9, "y": 0.8}), by_task=True).round(3).to_dict()
    {'a': 0.973, 'b': 0.692}
    """
    aggregator = MajorityVote() if aggregator is None else aggregator
    consensus = aggregator.fit_predict(answers)
    table = encode(answers)
    chances = _right_or_wrong(table, _skills(table, workers_skills, aggregator))  # (N, K)
    with np.errstate(divide="ignore", invalid="ignore"):  # where no label is possible: 0, as in crowd-kit
        total = np.column_stack([np.bincount(table.task, log, len(table.tasks)) for log in np.log(chances).T])
        chance = np.exp(total - total.max(axis=1, keepdims=True))
        chance = np.nan_to_num(chance / chance.sum(axis=1, keepdims=True))
    position = table.labels.get_indexer(pd.Index(consensus.reindex(table.tasks)))
    values = pd.Series(chance[np.arange(len(chance)), position], table.tasks.rename("task"))
    return values if by_task else float(values.mean())


def uncertainty(
    answers: pd.DataFrame,
    workers_skills: pd.Series | None = None,
    aggregator: BaseClassificationAggregator | None = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> float | pd.Series:
    """Return the entropy of the labels of tasks or of workers, in nats.

    Every answer adds the worker's skill to its label, and shares the rest among the other labels.

    Parameters
    ----------
    answers
        A table with the columns task, worker and label.
    workers_skills
        The probability of each worker to be right, indexed by worker. By default ``skills_`` of the aggregator, and
        without one 1.
    aggregator
        The model from which skills are taken.
    compute_by
        ``"task"`` or ``"worker"``.
    aggregate
        Whether to return the mean.

    Examples
    --------
    >>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 0, 1]})
    >>> uncertainty(table, aggregate=False).round(3).to_dict()
    {'a': 0.0, 'b': 0.693}
    """
    if compute_by not in BY:
        raise GroupError(not_one_of("compute_by", compute_by, BY))
    table = encode(answers)
    skill = np.ones(len(table.workers))
    if workers_skills is not None or aggregator is not None:
        if workers_skills is None and aggregator is not None:
            aggregator.fit(answers)
        skill = _skills(table, workers_skills, aggregator)
    code, names = (table.task, table.tasks) if compute_by == "task" else (table.worker, table.workers)
    chances = _right_or_wrong(table, skill)
    total = np.column_stack([np.bincount(code, chance, len(names)) for chance in chances.T])
    share = total / (total.sum(axis=1, keepdims=True) + SMALL)
    share /= share.sum(axis=1, keepdims=True)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    values = pd.Series(np.abs((share * logs).sum(axis=1)), names.rename(compute_by))
    return float(values.mean()) if aggregate else values


def alpha_krippendorff(answers: pd.DataFrame, distance: Callable[[Hashable, Hashable], float] | None = None) -> float:
    """Return Krippendorff's alpha: 1 is perfect agreement, 0 is what chance gives.

    Parameters
    ----------
    answers
        A table with the columns task, worker and label.
    distance
        The distance of two labels, from 0 to 1. By default 0 for equal labels, else 1.

    Examples
    --------
    >>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 1, 1]})
    >>> alpha_krippendorff(table)
    1.0
    """
    table = encode(answers)
    K = len(table.labels)
    counts = np.bincount(table.task * K + table.label, minlength=len(table.tasks) * K).reshape(-1, K).astype(float)
    counts = counts[counts.sum(axis=1) > 1]  # a task with one answer says nothing about agreement
    size, total = counts.sum(axis=1), counts.sum(axis=0)
    if distance is None:
        apart = 1 - np.eye(K)
    else:
        names = table.labels.tolist()
        apart = np.array([[float(distance(a, b)) for b in names] for a in names])
    observed = (np.einsum("ik,kl,il->i", counts, apart, counts) / (size - 1)).sum() / total.sum()
    expected = total @ apart @ total / (total.sum() * (total.sum() - 1))
    return float(1 - observed / expected) if expected > 0 else 1.0


def accuracy_on_aggregates(
    answers: pd.DataFrame,
    aggregator: BaseClassificationAggregator | None = None,
    aggregates: pd.Series | None = None,
    by: str | None = None,
) -> float | pd.Series:
    """Return the share of answers that are the consensus label of their task.

    Parameters
    ----------
    answers
        A table with the columns task, worker and label.
    aggregator
        The model of the consensus label, by default ``MajorityVote()``.
    aggregates
        The consensus labels, if they are known.
    by
        ``"worker"``, ``"task"`` or ``"true_label"`` for one share each.

    Examples
    --------
    >>> table = pd.DataFrame({"task": ["a", "a", "b", "b"], "worker": ["x", "y", "x", "y"], "label": [0, 0, 0, 1]})
    >>> accuracy_on_aggregates(table, by="worker").to_dict()
    {'x': 1.0, 'y': 0.5}
    """
    if aggregates is None:
        aggregates = (MajorityVote() if aggregator is None else aggregator).fit_predict(answers)
    return get_accuracy(answers, aggregates, by)


def get_accuracy(data: pd.DataFrame, true_labels: pd.Series, by: str | None = None) -> float | pd.Series:
    """Return the share of answers that are the true label of their task, of all tasks that have one.

    Parameters
    ----------
    data
        A table with the columns task, worker and label and, if answers count differently, weight.
    true_labels
        The true labels, indexed by task; an answer to a task with several is right if it is one of them.
    by
        ``"worker"``, ``"task"`` or ``"true_label"`` for one share each.

    Examples
    --------
    >>> table = pd.DataFrame({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [0, 1, 0]})
    >>> get_accuracy(table, pd.Series({"a": 0}))
    0.5
    """
    table = data[[*COLUMNS, "weight"] if "weight" in data else COLUMNS]
    table = table[table["task"].isin(true_labels.index)]
    pairs = pd.MultiIndex.from_arrays([true_labels.index, true_labels])
    right = pd.MultiIndex.from_frame(table[["task", "label"]]).isin(pairs)
    weight = table["weight"].to_numpy(float) if "weight" in table else np.ones(len(table))
    if by is None:
        return float(weight[right].sum() / weight.sum()) if weight.sum() else np.nan
    if by == "true_label":
        group = table["task"].map(true_labels[~true_labels.index.duplicated()].to_dict()).rename(by)
    elif by in BY:
        group = table[by]
    else:
        raise ArgumentValueError(not_one_of("by", by, (*BY, "true_label")))
    code, names = codes(group)
    return pd.Series(np.bincount(code, weight * right) / np.bincount(code, weight), names.rename(by))


def _skills(
    table: Answers, workers_skills: pd.Series | None, aggregator: BaseClassificationAggregator | None
) -> Floats:
    """Return the skill of each worker (J), given or from the fitted aggregator."""
    skills = getattr(aggregator, "skills_", None) if workers_skills is None else workers_skills
    if skills is None:
        raise SkillError(f"{type(aggregator).__name__} has no skills_: give workers_skills")
    skill = skills.reindex(table.workers)
    if skill.isna().any():
        raise SkillError(f"worker {quote(skill.index[skill.isna()][0])} has no skill", "workers_skills")
    values: Floats = skill.to_numpy(float)
    return values


def _right_or_wrong(table: Answers, skill: Floats) -> Any:
    """Return p(answer | truth) of every answer and label (N, K): the skill, or an equal share of the rest."""
    K = len(table.labels)
    right = skill[table.worker][:, None]
    return np.where(np.arange(K) == table.label[:, None], right, (1 - right) / max(K - 1, 1))
