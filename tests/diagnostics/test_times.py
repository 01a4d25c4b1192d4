"""Times as numbers and dates, and what is refused."""

from datetime import date, datetime, time

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.times import (
    UnreadableTimeError,
    count_single_time,
    judge_series,
    judgment_times,
    median_gaps,
    parse_seconds,
    time_problem,
    time_steps,
    usable_times,
)
from adjudge.errors import InputError, UsageError


def judged(times):
    """Return three judgments at these times."""
    return adjudge.read(pl.DataFrame({"item": ["a", "b", "c"], "judge": "ann", "label": [0, 1, 0], "time": times}))


@pytest.mark.parametrize("times", [[3, 1, 2], ["3", " 1 ", "2"], [3.0, 1.0, 2.0]])
def test_numbers_are_numbers(times):
    """Also where they are text."""
    result = judgment_times(judged(times))
    assert result.value.tolist() == [3, 1, 2]
    assert not result.dates
    assert result.text(0) == "3"


def test_dates_are_seconds():
    """With a zone or without, with an hour or without; a column of dates is none of text."""
    result = judgment_times(judged(["1970-01-02", "1970-01-01T01:00:00+01:00", "1970-01-01 00:01:30"]))
    assert result.value.tolist() == [86_400, 0, 90]
    assert [result.text(n) for n in range(3)] == ["1970-01-02", "1970-01-01", "1970-01-01 00:01:30"]
    column = pl.Series(["1970-01-02", "1970-01-01", "1970-01-03"]).str.to_date()
    assert judgment_times(judged(column)).value.tolist() == [86_400, 0, 2 * 86_400]


@pytest.mark.parametrize(
    ("times", "text"), [(["1", "yesterday", "2"], "yesterday"), (["2026-01-01", "soon", "2026-01-02"], "soon")]
)
def test_what_is_no_time_is_refused(times, text):
    """With whose it is."""
    with pytest.raises(UnreadableTimeError) as refused:
        judgment_times(judged(times))
    assert str(refused.value) == (
        f"time '{text}' of judge 'ann' on item 'b' is neither a number nor a date such as 2026-05-01 or "
        "2026-05-01T09:30"
    )
    assert isinstance(refused.value, InputError)


@pytest.mark.parametrize("times", [[1.0, None, 2.0], ["1", None, "2"], [1.0, float("nan"), 2.0]])
def test_a_missing_time_is_refused(times):
    """Rather than put anywhere in the series."""
    with pytest.raises(UnreadableTimeError, match="of judge 'ann' on item 'b' is neither a number nor a date"):
        judgment_times(judged(times))


def test_an_order_stands_instead_of_times():
    """One number a judgment; without either there is nothing to say."""
    assert judgment_times(judged(["x", "y", "z"]), [2, 0, 1]).value.tolist() == [2, 0, 1]
    time_problem = adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["ann"], "label": [0]}))
    assert judgment_times(time_problem) is None
    for wrong in ([1, 2], [1, 2, float("nan")], ["a", "b", "c"]):
        with pytest.raises(UsageError, match="order must hold 3 numbers, one per judgment in the order of the table"):
            judgment_times(judged([1, 2, 3]), wrong)


def test_series_are_in_order_of_time():
    """Judge after judge."""
    times = judgment_times(judged([3, 1, 2]))
    row, start = judge_series(np.array([0, 1, 0]), times, 3)
    assert row.tolist() == [2, 0, 1]
    assert start.tolist() == [0, 2, 3, 3]


def test_a_tie_says_how_judgments_of_one_time_stand():
    """Otherwise they stand as in the table."""
    judge, times = np.array([0, 0, 0]), judgment_times(judged([2, 1, 1]))
    assert judge_series(judge, times, 1)[0].tolist() == [1, 2, 0]
    assert judge_series(judge, times, 1, np.array([[0.0], [2.0], [1.0]]))[0].tolist() == [2, 1, 0]


def test_steps_are_where_time_goes_on():
    """Between judgments of one time there is none."""
    assert time_steps(np.array([1.0, 1.0, 2.0, 2.0, 5.0])).tolist() == [2, 4]
    assert time_steps(np.ones(3)).size == time_steps(np.empty(0)).size == 0


def test_judges_of_one_time_are_counted():
    """Who has one judgment is none of them."""
    assert count_single_time(np.array([1.0, 1.0, 2.0, 3.0, 4.0]), np.array([0, 2, 4, 5, 5])) == 1


def test_why_nothing_can_be_said_of_time():
    """No times, none but empty ones, and one that cannot be read; otherwise nothing."""
    rows = {"item": ["a", "b"], "judge": ["x", "x"], "label": [0, 1]}
    times = {"": ["2026-05-01", "2026-05-02"], "the judgments have no times": [None, None], "?": ["1", "soon"]}
    for reason, moments in times.items():
        table = adjudge.read(pl.DataFrame(rows | {"time": pl.Series(moments, dtype=pl.String)}))
        result = time_problem(table)
        assert (result == reason) if "?" not in reason else result.startswith("not all times can be read: ")
        assert (usable_times(table) is None) == bool(reason)
    assert time_problem(adjudge.read(pl.DataFrame(rows))) == "the judgments have no times"


@pytest.mark.parametrize(
    "times",
    [
        [100, 130],
        [100.0, 130.0],
        ["100", "130"],
        ["2024-01-02T03:04:00", "2024-01-02T03:04:30"],
        ["2024-01-02 03:04:00", "2024-01-02 03:04:30"],
        ["2024-01-02T03:04:00Z", "2024-01-02T03:04:30Z"],
        ["2024-01-02T03:04:00+02:00", "2024-01-02T02:04:30+01:00"],
        [datetime(2024, 1, 2, 3, 4), datetime(2024, 1, 2, 3, 4, 30)],
        [time(3, 4), time(3, 4, 30)],
    ],
)
def test_times_are_read_as_seconds(times):
    """Numbers, dates and either as text, with zones."""
    first, second = parse_seconds(pl.Series(times))
    assert second - first == pytest.approx(30)


def test_days_are_seconds_too():
    """A date is its midnight."""
    assert np.diff(parse_seconds(pl.Series([date(2024, 1, 1), date(2024, 1, 2)]))) == [86_400]


@pytest.mark.parametrize("times", [["soon", "later"], [[1], [2]], [None, None], [float("nan"), float("inf")]])
def test_what_is_no_time_is_not_known(times):
    """It is left out, and nothing breaks."""
    assert np.isnan(parse_seconds(pl.Series(times))).all()


def test_gaps_are_those_of_a_naive_loop():
    """Judge by judge, in order of time; breaks and unknown times do not count."""
    rng = np.random.default_rng(3)
    seconds, judge = rng.uniform(0, 20_000, 400), rng.integers(0, 9, 400)
    seconds[rng.random(400) < 0.1] = np.nan
    expected = []
    for j in range(10):
        own = np.sort(seconds[(judge == j) & ~np.isnan(seconds)])
        gaps = np.diff(own)[np.diff(own) <= 600]
        expected.append(float(np.median(gaps)) if gaps.size else None)
    assert expected[9] is None
    assert median_gaps(seconds, judge, 10) == pytest.approx(expected)


def test_nobody_has_judged_twice():
    """Then there are no gaps."""
    assert median_gaps(np.array([1.0, 2.0]), np.array([0, 1]), 3) == [None, None, None]
    assert median_gaps(np.array([]), np.array([], int), 1) == [None]
