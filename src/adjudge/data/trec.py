"""The files of TREC, read and written: qrels, runs, and the files of the 2011 crowdsourcing track.

- qrels: ``topic iteration document relevance``;
- run: ``topic Q0 document rank score tag``, read by ``runs``;
- task 2 judgments: ``topic hit worker document gold label``, gold -1 if it is unknown, with or without a header;
- task 2 run: ``topic document rank class-label``;
- task 1 run: eleven tab-separated fields, of which 1 is the team, 2 the worker, 4 the topic, 5 the document,
  6 the rank, 7 the class label and 11 the type of label (0 usable, 1 rejected, 2 automated, 3 training); fields 3
  and 8 to 10 are returned unchanged.

The class label of a run is a probability of relevance, or ``na``; from .5 on, the label is 1. A document may be in
several topics, so an item is called ``topic_document``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.files import Content
from adjudge.data.judgments import judgment_table
from adjudge.data.source import Source
from adjudge.errors import InputError, UsageError, quote

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments, Names


QRELS = ("topic", "iteration", "document", "label")
TASK2 = ("topic", "hit", "judge", "document", "gold", "label")
TASK2_HEADER = ("topicID", "hitID", "workerID", "docID", "gold", "label")
TASK2_RUN = ("topic", "document", "rank", "label")
TASK1 = ("team", "judge", "field3", "topic", "document", "rank", "label", "field8", "field9", "field10", "type")
TASK2_RUN_LINE = re.compile(r"\S+ \S+ \d+ (na|\d*\.\d+)")
QRELS_LINE = re.compile(r"\S+ (\d+|[qQ]0) \S+ -?\d+")
USABLE = "0"
TYPES = ("0", "1", "2", "3")  # of labels in a task 1 run
NOTHING = "na"  # written for a missing value


def sniff_format(line: str) -> str | None:
    """Return the format of a TREC file without a header from its first line, None if it is no such file.

    >>> sniff_format("20002 0 d1 1"), sniff_format("20002 d1 3 0.75"), sniff_format("item,judge,label")
    ('qrels', 'trec-task2-run', None)
    """
    tabs, fields = line.rstrip("\r\n").split("\t"), line.split()
    if len(tabs) == len(TASK1) and tabs[TASK1.index("type")].strip() in TYPES:
        return "trec-task1"
    if len(fields) != 4 or {",", ";"} & {*line}:
        return None
    if TASK2_RUN_LINE.fullmatch(" ".join(fields)):
        return "trec-task2-run"
    return "qrels" if QRELS_LINE.fullmatch(" ".join(fields)) else None


def qrels_source(content: Content) -> Source:
    """Read relevance judgments; the label is the grade."""
    return _source(read_fields(content, QRELS), content.name, ("item", "topic", "label"))


def task2_source(content: Content) -> Source:
    """Read the judgments of the crowd of task 2; the column ``gold`` has the gold of the file."""
    frame = read_fields(content, TASK2)
    if frame.height and not frame["gold"][0].lstrip("-").isdigit():
        frame = frame.slice(1)
    return _source(frame, content.name, ("item", "topic", "judge", "label", "gold", "hit"))


def task2_run_source(content: Content) -> Source:
    """Read the consensus of a task 2 run: label, probability of relevance and rank of every item."""
    frame = _with_probability(read_fields(content, TASK2_RUN), content.name)
    return _source(frame, content.name, ("item", "topic", "label", "probability", "rank"))


def task1_source(content: Content) -> Source:
    """Read the judgments of a task 1 run, only those of type 0 (usable)."""
    frame = read_fields(content, TASK1, separator="\t").filter(pl.col("type") == USABLE)
    columns = ("item", "topic", "judge", "label", "probability", "rank", "team")
    source_columns = (*columns, "field3", "field8", "field9", "field10")
    return _source(_with_probability(frame, content.name), content.name, source_columns)


def read_fields(content: Content, fields: Sequence[str], separator: str | None = None) -> pl.DataFrame:
    """Return the fields of every line as text, and a column ``row``; a line with more or fewer fields is refused."""
    frame, problems = _split_lines(content, fields, separator)
    if problems:
        row, problem = problems[0]
        raise InputError(problem, content.name, row)
    return frame


def parse_fields(content: Content, fields: Sequence[str]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the row of every line with its fields, or with the problem of a line with more or fewer fields."""
    frame, problems = _split_lines(content, fields)
    rows: list[tuple[int, dict[str, Any] | str]] = [(values.pop("row"), values) for values in frame.to_dicts()]
    yield from sorted([*rows, *problems], key=lambda row: row[0])


def qrels_text(items: Names, topics: Names, grades: Iterable[object]) -> str:
    r"""Return a qrels file: the topic and the grade of every item (I).

    >>> qrels_text(pl.Series(["q1_d1", "d2"]), pl.Series(["q1", "q1"]), [1, 0])
    'q1 0 d1 1\nq1 0 d2 0\n'
    """
    rows = zip(topics, items, grades, strict=True)
    return _text(" ", ((topic, "0", document_of(item, topic), grade) for topic, item, grade in rows))


