"""How judgments are assigned to truths."""

import numpy as np

import adjudge
from adjudge.models.assign import by_shares, hard, soft, voted, winners
from adjudge.models.base import accurate

TABLE = {"item": ["a", "a", "a", "b", "b"], "judge": ["x", "y", "z", "x", "y"], "label": ["0", "1", "1", "0", "1"]}


def block():
    """Return two items: one with a winner, one tied."""
    import polars as pl

    return adjudge.read(pl.DataFrame(TABLE)).block()


def test_winners_share_ties():
    """The most likely truth has weight one; of equals each has its share, up to rounding."""
    np.testing.assert_allclose(winners(np.array([[0.2, 0.8], [0.5, 0.5 - 1e-12]])), [[0, 1], [0.5, 0.5]])


def test_voted_counts_against_the_winner():
    """Judge x said 0: once against the winner 1, once on a tie."""
    np.testing.assert_allclose(voted(block(), accurate(3, 2)).label[0], [[0.5, 0], [1.5, 0]])


def test_shares_count_by_share():
    """The classic start counts each label by its item's vote shares."""
    np.testing.assert_allclose(by_shares(block(), accurate(3, 2)).label[0], [[1 / 3 + 1 / 2, 0], [2 / 3 + 1 / 2, 0]])


def test_soft_counts_by_posterior():
    """With accurate judges, the truth with more votes gets more weight; totals are judgments."""
    tally = soft(block(), accurate(3, 2))
    np.testing.assert_allclose(tally.label.sum(axis=(1, 2)), [2, 2, 1])
    assert tally.truth[0, 1] > tally.truth[0, 0]


def test_hard_counts_whole_judgments_but_for_ties():
    """With accurate judges item a is 1 for certain, and b shares its two labels."""
    np.testing.assert_allclose(hard(block(), accurate(3, 2)).label[0], [[0.5, 0], [1.5, 0]])
