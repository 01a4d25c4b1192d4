"""Control charts: batches, limits and rules."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.control_chart import _edges, _flags, _limits, control_chart
from adjudge.errors import UsageError

SIZES = {"items": 1_000, "judges": 20, "labels": 3, "per_item": 5}


@pytest.fixture(scope="module")
def crowd():
    """Return a crowd with judges who begin to guess, and its fit."""
    drawn = adjudge.simulate("drifting", 4, **SIZES, guessing=1.0)
    return drawn, adjudge.fit(drawn.judgments, "dawid-skene")


def test_batches_hold_all_judgments(crowd):
    """So many each, a short rest with the one before; shares and limits are shares."""
    drawn, fit = crowd
    chart = control_chart(fit, drawn.judgments, batch=40)
    assert chart.size.sum() == len(drawn.judgments)
    assert set(chart.size.tolist()) <= set(range(20, 60))
    assert chart.batch[chart.judge == 3].tolist() == list(range((chart.judge == 3).sum()))
    assert ((chart.limits >= 0) & (chart.limits <= 1)).all()
    assert (np.diff(chart.limits, axis=1) >= 0).all()
    np.testing.assert_allclose(
        [(chart.right * chart.size)[chart.judge == j].sum() for j in range(20)],
        [(chart.level * chart.size)[chart.judge == j].sum() for j in range(20)],
    )


def test_those_who_change_are_out_of_control(crowd):
    """More often than the others, who are so in few batches."""
    drawn, fit = crowd
    chart = control_chart(fit, drawn.judgments)
    out = np.array([bool(flag) for flag in chart.flags])
    changed = (drawn.changed >= 0)[chart.judge]
    assert out[changed].mean() > 0.2
    assert out[~changed].mean() < 0.03
    assert "batches of 20 judges are out of control, of" in chart.sentence
    assert chart.table.height == chart.size.size


def test_the_worst_are_below_the_crowd(crowd):
    """Against the crowd, a judge may be out of control from beginning to end."""
    drawn, fit = crowd
    chart = control_chart(fit, drawn.judgments, against="crowd")
    worst = chart.judge == int(np.argmin(fit.accuracy))
    assert (chart.right < chart.level)[worst].mean() > 0.75
    np.testing.assert_allclose((chart.right * chart.size).sum(), (chart.level * chart.size).sum())


def test_limits_are_those_of_a_beta():
    """Wider with the variance, within 0 and 1, whatever the level."""
    limits = _limits(np.array([0.5, 0.5, 1.2, -0.1]), np.array([0.01, 0.04, 0.01, 0.0]))
    np.testing.assert_allclose(limits[0, 1:3], [0.5 - 0.2, 0.5 + 0.2], atol=0.01)
    assert limits[1, 0] < limits[0, 0]
    assert ((limits >= 0) & (limits <= 1)).all()


def test_the_rules_are_kept():
    """One beyond 3, two of three beyond 2, eight in a row; a judge's first batches have nothing before them."""
    level, limits = np.full(12, 0.5), np.tile([0.2, 0.3, 0.7, 0.8], (12, 1))
    position = np.arange(12)
    right = np.array([0.1, 0.25, 0.5, 0.25, 0.5, 0.75, 0.25, 0.9, 0.5, 0.5, 0.5, 0.5])
    assert _flags(right, level, limits, position)[:8] == (
        "beyond 3",
        "two beyond 2",
        "",
        "two beyond 2",
        "",
        "",
        "",
        "beyond 3",
    )
    row = _flags(np.full(12, 0.45), level, limits, position)
    assert row == ("",) * 7 + ("eight in a row",) * 5
    assert _flags(np.full(12, 0.45), level, limits, np.r_[position[:6], position[:6]]) == ("",) * 12