def task2_run_text(items: Names, topics: Names, relevance: Floats, score: Floats | None = None) -> str:
    """Return a task 2 run: the rank of items in their topic by score (I), by default the probability of relevance (I).

    Ties keep their order.
    """
    table = pl.DataFrame({"topic": topics, "score": relevance if score is None else score})
    rank = table.select(pl.col("score").rank("ordinal", descending=True).over("topic")).to_series()
    rows = zip(topics, items, rank, relevance.tolist(), strict=True)
    return _text(" ", ((topic, document_of(item, topic), r, f"{p:.6f}") for topic, item, r, p in rows))


def task2_text(judgments: Judgments, gold: Codes | None = None) -> str:
    """Return task 2 judgments, with the gold of each item (I) if there is any; hits are unknown and written as 0."""
    table = _with_topics(judgments)
    names = ["-1", *judgments.scale.names]
    truths = [names[k + 1] for k in (gold[judgments.item()].tolist() if gold is not None else [-1] * len(judgments))]
    rows = zip(table["topic"], table["judge"], table["item"], truths, table["label"], strict=True)
    lines = ((topic, "0", judge, document_of(item, topic), truth, label) for topic, judge, item, truth, label in rows)
    return _text("\t", (TASK2_HEADER, *lines))


def task1_run_text(judgments: Judgments, team: str) -> str:
    """Return a task 1 run of judgments with two labels; the second means relevant."""
    if len(judgments.scale) != 2:
        raise UsageError(f"a task 1 run has two labels, relevant or not; these judgments have {len(judgments.scale)}")
    table = _with_topics(judgments)
    rows = zip(table["judge"], table["topic"], table["item"], judgments.label.tolist(), strict=True)
    blank = (NOTHING, NOTHING, NOTHING)
    return task1_run_lines(
        [
            (team, judge, NOTHING, topic, document_of(item, topic), NOTHING, label, *blank, USABLE)
            for judge, topic, item, label in rows
        ]
    )


def task1_run_lines(rows: Sequence[Sequence[object]]) -> str:
    """Return a task 1 run from rows of its eleven fields."""
    for number, row in enumerate(rows, 1):
        if len(row) != len(TASK1):
            raise InputError(f"{len(row)} fields where a task 1 run has {len(TASK1)}", "task 1 run", number)
    return _text("\t", rows)


def document_of(item: object, topic: object) -> str:
    """Return the document in an item's name: ``topic_document`` without the topic.

    >>> document_of("q1_d1", "q1")
    'd1'
    """
    return str(item).removeprefix(f"{topic}_")


def _with_topics(judgments: Judgments) -> pl.DataFrame:
    """Return judgments as a table; judgments without topics are refused."""
    if judgments.topics is None:
        raise UsageError("a TREC file needs the topic of every item: name its column with --topic")
    return judgment_table(judgments)


def _text(separator: str, rows: Iterable[Sequence[object]]) -> str:
    """Return rows as lines of text; a name that is not a single field is refused."""
    return "".join(separator.join(map(_field, row)) + "\n" for row in rows)


def _field(value: object) -> str:
    """Return a value as a field of a file whose fields are separated by blanks."""
    field = str(value)
    if field.split() != [field]:
        raise InputError(f"{quote(field)} is empty or contains a blank, which a TREC file cannot hold")
    return field


def _split_lines(
    content: Content, fields: Sequence[str], separator: str | None = None
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Return the fields of lines with a column ``row``, and (row, problem) of lines with more or fewer fields."""
    lines = pl.Series("line", content.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    rows = (lines.str.strip_chars() != "").arg_true()
    lines = lines.gather(rows)
    if separator is None:
        pattern = r"^\s*" + r"\s+".join([r"(\S+)"] * len(fields)) + r"\s*$"
    else:
        pattern = "^" + separator.join([f"([^{separator}]*)"] * len(fields)) + "$"
    table = lines.str.extract_groups(pattern).struct.unnest()
    table.columns = list(fields)
    frame = table.insert_column(0, (rows + 1).cast(pl.Int64).alias("row"))
    broken = frame[fields[0]].is_null()
    if not broken.any():
        return frame, []
    counts = lines.str.count_matches(r"\S+") if separator is None else lines.str.count_matches(separator) + 1
    names = ", ".join(fields)
    problems = [
        (int(frame["row"][n]), f"{counts[n]} fields, expected {len(fields)}: {names}") for n in broken.arg_true()
    ]
    return frame.filter(~broken), problems


def _with_probability(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows of a run that have a class label, each with a ``probability`` and a label 0 or 1."""
    frame = frame.filter(pl.col("label").str.to_lowercase() != NOTHING)
    probability = frame["label"].cast(pl.Float64, strict=False)
    bad = (~probability.is_between(0, 1)).fill_null(True).arg_true()
    if len(bad):
        problem = f"class label {quote(frame['label'][bad[0]])} is not a probability from 0 to 1, nor {NOTHING}"
        raise InputError(problem, name, int(frame["row"][bad[0]]))
    return frame.with_columns(probability=probability, label=(probability >= 0.5).cast(pl.Int8).cast(pl.String))


def _source(frame: pl.DataFrame, name: str, columns: Sequence[str]) -> Source:
    """Return fields as a source with items named by topic and document."""
    if not frame.height:
        raise InputError("the file has no usable rows", name)
    table = frame.with_columns(item=pl.format("{}_{}", "topic", "document"))
    rows = table.get_column("row")
    return Source(name, tuple(columns), table.get_column, lambda position: int(rows[position]), text=True)
