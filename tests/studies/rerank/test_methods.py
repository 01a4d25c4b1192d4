"""The methods of the study: what each tells a ranker."""

import numpy as np
import pytest

from adjudge.learn.folds import fold_of
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.topic_scores import score_groups
from adjudge.learn.weights import SCHEMES, weights
from studies.rerank.choice import CHOICE, select_rows
from studies.rerank.crowds import REGIMES, draw_crowd
from studies.rerank.methods import BOOSTED, METHODS, Task, able, scored, scores
from studies.rerank.sets import Rows


@pytest.fixture(scope="module")
def task():
    """Return forty questions of ten candidates and a noisy crowd."""
    rng = np.random.default_rng(0)
    truth = np.arange(400) % 10 < 2
    X = np.column_stack([truth + rng.normal(size=400), rng.normal(size=400)])
    names = np.array([f"q{n // 10}" for n in range(400)]), np.array([f"d{n % 10}" for n in range(400)])
    rows = Rows("made", *names, ("good", "noise"), X, truth, truth ^ (rng.random(400) < 0.2), X[:, 0])
    return Task(rows, draw_crowd(truth, REGIMES["noisy"], rng), truth)


def test_the_papers_methods_are_there(task):
    """BM25, RE, CA, the six schemes, and those beyond."""
    assert set(SCHEMES) | {"BM25", "RE", "CA", "gold", "DS margin", "DS entropy", "DS pairs", "Raykar"} < set(METHODS)
    assert able(task) == list(METHODS.values())
    poorer = Task(task.rows._replace(matched=None, bm25=None), task.crowd, task.majority)
    assert {m.name for m in METHODS.values()} - {m.name for m in able(poorer)} == {"BM25", "RE", "gold"}
    assert set(METHODS) - {m.name for m in able(task, boosted=False)} == set(BOOSTED)


def test_lessons_are_what_their_names_say(task):
    """Labels by the vote with the weights of a scheme, or by a model with those of its posterior."""
    vote = METHODS["CA"].lesson(task)
    assert (vote.target.tolist(), vote.weight, vote.soft) == (task.majority.astype(float).tolist(), None, False)
    scheme = METHODS["LPTC"].lesson(task)
    own = weights(task.crowd.judgments, "LPTC", trust=task.crowd.trust)
    assert np.array_equal(scheme.weight, own.weight)
    assert np.array_equal(scheme.target, vote.target)
    model = METHODS["DS margin"].lesson(task)
    assert np.array_equal(model.weight, posterior_weights(task.fit("dawid-skene")).weight)
    assert np.array_equal(model.target, task.fit("dawid-skene").label)
    soft = METHODS["vote pairs"].lesson(task)
    assert (soft.soft, sorted(set(soft.target.round(6)))) == (True, [0, 0.2, 0.4, 0.6, 0.8, 1])
    assert METHODS["DS pairs"].lesson(task).soft
    assert np.array_equal(METHODS["RE"].lesson(task).target, task.rows.matched)
    assert np.array_equal(METHODS["gold"].lesson(task).target, task.truth)


def test_weights_have_mean_one_on_the_rows_that_teach(task):
    """Of each fold."""
    part = select_rows(METHODS["LPTC"].lesson(task), np.arange(100))
    assert part.weight.mean() == pytest.approx(1)
    assert part.target.size == 100


@pytest.mark.parametrize("name", [name for name in METHODS if name not in BOOSTED])
def test_every_method_ranks_what_it_has_not_seen(task, name):
    """Better than by chance, for the feature tells."""
    fold = fold_of(task.rows.question)
    result = score_groups(scores(task, METHODS[name], fold), task.truth, task.rows.question, task.rows.document)
    assert 0.5 < result.means()["MAP"] < 1


@pytest.mark.parametrize("name", BOOSTED)
def test_trees_take_the_same_lessons(task, name):
    """And beat chance, with leaves as large as on the study's sets, which are thirty times larger."""
    pytest.importorskip("lightgbm")
    fold, names = fold_of(task.rows.question), (task.rows.question, task.rows.document)
    result = scored(task, METHODS[name], fold)
    assert result.c.size == 0
    chance = score_groups(np.random.default_rng(0).random(400), task.truth, *names).means()["MAP"]
    assert score_groups(result.score, task.truth, *names).means()["MAP"] > chance + 0.05


def test_c_is_chosen_where_none_is_given(task):
    """For every fold, of the grid; one that is given is taken."""
    fold = fold_of(task.rows.question)
    assert set(scored(task, METHODS["LPTC"], fold).c.tolist()) <= set(CHOICE)
    fixed = Task(task.rows, task.crowd, task.truth, 0.5)
    assert scored(fixed, METHODS["LPTC"], fold).c.tolist() == [0.5] * 5


def test_raykars_loop_believes_the_ranker(task):
    """It changes probabilities, and so scores."""
    fold = fold_of(task.rows.question)
    first, other = (scores(task, METHODS[name], fold) for name in ("DS pairs", "Raykar"))
    assert np.corrcoef(first, other)[0, 1] > 0.9
    assert not np.allclose(first, other)
