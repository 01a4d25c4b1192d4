"""Judges against a monitoring set, and new work against an earlier fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import beta

import adjudge
from adjudge.diagnostics.drift import drift
from adjudge.diagnostics.monitor import monitor, monitored, new_work
from adjudge.errors import UsageError

SIZES = {"items": 800, "judges": 20, "labels": 3, "accuracy": 0.8}


def halves(crowd, change=()):
    """Return the judgments of the first half of the items and of the second, in which some judges guess."""
    judgments, rng = crowd.judgments, np.random.default_rng(9)
    table = pl.DataFrame(
        {
            "item": judgments.items.gather(judgments.item()),
            "judge": judgments.judges.gather(judgments.judge),
            "label": judgments.label.astype(int),
            "late": judgments.item() >= 400,
        }
    )
    guess = pl.col("late") & pl.col("judge").is_in(list(change))
    blind = pl.Series(rng.integers(3, size=table.height))
    table = table.with_columns(label=pl.when(guess).then(blind).otherwise("label"))
    return (adjudge.read(table.filter(pl.col("late") == late).drop("late"), labels=[0, 1, 2]) for late in (False, True))


def timed(times):
    """Return judgments of two judges, of whom one is wrong from the middle on, and the truths of some items."""
    rows = [(f"i{n}", judge, (n % 2) ^ (judge == "y" and n >= 4), times[n]) for n in range(8) for judge in "xy"]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    return judgments, {f"i{n}": n % 2 for n in range(8) if n != 3}


def test_quality_is_a_beta_posterior():
    """Right and wrong counted period by period, from a flat prior; items without gold are not looked at."""
    found = monitored(*timed(list(range(8))), periods=2)
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
    assert found.sentence == "Monitoring set of 7 items: 2 judges, right on 71.4% of 14 judgments."


def test_days_are_periods():
    """Where times are dates; a day without work has no row."""
    days = [f"2026-05-{1 + 2 * (n // 4):02d}" for n in range(8)]
    found = monitored(*timed(days), periods="day").table
    assert found["period"].to_list() == [0, 2, 0, 2]
    assert found["since"].to_list() == ["2026-05-01", "2026-05-03"] * 2


def test_without_times_there_is_one_period():
    """Everything, together."""
    judgments = adjudge.read(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": [0, 1]}))
    found = monitored(judgments, {"a": 0})
    assert found.table.rows() == [("x", 0, "all", 1, 1, 2 / 3, *beta.ppf([0.05, 0.95], 2, 1))]
    assert monitored(*timed([1] * 8), periods=3).period.tolist() == [0, 0]


def test_periods_that_cannot_be_are_refused():
    """With what can."""
    judgments, gold = timed(list(range(8)))
    for wrong in (0, "week"):
        with pytest.raises(UsageError, match=f"periods {wrong!r} is neither a whole number of at least 1 nor 'day'"):
            monitored(judgments, gold, periods=wrong)
    with pytest.raises(UsageError, match="periods of a day are not defined because the times are no dates"):
        monitored(judgments, gold, periods="day")
    untimed = adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [0]}), labels=[0, 1])
    with pytest.raises(UsageError, match="periods of a day are not defined because the judgments have no times"):
        monitored(untimed, {"a": 0}, periods="day")


def test_those_who_became_worse_are_named():
    """And hardly anyone else."""
    crowd = adjudge.simulate("dawid-skene", 2, **SIZES)
    early, late = halves(crowd, change=("j3", "j7"))
    found = new_work(adjudge.fit(early, "dawid-skene"), late)
    named = set(found.table.filter(pl.col("flagged"))["judge"])
    assert {"j3", "j7"} <= named
    assert len(named) <= 3
    worse = found.table.row(by_predicate=pl.col("judge") == "j3", named=True)
    assert worse["quality"] < 0.5 < worse["believed"]
    assert worse["low"] < 1 / 3 + 0.1 < worse["high"] + 0.1
    assert "judges is worse than the earlier fit believed: 'j3'" in found.sentence


def test_those_who_did_not_are_seldom_named():
    """Of 100 judges in five crowds."""
    named = 0
    for seed in range(5):
        early, late = halves(adjudge.simulate("dawid-skene", 20 + seed, **SIZES))
        named += int(new_work(adjudge.fit(early, "dawid-skene"), late).flagged.sum())
    assert named <= 5


def test_new_judges_are_named_as_new():
    """Nothing was believed of them, so nothing can be worse; a judge without new work has no quality."""
    early, late = halves(adjudge.simulate("dawid-skene", 3, **SIZES))
    known = adjudge.fit(early, "dawid-skene")
    renamed = adjudge.read(
        pl.DataFrame(
            {
                "item": late.items.gather(late.item()),
                "judge": ["new" if name == "j1" else name for name in late.judges.gather(late.judge)],
                "label": late.label.astype(int),
            }
        ),
        labels=[0, 1, 2],
    )
    found = new_work(known, renamed)
    stranger = found.table.row(by_predicate=pl.col("judge") == "new", named=True)
    assert stranger["new"]
    assert stranger["z"] is None
    assert stranger["p"] is None
    assert not stranger["flagged"]
    assert 0 < stranger["low"] < stranger["quality"] < stranger["high"] < 1
    assert found.table["new"].sum() == 1
    assert found.sentence.endswith("; 1 judges are new.")
    kept = np.flatnonzero(renamed.judge != 0)
    absent = new_work(known, renamed.take(kept))
    assert absent.quality[0] is None
    assert np.isfinite(absent.z).all()


def test_draws_say_how_sure_the_matrices_are():
    """A sampled fit widens the test by its own draws."""
    early, late = halves(adjudge.simulate("dawid-skene", 4, **SIZES), change=("j5",))
    run = adjudge.Run(chains=2, warmup=200, draws=1_500)
    found = new_work(adjudge.fit(early, "hybrid-confusion", run=run), late)
    assert found.flagged[late.judges.to_list().index("j5")]
    assert np.isfinite(found.p).all()


def test_a_crowd_that_became_worse_is_said_to_be():
    """All of them: nobody stands out, but the sentence tells."""
    names = [f"j{n}" for n in range(1, 16)]
    early, late = halves(adjudge.simulate("dawid-skene", 5, **{**SIZES, "judges": 25}), change=names)
    found = new_work(adjudge.fit(early, "dawid-skene"), late)
    assert found.centre > 1
    assert "half of all judges are " in found.sentence


def test_a_level_that_is_none_is_refused():
    """And labels that the fit does not know."""
    early, late = halves(adjudge.simulate("dawid-skene", 3, **SIZES))
    known = adjudge.fit(early, "dawid-skene")
    with pytest.raises(UsageError, match="level 0 is not between 0 and 1"):
        new_work(known, late, level=0)
    with pytest.raises(UsageError, match="are not the fit's '0', '1', '2'"):
        new_work(known, adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [7]})))


def test_monitor_holds_all_parts_or_their_reasons():
    """Parts that cannot be computed say why."""
    crowd = adjudge.simulate("drifting", items=200, judges=8, labels=2)
    judgments = adjudge.read(crowd.table)
    fit = adjudge.fit(judgments, "dawid-skene")
    found = monitor(fit, judgments, new=judgments)
    assert list(found.parts) == ["drift", "chart", "streaks", "collusion", "new"]
    assert found.reasons == {"gold": "no truth is known: give gold"}
    assert found.drift.table.equals(drift(fit, judgments).table)
    assert found.table.rows()[4] == ("gold", False, "no truth is known: give gold")
    assert repr(found) == "Monitoring(drift, chart, streaks, collusion, new; 1 parts not available)"
    only = monitor(fit, crowd.table.to_pandas(), gold=crowd.truths, parts=("gold",))
    assert list(only.parts) == ["gold"]
    assert not only.reasons
    assert isinstance(only.table, pd.DataFrame)


def test_monitor_takes_the_gold_of_the_fit():
    """Unless other gold is given; and it refuses parts that do not exist."""
    judgments = adjudge.dataset("anesthesia")
    items = judgments.items.to_list()
    fit = adjudge.fit(judgments, "dawid-skene", gold={items[0]: 1, items[1]: 1})
    found = monitor(fit, judgments)
    assert found.gold.items == 2
    assert set(found.reasons) == {"drift", "chart", "streaks", "new"}
    with pytest.raises(UsageError) as error:
        monitor(fit, judgments, parts=("mood",))
    assert str(error.value) == ("part 'mood' is not one of 'drift', 'chart', 'streaks', 'collusion', 'gold', 'new'")
