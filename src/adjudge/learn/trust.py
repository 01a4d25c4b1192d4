"""Prior trust of judges: what a platform knows about each judge before this task, as a number from 0 to 1.

It is a column of the judgments (``trust``), a pair of columns (``approved/judged``, or ``rate/100`` for a rate in
percent; a of b approvals become (a + 1) / (b + 2)), or a table or mapping by judge.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.data.columns import find_columns
from adjudge.data.encode import LabelOptions, encode
from adjudge.data.exports import judgment_source
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.data.scale import number_of
from adjudge.data.source import Source
from adjudge.errors import UsageError, quote, quoted

COLUMN = "trust"
ROLES = ("item", "judge", "label", "topic", "weight", "time")


def with_trust(data: Any, trust: Any = None, *, repeats: str = "keep", **reading: Any) -> tuple[Judgments, Floats]:
    """Return judgments and the trust of each judge (J), NaN if unknown; a file is opened only once.

    ``trust`` is a column of the judgments (``"trust"``, or ``"approved/judged"``), a mapping from judge to trust, or a
    table by judge: a frame or a path object. ``reading`` holds options of ``adjudge.read``.
    """
    if isinstance(data, Judgments):
        judgments, source = read(data, repeats=repeats, **reading), None
        if isinstance(trust, str):
            raise UsageError(
                f"trust {quote(trust)} is the name of a column, but a Judgments has no further columns: give the path "
                "or frame that it was read from, or trust by judge"
            )
    else:
        named = {role: reading.pop(role, None) for role in ROLES}
        source, named = judgment_source(data, reading.pop("format", None), named)
        label_options = LabelOptions(**{name: reading.pop(name) for name in LabelOptions._fields if name in reading})
        judgments = read(encode(source, named, **reading, label_options=label_options), repeats=repeats)
        if trust is None and COLUMN in source.columns:
            trust = COLUMN
        if isinstance(trust, str):
            judge = find_columns(source.columns, named, source.name)["judge"]
            return judgments, _by_judge(source, judge, trust, judgments.judges)
    if trust is None:
        return judgments, np.full(len(judgments.judges), np.nan)
    return judgments, _from_table(trust, judgments.judges)


def _from_table(trust: Any, judges: pl.Series) -> Floats:
    """Return the trust of each judge (J) from a mapping or a table by judge."""
    if hasattr(trust, "items") and hasattr(trust, "index") and not hasattr(trust, "columns"):
        trust = dict(trust.items())  # a pandas Series indexed by judge
    if isinstance(trust, Mapping):
        trust = pl.DataFrame({"judge": list(trust), COLUMN: list(trust.values())}, strict=False)
    source = open_source(trust if not isinstance(trust, os.PathLike) else os.fspath(trust))
    judge = find_columns(source.columns, {}, source.name, needed=("judge",))["judge"]
    values = _by_judge(source, judge, _column(source, judge), judges)
    if np.isnan(values).all() and len(judges):
        raise source.wrong(f"has no trust for any of the {len(judges):,} judges ({quoted(judges.head(3))}, ...)")
    return values


def _column(source: Source, judge: str) -> str:
    """Return the column of trust in a table by judge: the one of that name, or the only other one."""
    rest = [name for name in source.columns if name != judge]
    if COLUMN in rest or len(rest) == 1:
        return COLUMN if COLUMN in rest else rest[0]
    if {"approved", "judged"} <= set(rest):
        return "approved/judged"
    raise source.wrong(
        f"has no column {quote(COLUMN)} (columns: {quoted(source.columns)}): rename the column that holds the trust"
    )


def _by_judge(source: Source, judge: str, column: str, judges: pl.Series) -> Floats:
    """Return the trust of each judge (J): the mean over their rows, ignoring empty cells."""
    names = source.column(judge)
    if source.text:
        names = names.str.strip_chars()
    position = places(_plain(names), judges)
    value = _values(source, column)
    valid = (position >= 0) & ~np.isnan(value)
    count = np.bincount(position[valid], minlength=len(judges))
    total = np.bincount(position[valid], value[valid], minlength=len(judges))
    mean: Floats = np.divide(total, count, out=np.full(len(judges), np.nan), where=count > 0)
    return mean


def _values(source: Source, column: str) -> Floats:
    """Return the trust in each row, NaN if the cell is empty."""
    if column in source.columns or "/" not in column:
        value = _numbers(source, column)
        _refuse(source, column, value, (value < 0) | (value > 1), "a number from 0 to 1")
        return value
    first, _, second = (part.strip() for part in column.partition("/"))
    approved, constant = _numbers(source, first), number_of(second)
    judged = _numbers(source, second) if constant is None else np.full(approved.size, constant)
    _refuse(source, first, approved, (approved < 0) | (approved > judged), f"from 0 to {second}")
    return (approved + 1) / (judged + 2)


def _numbers(source: Source, column: str) -> Floats:
    """Return a column as numbers, NaN if a cell is empty."""
    if column not in source.columns:
        raise source.wrong(f"there is no column {quote(column)} for the trust (columns: {quoted(source.columns)})")
    text = source.column(column).cast(pl.String).str.strip_chars()
    value: Floats = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().copy()
    empty = (text.is_null() | text.is_in(["", "NaN", "nan"])).to_numpy()
    _refuse(source, column, value, ~empty & ~np.isfinite(value), "a number")
    return value


def _refuse(source: Source, column: str, value: Floats, wrong: Any, expected: str) -> None:
    """Refuse the first value that is not as expected."""
    if wrong.any():
        n = int(np.flatnonzero(wrong)[0])
        hint = f"; for a rate in percent, write {column}/100" if 1 < value[n] <= 100 else ""
        raise source.wrong(f"{column} {quote(source.column(column)[n])} is not {expected}{hint}", n)


def _plain(names: pl.Series) -> pl.Series:
    """Return names that are whole numbers as integers: 1.0 is 1, as in judgments."""
    if names.dtype.is_float():
        integers = names.cast(pl.Int64, strict=False)
        return integers if integers.cast(pl.Float64).eq_missing(names).all() else names
    return names.cast(pl.String) if names.dtype in (pl.Categorical, pl.Enum) else names
