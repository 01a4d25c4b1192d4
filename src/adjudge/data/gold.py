"""Gold: items whose true label is known, matched to the judged items.

Gold is a table with an item and a label, or with a topic, a document and a grade as the studio writes it. An item of a
table with topics is judged under its own name or, if the name occurs in several topics, as ``topic_item``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags
from adjudge.data.columns import find_columns, topic_column
from adjudge.data.encode import Coded, code_columns, scale_codes
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments, places
from adjudge.data.scale import Scale
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, quote, quoted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names

UNKNOWN = "-1"  # how the task 2 files of TREC write, in their column of gold, that a true label is unknown
GOLD = "gold"
CALIBRATE = "calibrate"  # a column that says whether a gold item may calibrate probabilities
NO = ("false", "no", "0", "f", "n")
GRADE, QRELS = "grade", "qrels"  # the column, and the format of files, that hold grades
GRADES = (0.0, 1.0, 2.0)  # irrelevant, relevant, highly relevant
ADVICE = ": write gold with the labels of the judgments, or extend the scale with --labels"


def read_gold(
    data: Any,
    judgments: Judgments,
    *,
    item: str | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
) -> tuple[Judgments, Codes]:
    """Read gold, and match it to the items of judgments.

    Parameters
    ----------
    data
        A path, a frame, or a mapping from item to true label.
    judgments
        The judgments that gold is about.
    item, label
        Names of columns of the gold, if it has them.
    format
        The format of the file, if its name and content do not show it.

    Returns
    -------
    tuple
        The judgments, with items that only gold has added (which is a warning), and the true label of each item (I), -1
        if it is unknown. Gold without any judged item is an error.

    Examples
    --------
    >>> from adjudge.data.datasets import dataset
    >>> judgments, gold = read_gold({"1": 1, "3": 2}, dataset("anesthesia"))
    >>> gold[:4].tolist()
    [0, -1, 1, -1]
    """
    source = gold_source(data, format)
    item, label = (column if column in source.columns else None for column in (item, label))
    source, item = as_judged(source, item, [(judgments.items, judgments.topic)], judgments.topics)
    items, truths = gold_table(source, judgments.scale, item=item, label=label)
    position = places(items.names, judgments.items)
    unjudged = np.flatnonzero(position < 0)
    if unjudged.size:
        warnings.warn(_unjudged_message(source, items, judgments, unjudged), AdjudgeWarning, stacklevel=2)
    extended = judgments.with_items(items.names.gather(unjudged))
    position[unjudged] = len(judgments.items) + np.arange(unjudged.size)
    gold = np.full(len(extended.items), -1, np.int32)
    gold[position] = truths
    return _with_aside(extended, source, items.first, position), gold


def _with_aside(judgments: Judgments, source: Source, rows: Codes, position: Codes) -> Judgments:
    """Return the judgments with the items whose gold is not for calibration, by the column ``calibrate``.

    ``rows`` are the rows of the gold items, and ``position`` their places among the items.
    """
    refused = not_for_calibration(source, rows)
    aside = np.zeros(len(judgments.items), bool)
    aside[position] = refused
    return replace(judgments, aside=aside) if refused.any() else judgments


def not_for_calibration(source: Source, rows: Codes) -> Flags:
    """Return for rows of gold whether the column ``calibrate`` refuses them: they were chosen, not drawn at random."""
    column = next((name for name in source.columns if name.strip().lower() == CALIBRATE), None)
    if column is None:
        return np.zeros(rows.size, bool)
    refused: Flags = _text_column(source, column).str.to_lowercase().is_in(NO).fill_null(False).to_numpy()[rows]
    return refused


def gold_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Return gold from a path, a frame, or a mapping from item to true label."""
    if hasattr(data, "items") and hasattr(data, "index") and not hasattr(data, "columns"):
        data = dict(data.items())  # a pandas Series indexed by item
    if isinstance(data, Mapping):
        data = pl.DataFrame({"item": list(data), "label": list(data.values())}, strict=False)
    return open_source(data, format)


def gold_table(
    source: Source, scale: Scale, *, item: str | None = None, label: str | None = None
) -> tuple[Coded, Codes]:
    """Return the items that have gold, and their positions on the scale; two true labels for an item are refused."""
    roles = gold_columns(source, item, label)
    source = as_labels(_with_unknown(source, roles["label"]), roles["label"], scale)
    columns = code_columns(source, roles)
    items, labels = columns["item"], columns["label"]
    truth = _truths(source, labels, scale, may_be_unknown=roles["label"] == GOLD)
    rows = np.flatnonzero(truth >= 0)
    first = np.full(len(items.names), -1)  # the first row with the true label of each item
    first[items.code[rows][::-1]] = rows[::-1]
    _refuse_second_truths(source, items, labels, rows[truth[rows] != truth[first[items.code[rows]]]], first)
    with_truth = np.flatnonzero(first >= 0)
    position = np.full(first.size, -1)
    position[with_truth] = np.arange(with_truth.size)
    first = first[with_truth]
    return Coded(position[items.code], items.names.gather(with_truth), first), truth[first]


