"""Known truths, matched to the items they belong to."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes
from adjudge.errors import AdjudgeWarning
from adjudge.judgments.columns import find_columns
from adjudge.judgments.encode import Coded, code_columns, scale_codes
from adjudge.judgments.read import open_source
from adjudge.judgments.scale import Scale
from adjudge.judgments.source import Source
from adjudge.judgments.table import Judgments

UNKNOWN = "-1"  # how TREC's task 2 files write a truth that is not known


def read_gold(
    data: Any, judgments: Judgments, *, item: str | None = None, label: str | None = None, format: str | None = None  # noqa: A002
) -> tuple[Judgments, Codes]:
    """Return the judgments, with any items only gold knows added, and the truth of each item (-1 unknown).

    Gold for items nobody judged is kept with a warning; gold of which no item was judged is an error.
    """
    source = gold_source(data, format)
    items, truths = gold_table(source, judgments.scale, item=item, label=label)
    place = places(items.names, judgments.items)
    unjudged = place < 0
    if unjudged.all():
        example = f"item '{items.names[0]}' is not among the judged items, such as '{judgments.items[0]}'"
        raise source.wrong(f"{example}; nor is any other of the {len(items.names):,} gold items", int(items.first[0]))
    if unjudged.any():
        c = int(np.flatnonzero(unjudged)[0])
        where = f"{source.name}, row {source.row(int(items.first[c]))}"
        warnings.warn(
            f"{where}: nobody judged gold item '{items.names[c]}' ({unjudged.sum():,} such of {unjudged.size:,})",
            AdjudgeWarning,
            stacklevel=2,
        )
    more = items.names.filter(pl.Series(unjudged)).cast(judgments.items.dtype)
    grown = judgments.with_items(more)
    place[unjudged] = len(judgments.items) + np.arange(len(more))
    gold = np.full(len(grown.items), -1, np.int32)
    gold[place] = truths
    return grown, gold


def gold_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Return gold given as a path, a frame, or a mapping from item to truth, as a source."""
    if isinstance(data, Mapping):
        data = pl.DataFrame({"item": list(data), "label": list(data.values())}, strict=False)
    return open_source(data, format)


def gold_table(source: Source, scale: Scale, *, item: str | None = None, label: str | None = None) -> tuple[Coded, Codes]:
    """Return the items that have gold, and their truths on the scale; two truths for one item are refused."""
    if label is None and "gold" in source.columns:
        label = "gold"
    roles = find_columns(source.columns, {"item": item, "label": label}, source.name, needed=("item", "label"))
    columns = code_columns(source, {"item": roles["item"], "label": roles["label"]})
    items, labels = columns["item"], columns["label"]
    known = (labels.names.cast(pl.String) != UNKNOWN).to_numpy() | (UNKNOWN in scale.names)
    if not known.all():
        items, labels = _kept(items, labels, known[labels.code])
    _, to_scale = scale_codes(source, labels, scale.labels, scale.ordinal)
    truth = to_scale[labels.code]
    other = np.flatnonzero(truth != truth[items.first][items.code])
    if other.size:
        n = int(other[0])
        raise source.wrong(f"item '{items.names[int(items.code[n])]}' has a second, different truth", n)
    return items, truth[items.first]


def places(names: pl.Series, among: pl.Series) -> Codes:
    """Return where each name stands among others, -1 where it does not; numbers match their text."""
    if names.dtype != among.dtype:
        names, among = names.cast(pl.String), among.cast(pl.String)
    known = pl.DataFrame({"name": among, "place": np.arange(len(among), dtype=np.int64)})
    wanted = pl.DataFrame({"name": names})
    found = wanted.join(known, on="name", how="left", maintain_order="left").get_column("place")
    return found.fill_null(-1).to_numpy().copy()


def _kept(items: Coded, labels: Coded, kept: Codes) -> tuple[Coded, Coded]:
    """Return two columns with only the rows kept; codes of names that are gone disappear."""
    rows = np.flatnonzero(kept)

    def shrink(column: Coded) -> Coded:
        old, first, code = np.unique(column.code[rows], return_index=True, return_inverse=True)
        return Coded(code, column.names.gather(old), rows[first])

    items, labels = shrink(items), shrink(labels)
    return items, labels
