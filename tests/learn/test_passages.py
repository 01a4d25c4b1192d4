"""Texts with names, in."""

import gzip

import polars as pl
import pytest

from adjudge.errors import AdjudgeWarning, InputError
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


LINES = b'{"id": "d1", "text": "one"}\n{"id": "d2", "text": "two"}\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("p.jsonl", b"\xef\xbb\xbf" + LINES),
        ("p.jsonl", LINES.replace(b"\n", b"\r\n\r\n")),
        ("p.jsonl", LINES.rstrip()),
        ("p.jsonl.gz", gzip.compress(LINES, mtime=0)),
        ("p.jsonl", gzip.compress(LINES, mtime=0)),
        ("p", LINES),
        ("p.csv", b"\xef\xbb\xbfid,text\r\nd1,one\r\nd2,two\r\n"),
        ("p.tsv", b"\xef\xbb\xbfd1\tone\r\nd2\ttwo\r\n"),
        ("p.tsv", b"d1\tone\rd2\ttwo\r"),
        ("p.txt", b"d1\tone\nd2\ttwo\n"),
        ("p.txt", b"id\ttext\nd1\tone\nd2\ttwo\n"),
        ("p", b"id,text\nd1,one\nd2,two\n"),
        ("collection.2024.gz", gzip.compress(b"d1\tone\nd2\ttwo\n", mtime=0)),
    ],
)
def test_files_as_others_write_them(tmp_path, name, content):
    """Byte order marks, ends of lines, compression, and names that do not tell what is in the file."""
    (tmp_path / name).write_bytes(content)
    assert read_passages(tmp_path / name) == {"d1": "one", "d2": "two"}


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\x00"])
def test_only_an_end_of_line_ends_a_line(tmp_path, sign):
    """Texts have other signs that some take for one."""
    (tmp_path / "p.tsv").write_bytes(f"d1\ta{sign}b\nd2\tc\n".encode())
    assert read_passages(tmp_path / "p.tsv") == {"d1": f"a{sign}b", "d2": "c"}


