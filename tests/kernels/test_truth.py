"""Posteriors and counts against brute force and at the edges of floating point; means and medians of labels."""

import itertools

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.kernels.block import Block, join_items
from adjudge.kernels.truth import (
    FAR,
    count,
    expect,
    inliers,
    label_counts,
    mean,
    median,
    quantile,
    shares_between,
    truth_posterior,
    value_log_odds,
    vote_shares,
)


def block(rows, items, judges, labels, gold=None, weight=None, topic=None):
    """Return judgments (item, judge, label), sorted by item, as a block."""
    rows = np.array(rows, np.int64).reshape(-1, 3)
    start = np.r_[0, np.cumsum(np.bincount(rows[:, 0], minlength=items))]
    return Block(
        start,
        (rows[:, 1] * labels + rows[:, 2]).astype(np.uint32),
        rows[:, 2].astype(np.uint8),
        np.zeros(items, np.int32) if topic is None else np.array(topic, np.int32),
        np.full(items, -1, np.int32) if gold is None else np.array(gold, np.int32),
        np.empty(0) if weight is None else np.array(weight, float),
        judges,
        labels,
        np.arange(float(labels)),
    )


def random_case(seed, items=6, judges=4, labels=3, topics=1):
    """Return a random block with random params."""
    rng = np.random.default_rng(seed)
    rows = [(i, rng.integers(judges), rng.integers(labels)) for i in range(items) for _ in range(rng.integers(0, 6))]
    topic = rng.integers(topics, size=items)
    prevalence = rng.dirichlet(np.ones(labels), topics)
    return block(rows, items, judges, labels, topic=topic), prevalence, rng.dirichlet(np.ones(labels), (judges, labels))


