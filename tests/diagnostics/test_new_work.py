"""New work against an earlier fit."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.new_work import new_work
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


def test_those_who_became_worse_are_named():
    """And hardly anyone else."""
    crowd = adjudge.simulate("dawid-skene", 2, **SIZES)
    early, late = halves(crowd, change=("j3", "j7"))
    result = new_work(adjudge.fit(early, "dawid-skene"), late)
    named = set(result.table.filter(pl.col("flagged"))["judge"])
    assert {"j3", "j7"} <= named
    assert len(named) <= 3
    worse = result.table.row(by_predicate=pl.col("judge") == "j3", named=True)
    assert worse["quality"] < 0.5 < worse["believed"]
    assert worse["low"] < 1 / 3 + 0.1 < worse["high"] + 0.1
    assert "judges is worse than the earlier fit expects: 'j3'" in result.sentence


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
    fitted = adjudge.fit(early, "dawid-skene")
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
    result = new_work(fitted, renamed)
    stranger = result.table.row(by_predicate=pl.col("judge") == "new", named=True)
    assert stranger["new"]
    assert stranger["z"] is None
    assert stranger["p"] is None
    assert not stranger["flagged"]
    assert 0 < stranger["low"] < stranger["quality"] < stranger["high"] < 1
    assert result.table["new"].sum() == 1
    assert result.sentence.endswith("; 1 judges are new.")
    stored = np.flatnonzero(renamed.judge != 0)
    absent = new_work(fitted, renamed.take(stored))
    assert absent.quality[0] is None
    assert np.isfinite(absent.z).all()


def test_draws_say_how_sure_the_matrices_are():
    """A sampled fit widens the test by its own draws."""
    early, late = halves(adjudge.simulate("dawid-skene", 4, **SIZES), change=("j5",))
    run = adjudge.Run(chains=2, warmup=200, draws=1_500)
    result = new_work(adjudge.fit(early, "hybrid-confusion", run=run), late)
    assert result.flagged[late.judges.to_list().index("j5")]
    assert np.isfinite(result.p).all()


def test_a_crowd_that_became_worse_is_said_to_be():
    """All of them: nobody stands out, but the sentence tells."""
    names = [f"j{n}" for n in range(1, 16)]
    early, late = halves(adjudge.simulate("dawid-skene", 5, **{**SIZES, "judges": 25}), change=names)
    result = new_work(adjudge.fit(early, "dawid-skene"), late)
    assert result.centre > 1
    assert "half of all judges are " in result.sentence


def test_a_level_that_is_none_is_refused():
    """And labels that the fit does not know."""
    early, late = halves(adjudge.simulate("dawid-skene", 3, **SIZES))
    fitted = adjudge.fit(early, "dawid-skene")
    with pytest.raises(UsageError, match="level 0 is not between 0 and 1"):
        new_work(fitted, late, level=0)
    with pytest.raises(UsageError, match="are not the fit's '0', '1', '2'"):
        new_work(fitted, adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [7]})))
