"""Tables row by row, with the line of every row and of every problem."""

import io
from typing import Any

import polars as pl
import pytest

from adjudge.data.files import Content
from adjudge.data.formats import (
    format_of,
    named_format,
    named_value,
    open_source,
    parse_rows,
    read_rows,
    read_text_rows,
)
from adjudge.errors import Problems

COLUMNS = {"topic": ("topic", "qid"), "grade": ("grade",)}
QUOTES = "put the whole value in quotation marks, and double those inside it"


def rows(text: str | bytes, name: str = "t.csv", needed: tuple[str, ...] = ("topic",)) -> tuple[list[Any], list[str]]:
    """Return the rows of a table, and its problems."""
    problems = Problems()
    content = Content(name, text.encode() if isinstance(text, str) else text)
    return [*read_rows(content, problems, COLUMNS, needed)], problems.messages


@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
def test_separated_values(separator: str) -> None:
    """Any separator; other names of columns in any case, blanks around values, empty lines, quoted line breaks."""
    text = '\nQID,x,Grade\n1 ,a,0\n\n"2\n3",b,"""1"""\n4,c,2'.replace(",", separator)
    table, problems = rows(text)
    assert [(line, row["topic"], row["grade"]) for line, row in table] == [
        (3, "1", "0"),
        (5, "2\n3", '"1"'),
        (7, "4", "2"),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("", ["t.csv: is empty, expected a header with topic"]),
        ("a,b\n1,2\n", ["t.csv, line 1: there is no column 'topic' (or 'qid'); the columns are 'a', 'b'"]),
        ("topic,topic\n1,2\n", ["t.csv, line 1: two columns are called 'topic': rename one"]),
        (
            "topic,b\n1,2\n1,2,3\n1\n",
            [
                "t.csv, line 3: 3 values, expected 2 as in the header; a value that contains ',' needs quotation marks",
                "t.csv, line 4: 1 values, expected 2 as in the header",
            ],
        ),
        ('topic,b\n1,2\n"1,2\n', [f"t.csv, line 3: a quotation mark is opened and not closed: {QUOTES}"]),
        ('topic,b\n"1"2,2\n', [f"t.csv, line 2: there is a quotation mark inside a value: {QUOTES}"]),
        ('"topic', [f"t.csv, line 1: a quotation mark is opened and not closed: {QUOTES}"]),
    ],
)
def test_all_problems_of_separated_values(text: str, messages: list[str]) -> None:
    """Every problem is listed with its line, in the words in which the fast reader refuses a table."""
    assert rows(text)[1] == messages


def test_json_lines() -> None:
    """Objects have their lines; other lines are problems."""
    text = '{"Topic": 1}\r\n\nnope\n[1]\n{"qid": "\u2028", "topic": null}\n' + "[" * 100_000
    table, problems = rows(text, "t.jsonl")
    assert [tuple(row) for row in table] == [(1, {"topic": 1, "grade": None}), (5, {"topic": "\u2028", "grade": None})]
    assert problems == [
        "t.jsonl, line 3: is not JSON (Expecting value); give one object per line",
        "t.jsonl, line 4: is JSON but not an object with named values; give one object per line",
        "t.jsonl, line 6: is not JSON (nested too deeply); give one object per line",
    ]


def test_qrels() -> None:
    """Lines of four fields are qrels whatever the name of the file; lines with other numbers of fields are problems."""
    problems = Problems()
    content = Content("gold", b"1 0 d1 2\n\n1\t0\td2\t0\n1 0 d3\n")
    names = {"topic": ("topic",), "document": ("document",), "grade": ("grade", "label")}
    table = [*read_text_rows(content, problems, names, tuple(names))]
    assert [(line, *values.values()) for line, values in table] == [(1, "1", "d1", "2"), (3, "1", "d2", "0")]
    assert problems.messages == ["gold, line 4: 3 fields, expected 4: topic, iteration, document, label"]


def test_parquet() -> None:
    """Rows of a Parquet file are numbered from 0, and their values have types."""
    buffer = io.BytesIO()
    pl.DataFrame({"qid": [7, 8], "grade": [1.0, None]}).write_parquet(buffer)
    assert [tuple(row) for row in rows(buffer.getvalue())[0]] == [
        (0, {"topic": 7, "grade": 1.0}),
        (1, {"topic": 8, "grade": None}),
    ]


def test_rows_of_text() -> None:
    """Numbers become text, and a missing value that is needed is a problem."""
    problems = Problems()
    content = Content("t.jsonl", b'{"topic": 7.0, "grade": 2}\n{"topic": 8}\n')
    table = [*read_text_rows(content, problems, COLUMNS, ("topic", "grade"))]
    assert [tuple(row) for row in table] == [(1, {"topic": "7", "grade": "2"})]
    assert problems.messages == ["t.jsonl, line 2: there is no grade"]


def test_values_by_any_of_their_names() -> None:
    """The first name that has a value counts."""
    assert named_value({"ID ": 3, "title": None}, ("document", "id")) == 3
    assert named_value({"title": None}, ("title",)) is None


@pytest.mark.parametrize(
    ("name", "text", "format_name"),
    [
        ("a.csv", "topic,document\n", "csv"),
        ("a.tsv", "topic\tdocument\n", "tsv"),
        ("a.csv.gz", "topic,document\n", "csv"),
        ("a.csv", '{"topic": 1}\n', "jsonl"),
        ("a", '\n{"topic": 1}\n', "jsonl"),
        ("a.txt", "1 0 d1 2\n", "qrels"),
        ("a", "1 Q0 d1 -1\n", "qrels"),
        ("a.txt", "1 77 1 0.5\n", "trec-task2-run"),
        ("a.txt", "1 d7 1 na\n", "trec-task2-run"),
        ("a.tsv", "team\tx\tf3\t20\ta\t1\t0.5\tf8\tf9\tf10\t1\n", "trec-task1"),
        ("a.qrels", "1 d7 1 0.5\n", "qrels"),
        ("a.tsv", "topic\tdocument\tgrade\treason\n", "tsv"),
        ("a", "a, b, c, d\n", "csv"),
        ("a", "one two three four\n", "csv"),
    ],
)
def test_formats_are_recognised(name: str, text: str, format_name: str) -> None:
    """The content decides, and otherwise the name of the file."""
    assert format_of(Content(name, text.encode())) == format_name


def test_names_of_files() -> None:
    """The suffix before that of the compression shows the format."""
    assert [named_format(name) for name in ("a.csv", "b.TSV.zst", "c.2024", "d.qrels")] == ["csv", "tsv", None, "qrels"]


def test_long_values() -> None:
    """A value may be as long as a document."""
    ((_, values),) = parse_rows(Content("d.csv", b"document,text\na," + b"x" * 200_000)).rows
    assert isinstance(values, dict)
    assert len(values["text"]) == 200_000


def test_a_source_knows_how_it_was_read(tmp_path: Any) -> None:
    """Format, encoding and compression are on the source."""
    path = tmp_path / "a.csv"
    path.write_bytes("item,label\nä,1\n".encode("utf-16"))
    source = open_source(path)
    assert (source.format, source.encoding, source.compression) == ("csv", "utf-16", None)
    assert open_source(pl.DataFrame({"item": [1]})).format == "frame"
