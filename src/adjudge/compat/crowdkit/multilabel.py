"""Several labels per answer: one binary problem per label."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd

from adjudge.compat.crowdkit.base import COLUMNS, BaseClassificationAggregator, codes
from adjudge.compat.crowdkit.votes import MajorityVote
from adjudge.compat.value_errors import ArgumentValueError


class BinaryRelevance:
    """Decide on every label alone: an answer is a list of labels, and so is the consensus of a task.

    ``aggregators_`` has the fitted aggregator of every label, a copy of ``base_aggregator``. The table that it gets
    has the label 1 if the worker gave the label to the task, else 0.
    """

    aggregators_: dict[Any, BaseClassificationAggregator]
    labels_: pd.Series

    def __init__(self, base_aggregator: BaseClassificationAggregator | None = None) -> None:
        base = MajorityVote() if base_aggregator is None else base_aggregator
        if not isinstance(base, BaseClassificationAggregator):
            raise ArgumentValueError(
                f"base_aggregator is a {type(base).__name__}: give an aggregator of labels such as DawidSkene()"
            )
        self.base_aggregator = base

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit one aggregator per label; the column label has lists of labels."""
        table = data[COLUMNS].reset_index(drop=True)
        self.aggregators_ = {}
        if not len(table):
            self.labels_ = pd.Series(dtype=float, name="agg_label")
            return self
        exploded = table["label"].explode().dropna()
        label, labels = codes(exploded)
        tasks = codes(table["task"])[1]
        chosen: list[list[Any]] = [[] for _ in tasks]
        order = np.argsort(label, kind="stable")
        rows = np.split(exploded.index.to_numpy()[order], np.cumsum(np.bincount(label))[:-1])  # answers with each label
        for name, with_label in zip(labels.tolist(), rows, strict=True):
            has_label = np.zeros(len(table), np.int64)
            has_label[with_label] = 1
            aggregator = copy(self.base_aggregator)
            decided = aggregator.fit_predict(table.assign(label=has_label))
            self.aggregators_[name] = aggregator
            for position in tasks.get_indexer(decided.index[decided == 1]):
                chosen[position].append(name)
        self.labels_ = pd.Series(chosen, tasks.rename("task"), name="agg_label")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the list of labels of every task."""
        return self.fit(data).labels_
