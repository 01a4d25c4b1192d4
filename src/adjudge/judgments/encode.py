"""Columns of names to columns of codes, with every check a table deserves on the way in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.errors import quoted
from adjudge.judgments.columns import find_columns, is_usual
from adjudge.judgments.scale import Label, Scale, scale_of
from adjudge.judgments.source import Source
from adjudge.judgments.table import Judgments, encoded
from adjudge.kernels.coding import code

CODED = ("item", "judge", "label", "topic")
PERSON = r"(?i)^(w|worker|judge|annotator|coder|rater|assessor|user|turker)[-_ ]?\d+$"


class Coded(NamedTuple):
    """A column as codes, numbered in the order of appearance."""

    code: Codes  # (N)
    names: pl.Series  # one a code
    first: Codes  # the row where each code first appears


def encode(
    source: Source, named: Mapping[str, str | None], labels: Sequence[Label] | None = None, ordinal: bool = False
) -> Judgments:
    """Return the judgments of a source, refusing with file and row what cannot be right."""
    roles = find_columns(source.columns, named, source.name)
    _refuse_swapped_columns(source, roles)
    columns = code_columns(source, {role: roles[role] for role in CODED if role in roles})
    item, judge, label = columns["item"], columns["judge"], columns["label"]
    if not (named.get("item") and named.get("judge")):
        _refuse_swapped_values(source, item, judge)
    scale, to_scale = scale_codes(source, label, labels, ordinal)
    topic = columns.get("topic")
    return encoded(
        item.code,
        judge.code,
        to_scale[label.code],
        items=item.names.alias("item"),
        judges=judge.names.alias("judge"),
        scale=scale,
        topics=None if topic is None else topic.names.alias("topic"),
        topic=None if topic is None else frozen(_topic_of_item(source, item, topic)),
        weight=_weights(source, roles["weight"]) if "weight" in roles else None,
        time=source.column(roles["time"]) if "time" in roles else None,
        kind=source.kind,
    )


def code_columns(source: Source, roles: Mapping[str, str]) -> dict[str, Coded]:
    """Return role -> codes; columns are coded side by side, since hashing and coding leave the GIL."""
    with ThreadPoolExecutor(2) as pool:
        coded = pool.map(lambda role: _code_column(source, role, roles[role]), roles)
        return dict(zip(roles, coded, strict=True))


def scale_codes(
    source: Source, label: Coded, labels: Sequence[Label] | None, ordinal: bool
) -> tuple[Scale, Codes]:
    """Return the scale, and the place on it of each label seen."""
    seen = label.names.to_list()
    scale = scale_of(seen, ordinal) if labels is None else Scale(tuple(labels), ordinal)
    place = {name: k for k, name in enumerate(scale.names)}
    for value, position in zip(seen, label.first, strict=True):
        if str(value) not in place:
            expected = f"label '{value}' is not one of {quoted(scale.names)} (give --labels to extend the scale)"
            raise source.wrong(expected, int(position))
    if labels is not None:  # the table's own values, where it has them: 1 and not "1"
        own = {str(value): value for value in seen}
        scale = Scale(tuple(own.get(name, given) for name, given in zip(scale.names, scale.labels, strict=True)), ordinal)
    return scale, np.array([place[str(value)] for value in seen], np.int32)


def _code_column(source: Source, role: str, column: str) -> Coded:
    """Return one column as codes."""
    series = source.column(column)
    if series.dtype.is_nested():
        raise source.wrong(f"column '{column}' holds lists or records, not one {role} a row")
    if series.dtype in (pl.Categorical, pl.Enum, pl.Object):
        series = series.cast(pl.String)
    if not len(series):
        raise source.wrong("the table holds no rows")
    coded = _hashed(series)
    coded = _stripped(coded) if source.text and series.dtype == pl.String else coded
    _refuse_empty(source, role, column, coded)
    return coded


def _hashed(series: pl.Series) -> Coded:
    """Return codes found by hash; in the rare case of a collision, hash again."""
    for seed in count(0, 2):
        found = code(series.hash(seed).to_numpy(), series.hash(seed + 1).to_numpy())
        if found is not None:
            codes, first = found
            return Coded(codes, series.gather(first), first)
    raise AssertionError("unreachable: seeds do not end")


def _stripped(coded: Coded) -> Coded:
    """Return the same column with blanks around names ignored: ' ann' is 'ann'."""
    names = coded.names.str.strip_chars()
    if names.equals(coded.names):
        return coded
    again = _hashed(names)
    return Coded(again.code[coded.code], again.names, coded.first[again.first])


def _refuse_empty(source: Source, role: str, column: str, coded: Coded) -> None:
    """Refuse a missing or empty name."""
    missing = coded.names.is_null()
    if coded.names.dtype == pl.String:
        missing = missing | (coded.names == "")
    elif coded.names.dtype.is_float():
        missing = missing | coded.names.is_nan()
    if missing.any():
        position = int(coded.first[missing.fill_null(True).to_numpy()].min())
        raise source.wrong(f"the {role} (column '{column}') is empty", position)


def _refuse_swapped_columns(source: Source, roles: Mapping[str, str]) -> None:
    """Refuse --item worker --judge item."""
    if is_usual(roles["item"], "judge") and is_usual(roles["judge"], "item"):
        raise source.wrong(
            f"item and judge look swapped: column '{roles['item']}' was named as the item "
            f"and '{roles['judge']}' as the judge"
        )


def _refuse_swapped_values(source: Source, item: Coded, judge: Coded) -> None:
    """Refuse a table whose item column holds judges.

    A sign is item ids that read like people (w01, worker7) beside judge ids that do not; another is far
    fewer items than judges with many judgments on each. Naming both columns overrules either.
    """
    people = item.names.cast(pl.String).str.contains(PERSON).all() and not judge.names.cast(pl.String).str.contains(PERSON).any()
    rows, items, judges = item.code.size, len(item.names), len(judge.names)
    few = items > 1 and judges > 3 * items and rows >= 30 and rows >= 10 * items
    if people or few:
        raise source.wrong(
            f"item and judge look swapped: {items:,} items such as {quoted(item.names.head(2))} and {judges:,} judges "
            f"such as {quoted(judge.names.head(2))}; name both columns with --item and --judge to say which is which"
        )


def _topic_of_item(source: Source, item: Coded, topic: Coded) -> Codes:
    """Return the topic of each item (I), refusing an item in two topics."""
    of_item = topic.code[item.first]
    other = np.flatnonzero(topic.code != of_item[item.code])
    if other.size:
        n = int(other[0])
        here, before = topic.names[int(topic.code[n])], topic.names[int(of_item[item.code[n]])]
        raise source.wrong(
            f"item '{item.names[int(item.code[n])]}' is in topic '{here}' here and in topic '{before}' before: "
            "give items ids of their own in each topic",
            n,
        )
    return of_item


def _weights(source: Source, column: str) -> Floats:
    """Return how often each judgment counts, refusing what is not a number of at least 0."""
    given = source.column(column)
    values = given.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~(values >= 0) | ~np.isfinite(values))
    if bad.size:
        raise source.wrong(f"weight '{given[int(bad[0])]}' is not a number of at least 0", int(bad[0]))
    return values

