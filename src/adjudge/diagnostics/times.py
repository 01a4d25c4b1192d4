"""When judgments were made: numbers, dates, or an order that the caller gives."""

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


DAY = 86_400.0  # seconds
BREAK = 600.0  # seconds between two judgments from which the judge is taken to have had a break
EXPECTED = "neither a number nor a date such as 2026-05-01 or 2026-05-01T09:30"
NO_TIMES = "the judgments have no times"


class UnreadableTimeError(InputError):
    """A time that is neither a number nor a date, with its text."""

    def __init__(self, text: object, where: str, row: int | None = None, source: str | None = None) -> None:
        super().__init__(f"time {quote(text)}{where} is {EXPECTED}", source, row)
        self.text = text


class Times(NamedTuple):
    """When each judgment was made (N); dates are seconds since 1970."""

    value: Floats
    dates: bool

    def text(self, index: int) -> str:
        """Return the time of one judgment as text."""
        if not self.dates:
            return f"{self.value[index]:g}"
        moment = datetime.fromtimestamp(float(self.value[index]), UTC)
        midnight = (moment.hour, moment.minute, moment.second) == (0, 0, 0)
        return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M:%S")


def judgment_times(judgments: Judgments, order: Any = None) -> Times | None:
    """Return when each judgment was made, None if that is unknown; an ``order`` (N) replaces the times."""
    if order is not None:
        return Times(_check_order(order, len(judgments)), False)
    if judgments.time is None:
        return None
    return _parse(judgments, judgments.time)


def time_problem(judgments: Judgments) -> str:
    """Return why the times cannot be used, an empty text if they can."""
    if judgments.time is None or judgments.time.null_count() == len(judgments):
        return NO_TIMES
    try:
        judgment_times(judgments)
    except InputError as error:
        return f"not all times can be read: {error}"
    return ""


def usable_times(judgments: Judgments, order: Any = None) -> Times | None:
    """Return when each judgment was made, None also if the times cannot be read."""
    return None if order is None and time_problem(judgments) else judgment_times(judgments, order)


def judge_series(judge: Codes, times: Times, judges: int, tie: Floats | None = None) -> tuple[Codes, Codes]:
    """Return the judgments ordered by judge and time (N), and the start of each judge's series (J + 1).

    Judgments of the same time keep the order of the table, which means nothing (see ``time_steps``), or are ordered
    by a ``tie`` (N, C).
    """
    order = np.lexsort((*(() if tie is None else tie.T), times.value, judge))
    return order, np.r_[0, np.bincount(judge, minlength=judges).cumsum()]


def time_steps(value: Floats) -> Codes:
    """Return the indices in a sorted series (n) at which the time increases; judgments of one time have no order."""
    return np.flatnonzero(np.diff(value) > 0) + 1


def count_single_time(value: Floats, start: Codes) -> int:
    """Return how many judges have several judgments, all of one time; times (N) in the order of ``judge_series``."""
    several = np.flatnonzero(np.diff(start) > 1)
    return int((value[start[several]] == value[start[several + 1] - 1]).sum())


def parse_seconds(time: Names) -> Floats:
    """Return times as seconds (N), nan if a time cannot be read: numbers, dates, or either as text."""
    try:
        seconds: Floats = _as_numbers(time).fill_null(np.nan).to_numpy().copy()
    except pl.exceptions.PolarsError:  # a type that holds no times
        seconds = np.full(len(time), np.nan)
    seconds[~np.isfinite(seconds)] = np.nan
    return seconds


def median_gaps(seconds: Floats, judge: Codes, judges: int) -> list[float | None]:
    """Return the median seconds between successive judgments of every judge (J), breaks left out."""
    readable = np.flatnonzero(~np.isnan(seconds))
    order = readable[np.lexsort((seconds[readable], judge[readable]))]
    gap, of = np.diff(seconds[order]), judge[order][1:]
    counts = (judge[order][:-1] == of) & (gap <= BREAK)
    gap, of = gap[counts], of[counts]
    gap = gap[np.lexsort((gap, of))]  # ordered by judge, then by length
    number = np.bincount(of, minlength=judges)
    first = np.r_[0, np.cumsum(number)[:-1]]
    low, high = first + (number - 1) // 2, first + number // 2
    return [float(gap[low[j]] + gap[high[j]]) / 2 if number[j] else None for j in range(judges)]


def _as_numbers(time: Names) -> Names:
    """Return times as seconds from the origin of their type; time zones are respected."""
    if time.dtype == pl.String:
        numbers = time.cast(pl.Float64, strict=False)
        time = numbers if numbers.count() == time.count() else time.str.to_datetime(strict=False, time_unit="us")
    if time.dtype in (pl.Date, pl.Datetime):
        return time.cast(pl.Datetime("us")).cast(pl.Int64) / 1_000_000
    return time.cast(pl.Int64) / 1_000_000_000 if time.dtype == pl.Time else time.cast(pl.Float64, strict=False)


def _check_order(order: Any, count: int) -> Floats:
    """Return an order as numbers; refuse one that does not match the judgments."""
    value = np.asarray(order)
    if value.shape != (count,) or value.dtype.kind not in "iuf" or not np.isfinite(value).all():
        raise UsageError(f"order must hold {count:,} numbers, one per judgment in the order of the table")
    return value.astype(float)


def _parse(judgments: Judgments, time: pl.Series) -> Times:
    """Return a column of times as numbers; refuse the first that cannot be read."""
    if time.dtype.is_temporal() and time.dtype != pl.Duration and time.dtype != pl.Time:
        seconds = time.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64) / 1e6
        return Times(_check_finite(judgments, time, seconds), True)
    if time.dtype.is_numeric():
        return Times(_check_finite(judgments, time, time.cast(pl.Float64)), False)
    text = time.cast(pl.String, strict=False).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count() < len(numbers) and _is_number(text[0]):
        return Times(_check_finite(judgments, text, numbers), False)
    moments = pl.Series([None if cell is None else _parse_date(cell) for cell in text.to_list()], dtype=pl.Float64)
    return Times(_check_finite(judgments, text, moments), True)


def _is_number(text: str | None) -> bool:
    """Whether a text is a number."""
    try:
        float(text or "")
    except ValueError:
        return False
    return True


def _parse_date(text: str) -> float | None:
    """Return a date as seconds since 1970, None if the text is no date; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _check_finite(judgments: Judgments, column: pl.Series, numbers: pl.Series) -> Floats:
    """Return times as numbers; refuse the first that is missing or not a number."""
    value = numbers.fill_null(np.nan).to_numpy().astype(float)
    wrong = np.flatnonzero(~np.isfinite(value))
    if wrong.size:
        n = int(wrong[0])
        judge, item = judgments.judges[int(judgments.judge[n])], judgments.items[int(judgments.item()[n])]
        text = "" if column[n] is None else column[n]
        raise UnreadableTimeError(text, f" of judge {quote(judge)} on item {quote(item)}")
    return value
