"""Numbers of items in the order of any sequence of items: what an estimator wants beside its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.errors import InputError, UsageError, quote
from adjudge.judgments.gold import places


def aligned(index: Any, items: pl.Series, values: Floats, fill: float | None = None) -> Floats:
    """Return the value of each item of ``index``, as often as it is there; an unknown one is refused, or ``fill``."""
    wanted = named(index)
    place = places(wanted, items)
    unknown = np.flatnonzero(place < 0)
    if unknown.size and fill is None:
        n = int(unknown[0])
        raise InputError(
            f"item {quote(wanted[n])} has no weight ({unknown.size:,} such of {place.size:,}; items are such as "
            f"{quote(items[0])}): leave it out, or say with fill= what such items weigh",
            "index",
            n,
        )
    found: Floats = values[place] if values.size else np.zeros(place.size)
    if unknown.size:
        found[unknown] = fill
    return found


def named(index: Any) -> pl.Series:
    """Return any sequence of items as a column of names: whole numbers stay such, everything else is text."""
    if isinstance(index, str) or hasattr(index, "columns"):
        what = "one text" if isinstance(index, str) else "a table"
        raise UsageError(f"the index is {what}: give a sequence of items, such as a column or the index of a frame")
    values = index if isinstance(index, pl.Series) else pl.Series(np.asarray(index).tolist(), strict=False)
    if values.dtype.is_float() and values.drop_nans().round().equals(values.drop_nans()):
        values = values.cast(pl.Int64, strict=False)
    return values if values.dtype.is_integer() else values.cast(pl.String)
