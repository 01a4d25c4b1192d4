"""The gates of a campaign."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import UsageError
from adjudge.studio.gates import (
    MOST,
    Answer,
    Criterion,
    Problem,
    Verdict,
    active_seconds,
    attainable_ndcg,
    binary_score,
    binary_share,
    dense_ranks,
    gated_ndcg,
    ndcg,
    problems,
    qualification_verdict,
    work_verdict,
)

GRADES = st.lists(st.integers(0, 2), min_size=1, max_size=6)


@dataclass(frozen=True)
class Gate:
    """The paper's gate."""

    binary: float = 0.85
    ndcg: float = 0.62
    ndcg_of: str = "printed"
    seconds: float = 6.0


def told(relevance, ranks, seconds=10.0):
    """Return answers that say this of a set."""
    return [Answer(result, True, rank, seconds) for result, rank in zip(relevance, ranks, strict=True)]


def test_a_compatible_set_has_no_problem():
    """Relevant documents first, ranks 1 to 5, each once."""
    assert problems(told([1, 0, 1, 0, 0], [2, 3, 1, 5, 4])) == []


def test_what_is_not_told_or_not_ranked_is_named():
    """Each document by itself, first what is not told."""
    answers = [Answer(None, False, 1, 0), Answer(1, True, None, 0), Answer(0, True, 9, 0)]
    assert problems(answers) == [Problem("untold", (0,)), Problem("unranked", (1,)), Problem("unranked", (2,))]


def test_the_same_rank_twice_names_both_documents():
    """And is not also an error of order."""
    assert problems(told([0, 1, 1], [2, 2, 1])) == [Problem("same-rank", (0, 1))]


def test_an_irrelevant_document_above_a_relevant_one_names_the_relevant_one_first():
    """Whichever comes first on the page."""
    assert problems(told([0, 1], [1, 2])) == [Problem("order", (1, 0))]
    assert problems(told([1, 0], [2, 1])) == [Problem("order", (0, 1))]


def test_who_cannot_tell_ranks_the_document_anywhere():
    """Above, between or below; but somewhere."""
    for ranks in permutations((1, 2, 3)):
        wrong = ranks[0] > ranks[1]
        assert [p.kind for p in problems(told([1, 0, None], ranks))] == (["order"] if wrong else [])
    assert problems(told([1, 0, None], [1, 2, None])) == [Problem("unranked", (2,))]


def test_a_judgment_not_told_yet_is_not_held_to_its_order():
    """What the page has filled in beforehand is no answer."""
    answers = [Answer(0, False, 1, 0), Answer(1, True, 2, 0)]
    assert problems(answers) == [Problem("untold", (0,))]


def test_a_page_is_never_told_more_problems_than_it_can_show():
    """Eight documents of one rank have 28 pairs."""
    result = problems(told([1] * 8, [1] * 8))
    assert len(result) == MOST
    assert result == [Problem("same-rank", (0, j)) for j in range(1, 8)] + [
        Problem("same-rank", (1, j)) for j in (2, 3, 4)
    ]


@given(st.lists(st.tuples(st.sampled_from([0, 1, None]), st.integers(0, 6)), min_size=1, max_size=5))
def test_no_problem_is_the_papers_rule(rows):
    """Ranks 1..n each once, and every irrelevant document below every relevant one; and nothing else."""
    ranks = [rank for _, rank in rows]
    strict = sorted(ranks) == list(range(1, len(rows) + 1))
    relevant, irrelevant = ([rank for result, rank in rows if result == label] for label in (1, 0))
    assert (problems(told(*zip(*rows, strict=True))) == []) == (
        strict and max(relevant, default=0) < min(irrelevant, default=99)
    )


@pytest.mark.parametrize(("said", "points"), [(0, (15, 5, 0)), (1, (10, 12, 9)), (None, (10, 5, 0))])
def test_points_are_the_printed_ones(said, points):
    """Over the best possible: 15, 12, 9; who cannot tell has the wrong answer's."""
    for grade, best in enumerate((15, 12, 9)):
        assert binary_share([said], [grade]) == Fraction(points[grade], best)


