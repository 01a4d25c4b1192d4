"""Judges on items whose truth is known."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import adjudge
from adjudge.diagnostics.gold_accuracy import gold_accuracy
from adjudge.errors import UsageError


def timed(times):
    """Return judgments of two judges, of whom one is wrong from the middle on, and the truths of some items."""
    rows = [(f"i{n}", judge, (n % 2) ^ (judge == "y" and n >= 4), times[n]) for n in range(8) for judge in "xy"]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    return judgments, {f"i{n}": n % 2 for n in range(8) if n != 3}


def test_quality_is_a_beta_posterior():
    """Right and wrong counted period by period, from a flat prior; items without gold are not looked at."""
    found = gold_accuracy(*timed(list(range(8))), periods=2)
    table = found.table
    assert table.select("judge", "period", "judgments", "right").rows() == [
        ("x", 0, 3, 3),
        ("x", 1, 4, 4),
        ("y", 0, 3, 3),
        ("y", 1, 4, 0),
    ]
    assert table["quality"].to_list() == pytest.approx([4 / 5, 5 / 6, 4 / 5, 1 / 6])
    np.testing.assert_allclose(table["low"], beta.ppf(0.05, [4, 5, 4, 1], [1, 1, 1, 5]))
    np.testing.assert_allclose(table["high"], beta.ppf(0.95, [4, 5, 4, 1], [1, 1, 1, 5]))
    assert table["since"].to_list() == ["0", "4", "0", "4"]
    assert found.sentence == "Gold set of 7 items: 2 judges, right on 71.4% of 14 judgments."


def test_days_are_periods():
    """Where times are dates; a day without work has no row."""
    days = [f"2026-05-{1 + 2 * (n // 4):02d}" for n in range(8)]
    found = gold_accuracy(*timed(days), periods="day").table
    assert found["period"].to_list() == [0, 2, 0, 2]
    assert found["since"].to_list() == ["2026-05-01", "2026-05-03"] * 2


def test_without_times_there_is_one_period():
    """Everything, together."""
    judgments = adjudge.read(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": [0, 1]}))
    found = gold_accuracy(judgments, {"a": 0})
    assert found.table.rows() == [("x", 0, "all", 1, 1, 2 / 3, *beta.ppf([0.05, 0.95], 2, 1))]
    assert gold_accuracy(*timed([1] * 8), periods=3).period.tolist() == [0, 0]


def test_periods_that_cannot_be_are_refused():
    """With what can."""
    judgments, gold = timed(list(range(8)))
    for wrong in (0, "week"):
        with pytest.raises(UsageError, match=f"periods {wrong!r} is neither a whole number of at least 1 nor 'day'"):
            gold_accuracy(judgments, gold, periods=wrong)
    with pytest.raises(UsageError, match="periods of a day are not defined because the times are not dates"):
        gold_accuracy(judgments, gold, periods="day")
    untimed = adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [0]}), labels=[0, 1])
    with pytest.raises(UsageError, match="periods of a day are not defined because the judgments have no times"):
        gold_accuracy(untimed, {"a": 0}, periods="day")
