"""Folds by topic."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.learn.folds import assign_folds, fold_of, split


def test_folds_split_groups_not_rows():
    """Evenly, at random, the same by seed."""
    groups = np.repeat(np.arange(23), 4)
    fold = fold_of(groups, 5, seed=1)
    assert all(len(set(fold[groups == g].tolist())) == 1 for g in range(23))
    assert sorted(np.bincount(fold) // 4) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, fold_of(groups, 5, seed=1))
    assert not np.array_equal(fold, fold_of(groups, 5, seed=2))
    parts = list(split(fold))
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(92))
    assert all(not set(groups[part.train]) & set(groups[part.test]) for part in parts)


def test_more_folds_than_groups_are_refused():
    """And fewer than two."""
    for folds in (1, 4):
        with pytest.raises(UsageError, match=f"folds {folds} is not a number from 2 to the number of groups, 3"):
            fold_of([1, 2, 3], folds)


def test_topics_with_pairs_are_spread_first():
    """Every fold has one of them, whatever the seed."""
    topics = np.array([f"t{n}" for n in range(12)])
    for seed in range(10):
        fold = assign_folds(topics, {"t3", "t4", "t9"}, 3, seed)
        assert sorted(fold[[3, 4, 9]].tolist()) == [0, 1, 2]
