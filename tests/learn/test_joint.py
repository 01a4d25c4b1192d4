"""Raykar's loop: the ranker's scores as the prior of the consensus."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from adjudge import fit, simulate
from adjudge.learn.folds import fold_of
from adjudge.learn.joint import joint_relevance, logistic
from adjudge.learn.ranksvm import RankSVM


def log_loss(p, truth):
    """Return the mean log loss, bounded."""
    return -np.log(np.clip(np.where(truth, p, 1 - p), 1e-3, 1)).mean()


@pytest.mark.parametrize("seed", range(3))
def test_a_good_ranker_improves_the_labels(seed):
    """On simulated crowds with features that tell the truth, and hardly with features that do not."""
    crowd = simulate("rerank", seed, topics=60, items=900, judges=24, noise=0.3, gold=0)
    rng, truth = np.random.default_rng(seed), crowd.truth.astype(bool)
    p = fit(crowd.judgments, "dawid-skene").posterior[:, 1]
    good = 2.0 * truth[:, None] + rng.normal(size=(900, 2))
    joint = joint_relevance(p, good, crowd.judgments.topic, RankSVM(0.01, soft=True))
    assert joint.rounds > 0
    assert log_loss(joint.relevance, truth) < log_loss(p, truth) - 0.01
    useless = joint_relevance(p, rng.normal(size=(900, 2)), crowd.judgments.topic, RankSVM(0.01, soft=True))
    assert abs(log_loss(useless.relevance, truth) - log_loss(p, truth)) < 0.01


def test_one_round_is_bayes_rule():
    """The prior of a held-out ranker, as scikit-learn calibrates it, replaces the prevalence in the odds."""
    rng = np.random.default_rng(0)
    p, X, topics = rng.uniform(0.05, 0.95, 80), rng.normal(size=(80, 2)), np.repeat(np.arange(20), 4)
    joint = joint_relevance(p, X, topics, RankSVM(0.01, soft=True), rounds=1)
    fold, score = fold_of(topics, 4), np.zeros(80)
    for k in range(4):
        fitted = RankSVM(0.01, soft=True).fit(X[fold != k], p[fold != k], topics[fold != k])
        score[fold == k] = fitted.decision_function(X[fold == k])
    both, label = np.r_[score, score][:, None] / score.std(), np.repeat([1, 0], 80)
    curve = LogisticRegression(C=1e9, tol=1e-10).fit(both, label, sample_weight=np.r_[p, 1 - p])
    prior = curve.predict_proba(both[:80])[:, 1]
    odds = p / (1 - p) * (1 - p.mean()) / p.mean() * prior / (1 - prior)
    assert joint.rounds == 1
    assert joint.relevance == pytest.approx(odds / (1 + odds), abs=1e-4)


def test_one_topic_or_no_pairs_leave_the_consensus():
    """No ranker can be trained, so nothing changes."""
    p, X = np.array([0.2, 0.8]), np.array([[1.0], [2.0]])
    assert joint_relevance(p, X, np.zeros(2), RankSVM(soft=True)).rounds == 0
    same = joint_relevance(np.full(4, 0.3), np.arange(4.0)[:, None], np.array([0, 0, 1, 1]), RankSVM(soft=True))
    assert (same.rounds, same.relevance.tolist()) == (0, [0.3] * 4)


def test_a_logistic_curve_is_found():
    """Through probabilities that lie on one."""
    x = np.linspace(-3, 3, 50)
    p = 1 / (1 + np.exp(-(0.5 + 2 * x)))
    assert logistic(x, p) == pytest.approx(p, abs=1e-5)
