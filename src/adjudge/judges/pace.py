"""How fast judges are: the time between one judgment and the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats

if TYPE_CHECKING:
    from adjudge.judgments.table import Names

BREAK = 600.0  # seconds; whoever takes longer was away


def seconds_of(time: Names) -> Floats:
    """Return times as seconds (N), not a number where a time cannot be read: numbers, dates, or either as text."""
    try:
        found: Floats = _as_numbers(time).fill_null(np.nan).to_numpy().copy()
    except pl.exceptions.PolarsError:  # nothing like a time
        found = np.full(len(time), np.nan)
    found[~np.isfinite(found)] = np.nan
    return found


def median_gaps(seconds: Floats, judge: Codes, judges: int) -> list[float | None]:
    """Return the median seconds between the successive judgments of every judge (J); breaks do not count."""
    known = np.flatnonzero(~np.isnan(seconds))
    order = known[np.lexsort((seconds[known], judge[known]))]
    gap, of = np.diff(seconds[order]), judge[order][1:]
    counts = (judge[order][:-1] == of) & (gap <= BREAK)
    gap, of = gap[counts], of[counts]
    gap = gap[np.lexsort((gap, of))]  # the gaps of a judge together, the shortest first
    held = np.bincount(of, minlength=judges)
    first = np.r_[0, np.cumsum(held)[:-1]]
    low, high = first + (held - 1) // 2, first + held // 2
    return [float(gap[low[j]] + gap[high[j]]) / 2 if held[j] else None for j in range(judges)]


def _as_numbers(time: Names) -> Names:
    """Return times as seconds from wherever their kind begins to count; a zone counts."""
    if time.dtype == pl.String:
        numbers = time.cast(pl.Float64, strict=False)
        time = numbers if numbers.count() == time.count() else time.str.to_datetime(strict=False, time_unit="us")
    if time.dtype in (pl.Date, pl.Datetime):
        return time.cast(pl.Datetime("us")).cast(pl.Int64) / 1_000_000
    return time.cast(pl.Int64) / 1_000_000_000 if time.dtype == pl.Time else time.cast(pl.Float64, strict=False)