def test_a_text_that_is_missing_is_empty(tmp_path):
    """No such key, null, or nothing; a number is text."""
    (tmp_path / "p.jsonl").write_text(
        '{"id": 1, "text": "a"}\n{"id": 2}\n{"id": 3, "text": null}\n{"id": 4, "text": ""}\n'
    )
    assert read_passages(tmp_path / "p.jsonl") == {"1": "a", "2": "", "3": "", "4": ""}
    (tmp_path / "p.jsonl").write_text('{"id": 1, "text": 5}\n{"id": 2, "text": "b"}\n')
    assert read_passages(tmp_path / "p.jsonl") == {"1": "5", "2": "b"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n \n", r"p.jsonl: the file is empty"),
        (LINES + b'{"id": "d3", "te\n', r"p.jsonl, row 3: is not JSON"),
        (LINES + b"\n7\n", r"p.jsonl, row 4: is JSON but not an object"),
        (LINES + b'{"text": "three"}\n', r"p.jsonl, row 3: the passage has no name: column 'id' is empty"),
        (LINES + b'{"id": "d3", "text": ["a"]}\n', r"p.jsonl, row 3: 'text' holds a list or record"),
        (b'{"id": "d1", "text": ["a"]}\n', r"p.jsonl, row 1: column 'text' holds lists or records, expected text"),
        (b'{"id": "d1", "text": {"a": 1}}\n', r"p.jsonl, row 1: column 'text' holds lists or records, expected text"),
        (b'{"id": ["d1"], "text": "a"}\n', r"p.jsonl, row 1: column 'id' holds lists or records, expected text"),
        (
            b'{"id": 1, "text": "a"}\n{"id": 2.5, "text": "b"}\n',
            r"row 1: the name of passage 1.0 is a fraction",
        ),
        (LINES + b'{"id": "d\\u00003", "text": "a"}\n', r"p.jsonl, row 3: passage 'd\\x003' has control characters in"),
        (
            LINES + b'{"id": "d\\ud800", "text": "a"}\n',
            r"p.jsonl, row 3: passage .* has control characters",
        ),
        (LINES + b'{"id": "d\\u00a03", "text": "a"}\n', r"p.jsonl, row 3: passage .* has blanks in its name"),
        (LINES + b'{"id": "d3", "text": "a\x00b"}\n', r"p.jsonl, row 3: is not JSON \(Invalid control character"),
        (
            LINES + b'{"id": "d3", "text": "\x81"}\n',
            r"p.jsonl, row 3: byte 0x81 is neither UTF-8 nor windows-1252 text",
        ),
        (gzip.compress(LINES, mtime=0)[:-9], r"p.jsonl: the compressed file is damaged or cut off"),
    ],
)
def test_lines_of_json_that_are_wrong(tmp_path, content, said):
    """Each with its row, counted as an editor counts."""
    (tmp_path / "p.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_passages(tmp_path / "p.jsonl")


def test_half_a_sign_in_a_text_is_none(tmp_path):
    """It parts words, as any other sign that is no letter."""
    (tmp_path / "p.jsonl").write_text('{"id": "d1", "text": "lamb\\ud800wolf"}\n')
    assert read_passages(tmp_path / "p.jsonl") == {"d1": "lamb\x00wolf"}


@pytest.mark.parametrize("name", ["topics.xml", "topics.301-350", "topics.txt", "topics"])
@pytest.mark.parametrize("content", ["<?xml version='1.0'?>\n<topics/>", "\n<top>\n<num> Number: 301\n<title> Crime\n"])
def test_topics_in_other_formats(tmp_path, name, content):
    """What they look like, and what to give."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=r"looks like XML or TREC topics.*: give a table of queries with query_id"):
        read_queries(tmp_path / name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"d1": "a", "d2": ["b"]}, r"passages, row 1: the passage's text is of type list, expected text: '\['b'\]'"),
        ({"d1": b"a"}, "passages, row 0: the passage's text is of type bytes, expected text"),
        ({("d", 1): "a"}, "passages, row 0: the passage's name is of type tuple, expected text"),
        ({"d1": "a\ud800"}, r"row 0: the passage's text 'a\\ud800' has a lone surrogate: decode"),
        ({"d\ud800": "a"}, r"row 0: the passage's name 'd\\ud800' has a lone surrogate"),
        ({None: "a"}, "row 0: the passage has no name"),
        ({1: "a", "1": "b"}, "row 1: passage '1' is in row 0 already"),
        (pl.DataFrame({"id": ["a"], "text": [b"\xff"]}), "column 'text' holds values of type Binary, expected text"),
        (pl.DataFrame({"id": [1.5], "text": ["a"]}), "row 0: the name of passage 1.5 is a fraction"),
    ],
)
def test_mappings_and_frames_that_are_wrong(data, said):
    """Nothing is made into text in silence."""
    with pytest.raises(InputError, match=said):
        read_passages(data)


def test_missing_values_of_mappings():
    """None and what pandas has for it."""
    assert read_passages({"d1": float("nan"), "d2": None, 3: 4}) == {"d1": "", "d2": "", "3": "4"}


def test_columns_that_are_not_there():
    """Named by the user."""
    with pytest.raises(InputError, match="passages: there is no column 'z'"):
        read_passages(pl.DataFrame({"id": ["a"], "text": ["b"]}), "z")
    with pytest.raises(InputError, match="queries: there are no queries"):
        read_queries({})


def test_passages_in_other_encodings(tmp_path):
    """UTF-16, and windows-1252 with a warning."""
    (tmp_path / "p.jsonl").write_bytes(LINES.decode().encode("utf16"))
    assert read_passages(tmp_path / "p.jsonl") == {"d1": "one", "d2": "two"}
    (tmp_path / "p.tsv").write_bytes("id\ttext\nd1\tété\n".encode("cp1252"))
    with pytest.warns(AdjudgeWarning, match="is read as windows-1252"):
        assert read_passages(tmp_path / "p.tsv") == {"d1": "été"}
