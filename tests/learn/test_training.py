"""Rankers from lessons, and what they are worth on topics that they did not see."""

import warnings

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, UsageError
from adjudge.learn.crossval import fold_of
from adjudge.learn.feature_file import read_features
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.training import (
    HOW,
    TrainingSet,
    _assign_folds,
    degree,
    from_fit,
    from_grades,
    from_weights,
    ranker_named,
    train,
)
from adjudge.learn.weights import weights


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
    found = train(rows, TrainingSet(np.arange(120), truth, None, False), RankSVM())
    assert (found.topics, found.folds) == (12, 5)
    assert found.ranker.feature_names_in_.tolist() == ["good", "noise"]
    assert found.measures["MAP"] > 0.9
    assert np.isfinite(found.score).all()
    assert len(found.run(rows).ranked) == 12


def test_what_was_not_judged_is_ranked_all_the_same(table):
    """And topics that teach nothing are, too."""
    rows, truth = table
    kept = np.flatnonzero(np.arange(120) % 10 != 9)
    found = train(rows, TrainingSet(kept[:90], truth[kept[:90]], np.ones(90), False), RankSVM(), folds=3)
    assert np.isfinite(found.score).all()
    assert found.topics == 10


def test_no_topic_teaches_its_own_fold(table):
    """A document whose feature alone gives it away is found by the whole ranker, and not in folds."""
    rows, _ = table
    told = np.where(np.array(rows.topics) == "t3", np.arange(120) % 10 == 5, np.arange(120) % 10 == 4).astype(float)
    X = np.column_stack([np.where(np.array(rows.topics) == "t3", told, 0.0), rows.X[:, 1]])
    own = read_features(pl.DataFrame({"topic": rows.topics, "document": rows.documents, "a": X[:, 0], "b": X[:, 1]}))
    found = train(own, TrainingSet(np.arange(120), told, None, False), RankSVM(), folds=12)
    whole = found.ranker.decision_function(own.frame)
    at = np.flatnonzero(np.array(rows.topics) == "t3")
    assert whole[at].argmax() == 5
    assert abs(found.score[at][5] - np.median(found.score[at])) < whole[at][5] - np.median(whole[at])


def test_one_topic_has_no_folds(table):
    """But a ranker."""
    rows, truth = table
    one = read_features(rows.frame.with_columns(topic=pl.lit("t"), document=pl.Series(map(str, range(120)))))
    found = train(one, TrainingSet(np.arange(120), truth, None, False), RankSVM())
    assert (found.measures, found.folds) == ({}, 1)
    assert found.unmeasured.startswith("only one topic has pairs")
    assert found.ranker.pairs_ == 36 * 84
    with pytest.raises(UsageError, match="there is no cross-validated run, because only one topic has pairs"):
        found.run(one)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_topic_that_teaches_among_others_is_enough(table, weighted):
    """Whether the others were not judged, have one target, or weigh nothing."""
    rows, truth = table
    mine = np.array(rows.topics) == "t4"
    only = np.flatnonzero(mine)
    whole = RankSVM().fit(rows.frame[only], truth[only], np.zeros(10))
    lessons = [
        TrainingSet(only, truth[only], None, False),
        TrainingSet(np.arange(120), np.where(mine, truth, 1.0), None, False),
    ]
    if weighted:
        lessons = [TrainingSet(np.arange(120), truth, mine.astype(float), False)]
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
        found = train(rows, TrainingSet(taught, truth[taught], None, False), RankSVM(), seed=seed)
        assert (found.folds, np.isfinite(found.score).all(), set(found.measures)) == (2, True, {"MRR", "MAP", "P@1"})
    alone = RankSVM().fit(rows.frame[taught[10:]], truth[taught[10:]], np.zeros(10))
    assert found.score[taught[:10]] == pytest.approx(alone.decision_function(rows.frame[taught[:10]]), abs=1e-12)


def test_folds_of_topics_that_all_teach_are_those_of_the_study(table):
    """Dealt as ``fold_of`` deals them."""
    rows, _ = table
    topics = np.array(rows.topics)
    assert _assign_folds(topics, set(rows.topics), 5, 3).tolist() == fold_of(topics, 5, 3).tolist()


