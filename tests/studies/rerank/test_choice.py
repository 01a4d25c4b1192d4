"""The choice of c inside the folds that are learned from."""

import numpy as np
import pytest

from adjudge.learn.folds import fold_of
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import score_groups
from studies.rerank.choice import CHOICE, Folds, Lesson, _rankers, choose_c, ring, select_rows
from studies.rerank.sets import Rows


@pytest.fixture(scope="module")
def rows():
    """Return sixty questions of ten candidates, with a feature that tells and one that never changes."""
    rng = np.random.default_rng(1)
    truth = np.arange(600) % 10 < 2
    X = np.column_stack([truth + rng.normal(size=600), rng.normal(size=(600, 8)), np.full(600, 3.0)])
    names = np.array([f"q{n // 10}" for n in range(600)]), np.array([f"d{n % 10}" for n in range(600)])
    return Rows("made", *names, tuple("abcdefghij"), X, truth)


def test_rankers_that_choose_are_the_ranker_itself(rows):
    """Up to the tolerance, on the rows that neither of two folds has."""
    folds, rng = Folds(rows, fold_of(rows.question)), np.random.default_rng(0)
    lesson = Lesson(rows.truth.astype(float), rng.random(600))
    result = _rankers(folds, lesson, 1, 2, CHOICE)
    train = np.flatnonzero((folds.fold != 1) & (folds.fold != 2))
    own = select_rows(lesson, train)
    for n, c in enumerate(CHOICE):
        peer = RankSVM(c).fit(rows.X[train], own.target, rows.question[train], own.weight)
        assert result[:, n] == pytest.approx(peer.coef_, abs=0.02 * np.abs(peer.coef_).max())


@pytest.mark.filterwarnings("ignore:.*groups have no pair")
def test_the_best_c_on_the_neighbours_is_taken(rows):
    """By the lesson's own labels, as a loop over folds and c finds it."""
    fold = fold_of(rows.question)
    label = (rows.truth ^ (np.random.default_rng(2).random(600) < 0.1)).astype(float)
    expected = []
    for out in range(5):
        worth = []
        for c in CHOICE:
            total = 0.0
            for observed in ((out - 1) % 5, (out + 1) % 5):
                train, test = np.flatnonzero((fold != out) & (fold != observed)), np.flatnonzero(fold == observed)
                ranker = RankSVM(c, tolerance=1e-2).fit(rows.X[train], label[train], rows.question[train])
                score = ranker.decision_function(rows.X[test])
                scores = score_groups(score, label[test] > 0.5, rows.question[test], rows.document[test])
                total += scores.values["MAP"].sum()
            worth.append(round(total, 9))
        expected.append(CHOICE[int(np.argmax(worth))])
    assert choose_c(Folds(rows, fold), Lesson(label)).tolist() == expected


def test_what_is_held_back_has_no_say(rows):
    """Other labels in a fold do not change the c with which that fold is ranked."""
    fold = fold_of(rows.question)
    label = rows.truth.astype(float)
    before = choose_c(Folds(rows, fold), Lesson(label))
    turned = np.where(fold == 3, np.roll(label, 1), label)
    assert choose_c(Folds(rows, fold), Lesson(turned))[3] == before[3]


def test_folds_stand_in_a_ring():
    """Two have only each other."""
    assert ring(5) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    assert ring(2) == [(0, 1)]
