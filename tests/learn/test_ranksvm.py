"""The ranking SVM: scikit-learn's optimum, scikit-learn's ways."""

import doctest
import warnings
from functools import partial

import numpy as np
import polars as pl
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from adjudge.errors import AdjudgeWarning
from adjudge.learn import ranksvm
from adjudge.learn import ranksvm as newton
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import PAIR_WEIGHTS, NothingToLearn, differences, loss_and_pull, make_pairs
from adjudge.learn.ranker import NoGroupsWarning
from adjudge.learn.ranksvm import RankSVM, conjugate_gradients, solve
from adjudge.learn.topic_scores import scorer


@pytest.fixture
def rows():
    """Return features, targets, groups that are mixed, and weights."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    g = rng.permutation(np.repeat(np.arange(20), 15))
    y = (X[:, 0] + rng.normal(size=300) * 3 > 1).astype(int)
    return X, y, g, rng.random(300)


@pytest.mark.parametrize("how", PAIR_WEIGHTS)
@pytest.mark.parametrize("c", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_linear_svc_on_differences(rows, how, c):
    """As SPEC 8 has it: squared hinge, no intercept, primal, the pairs' weights as sample_weight."""
    X, y, g, f = rows
    vectors, weight = differences(make_pairs(y, g, f, pair_weight=how), X)
    sign = np.where(np.arange(weight.size) % 2, -1, 1)
    peer = LinearSVC(loss="squared_hinge", fit_intercept=False, dual=False, C=c, tol=1e-10, max_iter=10_000)
    peer.fit(vectors * sign[:, None], sign, sample_weight=weight)
    for solver in ranksvm.SOLVERS:
        fitted = RankSVM(c, pair_weight=how, standardise=False, solver=solver).fit(X, y, g, f)
        assert fitted.coef_ == pytest.approx(peer.coef_[0], abs=1e-6)
        assert fitted.pairs_ == weight.size


@pytest.mark.parametrize("solver", ranksvm.SOLVERS)
def test_soft_pairs_weigh_the_difference_of_their_targets(rows, solver):
    """Both solvers find one optimum."""
    X, _, g, f = rows
    degree = 1 / (1 + np.exp(-X[:, 0]))
    fitted = RankSVM(soft=True).fit(X, degree, g, f)
    assert RankSVM(soft=True, solver=solver).fit(X, degree, g, f).coef_ == pytest.approx(fitted.coef_, abs=1e-6)
    assert RankSVM().fit(X, degree, g, f).coef_ != pytest.approx(fitted.coef_, abs=1e-3)


def test_one_pair_is_enough_for_both_solvers():
    """Of which the optimum is known: w = 2 c d / (1 + 2 c d^2)."""
    for solver in ranksvm.SOLVERS:
        fitted = RankSVM(0.5, standardise=False, solver=solver).fit([[0.0], [3.0]], [0, 1], [0, 0])
        assert fitted.coef_ == pytest.approx([3 / 10], abs=1e-6)
        assert fitted.objective_ == pytest.approx(0.3**2 / 2 + 0.5 * 0.1**2, abs=1e-6)


def test_standardising_does_not_depend_on_units(rows):
    """Scores are the same whether a feature is told in metres or in miles, and have mean 0."""
    X, y, g, f = rows
    far = X * np.array([1, 1609.3, 1, 1e-6, 1, 1]) + 7
    fitted, other = RankSVM().fit(X, y, g, f), RankSVM().fit(far, y, g, f)
    assert fitted.decision_function(X) == pytest.approx(other.decision_function(far), abs=1e-5)
    assert fitted.decision_function(X).mean() == pytest.approx(0, abs=1e-12)


def test_a_constant_feature_counts_for_nothing(rows):
    """However large it is."""
    X, y, g, f = rows
    wide = np.column_stack([X, np.full(len(X), 1e9), np.full(len(X), 0.1)])
    fitted = RankSVM().fit(wide, y, g, f)
    assert fitted.coef_[-2:] == pytest.approx([0, 0], abs=1e-6)
    assert fitted.coef_[:-2] == pytest.approx(RankSVM().fit(X, y, g, f).coef_, abs=1e-6)


