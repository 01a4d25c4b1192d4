"""Texts with names, in."""

import gzip

import polars as pl
import pytest

from adjudge.errors import InputError
from adjudge.learn.passages import read_passages, read_queries

TEXTS = {"d1": "one lamb", "d2": "two, with a comma"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", '{"passage": "d1", "text": "one lamb"}\n{"passage": "d2", "text": "two, with a comma"}\n'),
        ("p.jsonl", '{"id": "d1", "contents": "one lamb"}\n{"id": "d2", "contents": "two, with a comma"}\n'),
        ("p.csv", 'document,text\nd1,one lamb\nd2,"two, with a comma"\n'),
        ("p.tsv", "Passage ID\ttext\nd1\tone lamb\nd2\ttwo, with a comma\n"),
        ("p.tsv", "d1\tone lamb\nd2\ttwo, with a comma\tand more\n"),
    ],
)
def test_files(tmp_path, name, content):
    """Columns by their usual names; a file set apart by tabs may have no header."""
    (tmp_path / name).write_text(content)
    assert read_passages(tmp_path / name) == TEXTS


def test_packed_lines_without_a_header_keep_quotation_marks(tmp_path):
    """They are text there, not quoting."""
    path = tmp_path / "p.tsv.gz"
    path.write_bytes(gzip.compress(b'd1\tthe "first\nd2\tx\n'))
    assert read_passages(path) == {"d1": 'the "first', "d2": "x"}


def test_mappings_and_frames():
    """A missing text is an empty one; numbers are names."""
    assert read_passages({1: "a", 2: None}) == {"1": "a", "2": ""}
    assert read_passages(pl.DataFrame({"doc_id": [7], "body": ["a"]})) == {"7": "a"}
    assert read_passages(pl.DataFrame({"x": ["k"], "y": ["t"]}), "x", "y") == {"k": "t"}


@pytest.mark.parametrize(
    "columns",
    [("query_id", "text"), ("query", "text"), ("question", "text"), ("qid", "query"), ("id", "question")],
)
def test_queries(columns):
    """A column called query names one, or holds one where another column names it."""
    assert read_queries(pl.DataFrame(dict(zip(columns, (["q1"], ["whose lamb?"]), strict=True)))) == {
        "q1": "whose lamb?"
    }


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", "id,text\nd1,a\n\nd1,b\n", r"p.csv, row 4: passage 'd1' is in row 2 already: keep one of them"),
        ("p.csv", "id,text\nd1,a\n,b\n", r"p.csv, row 3: the passage has no name: column 'id' is empty"),
        ("p.csv", "id,text\nd 1,a\n", r"p.csv, row 2: passage 'd 1' has blanks in its name, which a run cannot hold"),
        ("p.csv", "key,words\nd1,a\n", r"p.csv: there is no column for the passage's text \(columns: 'key', 'words'\)"),
        ("p.csv", "key,text\nd1,a\n", r"no column for the passage's name .*; usual names are passage, passage_id, pid"),
        ("p.tsv", "d1\ta\nd2\n", r"p.tsv, row 2: there is no tab between the passage's name and its text"),
        ("p.tsv", "d1\ta\n\nd1\tb\n", r"p.tsv, row 3: passage 'd1' is in row 1 already"),
        ("p.jsonl", '{"id": "d1", "text": "a"}\n{"id": "d1", "text": "b"}\n', r"p.jsonl, row 2: passage 'd1' is in ro"),
        ("p.csv", "", "p.csv: the file is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(tmp_path, name, content, said):
    """File, row, what, and what to do."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=said):
        read_passages(tmp_path / name)


def test_columns_that_are_not_there():
    """Named by the user."""
    with pytest.raises(InputError, match="passages: there is no column 'z'"):
        read_passages(pl.DataFrame({"id": ["a"], "text": ["b"]}), "z")
    with pytest.raises(InputError, match="queries: there are no queries"):
        read_queries({})
