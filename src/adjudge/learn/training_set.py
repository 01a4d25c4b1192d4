"""What a ranker is trained on: features of documents, and their targets and weights.

Features are rows with a topic, a document and numbers, from a frame or from files of ``adjudge features``. Targets and
weights come from a fit, from weights or from grades.

From a fit there are four ways (``HOW``): ``pairs`` uses degrees of relevance as targets, so that the weight of a pair
is their difference; ``margin`` and ``entropy`` use the most likely label, weighted by its certainty; ``label`` uses the
most likely label without weights.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.columns import DOCUMENT, TOPIC, match_columns
from adjudge.data.files import display_name, read_content
from adjudge.data.formats import open_source
from adjudge.data.runs import System, read_grades, read_run
from adjudge.data.scale import number_of
from adjudge.data.source import Source
from adjudge.data.trec import document_of
from adjudge.errors import InputError, UsageError, not_one_of, quote, quoted
from adjudge.inference.result import Fit
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.weights import Weights

LETOR = (".svm", ".svmlight", ".letor")
COLUMNS = {"topic": TOPIC, "document": DOCUMENT}
LABEL = "label"
HOW: Mapping[str, str] = {
    "pairs": "degrees of relevance; the weight of a pair is their difference",
    "margin": "the most likely label, weighted by its margin over the next",
    "entropy": "the most likely label, weighted by 1 - entropy",
    "label": "the most likely label, without weights",
}


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
    columns = [_feature_column(source, name) for name in names]
    label = _feature_column(source, LABEL) if LABEL in source.columns else None
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


def _feature_column(source: Any, name: str) -> Floats:
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
    X = _letor_matrix(lines)
    if not np.isfinite(X).all():
        raise InputError("holds a number that is not finite", name)
    topics, documents, labels, _ = zip(*lines, strict=True)
    called = tuple(names.get(number, str(number)) for number in range(1, X.shape[1] + 1))
    return Features(topics, documents, called, X, np.array(labels))


class _Line(NamedTuple):
    """A line of an SVM-light file."""

    topic: str
    document: str
    label: float
    values: dict[int, float]  # features by number, from 1


def _letor_matrix(lines: Sequence[_Line]) -> Floats:
    """Return the features of all lines (N, F), 0 where a line has none."""
    X = np.zeros((len(lines), max(max(line.values, default=0) for line in lines)))
    for row, line in enumerate(lines):
        X[row, [number - 1 for number in line.values]] = list(line.values.values())
    return X


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


class TrainingSet(NamedTuple):
    """The rows to train on, with their targets and weights."""

    rows: Codes  # (M) indices of rows of the features
    target: Floats  # (M)
    weight: Floats | None  # (M)
    soft: bool


def from_fit(table: Features, fit: Fit, how: str = "pairs") -> TrainingSet:
    """Return the training set of the documents in a fit."""
    if how not in HOW:
        raise UsageError(not_one_of("how", how, HOW))
    rows, item = rows_in_fit(table, fit)
    relevance = degree(fit)  # also refuses labels without an order
    if how == "pairs":
        return TrainingSet(rows, relevance[item], None, True)
    label = fit.label[item].astype(float)
    return TrainingSet(rows, label, None if how == "label" else posterior_weights(fit, how).weight[item], False)


def from_weights(table: Features, weights: Any) -> TrainingSet:
    """Return the training set of weighted labels: a ``Weights``, or its table as ``adjudge weights`` writes it."""
    source = open_source(weights.table if isinstance(weights, Weights) else weights)
    for column in ("topic", "item", "label", "weight"):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)}: write the weights of judgments with topics")
    topic, item = (source.column(name).cast(str).to_list() for name in ("topic", "item"))
    weight, target = _numbers(source, "weight"), _label_targets(source)
    rows, index = _match(table, _pair_index(topic, item))
    return TrainingSet(rows, target[index], weight[index], False)


def _numbers(source: Source, name: str, least: float = 0.0) -> Floats:
    """Return a column as numbers of at least ``least``."""
    values = source.column(name)
    number = values.cast(float, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(number >= least) | np.isinf(number)
    if wrong.any():
        row = int(wrong.argmax())
        problem = "is empty" if values[row] is None else f"{quote(values[row])} is not a number of at least {least:g}"
        raise source.wrong(f"{name} {problem}", row)
    return number


def _label_targets(source: Source) -> Floats:
    """Return the target of each label: 1 for the positive side by its votes, or the label itself if it is a number."""
    column = source.column("label").cast(str)
    if column.null_count():
        raise source.wrong("label is empty", int(column.is_null().arg_true()[0]))
    labels = column.to_list()
    if {"positive", "judgments"} <= set(source.columns):
        positive, judged = _numbers(source, "positive"), _numbers(source, "judgments", least=1)
        share = (positive / judged).tolist()
        sided = _sides(dict(zip(dict.fromkeys(labels), _means(labels, share), strict=True)))
        if sided is not None:
            return np.array([sided[label] for label in labels])
    numbers = {label: number_of(label) for label in labels}
    if any(number is None for number in numbers.values()):
        raise source.wrong(
            f"which of {quoted(sorted(numbers))} is relevant is unknown: add the columns 'positive' and 'judgments'"
        )
    return np.array([numbers[label] for label in labels], dtype=float)


def _means(labels: Sequence[str], share: Sequence[float]) -> list[float]:
    """Return the mean share of positive judgments of the items of each label, in order of first appearance."""
    by_label: dict[str, list[float]] = {}
    for label, value in zip(labels, share, strict=True):
        by_label.setdefault(label, []).append(value)
    return [float(np.mean(shares)) for shares in by_label.values()]


def _sides(share: Mapping[str, float]) -> dict[str, float] | None:
    """Return 1 for the positive label and 0 for the other, or None if the votes do not distinguish them.

    Of two labels, the positive one has more positive judgments, even if they are no more than half (all of its items
    may be ties). A single label is positive if most of its judgments are.
    """
    line = 0.5 if len(share) == 1 else (min(share.values()) + max(share.values())) / 2
    if len(share) > 1 and min(share.values()) == max(share.values()):
        return None
    return {label: float(mean > line) for label, mean in share.items()}


def from_grades(table: Features, grades: Any) -> TrainingSet:
    """Return the training set of the documents that have a grade."""
    by_topic = read_grades(grades)
    grade = {(topic, document): value for topic, row in by_topic.items() for document, value in row.items()}
    rows, index = _match(table, {pair: n for n, pair in enumerate(grade)})
    return TrainingSet(rows, np.array(list(grade.values()))[index], None, False)


def degree(fit: Fit) -> Floats:
    """Return the expected relevance of each item (I), from 0 for the lowest label to 1 for the highest."""
    K = len(fit.scale)
    if K > 2 and not fit.scale.ordinal:
        raise UsageError(
            f"the fit has {K} labels without an order, {quoted(fit.scale.names)}: fit them with --ordinal and "
            "--labels, lowest first"
        )
    expected: Floats = fit.posterior @ np.linspace(0.0, 1.0, max(K, 2))[:K]
    return expected


def rows_in_fit(table: Features, fit: Fit) -> tuple[Codes, Codes]:
    """Return the rows whose document is in the fit (M), and the item of each (M)."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("this fit has no topics: fit judgments with a column of topics (--topic)")
    names = [*fit.topics.cast(str).to_list(), None]
    return _match(table, _pair_index([names[t] for t in fit.topic.tolist()], fit.items.cast(str).to_list()))


def _pair_index(topics: Sequence[Any], items: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the index of each pair of topic and document; items may be named topic_document."""
    index = {}
    for n, (topic, item) in enumerate(zip(topics, items, strict=True)):
        if topic is not None:
            index[(str(topic), item)] = n
            index[(str(topic), document_of(item, topic))] = n
    return index


def _match(table: Features, index: Mapping[tuple[str, str], int]) -> tuple[Codes, Codes]:
    """Return the rows of the features whose pair is in the index, and their position there."""
    position = [index.get(pair, -1) for pair in zip(table.topics, table.documents, strict=True)]
    rows = np.flatnonzero(np.array(position) >= 0)
    if not rows.size:
        mine, theirs = (table.topics[0], table.documents[0]), next(iter(index), ("", ""))
        raise UsageError(
            f"none of {len(table):,} documents with features was judged: features have for example {quote(mine[1])} of "
            f"topic {quote(mine[0])}, judgments have {quote(theirs[1])} of topic {quote(theirs[0])}"
        )
    return rows, np.array(position)[rows]
