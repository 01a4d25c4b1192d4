"""Labels from judges and runs together, held to enumeration and to crowds whose truth is known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import logit, softmax

import adjudge
from adjudge.data.runs import read_runs
from adjudge.evaluation.label_chances import (
    NORMAL,
    label_chances,
    label_prevalence,
    offsets,
    rank_weights,
    ranks_lift,
    shift_of_labels,
    uses_runs,
)
from adjudge.evaluation.uncertain_labels import draw_labels, grades_for, pools

TOPICS, DOCUMENTS, JUDGES = 40, 20, 12


@pytest.fixture(scope="module")
def crowd():
    """Return judgments of a collection in which one document in ten is relevant, and the truth."""
    rng = np.random.default_rng(4)
    truth = rng.random((TOPICS, DOCUMENTS)) < 0.1
    rows = []
    for t in range(TOPICS):
        for d in range(DOCUMENTS):
            for j in rng.choice(JUDGES, 3, replace=False):
                right = rng.random() < 0.85
                rows.append((f"t{t}_d{d}", f"j{j}", int(truth[t, d] == right), f"t{t}"))
    table = pl.DataFrame(rows, ["item", "judge", "label", "topic"], orient="row")
    return adjudge.read(table), truth


@pytest.fixture(scope="module")
def fit(crowd):
    """Return the default fit."""
    return adjudge.fit(crowd[0])


def scores_of(truth, rng, noise):
    """Return a run that ranks by the truth plus noise."""
    score = truth + noise * rng.normal(size=truth.shape)
    return {f"t{t}": {f"d{d}": float(score[t, d]) for d in range(DOCUMENTS)} for t in range(TOPICS)}


def chances_of(fit, runs, judgments=None, points=20):
    """Return chances by judges and runs, and the pools."""
    pooled = list(pools(fit, read_runs(runs), False))
    rng, worth = np.random.default_rng(0), grades_for(fit, 1.0)
    return label_chances(fit, pooled, worth, 1.0, label_prevalence(fit, judgments), points, rng), pooled


def test_offsets_give_every_label_its_target():
    """Without a closed form, the mean of the chances is what counts."""
    logs = np.random.default_rng(0).normal(size=(500, 3)) * 2
    target = np.array([0.7, 0.25, 0.05])
    assert softmax(logs + offsets(logs, target, np.log(target)), axis=1).mean(axis=0) == pytest.approx(target, rel=5e-3)


def test_the_weights_of_ranks_are_those_of_the_likeliest_evidence():
    """EM finds the maximum of the penalised likelihood: no step in any direction is better."""
    rng = np.random.default_rng(1)
    ranks = rng.normal(size=(400, 2))
    relevant = rng.random(400) < 1 / (1 + np.exp(1 - 1.2 * ranks[:, 0]))
    evidence = np.outer(np.where(relevant, 1.0, -1.0) + rng.normal(size=400), [-1.0, 1.0])
    grade, target = np.array([0.0, 1.0]), np.array([1 - relevant.mean(), relevant.mean()])

    def likelihood(weights):
        logs = np.outer(ranks @ weights, grade)
        prior = softmax(logs + offsets(logs, target, np.log(target)), axis=1)
        return np.log((prior * np.exp(evidence)).sum(axis=1)).sum() - 2 * (weights**2).sum()

    weights = rank_weights(evidence, ranks, grade, target)
    assert weights[0] > 0.7 > 0.4 > abs(weights[1])
    nearby = [weights + step * np.eye(2)[f] for f in (0, 1) for step in (-0.1, 0.1)]
    assert likelihood(weights) > max(likelihood(each) for each in nearby)


def test_ranks_that_mislead_left_out_topics_are_not_used():
    """Their lift is 0, and so it is with a single topic."""
    rng = np.random.default_rng(2)
    evidence = np.outer(rng.normal(size=200), [-1.0, 1.0])
    grade, target, topic = np.array([0.0, 1.0]), np.array([0.5, 0.5]), np.repeat(np.arange(20), 10)
    helpful = evidence[:, 1:] + 0.3 * rng.normal(size=(200, 1))
    assert ranks_lift(evidence, helpful, topic, grade, target).any()
    turned = helpful * np.where(topic % 2 == 0, 1.0, -1.0)[:, None]  # the reverse in every second topic
    assert not ranks_lift(evidence, turned, topic, grade, target).any()
    assert not ranks_lift(evidence, helpful, np.zeros(200, np.int64), grade, target).any()


def test_a_shift_moves_the_log_odds_of_relevance_by_itself():
    """Whatever the grades are, to first order."""
    target, grade, relevant = np.array([0.5, 0.2, 0.2, 0.1]), np.arange(4) / 3, np.array([False, False, True, True])
    step = 1e-4
    moved = softmax(np.log(target) + step * shift_of_labels(target, grade, relevant))
    assert (logit(moved[2:].sum()) - logit(target[2:].sum())) / step == pytest.approx(1, rel=1e-3)


def test_the_prevalence_of_few_judgments_is_estimated_again(crowd, fit):
    """The mean probability is far above one in ten, that of settled EM is not."""
    judgments, truth = crowd
    mean, again = label_prevalence(fit, None)[1], label_prevalence(fit, judgments)[1]
    assert mean > 0.18
    assert abs(again - truth.mean()) < 0.05
    many = replace(fit, calibration=replace(fit.calibration, judgments=10.0))
    assert label_prevalence(many, judgments)[1] == mean


def test_good_runs_make_labels_better(crowd, fit):
    """The log loss of the mean chances is below that without the runs, and documents ranked high are likelier."""
    judgments, truth = crowd
    rng = np.random.default_rng(5)
    runs = {name: scores_of(truth, rng, 0.5) for name in ("a", "b")}
    chances, pooled = chances_of(fit, runs, judgments)
    item = np.concatenate([items for _, items in pooled])
    names = [fit.items[int(i)].removeprefix("t").split("_d") for i in item]
    relevant = np.array([truth[int(t), int(d)] for t, d in names])

    def loss(p):
        return -np.log(np.where(relevant, p, 1 - p)).mean()

    with_runs, alone = chances.mean(slice(0, item.size))[:, 1], fit.posterior[item, 1]
    assert loss(with_runs) < 0.8 * loss(alone)
    assert np.corrcoef(chances.lift, relevant)[0, 1] > 0.3


def test_the_scale_of_judges_is_as_uncertain_as_the_fit_claims(crowd, fit):
    """Over many points, the shift of the log odds has the width of the claim, and the share is uniform."""
    judgments, truth = crowd
    chances, _ = chances_of(fit, {"a": scores_of(truth, np.random.default_rng(6), 0.5)}, judgments, points=400)
    flat = chances._replace(steep=np.ones(400), share=np.zeros(400))
    shift = np.diff(flat.offset, axis=1)[:, 0]
    assert chances.share.mean() == pytest.approx(0.5, abs=0.01)
    assert np.log(chances.steep).std() == pytest.approx(0.36, abs=0.02)
    wide = np.std([logit(flat.at(n, slice(None))[:, 1].mean()) for n in range(0, 400, 8)])
    claimed = logit(0.5 + fit.calibration.margin) / NORMAL
    assert 0.6 * claimed < wide < 1.6 * claimed
    assert shift.std() > 0.8 * claimed


def test_gold_labels_stay_certain(crowd):
    """At every point, and so do their draws."""
    judgments, truth = crowd
    names = [f"t{t}_d0" for t in range(TOPICS)]
    gold = pl.DataFrame({"item": names, "label": truth[:, 0].astype(int)})
    fit = adjudge.fit(judgments, gold=gold)
    chances, pooled = chances_of(fit, {"a": scores_of(truth, np.random.default_rng(7), 0.5)})
    item = np.concatenate([items for _, items in pooled])
    known = np.flatnonzero(fit.gold[item] >= 0)
    assert known.size == TOPICS
    assert (chances.at(3, slice(None))[known] == fit.posterior[item[known]]).all()


def test_only_fits_that_claim_how_right_they_are_use_runs(crowd, fit):
    """Another model's labels are drawn from its own posterior."""
    judgments, truth = crowd
    other = adjudge.fit(judgments, "dawid-skene")
    assert uses_runs(fit)
    assert not uses_runs(other)
    runs = read_runs({"a": scores_of(truth, np.random.default_rng(8), 0.5)})
    topic = next(iter(draw_labels(other, runs, draws=5, seed=0)))
    assert (topic.chance == other.posterior[pools(other, runs, False).__next__()[1]]).all()
    drawn = next(iter(draw_labels(fit, runs, draws=7, seed=0)))  # fewer draws than points
    assert drawn.code.shape == (DOCUMENTS, 7)