def test_svmlight_has_its_own_c(rows):
    """One over the mean squared length of the rows."""
    X, y, g, _ = rows
    assert RankSVM("svmlight", standardise=False).fit(X, y, g).c_ == pytest.approx(1 / (X**2).sum(axis=1).mean())
    assert RankSVM("svmlight").fit(X, y, g).c_ == pytest.approx(1 / 6)
    with pytest.warns(AdjudgeWarning, match="nothing is learned"):
        assert RankSVM("svmlight", standardise=False).fit(np.zeros((2, 1)), [0, 1], [0, 0]).c_ == 1.0


def test_groups_without_pairs_are_counted_and_told(rows):
    """And change nothing else."""
    X, y, g, f = rows
    more = (np.vstack([X, X[:4]]), np.r_[y, 1, 1, 0, 0], np.r_[g, 90, 90, 91, 91], np.r_[f, f[:4]])
    with pytest.warns(AdjudgeWarning, match="2 of 22 groups have no pair"):
        fitted = RankSVM(standardise=False).fit(*more)
    assert fitted.groups_without_pairs_ == 2
    assert fitted.coef_ == pytest.approx(RankSVM(standardise=False).fit(X, y, g, f).coef_, abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"c": 0}, "c '0' is not a number above 0, nor 'svmlight'"),
        ({"c": "much"}, "c 'much' is not a number above 0"),
        ({"c": None}, "c 'None' is not a number above 0"),
        ({"c": -1.0}, "c '-1.0' is not a number above 0"),
        ({"c": np.nan}, "c 'nan' is not a number above 0"),
        ({"c": np.inf}, "c 'inf' is not a number above 0"),
        ({"c": True}, "c 'True' is not a number above 0"),
        ({"c": np.array([1.0, 2.0])}, "is not a number above 0"),
        ({"tolerance": None}, "tolerance 'None' is not a number from 0 to below 1"),
        ({"tolerance": np.nan}, "tolerance 'nan' is not a number from 0 to below 1"),
        ({"soft": "no"}, "soft 'no' is neither True nor False"),
        ({"standardise": None}, "standardise 'None' is neither True nor False"),
        ({"pair_weight": None}, "pair_weight 'None' is not one of"),
        ({"solver": "magic"}, "solver 'magic' is not one of 'newton', 'liblinear'"),
        ({"pair_weight": "max"}, "pair_weight 'max' is not one of"),
    ],
)
def test_wrong_parameters_are_refused_when_fitted(rows, options, message):
    """Not before, since a search sets them one by one."""
    with pytest.raises(NothingToLearn, match=message):
        RankSVM(**options).fit(*rows)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(rows, value):
    """In features and in targets, in scikit-learn's words."""
    X, y, g, _ = rows
    wrong = X.copy()
    wrong[3, 1] = value
    for inputs in ((wrong, y, g), (X, np.where(np.arange(300) == 3, value, y), g)):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            RankSVM().fit(*inputs)
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        RankSVM().fit(X, y, g).decision_function(wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X": np.arange(300.0)}, "Expected 2D array, got 1D array instead"),
        ({"y": np.ones(300)}, "none of 20 groups has a pair: in each, all rows have the same target"),
        ({"y": np.ones(299)}, "inconsistent numbers of samples"),
        ({"y": ["no", "yes"] * 150}, "could not convert string to float"),
        ({"y": None}, "requires y to be passed"),
        ({"groups": [None] * 300}, "the group of row 0 is None"),
        ({"groups": np.ones(3)}, r"groups have the shape \(3,\), expected one for each of 300 rows"),
        ({"sample_weight": np.full(300, np.nan)}, "sample_weight of row 0 is nan"),
        ({"sample_weight": np.full(300, -1.0)}, "sample_weight of row 0 is -1.0"),
        ({"sample_weight": np.ones(3)}, r"sample_weight has the shape \(3,\)"),
        ({"X": np.full((300, 1), 1e200) * np.arange(300)[:, None]}, "too large and overflow"),
    ],
)
def test_rows_that_cannot_be_are_refused(rows, wrong, message):
    """By a ValueError in each case, as scikit-learn's users expect."""
    inputs = dict(zip(("X", "y", "groups", "sample_weight"), rows, strict=True))
    with pytest.raises(ValueError, match=message):
        RankSVM(standardise=False).fit(**(inputs | wrong))


