"""Known truths, matched to the items they belong to."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes
from adjudge.data.columns import find_columns
from adjudge.data.encode import Coded, code_columns, scale_codes
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import open_source
from adjudge.data.scale import Scale
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, quote

UNKNOWN = "-1"  # how TREC's task 2 files write, in their column of gold, a truth that is not known
GOLD = "gold"


def read_gold(
    data: Any,
    judgments: Judgments,
    *,
    item: str | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
) -> tuple[Judgments, Codes]:
    """Return the judgments, with any items only gold knows added, and the truth of each item (-1 unknown).

    ``item`` and ``label`` name columns, where gold has them. Gold for items nobody judged is kept with a
    warning; gold of which no item was judged is an error.
    """
    source = gold_source(data, format)
    item, label = (column if column in source.columns else None for column in (item, label))
    items, truths = gold_table(source, judgments.scale, item=item, label=label)
    place = places(items.names, judgments.items)
    if (place < 0).all() and judgments.topics is not None and "topic" in source.columns:
        items, truths = gold_table(by_topic(source, item), judgments.scale, item="item", label=label)
        place = places(items.names, judgments.items)
    unjudged = np.flatnonzero(place < 0)
    if unjudged.size:
        warnings.warn(_unjudged(source, items, judgments, unjudged), AdjudgeWarning, stacklevel=2)
    grown = judgments.with_items(items.names.gather(unjudged))
    place[unjudged] = len(judgments.items) + np.arange(unjudged.size)
    gold = np.full(len(grown.items), -1, np.int32)
    gold[place] = truths
    return grown, gold


def gold_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Return gold given as a path, a frame, or a mapping from item to truth, as a source."""
    if hasattr(data, "items") and hasattr(data, "index") and not hasattr(data, "columns"):
        data = dict(data.items())  # a pandas Series indexed by item
    if isinstance(data, Mapping):
        data = pl.DataFrame({"item": list(data), "label": list(data.values())}, strict=False)
    return open_source(data, format)


def gold_table(
    source: Source, scale: Scale, *, item: str | None = None, label: str | None = None
) -> tuple[Coded, Codes]:
    """Return the items that have gold, and their truths on the scale; two truths for one item are refused."""
    if label is None and GOLD in source.columns:
        label = GOLD
    roles = find_columns(source.columns, {"item": item, "label": label}, source.name, needed=("item", "label"))
    columns = code_columns(source, roles)
    items, labels = columns["item"], columns["label"]
    truth = _truths(source, labels, scale, may_be_unknown=roles["label"] == GOLD)
    known = np.flatnonzero(truth >= 0)
    first = np.full(len(items.names), -1)  # the row where each item's truth is first said
    first[items.code[known][::-1]] = known[::-1]
    _refuse_second_truths(source, items, labels, known[truth[known] != truth[first[items.code[known]]]], first)
    kept = np.flatnonzero(first >= 0)
    place = np.full(first.size, -1)
    place[kept] = np.arange(kept.size)
    return Coded(place[items.code], items.names.gather(kept), first[kept]), truth[first[kept]]


def by_topic(source: Source, item: str | None) -> Source:
    """Return gold whose items are called ``topic_item``, as judged items are that are in several topics."""
    column = find_columns(source.columns, {"item": item}, source.name, needed=("item",))["item"]

    def joined(wanted: str) -> pl.Series:
        if wanted != "item":
            return source.column(wanted)
        parts = {"topic": source.column("topic"), "item": source.column(column)}
        return pl.DataFrame(parts).select(pl.format("{}_{}", "topic", "item")).to_series()

    columns = ("item", *(name for name in source.columns if name not in ("item", column)))
    return replace(source, columns=columns, column=joined)


def _truths(source: Source, labels: Coded, scale: Scale, may_be_unknown: bool) -> Codes:
    """Return the place on the scale of every row's truth, -1 where it is not known."""
    certain = UNKNOWN in scale.names or not may_be_unknown
    known = (labels.names.cast(pl.String) != UNKNOWN).to_numpy() | certain
    if not known.any():
        raise source.wrong(f"every truth is {UNKNOWN}, which stands for not known")
    place = np.full(known.size, -1, np.int32)
    seen = Coded(labels.code, labels.names.filter(pl.Series(known)), labels.first[known])
    place[known] = scale_codes(source, seen, scale.labels, scale.ordinal)[1]
    return place[labels.code]


def _refuse_second_truths(source: Source, items: Coded, labels: Coded, other: Codes, first: Codes) -> None:
    """Refuse an item that has another truth than before."""
    if other.size:
        n, before = int(other[0]), int(first[items.code[other[0]]])
        item, here, there = items.names[int(items.code[n])], *labels.names.gather(labels.code[[n, before]])
        what = f"item {quote(item)} has the truth {quote(here)} here and {quote(there)} in row {source.row(before)}"
        raise source.wrong(f"{what}: keep one of them", n)


def _unjudged(source: Source, items: Coded, judgments: Judgments, unjudged: Codes) -> str:
    """Return what to say of gold for items nobody judged, refusing gold that is all of this kind."""
    name, n = items.names[int(unjudged[0])], int(items.first[unjudged[0]])
    total = len(items.names)
    if unjudged.size == total:
        what = f"none of the {total:,} gold items was judged: this one is {quote(name)}"
        raise source.wrong(f"{what}, and judged items are such as {quote(judgments.items[0])}", n)
    where = f"{source.name}, row {source.row(n)}"
    return (
        f"{where}: nobody judged gold item {quote(name)} ({unjudged.size:,} such of {total:,}, kept with their truth)"
    )
