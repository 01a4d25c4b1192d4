"""Judgments with several labels: every label becomes a yes/no question about every item that was judged.

A judge who judged an item without giving it a label said no to that label. The questions are the items of binary
``Judgments``, called ``label_item``, and their topics are the labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, frozen
from adjudge.data.columns import find_columns, has_column
from adjudge.data.encode import code_columns, code_names
from adjudge.data.formats import open_source
from adjudge.data.gold import gold_source
from adjudge.data.judgments import Judgments, from_codes, places
from adjudge.data.label_values import MISSING
from adjudge.data.rankings import find_roles, place_items, unique_names, with_rows
from adjudge.data.scale import Scale
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, UsageError, quote, quoted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names

ANSWERS = Scale(("no", "yes"))


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Judgments with several labels, as yes/no questions: question l * I + i is whether item i has label l."""

    items: Names  # (I)
    labels: tuple[str, ...]  # (L)
    judgments: Judgments  # (N * L) of the questions
    gold: Codes  # (L * I) 0 no, 1 yes, -1 unknown
    kind: str = "polars"  # of the frames that are returned

    def __repr__(self) -> str:
        sets = len(self.judgments) // len(self.labels)
        parts = (len(self.items), "items"), (len(self.judgments.judges), "judges"), (len(self.labels), "labels")
        return f"LabelSets({', '.join(f'{n:,} {name}' for n, name in parts)}, {sets:,} judgments)"


def read_label_sets(
    data: Any,
    gold: Any = None,
    *,
    separator: str = "|",
    none: str | None = None,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    topic: str | None = None,
    format: str | None = None,  # noqa: A002
) -> LabelSets:
    """Read judgments whose labels are sets, written ``a|b``, or lists in a frame; an empty text is the empty set.

    Parameters
    ----------
    data
        A path (``-`` is standard input) or a frame with item, judge and label.
    gold
        Known sets of labels: a path or a frame with item and label, or a mapping from item to a text or a list.
    separator
        What stands between two labels.
    none
        A text that means the empty set, such as ``"none"``, beside the empty text.
    item, judge, label, topic
        Names of columns, if they have other than the usual names.
    format
        The format of the file, if its name and content do not show it.

    Examples
    --------
    >>> read_label_sets(pl.DataFrame({"item": ["p", "p"], "judge": ["x", "y"], "label": ["cat|dog", "dog"]}))
    LabelSets(1 items, 2 judges, 2 labels, 2 judgments)
    """
    if not separator or separator != separator.strip():
        raise UsageError(f"separator {quote(separator)} is not a text without blanks around it, such as | or ;")
    source = open_source(data, format)
    named = {"item": item, "judge": judge, "label": label, "topic": topic}
    roles = find_roles(source, named, ("item", "judge", "label"), ("topic",))
    source = _without_missing(source, roles["label"], none)
    sets = _sets(source, roles["label"], separator, none)
    labels = sets.names
    if not labels:
        raise source.wrong(f"no judgment has a label (column {quote(roles['label'])})")
    if all(len(each) == 1 for each in sets.distinct):
        message = f"{source.name}: every judgment has exactly one label, and none has a {quote(separator)}"
        warnings.warn(f"{message}; adjudge fit is for items with one label", AdjudgeWarning, stacklevel=3)
    columns = code_columns(source, {role: roles[role] for role in roles if role != "label"})
    placed = place_items(source, columns["item"].code[None], columns["item"].names, columns.get("topic"), None, named)
    items = unique_names(placed).cast(pl.String)
    many, L = len(items), len(labels)
    has_label = sets.matrix(labels)[sets.code]  # (N, L)
    question = placed.code[0].astype(np.int64)[None] + many * np.arange(L)[:, None]  # (L, N)
    names = pl.concat([pl.select(pl.format("{}_{}", pl.lit(name), items)).to_series() for name in labels])
    judgments = from_codes(
        question.ravel(),
        np.tile(columns["judge"].code, L),
        has_label.T.ravel().astype(np.uint8),
        items=names.alias("item"),
        judges=columns["judge"].names.alias("judge"),
        scale=ANSWERS,
        topics=pl.Series("topic", labels),
        topic=frozen(np.repeat(np.arange(L, dtype=np.int32), many)),
        kind=source.kind,
    )
    unknown = np.full(L * many, -1, np.int32)
    truths = unknown if gold is None else _gold_answers(gold, items, labels, separator, none)
    return LabelSets(items.alias("item"), labels, judgments, frozen(truths), source.kind)