def test_zero_weight_in_all_is_refused(rows):
    """With what to do."""
    X, y, g, _ = rows
    with pytest.raises(NothingToLearn, match="sample_weight is zero for all 300 rows"):
        RankSVM().fit(X, y, g, np.zeros(300))


def test_an_unfitted_ranker_says_so(rows):
    """As every estimator does."""
    with pytest.raises(NotFittedError):
        RankSVM().predict(rows[0])


def test_scores_and_predictions_are_those_of_the_decision(rows):
    """The share of ordered pairs is what score returns; a clone is not fitted."""
    X, y, g, f = rows
    fitted = RankSVM(0.1).fit(X, y, g, f)
    assert fitted.predict(X) == pytest.approx(fitted.decision_function(X))
    assert 0.5 < fitted.score(X, y, g) < 1
    again = clone(fitted)
    assert again.get_params()["c"] == 0.1
    assert not hasattr(again, "coef_")
    assert again.set_params(soft=True).soft


def test_columns_of_a_frame_are_kept_by_name(rows):
    """And a frame in another order is refused."""
    X, y, g, _ = rows
    frame = pl.DataFrame(X, schema=list("abcdef"))
    fitted = RankSVM().fit(frame, y, g)
    assert fitted.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.select("b", "a", "c", "d", "e", "f"))


def test_pipelines_pass_groups_on(rows):
    """By the name of the step."""
    X, y, g, f = rows
    pipe = make_pipeline(StandardScaler(), RankSVM(standardise=False))
    pipe.fit(X, y, ranksvm__groups=g, ranksvm__sample_weight=f)
    assert pipe.decision_function(X) == pytest.approx(RankSVM().fit(X, y, g, f).decision_function(X), abs=1e-6)


@pytest.mark.parametrize("scoring", [None, "MAP"])
def test_searches_route_groups_to_folds_ranker_and_score(rows, scoring):
    """With scikit-learn's metadata routing, as the docstring says."""
    X, y, g, f = rows
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankSVM().set_fit_request(groups=True, sample_weight=True)
        ranker.set_score_request(groups=True, sample_weight=False)
        search = GridSearchCV(
            ranker, {"c": [0.01, 1.0]}, cv=GroupKFold(4), scoring=scoring and scorer(scoring), error_score="raise"
        )
        search.fit(X, y, groups=g, sample_weight=f)
    assert search.best_estimator_.pairs_ == RankSVM().fit(X, y, g, f).pairs_
    assert 0 < search.best_score_ < 1


def test_without_groups_rows_are_of_one_question_and_that_is_told_once(rows):
    """At the caller's own line; equal groups say the same, and nothing is told."""
    X, y, _, _ = rows
    with pytest.warns(NoGroupsWarning, match="fit got no groups, so all rows form one group") as warned:
        bare = RankSVM().fit(X, y)
    assert [entry.filename for entry in warned] == [__file__]
    assert "set_config(enable_metadata_routing=True)" in str(warned[0].message)
    assert RankSVM().fit(X, y, np.zeros(300)).coef_ == pytest.approx(bare.coef_, abs=0)


def test_a_search_that_does_not_route_groups_says_so(rows):
    """GroupKFold gets them, the ranker does not."""
    X, y, g, _ = rows
    with pytest.warns(NoGroupsWarning, match="got no groups") as warned:
        GridSearchCV(RankSVM(), {"c": [1.0]}, cv=GroupKFold(2)).fit(X, y, groups=g)
    assert {str(entry.message).split()[0] for entry in warned} == {"fit", "score"}


def routed(ranker):
    """Return a ranker that asks for groups and weights."""
    return ranker.set_fit_request(groups=True, sample_weight=True).set_score_request(groups=True, sample_weight=True)