def _with_unknown(source: Source, column: str) -> Source:
    """Return gold whose empty cells say that the truth is unknown, in a column called gold that is not all empty."""
    if column != GOLD:
        return source
    series = source.column(column)
    if (
        series.dtype != pl.String
        or not (empty := (series.str.strip_chars() == "").fill_null(True)).any()
        or empty.all()
    ):
        return source
    table = pl.DataFrame({"gold": series, "empty": empty})
    filled = table.select(pl.when("empty").then(pl.lit(UNKNOWN)).otherwise("gold")).to_series()
    return replace(source, column=lambda name: filled if name == column else source.column(name))


def gold_columns(source: Source, item: str | None, label: str | None) -> dict[str, str]:
    """Return the columns of items and true labels; a column called gold holds true labels."""
    label = label or (GOLD if GOLD in source.columns else None)
    return find_columns(source.columns, {"item": item, "label": label}, source.name, needed=("item", "label"))


def as_judged(
    source: Source, item: str | None, judged: Iterable[tuple[Names, Codes | None]], topics: Names | None
) -> tuple[Source, str | None]:
    """Return gold with items named as they were judged, and the column of items.

    ``judged`` has the judged items and their topics, in one or several parts; ``topics`` has the names of topics.
    A pair of gold is the item ``item`` if this was judged in the same topic, else ``topic_item``.
    """
    topic = topic_column([name for name in source.columns if name != item])
    if topic is None:
        return source, item
    column = find_columns(source.columns, {"item": item}, source.name, needed=("item",))["item"]
    pairs = pl.DataFrame({"topic": _text_column(source, topic), "item": _text_column(source, column)})
    pairs = pairs.with_columns(joined=pl.format("{}_{}", "topic", "item"))
    plain = _has_plain_name(pairs, judged, topics)
    if plain.all():
        return source, column
    name = pl.when(pl.Series(plain)).then("item").otherwise("joined").alias(column)
    renamed = pairs.select(name).to_series()
    return replace(source, column=lambda name: renamed if name == column else source.column(name)), column


def _has_plain_name(pairs: pl.DataFrame, judged: Iterable[tuple[Names, Codes | None]], topics: Names | None) -> Flags:
    """Return for every row of topic, item and joined name whether the item was judged under its plain name."""
    plain_match, joined_match, name_match = (np.zeros(pairs.height, bool) for _ in range(3))
    code = None if topics is None else places(pairs["topic"], topics)
    for items, topic_code in judged:
        position = places(pairs["item"], items)
        same = position >= 0
        name_match |= same
        if code is not None and topic_code is not None:
            same &= (topic_code[position] == code) | (topic_code[position] < 0)
        plain_match |= same
        joined_match |= places(pairs["joined"], items) >= 0
    if not (plain_match | joined_match).any():
        return np.ones(pairs.height, bool)  # topics may have other names here: match by item alone
    if code is None and joined_match.any():
        plain_match[:] = False
    several = pairs.select(pl.col("topic").n_unique().over("item") > 1).to_series().to_numpy()
    plain: Flags = plain_match | ~(joined_match | joined_match.any() | name_match | several)
    return plain


def split_topics(source: Source, item: str) -> tuple[Source, tuple[Names, Codes | None], Names | None]:
    """Return a table with ``topic_item`` in place of items that are in several topics, its items, and its topics.

    Each item is named once, with the code of its topic, as ``as_judged`` takes them; the table itself may repeat items.
    """
    topic = topic_column([name for name in source.columns if name != item])
    if topic is None:
        return source, (_text_column(source, item).unique(maintain_order=True), None), None
    table = pl.DataFrame({"topic": _text_column(source, topic), "item": _text_column(source, item)})
    topics = table["topic"].unique(maintain_order=True)
    several = pl.col("topic").n_unique().over("item") > 1
    joined = pl.when(several).then(pl.format("{}_{}", "topic", "item")).otherwise("item").alias(item)
    names = table.select(joined).to_series()
    if not names.equals(table["item"]):
        original = source.column
        source = replace(source, column=lambda name: names if name == item else original(name))
    items = pl.DataFrame({"name": names, "topic": places(table["topic"], topics)}).unique("name", maintain_order=True)
    return source, (items["name"], items["topic"].to_numpy()), topics


