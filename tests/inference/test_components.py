"""The components of models: what each computes, and what they make together."""

import numpy as np
import pytest

import adjudge
from adjudge.inference.components import (
    ANY,
    EQUAL,
    HARD,
    LEARNED,
    ORDERED,
    PER_TOPIC,
    TWO,
    by_vote_shares,
    coin,
    confusion_columns,
    dirichlet_confusion,
    dirichlet_prevalence,
    is_divided,
    majority_vote,
    own_matrix,
    peaks,
    shared_matrix,
    smoothed_coin,
    smoothed_coins,
    winners,
)
from adjudge.inference.model import Model
from adjudge.inference.params import Prior, accurate
from adjudge.kernels.block import Tally

TABLE = {"item": ["a", "a", "a", "b", "b"], "judge": ["x", "y", "z", "x", "y"], "label": ["0", "1", "1", "0", "1"]}


def block():
    """Return two items: one with a winner, one tied."""
    import polars as pl

    return adjudge.read(pl.DataFrame(TABLE)).block()


def test_winners_share_ties():
    """The most likely truth has weight one; of equals each has its share, up to rounding."""
    np.testing.assert_allclose(winners(np.array([[0.2, 0.8], [0.5, 0.5 - 1e-12]])), [[0, 1], [0.5, 0.5]])


def test_a_majority_vote_counts_against_the_winner():
    """Judge x said 0: once against the winner 1, once on a tie."""
    np.testing.assert_allclose(majority_vote(block(), accurate(3, 2)).label[0], [[0.5, 0], [1.5, 0]])


def test_shares_count_by_share():
    """The classic start counts each label by its item's vote shares."""
    np.testing.assert_allclose(
        by_vote_shares(block(), accurate(3, 2)).label[0], [[1 / 3 + 1 / 2, 0], [2 / 3 + 1 / 2, 0]]
    )


def test_soft_counts_by_posterior():
    """With accurate judges, the truth with more votes gets more weight; totals are judgments."""
    tally = SOFTLY.assign(block(), accurate(3, 2))
    np.testing.assert_allclose(tally.label.sum(axis=(1, 2)), [2, 2, 1])
    assert tally.truth[0, 1] > tally.truth[0, 0]


def test_hard_counts_whole_judgments_but_for_ties():
    """With accurate judges item a is 1 for certain, and b shares its two labels."""
    np.testing.assert_allclose(HARDLY.assign(block(), accurate(3, 2)).label[0], [[0.5, 0], [1.5, 0]])


SOFTLY, HARDLY = Model("soft", "", ""), Model("hard", "", "", assignment=HARD)
COUNTS = np.random.default_rng(4).random((3, 3, 3)) * 10  # (J, Z, K)


def likelihood(confusion):
    """Return the expected log likelihood of the counts."""
    return (COUNTS * np.log(confusion)).sum()


def test_own_is_each_judges_share():
    """Rows of counts, divided by their sums."""
    np.testing.assert_allclose(own_matrix(COUNTS, COUNTS), COUNTS / COUNTS.sum(axis=2, keepdims=True))


def test_shared_is_everybodys_share():
    """All judges have the matrix of the summed counts."""
    tied = shared_matrix(COUNTS, accurate(3, 3).confusion)
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


def test_a_judge_without_judgments_keeps_their_start():
    """Nothing counted, nothing learned."""
    start = accurate(2, 3).confusion
    for tie in (own_matrix, coin):
        np.testing.assert_allclose(tie(np.stack([COUNTS[0], np.zeros((3, 3))]), start)[1], start[1])


@pytest.mark.parametrize("tie", [own_matrix, shared_matrix, coin])
def test_nothing_near_is_more_likely(tie):
    """The M-step is a maximum among matrices of its own kind."""
    best = tie(COUNTS, accurate(3, 3).confusion)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = tie(COUNTS * np.exp(0.1 * rng.standard_normal(COUNTS.shape)), best)
        assert likelihood(other) <= likelihood(best) + 1e-12


def test_estimate_fills_every_param():
    """Prevalence, confusion and the population follow from one tally."""
    params = SOFTLY.estimate(Tally(np.array([[1.0, 2.0, 1.0]]), COUNTS, 0.0), accurate(3, 3))
    np.testing.assert_allclose(params.prevalence, [[0.25, 0.5, 0.25]])
    np.testing.assert_allclose(params.population.sum(axis=1), 1)
    assert params.unseen.size == 0


