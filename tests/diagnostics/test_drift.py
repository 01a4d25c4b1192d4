"""Change points against all places tried one by one, and crowds in which some judges change."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.special import logsumexp

import adjudge
from adjudge.diagnostics.drift import FEWEST, PRIOR, SHORTEST, Grid, change_points, drift
from adjudge.errors import UsageError

SIZES = {"items": 1_200, "judges": 30, "labels": 3, "per_item": 5}
CROWD = np.array([[0.85, 0.15], [0.2, 0.8]])


def series(rng, before, after, half=50):
    """Return what the others say of items, and labels of a judge who is right so often, before and after."""
    truth = rng.integers(2, size=2 * half)
    others = np.where(np.eye(2)[truth] > 0, 0.97, 0.03)
    right = rng.random(2 * half) < np.repeat([before, after], half)
    return others, np.where(right, truth, 1 - truth)


def test_the_chances_are_those_of_all_places():
    """No change, one at every place, and two at every pair of places, stretch by stretch."""
    others, label = series(np.random.default_rng(0), 0.9, 0.4, half=11)
    grid = Grid.of(CROWD, CROWD, others)

    def stretch(a, b):
        chance = [np.prod([others[n] @ matrix[:, label[n]] for n in range(a, b)]) for matrix in grid.matrix]
        return np.log(np.exp(grid.weight) @ chance)

    n = label.size
    position = range(SHORTEST, n - SHORTEST + 1)
    first = [stretch(0, s) + stretch(s, n) for s in position]
    two = [stretch(0, s) + stretch(s, t) + stretch(t, n) for s, t in combinations(position, 2) if t - s >= SHORTEST]
    means = stretch(0, n), logsumexp(first) - np.log(len(first)), logsumexp(two) - np.log(len(two))
    logs = np.log(PRIOR) + np.array(means)
    result = change_points(others, label, grid)
    np.testing.assert_allclose(result.probability, np.exp(logs - logsumexp(logs)), rtol=1e-8)
    share = np.exp(first - logsumexp(first)).cumsum()
    assert (result.low, result.position, result.high) == tuple(
        position[np.searchsorted(share, q)] for q in (0.05, 0.5, 0.95)
    )


def test_a_change_is_found_where_it_is():
    """With the quality before and after; none is found where there is none."""
    rng = np.random.default_rng(1)
    others, label = series(rng, 0.95, 0.4)
    result = change_points(others, label, Grid.of(CROWD, CROWD, others))
    assert result.changed > 0.99
    assert abs(result.position - 50) <= 5
    assert result.low <= result.position <= result.high
    assert result.before.low < 0.95 < result.before.high + 0.03
    assert result.after.low < 0.4 < result.after.high
    others, label = series(rng, 0.85, 0.85)
    assert change_points(others, label, Grid.of(CROWD, CROWD, others)).changed < 0.5


def test_a_judge_who_becomes_lenient_has_changed():
    """Even if the accuracy stays the same: misses become false alarms."""
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=200)
    others = np.where(np.eye(2)[truth] > 0, 0.97, 0.03)
    chance = np.where(np.arange(200) < 100, np.where(truth == 1, 0.6, 0.05), np.where(truth == 1, 0.95, 0.4))
    result = change_points(others, (rng.random(200) < chance).astype(int), Grid.of(CROWD, CROWD, others))
    assert result.changed > 0.99
    assert abs(result.before.mean - result.after.mean) < 0.15


def test_a_judge_who_comes_back_has_changed_twice():
    """The larger change is the one reported."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=180)
    others = np.where(np.eye(3)[truth] > 0, 0.96, 0.02)
    right = rng.random(180) < np.repeat([0.95, 0.2, 0.9], 60)
    matrix = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    result = change_points(others, np.where(right, truth, (truth + 1) % 3), Grid.of(matrix, matrix, others))
    assert result.probability[2] > 0.9
    assert min(abs(result.position - 60), abs(result.position - 120)) <= 10
    assert result.low <= result.position <= result.high


def test_changes_are_found_in_a_crowd_and_few_where_there_are_none():
    """Most of those who begin to guess are named, in order of time; of those who do not, hardly any."""
    result = missed = wrongly = 0
    for seed in range(3):
        crowd = adjudge.simulate("drifting", seed, **SIZES, guessing=0.9)
        drifted = drift(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
        changed = crowd.changed >= 0
        result += (drifted.flagged & changed).sum()
        missed += (~drifted.flagged & changed).sum()
        wrongly += (drifted.flagged & ~changed).sum()
    assert result / (result + missed) > 0.9
    assert wrongly / (3 * 30) < 0.05


def test_the_table_has_those_first_who_changed():
    """A row a judge, in the kind of frame that came in."""
    crowd = adjudge.simulate("drifting", 1, **SIZES, guessing=0.9)
    result = drift(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
    table = result.table
    assert table.height == 30
    assert table["p_changed"].is_sorted(descending=True)
    assert {"place_low", "before_high", "after", "time", "flagged"} <= {*table.columns}
    assert "of 30 judges changed: 'j" in result.sentence
    assert "(about 10% of these are expected to be false alarms)." in result.sentence


def tiny(rows, **more):
    """Return a fit of few judgments, and these."""
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), **more)
    return adjudge.fit(judgments, "dawid-skene"), judgments