def brute_force(b, prevalence, confusion):
    """Return posterior and evidence by multiplying everything out."""
    joint = prevalence[b.topic if len(prevalence) > 1 else np.zeros_like(b.topic)].copy()
    for i in range(b.topic.size):
        for n in range(b.start[i], b.start[i + 1]):
            joint[i] *= confusion[b.cell[n] // b.labels, :, b.label[n]] ** (b.weight[n] if b.weight.size else 1)
        if b.gold[i] >= 0:
            joint[i] *= np.arange(joint.shape[1]) == b.gold[i]
    total = joint.sum(axis=1, keepdims=True)
    return joint / total, np.log(total).sum()


@pytest.mark.parametrize(("seed", "topics"), list(itertools.product(range(5), (1, 3))))
def test_posterior_and_evidence_equal_brute_force(seed, topics):
    """The posterior is prior times likelihood, normalised; the evidence its log total."""
    b, prevalence, confusion = random_case(seed, topics=topics)
    posterior, evidence = truth_posterior(b, prevalence, confusion)
    expected, log_total = brute_force(b, prevalence, confusion)
    np.testing.assert_allclose(posterior, expected, rtol=1e-12)
    assert evidence == pytest.approx(log_total, rel=1e-12)


@pytest.mark.parametrize("labels", [1, 2, 5, 17])
def test_every_number_of_labels(labels):
    """Kernels are compiled for the number of truths; each agrees with brute force."""
    b, prevalence, confusion = random_case(3, labels=labels)
    np.testing.assert_allclose(truth_posterior(b, prevalence, confusion)[0], brute_force(b, prevalence, confusion)[0])


@pytest.mark.parametrize("topics", [1, 3])
def test_fused_pass_equals_posterior_then_count(topics):
    """Expect is truth_posterior followed by count."""
    b, prevalence, confusion = random_case(11, items=50, topics=topics)
    fused = expect(b, prevalence, confusion)
    posterior, evidence = truth_posterior(b, prevalence, confusion)
    counted = count(b, posterior, topics)
    np.testing.assert_allclose(fused.truth, counted.truth, rtol=1e-12)
    np.testing.assert_allclose(fused.label, counted.label, rtol=1e-12)
    assert fused.evidence == pytest.approx(evidence, rel=1e-14)


def test_count_is_a_sum_over_judgments():
    """Every judgment adds its item's weights to its judge's row of its label."""
    b = block([(0, 1, 0), (0, 1, 1), (1, 0, 1)], 2, 2, 2)
    tally = count(b, np.array([[0.25, 0.75], [1.0, 0.0]]))
    np.testing.assert_array_equal(tally.truth, [[1.25, 0.75]])
    np.testing.assert_array_equal(tally.label[1], [[0.25, 0.25], [0.75, 0.75]])  # judge 1: truth x label
    np.testing.assert_array_equal(tally.label[0], [[0, 1], [0, 0]])


def test_gold_fixes_the_truth_and_enters_the_evidence():
    """A known truth has posterior one, and the evidence of its own labels alone."""
    b, prevalence, confusion = random_case(5)
    gold = np.array([2, -1, 0, -1, -1, 1], np.int32)
    posterior, evidence = truth_posterior(b._replace(gold=gold), prevalence, confusion)
    np.testing.assert_array_equal(posterior[0], [0, 0, 1])
    assert evidence == pytest.approx(brute_force(b._replace(gold=gold), prevalence, confusion)[1])


def test_weights_count_judgments_as_often_as_they_say():
    """A weight of w equals w copies of a judgment; fractions interpolate as powers do."""
    b, prevalence, confusion = random_case(8)
    weight = np.random.default_rng(0).integers(0, 4, b.cell.size) / 2
    posterior, evidence = truth_posterior(b._replace(weight=weight), prevalence, confusion)
    expected, log_total = brute_force(b._replace(weight=weight), prevalence, confusion)
    np.testing.assert_allclose(posterior, expected, rtol=1e-10)
    assert evidence == pytest.approx(log_total, rel=1e-12)


def test_weighted_tally_counts_weights():
    """The tally of a weighted judgment is its weight."""
    b = block([(0, 0, 1), (0, 1, 0)], 1, 2, 2, weight=[2.5, 0.0])
    tally = expect(b, np.array([[0.5, 0.5]]), np.full((2, 2, 2), 0.5))
    assert tally.label[0].sum() == pytest.approx(2.5)
    assert tally.label[1].sum() == 0


def test_ten_thousand_judgments_that_swing_do_not_underflow():
    """Half the judgments for one truth, then one more for the other: exact although both products underflow."""
    half = 5_000
    rows = [(0, 0, 0)] * half + [(0, 0, 1)] * (half + 1)
    theta = np.array([[[0.9, 0.1], [0.1, 0.9]]])
    posterior, evidence = truth_posterior(block(rows, 1, 1, 2), np.array([[0.5, 0.5]]), theta)
    np.testing.assert_allclose(posterior, [[0.1, 0.9]], rtol=1e-9)
    assert evidence == pytest.approx(half * np.log(0.09) + np.log(0.5), rel=1e-12)


def test_contradictions_stay_comparable():
    """Labels impossible under every truth leave the truth with fewer impossibilities ahead, and no NaN."""
    theta = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    posterior, evidence = truth_posterior(
        block([(0, 0, 0), (0, 0, 0), (0, 0, 1)], 1, 1, 2), np.array([[0.5, 0.5]]), theta
    )
    np.testing.assert_allclose(posterior, [[1, 0]], atol=1e-12)
    assert np.isfinite(evidence)


def test_a_truth_without_prevalence_is_not_divided_by():
    """A prevalence of zero gives a posterior of zero."""
    posterior, _ = truth_posterior(block([(0, 0, 1)], 1, 1, 2), np.array([[1.0, 0.0]]), np.full((1, 2, 2), 0.5))
    np.testing.assert_allclose(posterior, [[1, 0]], atol=1e-90)


def test_an_item_nobody_judged_has_the_prevalence():
    """No judgments, no news."""
    posterior, evidence = truth_posterior(block([], 2, 1, 2), np.array([[0.3, 0.7]]), np.full((1, 2, 2), 0.5))
    np.testing.assert_allclose(posterior, [[0.3, 0.7]] * 2)
    assert evidence == pytest.approx(0.0)


def test_large_tables_take_the_path_that_fetches_ahead():
    """Beyond the size where rows are fetched ahead, the answer is the same as brute force."""
    judges = FAR // (2 * 2 * 2 * 8) + 1
    rng = np.random.default_rng(0)
    rows = [(i, rng.integers(judges), rng.integers(2)) for i in range(30) for _ in range(3)]
    b, confusion = block(rows, 30, judges, 2), rng.dirichlet(np.ones(2), (judges, 2))
    prevalence = np.array([[0.4, 0.6]])
    np.testing.assert_allclose(truth_posterior(b, prevalence, confusion)[0], brute_force(b, prevalence, confusion)[0])


def test_vote_shares_split_by_weight_and_yield_to_gold():
    """Shares are weights over their total; gold is certain; nobody's item is even."""
    b = block([(0, 0, 0), (0, 1, 1), (0, 2, 1), (1, 0, 0)], 3, 3, 2, gold=[-1, 1, -1])
    np.testing.assert_allclose(vote_shares(b), [[1 / 3, 2 / 3], [0, 1], [0.5, 0.5]])
    np.testing.assert_allclose(vote_shares(b._replace(weight=np.array([2.0, 1, 1, 1])))[0], [0.5, 0.5])


def test_gold_fixes_the_side_and_leaves_open_the_rest():
    """Where truths are finer than labels, gold keeps the truths of its label and their proportions."""
    b, prevalence, confusion = random_case(3, labels=4)
    side = np.array([0, 0, 1, 1])
    free, _ = truth_posterior(b, prevalence, confusion, side)
    gold = np.array([-1, 0, 1, -1, 1, 0], np.int32)
    stored, evidence = truth_posterior(b._replace(gold=gold), prevalence, confusion, side)
    allowed = (gold[:, None] < 0) | (gold[:, None] == side)
    expected = free * allowed
    np.testing.assert_allclose(stored, expected / expected.sum(axis=1, keepdims=True))
    _, complete = truth_posterior(b, prevalence, confusion)
    np.testing.assert_allclose(evidence - complete, np.log(expected.sum(axis=1)).sum())


PLACE = np.arange(5.0)


def counts_of(*items, labels=5):
    """Return label counts of items given as lists of labels."""
    return np.array([np.bincount(item, minlength=labels) for item in items], float)


def test_quantiles_are_those_of_numpy():
    """The middle between two labels where the share falls between them."""
    rng = np.random.default_rng(0)
    items = [rng.integers(0, 5, rng.integers(1, 12)) for _ in range(200)]
    for share in (0.25, 0.5, 0.75):
        expected = [np.quantile(item, share, method="averaged_inverted_cdf") for item in items]
        np.testing.assert_allclose(quantile(counts_of(*items), share, PLACE), expected)


def test_centres():
    """The mean, the middle, and the middle of the scale for nobody's item."""
    counts = counts_of([1, 2], [0, 0, 4], [0, 1], [])
    np.testing.assert_allclose(mean(counts, PLACE), [1.5, 4 / 3, 0.5, 2])
    np.testing.assert_allclose(median(counts, PLACE), [1.5, 0, 0.5, 2])


def test_centres_on_a_scale_of_the_users_own():
    """Labels worth 0, 1 and 10: the middle between 1 and 10 is 5.5."""
    counts, value = counts_of([1, 2], [0, 2], labels=3), np.array([0.0, 1.0, 10.0])
    np.testing.assert_allclose(mean(counts, value), [5.5, 5])
    np.testing.assert_allclose(median(counts, value), [5.5, 5])


def test_shares_between_two_values():
    """A point is the mean of its shares, of which at most two neighbours have any."""
    value, point = np.array([0.0, 1.0, 10.0]), np.array([0.0, 0.3, 1.0, 5.5, 10.0])
    shares = shares_between(point, value)
    np.testing.assert_allclose(shares @ value, point)
    np.testing.assert_allclose(shares[3], [0, 0.5, 0.5])
    assert (np.count_nonzero(shares, axis=1) == [1, 2, 1, 2, 1]).all()
    assert shares_between(point, value[::-1]).tolist() == shares[:, ::-1].tolist()  # labels in falling order
    assert shares_between(np.zeros(2), np.zeros(1)).tolist() == [[1], [1]]


def test_outliers_are_dropped():
    """Of 2 2 2 2 0 the 0 lies outside the quartiles by more than 1.5 times their distance; of 0 1 2 3 4 none does."""
    stored = inliers(counts_of([2, 2, 2, 2, 0], [0, 1, 2, 3, 4]), PLACE)
    assert stored.tolist() == [[0, 0, 4, 0, 0], [1, 1, 1, 1, 1]]


def test_counts_know_weights_and_forget_gold():
    """A weight of 2 counts twice; a known truth changes nothing of what was said."""
    table = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": [0, 2, 1], "weight": [2.0, 1.0, 0.5]}
    block = adjudge.read(pl.DataFrame(table)).block(np.array([1, -1], np.int32))
    assert label_counts(block).tolist() == [[2, 0, 1], [0, 0.5, 0]]


def test_log_odds_of_expected_values():
    """Those of the second of two labels, and in the order of expected values otherwise, also near the ends."""
    two = np.array([[0.25, 0.75], [1e-20, 1.0], [1.0, 0.0]])
    odds = value_log_odds(two, np.arange(2.0))
    assert odds[:2].tolist() == pytest.approx([np.log(3), np.log(1e20)])
    assert odds[2] < -700
    assert np.isfinite(odds).all()
    rng, value = np.random.default_rng(0), np.array([-1.0, 0.5, 4.0])
    posterior = rng.dirichlet(np.ones(3), 50)
    expected = posterior @ value
    assert value_log_odds(posterior, value) == pytest.approx(np.log((expected + 1) / (4 - expected)))
    near = np.array([[0.0, 1e-18, 1.0], [0.0, 1e-19, 1.0]])
    assert np.diff(value_log_odds(near, value))[0] == pytest.approx(np.log(10))


@pytest.fixture
def both_ways(monkeypatch):
    """Return a function that calls another one twice: with numpy only, and with kernels only."""

    def call(function):
        results = []
        for kernels in (False, True):
            monkeypatch.setattr("adjudge.kernels.truth.pays", lambda kernel, work, answer=kernels: answer)
            results.append([np.array(part) for part in function()])
        return results

    return call


@pytest.mark.parametrize("seed", range(12))
def test_numpy_and_kernels_agree_to_the_last_bit(both_ways, seed):
    """Small crowds are computed in numpy: with topics, gold, weights, finer truths and products that underflow."""
    rng, labels = np.random.default_rng(seed), 2 + seed % 10
    b, prevalence, confusion = random_case(seed, items=9, judges=5, labels=labels, topics=1 + 2 * (seed % 2))
    if seed % 3 == 0:  # an item with many judgments
        rows = [(9, rng.integers(5), rng.integers(labels)) for _ in range(900)]
        more = block([(0, judge, label) for _, judge, label in rows], 1, 5, labels, topic=[0])
        b = join_items([b, more])
    b = b._replace(gold=np.where(rng.random(b.topic.size) < 0.3, rng.integers(labels, size=b.topic.size), -1))
    side = rng.permutation(labels) if seed % 4 == 1 else None
    weighted = b._replace(weight=rng.random(b.cell.size))
    posterior = rng.dirichlet(np.ones(labels), b.topic.size)
    for function in (
        lambda: truth_posterior(b, prevalence, confusion, side),
        lambda: expect(b, prevalence, confusion, side),
        *(
            function
            for each in (b, weighted)
            for function in (
                lambda each=each: count(each, posterior, len(prevalence)),
                lambda each=each: vote_shares(each),
                lambda each=each: vote_shares(each, np.arange(5.0)),
                lambda each=each: label_counts(each),
            )
        ),
    ):
        for numpy, kernel in zip(*both_ways(function), strict=True):
            np.testing.assert_array_equal(numpy, kernel)
