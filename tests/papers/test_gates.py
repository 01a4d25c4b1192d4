"""Paper 002, section 1.2.5: the printed example of the gates, and the traps in them."""

import runpy
from math import isnan
from pathlib import Path

import pytest

from adjudge.studio.gate_designer import compositions, design, solve
from adjudge.studio.gates import attainable_ndcg, binary_score, dense_ranks, ndcg
from adjudge.studio.settings import Gate


def test_the_printed_example_of_ndcg():
    """Grades 1, 2, 2, 0, 1 and ranks 1 to 5: DCG, DCV and their ratio to the last printed digit."""
    grades, ranks = [1, 2, 2, 0, 1], [1, 2, 3, 4, 5]
    dcv = ndcg(ranks, grades) ** -1 * 4.7796420679
    assert dense_ranks(grades) == [2, 1, 1, 3, 2]
    assert dcv == pytest.approx(7.2618595071429, abs=1e-9)
    assert ndcg(ranks, grades) == pytest.approx(0.6581843208681687, abs=1e-15)


def test_the_printed_points():
    """Judged 0: 15, 5, 0; judged 1: 10, 12, 9; over the best possible."""
    assert binary_score([0, 0, 0], [0, 1, 2]) == (15 + 5 + 0) / (15 + 12 + 9)
    assert binary_score([1, 1, 1], [0, 1, 2]) == (10 + 12 + 9) / (15 + 12 + 9)


@pytest.mark.parametrize("grade", [1, 2])
def test_nobody_passes_on_five_equal_grades(grade):
    """The ideal gives all five rank 1, the judge must give 1 to 5: .590 at best."""
    worst, best = attainable_ndcg([grade] * 5)
    assert worst == best == pytest.approx(0.590, abs=5e-4)
    assert best < 0.62


def test_five_irrelevant_documents_have_no_ndcg():
    """0/0."""
    assert all(map(isnan, attainable_ndcg([0] * 5)))
    assert isnan(ndcg([1, 2, 3, 4, 5], [0] * 5))


def test_one_composition_lets_every_ranking_pass():
    """Of the grades 1, 1, 1, 1, 2 even the worst ranking is above the gate."""
    assert attainable_ndcg([1, 1, 1, 1, 2])[0] == pytest.approx(0.674, abs=5e-4)


def test_the_gate_refuses_careful_judges_by_composition():
    """Who is right 85 % of the time is refused in 16 to 66 % of cases, on the sets that can be passed at all."""
    designs = [design(grades, Gate()) for grades in compositions(5)]
    refused = [result.false_refuse[0.85] for result in designs if result.feasible]
    assert len(refused) == 18
    assert (min(refused), max(refused)) == pytest.approx((0.16, 0.66), abs=0.005)


def test_the_page_on_gates_has_these_figures():
    """The tables of docs/how-to/gates.md are those that its script writes now, and its example says what it says."""
    root = Path(__file__).parents[2]
    text = (root / "docs" / "how-to" / "gates.md").read_text("utf-8")
    assert runpy.run_path(str(root / "studies" / "benchmarks" / "gates.py"))["page"](text) == text
    assert design([1] * 5, Gate()).reason in text
    assert f"# {solve([0, 0, 1, 2, 2], 0.1, 0.95, Gate()).ndcg}" in text