def test_few_judgments_say_nothing():
    """Nor does a single item, or a judge of two judgments; all numbers that are given are numbers."""
    result = drift(*tiny([("a", "x", 0, 1), ("a", "y", 1, 2), ("b", "x", 1, 3)]))
    assert result.changes == (None, None)
    assert not result.flagged.any()
    assert result.sentence == f"Changes cannot be detected: no judge has {FEWEST} judgments."
    assert result.table["p_changed"].null_count() == 2
    some = [(f"i{n}", judge, n % 2, n) for n in range(FEWEST) for judge in "xy"] + [("i0", "z", 0, 5)]
    assert drift(*tiny(some)).sentence == (
        f"None of 2 judges changed; 1 judge with fewer than {FEWEST} judgments cannot be tested."
    )


def test_without_times_there_is_no_drift():
    """Unless an order is given."""
    crowd = adjudge.simulate("dawid-skene", 1, items=100, judges=10, labels=2)
    fit = adjudge.fit(crowd.judgments, "dawid-skene")
    with pytest.raises(UsageError) as refused:
        drift(fit, crowd.judgments)
    assert str(refused.value) == (
        "drift is not defined because the judgments have no times: name their column (time=...) or give an order"
    )
    assert len(drift(fit, crowd.judgments, order=np.arange(500)).changes) == 10
    with pytest.raises(UsageError, match="level 0 is not between 0 and 1"):
        drift(fit, crowd.judgments, level=0, order=np.arange(500))


def dated(day, order, weak=4):
    """Return a fit and judgments of 20 judges, some weak in the second half; ``day(n)`` of item n, rows in an order."""
    rng = np.random.default_rng(6)
    rows = []
    for n in range(160):
        for j in rng.permutation(20)[:10]:
            right = rng.random() < (0.2 if j < weak and n >= 80 else 0.9)
            rows.append((f"i{n:03}", f"j{j:02}", n % 2 if right else 1 - n % 2, day(n)))
    rows = rows if order is None else [rows[at] for at in np.random.default_rng(order).permutation(len(rows))]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    return adjudge.fit(judgments, "dawid-skene"), judgments


@pytest.mark.parametrize("parts", [160, 16, 4, 2])
def test_the_order_of_rows_says_nothing(parts):
    """However many judgments have one time: changes are found between times, the same of rows that are shuffled."""
    result = [drift(*dated(lambda n: n * parts // 160, order)) for order in (None, 1, 2)]
    tables = [each.table.sort("judge") for each in result]
    for table in tables[1:]:
        assert table.select("judge", "flagged", "time", "place", "changes").equals(
            tables[0].select("judge", "flagged", "time", "place", "changes")
        )
        np.testing.assert_allclose(table["p_changed"], tables[0]["p_changed"], atol=1e-6)
    named = tables[0].filter("flagged")["judge"].to_list()
    assert set(named) >= {"j00", "j01", "j02", "j03"}
    assert len(named) <= 6
    halfway = pl.col("time").cast(float).is_between(0.4 * parts, 0.6 * parts)
    assert tables[0].filter(pl.col("judge") < "j04").select(halfway.all()).item()


def test_of_one_time_nothing_can_be_said():
    """A file of one day, the second half of it weak, is no change; nor are judges of one time in a longer one."""
    for order in (None, 1):
        result = drift(*dated(lambda _: "2026-05-01", order))
        assert result.changes == (None,) * 20
        assert not result.flagged.any()
        assert (
            result.sentence == "Changes cannot be detected: 20 judges made nearly all of their judgments at one time."
        )
    rows = [(f"i{n}", judge, n % 2, n if judge == "x" else 0) for n in range(FEWEST) for judge in "xyz"]
    assert drift(*tiny(rows)).sentence == (
        "None of 1 judge changed; 2 judges with nearly all judgments at one time cannot be tested."
    )
    alone = [row for row in rows if row[1] != "x"] + [("i0", "w", 0, 5)]
    assert drift(*tiny(alone)).sentence == (
        "Changes cannot be detected: 2 judges made nearly all of their judgments at one time, and the others have too "
        "few judgments."
    )


def test_two_changes_lie_where_time_goes_on():
    """Also where the median of what is possible is elsewhere."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        truth = rng.integers(2, size=120)
        others = np.where(np.eye(2)[truth] > 0, 0.97, 0.03)
        right = rng.random(120) < np.repeat([0.95, 0.2, 0.9], 40)
        position = np.sort(rng.choice(np.arange(SHORTEST, 116), 6, replace=False))
        result = change_points(others, np.where(right, truth, 1 - truth), Grid.of(CROWD, CROWD, others), position)
        assert {result.low, result.position, result.high} <= {*position.tolist()}
