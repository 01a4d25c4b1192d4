"""When judgments were made: numbers, dates, or an order that is given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.errors import InputError, UsageError, quote

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


# How fast judges are: the time between one judgment and the next.

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


DAY = 86_400.0  # seconds
EXPECTED = "neither a number nor a date such as 2026-05-01 or 2026-05-01T09:30"
WITHOUT = "the judgments have no times"


class UnreadableTimeError(InputError):
    """A time that is none, and what was written there."""

    def __init__(self, text: object, where: str, row: int | None = None, source: str | None = None) -> None:
        super().__init__(f"time {quote(text)}{where} is {EXPECTED}", source, row)
        self.text = text


class Times(NamedTuple):
    """When each judgment was made (N); dates are seconds since 1970."""

    value: Floats
    dates: bool

    def shown(self, place: int) -> str:
        """Return a time as people write it."""
        if not self.dates:
            return f"{self.value[place]:g}"
        moment = datetime.fromtimestamp(float(self.value[place]), UTC)
        midnight = (moment.hour, moment.minute, moment.second) == (0, 0, 0)
        return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")


def times_of(judgments: Judgments, order: Any = None) -> Times | None:
    """Return when each judgment was made, None if that is not known; ``order`` (N) stands instead of times."""
    if order is not None:
        return Times(_order(order, len(judgments)), False)
    if judgments.time is None:
        return None
    return _parsed(judgments, judgments.time)


def untimed(judgments: Judgments) -> str:
    """Return why nothing can be said of time, an empty text where it can."""
    if judgments.time is None or judgments.time.null_count() == len(judgments):
        return WITHOUT
    try:
        times_of(judgments)
    except InputError as error:
        return f"not all times can be read: {error}"
    return ""


def times_if_any(judgments: Judgments, order: Any = None) -> Times | None:
    """Return when each judgment was made, None also where that cannot be read."""
    return None if order is None and untimed(judgments) else times_of(judgments, order)


def series(judge: Codes, times: Times, judges: int, tie: Floats | None = None) -> tuple[Codes, Codes]:
    """Return the judgments judge after judge, each in order of time (N), and where each judge's begin (J + 1).

    Judgments of the same time stand as in the table, which means nothing (see ``steps``), or by a ``tie`` (N, C).
    """
    order = np.lexsort((*(() if tie is None else tie.T), times.value, judge))
    return order, np.r_[0, np.bincount(judge, minlength=judges).cumsum()]


def steps(value: Floats) -> Codes:
    """Return the places of a series (n), in order of time, at which time goes on; what has one time has no order."""
    return np.flatnonzero(np.diff(value) > 0) + 1


def at_once(value: Floats, start: Codes) -> int:
    """Return how many judges have several judgments, all of one time; times (N) as by ``series``."""
    several = np.flatnonzero(np.diff(start) > 1)
    return int((value[start[several]] == value[start[several + 1] - 1]).sum())


def _order(order: Any, count: int) -> Floats:
    """Return an order that was given as numbers."""
    value = np.asarray(order)
    if value.shape != (count,) or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
        raise UsageError(f"order must hold {count:,} numbers, one a judgment in the order of the table")
    return value.astype(float)


def _parsed(judgments: Judgments, time: pl.Series) -> Times:
    """Return a column of times as numbers, refusing the first that is none."""
    if time.dtype.is_temporal() and time.dtype != pl.Duration and time.dtype != pl.Time:
        seconds = time.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64) / 1e6
        return Times(_whole(judgments, time, seconds), True)
    if time.dtype.is_numeric():
        return Times(_whole(judgments, time, time.cast(pl.Float64)), False)
    text = time.cast(pl.String, strict=False).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(numbers) and _number(text[0]):
        return Times(_whole(judgments, text, numbers), False)
    moments = pl.Series([None if one is None else _moment(one) for one in text.to_list()], dtype=pl.Float64)
    return Times(_whole(judgments, text, moments), True)


def _number(text: str | None) -> bool:
    """Whether a text is a number."""
    try:
        float(text or "")
    except ValueError:
        return False
    return True


def _moment(text: str) -> float | None:
    """Return a date as seconds since 1970, None if it is none; without a zone it is taken for UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _whole(judgments: Judgments, given: pl.Series, found: pl.Series) -> Floats:
    """Return times as numbers; refuse the first that is missing or not a number."""
    value = found.fill_null(np.nan).to_numpy().astype(float)
    wrong = np.flatnonzero(~np.isfinite(value))
    if wrong.size:
        n = int(wrong[0])
        who, what = judgments.judges[int(judgments.judge[n])], judgments.items[int(judgments.item()[n])]
        raise UnreadableTimeError("" if given[n] is None else given[n], f" of judge {quote(who)} on item {quote(what)}")
    return value
