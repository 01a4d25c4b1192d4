"""Folds of topics: no topic is in two folds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes
from adjudge.errors import UsageError
from adjudge.learn.pairs import group_codes

FOLDS = 5


class Fold(NamedTuple):
    """One fold: the rows of the training set and of the test set."""

    train: Codes
    test: Codes


def fold_of(groups: Any, folds: int = FOLDS, seed: int = 0) -> Codes:
    """Return the fold of every row (N); groups are assigned at random, and no group is in two folds.

    >>> fold_of(["a", "a", "b", "b"], folds=2).tolist()
    [0, 0, 1, 1]
    """
    values = np.asarray(groups)
    count = group_codes(values, values.size)[1]
    if not 2 <= folds <= count:
        raise UsageError(f"folds {folds} is not a number from 2 to the number of groups, {count:,}")
    return assign_folds(values, None, folds, seed)


def split(fold: Codes) -> Iterator[Fold]:
    """Yield every fold."""
    for k in range(int(fold.max()) + 1):
        yield Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k))


def assign_folds(topics: Any, with_pairs: set[str] | None, folds: int, seed: int) -> Codes:
    """Return the fold of every row (N), by topic; topics with pairs are assigned first, so that every fold has one."""
    code, count = group_codes(topics, topics.size)
    order = np.random.default_rng(seed).permutation(count).tolist()
    if with_pairs is not None:
        name = topics[np.unique(code, return_index=True)[1]].tolist()
        order.sort(key=lambda t: name[t] not in with_pairs)
    fold = np.empty(count, np.int64)
    fold[order] = np.arange(count) % folds
    return fold[code]