def test_smoothed_coins_are_never_certain():
    """(right + 1) / (judgments + 2), for a judge or for each truth; nothing counted is one half."""
    counts = np.zeros((2, 2, 2))
    counts[0] = [[3, 1], [0, 4]]
    first, each = smoothed_coin(counts, counts), smoothed_coins(counts, counts)
    np.testing.assert_allclose(first[0], [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(each[0], [[4 / 6, 2 / 6], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(first[1], 0.5)
    np.testing.assert_allclose(each[1], 0.5)


def test_an_equal_prevalence_learns_judges_only():
    """Prevalence stays equal whatever was counted."""
    tally = Tally(np.array([[1.0, 2.0, 1.0]]), COUNTS, 0.0)
    params = Model("equal", "", "", prevalence=EQUAL).estimate(tally, accurate(3, 3))
    np.testing.assert_allclose(params.prevalence, 1 / 3)
    np.testing.assert_array_equal(params.confusion, SOFTLY.estimate(tally, accurate(3, 3)).confusion)


def test_a_prevalence_per_topic_is_each_topics_share():
    """A topic without items keeps its start; another topic has the prevalence of all items."""
    truth, start = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 5.0]]), np.full((3, 2), 0.5)
    rows, other = PER_TOPIC.estimate(truth, start)
    np.testing.assert_allclose(rows, [[0.75, 0.25], [0.5, 0.5], [1 / 6, 5 / 6]])
    np.testing.assert_allclose(other, [0.4, 0.6])
    rows, other = dirichlet_prevalence(2.0).per_topic().estimate(truth, start)
    np.testing.assert_allclose(rows, [[4 / 6, 2 / 6], [0.5, 0.5], [2 / 8, 6 / 8]])
    np.testing.assert_allclose(other, [5 / 12, 7 / 12])
    assert LEARNED.estimate(truth[:1], start[:1])[1].size == 0


def test_a_dirichlet_prior_is_taken_at_its_mode():
    """(count + lambda on the diagonal) / sum, and an unknown judge is the prior's mean."""
    tally = Tally(np.array([[3.0, 1.0]]), np.array([[[2.0, 1.0], [0.0, 0.0]]]), 0.0)
    model = Model("d", "", "", prevalence=dirichlet_prevalence(1.0), confusion=dirichlet_confusion(Prior()))
    params = model.estimate(tally, accurate(1, 2))
    np.testing.assert_allclose(params.confusion[0], [[5 / 6, 1 / 6], [0, 1]])
    np.testing.assert_allclose(params.population, [[0.8, 0.2], [0.2, 0.8]])
    np.testing.assert_allclose(params.prevalence, [[0.75, 0.25]])


def test_a_log_prior_is_that_of_rows_and_prevalence():
    """The sum of both log densities, up to a constant; a flat prior adds nothing."""
    params = accurate(2, 2)
    model = Model("d", "", "", prevalence=dirichlet_prevalence(2.0), confusion=dirichlet_confusion(Prior()))
    assert model.log_prior(params) == pytest.approx(2 * 2 * 3 * np.log(0.8) + 2 * np.log(0.5))
    assert SOFTLY.log_prior(params) == 0


def test_labels_say_which_scales_they_accept():
    """Ordered models need an order, and binary ones at most two labels."""
    plain, ordered = adjudge.Scale(("a", "b", "c")), adjudge.Scale(("a", "b", "c"), ordinal=True)
    assert [labels.accept(plain) for labels in (ANY, ORDERED, TWO)] == [True, False, False]
    assert [labels.accept(ordered) for labels in (ANY, ORDERED, TWO)] == [True, True, False]
    assert TWO.accept(adjudge.Scale(("a", "b")))
    assert ANY.columns(np.ones((1, 3)) / 3, plain) == {}


def test_columns_name_said_and_truth():
    """One column a cell: what is said, given what is true."""
    columns = confusion_columns(accurate(2, 2, trust=3), ("no", "yes"))
    assert list(columns) == ["p_no_if_no", "p_yes_if_no", "p_no_if_yes", "p_yes_if_yes"]
    np.testing.assert_allclose(columns["p_yes_if_no"], 1 / 5)


def test_expected_values_stand_between_two_labels():
    """On 0 to K - 1 for words, on their own values for numbers."""
    posterior = np.array([[0.0, 0.7, 0.3], [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]])
    words = ORDERED.columns(posterior, adjudge.Scale(("bad", "good", "very good"), ordinal=True))
    np.testing.assert_allclose(words["expected"], [1.3, 0, 1])
    assert words["between"] == ["0.7 good + 0.3 very good", "bad", "divided: 0.5 bad, 0.5 very good"]
    numbers = ORDERED.columns(posterior, adjudge.Scale((0, 10, 100), ordinal=True))
    np.testing.assert_allclose(numbers["expected"], [37, 0, 50])
    assert numbers["between"] == ["0.7 of 10 + 0.3 of 100", "0", "divided: 0.5 of 0, 0.5 of 100"]


@pytest.mark.parametrize(
    ("posterior", "labels"),
    [
        ([0.5, 0.0, 0.0, 0.0, 0.5], [0, 4]),
        ([0.8, 0.0, 0.0, 0.0, 0.2], [0, 4]),
        ([0.81, 0.0, 0.0, 0.0, 0.19], [0]),
        ([0.1, 0.2, 0.4, 0.2, 0.1], [2]),
        ([0.2, 0.2, 0.2, 0.2, 0.2], [0]),
        ([0.0, 0.5, 0.5, 0.0, 0.0], [1]),
        ([0.4, 0.2, 0.4, 0.0, 0.0], [0]),
        ([0.4, 0.1, 0.4, 0.1, 0.0], [0, 2]),
        ([0.3, 0.0, 0.4, 0.0, 0.3], [0, 2, 4]),
        ([0.0, 0.0, 0.4, 0.3, 0.3], [2]),
    ],
)
def test_a_posterior_is_divided_by_unlikely_labels(posterior, labels):
    """A second peak has a fifth of the probability, and twice that of some label on the way to the first."""
    assert np.flatnonzero(peaks(np.array([posterior]))[0]).tolist() == labels
    assert is_divided(np.array([posterior, posterior[::-1]])).tolist() == [len(labels) > 1] * 2


def test_one_label_is_its_own_value():
    """There is nothing between one label and none."""
    assert ORDERED.columns(np.ones((2, 1)), adjudge.Scale(("x",), ordinal=True))["between"] == ["x", "x"]