def test_where_nothing_is_likely_relevant_no_measure_is_given(table):
    """Rather than NaN."""
    rows, truth = table
    found = train(rows, TrainingSet(np.arange(120), truth / 4, None, True), RankSVM())
    assert found.measures == {}
    assert found.unmeasured == "no document of the training set is more likely relevant than not"
    assert len(found.run(rows).ranked) == 12


def test_folds_are_two_or_more(table):
    """One would be no fold."""
    rows, truth = table
    with pytest.raises(UsageError, match="folds 1 is not a number of at least 2"):
        train(rows, TrainingSet(np.arange(120), truth, None, False), RankSVM(), folds=1)


def test_rankers_have_names():
    """Options that are not given stay as they are."""
    assert ranker_named("svm", c=None).get_params() == RankSVM().get_params()
    assert ranker_named("lambdamart", trees=3).trees == 3
    with pytest.raises(UsageError, match="ranker 'magic' is not one of 'svm', 'lambdamart'"):
        ranker_named("magic")


JUDGED = {
    "item": [f"q{t}_{d}" for t in (1, 2) for d in "ab" for _ in "xyz"],
    "topic": [f"q{t}" for t in (1, 2) for _ in range(6)],
    "judge": list("xyz") * 4,
    "label": [1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0],
}


@pytest.fixture
def rows():
    """Return features of five documents, one of which nobody judged."""
    table = {"topic": ["q1", "q1", "q1", "q2", "q2"], "document": ["b", "new", "a", "q2_a", "b"], "x": range(5)}
    return read_features(pl.DataFrame(table))


def test_a_fit_teaches_degrees_labels_and_how_sure_they_are(rows):
    """Of the documents that were judged, called with their topic or without."""
    fit = adjudge.fit(pl.DataFrame(JUDGED), "majority")
    soft = from_fit(rows, fit)
    assert soft.rows.tolist() == [0, 2, 3, 4]
    assert soft.target == pytest.approx([1 / 3, 1, 2 / 3, 0])
    assert (soft.soft, soft.weight) == (True, None)
    label = from_fit(rows, fit, "label")
    assert (label.target.tolist(), label.weight, label.soft) == ([0, 1, 1, 0], None, False)
    for how in ("margin", "entropy"):
        sure = posterior_weights(fit, how).weight
        assert from_fit(rows, fit, how).weight.tolist() == [sure[1], sure[0], sure[2], sure[3]]
    with pytest.raises(UsageError, match="how 'magic' is not one of 'pairs', 'margin', 'entropy', 'label'"):
        from_fit(rows, fit, "magic")
    assert set(HOW) == {"pairs", "margin", "entropy", "label"}


def test_weights_teach_labels(rows, tmp_path):
    """As a record, or as the table that was written."""
    found = weights(pl.DataFrame(JUDGED), "L")
    lesson = from_weights(rows, found)
    assert lesson.target.tolist() == [0, 1, 1, 0]
    assert lesson.weight == pytest.approx([1 / 2, 3 / 2, 1 / 2, 3 / 2])
    found.table.write_csv(tmp_path / "weights.csv")
    again = from_weights(rows, str(tmp_path / "weights.csv"))
    assert again.weight.tolist() == lesson.weight.tolist()
    named = found.table.with_columns(label=pl.col("label").replace_strict({0: "no", 1: "yes"}))
    assert from_weights(rows, named).target.tolist() == [0, 1, 1, 0]
    bare = named.drop("positive")
    with pytest.raises(AdjudgeError, match="which of 'no', 'yes' is relevant"):
        from_weights(rows, bare)
    with pytest.raises(AdjudgeError, match="there is no column 'topic': write the weights of judgments with topics"):
        from_weights(rows, found.table.drop("topic"))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("weight", "much", "row 1: weight 'much' is not a number of at least 0"),
        ("weight", None, "row 1: weight is empty"),
        ("weight", "-3", "row 1: weight '-3' is not a number of at least 0"),
        ("weight", "nan", "row 1: weight 'nan' is not a number of at least 0"),
        ("weight", "inf", "row 1: weight 'inf' is not a number of at least 0"),
        ("positive", "many", "row 1: positive 'many' is not a number of at least 0"),
        ("judgments", "0", "row 1: judgments '0' is not a number of at least 1"),
        ("label", None, "row 1: label is empty"),
    ],
)
def test_weights_that_are_none_are_refused(rows, column, value, message):
    """With where and what."""
    table = weights(pl.DataFrame(JUDGED), "L").table.cast(pl.String)
    spoiled = table.with_columns(pl.Series(column, [table[column][0], value, *table[column][2:]], dtype=pl.String))
    with pytest.raises(InputError, match=message):
        from_weights(rows, spoiled)