def test_days_are_batches():
    """Where times are dates."""
    rows = [(f"i{n}", judge, n % 2, f"2026-05-{1 + n // 4:02d}T10:00") for n in range(12) for judge in "xyz"]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    fit = adjudge.fit(judgments, "dawid-skene")
    chart = control_chart(fit, judgments, batch="day")
    assert chart.since[:3] == ("2026-05-01 10:00:00", "2026-05-02 10:00:00", "2026-05-03 10:00:00")
    assert chart.size.tolist() == [4] * 9
    assert chart.sentence == "All of 9 batches of 3 judges are within their limits."
    first = control_chart(fit, judgments, batch=1)
    assert np.isfinite(first.limits).all()


def test_what_cannot_be_is_refused(crowd):
    """With what can."""
    drawn, fit = crowd
    with pytest.raises(UsageError, match="batch 0 is neither a whole number of at least 1 nor 'day'"):
        control_chart(fit, drawn.judgments, batch=0)
    with pytest.raises(UsageError, match="batch 'week' is neither a whole number of at least 1 nor 'day'"):
        control_chart(fit, drawn.judgments, batch="week")
    with pytest.raises(
        UsageError, match="batches by day are not defined because the times are not dates: give a number"
    ):
        control_chart(fit, drawn.judgments, batch="day")
    with pytest.raises(UsageError, match="against 'all' is not one of 'judge', 'crowd'"):
        control_chart(fit, drawn.judgments, against="all")
    untimed = adjudge.simulate("dawid-skene", 1, items=50, judges=5, labels=2).judgments
    with pytest.raises(UsageError, match="a control chart is not defined because the judgments have no times"):
        control_chart(adjudge.fit(untimed, "dawid-skene"), untimed)


def test_batches_end_where_time_goes_on():
    """Of so many judgments where all times differ, a short rest with the one before; of more where times are equal."""
    for size in range(1, 90):
        rest = max((size + 12) // 25, 1)
        assert _edges(np.arange(float(size)), 25) == [25 * number for number in range(rest)]
    assert _edges(np.repeat([1.0, 2.0, 3.0, 4.0], [10, 20, 30, 14]), 25) == [0, 30, 60]
    assert _edges(np.repeat([1.0, 2.0, 3.0, 4.0], [10, 20, 30, 12]), 25) == [0, 30]
    assert _edges(np.ones(80), 25) == [0]


def part_weak(times, order):
    """Return a fit and judgments in which one of four judges is wrong in the second half, rows in an order."""
    rows = [
        (f"i{n:03}", judge, (n % 2) ^ (judge == "x" and n >= 100), times(n)) for n in range(200) for judge in "wxyz"
    ]
    rows = [rows[at] for at in np.random.default_rng(order).permutation(800)] if order else rows
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    return adjudge.fit(judgments, "dawid-skene"), judgments


def test_the_order_of_rows_says_nothing():
    """Batches of judgments with equal times are the same of rows that are shuffled."""
    tables = [control_chart(*part_weak(lambda n: n // 20, order)).table.sort("judge", "batch") for order in (0, 1, 2)]
    for table in tables[1:]:
        assert table.select("judge", "batch", "since", "judgments", "flag").equals(
            tables[0].select("judge", "batch", "since", "judgments", "flag")
        )
        np.testing.assert_allclose(table["right"], tables[0]["right"], atol=1e-6)
    assert tables[0]["judgments"].to_list() == [40] * 20
    assert set(tables[0].filter(pl.col("flag") != "")["judge"]) == {"x"}


def test_of_one_time_nothing_can_be_said():
    """There is one batch a judge, and the sentence tells."""
    for order in (0, 1):
        chart = control_chart(*part_weak(lambda _: "2026-05-01", order))
        assert chart.size.tolist() == [200] * 4
        assert chart.sentence == "Changes cannot be detected: all judgments of each judge have the same time."
    rows = [(f"i{n}", judge, n % 2, n if judge == "x" else 0) for n in range(30) for judge in "xyz"]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    assert control_chart(adjudge.fit(judgments, "dawid-skene"), judgments, batch=10).sentence == (
        "All of 5 batches of 3 judges are within their limits; 2 judges have judgments of one time only, so "
        "changes cannot be detected."
    )
