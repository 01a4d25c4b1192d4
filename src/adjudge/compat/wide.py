"""Wide arrays of labels: one row per item, one column per judge, missing where a judge gave no label."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.scale import Scale


def wide_judgments(code: Codes, labels: int, soft: Floats | None = None) -> Judgments:
    """Return the judgments of a wide array of codes (items, judges), -1 where there is none.

    Names of items, judges and labels are their numbers. ``soft`` (items, labels) are probabilities that one more judge,
    the last, gives: as a label for each, which counts as often as it is probable.
    """
    items, judges = code.shape
    item, judge = np.nonzero(code >= 0)
    label, weight = code[item, judge], None
    if soft is not None:
        row, column = np.nonzero(soft > 0)
        weight = np.concatenate([np.ones(item.size), soft[row, column]])
        item, judge = np.concatenate([item, row]), np.concatenate([judge, np.full(row.size, judges)])
        label, judges = np.concatenate([label, column]), judges + 1
    names = (pl.Series(name, np.arange(size)) for name, size in (("item", items), ("judge", judges)))
    scale = Scale(tuple(range(labels)))
    return from_codes(
        item.astype(np.int32),
        judge,
        label,
        **dict(zip(("items", "judges"), names, strict=True)),
        scale=scale,
        weight=weight,
    )


def is_missing(values: Any) -> Any:
    """Return which values are missing: None, NaN, or another value that is not equal to itself."""
    values = np.asarray(values)
    if values.dtype.kind in "iub":
        return np.zeros(values.shape, bool)
    if values.dtype.kind == "f":
        return np.isnan(values)
    flat = [value is None or bool(_differs(value)) for value in values.ravel().tolist()]
    return np.array(flat, bool).reshape(values.shape)


def _differs(value: Any) -> bool:
    """Return whether a value is not equal to itself; pandas.NA cannot tell, and is missing."""
    try:
        return bool(value != value)
    except TypeError:
        return True
