"""LambdaMART, called as RankSVM is."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from adjudge.errors import AdjudgeWarning, InputError, MissingExtra
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn
from adjudge.learn.ranker import NoGroupsWarning
from adjudge.learn.ranksvm import RankSVM


@pytest.fixture
def rows():
    """Return features of which the order is no line, in groups that are mixed."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    y = (np.abs(X[:, 0]) + 0.2 * rng.normal(size=600) > 1).astype(int)
    return X, y, rng.permutation(np.arange(600) % 30), rng.random(600)


def test_it_learns_what_a_line_cannot(rows):
    """And knows the share of pairs in order."""
    X, y, g, f = rows
    assert LambdaMART(40).fit(X, y, g, f).score(X, y, g) > 0.95 > 0.7 > RankSVM().fit(X, y, g, f).score(X, y, g)


def test_the_order_of_rows_does_not_matter(rows):
    """Groups need not stand together; the same seed gives the same trees."""
    X, y, g, f = rows
    order = np.argsort(g, kind="stable")
    first = LambdaMART(10).fit(X, y, g, f).predict(X)
    other = LambdaMART(10).fit(X[order], y[order], g[order], f[order]).predict(X)
    assert first == pytest.approx(other, abs=1e-9)


def test_weights_matter(rows):
    """A row of weight 0 pulls nothing."""
    X, y, g, _ = rows
    wrong = np.arange(600) < 200
    spoiled = np.where(wrong, 1 - y, y)
    plain, knowing = LambdaMART(40).fit(X, spoiled, g), LambdaMART(40).fit(X, spoiled, g, np.where(wrong, 0.0, 1.0))
    assert knowing.score(X, y, g) > plain.score(X, y, g) + 0.02


def test_degrees_are_taken_in_steps(rows):
    """With gains in proportion; a clone has the same parameters."""
    X, y, g, _ = rows
    degree = np.where(y == 1, 0.83, 0.12)
    assert clone(LambdaMART(40, soft=True)).fit(X, degree, g).score(X, y, g) > 0.95


@pytest.mark.parametrize(
    ("soft", "target", "message"),
    [
        (False, 0.5, "the target of row 0 is 0.5, expected an integer grade from 0 to 30"),
        (False, -1, "the target of row 0 is -1, expected an integer grade"),
        (True, 1.5, "the target of row 0 is 1.5, expected a degree from 0 to 1"),
    ],
)
def test_targets_that_are_none_are_refused(rows, soft, target, message):
    """Saying what is expected."""
    X, y, g, _ = rows
    with pytest.raises(NothingToLearn, match=message):
        LambdaMART(soft=soft).fit(X, np.r_[target, y[1:]], g)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trees": None}, "trees 'None' is not an integer of at least 1"),
        ({"trees": 0}, "trees '0' is not an integer of at least 1"),
        ({"trees": np.nan}, "trees 'nan' is not an integer"),
        ({"leaves": 1}, "leaves '1' is not an integer of at least 2"),
        ({"least": "many"}, "least 'many' is not an integer of at least 0"),
        ({"seed": -1}, "seed '-1' is not an integer of at least 0"),
        ({"threads": 0.5}, "threads '0.5' is not an integer of at least -1"),
        ({"rate": 0}, "rate '0' is not a number above 0"),
        ({"rate": None}, "rate 'None' is not a number above 0"),
        ({"soft": "no"}, "soft 'no' is neither True nor False"),
        ({"random": 3}, "random '3' is neither True nor False"),
    ],
)
def test_wrong_parameters_are_refused_when_fitted(rows, options, message):
    """In a sentence, not in LightGBM's."""
    with pytest.raises(NothingToLearn, match=message):
        LambdaMART(**options).fit(*rows)


def test_random_trees_learn_and_repeat_themselves(rows):
    """They are others than plain trees, and depend on the seed alone."""
    X, y, g, _ = rows
    plain, random, same = (LambdaMART(40, random=r).fit(X, y, g) for r in (False, True, True))
    other = LambdaMART(40, random=True, seed=1).fit(X, y, g)
    assert random.score(X, y, g) > 0.9
    assert np.array_equal(random.predict(X), same.predict(X))
    assert not np.array_equal(random.predict(X), plain.predict(X))
    assert not np.array_equal(random.predict(X), other.predict(X))


def test_what_lightgbm_refuses_is_told():
    """It takes 10,000 rows of a group at most."""
    X = np.arange(10_001.0)[:, None]
    with pytest.raises(NothingToLearn, match=r"LightGBM refuses these rows: .*10001"):
        LambdaMART(1).fit(X, (X[:, 0] > 3).astype(int), np.zeros(10_001))


def test_trees_that_lightgbm_cannot_read_are_refused(rows):
    """In a sentence."""
    fitted = LambdaMART(1).fit(*rows)
    fitted.trees_ = "no trees"
    with pytest.raises(InputError, match="LightGBM cannot read the trees of the ranker"):
        fitted.predict(rows[0])


def test_without_groups_rows_are_of_one_question_and_that_is_told(rows):
    """As RankSVM does; equal groups mean it."""
    X, y, _, _ = rows
    with pytest.warns(NoGroupsWarning, match="fit got no groups") as warned:
        bare = LambdaMART(3).fit(X, y)
    assert [entry.filename for entry in warned] == [__file__]
    assert np.array_equal(LambdaMART(3).fit(X, y, np.zeros(600)).predict(X), bare.predict(X))


def test_groups_without_pairs_are_told(rows):
    """As RankSVM does."""
    X, y, g, _ = rows
    with pytest.warns(AdjudgeWarning, match="1 of 30 groups have no pair"):
        LambdaMART(2).fit(X, np.where(g == 3, 0, y), g)


def test_without_the_extra_the_line_to_type_is_told(rows, monkeypatch):
    """When it is used."""
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingExtra, match=r"LambdaMART needs 'adjudge\[lightgbm\]'"):
        LambdaMART().fit(*rows)


def test_it_is_an_estimator_as_scikit_learn_checks_them():
    """But one: weights multiply gradients, so that a row of weight 2 is not two rows."""
    expected = {"check_sample_weight_equivalence_on_dense_data": "weights multiply the gradients of rows"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(LambdaMART(5, least=1), expected_failed_checks=expected, on_skip=None)
    assert sum(check["status"] == "passed" for check in done) > 40


def test_trees_without_a_split_are_told(rows):
    """Where features never change, and where rows are fewer than two leaves need."""
    X, y, g, _ = rows
    with pytest.warns(AdjudgeWarning, match="the trees have no split, so all rows have the same score"):
        fitted = LambdaMART(5).fit(np.ones((600, 2)), y, g)
    assert np.ptp(fitted.predict(X[:, :2])) == 0
    with pytest.warns(AdjudgeWarning, match="no feature separates 20 of 30 rows from the others"):
        LambdaMART(5, least=20).fit(X[:30], y[:30], np.zeros(30))
