"""The vote: shares as probabilities, ties as one is told, matrices by counting."""

import numpy as np
import polars as pl
import pytest

import adjudge

TIED = pl.DataFrame({"item": ["a", "a"] * 20, "judge": ["x", "y"] * 20, "label": ["no", "yes"] * 20}).with_columns(
    item=pl.Series([f"i{n // 2}" for n in range(40)])
)


def labels(ties, seed=0):
    """Return the labels of twenty tied items."""
    return adjudge.fit(TIED, "majority", ties=ties, seed=seed).labels["label"].to_list()


def test_first_is_the_first_of_the_scale():
    """Ties go to the label that comes first."""
    assert labels("first") == ["no"] * 20


def test_all_gives_all():
    """Tied labels are given together."""
    assert labels("all") == ["no|yes"] * 20


def test_random_is_random_by_seed():
    """Both labels come up; the same seed gives the same, another one others."""
    assert set(labels("random")) == {"no", "yes"}
    assert labels("random", 1) == labels("random", 1) != labels("random", 2)


def test_unknown_ties_are_refused():
    """The message names the choices."""
    with pytest.raises(adjudge.UsageError, match="ties 'coin' is not one of 'random', 'first', 'all'"):
        adjudge.fit(TIED, "majority", ties="coin")


def test_matrices_follow_by_counting():
    """Judge y disagrees with the majority on one of three items."""
    table = pl.DataFrame(
        {
            "item": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
            "judge": ["x", "y", "z"] * 3,
            "label": ["0", "0", "0", "1", "0", "1", "1", "1", "1"],
        }
    )
    fit = adjudge.fit(table, "majority")
    np.testing.assert_allclose(fit.params.confusion[1], [[1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(fit.accuracy, [1, 2 / 3, 1])
    assert fit.evidence == ()
