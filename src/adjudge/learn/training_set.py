"""What a ranker is trained on: targets and weights of judged documents, from a fit, from weights or from grades.

From a fit there are four ways (``HOW``): ``pairs`` uses degrees of relevance as targets, so that the weight of a pair
is their difference; ``margin`` and ``entropy`` use the most likely label, weighted by its certainty; ``label`` uses the
most likely label without weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.formats import open_source
from adjudge.data.runs import read_grades
from adjudge.data.scale import number_of
from adjudge.data.source import Source
from adjudge.data.trec import document_of
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.learn.feature_file import Features
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.weights import Weights

HOW: Mapping[str, str] = {
    "pairs": "degrees of relevance; the weight of a pair is their difference",
    "margin": "the most likely label, weighted by its margin over the next",
    "entropy": "the most likely label, weighted by 1 - entropy",
    "label": "the most likely label, without weights",
}


class TrainingSet(NamedTuple):
    """The rows to train on, with their targets and weights."""

    rows: Codes  # (M) indices of rows of the features
    target: Floats  # (M)
    weight: Floats | None  # (M)
    soft: bool


def from_fit(table: Features, fit: Fit, how: str = "pairs") -> TrainingSet:
    """Return the training set of the documents in a fit."""
    if how not in HOW:
        raise UsageError(f"how {quote(how)} is not one of {quoted(HOW)}")
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
