"""Runs and grades, read from files, frames and mappings."""

import gzip

import pandas as pd
import polars as pl
import pytest

from adjudge.data.runs import example, is_run, read_grades, read_run, read_runs, run_text
from adjudge.errors import InputError, UsageError

LINES = "1 Q0 d1 1 1.0 tag\n1 Q0 d2 2 1.0 tag\n\n2\tQ0  d1 1 -3e-1 tag\n"


def test_a_file_is_read(tmp_path):
    """Fields are set apart by any blanks, empty lines mean nothing, ties are by name, the last first."""
    path = tmp_path / "bm25.run"
    path.write_text(LINES)
    run = read_run(path)
    assert run.name == "bm25"
    assert run.ranked == {"1": ["d2", "d1"], "2": ["d1"]}
    assert run.table["score"].to_list() == [1.0, 1.0, -0.3]
    assert read_run(run) is run


@pytest.mark.parametrize("name", ["a.run.gz", "a.txt", "a", "a.v2"])
def test_a_system_is_called_as_its_file(tmp_path, name):
    """Without endings that only say what the file is; packed or not."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(LINES.encode()) if name.endswith("gz") else LINES.replace("\n", "\r\n").encode())
    assert read_run(path).name == ("a.v2" if name == "a.v2" else "a")
    assert read_run(path).ranked["1"] == ["d2", "d1"]
    assert is_run(path)


def test_scores_are_compared_as_32_bit_floats():
    """1 - 1e-9 and 1 - 1e-8 tie, -0 is 0, and what is too large is infinite."""
    scores = {"a": 1 - 1e-9, "b": 1 - 1e-8, "c": -0.0, "d": 0.0, "e": -1e300, "f": -1e301, "g": float("inf")}
    run = read_run({"1": scores})
    assert run.ranked == {"1": list("gbadcfe")}
    assert dict(run.table.select("document", "score").iter_rows()) == scores


def test_ties_are_known():
    """Where each group of equal 32-bit scores ends."""
    run = read_run({"1": {"a": 1 - 1e-9, "b": 1 - 1e-8, "c": 0.5}, "2": {"x": -0.0, "y": 0.0}})
    assert {topic: ends.tolist() for topic, ends in run.ties.items()} == {"1": [2, 3], "2": [2]}


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_a_frame_is_read(frame):
    """With columns topic, document and score; numbers may name topics."""
    run = read_run(frame({"topic": [1, 1], "document": ["a", "b"], "score": [0, 1]}), "mine")
    assert (run.name, run.ranked) == ("mine", {"1": ["b", "a"]})


def test_what_is_written_is_read(tmp_path):
    """A run as text, with its name for a tag."""
    run = read_run({"1": {"a": 0.1, "b": 1e-17}, "2": {"c": 3}}, "x")
    (tmp_path / "x.run").write_text(run_text(run))
    assert run_text(run).splitlines()[1] == "1 Q0 b 2 1e-17 x"
    assert read_run(tmp_path / "x.run").table.equals(run.table)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 Q0 d1 1 1.0\n", "row 1: 5 fields, expected 6: topic, Q0, document, rank, score, tag"),
        (LINES + "1 Q0 d3 1 1 a b\n", "row 5: 7 fields, expected 6: topic, Q0, document, rank, score, tag"),
        ("1 Q0 d1 1 1.0\x1ftag\n", "row 1: 5 fields, expected 6: topic, Q0, document, rank, score, tag"),
        (LINES + "1 Q0 d3 1 high a\n", "row 5: score 'high' is not a number"),
        (LINES + "1 Q0 d3 1 nan a\n", "row 5: score 'nan' is not a number"),
        (LINES + "2 Q0 d1 9 1 a\n", "row 5: document 'd1' of topic '2' is in row 4 already: keep one of them"),
        (" \n", "the file is empty"),
    ],
)
def test_what_is_wrong_in_a_run_is_said(tmp_path, text, said):
    """Where, what, what to do."""
    path = tmp_path / "a.run"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_run(path)
    assert str(refused.value).removeprefix(str(path)).lstrip(",: ") == said


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        ({"1": 3}, UsageError, "a mapping is {topic: {document: score}}"),
        ({}, InputError, "run: there are no rows"),
        ({"1": {"d": None}}, InputError, "run, row 0: score is empty"),
        (pl.DataFrame({"topic": [1], "score": [1]}), InputError, "run: there is no column 'document': a run has topic"),
        (
            pl.DataFrame({"topic": [None], "document": ["d"], "score": [1]}),
            InputError,
            "run, row 0: topic is empty",
        ),
        (
            7,
            UsageError,
            "int is not a run: give a file, a frame with topic, document and score, {topic: {document: score}}, rows "
            "such as those of ir_measures or ir_datasets, or an object of ranx",
        ),
        ([3, 4], UsageError, "int is not a run: give a file, a frame with topic, document and score,"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(data, kind, said):
    """For frames and mappings, too."""
    with pytest.raises(kind) as refused:
        read_run(data)
    assert str(refused.value).startswith(said)


def test_runs_have_names_of_their_own(tmp_path):
    """Files of one name are called by their paths; the same file twice is refused, and so is none."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.run").write_text(LINES)
    paths = [tmp_path / "a" / "x.run", tmp_path / "b" / "x.run"]
    assert [run.name for run in read_runs(paths)] == [str(path) for path in paths]
    assert [run.name for run in read_runs({"p": paths[0], "q": paths[0]})] == ["p", "q"]
    with pytest.raises(UsageError, match=r"two runs are called .*: give every run once, with its own name"):
        read_runs([paths[0], paths[0]])
    with pytest.raises(UsageError, match="there is no run: give at least one"):
        read_runs([])


