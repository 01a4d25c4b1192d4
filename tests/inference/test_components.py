"""How judgments are assigned to truths."""

import numpy as np
import pytest

import adjudge
from adjudge.inference.components import (
    by_shares,
    coin,
    flat,
    hard,
    mode,
    own,
    shared,
    smoothed_coin,
    smoothed_coins,
    soft,
    trusted,
    voted,
    winners,
)
from adjudge.inference.params import accurate
from adjudge.inference.prior import Prior
from adjudge.kernels.block import Tally

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


COUNTS = np.random.default_rng(4).random((3, 3, 3)) * 10  # (J, Z, K)


def likelihood(confusion):
    """Return the expected log likelihood of the counts."""
    return (COUNTS * np.log(confusion)).sum()


def test_own_is_each_judges_share():
    """Rows of counts, divided by their sums."""
    np.testing.assert_allclose(own(COUNTS, COUNTS), COUNTS / COUNTS.sum(axis=2, keepdims=True))


def test_shared_is_everybodys_share():
    """All judges have the matrix of the summed counts."""
    tied = shared(COUNTS, accurate(3, 3).confusion)
    pooled = COUNTS.sum(axis=0)
    np.testing.assert_allclose(tied[2], pooled / pooled.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(tied[0], tied[2])


def test_coin_is_the_share_of_right_labels():
    """Right on the diagonal; wrong labels are equally likely."""
    tossed = coin(COUNTS, accurate(3, 3).confusion)
    right = np.trace(COUNTS[1]) / COUNTS[1].sum()
    np.testing.assert_allclose(np.diag(tossed[1]), right)
    assert tossed[1][0, 1] == pytest.approx((1 - right) / 2)


def test_coin_of_one_label_is_certain():
    """With a single label everybody is right."""
    np.testing.assert_array_equal(coin(np.ones((2, 1, 1)), np.ones((2, 1, 1))), np.ones((2, 1, 1)))


def test_a_judge_without_judgments_keeps_her_start():
    """Nothing counted, nothing learned."""
    start = accurate(2, 3).confusion
    for tie in (own, coin):
        np.testing.assert_allclose(tie(np.stack([COUNTS[0], np.zeros((3, 3))]), start)[1], start[1])


@pytest.mark.parametrize("tie", [own, shared, coin])
def test_nothing_near_is_more_likely(tie):
    """The M-step is a maximum among matrices of its own kind."""
    best = tie(COUNTS, accurate(3, 3).confusion)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = tie(COUNTS * np.exp(0.1 * rng.standard_normal(COUNTS.shape)), best)
        assert likelihood(other) <= likelihood(best) + 1e-12


def test_mode_fills_every_param():
    """Prevalence, confusion and the population follow from one tally."""
    params = mode(own)(Tally(np.array([[1.0, 2.0, 1.0]]), COUNTS, 0.0), accurate(3, 3))
    np.testing.assert_allclose(params.prevalence, [[0.25, 0.5, 0.25]])
    np.testing.assert_allclose(params.population.sum(axis=1), 1)


def test_smoothed_coins_are_never_certain():
    """(right + 1) / (judgments + 2), for a judge or for each truth; nothing counted is one half."""
    counts = np.zeros((2, 2, 2))
    counts[0] = [[3, 1], [0, 4]]
    one, each = smoothed_coin(counts, counts), smoothed_coins(counts, counts)
    np.testing.assert_allclose(one[0], [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(each[0], [[4 / 6, 2 / 6], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(one[1], 0.5)
    np.testing.assert_allclose(each[1], 0.5)


def test_flat_learns_judges_only():
    """Prevalence stays equal whatever was counted."""
    params = flat(own)(Tally(np.array([[1.0, 2.0, 1.0]]), COUNTS, 0.0), accurate(3, 3))
    np.testing.assert_allclose(params.prevalence, 1 / 3)
    np.testing.assert_allclose(
        params.confusion, mode(own)(Tally(np.ones((1, 3)), COUNTS, 0.0), accurate(3, 3)).confusion
    )


def test_trusted_judges_have_their_priors_mode():
    """(count + lambda on the diagonal) / sum, and a judge never seen is the prior's mean."""
    tally = Tally(np.array([[3.0, 1.0]]), np.array([[[2.0, 1.0], [0.0, 0.0]]]), 0.0)
    params = trusted(Prior())(tally, accurate(1, 2))
    np.testing.assert_allclose(params.confusion[0], [[5 / 6, 1 / 6], [0, 1]])
    np.testing.assert_allclose(params.population, [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(params.prevalence, [[0.75, 0.25]])