@pytest.mark.parametrize("piped", [False, True])
@pytest.mark.parametrize("kind", [RankSVM, partial(LambdaMART, 5)])
def test_a_search_gives_what_is_found_by_hand(rows, piped, kind):
    """Fold by fold and parameter by parameter, alone and in a pipeline."""
    X, y, g, f = rows
    name, values = ("c", [0.01, 1.0]) if kind is RankSVM else ("leaves", [2, 15])

    def made():
        return make_pipeline(StandardScaler().set_fit_request(sample_weight=False), routed(kind()))

    with sklearn.config_context(enable_metadata_routing=True):
        tried = made() if piped else routed(kind())
        step = f"{kind().__class__.__name__.lower()}__" if piped else ""
        search = GridSearchCV(tried, {step + name: values}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=g, sample_weight=f)
    for at, value in enumerate(values):
        for k, (train, test) in enumerate(GroupKFold(3).split(X, y, g)):
            scale = StandardScaler().fit(X[train]) if piped else FunctionTransformer()
            fitted = kind().set_params(**{name: value}).fit(scale.transform(X[train]), y[train], g[train], f[train])
            by_hand = fitted.score(scale.transform(X[test]), y[test], g[test], f[test])
            assert search.cv_results_[f"split{k}_test_score"][at] == by_hand
    scale = StandardScaler().fit(X) if piped else FunctionTransformer()
    best = kind().set_params(**{name: search.best_params_[step + name]}).fit(scale.transform(X), y, g, f)
    assert np.array_equal(search.predict(X), best.predict(scale.transform(X)))


def test_it_is_an_estimator_as_scikit_learn_checks_them():
    """But one: weights are of pairs by the mean of two rows, so that a row of weight 0 is not one left out."""
    expected = {"check_sample_weight_equivalence_on_dense_data": "pairs weigh the mean of their rows' weights"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(RankSVM(), expected_failed_checks=expected, on_skip=None)
    assert sum(check["status"] == "passed" for check in done) > 40


def test_the_example_works():
    """Of the docstring."""
    failed, tried = doctest.testmod(ranksvm)
    assert (failed, tried > 0) == (0, True)


def test_a_ranker_that_has_not_settled_says_so(rows, monkeypatch):
    """And what helps."""
    monkeypatch.setattr(ranksvm, "solve", partial(solve, most=1))
    with pytest.warns(AdjudgeWarning, match="the ranker has not converged after 1 steps"):
        RankSVM(100).fit(*rows)


def test_features_that_never_differ_within_a_group_are_told():
    """Whether they are the same everywhere or of the question alone: all rows of a group have the same score."""
    y, g = [0, 1, 1, 0], [0, 0, 1, 1]
    for X in ([[3.0]] * 4, [[1.0, 5.0]] * 2 + [[2.0, 5.0]] * 2):
        for solver in ("newton", "liblinear"):
            with pytest.warns(AdjudgeWarning, match=f"none of {len(X[0])} features differs between rows of one group"):
                fitted = RankSVM(solver=solver).fit(X, y, g)
            assert np.ptp(fitted.predict(X)[:2]) == np.ptp(fitted.predict(X)[2:]) == 0


@pytest.mark.parametrize("few", [0, 300])
def test_the_minimum_is_that_of_a_general_minimiser(few, monkeypatch):
    """Of the objective as printed, for pairs with weights, whether features are few or many."""
    monkeypatch.setattr(newton, "FEW", few)
    rng = np.random.default_rng(2)
    X, y, g, f = rng.normal(size=(80, 5)), rng.integers(0, 2, 80), rng.integers(0, 6, 80), rng.random(80)
    result = make_pairs(y, g, f)
    own = X[result.order]
    solved = solve(own, result.rows, 0.7)
    other = minimize(lambda w: w @ w / 2 + 0.7 * loss_and_pull(result.rows, own @ w)[0], np.zeros(5), tol=1e-12)
    assert solved.w == pytest.approx(other.x, abs=1e-5)
    assert solved.value <= other.fun + 1e-10
    assert solved.converged
    assert solved.gradient < 1e-8


def test_a_cap_is_told():
    """Too few steps are not enough, and the record says so."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 5)), rng.integers(0, 2, 80)
    result = make_pairs(y)
    assert not solve(X[result.order], result.rows, 10.0, most=0).converged


def test_features_without_differences_need_no_step():
    """The gradient is 0 from the beginning."""
    solved = solve(np.ones((3, 2)), make_pairs([0, 1, 0]).rows, 1.0)
    assert (solved.w.tolist(), solved.steps, solved.converged) == ([0, 0], 0, True)


def test_conjugate_gradients_solve_linear_equations():
    """Of a symmetric positive matrix."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    matrix, goal = root @ root.T + np.eye(6), rng.normal(size=6)
    assert conjugate_gradients(lambda v: matrix @ v, goal, 1e-10) == pytest.approx(np.linalg.solve(matrix, goal))
