"""Tables of features, from files and frames."""

import numpy as np
import polars as pl
import pytest

from adjudge.data.runs import run_text
from adjudge.errors import InputError
from adjudge.learn.feature_file import read_features, select_features

TABLE = {"topic": ["q1", "q1", "q2"], "document": ["a", "b", "a"], "label": [1, 0, 0], "x": [0.5, 1, 2], "y": [3, 2, 1]}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_tables_are_read(tmp_path, ending):
    """Topic and document by name, the label apart, all else numbers."""
    path = tmp_path / f"features.{ending}"
    getattr(pl.DataFrame(TABLE), {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}[ending])(
        path
    )
    found = read_features(path)
    assert (found.topics, found.documents, found.names) == (("q1", "q1", "q2"), ("a", "b", "a"), ("x", "y"))
    assert found.X.tolist() == [[0.5, 3], [1, 2], [2, 1]]
    assert found.label.tolist() == [1, 0, 0]
    assert repr(found) == "Features(3 documents of 2 topics, 2 features)"
    assert read_features(found) is found
    assert found.frame.columns == ["x", "y"]


def test_frames_without_labels_are_read():
    """As they are."""
    found = read_features(pl.DataFrame(TABLE).drop("label"))
    assert found.label is None
    assert len(found) == 3


def test_the_lines_of_svm_light_are_read(tmp_path):
    """With names of features in comments on top, and of topic and document behind."""
    path = tmp_path / "features.svm"
    path.write_text(
        "# 1 x\n# 2 y y\n1 qid:1 1:0.5 2:3 # q1 a\n0 qid:1 1:1 # q1 b\n\n0 qid:2 2:1e0 # re=1 doc=p7\n0 qid:2 1:1\n"
    )
    found = read_features(str(path))
    assert found.names == ("x", "y y")
    assert found.X.tolist() == [[0.5, 3], [1, 0], [0, 1], [1, 0]]
    assert list(zip(found.topics, found.documents, strict=True)) == [("q1", "a"), ("q1", "b"), ("2", "p7"), ("2", "d4")]
    assert found.label.tolist() == [1, 0, 0, 0]


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
    found = read_features(pl.DataFrame(TABLE))
    assert run_text(found.run(np.array([1.0, 2.0, 0.5]), "own")) == (
        "q1 Q0 b 1 2.0 own\nq1 Q0 a 2 1.0 own\nq2 Q0 a 1 0.5 own\n"
    )


def test_features_are_brought_into_a_rankers_order():
    """More are left out, and a missing one is named."""
    found = read_features(pl.DataFrame(TABLE))
    assert select_features(found, ["y"], "new.csv").X.tolist() == [[3], [2], [1]]
    with pytest.raises(
        InputError, match=r"new.csv: has no feature 'z', which the ranker was trained on; it has 'x', 'y'"
    ):
        select_features(found, ["z"], "new.csv")


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
    found = read_features(tmp_path / "f.svm")
    assert (found.topics[0], found.documents[0]) == names
