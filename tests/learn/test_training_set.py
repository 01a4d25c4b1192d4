"""Tables of features, from files and frames.

What rankers are trained on.
"""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.runs import run_text
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.training_set import HOW, degree, from_fit, from_grades, from_weights, read_features, select_features
from adjudge.learn.weights import weights

TABLE = {"topic": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "label": [1, 0, 0], "x": [0.5, 1, 2], "y": [3, 2, 1]}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_are_read(tmp_path, ending):
    """Topic and document by name, the label apart, all else numbers."""
    path = tmp_path / f"features.{ending}"
    getattr(pl.DataFrame(TABLE), {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[ending])(
        path
    )
    result = read_features(path)
    assert (result.topics, result.documents, result.names) == (("q1", "q1", "q2"), ("a", "b", "a"), ("x", "y"))
    assert result.X.tolist() == [[0.5, 3], [1, 2], [2, 1]]
    assert result.label.tolist() == [1, 0, 0]
    assert repr(result) == "Features(3 documents of 2 topics, 2 features)"
    assert read_features(result) is result
    assert result.frame.columns == ["x", "y"]


def test_frames_without_labels_are_read():
    """As they are."""
    result = read_features(pl.DataFrame(TABLE).drop("label"))
    assert result.label is None
    assert len(result) == 3


def test_the_lines_of_svm_light_are_read(tmp_path):
    """With names of features in comments on top, and of topic and document behind."""
    path = tmp_path / "features.svm"
    path.write_text(
        "# 1 x\n# 2 y y\n1 qid:1 1:0.5 2:3 # q1 a\n0 qid:1 1:1 # q1 b\n\n0 qid:2 2:1e0 # re=1 doc=p7\n0 qid:2 1:1\n"
    )
    result = read_features(str(path))
    assert result.names == ("x", "y y")
    assert result.X.tolist() == [[0.5, 3], [1, 0], [0, 1], [1, 0]]
    assert list(zip(result.topics, result.documents, strict=True)) == [
        ("q1", "a"),
        ("q1", "b"),
        ("2", "p7"),
        ("2", "d4"),
    ]
    assert result.label.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 x\n", "features.svm, row 1: is not of the form label qid:topic"),
        ("1 1:2 2:3\n", "features.svm, row 1: '1:2' is not of the form qid:topic"),
        ("# 1 x\n", "features.svm: there are no rows"),
        ("1 qid:1 1:nan\n", "features.svm: holds a number that is not finite"),
    ],
)
def test_lines_that_are_none_are_refused(tmp_path, text, message):
    """With where they are."""
    path = tmp_path / "features.svm"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_features(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topic": None}, "there is no column 'topic': features have topic, document and numbers"),
        ({"x": ["1", "two", "3"]}, "feature 'x' 'two' is not a finite number: give every row a number"),
        ({"x": [1, None, 2]}, "feature 'x' is empty"),
        ({"x": [1.0, float("inf"), 2.0]}, "feature 'x' 'inf' is not a finite number"),
        ({"document": ["a", "a", "a"]}, "document 'a' of topic 'q1' is there twice: keep one of them"),
        ({"document": ["a", None, "b"]}, "document is empty"),
        ({"x": None, "y": None}, "there is no feature: every column but topic, document and label is one"),
    ],
)
def test_tables_that_are_none_are_refused(change, message):
    """With what is wrong."""
    table = {name: values for name, values in (TABLE | change).items() if values is not None}
    with pytest.raises(InputError, match=message):
        read_features(pl.DataFrame(table))


def test_no_rows_are_refused():
    """There is nothing to rank."""
    with pytest.raises(InputError, match="there are no rows"):
        read_features(pl.DataFrame(TABLE).head(0))


def test_scores_become_a_run():
    """Best first in every topic."""
    result = read_features(pl.DataFrame(TABLE))
    assert run_text(result.run(np.array([1.0, 2.0, 0.5]), "own")) == (
        "q1 Q0 b 1 2.0 own\nq1 Q0 a 2 1.0 own\nq2 Q0 a 1 0.5 own\n"
    )


def test_features_are_brought_into_a_rankers_order():
    """More are left out, and a missing one is named."""
    result = read_features(pl.DataFrame(TABLE))
    assert select_features(result, ["y"], "new.csv").X.tolist() == [[3], [2], [1]]
    with pytest.raises(
        InputError, match=r"new.csv: has no feature 'z', which the ranker was trained on; it has 'x', 'y'"
    ):
        select_features(result, ["z"], "new.csv")


@pytest.mark.parametrize(
    ("note", "names"),
    [
        ("q1 http://a.b/?id=3", ("q1", "http://a.b/?id=3")),
        ("q1 doc=3", ("q1", "doc=3")),
        ("q=1 d3", ("q=1", "d3")),
        ("doc=d3 re=1", ("7", "d3")),
        ("", ("7", "d1")),
    ],
)
def test_names_behind_a_line(tmp_path, note, names):
    """Topic and document as they are called, also with an equals sign; or what stands after doc=."""
    (tmp_path / "f.svm").write_text(f"1 qid:7 1:0.5 # {note}\n")
    result = read_features(tmp_path / "f.svm")
    assert (result.topics[0], result.documents[0]) == names


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
    result = weights(pl.DataFrame(JUDGED), "L")
    lesson = from_weights(rows, result)
    assert lesson.target.tolist() == [0, 1, 1, 0]
    assert lesson.weight == pytest.approx([1 / 2, 3 / 2, 1 / 2, 3 / 2])
    result.table.write_csv(tmp_path / "weights.csv")
    again = from_weights(rows, str(tmp_path / "weights.csv"))
    assert again.weight.tolist() == lesson.weight.tolist()
    named = result.table.with_columns(label=pl.col("label").replace_strict({0: "no", 1: "yes"}))
    assert from_weights(rows, named).target.tolist() == [0, 1, 1, 0]
    bare = named.drop("positive")
    with pytest.raises(AdjudgeError, match="which of 'no', 'yes' is relevant"):
        from_weights(rows, bare)
    with pytest.raises(AdjudgeError, match="there is no column 'topic': write the weights of judgments with topics"):
        from_weights(rows, result.table.drop("topic"))


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
    for result in ({"labels": ["wrong", "correct"]}, {"positive": "correct"}):
        assert from_weights(rows, weights(called, "L", **result)).target.tolist() == [0, 1, 1, 0]


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
    frame = pl.DataFrame(table | {"judgments": [2, 2, 2], "positive": [1, 0, 1]})
    assert from_weights(rows, frame).target.tolist() == [1, 0, 0]
    alike = frame.with_columns(positive=1)
    with pytest.raises(AdjudgeError, match="which of 'no', 'yes' is relevant"):
        from_weights(rows, alike)
    numbers = alike.with_columns(label=pl.Series([1, 0, 0]))
    assert from_weights(rows, numbers).target.tolist() == [1, 0, 0]
    assert from_weights(rows, frame.with_columns(label=pl.lit("no"))).target.tolist() == [0, 0, 0]