def as_labels(source: Source, column: str, scale: Scale) -> Source:
    """Return gold whose grades 0, 1 and 2 are read as the labels 0 and 1 of the judgments, with a warning.

    Only qrels and a column called grade have grades. The studio counts a document as relevant from grade 1 on.
    """
    binary = scale.places([0, 1])
    numbers = _grades(source, column) if len(scale) == 2 and None not in binary else None
    if numbers is None:
        return source
    irrelevant, relevant = (scale.names[k] for k in binary if k is not None)
    message = f"{source.name}: grades 1 and 2 are read as label {quote(relevant)}, grade 0 as {quote(irrelevant)}"
    warnings.warn(f"{message} (the labels are {quoted(scale.names)})", AdjudgeWarning, stacklevel=3)
    table = pl.DataFrame({"relevant": numbers >= 1})
    labels = table.select(pl.when("relevant").then(pl.lit(relevant)).otherwise(pl.lit(irrelevant))).to_series()
    return replace(source, column=lambda name: labels if name == column else source.column(name))


def warn_of_grades(source: Source, column: str, answers: pl.Series) -> None:
    """Warn that gold has the grade 2 while all answers are 0 or 1, which may mean that the answers are binary."""
    values = {str(value).strip() for value in answers.unique().to_list()}
    if values <= {"0", "1"} and _grades(source, column) is not None:
        message = f"{source.name}: grade 2 is not among the labels of the answers, '0' and '1'"
        advice = "if these are irrelevant and relevant, write gold with the labels 0 and 1"
        warnings.warn(f"{message}; {advice}", AdjudgeWarning, stacklevel=4)


def _grades(source: Source, column: str) -> pl.Series | None:
    """Return the grades of qrels or of a column called grade; None unless they are 0, 1 and 2, with at least one 2."""
    if column.strip().lower() != GRADE and source.format != QRELS:
        return None
    numbers = _text_column(source, column).cast(pl.Float64, strict=False)
    return numbers if numbers.is_in(GRADES).fill_null(False).all() and (numbers == 2).any() else None


def _text_column(source: Source, column: str) -> pl.Series:
    """Return a column as text."""
    series = source.column(column)
    if series.dtype.is_float():
        whole_numbers = series.cast(pl.Int64, strict=False)
        series = whole_numbers if whole_numbers.cast(pl.Float64).eq_missing(series).all() else series
    text = series.cast(pl.String)
    return text.str.strip_chars() if source.text else text


def _truths(source: Source, labels: Coded, scale: Scale, may_be_unknown: bool) -> Codes:
    """Return the position on the scale of the true label of every row, -1 if it is unknown."""
    certain = UNKNOWN in scale.names or not may_be_unknown
    is_truth = (labels.names.cast(pl.String) != UNKNOWN).to_numpy() | certain
    if not is_truth.any():
        raise source.wrong(f"every truth is {UNKNOWN}, which means unknown")
    position = np.full(is_truth.size, -1, np.int32)
    present = Coded(labels.code, labels.names.filter(pl.Series(is_truth)), labels.first[is_truth])
    position[is_truth] = scale_codes(source, present, scale.labels, scale.ordinal, advice=ADVICE)[1]
    return position[labels.code]


def _refuse_second_truths(source: Source, items: Coded, labels: Coded, other: Codes, first: Codes) -> None:
    """Refuse an item that has another true label in an earlier row."""
    if other.size:
        n, before = int(other[0]), int(first[items.code[other[0]]])
        item, label, earlier = items.names[int(items.code[n])], *labels.names.gather(labels.code[[n, before]])
        row = source.row(before)
        problem = f"item {quote(item)} has the truth {quote(label)} here and {quote(earlier)} in row {row}"
        raise source.wrong(f"{problem}: keep one of them", n)


def _unjudged_message(source: Source, items: Coded, judgments: Judgments, unjudged: Codes) -> str:
    """Return the warning about gold for items that nobody judged; gold without any judged item is refused."""
    name, n = items.names[int(unjudged[0])], int(items.first[unjudged[0]])
    total = len(items.names)
    if unjudged.size == total:
        problem = f"none of the {total:,} gold items was judged: this one is {quote(name)}"
        raise source.wrong(f"{problem}, and judged items are such as {quote(judgments.items[0])}", n)
    where = f"{source.name}, row {source.row(n)}"
    return (
        f"{where}: nobody judged gold item {quote(name)} ({unjudged.size:,} such of {total:,}, kept with their truth)"
    )
