import numpy as np
import pytest

from adjudge.learn.ranker import NoGroupsWarning, Ranker


class First(Ranker):
    """Ranks by the first feature."""

    def decision_function(self, X):
        """Return it."""
        return np.asarray(X, dtype=float)[:, 0]


def test_rankers_predict_what_they_decide():
    """A prediction is the score."""
    X = [[3.0, 1.0], [1.0, 2.0]]
    assert First().predict(X).tolist() == [3.0, 1.0]


@pytest.mark.parametrize(("y", "share"), [([1, 0, 1, 0], 1.0), ([0, 1, 1, 0], 0.5), ([0, 1, 0, 1], 0.0)])
def test_rankers_are_judged_by_pairs_of_a_group(y, share):
    """Two groups of two rows: the share of pairs in the right order."""
    X = [[2.0], [1.0], [9.0], [8.0]]
    assert First().score(X, y, groups=[0, 0, 1, 1]) == share


def test_rankers_that_are_judged_without_groups_say_so():
    """Since rows of different questions are compared; equal groups mean that."""
    X, y = [[2.0], [1.0], [9.0], [8.0]], [1, 0, 1, 0]
    with pytest.warns(NoGroupsWarning, match="^score was given no groups: all rows are taken for one question"):
        assert First().score(X, y) == 0.75
    assert First().score(X, y, groups=[7] * 4) == 0.75