def _without_missing(source: Source, column: str, none: str | None) -> Source:
    """Return the table without rows whose label is a usual text for a missing value, which is a warning."""
    series = source.column(column)
    if series.dtype != pl.String:
        return source
    text = series.str.strip_chars()
    missing = (text.is_in(MISSING) & (text != (none or "").strip())).fill_null(False)
    if not missing.any():
        return source
    n = int(missing.arg_true()[0])
    message = f"{source.name}, row {source.row(n)}: label {quote(text[n])} is a missing value"
    advice = "left out; --none makes it mean that no label fits"
    warnings.warn(f"{message} ({missing.sum():,} such of {len(text):,}, {advice})", AdjudgeWarning, stacklevel=4)
    return with_rows(source, (~missing).arg_true().to_numpy())


@dataclass(frozen=True)
class _Sets:
    """The set of every row, by code."""

    code: Codes  # (N)
    distinct: Sequence[frozenset[str]]
    first: Codes  # the first row of each

    @property
    def names(self) -> tuple[str, ...]:
        """All labels, in order."""
        return tuple(sorted(set().union(*self.distinct)))

    def matrix(self, labels: Sequence[str]) -> Flags:
        """Return which labels every distinct set has (distinct, L)."""
        column = {name: k for k, name in enumerate(labels)}
        table = np.zeros((len(self.distinct), len(labels)), bool)
        for row, each in enumerate(self.distinct):
            table[row, [column[name] for name in each]] = True
        return table


def _sets(source: Source, column: str, separator: str, none: str | None) -> _Sets:
    """Return the set of labels of every row."""
    series = source.column(column)
    if isinstance(series.dtype, pl.List | pl.Array):
        values = [frozenset(_strip(value or ())) for value in series.to_list()]
        distinct = list(dict.fromkeys(values))
        index = {each: k for k, each in enumerate(distinct)}
        code = np.array([index[value] for value in values], np.int64)
        return _Sets(code, distinct, np.unique(code, return_index=True)[1])
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise source.wrong(f"column {quote(column)} holds records or objects: write labels as a{separator}b")
    if not len(series):
        raise source.wrong("holds no rows")
    coded = code_names(series.cast(pl.String).fill_null("").str.strip_chars())
    empty = "" if none is None else none.strip()
    texts = ["" if text == empty else text for text in coded.names.to_list()]
    return _Sets(coded.code, [frozenset(_strip(text.split(separator))) for text in texts], coded.first)


def _strip(names: Iterable[Any]) -> list[str]:
    """Return labels as text without blanks around them; empty ones are left out."""
    return [text for text in (str(name).strip() for name in names if name is not None) if text]


def _gold_answers(gold: Any, items: Names, labels: Sequence[str], separator: str, none: str | None) -> Codes:
    """Return the known answers to all questions (L * I), -1 if an item has no gold."""
    if isinstance(gold, Mapping):
        gold = {
            key: value if isinstance(value, str) else separator.join(map(str, value)) for key, value in gold.items()
        }
    source = gold_source(gold)
    label = None if has_column("label", source.columns) else "gold"
    roles = find_columns(source.columns, {"label": label}, source.name, needed=("item", "label"))
    sets = _sets(source, roles["label"], separator, none)
    for name in sets.names:
        if name not in labels:
            row = min(int(first) for each, first in zip(sets.distinct, sets.first, strict=True) if name in each)
            raise source.wrong(f"nobody gave the gold label {quote(name)}; the labels are {quoted(labels)}", row)
    coded = code_columns(source, {"item": roles["item"]})["item"]
    position = places(coded.names.cast(pl.String), items)[coded.code]
    if (position < 0).all():
        problem = f"none of the {len(coded.names):,} gold items was judged: this one is {quote(coded.names[0])}"
        raise source.wrong(f"{problem}, and judged items are such as {quote(items[0])}", 0)
    if (position < 0).any():
        n = int(np.flatnonzero(position < 0)[0])
        message = (
            f"{source.name}, row {source.row(n)}: nobody judged gold item {quote(coded.names[int(coded.code[n])])}"
        )
        unjudged = np.unique(coded.code[position < 0]).size
        warnings.warn(f"{message} ({unjudged:,} such, left out)", AdjudgeWarning, stacklevel=4)
    answers = np.full((len(labels), len(items)), -1, np.int32)
    rows = np.flatnonzero(position >= 0)
    truth = sets.matrix(labels)[sets.code].astype(np.int32)  # (rows, L)
    for n in rows.tolist():
        now = answers[:, position[n]]
        if now[0] >= 0 and (now != truth[n]).any():
            problem = f"item {quote(items[int(position[n])])} has two different sets of gold labels"
            raise source.wrong(f"{problem}: keep one of them", n)
        answers[:, position[n]] = truth[n]
    return answers.ravel()
