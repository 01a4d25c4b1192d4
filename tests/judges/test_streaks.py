"""Streaks of one label, against judges who look and judges who do not."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.judges.streaks import streaks


def crowd(seed, lazy=0):
    """Return judgments of ten judges in order of items; the first says 1 to her last so many items, without a look."""
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
    found = streaks(*crowd(0, lazy=40))
    who = found.judges.to_list().index("j1")
    assert found.flagged[who]
    assert found.beyond[who]
    assert found.length[who] >= 40
    assert found.label[who] == 1
    first = found.table().row(0, named=True)
    assert (first["judge"], first["beyond_habit"]) == ("j1", True)
    assert found.sentence.startswith("1 of 10 judges said the same for longer than their items explain, 1 of them")
    assert f"such as 'j1', {found.length[who]} times '1'." in found.sentence


def test_those_who_look_are_not():
    """Of 200 judges in 20 crowds, hardly one."""
    named = sum(int(streaks(*crowd(seed)).beyond.sum()) for seed in range(20))
    assert named <= 4


def test_one_who_always_says_the_same_has_a_habit():
    """Longer than the items explain; her own matrix expects nothing else."""
    rows = [(f"i{n:03}", judge, n % 2, n) for n in range(60) for judge in "xyz"]
    rows += [(f"i{n:03}", "w", 1, n) for n in range(60)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    found = streaks(adjudge.fit(judgments, "dawid-skene"), judgments)
    who = found.judges.to_list().index("w")
    assert found.length[who] == 60
    assert found.flagged[who]
    assert not found.beyond[who]


def test_few_judgments_say_nothing():
    """Every chance is one, and nobody is named."""
    rows = [("a", "x", 0, 1), ("a", "y", 0, 2), ("b", "x", 0, 3)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    found = streaks(adjudge.fit(judgments, "dawid-skene"), judgments)
    assert found.p.tolist() == [1, 1]
    assert found.sentence == "No judge said the same for longer than her items explain."


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