def test_the_positive_side_is_taught_whatever_it_is_called(rows):
    """A label that comes later in the alphabet is not for that the better one."""
    called = pl.DataFrame(JUDGED).with_columns(label=pl.col("label").replace_strict({0: "wrong", 1: "correct"}))
    for told in ({"labels": ["wrong", "correct"]}, {"positive": "correct"}):
        assert from_weights(rows, weights(called, "L", **told)).target.tolist() == [0, 1, 1, 0]


def test_labels_without_an_order_teach_nothing(rows):
    """However they are taken: no label is above another."""
    called = pl.DataFrame(JUDGED).with_columns(
        label=pl.Series([("blue", "green", "red")[n % 3] for n in range(len(JUDGED["label"]))])
    )
    fit = adjudge.fit(called, "majority")
    for how in HOW:
        with pytest.raises(UsageError, match="labels without an order"):
            from_fit(rows, fit, how)


def test_grades_teach_what_has_one(rows):
    """Those without are not taken for irrelevant."""
    lesson = from_grades(rows, {"q1": {"b": 2, "new": 0}, "q3": {"a": 1}})
    assert (lesson.rows.tolist(), lesson.target.tolist()) == ([0, 1], [2, 0])


def test_more_labels_need_an_order(rows):
    """With one, the degree runs from the lowest label to the highest."""
    table = pl.DataFrame(JUDGED | {"label": [0, 1, 2, 0, 0, 0, 2, 2, 2, 1, 1, 1]})
    plain, ordered = (adjudge.fit(adjudge.read(table, ordinal=ordinal), "majority") for ordinal in (False, True))
    assert degree(ordered) == pytest.approx([0.5, 0, 1, 0.5])
    with pytest.raises(UsageError, match="the fit has 3 labels without an order, '0', '1', '2'"):
        degree(plain)


def test_fits_without_topics_and_strangers_are_refused(rows):
    """With what is missing, and how both sides look."""
    fit = adjudge.fit(pl.DataFrame(JUDGED).drop("topic"), "majority")
    with pytest.raises(UsageError, match="this fit has no topics"):
        from_fit(rows, fit)
    with pytest.raises(UsageError, match="none of 5 documents with features was judged: features have for example 'b'"):
        from_grades(rows, {"q9": {"z": 1}})


def test_a_positive_label_of_nothing_but_ties_is_positive():
    """Its items have no more than half of the judgments, and still more than those of the other label."""
    rows = read_features(pl.DataFrame({"topic": ["q", "q", "r"], "document": ["a", "b", "c"], "x": [1, 2, 3]}))
    table = {"item": ["a", "b", "c"], "topic": ["q", "q", "r"], "label": ["yes", "no", "no"], "weight": [1.0] * 3}
    told = pl.DataFrame(table | {"judgments": [2, 2, 2], "positive": [1, 0, 1]})
    assert from_weights(rows, told).target.tolist() == [1, 0, 0]
    alike = told.with_columns(positive=1)
    with pytest.raises(AdjudgeError, match="which of 'no', 'yes' is relevant"):
        from_weights(rows, alike)
    numbers = alike.with_columns(label=pl.Series([1, 0, 0]))
    assert from_weights(rows, numbers).target.tolist() == [1, 0, 0]
    assert from_weights(rows, told.with_columns(label=pl.lit("no"))).target.tolist() == [0, 0, 0]
