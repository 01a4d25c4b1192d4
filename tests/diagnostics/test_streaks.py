"""Streaks of one label, against judges who look and judges who do not."""

from itertools import groupby, product

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.streaks import _certain_streaks, longest, streak_tail, streaks
from adjudge.errors import UsageError


def crowd(seed, lazy=0):
    """Return judgments of ten judges in order of items; the first answers 1 on their last items without looking."""
    drawn = adjudge.simulate("dawid-skene", seed, items=300, judges=10, labels=2, accuracy=0.85)
    table = pl.DataFrame(
        {
            "item": drawn.judgments.items.gather(drawn.judgments.item()),
            "judge": drawn.judgments.judges.gather(drawn.judgments.judge),
            "label": drawn.judgments.label.astype(int),
            "time": drawn.judgments.item(),
        }
    )
    last = table.filter(pl.col("judge") == "j1")["time"].sort().tail(lazy).to_list() if lazy else []
    stopped = (pl.col("judge") == "j1") & pl.col("time").is_in(last)
    judgments = adjudge.read(table.with_columns(label=pl.when(stopped).then(1).otherwise("label")))
    return adjudge.fit(judgments, "dawid-skene"), judgments


def test_one_who_stops_looking_is_found():
    """With the label, how often, and since when."""
    result = streaks(*crowd(0, lazy=40))
    who = result.judges.to_list().index("j1")
    assert result.flagged[who]
    assert result.beyond[who]
    assert result.length[who] >= 40
    assert result.label[who] == 1
    first = result.table.row(0, named=True)
    assert (first["judge"], first["beyond_habit"]) == ("j1", True)
    assert result.sentence.startswith("1 of 10 judges repeated a label for longer than their items explain, 1 of them")
    assert f"the most surprising is 'j1' with {result.length[who]} times '1'." in result.sentence


def test_those_who_look_are_not():
    """Of 200 judges in 20 crowds, hardly one."""
    named = sum(int(streaks(*crowd(seed)).beyond.sum()) for seed in range(20))
    assert named <= 4


def test_one_who_always_says_the_same_has_a_habit():
    """Longer than the items explain; the judge's own matrix expects exactly this."""
    rows = [(f"i{n:03}", judge, n % 2, n) for n in range(60) for judge in "xyz"]
    rows += [(f"i{n:03}", "w", 1, n) for n in range(60)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    result = streaks(adjudge.fit(judgments, "dawid-skene"), judgments)
    who = result.judges.to_list().index("w")
    assert result.length[who] == 60
    assert result.flagged[who]
    assert not result.beyond[who]


def test_few_judgments_say_nothing():
    """Every chance is one, and nobody is named."""
    rows = [("a", "x", 0, 1), ("a", "y", 0, 2), ("b", "x", 0, 3)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    result = streaks(adjudge.fit(judgments, "dawid-skene"), judgments)
    assert result.p.tolist() == [1, 1]
    assert result.sentence == "No judge repeated a label for longer than their items explain."


def test_what_cannot_be_is_refused():
    """No times, and a level that is none."""
    fit, judgments = crowd(1)
    with pytest.raises(UsageError, match=r"level 2 is not between 0 and 1"):
        streaks(fit, judgments, level=2)
    untimed = adjudge.simulate("dawid-skene", 1, items=50, judges=5, labels=2).judgments
    fit = adjudge.fit(untimed, "dawid-skene")
    with pytest.raises(UsageError, match="streaks are not defined because the judgments have no times: name their col"):
        streaks(fit, untimed)
    assert streaks(fit, untimed, order=np.arange(250)).length.min() >= 1


def sorted_by_label(order, times):
    """Return a fit and judgments of 60 items by four judges, a file sorted by label, its rows then in an order."""
    rng = np.random.default_rng(3)
    rows = [(f"i{n:03}", judge, (n % 2) ^ int(rng.random() < 0.15), times(n)) for n in range(60) for judge in "wxyz"]
    rows.sort(key=lambda row: row[2])
    rows = [rows[at] for at in np.random.default_rng(order).permutation(240)] if order else rows
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    return adjudge.fit(judgments, "dawid-skene"), judgments


@pytest.mark.parametrize("parts", [60, 10, 1])
def test_the_order_of_rows_says_nothing(parts):
    """A file sorted by label has no streaks for that; what is found is the same of rows that are shuffled."""
    result = [streaks(*sorted_by_label(order, lambda n: n * parts // 60)) for order in (0, 1, 2)]
    tables = [each.table.sort("judge") for each in result]
    assert not tables[0]["flagged"].any()
    for table in tables[1:]:
        assert table.select("judge", "label", "streak", "since").equals(
            tables[0].select("judge", "label", "streak", "since")
        )
        np.testing.assert_allclose(table["p"], tables[0]["p"], atol=1e-6)
    once = "; 4 judges have judgments of one time only, which are a streak only if all are equal" * (parts == 1)
    assert result[0].sentence == f"No judge repeated a label for longer than their items explain{once}."


def test_a_streak_goes_through_one_time_if_all_are_alike():
    """It is so long in whatever order; where they are not, it ends."""
    assert longest(_certain_streaks(np.array([0, 1, 1, 1, 1, 0, 1]), np.array([1, 2, 2, 3, 3, 4, 4]))) == (4, 1)
    assert longest(_certain_streaks(np.array([0, 0, 1, 1, 1]), np.ones(5)))[0] == 1
    assert longest(_certain_streaks(np.empty(0, np.int64), np.empty(0))) == (0, 0)


def test_the_longest_streak_is_found():
    """The first of equal ones."""
    assert longest(np.array([0, 1, 1, 0, 0, 2])) == (2, 1)
    assert longest(np.array([3])) == (1, 0)
    assert longest(np.array([], int)) == (0, 0)


@pytest.mark.parametrize("length", range(1, 8))
def test_the_tail_is_that_of_all_sequences(length):
    """Every sequence of six labels, by its chance."""
    chance = np.random.default_rng(length).dirichlet(np.ones(3), 6)
    complete = 0.0
    for result in product(range(3), repeat=6):
        if max(len(list(group)) for _, group in groupby(result)) >= length:
            complete += np.prod(chance[range(6), result])
    assert streak_tail(chance, length) == pytest.approx(complete, abs=1e-12)


def test_nobody_who_says_nothing_has_a_streak():
    """Not even a short one."""
    assert streak_tail(np.empty((0, 2)), 1) == 0
