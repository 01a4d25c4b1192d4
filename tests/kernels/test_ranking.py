"""Ranking measures of many draws: each draw as if it were alone, by formulas written out."""

import numpy as np
import pytest

from adjudge.kernels import ranking

WORTH = np.array([0.0, 1.0, 2.0])
ALL = 2**31 - 1


def alone(name, grades, ranked, cut):
    """Return a measure of one draw: grades of all documents, and of the ranked ones in their order."""
    first, total = ranked[:cut], sum(grade >= 1 for grade in grades)
    hits = [grade >= 1 for grade in first]
    if name == "precision":
        return sum(hits) / cut
    if name == "reciprocal_rank":
        return 1 / (hits.index(True) + 1) if any(hits) else 0
    if total == 0:
        return 0
    if name == "recall":
        return sum(hits) / total
    if name == "average_precision":
        return sum(sum(hits[: d + 1]) / (d + 1) for d, hit in enumerate(hits) if hit) / total
    gain = [sum(g / np.log2(d + 2) for d, g in enumerate(row)) for row in (first, sorted(grades, reverse=True)[:cut])]
    return gain[0] / gain[1]


@pytest.mark.parametrize("name", ["average_precision", "reciprocal_rank", "precision", "recall", "normalised_gain"])
@pytest.mark.parametrize("cut", [1, 3, 20, 1000])
def test_every_draw_is_as_if_alone(name, cut):
    """Random labels of 30 documents, 20 of which are ranked."""
    rng = np.random.default_rng(cut)
    code = rng.choice(3, (30, 50), p=[0.8, 0.15, 0.05]).astype(np.uint16)
    code[:, 0] = 0  # a draw without a relevant document
    order = rng.permutation(30)[:20]
    found = getattr(ranking, name)(code, order, WORTH, ranking.held(code, 3), 1.0, cut)
    expected = [alone(name, WORTH[code[:, s]], list(WORTH[code[order, s]]), cut) for s in range(50)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_labels_are_counted():
    """By label and draw, and those that are relevant together."""
    code = np.array([[0, 2], [1, 2], [2, 2]], np.uint16)
    count = ranking.held(code, 3)
    assert count.tolist() == [[1, 0], [1, 0], [1, 3]]
    assert ranking.relevant(WORTH, count, 1.0).tolist() == [2, 3]
    assert ranking.relevant(WORTH, count, 2.0).tolist() == [1, 3]


def test_grades_below_zero_gain_nothing_and_may_be_in_any_order():
    """The best order is by grade, whatever the order of the labels."""
    worth, code = np.array([2.0, -1.0, 1.0]), np.array([[0], [1], [2]], np.uint16)
    best = ranking.normalised_gain(code, np.array([0, 2, 1]), worth, ranking.held(code, 3), 1.0, ALL)
    worse = ranking.normalised_gain(code, np.array([1, 2, 0]), worth, ranking.held(code, 3), 1.0, ALL)
    assert best[0] == pytest.approx(1)
    assert worse[0] == pytest.approx((1 / np.log2(3) + 1) / (2 + 1 / np.log2(3)))


def test_nothing_ranked_is_zero():
    """A run that returns nothing has 0 everywhere."""
    code = np.ones((3, 2), np.uint16)
    for name in ("average_precision", "reciprocal_rank", "precision", "recall", "normalised_gain"):
        measure = getattr(ranking, name)
        assert measure(code, np.empty(0, np.int64), WORTH, ranking.held(code, 3), 1.0, 5).tolist() == [0, 0]
