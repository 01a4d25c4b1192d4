"""Times, and the seconds between judgments."""

from datetime import date, datetime, time

import numpy as np
import polars as pl
import pytest

from adjudge.judges.pace import median_gaps, seconds_of


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
    first, second = seconds_of(pl.Series(times))
    assert second - first == pytest.approx(30)


def test_days_are_seconds_too():
    """A date is its midnight."""
    assert np.diff(seconds_of(pl.Series([date(2024, 1, 1), date(2024, 1, 2)]))) == [86_400]


@pytest.mark.parametrize("times", [["soon", "later"], [[1], [2]], [None, None], [float("nan"), float("inf")]])
def test_what_is_no_time_is_not_known(times):
    """It is left out, and nothing breaks."""
    assert np.isnan(seconds_of(pl.Series(times))).all()


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
