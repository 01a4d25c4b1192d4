"""Averages of rankers: their scores, files and messages."""

import json

import numpy as np
import polars as pl
import pytest

from adjudge.errors import InputError
from adjudge.learn.average import AverageRanker, spread_within
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn
from adjudge.learn.ranker import ABOUT, NoGroupsWarning, load_ranker
from adjudge.learn.ranksvm import RankSVM

MEMBERS = (RankSVM(0.01), RankSVM(1.0), LambdaMART(10, least=5), LambdaMART(10, least=5, random=True))


@pytest.fixture
def rows():
    """Return features with names, targets and groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return pl.DataFrame(X, schema=["a", "b", "c"]), (X[:, 0] + rng.normal(size=200) > 1).astype(int), np.arange(200) % 5


def test_the_score_is_the_weighted_mean_of_scaled_scores(rows):
    """Each divided by its standard deviation within groups, up to a constant for all rows."""
    X, y, g = rows
    weights = [1.0, 2.0, 3.0, 4.0]
    average = AverageRanker(MEMBERS, weights).fit(X, y, g)
    expected = np.zeros(200)
    for member, weight in zip((RankSVM(0.01), RankSVM(1.0), *MEMBERS[2:]), weights, strict=True):
        score = member.fit(X, y, g).decision_function(X)
        within = np.concatenate([score[g == k] - score[g == k].mean() for k in range(5)])
        expected += weight * score / np.sqrt((within**2).mean())
    assert average.decision_function(X) == pytest.approx(expected, abs=1e-9)
    assert average.pairs_ == member.pairs_
    assert average.feature_names_in_.tolist() == ["a", "b", "c"]


def test_equal_weights_are_the_default(rows):
    """With the same order of rows as any equal weights."""
    first, second = (AverageRanker(MEMBERS[:2], weights).fit(*rows).predict(rows[0]) for weights in (None, (3, 3)))
    assert 3 * first == pytest.approx(second)


def test_a_ranker_that_tells_nothing_apart_has_no_effect(rows):
    """Instead of a division by 0."""
    X, y, g = rows
    flat = X.with_columns(pl.lit(1.0).alias(name) for name in "abc")
    constant = RankSVM(standardise=False).fit(X, y, g)
    constant.coef_ = np.zeros(3)
    single = RankSVM().fit(X, y, g)
    average = AverageRanker([RankSVM(), RankSVM()]).combine([constant, single], X, g)
    assert average.predict(X) == pytest.approx(single.predict(X) / spread_within(single.predict(X), g))
    assert np.ptp(average.predict(flat)) == 0
    assert spread_within(np.full(4, 0.1), np.zeros(4, int)) == np.inf


@pytest.mark.parametrize("members", [MEMBERS, MEMBERS[:2], MEMBERS[2:]])
def test_an_average_comes_back_as_it_was(rows, tmp_path, members):
    """Of linear rankers, of trees, and of both: the same scores from open files."""
    X, y, g = rows
    average = AverageRanker(members).fit(X, y, g)
    average.save(tmp_path / "kept")
    again = load_ranker(tmp_path / "kept")
    assert np.array_equal(again.decision_function(X), average.decision_function(X))
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    trees = [f"trees-{n + 1}.txt" for n in range(sum(isinstance(member, LambdaMART) for member in members))]
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [ABOUT, "ranker.npz", *trees]


def test_a_missing_file_of_trees_is_refused(rows, tmp_path):
    """And so are trees that no weight is for."""
    AverageRanker(MEMBERS).fit(*rows).save(tmp_path / "kept")
    (tmp_path / "kept" / "trees-2.txt").unlink()
    with pytest.raises(InputError, match=r"kept: is a damaged saved ranker: .*trees-2\.txt"):
        load_ranker(tmp_path / "kept")
    about = json.loads((tmp_path / "kept" / ABOUT).read_text())
    del about["checksum"], about["checksums"]["trees-2.txt"]
    (tmp_path / "kept" / ABOUT).write_text(json.dumps(about))
    message = r"tree_weights_ of shape \(2,\) must be 1 finite numbers, one for each file of trees"
    with pytest.raises(InputError, match=message):
        load_ranker(tmp_path / "kept")


@pytest.mark.parametrize(
    ("average", "message"),
    [
        (AverageRanker(), "an average of no rankers cannot be trained: give rankers"),
        (AverageRanker([AverageRanker()]), "AverageRanker cannot be averaged; RankSVM and LambdaMART can"),
        (AverageRanker(MEMBERS, [1.0]), "weights must be 4 numbers above 0, one for each ranker"),
        (AverageRanker(MEMBERS[:2], [1.0, 0.0]), "weights must be 2 numbers above 0, one for each ranker"),
    ],
)
def test_what_cannot_be_averaged_is_refused(rows, average, message):
    """When it is trained."""
    with pytest.raises(NothingToLearn) as error:
        average.fit(*rows)
    assert str(error.value) == message


def test_without_groups_one_warning_is_given(rows):
    """As by a single ranker."""
    X, y, _ = rows
    with pytest.warns(NoGroupsWarning, match="^fit got no groups") as warned:
        AverageRanker(MEMBERS[:2]).fit(X, y)
    assert len(warned) == 1
