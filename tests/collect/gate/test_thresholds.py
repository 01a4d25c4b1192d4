"""Thresholds that are solved for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.collect.gate.rates import false_accepts, false_refuse, ways
from adjudge.collect.gate.thresholds import frontier, solve, solve_sets
from adjudge.collect.settings import Gate
from adjudge.errors import UsageError

GRADES = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(GRADES, st.floats(0, 0.9), st.floats(0.5, 1), st.sampled_from(["printed", "attainable"]))
def test_the_wish_is_kept_and_nothing_higher_keeps_it(grades, wanted, accuracy, ndcg_of):
    """The rates told are those of the gate, and a higher NDCG beside the same binary threshold breaks the wish."""
    gate = Gate(ndcg_of=ndcg_of)
    found = solve(grades, wanted, accuracy, gate)
    solved = Gate(found.binary, found.ndcg, ndcg_of)
    assert found.false_refuse == false_refuse(grades, solved, accuracy) <= wanted + 1e-9
    assert found.false_accept == false_accepts(grades, solved)
    assert found.binary <= gate.binary
    counts = tuple(grades.count(grade) for grade in (0, 1, 2))
    scores = {score for way in ways(counts, ndcg_of) for score in way.scores}
    higher = [score for score in scores if score > found.ndcg + 1e-3]
    assert all(false_refuse(grades, Gate(found.binary, score, ndcg_of), accuracy) > wanted for score in higher)
    if found.binary < gate.binary:
        assert false_refuse(grades, Gate(gate.binary, 0.0, ndcg_of), accuracy) > wanted


def test_the_binary_threshold_stays_where_it_may():
    """A judge right 95 % of the time is refused in 6 % of cases by the printed gate: 10 % leave room for the ranks."""
    found = solve([0, 0, 1, 2, 2], 0.1, 0.95, Gate())
    assert found.binary == 0.85
    assert found.ndcg > 0.62
    assert found.false_refuse <= 0.1
    assert false_refuse([0, 0, 1, 2, 2], Gate(ndcg=found.ndcg + 0.001), 0.95) > 0.1


def test_the_binary_threshold_goes_down_where_it_must():
    """A judge right 85 % of the time is refused more often than 1 in 10 by .85 alone."""
    found = solve([0, 0, 1, 2, 2], 0.1, 0.85, Gate())
    assert found.binary == 0.7666  # 46 of 60 points, cut
    assert found.false_refuse <= 0.1


def test_thresholds_for_several_sets_keep_the_wish_on_each():
    """And tell the worst that happens on any."""
    sets = [[0, 0, 1, 2, 2], [0, 2, 2, 2, 2], [0, 0, 0, 0, 1]]
    found = solve_sets(sets, 0.1, 0.95, Gate())
    rates = [false_refuse(grades, Gate(found.binary, found.ndcg), 0.95) for grades in sets]
    assert max(rates) == found.false_refuse <= 0.1
    assert found.binary == min(solve(grades, 0.1, 0.95, Gate()).binary for grades in sets)


def test_the_frontier_trades_one_threshold_for_the_other():
    """Binary falls, NDCG does not; every row keeps the wish, and the first has the strictest binary threshold."""
    rows = frontier([0, 0, 1, 2, 2], 0.1, 0.85, Gate())
    assert [row.binary for row in rows] == sorted((row.binary for row in rows), reverse=True)
    assert [row.ndcg for row in rows] == sorted(row.ndcg for row in rows)
    assert all(row.false_refuse <= 0.1 for row in rows)
    assert rows[0] == solve([0, 0, 1, 2, 2], 0.1, 0.85, Gate())


@pytest.mark.parametrize(("wanted", "accuracy"), [(1.0, 0.9), (-0.1, 0.9), (0.1, 0.0), (0.1, 1.1)])
def test_what_cannot_be_wished_is_refused(wanted, accuracy):
    """With the limits."""
    with pytest.raises(UsageError, match="the rate is from 0 to below 1, the accuracy above 0 and at most 1"):
        solve([0, 1], wanted, accuracy, Gate())


def test_no_gold_set_has_no_thresholds():
    """Said rather than a minimum of nothing."""
    with pytest.raises(UsageError, match="there is no gold set to solve the thresholds for"):
        solve_sets([], 0.1, 0.9, Gate())
