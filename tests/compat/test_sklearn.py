"""The scikit-learn estimator: scikit-learn's own checks, search, pickles, texts and gold."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import adjudge
from adjudge.compat.sklearn import Consensus
from adjudge.errors import UsageError


def crowd(seed=0, items=150, judges=6):
    """Return a wide array of labels 0 and 1 with missing ones, by judges who differ in skill, and the truths."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=items)
    right = rng.random((items, judges)) < np.linspace(0.6, 0.95, judges)
    X = np.where(right, truth[:, None], 1 - truth[:, None]).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, truth


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["dawid-skene", "majority"])
def test_checks_of_scikit_learn_pass(model):
    """Every check that applies to labels as categories; only that of the array API is skipped."""
    results = check_estimator(Consensus(model), on_fail=None)
    assert {result["check_name"] for result in results if result["status"] != "passed"} <= {"check_array_api_input"}
    assert len(results) > 30


@pytest.mark.parametrize("model", ["consensus", "dawid-skene"])
def test_it_is_adjudge_fit(model):
    """Labels and probabilities are those of fit on the same judgments."""
    X, _ = crowd()
    item, judge = np.nonzero(~np.isnan(X))
    import pandas as pd

    fit = adjudge.fit(pd.DataFrame({"item": item, "judge": judge, "label": X[item, judge].astype(int)}), model)
    ours = Consensus(model)
    labels = ours.fit_predict(X)
    items = fit.items.to_list()
    np.testing.assert_allclose(ours.fit_.posterior[items], fit.posterior, atol=1e-9)
    assert (labels[items] == fit.label).all()


def test_gold_is_learned_from():
    """The labels of items with y are y; missing y are inferred."""
    X, truth = crowd()
    y = np.where(np.arange(truth.size) < 20, truth, np.nan)
    ours = Consensus("dawid-skene").fit(X, y)
    assert (ours.labels_[:20] == truth[:20]).all()
    assert ours.score(X, y) == np.mean(ours.predict(X)[:20] == truth[:20])


def test_texts_are_labels():
    """Labels come back as they went in; None is missing."""
    X = np.array([["no", "no", "yes"], ["yes", None, "yes"], ["no", "no", None]], dtype=object)
    ours = Consensus("majority").fit(X)
    assert ours.labels_.tolist() == ["no", "yes", "no"]
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.predict_proba(X).shape == (3, 2)


def test_models_are_searched():
    """GridSearchCV over model, scored by accuracy and by log loss."""
    X, truth = crowd()
    for scoring in (None, "neg_log_loss"):
        search = GridSearchCV(Consensus(), {"model": ["majority", "one-coin"]}, cv=3, scoring=scoring).fit(X, truth)
        assert search.best_params_["model"] in ("majority", "one-coin")
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("model", ["consensus", "glad"])
def test_a_pickle_predicts_the_same(model):
    """The model is found again by its name."""
    X, _ = crowd()
    ours = Consensus(model).fit(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict_proba(X), ours.predict_proba(X))


def test_clones_have_the_params_and_no_fit():
    """get_params, set_params and clone."""
    X, _ = crowd()
    ours = Consensus("glad", random_state=3).fit(X)
    copy = clone(ours)
    assert copy.get_params() == {"model": "glad", "random_state": 3}
    assert copy.set_params(model="mace").model == "mace"
    with pytest.raises(NotFittedError):
        copy.predict(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Consensus("majority").fit(np.full((2, 2), np.nan)), "X has no label"),
        (
            lambda: Consensus("majority").fit([[0, 1], [1, 1]]).predict([[0, 2]]),
            "X: label '2' was not fitted; the labels are '0', '1'",
        ),
        (
            lambda: Consensus("majority").fit(np.array([["a", 1]], dtype=object)),
            "some labels are texts and some are numbers: give labels of one type",
        ),
    ],
)
def test_wrong_data_are_refused(call, message):
    """The message says what is wrong, and the error is a ValueError."""
    with pytest.raises(ValueError, match=r".") as caught:
        call()
    assert str(caught.value) == message


def test_an_unknown_model_is_refused():
    """When it is fitted, as scikit-learn wants it."""
    with pytest.raises(UsageError, match=r"^model 'magic' is not one of 'auto', 'consensus', "):
        Consensus("magic").fit([[0, 1]])
