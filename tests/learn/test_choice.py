"""The choice of a ranker inside folds."""

import numpy as np
import pytest

from adjudge.learn import choice
from adjudge.learn.choice import Candidate, Topics, choose, svm_candidates
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import score_groups
from adjudge.learn.training_set import TrainingSet


@pytest.fixture
def rows():
    """Return 40 topics of eight documents with 30 features, of which one is good, and noisy labels."""
    rng = np.random.default_rng(3)
    truth = np.tile([1.0, 0, 0, 0, 0, 0, 0, 0], 40)
    X = rng.normal(size=(320, 30))
    X[:, 0] += truth
    code = np.repeat(np.arange(40), 8)
    p = np.clip(truth * 0.6 + 0.2 + 0.1 * rng.normal(size=320), 0, 1)
    return Topics(X, code, np.arange(320), code % 5, p), {"pairs": TrainingSet(np.arange(320), p, None, True)}


def test_the_choice_is_that_of_plain_cross_validation(rows):
    """By enumeration: every candidate is trained without two folds, and ranks the other one."""
    topics, sets = rows
    candidates = [Candidate("pairs", RankSVM(c, soft=True, tolerance=1e-2)) for c in (1e-6, 1e-2, 1e2)]
    result = choose(candidates, sets, topics)
    value = np.zeros((3, 5))
    certain = topics._replace(degree=(topics.degree > 0.5).astype(float))
    result = choose(candidates, sets, certain)
    for n, candidate in enumerate(candidates):
        for held_out in range(5):
            precisions = []
            for fold in set(range(5)) - {held_out}:
                train, test = ~np.isin(topics.fold, (fold, held_out)), topics.fold == fold
                ranker = RankSVM(candidate.ranker.c, soft=True, tolerance=1e-2)
                ranker.fit(topics.X[train], topics.degree[train], topics.code[train])
                score = ranker.decision_function(topics.X[test])
                precisions += score_groups(score, certain.degree[test] > 0, topics.code[test]).values["MAP"].tolist()
            value[n, held_out] = np.mean(precisions)
    assert result.by_fold == tuple(candidates[n] for n in value.argmax(axis=0))
    assert result.topics == 40
    assert result.precision == pytest.approx(value.mean(axis=1))


def test_of_equals_the_first_is_chosen(rows):
    """So that the outcome does not depend on rounding."""
    topics, sets = rows
    twins = [Candidate("pairs", RankSVM(0.01, soft=True)), Candidate("pairs", RankSVM(0.01, soft=True))]
    assert choose(twins, sets, topics).final is twins[0]


@pytest.mark.parametrize("case", ["one candidate", "two folds", "nothing relevant"])
def test_without_a_choice_the_first_is_taken(rows, case):
    """And nothing was compared."""
    topics, sets = rows
    candidates = [Candidate("pairs", RankSVM(c)) for c in (1.0, 2.0)]
    if case == "one candidate":
        candidates = candidates[:1]
    elif case == "two folds":
        topics = topics._replace(fold=topics.code % 2)
    else:
        topics = topics._replace(degree=np.zeros(320))
    result = choose(candidates, sets, topics)
    assert (result.final, result.topics) == (candidates[0], 0)
    assert result.by_fold == (candidates[0],) * (2 if case == "two folds" else 5)
    assert np.isnan(result.precision).all()


def test_large_sets_are_chosen_on_some_topics(rows, monkeypatch):
    """Whole topics of every fold, the same for the same seed, within the limits."""
    topics, sets = rows
    monkeypatch.setattr(choice, "MOST_ROWS", 160)
    some = choice._drawn(topics, 0)
    assert some.sum() == 160
    assert all(len(set(some[topics.code == t].tolist())) == 1 for t in range(40))
    assert np.bincount(topics.fold[some]).tolist() == [32] * 5
    assert np.array_equal(some, choice._drawn(topics, 0))
    assert not np.array_equal(some, choice._drawn(topics, 1))
    monkeypatch.setattr(choice, "MOST_PAIRS", 28 * 15)
    assert choice._drawn(topics, 0).sum() == 8 * 15
    candidates = [Candidate("pairs", RankSVM(c)) for c in (1e-3, 1.0)]
    assert choose(candidates, sets, topics).topics == 15


def test_a_fold_without_pairs_to_learn_from_is_no_error(rows):
    """Its candidates score nothing."""
    topics, _ = rows
    target = np.where(topics.fold < 2, (topics.degree > 0.5).astype(float), 0.0)
    sets = {"label": TrainingSet(np.arange(320), target, None, False)}
    candidates = [Candidate("label", RankSVM(c)) for c in (1e-3, 1.0)]
    assert choose(candidates, sets, topics._replace(degree=target)).topics == 40


def test_candidates_for_c_are_relative_to_the_pairs(rows):
    """Twice the weight of all pairs is half the c."""
    topics, sets = rows
    both = TrainingSet(np.arange(640), np.tile(sets["pairs"].target, 2), None, True)
    single = svm_candidates(sets["pairs"], topics.code, RankSVM())
    double = svm_candidates(both, np.r_[topics.code, topics.code + 40], RankSVM())
    assert [a.c / b.c for a, b in zip(single, double, strict=True)] == [2.0] * len(single)


def test_candidates_are_described():
    """By ranker, settings and how they learn."""
    assert str(Candidate("pairs", RankSVM(2.0**-7))) == "RankSVM (c 2^-7), learning from pairs"
    assert str(Candidate("label", RankSVM(0.3))) == "RankSVM (c 0.3), learning from label"
    trees = Candidate("margin", LambdaMART(**choice.TREES))
    assert str(trees) == "LambdaMART (least 100, leaves 7, trees 100), learning from margin"
