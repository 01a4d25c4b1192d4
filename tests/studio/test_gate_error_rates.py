"""How often gates err, against plain enumeration."""

from itertools import permutations, product
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.errors import UsageError
from adjudge.studio.gate_error_rates import MOST, false_accepts, false_refuse, frontier, patterns, solve, solve_sets
from adjudge.studio.gates import Answer, problems, work_verdict
from adjudge.studio.settings import Gate

GATE = st.builds(
    Gate,
    binary=st.floats(0, 1),
    ndcg=st.floats(0, 1),
    ndcg_of=st.sampled_from(["printed", "attainable"]),
    seconds=st.just(0.0),
)


def chance_to_pass(relevance, grades, gate):
    """Return how often somebody who says this and ranks at random, but compatibly, passes: by trying all rankings."""
    tried = passed = 0
    for ranks in permutations(range(1, len(grades) + 1)):
        answers = [Answer(result, True, rank, 9.0) for result, rank in zip(relevance, ranks, strict=True)]
        if not problems(answers):
            tried += 1
            passed += work_verdict([(answers, grades)], [], gate).passed
    return passed / tried


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), GATE, st.floats(0.01, 1))
def test_rates_are_those_of_trying_everything(grades, gate, accuracy):
    """Every relevance, every compatible ranking, through the gate that judges meet."""
    refused, by_coin = 1.0, 0.0
    for relevance in product((0, 1), repeat=len(grades)):
        passing = chance_to_pass(relevance, grades, gate)
        chance = 1.0
        for result, grade in zip(relevance, grades, strict=True):
            chance *= accuracy if result == (grade >= 1) else 1 - accuracy
        refused -= chance * passing
        by_coin += passing / 2 ** len(grades)
    used = false_accepts(grades, gate)
    assert false_refuse(grades, gate, accuracy) == pytest.approx(refused, abs=1e-9)
    assert used["random"] == pytest.approx(by_coin, abs=1e-9)
    assert used["all-relevant"] == pytest.approx(chance_to_pass([1] * len(grades), grades, gate))
    assert used["all-irrelevant"] == pytest.approx(chance_to_pass([0] * len(grades), grades, gate))


def test_the_order_of_documents_does_not_matter():
    """Only how many there are of each grade."""
    assert false_accepts([2, 0, 1, 0], Gate()) == false_accepts([0, 0, 1, 2], Gate())


def test_every_way_to_judge_is_there_once():
    """(n0 + 1)(n1 + 1)(n2 + 1) of them, each with the orders compatible with it."""
    result = patterns((2, 1, 1), "printed")
    assert len({pattern.relevant for pattern in result}) == len(result) == 12
    assert {pattern.relevant: len(pattern.scores) for pattern in result}[0, 1, 1] == 2  # both orders above, one below
    assert all(isnan(score) for pattern in patterns((3, 0, 0), "printed") for score in pattern.scores)


@pytest.mark.parametrize(
    ("grades", "what"),
    [
        ([0] * (MOST + 1), "error rates need a gold set of 1 to 10 documents, but there are 11"),
        ([], "error rates need a gold set of 1 to 10 documents, but there are 0"),
        ([0, 3], "gold grade is 3, expected 0, 1 or 2"),
    ],
)
def test_what_cannot_be_worked_out_is_refused(grades, what):
    """With the reason."""
    with pytest.raises(UsageError, match=what):
        false_refuse(grades, Gate(), 0.9)


GRADES = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(GRADES, st.floats(0, 0.9), st.floats(0.5, 1), st.sampled_from(["printed", "attainable"]))
def test_the_wish_is_kept_and_nothing_higher_keeps_it(grades, wanted, accuracy, ndcg_of):
    """The rates told are those of the gate, and a higher NDCG beside the same binary threshold breaks the wish."""
    gate = Gate(ndcg_of=ndcg_of)
    result = solve(grades, wanted, accuracy, gate)
    solved = Gate(binary=result.binary, ndcg=result.ndcg, ndcg_of=ndcg_of)
    assert result.false_refuse == false_refuse(grades, solved, accuracy) <= wanted + 1e-9
    assert result.false_accept == false_accepts(grades, solved)
    assert result.binary <= gate.binary
    counts = tuple(grades.count(grade) for grade in (0, 1, 2))
    scores = {score for pattern in patterns(counts, ndcg_of) for score in pattern.scores}
    higher = [score for score in scores if score > result.ndcg + 1e-3]
    assert all(
        false_refuse(grades, Gate(binary=result.binary, ndcg=score, ndcg_of=ndcg_of), accuracy) > wanted
        for score in higher
    )
    if result.binary < gate.binary:
        assert false_refuse(grades, Gate(binary=gate.binary, ndcg=0.0, ndcg_of=ndcg_of), accuracy) > wanted


def test_the_binary_threshold_stays_where_it_may():
    """A judge right 95 % of the time is refused in 6 % of cases by the printed gate: 10 % leave room for the ranks."""
    result = solve([0, 0, 1, 2, 2], 0.1, 0.95, Gate())
    assert result.binary == 0.85
    assert result.ndcg > 0.62
    assert result.false_refuse <= 0.1
    assert false_refuse([0, 0, 1, 2, 2], Gate(ndcg=result.ndcg + 0.001), 0.95) > 0.1


def test_the_binary_threshold_goes_down_where_it_must():
    """A judge right 85 % of the time is refused more often than 1 in 10 by .85 alone."""
    result = solve([0, 0, 1, 2, 2], 0.1, 0.85, Gate())
    assert result.binary == 0.7666  # 46 of 60 points, cut
    assert result.false_refuse <= 0.1


def test_thresholds_for_several_sets_keep_the_wish_on_each():
    """And tell the worst that happens on any."""
    sets = [[0, 0, 1, 2, 2], [0, 2, 2, 2, 2], [0, 0, 0, 0, 1]]
    result = solve_sets(sets, 0.1, 0.95, Gate())
    rates = [false_refuse(grades, Gate(binary=result.binary, ndcg=result.ndcg), 0.95) for grades in sets]
    assert max(rates) == result.false_refuse <= 0.1
    assert result.binary == min(solve(grades, 0.1, 0.95, Gate()).binary for grades in sets)


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
    with pytest.raises(UsageError, match="the rate must be at least 0 and below 1, the accuracy above 0 and at most 1"):
        solve([0, 1], wanted, accuracy, Gate())


def test_no_gold_set_has_no_thresholds():
    """Said rather than a minimum of nothing."""
    with pytest.raises(UsageError, match="there is no gold set to solve the thresholds for"):
        solve_sets([], 0.1, 0.9, Gate())
