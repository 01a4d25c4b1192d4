"""Runs and grades, read from files, frames and mappings."""

import gzip
from typing import NamedTuple

import pandas as pd
import polars as pl
import pytest

from adjudge.data.runs import example, frame_kind, is_run, read_grades, read_run, read_runs, run_text
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


class ScoredDoc(NamedTuple):
    """A row as ir_measures and ir_datasets have it."""

    query_id: str
    doc_id: str
    score: float


class Qrel(NamedTuple):
    """A grade as ir_measures and ir_datasets have it."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class Ranx:
    """An object as ranx has it: a name, and a method that returns a mapping."""

    name = "dense"

    def __init__(self, values):
        self.values = values

    def to_dict(self):
        """Return the values."""
        return self.values


class Dataset:
    """A dataset as ir_datasets has it."""

    def scoreddocs_iter(self):
        """Return the rows of the run."""
        return iter([ScoredDoc("1", "a", 1.0), ScoredDoc("1", "b", 2.0)])

    def qrels_iter(self):
        """Return the grades."""
        return iter([Qrel("1", "a", 1), Qrel("1", "b", 0)])


ROWS = [ScoredDoc("1", "a", 1.0), ScoredDoc("1", "b", 2.0)]
TERRIER = {
    "qid": ["1", "1"],
    "query": ["x y", "x y"],
    "docid": [8, 9],
    "docno": ["a", "b"],
    "score": [1, 2],
    "rank": [1, 0],
}
SHAPES = [
    pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}),
    pd.DataFrame(TERRIER),
    pl.DataFrame(TERRIER).lazy(),
    pl.DataFrame({"q_id": ["1", "1"], "doc_id": ["a", "b"], "score": [1.0, 2.0]}),
    ROWS,
    (row._asdict() for row in ROWS),
    Ranx({"1": {"a": 1.0, "b": 2.0}}),
    Dataset(),
    {"1": {"a": 1.0, "b": 2.0}},
]


@pytest.mark.parametrize("data", SHAPES, ids=lambda data: type(data).__name__)
def test_runs_of_other_tools_are_read(data):
    """Frames, rows, iterators and objects; one of them is one run, wherever several could be."""
    assert [run.ranked for run in read_runs(data)] == [{"1": ["b", "a"]}]


def test_names_and_kinds_of_other_tools_are_kept():
    """A run of ranx has its name; frames are returned in the library that they came in."""
    assert read_runs([Ranx({"1": {"a": 1.0}}), {"1": {"a": 1.0}}])[0].name == "dense"
    assert [run.name for run in read_runs({"x": ROWS, "y": SHAPES[0]})] == ["x", "y"]
    run = read_run(SHAPES[1])
    frame = run.frame("pyterrier")
    assert isinstance(frame, pd.DataFrame)
    assert frame.to_dict("list") == {"qid": ["1", "1"], "docno": ["b", "a"], "score": [2.0, 1.0], "rank": [0, 1]}
    assert run.frame("ir_measures", "polars").columns == ["query_id", "doc_id", "score"]
    assert read_run(run.frame("ir_measures")).table.equals(run.table)
    assert read_run(run.to_dict()).table.equals(run.table)
    assert (frame_kind([read_run(ROWS), run]), frame_kind([read_run(ROWS)])) == ("pandas", "polars")
    with pytest.raises(UsageError, match=r"^style 'x' is not one of 'adjudge', 'ir_measures', 'pyterrier'$"):
        run.frame("x")


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({"query_id": ["1", "1"], "doc_id": ["a", "b"], "relevance": [1, 0], "iteration": ["0", "0"]}),
        pd.DataFrame({"qid": ["1", "1"], "query": ["x", "x"], "docno": ["a", "b"], "label": [1, 0]}),
        pl.DataFrame({"q_id": ["1", "1"], "doc_id": ["a", "b"], "score": [1, 0]}),
        (Qrel("1", document, grade) for document, grade in (("a", 1), ("b", 0))),
        [{"query_id": "1", "doc_id": "a", "relevance": 1}, {"query_id": "1", "doc_id": "b", "relevance": 0}],
        Ranx({"1": {"a": 1, "b": 0}}),
        Dataset(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_grades_of_other_tools_are_read(data):
    """The text of a query does not count as the topic where there is an id."""
    assert read_grades(data) == {"1": {"a": 1, "b": 0}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.json", '{"1": {"a": 1.0,\n "b": 2.0}}'),
        ("r.csv", "query_id,doc_id,score\n1,a,1\n1,b,2\n"),
        ("r.tsv", "qid\tdocno\tscore\trank\n1\ta\t1\t1\n1\tb\t2\t0\n"),
        ("r.txt", "topic,document,score\n1,a,1\n1,b,2\n"),
        ("r.jsonl", '{"qid": "1", "docno": "a", "score": 1}\n{"qid": "1", "docno": "b", "score": 2}\n'),
        ("r.tsv", "1 Q0 a 2 1 x\n1 Q0 b 1 2 x\n"),
        ("r.trec", "1 Q0 a 2 1 x\n1 Q0 b 1 2 x\n"),
    ],
)
def test_files_of_other_tools_are_read(tmp_path, name, text):
    """Tables, and the JSON of ranx; a TREC file whatever it is called."""
    path = tmp_path / name
    path.write_text(text)
    assert is_run(path)
    assert (read_run(path).name, read_run(path).ranked) == ("r", {"1": ["b", "a"]})
    read_run(path).table.write_parquet(tmp_path / "p.parquet")
    assert is_run(tmp_path / "p.parquet")
    assert read_run(tmp_path / "p.parquet").ranked == {"1": ["b", "a"]}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.json", '{"1": {"a": 1, "b": 0}}'),
        ("q.txt", "1 qid:1 1:0.5 2:1 # docid = a inc = 1\n0 qid:1 1:0.1 #docid=b\n\n"),
        ("q.letor", "1 qid:7 1:0.5 # 1 a\n0 qid:7 1:0.1 # 1 b\n"),
        ("q.csv", "query_id,doc_id,relevance\n1,a,1\n1,b,0\n"),
    ],
)
def test_files_of_grades_of_other_tools_are_read(tmp_path, name, text):
    """The JSON of ranx, and lines of LETOR that name their documents."""
    (tmp_path / name).write_text(text)
    assert read_grades(tmp_path / name) == {"1": {"a": 1, "b": 0}}


def test_files_that_do_not_name_documents_are_refused(tmp_path):
    """Scores of RankLib, and lines of LETOR without a comment."""
    (tmp_path / "scores.txt").write_text("1\t0\t0.25\n1\t1\t-3.5e-2\n")
    with pytest.raises(InputError) as error:
        read_run(tmp_path / "scores.txt")
    assert str(error.value).endswith(
        "scores.txt: the lines look like scores of RankLib (topic, number of the document, score), which do not name "
        "the documents: rank with its option -indri, which writes a TREC file"
    )
    (tmp_path / "q.txt").write_text("1 qid:1 1:0.5 # docid = a\n1 qid:1 1:0.5\n")
    with pytest.raises(InputError) as error:
        read_grades(tmp_path / "q.txt")
    assert str(error.value).endswith(
        "q.txt, row 2: the line does not name its document: a line of LETOR is grade qid:topic 1:number ... # docid = "
        "name"
    )


def test_rows_that_differ_are_refused():
    """All rows have the fields of the first."""
    with pytest.raises(InputError, match=r"^run: the rows do not all have the same fields: the first has 'query_id', "):
        read_run([*ROWS, Qrel("1", "c", 1)])
    with pytest.raises(UsageError, match=r"^int is not a set of grades: give a file, a frame with topic, document and"):
        read_grades([1])
    with pytest.raises(UsageError, match=r"^int is not a run: give a file, a frame with topic, document and score"):
        read_runs(7)
