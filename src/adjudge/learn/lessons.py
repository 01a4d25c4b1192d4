"""What a ranker is told of documents: targets and weights from a fit, from judgments, or from grades, row by row.

A lesson holds for the rows that somebody judged. From a fit it is one of ``HOW``: ``pairs`` takes degrees of relevance
as targets, so that a pair weighs as much as they differ; ``margin`` and ``entropy`` take the most likely label and how
sure it is; ``label`` takes it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError, quote, quoted
from adjudge.judgments.read import open_source
from adjudge.judgments.runs import read_grades
from adjudge.judgments.scale import number_of
from adjudge.judgments.source import Source
from adjudge.judgments.trec import document_of
from adjudge.learn.feature_file import Features
from adjudge.learn.posterior import posterior_weights
from adjudge.learn.weights import Weights
from adjudge.models.record import Fit

HOW: Mapping[str, str] = {
    "pairs": "degrees of relevance; a pair weighs as much as they differ",
    "margin": "the most likely label, weighing how far it is ahead of the next",
    "entropy": "the most likely label, weighing 1 - entropy",
    "label": "the most likely label, all weighing the same",
}


class Lesson(NamedTuple):
    """What is learned from: some rows, their targets and weights."""

    rows: Codes  # (M) of the features
    target: Floats  # (M)
    weight: Floats | None  # (M)
    soft: bool


def from_fit(table: Features, fit: Fit, how: str = "pairs") -> Lesson:
    """Return what a fit teaches of the documents that it knows."""
    if how not in HOW:
        raise UsageError(f"learning from {quote(how)} is not one of {quoted(HOW)}")
    rows, item = known_rows(table, fit)
    relevance = degree(fit)  # refuses labels without an order, whatever is then taken of them
    if how == "pairs":
        return Lesson(rows, relevance[item], None, True)
    label = fit.label[item].astype(float)
    return Lesson(rows, label, None if how == "label" else posterior_weights(fit, how).weight[item], False)


def from_weights(table: Features, weights: Any) -> Lesson:
    """Return what weighted labels teach: a ``Weights``, or its table as ``adjudge weights`` writes it."""
    source = open_source(weights.table if isinstance(weights, Weights) else weights)
    for column in ("topic", "item", "label", "weight"):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)}: weights of judgments with topics have it")
    topic, item = (source.column(name).cast(str).to_list() for name in ("topic", "item"))
    weight, worth = _numbers(source, "weight"), _worth(source)
    rows, at = _matched(table, _places(topic, item))
    return Lesson(rows, worth[at], weight[at], False)


def _numbers(source: Source, name: str, least: float = 0.0) -> Floats:
    """Return a column as numbers of at least ``least``, refusing any other."""
    given = source.column(name)
    number = given.cast(float, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(number >= least) | np.isinf(number)
    if wrong.any():
        row = int(wrong.argmax())
        what = "is empty" if given[row] is None else f"{quote(given[row])} is not a number of at least {least:g}"
        raise source.wrong(f"{name} {what}", row)
    return number


def _worth(source: Source) -> Floats:
    """Return labels as numbers: which of them is the positive side, as the votes on them tell, or their own."""
    given = source.column("label").cast(str)
    if given.null_count():
        raise source.wrong("label is empty", int(given.is_null().arg_true()[0]))
    labels = given.to_list()
    if {"positive", "judgments"} <= set(source.columns):
        positive, judged = _numbers(source, "positive"), _numbers(source, "judgments", least=1)
        share = (positive / judged).tolist()
        sided = _sides(dict(zip(dict.fromkeys(labels), _means(labels, share), strict=True)))
        if sided is not None:
            return np.array([sided[label] for label in labels])
    numbers = {label: number_of(label) for label in labels}
    if any(number is None for number in numbers.values()):
        raise source.wrong(
            f"which of {quoted(sorted(numbers))} is relevant? The columns 'positive' and 'judgments' tell"
        )
    return np.array([numbers[label] for label in labels], dtype=float)


def _means(labels: Sequence[str], share: Sequence[float]) -> list[float]:
    """Return the mean share of positive judgments of each label's items, labels in the order of first appearance."""
    held: dict[str, list[float]] = {}
    for label, one in zip(labels, share, strict=True):
        held.setdefault(label, []).append(one)
    return [float(np.mean(shares)) for shares in held.values()]


def _sides(share: Mapping[str, float]) -> dict[str, float] | None:
    """Return 1 for the positive label and 0 for the other, or None where votes do not tell them apart.

    Of two labels it is the one with more positive judgments, even if these are no more than half: all of its items may
    be ties. A label alone is positive if most of its judgments are.
    """
    line = 0.5 if len(share) == 1 else (min(share.values()) + max(share.values())) / 2
    if len(share) > 1 and min(share.values()) == max(share.values()):
        return None
    return {label: float(mean > line) for label, mean in share.items()}


def from_grades(table: Features, grades: Any) -> Lesson:
    """Return what grades teach: of the documents that have one."""
    known = read_grades(grades)
    told = {(topic, document): grade for topic, held in known.items() for document, grade in held.items()}
    rows, at = _matched(table, {pair: n for n, pair in enumerate(told)})
    return Lesson(rows, np.array(list(told.values()))[at], None, False)


def degree(fit: Fit) -> Floats:
    """Return how relevant each item is expected to be (I), from 0, the lowest label, to 1, the highest."""
    K = len(fit.scale)
    if K > 2 and not fit.scale.ordinal:
        raise UsageError(
            f"the fit has {K} labels without an order, {quoted(fit.scale.names)}: fit them with --ordinal, lowest first"
        )
    expected: Floats = fit.posterior @ np.linspace(0.0, 1.0, max(K, 2))[:K]
    return expected


def known_rows(table: Features, fit: Fit) -> tuple[Codes, Codes]:
    """Return which rows a fit knows (M), and the item of each (M)."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("this fit has no topics: fit judgments that have a column of them (--topic)")
    names = [*fit.topics.cast(str).to_list(), None]
    return _matched(table, _places([names[t] for t in fit.topic.tolist()], fit.items.cast(str).to_list()))


def _places(topics: Sequence[Any], items: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return where each pair of topic and document stands; items may be called topic_document."""
    found = {}
    for n, (topic, item) in enumerate(zip(topics, items, strict=True)):
        if topic is not None:
            found[(str(topic), item)] = n
            found[(str(topic), document_of(item, topic))] = n
    return found


def _matched(table: Features, place: Mapping[tuple[str, str], int]) -> tuple[Codes, Codes]:
    """Return the rows that are there, and where."""
    at = [place.get(pair, -1) for pair in zip(table.topics, table.documents, strict=True)]
    rows = np.flatnonzero(np.array(at) >= 0)
    if not rows.size:
        mine, theirs = (table.topics[0], table.documents[0]), next(iter(place), ("", ""))
        raise UsageError(
            f"none of {len(table):,} documents with features was judged: features are of such as {quote(mine[1])} of "
            f"topic {quote(mine[0])}, judgments of such as {quote(theirs[1])} of topic {quote(theirs[0])}"
        )
    return rows, np.array(at)[rows]