@pytest.mark.parametrize("name", ["q.qrels", "qrels.txt", "truth", "q.csv", "q.parquet"])
def test_grades_are_read(tmp_path, name):
    """From qrels, whatever they are called, and from tables, whose items may be called topic_document."""
    path = tmp_path / name
    table = pl.DataFrame({"item": ["1_a", "1_b", "c"], "topic": [1, 1, 2], "label": [1, 0, -2]})
    if name == "q.csv":
        table.write_csv(path)
    elif name == "q.parquet":
        table.write_parquet(path)
    else:
        path.write_text("1 0 a 1\n1 0 b 0\n2 0 c -2\n")
    assert read_grades(path) == {"1": {"a": 1, "b": 0}, "2": {"c": -2}}
    assert not is_run(path)
    assert read_grades({"1": {"a": 1}}) == {"1": {"a": 1}}
    assert read_grades(pl.DataFrame({"topic": ["1"], "document": ["a"], "label": [True]})) == {"1": {"a": 1}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 0 a 1\n1 0 b\n", "row 2: 3 fields, expected 4: topic, iteration, document, label"),
        ("1 0 a 1\n1 0 b yes\n", "row 2: grade 'yes' is not a number"),
        ("1 0 a 1\n1 0 b inf\n", "row 2: grade 'inf' is not a number"),
        ("1 0 a 1\n1 0 a 1\n", "row 2: document 'a' of topic '1' is in row 1 already: keep one of them"),
    ],
)
def test_what_is_wrong_in_grades_is_said(tmp_path, text, said):
    """Where, what, what to do."""
    path = tmp_path / "q.qrels"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        read_grades(path)
    assert str(refused.value) == f"{path}, {said}"


def test_what_is_no_run(tmp_path):
    """A folder, a table, six words."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\n")
    (tmp_path / "b.txt").write_text("one two three four five six\n")
    assert not any(is_run(path) for path in (tmp_path, tmp_path / "a.csv", tmp_path / "b.txt", tmp_path / "none"))


def test_the_example_is_what_it_says(tmp_path):
    """Judgments, two runs and qrels, each readable, the same every time."""
    files = example()
    assert files == example()
    assert list(files) == ["labels.csv", "bm25.run", "dense.run", "truth.qrels"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert [is_run(tmp_path / name) for name in files] == [False, True, True, False]
    assert len(read_grades(tmp_path / "truth.qrels")) == len(read_run(tmp_path / "bm25.run").ranked) == 10


def test_a_name_with_a_blank_is_not_written():
    """It would be two fields."""
    with pytest.raises(InputError, match=r"^'d 1' is empty or contains a blank, which a TREC file cannot hold$"):
        run_text(read_run({"q1": {"d 1": 0.25}}, "bm25"))
