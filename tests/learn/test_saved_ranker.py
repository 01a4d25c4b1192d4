"""Rankers on disk."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from adjudge.errors import InputError
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.saved_ranker import ABOUT, ARRAYS, load_ranker


@pytest.fixture
def rows():
    """Return features with names, targets and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return pl.DataFrame(X, schema=["a", "b", "c"]), (X[:, 0] + rng.normal(size=200) > 1).astype(int), np.arange(200) % 5


@pytest.mark.parametrize("ranker", [RankSVM("svmlight", soft=True), LambdaMART(10, least=5)])
def test_a_ranker_comes_back_as_it_was(rows, ranker, tmp_path):
    """Parameters, scores and names of features."""
    X, y, g = rows
    ranker.fit(X, y, g).save(tmp_path / "kept")
    again = load_ranker(tmp_path / "kept")
    assert again.get_params() == ranker.get_params()
    assert np.array_equal(again.decision_function(X), ranker.decision_function(X))
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert again.pairs_ == ranker.pairs_


def test_an_unfitted_ranker_is_not_saved(tmp_path):
    """There is nothing to keep."""
    with pytest.raises(NotFittedError):
        RankSVM().save(tmp_path)


def test_rankers_without_names_of_features_have_none(rows, tmp_path):
    """After they come back, either."""
    X, y, g = rows
    RankSVM().fit(X.to_numpy(), y, g).save(tmp_path / "kept")
    assert not hasattr(load_ranker(tmp_path / "kept"), "feature_names_in_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "was saved in format 99 by a newer adjudge; this one reads up to 1"),
        ({"ranker": "Magic"}, "holds a Magic, expected one of 'RankSVM', 'LambdaMART'"),
        ({"checksums": {ARRAYS: 1}}, "is a damaged saved ranker: ranker.npz is not the file that was saved with it"),
        ({"numbers": {}}, "is a damaged saved ranker: 'intercept_'"),
    ],
)
def test_what_is_no_saved_ranker_is_refused(rows, tmp_path, change, message):
    """With where and what."""
    X, y, g = rows
    RankSVM().fit(X, y, g).save(tmp_path / "kept")
    about = json.loads((tmp_path / "kept" / ABOUT).read_text())
    (tmp_path / "kept" / ABOUT).write_text(json.dumps({**about, **change}))
    with pytest.raises(InputError, match=f"kept: {message}"):
        load_ranker(tmp_path / "kept")


def test_a_folder_without_one_is_refused(tmp_path):
    """With the command that writes one."""
    with pytest.raises(InputError, match=r"is not a saved ranker: ranker.json is missing \(adjudge rerank train"):
        load_ranker(tmp_path)


def test_nothing_is_pickled(rows, tmp_path):
    """The arrays load without it."""
    X, y, g = rows
    RankSVM().fit(X, y, g).save(tmp_path / "kept")
    with np.load(tmp_path / "kept" / ARRAYS, allow_pickle=False) as packed:
        assert packed["coef_"].shape == (3,)
