"""Rankers from lessons, and what they are worth on topics that they did not see."""

import warnings

import numpy as np
import polars as pl
import pytest

from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.learn.crossval import fold_of
from adjudge.learn.feature_file import read_features
from adjudge.learn.lessons import Lesson
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.training import _dealt, ranker_named, train


@pytest.fixture
def table():
    """Return twelve topics of ten documents, of which a feature tells the truth and another lies."""
    rng = np.random.default_rng(0)
    truth = (np.arange(120) % 10 < 3).astype(float)
    columns = {"topic": [f"t{n // 10}" for n in range(120)], "document": [f"d{n % 10}" for n in range(120)]}
    return read_features(
        pl.DataFrame(columns | {"good": truth + 0.3 * rng.normal(size=120), "noise": rng.normal(size=120)})
    ), truth


def test_a_ranker_learns_and_is_tried_in_folds(table):
    """All rows get a score, by a ranker that did not see their topic."""
    rows, truth = table
    found = train(rows, Lesson(np.arange(120), truth, None, False), RankSVM())
    assert (found.topics, found.folds) == (12, 5)
    assert found.ranker.feature_names_in_.tolist() == ["good", "noise"]
    assert found.measures["MAP"] > 0.9
    assert np.isfinite(found.score).all()
    assert len(found.run(rows).ranked) == 12


def test_what_was_not_judged_is_ranked_all_the_same(table):
    """And topics that teach nothing are, too."""
    rows, truth = table
    kept = np.flatnonzero(np.arange(120) % 10 != 9)
    found = train(rows, Lesson(kept[:90], truth[kept[:90]], np.ones(90), False), RankSVM(), folds=3)
    assert np.isfinite(found.score).all()
    assert found.topics == 10


def test_no_topic_teaches_its_own_fold(table):
    """A document whose feature alone gives it away is found by the whole ranker, and not in folds."""
    rows, _ = table
    told = np.where(np.array(rows.topics) == "t3", np.arange(120) % 10 == 5, np.arange(120) % 10 == 4).astype(float)
    X = np.column_stack([np.where(np.array(rows.topics) == "t3", told, 0.0), rows.X[:, 1]])
    own = read_features(pl.DataFrame({"topic": rows.topics, "document": rows.documents, "a": X[:, 0], "b": X[:, 1]}))
    found = train(own, Lesson(np.arange(120), told, None, False), RankSVM(), folds=12)
    whole = found.ranker.decision_function(own.frame)
    at = np.flatnonzero(np.array(rows.topics) == "t3")
    assert whole[at].argmax() == 5
    assert abs(found.score[at][5] - np.median(found.score[at])) < whole[at][5] - np.median(whole[at])


def test_one_topic_has_no_folds(table):
    """But a ranker."""
    rows, truth = table
    one = read_features(rows.frame.with_columns(topic=pl.lit("t"), document=pl.Series(map(str, range(120)))))
    found = train(one, Lesson(np.arange(120), truth, None, False), RankSVM())
    assert (found.measures, found.folds) == ({}, 1)
    assert found.unmeasured.startswith("one topic alone teaches")
    assert found.ranker.pairs_ == 36 * 84
    with pytest.raises(UsageError, match="no run can be given of rankers that did not learn from the topic"):
        found.run(one)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_topic_that_teaches_among_others_is_enough(table, weighted):
    """Whether the others were not judged, have one target, or weigh nothing."""
    rows, truth = table
    mine = np.array(rows.topics) == "t4"
    only = np.flatnonzero(mine)
    whole = RankSVM().fit(rows.frame[only], truth[only], np.zeros(10))
    lessons = [Lesson(only, truth[only], None, False), Lesson(np.arange(120), np.where(mine, truth, 1.0), None, False)]
    if weighted:
        lessons = [Lesson(np.arange(120), truth, mine.astype(float), False)]
    for lesson in lessons:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)
            found = train(rows, lesson, RankSVM(pair_weight="product"))
        assert (found.measures, found.folds, found.ranker.pairs_) == ({}, 1, whole.pairs_)


def test_two_topics_that_teach_are_never_left_out_together(table):
    """However many others there are, and whatever the seed: each is ranked by what the other taught."""
    rows, truth = table
    taught = np.flatnonzero(np.isin(rows.topics, ["t4", "t9"]))
    for seed in range(20):
        found = train(rows, Lesson(taught, truth[taught], None, False), RankSVM(), seed=seed)
        assert (found.folds, np.isfinite(found.score).all(), set(found.measures)) == (2, True, {"MRR", "MAP", "P@1"})
    alone = RankSVM().fit(rows.frame[taught[10:]], truth[taught[10:]], np.zeros(10))
    assert found.score[taught[:10]] == pytest.approx(alone.decision_function(rows.frame[taught[:10]]), abs=1e-12)


def test_folds_of_topics_that_all_teach_are_those_of_the_study(table):
    """Dealt as ``fold_of`` deals them."""
    rows, _ = table
    topics = np.array(rows.topics)
    assert _dealt(topics, set(rows.topics), 5, 3).tolist() == fold_of(topics, 5, 3).tolist()


def test_where_nothing_is_likely_relevant_no_measure_is_given(table):
    """Rather than NaN."""
    rows, truth = table
    found = train(rows, Lesson(np.arange(120), truth / 4, None, True), RankSVM())
    assert found.measures == {}
    assert found.unmeasured == "no document that is learned from is more likely relevant than not"
    assert len(found.run(rows).ranked) == 12


def test_folds_are_two_or_more(table):
    """One would be no fold."""
    rows, truth = table
    with pytest.raises(UsageError, match="folds 1 is not a number of at least 2"):
        train(rows, Lesson(np.arange(120), truth, None, False), RankSVM(), folds=1)


def test_rankers_have_names():
    """Options that are not given stay as they are."""
    assert ranker_named("svm", c=None).get_params() == RankSVM().get_params()
    assert ranker_named("lambdamart", trees=3).trees == 3
    with pytest.raises(UsageError, match="ranker 'magic' is not one of 'svm', 'lambdamart'"):
        ranker_named("magic")
