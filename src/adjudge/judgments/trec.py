"""TREC's files: qrels, and the files of the 2011 crowdsourcing track.

- qrels: ``topic iteration document relevance``;
- task 2 judgments: ``topic hit worker document gold label``, gold -1 where unknown, an optional header;
- task 2 run: ``topic document rank class-label``;
- task 1 run: eleven tab-separated fields, of which 1 is the team, 2 the worker, 4 the topic, 5 the document,
  6 the rank, 7 the class label (a probability of relevance, or ``na``) and 11 the type of label (0 usable,
  1 rejected, 2 automated, 3 training); 3 and 8 to 10 are carried along as they are.

A document may belong to several topics, so an item is called ``topic_document``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from adjudge.errors import InputError
from adjudge.judgments import source as sources

if TYPE_CHECKING:
    from adjudge.judgments.source import Source

QRELS = ("topic", "iteration", "document", "label")
TASK2 = ("topic", "hit", "judge", "document", "gold", "label")
TASK1 = ("team", "judge", "field3", "topic", "document", "rank", "label", "field8", "field9", "field10", "type")
USABLE = "0"


def qrels_source(content: bytes, name: str) -> Source:
    """Read relevance judgments; the label is the grade."""
    return _source(_fields(content, name, QRELS), name, ("item", "topic", "label", "document"))


def task2_source(content: bytes, name: str) -> Source:
    """Read the crowd's judgments of task 2, with the gold that the file carries in a column ``gold``."""
    frame = _fields(content, name, TASK2)
    if frame.height and not frame["gold"][0].lstrip("-").isdigit():
        frame = frame.slice(1)
    return _source(frame, name, ("item", "topic", "judge", "label", "gold", "hit"))


def task1_source(content: bytes, name: str) -> Source:
    """Read the judgments of a task 1 run: usable labels only, a probability of .5 or more read as 1."""
    frame = _fields(content, name, TASK1, separator="\t").filter(pl.col("type") == USABLE, pl.col("label") != "na")
    grade = frame["label"].cast(pl.Float64, strict=False)
    if grade.null_count():
        bad = int(grade.is_null().arg_max() or 0)
        raise InputError(f"class label '{frame['label'][bad]}' is not a number", name, int(frame["row"][bad]))
    frame = frame.with_columns(label=(grade >= 0.5).cast(pl.Int8).cast(pl.String))
    return _source(frame, name, ("item", "topic", "judge", "label", "rank", "team"))


def qrels_lines(topics: Sequence[str], documents: Sequence[str], grades: Sequence[str]) -> str:
    """Return a qrels file."""
    return _lines(" ", zip(topics, ["0"] * len(topics), documents, grades, strict=True))


def task2_run_lines(
    topics: Sequence[str], documents: Sequence[str], ranks: Sequence[int], relevance: Sequence[float]
) -> str:
    """Return a task 2 run: the rank of each document in its topic and its probability of relevance."""
    classes = (f"{probability:.6f}" for probability in relevance)
    return _lines(" ", zip(topics, documents, map(str, ranks), classes, strict=True))


def task2_lines(rows: Sequence[Sequence[str]]) -> str:
    """Return task 2 judgments from (topic, hit, judge, document, gold, label) rows, below a header."""
    return _lines("\t", [("topicID", "hitID", "workerID", "docID", "gold", "label"), *rows])


def task1_run_lines(rows: Sequence[Sequence[str]]) -> str:
    """Return a task 1 run from rows of its eleven fields."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(TASK1):
            raise InputError(f"{len(row)} fields where a task 1 run has {len(TASK1)}", "task 1 run", number)
    return _lines("\t", rows)


def document_of(item: str, topic: str) -> str:
    """Return the document in an item's name: ``topic_document`` without the topic."""
    return item.removeprefix(f"{topic}_")


def _lines(separator: str, rows: object) -> str:
    """Return rows as lines of text."""
    return "".join(separator.join(row) + "\n" for row in rows)  # type: ignore[attr-defined]


def _fields(content: bytes, name: str, fields: Sequence[str], separator: str | None = None) -> pl.DataFrame:
    """Return the fields of every line as text, and a column ``row``; a line of another width is refused."""
    try:
        lines = content.decode().splitlines()
    except UnicodeDecodeError as error:
        raise InputError("a byte is not UTF-8 text", name, content.count(b"\n", 0, error.start) + 1) from error
    rows = [(number, line.split(separator)) for number, line in enumerate(lines, 1) if line.strip()]
    for number, values in rows:
        if len(values) != len(fields):
            raise InputError(f"{len(values)} fields, expected {len(fields)}: {', '.join(fields)}", name, number)
    columns = {field: [values[f] for _, values in rows] for f, field in enumerate(fields)}
    return pl.DataFrame({"row": [number for number, _ in rows], **columns}, schema_overrides={f: pl.String for f in fields})


def _source(frame: pl.DataFrame, name: str, columns: Sequence[str]) -> Source:
    """Return fields as a source, items named by topic and document."""
    if not frame.height:
        raise InputError("the file holds no usable rows", name)
    items = frame.select(pl.format("{}_{}", "topic", "document")).to_series()
    table = frame.with_columns(item=items)
    return sources.Source(name, tuple(columns), table.get_column, rows=table.get_column("row"), text=True)
