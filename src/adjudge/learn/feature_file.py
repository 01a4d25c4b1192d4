"""Tables of features: rows with a topic, a document and numbers, from a frame or from files of ``adjudge features``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.data.columns import DOCUMENT, TOPIC, match_columns
from adjudge.data.files import display_name, read_content
from adjudge.data.formats import open_source
from adjudge.data.runs import System, read_run
from adjudge.data.source import Source
from adjudge.errors import InputError, quote, quoted

LETOR = (".svm", ".svmlight", ".letor")
COLUMNS = {"topic": TOPIC, "document": DOCUMENT}
LABEL = "label"


@dataclass(frozen=True, eq=False)
class Features:
    """Rows to be ranked: documents of topics, with their features."""

    topics: tuple[str, ...]  # (N)
    documents: tuple[str, ...]  # (N)
    names: tuple[str, ...]  # (F)
    X: Floats  # (N, F)
    label: Floats | None = None  # (N) grades, if the table has them

    def __len__(self) -> int:
        return len(self.topics)

    def __repr__(self) -> str:
        topics = len(set(self.topics))
        return f"Features({len(self):,} documents of {topics:,} topics, {len(self.names):,} features)"

    @property
    def frame(self) -> pl.DataFrame:
        """The features as a table with one column each, which is the input of a ranker."""
        return pl.DataFrame({name: self.X[:, f] for f, name in enumerate(self.names)})

    def run(self, score: Floats, name: str) -> System:
        """Return the documents of every topic in the order of their scores (N)."""
        table = {"topic": list(self.topics), "document": list(self.documents), "score": np.asarray(score, dtype=float)}
        return read_run(pl.DataFrame(table), name)


def read_features(data: Any) -> Features:
    """Read features from a file, CSV, TSV, JSONL, Parquet or SVM-light, or from a frame with topic and document."""
    if isinstance(data, Features):
        return data
    is_letor = isinstance(data, str | os.PathLike) and Path(data).suffix.lower() in LETOR
    features = _letor(str(data)) if is_letor else _table(data)
    _check_distinct(features, data)
    return features


def _table(data: Any) -> Features:
    """Return features from a table: topic, document, perhaps a label, and numbers."""
    source = open_source(data)
    topic, document = (_names(source, role) for role in COLUMNS)
    used = (*match_columns(source.columns, COLUMNS).values(), LABEL)
    names = [name for name in source.columns if name not in used]
    if not names:
        raise source.wrong("there is no feature: every column but topic, document and label is one")
    if not topic:
        raise source.wrong("there are no rows")
    columns = [_numbers(source, name) for name in names]
    label = _numbers(source, LABEL) if LABEL in source.columns else None
    return Features(topic, document, tuple(names), np.column_stack(columns), label)


def _names(source: Source, role: str) -> tuple[str, ...]:
    """Return the names in the column of topics or documents; none may be empty."""
    chosen = match_columns(source.columns, COLUMNS)
    if role not in chosen:
        raise source.wrong(f"there is no column {quote(role)}: features have topic, document and numbers")
    column = source.column(chosen[role]).cast(pl.String)
    empty = column.is_null().arg_true()
    if len(empty):
        raise source.wrong(f"{role} is empty", int(empty[0]))
    return tuple(column.to_list())


def _numbers(source: Any, name: str) -> Floats:
    """Return a column as finite numbers."""
    column = source.column(name)
    plain = column.str.strip_chars() if column.dtype == pl.String else column
    number = plain.cast(pl.Float64, strict=False)
    wrong = (number.is_null() | ~number.is_finite().fill_null(False)).arg_true()
    if len(wrong):
        row = int(wrong[0])
        problem = "is empty" if column[row] is None else f"{quote(column[row])} is not a finite number"
        raise source.wrong(f"feature {quote(name)} {problem}: give every row a number", row)
    values: Floats = number.to_numpy()
    return values


def _letor(path: str) -> Features:
    """Return features from the lines of SVM-light: label qid:n 1:x 2:y ... # topic document."""
    name = display_name(path)
    lines, names = list[_Line](), dict[int, str]()
    for n, text in enumerate(read_content(path).text.splitlines(), 1):
        fields, _, note = text.partition("#")
        if fields.strip():
            lines.append(_letor_line(fields, note, len(lines), (name, n)))
            continue
        parts = note.split(maxsplit=1)
        if len(parts) == 2 and parts[0].isdecimal():  # the name of a feature
            names[int(parts[0])] = parts[1].strip()
    if not lines:
        raise InputError("there are no rows", name)
    width = max(max(line.values, default=0) for line in lines)
    X = np.zeros((len(lines), width))
    for row, line in enumerate(lines):
        X[row, [number - 1 for number in line.values]] = list(line.values.values())
    if not np.isfinite(X).all():
        raise InputError("holds a number that is not finite", name)
    topics, documents, labels, _ = zip(*lines, strict=True)
    called = tuple(names.get(number, str(number)) for number in range(1, width + 1))
    return Features(topics, documents, called, X, np.array(labels))


class _Line(NamedTuple):
    """A line of an SVM-light file."""

    topic: str
    document: str
    label: float
    values: dict[int, float]  # features by number, from 1


def _letor_line(fields: str, note: str, row: int, where: tuple[str, int]) -> _Line:
    """Return one line of a file; ``where`` is the file and the line, for errors."""
    try:
        label, group, *pairs = fields.split()
        values = {int(number): float(value) for number, value in (pair.split(":") for pair in pairs)}
        grade = float(label)
    except ValueError:
        raise InputError("is not of the form label qid:topic 1:number 2:number ...", *where) from None
    if min(values, default=1) < 1 or len(values) < len(pairs):
        raise InputError("features are numbered from 1, each once", *where)
    if not group.startswith("qid:"):
        raise InputError(f"{quote(group)} is not of the form qid:topic", *where)
    return _Line(*_topic_and_document(note, group.removeprefix("qid:"), row), grade, values)


def _topic_and_document(note: str, group: str, row: int) -> tuple[str, str]:
    """Return topic and document of a line from its comment, or numbers."""
    parts = note.split()
    if len(parts) == 2 and not all("=" in part for part in parts):  # a name may contain "=", as URLs do
        return parts[0], parts[1]
    for part in parts:
        if part.startswith(("doc=", "docid=")):
            return group, part.split("=", 1)[1]
    return group, f"d{row + 1}"


def _check_distinct(features: Features, data: Any) -> None:
    """Refuse a document that occurs twice in a topic."""
    pairs = set[tuple[str, str]]()
    for pair in zip(features.topics, features.documents, strict=True):
        if pair in pairs:
            where = display_name(data) if isinstance(data, str | os.PathLike) else "features"
            message = f"document {quote(pair[1])} of topic {quote(pair[0])} is there twice: keep one of them"
            raise InputError(message, where)
        pairs.add(pair)


def select_features(features: Features, names: Sequence[str], where: str) -> Features:
    """Return features in the order of these names; refuse a missing one."""
    missing = [name for name in names if name not in features.names]
    if missing:
        raise InputError(
            f"has no feature {quote(missing[0])}, which the ranker was trained on; it has {quoted(features.names)}",
            where,
        )
    order = [features.names.index(name) for name in names]
    return Features(features.topics, features.documents, tuple(names), features.X[:, order], features.label)
