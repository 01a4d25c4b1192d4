"""What rankers are trained on."""

import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.learn.feature_file import read_features
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.training_set import HOW, degree, from_fit, from_grades, from_weights
from adjudge.learn.weights import weights

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
