"""``adjudge features``."""

import polars as pl
import pytest

from adjudge.learn.features import FEATURES, features_named

INPUTS = ("lambs/bm25.run", "lambs/passages.jsonl", "lambs/queries.tsv")


@pytest.fixture
def lambs(run):
    """Return the example's files, and a run."""
    run("search", "--example", "lambs")
    assert run("search", *INPUTS[1:], "--out", INPUTS[0]).code == 0
    return INPUTS


def test_people_see_the_first_pairs(run, lambs):
    """As many columns as there is room for."""
    answer = run("features", *lambs, "--rows", "2")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Pairs (2 of 3, ")
    assert "words_1_covered" in answer.out


def test_files_by_their_names(run, lambs, tmp_path):
    """SVM-light with labels, CSV, Parquet."""
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    default = len(features_named())
    answer = run("features", *lambs, "--grades", "truth.qrels", "--out", "f.svm", "--cache", "kept")
    assert answer.out.endswith(f"wrote 3 pairs with {default} features to f.svm\n")
    lines = [line for line in (tmp_path / "f.svm").read_text().splitlines() if not line.startswith("#")]
    assert [line.split()[:2] for line in lines] == [["1", "qid:1"], ["0", "qid:1"], ["0", "qid:2"]]
    assert len(list((tmp_path / "kept").iterdir())) == default
    run("features", *lambs, "--out", "f.parquet", "--names", "okapi,closeness", "--cache", "kept")
    assert pl.read_parquet(tmp_path / "f.parquet").columns == [
        "topic",
        "document",
        "bm25",
        "bm25_share",
        "bm25_rank",
        "closeness",
    ]
    assert run("features", *lambs, "--format", "csv", "--names", "bm25").out.startswith("topic,document,bm25\nq1,d1,")


def test_all_features_are_listed(run):
    """With what each is."""
    text = run("features", "--list").out
    assert all(name in text for name in FEATURES)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ["--names", "bm52"],
            2,
            "there is no feature or group 'bm52'; features are words_1_covered, ",
        ),
        (["--out", "f.xls"], 2, "f.xls has no known suffix: use one of .svm, .svmlight, .letor, .csv"),
        (["--out", "lambs/bm25.run"], 2, "--out lambs/bm25.run would overwrite an input: name another file"),
        (["--format", "trec"], 2, "format 'trec' is not one of 'svm', 'csv', 'jsonl', 'parquet'"),
        (["--cache", "lambs/bm25.run"], 2, "--cache lambs/bm25.run is a file: name a folder"),
        (["--cache", ""], 2, "--cache is empty: name a folder"),
        (["--grades", "nothing.qrels"], 1, "nothing.qrels: there is no such file"),
    ],
)
def test_what_is_wrong_is_one_line(run, lambs, arguments, code, said):
    """No traceback for bad input, and before any work where that can be."""
    answer = run("features", *lambs, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"adjudge: {said}")
    assert answer.err.count("\n") == 1


def test_a_run_of_other_passages(run, lambs, tmp_path):
    """Said with an example of what there is."""
    (tmp_path / "p.tsv").write_text("x1\tlamb\n")
    answer = run("features", lambs[0], "p.tsv", lambs[2])
    assert answer.code == 1
    assert answer.err == "adjudge: bm25: document 'd1' is not a passage of p.tsv, which has 'x1'\n"


def test_two_topics_with_the_same_question(run, lambs, tmp_path):
    """Ranked apart."""
    (tmp_path / "q.tsv").write_text("q1\tlamb\nq2\tlamb\n")
    (tmp_path / "two.run").write_text("q1 Q0 d1 1 2 x\nq1 Q0 d2 2 1 x\nq2 Q0 d3 1 1 x\n")
    answer = run("features", "two.run", lambs[1], "q.tsv", "--names", "bm25_rank", "--format", "csv")
    assert answer.out == "topic,document,bm25_rank\nq1,d1,1.0\nq1,d2,0.5\nq2,d3,1.0\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("q1 Q0 d1 1 2", "bad.run, row 2: 5 fields, expected 6: topic, Q0, document, rank, score, tag"),
        ("q1 Q0 d 1 1 2 x", "bad.run, row 2: 7 fields, expected 6"),
        ("q1 Q0 d1 1 high x", "bad.run, row 2: score 'high' is not a number"),
        ("q1 Q0 d2 1 2 x", "bad.run, row 2: document 'd2' of topic 'q1' is in row 1 already"),
        ("q9 Q0 d1 1 2 x", "bad: topic 'q9' is not a query of lambs/queries.tsv, which has 'q1'"),
    ],
)
def test_runs_that_are_wrong(run, lambs, tmp_path, line, said):
    """One line, with the row."""
    (tmp_path / "bad.run").write_text(f"q1 Q0 d2 2 1 x\n{line}\n")
    answer = run("features", "bad.run", *lambs[1:])
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"adjudge: {said}")
    assert answer.err.count("\n") == 1
