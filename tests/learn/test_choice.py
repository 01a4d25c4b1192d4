"""The choice of a ranker inside folds."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from adjudge.learn import choice
from adjudge.learn.choice import Blend, Candidate, Rankings, Topics, blend, choose, svm_candidates
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
    """By enumeration: candidates are trained without two folds, and averaged if one standard error from the best."""
    topics, sets = rows
    candidates = [Candidate("pairs", RankSVM(c, soft=True, tolerance=1e-2)) for c in (1e-6, 1e-2, 1e2)]
    certain = topics._replace(degree=(topics.degree > 0.5).astype(float))
    result = choose(candidates, sets, certain)
    value = np.zeros((3, 5, 40))
    for n, candidate in enumerate(candidates):
        for held_out in range(5):
            for fold in set(range(5)) - {held_out}:
                train, test = ~np.isin(topics.fold, (fold, held_out)), topics.fold == fold
                ranker = RankSVM(candidate.ranker.c, soft=True, tolerance=1e-2)
                ranker.fit(topics.X[train], topics.degree[train], topics.code[train])
                score = ranker.decision_function(topics.X[test])
                precisions = score_groups(score, certain.degree[test] > 0, topics.code[test]).values["MAP"]
                value[n, held_out, np.arange(40) % 5 == fold] = precisions
    sizes = set()
    for held_out in range(5):
        seen = value[:, held_out, np.arange(40) % 5 != held_out]  # (3, 32)
        behind = seen[seen.mean(axis=1).argmax()] - seen
        nearly = behind.mean(axis=1) <= behind.std(axis=1) / 32**0.5 + 1e-9
        members = tuple(candidates[n] for n in np.flatnonzero(nearly))
        assert result.by_fold[held_out] == Blend(members, (1 / len(members),) * len(members))
        sizes.add(len(members))
    assert min(sizes) < 3  # a candidate is left out somewhere
    assert result.topics == 40
    assert result.precision == pytest.approx((value.sum(axis=1) / 4).mean(axis=1))


def test_equals_are_averaged(rows):
    """So that the outcome does not depend on rounding."""
    topics, sets = rows
    twins = (Candidate("pairs", RankSVM(0.01, soft=True)), Candidate("pairs", RankSVM(0.01, soft=True)))
    assert choose(twins, sets, topics).final == Blend(twins, (0.5, 0.5))


def test_both_kinds_are_averaged_unless_one_is_clearly_better(rows):
    """Of two kinds that err on different topics both are used; a kind that ranks at random is left out."""
    topics, _ = rows
    candidates = [Candidate("pairs", RankSVM()), Candidate("pairs", LambdaMART()), Candidate("pairs", LambdaMART(5))]
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3, 320)) / 4
    good, noisy = topics.degree + noise, noise

    def chosen(*score):
        return blend(candidates, Rankings(topics, np.repeat(np.array(score)[:, None], 5, axis=1)), [0])

    assert chosen(*good) == Blend(tuple(candidates), (0.5, 0.25, 0.25))
    assert chosen(topics.degree, noisy[1], noisy[2]) == Blend((candidates[0],), (1.0,))
    assert chosen(noisy[0], topics.degree, noisy[2]) == Blend((candidates[1],), (1.0,))
    assert chosen(topics.degree, 0 * noisy[1], 0 * noisy[1]) == Blend((candidates[0],), (1.0,))
    assert chosen(0 * noisy[0], 0 * noisy[1], 0 * noisy[1]) == Blend((candidates[0],), (1.0,))


def test_rankers_of_another_kind_are_not_averaged(rows):
    """The best one is chosen."""
    topics, _ = rows

    class Mine(LinearRegression):
        """Another one."""

    candidates = [Candidate("pairs", RankSVM()), Candidate("label", Mine())]
    score = np.repeat(np.array([-topics.degree, topics.degree])[:, None], 5, axis=1)
    assert blend(candidates, Rankings(topics, score), [0]) == Blend((candidates[1],), (1.0,))


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
    first = Blend((candidates[0],), (1.0,))
    assert (result.final, result.topics) == (first, 0)
    assert result.by_fold == (first,) * (2 if case == "two folds" else 5)
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
    assert str(trees) == "LambdaMART (trees 100, leaves 7, least 20, random), learning from margin"
    linear = [Candidate("pairs", RankSVM(2.0**e)) for e in (-3, -9)]
    assert str(Blend((linear[0],), (1.0,))) == str(linear[0])
    assert str(Blend((*linear, trees), (0.25, 0.25, 0.5))) == (
        "the average of 2 RankSVM (c 2^-9 to 2^-3) and 1 LambdaMART, learning from pairs, margin"
    )