def test_fifty_one_of_sixty_points_pass():
    """.85 exactly, and nothing below it."""
    grades, one_missed = [0, 0, 1, 2, 2], [0, 0, 1, 1, 0]
    assert binary_share(one_missed, grades) == Fraction(51, 60)
    gold = (told(one_missed, [4, 5, 2, 1, 3]), grades)
    assert work_verdict([gold], [], Gate()).criteria[0] == Criterion("binary", 0.85, 0.85, True)
    assert not work_verdict([gold], [], Gate(binary=0.8500000000000001)).criteria[0].passed


def test_a_mean_that_is_exactly_the_threshold_passes():
    """None and a fifth of the points are a tenth, however often they are added up."""
    gold = [(told([0] * 4, range(1, 5)), [2] * 4), (told([1, 0, 0, 0, 0], range(1, 6)), [2] * 5)]
    assert work_verdict(gold, [], Gate(binary=0.1)).criteria[0].passed
    for times in range(2, 30):
        assert work_verdict(gold * times, [], Gate(binary=0.1)).criteria[0].passed


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=6), st.integers(1, 7))
def test_the_binary_gate_decides_by_exact_arithmetic(rows, times):
    """However many sets of the same score the mean is of."""
    relevance, grades = zip(*rows, strict=True)
    gold = [(told(relevance, range(1, len(rows) + 1)), grades)] * times
    passed = work_verdict(gold, [], Gate()).criteria[0].passed
    assert passed == (binary_share(relevance, grades) >= Fraction(17, 20))


def test_dense_ranks_tie_and_leave_no_gap():
    """As the paper writes them."""
    assert dense_ranks([1, 2, 2, 0, 1]) == [2, 1, 1, 3, 2]
    assert dense_ranks([0, 2]) == [2, 1]
    assert dense_ranks([1, 1]) == [1, 1]


@given(GRADES)
def test_the_attainable_are_the_extremes_of_all_strict_rankings(grades):
    """By trying them all."""
    scores = [ndcg(ranks, grades) for ranks in permutations(range(1, len(grades) + 1))]
    worst, best = attainable_ndcg(grades)
    if not any(grades):
        assert isnan(worst)
        assert isnan(best)
    else:
        assert (worst, best) == pytest.approx((min(scores), max(scores)))


@given(GRADES.filter(any))
def test_over_the_attainable_the_best_ranking_has_one(grades):
    """Whatever is tied."""
    order = sorted(range(len(grades)), key=lambda i: -grades[i])
    ranks = [1 + order.index(i) for i in range(len(grades))]
    assert gated_ndcg(ranks, grades, "attainable") == 1
    assert gated_ndcg(ranks, grades, "printed") == attainable_ndcg(grades)[1] <= 1


def test_another_way_to_divide_is_refused():
    """With the two there are."""
    with pytest.raises(UsageError, match="ndcg_of is 'best', expected 'printed' or 'attainable'"):
        gated_ndcg([1], [1], "best")


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: binary_score([1], [1, 0]), "1 answers do not fit 2 gold grades; each document needs both"),
        (lambda: ndcg([], []), "0 answers do not fit 0 gold grades"),
        (lambda: ndcg([1], [3]), "gold grade is 3, expected 0, 1 or 2"),
        (lambda: binary_score([1], [-1]), "gold grade is -1, expected 0, 1 or 2"),
        (lambda: work_verdict([(told([1], [None]), [1])], [9], Gate()), "a gold set is not completely ranked"),
    ],
)
def test_what_cannot_be_scored_is_refused(call, what):
    """With the reason."""
    with pytest.raises(UsageError, match=what):
        call()


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6), st.floats(-10, 1e6))
def test_a_page_cannot_claim_more_time_than_has_passed(claimed, elapsed):
    """Nor less than none; what is claimed honestly is left as it is."""
    seconds = active_seconds(claimed, elapsed)
    assert len(seconds) == len(claimed)
    assert all(s >= 0 for s in seconds)
    assert sum(seconds) <= max(elapsed, 0) * (1 + 1e-9)


