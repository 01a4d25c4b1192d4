"""Audits: sampling probabilities, calibration, and estimates that are unbiased over all samples."""

from itertools import product

import numpy as np
import pytest

from adjudge.evaluation.audit import (
    AuditTopic,
    Round,
    bounded,
    calibrate,
    correct,
    cross_fitted,
    estimate,
    estimate_rounds,
    log_ranks,
    of_runs,
    predict,
    rank_features,
    regression_features,
    sampling_probabilities,
    variance_of,
)
from adjudge.metrics.ranking import parse_measures, values

WORTH = np.array([0.0, 1.0, 0.0])  # two labels, and documents that nobody judged
TOPICS, DOCUMENTS = 12, 20


def simulate(seed, shared=0.0):
    """Return topics with two runs, and true labels; with ``shared`` errors, judges like what the second run likes."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((TOPICS, DOCUMENTS)) < 0.3).astype(int)
    lure = rng.normal(size=truth.shape)
    logit = 2.5 * (2 * truth - 1) + shared * lure + rng.normal(size=truth.shape)
    p = 1 / (1 + np.exp(-logit))
    scores = [truth + rng.normal(0, 0.8, truth.shape), truth + rng.normal(0, 0.8, truth.shape) + 0.4 * shared * lure]
    topics = [
        AuditTopic(
            str(t),
            [f"d{d}" for d in range(DOCUMENTS)],
            [np.argsort(-score[t]) for score in scores],
            np.stack([1 - p[t], p[t]], axis=1),
            np.ones(DOCUMENTS, bool),
        )
        for t in range(TOPICS)
    ]
    return topics, truth.ravel()


def true_values(topics, truth, measures):
    """Return the true mean of every run and measure (R, M)."""
    parts = np.split(truth, np.cumsum([len(topic.documents) for topic in topics])[:-1])
    by_topic = [
        values(topic.orders, part[:, None].astype(np.uint16), WORTH, measures, 1.0)[:, :, 0]
        for topic, part in zip(topics, parts, strict=True)
    ]
    return np.mean(by_topic, axis=0)


def test_probabilities_add_up_to_the_size_of_the_sample():
    """They are at most 1, and documents that matter more have more."""
    topics, _ = simulate(0)
    pi = sampling_probabilities(topics, WORTH, parse_measures("MAP,P@10"), 1.0, 50)
    assert pi.sum() == pytest.approx(50)
    assert pi.min() > 0
    assert pi.max() <= 1
    order = topics[0].orders[0]
    assert pi[order[:3]].mean() > pi[order[-3:]].mean()


def test_a_sample_as_large_as_the_collection_takes_everything():
    """Every document then has the probability 1."""
    topics, truth = simulate(0)
    pi = sampling_probabilities(topics, WORTH, parse_measures("MAP"), 1.0, 10 * truth.size)
    assert pi.tolist() == [1.0] * truth.size


def test_known_and_closed_documents_are_not_drawn():
    """Documents of earlier rounds, and those with grade 0 by decision, have the probability 0."""
    topics, truth = simulate(0)
    closed = topics[0].open.copy()
    closed[:5] = False
    topics[0] = topics[0]._replace(open=closed)
    known = np.arange(truth.size) >= truth.size - 7
    pi = sampling_probabilities(topics, WORTH, parse_measures("MAP"), 1.0, 50, known)
    assert pi[:5].tolist() == [0.0] * 5
    assert pi[-7:].tolist() == [0.0] * 7
    assert pi.sum() == pytest.approx(50)


@pytest.mark.parametrize("name", ["MAP", "nDCG@3", "P@2", "MRR"])
def test_first_and_second_order_are_unbiased_over_all_samples_of_two_documents(name):
    """If only two documents are uncertain, the expansion is complete: the mean over all samples is the true value."""
    measures = parse_measures(name)
    chance = np.array([[0.0, 1.0], [0.7, 0.3], [0.4, 0.6], [1.0, 0.0]])
    topic = AuditTopic("1", list("abcd"), [np.array([1, 0, 3, 2])], chance, np.ones(4, bool))
    truth, pi = np.array([1, 1, 0, 0]), np.array([1.0, 0.4, 0.3, 1.0])
    total = 0.0
    for drawn in product((False, True), repeat=2):
        taken = np.array([True, *drawn, True])
        weight = np.prod(np.where(taken, pi, 1 - pi))
        sample = correct([topic], WORTH, measures, 1.0, chance, Round(pi, np.where(taken, truth, -1)))
        total += weight * sample.value[0, 0, 0]
    assert total == pytest.approx(true_values([topic], truth, measures)[0, 0], abs=1e-9)


@pytest.mark.parametrize("name", ["MAP", "nDCG@3", "P@2", "MRR"])
def test_the_variance_is_unbiased_over_all_samples(name, monkeypatch):
    """The mean of its estimates over all samples is the variance of the estimates, of values and of differences."""
    monkeypatch.setattr("adjudge.evaluation.audit.UNSEEN", 0.0)
    measures = parse_measures(name)
    chance = np.array([[0.2, 0.8], [0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    orders = [np.array([1, 0, 3, 2]), np.array([2, 3, 0, 1])]
    topic = AuditTopic("1", list("abcd"), orders, chance, np.ones(4, bool))
    truth, pi = np.array([1, 1, 0, 0]), np.array([0.9, 0.4, 0.3, 0.6])
    weights, estimates, variances = [], [], []
    for drawn in product((False, True), repeat=4):
        weights.append(np.prod(np.where(drawn, pi, 1 - pi)))
        sample = correct([topic], WORTH, measures, 1.0, chance, Round(pi, np.where(drawn, truth, -1)))
        value, effect = sample.value[:, 0, 0], sample.effect[:, 0]
        squares = np.array([sample.left @ effect[0] ** 2, sample.left @ (effect[0] - effect[1]) ** 2])
        added = [of_runs(sample.added[0], np.array([0]), other)[0] for other in (None, np.array([1]))]
        estimates.append([value[0], value[0] - value[1]])
        variances.append(squares + added)
    mean = np.average(estimates, axis=0, weights=weights)
    expected = np.average((estimates - mean) ** 2, axis=0, weights=weights)
    assert np.average(variances, axis=0, weights=weights) == pytest.approx(expected, abs=1e-9)


def test_three_documents_are_added_with_errors_as_the_calibration_expects():
    """Of a precision, document d has the variance q (1 - q) of its label, and counts (1 - pi) / pi^2 times."""
    chance = np.array([[0.3, 0.7], [0.2, 0.8], [0.9, 0.1], [0.5, 0.5]])
    topic = AuditTopic("1", list("abcd"), [np.array([0, 1, 2, 3])], chance, np.ones(4, bool))
    pi = np.array([0.5, 0.4, 0.8, 0.2])
    sample = correct([topic], WORTH, parse_measures("P@2"), 1.0, chance, Round(pi, np.array([1, 0, 0, -1])))
    expected = 0.5 / 0.5**2 * 0.21 + 0.6 / 0.4**2 * 0.16  # the third document is below rank 2
    assert sample.added[0, 0, 0] == pytest.approx(3 / 3 * expected / 2**2)


def test_pairs_take_away_at_most_half_of_a_variance():
    """That is what they have on average at most, so that no variance is 0 or less by chance."""
    assert variance_of(np.array([4.0, 4.0]), np.array([-1.0, -3.0])).tolist() == [3.0, 2.0]


def test_a_complete_audit_gives_the_true_values_without_uncertainty():
    """If every document is labelled, the estimate is the measure, and the interval has no width."""
    topics, truth = simulate(3)
    measures = parse_measures("MAP,nDCG@10,P@10,MRR")
    [sample] = estimate_rounds(topics, WORTH, measures, 1.0, [Round(np.ones(truth.size), truth)], 0)
    exact = true_values(topics, truth, measures)
    for m in range(4):
        found = estimate([sample], 0, m)
        assert found.half == 0
        assert found.value == pytest.approx(exact[0, m], abs=1e-9)


@pytest.mark.parametrize("shared", [0.0, 2.0])
def test_intervals_hold_even_if_judges_share_errors_with_a_run(shared):
    """Over 40 collections, nine in ten intervals contain the true values, for these topics and for all like these."""
    measures, inside, among_all = parse_measures("MAP,nDCG@10,P@10"), [], []
    everything = np.mean([true_values(*simulate(seed, shared), measures) for seed in range(1_000, 1_100)], axis=0)
    for seed in range(40):
        topics, truth = simulate(seed, shared)
        pi = sampling_probabilities(topics, WORTH, measures, 1.0, 80)
        drawn = np.random.default_rng([seed, 1]).random(truth.size) < pi
        [sample] = estimate_rounds(topics, WORTH, measures, 1.0, [Round(pi, np.where(drawn, truth, -1))], 0)
        exact = true_values(topics, truth, measures)
        for m in range(3):
            for found, value, everywhere in (
                (estimate([sample], 0, m), exact[0, m], everything[0, m]),
                (estimate([sample], 1, m), exact[1, m], everything[1, m]),
                (estimate([sample], 0, m, 1), exact[0, m] - exact[1, m], everything[0, m] - everything[1, m]),
            ):
                inside.append(abs(found.value - value) <= found.half + 1e-12)
                among_all.append(abs(found.value - everywhere) <= found.population + 1e-12)
    assert 0.84 <= np.mean(inside) <= 0.98
    assert 0.84 <= np.mean(among_all) <= 0.98


def test_a_second_round_knows_the_labels_of_the_first():
    """The second estimate has no correction for documents of the first round, and both are averaged by size."""
    topics, truth = simulate(5)
    measures = parse_measures("MAP,P@10")
    first = sampling_probabilities(topics, WORTH, measures, 1.0, 60)
    rng = np.random.default_rng(5)
    one = Round(first, np.where(rng.random(truth.size) < first, truth, -1))
    second = sampling_probabilities(topics, WORTH, measures, 1.0, 40, one.truth >= 0)
    two = Round(second, np.where(rng.random(truth.size) < second, truth, -1))
    samples = list(estimate_rounds(topics, WORTH, measures, 1.0, [one, two], 0))
    assert samples[1].left.size == two.size
    alone = [estimate([sample], 0, 1).value for sample in samples]
    expected = (one.size * alone[0] + two.size * alone[1]) / (one.size + two.size)
    assert estimate(samples, 0, 1).value == pytest.approx(expected)
    assert estimate(samples, 0, 1).half < estimate(samples[:1], 0, 1).half


def test_there_is_no_interval_if_too_few_documents_matter():
    """Four audited documents are too few."""
    topics, truth = simulate(0)
    drawn = np.full(truth.size, -1)
    drawn[:4] = truth[:4]
    [sample] = estimate_rounds(topics, WORTH, parse_measures("MAP"), 1.0, [Round(np.full(truth.size, 0.1), drawn)], 0)
    assert np.isnan(estimate([sample], 0, 0).half)


def test_calibration_corrects_judges_who_are_too_sure():
    """Judges with doubled log odds get a weight near one half from many labels."""
    rng = np.random.default_rng(0)
    logit = rng.normal(size=4_000)
    truth = (rng.random(4_000) < 1 / (1 + np.exp(-logit))).astype(int)
    sure = 1 / (1 + np.exp(-2 * logit))
    topic = AuditTopic("1", [str(d) for d in range(4_000)], [np.arange(10)], np.stack([1 - sure, sure], 1), truth >= 0)
    features, grade = regression_features([topic], WORTH)
    rows = np.arange(4_000)
    learned = calibrate(features, grade, np.zeros(4_000, int), 1, rows, truth)
    assert learned.mean[0] == pytest.approx(0.5, abs=0.06)
    p = predict(learned, features, grade, np.zeros(4_000, int))
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert p[:, 1].mean() == pytest.approx(truth.mean(), abs=0.02)


def test_a_document_does_not_teach_its_own_chance():
    """Changing the label of one document leaves its own calibrated chance unchanged."""
    topics, truth = simulate(2)
    none, drawn = np.full(truth.size, -1), np.where(np.arange(truth.size) % 3 == 0, truth, -1)
    other = drawn.copy()
    other[30] = 1 - other[30]
    p, changed = (cross_fitted(topics, WORTH, none, each, 0) for each in (drawn, other))
    assert p[30].tolist() == changed[30].tolist()
    assert not np.array_equal(p, changed)


def test_ranks_are_averaged_over_many_runs():
    """Up to eight runs have a feature each, more share one."""
    topics, _ = simulate(0)
    assert rank_features(topics, log_ranks).shape == (TOPICS * DOCUMENTS, 2)
    many = [topic._replace(orders=topic.orders * 5) for topic in topics]
    assert rank_features(many, log_ranks).shape == (TOPICS * DOCUMENTS, 1)


def test_bounded_chances_sum_to_one():
    """No chance is 0 or 1."""
    p = bounded(np.array([[0.0, 1.0], [0.5, 0.5]]))
    assert p.sum(axis=1) == pytest.approx(1.0)
    assert p.min() > 0.001


def test_log_ranks_put_documents_that_are_not_ranked_after_the_last():
    """They have the rank after it, and so does every document of a run that returns none."""
    assert log_ranks(np.array([3, 1]), 4) == pytest.approx(-np.log([3, 2, 3, 1]))
    assert log_ranks(np.array([], int), 2).tolist() == [0.0, 0.0]
