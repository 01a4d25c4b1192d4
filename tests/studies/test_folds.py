"""Gold told in folds."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from studies.crowds import read_crowd
from studies.folds import gold_folds


@pytest.fixture(scope="module")
def crowd(crowds):
    """Return a crowd with gold for 40 of its 60 items."""
    return read_crowd(crowds, "a", ("label",), ordinal=False)


def test_nothing_is_told_without_folds(crowd):
    """And all are asked at once."""
    ((gold, options),) = gold_folds(crowd, 0, 0)
    assert gold is None
    assert options.tolist() == list(range(40))


def test_every_item_is_asked_once_and_never_told_its_own_truth(crowd):
    """What is told is true, and all of the rest."""
    asked_of = []
    for gold, options in gold_folds(crowd, 5, 0):
        told = np.setdiff1d(np.arange(40), options)
        assert options.size == 8
        assert (gold[crowd.item[options]] == -1).all()
        assert (gold[crowd.item[told]] == crowd.truth[told]).all()
        assert (gold >= 0).sum() == 32
        asked_of += options.tolist()
    assert sorted(asked_of) == list(range(40))


def test_the_seed_deals_the_folds(crowd):
    """The same seed deals the same, another another."""
    first, again, other = ([options.tolist() for _, options in gold_folds(crowd, 3, seed)] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("folds", [1, 41])
def test_folds_that_cannot_be(crowd, folds):
    """Are refused."""
    with pytest.raises(UsageError, match=f"40 items with gold do not make {folds} folds"):
        list(gold_folds(crowd, folds, 0))