def test_claims_are_scaled_in_proportion():
    """A quarter of the claim where a quarter of the time has passed."""
    assert active_seconds([10, 30], 10) == [2.5, 7.5]
    assert active_seconds([1, 3], 10) == [1, 3]
    assert active_seconds([nan, 3], 3) == [0, 3]


def test_work_passes_by_every_criterion():
    """Binary, NDCG, time, in this order, with what was wanted and what was got."""
    verdict = work_verdict([(told([1, 1, 1, 0, 1], [3, 1, 2, 5, 4]), [1, 2, 2, 0, 1])], [6.0, 30.0], Gate())
    assert verdict.passed
    assert [c.name for c in verdict.criteria] == ["binary", "ndcg", "time"]
    assert [c.threshold for c in verdict.criteria] == [0.85, 0.62, 6.0]
    assert [c.score for c in verdict.criteria] == pytest.approx([1, ndcg([3, 1, 2, 5, 4], [1, 2, 2, 0, 1]), 6])


def test_one_document_judged_too_fast_refuses_the_whole_assignment():
    """Though its gold set is perfect."""
    verdict = work_verdict([(told([1, 0], [1, 2]), [2, 0])], [60.0, 5.99, 60.0], Gate())
    assert not verdict.passed
    assert [c.passed for c in verdict.criteria] == [True, True, False]
    assert verdict.criteria[-1] == Criterion("time", 6.0, 5.99, False)


def test_of_several_gold_sets_the_means_count():
    """One bad set is made good by another."""
    good, bad = (told([1, 0], [1, 2]), [2, 0]), (told([0, 0], [2, 1]), [2, 0])
    alone = work_verdict([bad], [], Gate())
    both = work_verdict([good, bad], [], Gate(binary=0.8))
    assert [c.passed for c in alone.criteria] == [False, True]
    assert [c.score for c in both.criteria] == pytest.approx([(1 + 15 / 24) / 2, (1 + 1 / 1.584962500721156) / 2])
    assert both.passed


def test_a_set_without_a_relevant_document_has_no_ndcg_to_fail_by():
    """0/0 refuses nobody and drags no mean down."""
    nothing = (told([0, 0], [1, 2]), [0, 0])
    assert [c.name for c in work_verdict([nothing], [9], Gate()).criteria] == ["binary", "time"]
    both = work_verdict([nothing, (told([1, 0], [1, 2]), [2, 0])], [9], Gate())
    assert [c.score for c in both.criteria] == [1, 1, 9]


def test_who_cannot_tell_on_gold_is_scored_as_wrong():
    """And so does what is still untold."""
    for answer in (Answer(None, True, 1, 9), Answer(1, False, 1, 9)):
        assert work_verdict([([answer], [2])], [9], Gate()).criteria[0].score == 0


def test_the_best_ranking_reaches_the_best_attainable_as_threshold():
    """Sums of logarithms may differ in their last digit."""
    for grades in product(range(3), repeat=5):
        if any(grades):
            best = attainable_ndcg(grades)[1]
            order = sorted(range(5), key=lambda i: (-grades[i], -i))
            ranks = [1 + order.index(i) for i in range(5)]
            verdict = work_verdict([(told([1] * 5, ranks), grades)] * 7, [], Gate(binary=0, ndcg=best))
            assert verdict.passed


@pytest.mark.parametrize(("said", "right"), [([1, 0, 1, 1], 4), ([1, 0, 1, None], 3), ([0, 1, None, 1], 1)])
def test_qualification_counts_what_is_right(said, right):
    """Grades 1 and 2 are relevant; who cannot tell is not right."""
    verdict = qualification_verdict(list(zip(said, [1, 0, 2, 2], strict=True)), 3)
    assert verdict == Verdict(right >= 3, (Criterion("qualification", 3.0, right, right >= 3),))
