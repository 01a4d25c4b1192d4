"""Ranking measures of many draws: each draw as if it were alone, by formulas written out."""

from itertools import permutations, product

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.metrics import ranking
from adjudge.metrics.ranking import (
    KINDS,
    NO_CUTOFF,
    check_level,
    parse_measure,
    parse_measures,
    pool_documents,
    topic_values,
    values,
    without_relevant,
)

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
    result = getattr(ranking, name)(code, order, WORTH, ranking.label_counts(code, 3), 1.0, cut)
    expected = [alone(name, WORTH[code[:, s]], list(WORTH[code[order, s]]), cut) for s in range(50)]
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_labels_are_counted():
    """By label and draw, and those that are relevant together."""
    code = np.array([[0, 2], [1, 2], [2, 2]], np.uint16)
    count = ranking.label_counts(code, 3)
    assert count.tolist() == [[1, 0], [1, 0], [1, 3]]
    assert ranking.relevant(WORTH, count, 1.0).tolist() == [2, 3]
    assert ranking.relevant(WORTH, count, 2.0).tolist() == [1, 3]


def test_grades_below_zero_gain_nothing_and_may_be_in_any_order():
    """The best order is by grade, whatever the order of the labels."""
    worth, code = np.array([2.0, -1.0, 1.0]), np.array([[0], [1], [2]], np.uint16)
    best = ranking.normalised_gain(code, np.array([0, 2, 1]), worth, ranking.label_counts(code, 3), 1.0, ALL)
    worse = ranking.normalised_gain(code, np.array([1, 2, 0]), worth, ranking.label_counts(code, 3), 1.0, ALL)
    assert best[0] == pytest.approx(1)
    assert worse[0] == pytest.approx((1 / np.log2(3) + 1) / (2 + 1 / np.log2(3)))


def test_nothing_ranked_is_zero():
    """A run that returns nothing has 0 everywhere."""
    code = np.ones((3, 2), np.uint16)
    for name in ("average_precision", "reciprocal_rank", "precision", "recall", "normalised_gain"):
        kernel = getattr(ranking, name)
        assert kernel(code, np.empty(0, np.int64), WORTH, ranking.label_counts(code, 3), 1.0, 5).tolist() == [0, 0]


GRADES = {"d1": 0, "d2": 1, "d3": 0, "d4": 1, "d5": 2}


@pytest.mark.parametrize(
    ("text", "name", "cut"),
    [
        ("MAP", "MAP", NO_CUTOFF),
        ("ap", "MAP", NO_CUTOFF),
        ("rr", "MRR", NO_CUTOFF),
        (" ndcg@010 ", "nDCG@10", 10),
        ("NDCG", "nDCG", NO_CUTOFF),
        ("p@1", "P@1", 1),
        ("R@100", "R@100", 100),
    ],
)
def test_a_measure_is_read_as_it_is_said(text, name, cut):
    """In capitals or not, under any of its names."""
    result = parse_measure(text)
    assert (result.name, result.cut) == (name, cut)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "bpref",
            "there is no measure 'bpref': measures are MAP, MRR, nDCG, nDCG@10, P@10, R@100, with any number after @",
        ),
        ("nDCG@", "there is no measure 'nDCG@': measures are"),
        ("nDCG@-1", "there is no measure 'nDCG@-1': measures are"),
        ("P", "measure 'P' needs a cutoff, such as P@10"),
        ("R", "measure 'R' needs a cutoff, such as R@10"),
        ("P@0", "measure 'P@0' has the cutoff 0: the cutoff is 1 or more"),
    ],
)
def test_what_is_no_measure_is_refused(text, said):
    """With the list, or with what is missing."""
    with pytest.raises(UsageError) as refused:
        parse_measure(text)
    assert str(refused.value).startswith(said)


def test_measures_are_a_list_or_text():
    """Each once, in the order given; none is refused."""
    assert [entry.name for entry in parse_measures("map, nDCG@10,AP")] == ["MAP", "nDCG@10"]
    assert [entry.name for entry in parse_measures(["P@5"])] == ["P@5"]
    with pytest.raises(UsageError, match="no measure is named: measures are MAP"):
        parse_measures(" , ")


def test_every_kind_says_what_it_is():
    """For help texts."""
    assert all(kind.summary and kind.name.lower() == name for name, kind in KINDS.items())


def test_the_oracle_of_the_specification():
    """Five documents, scores 1, 1, 1, .5, .5: ties by the document's name, the last first."""
    pool = pool_documents("1", {d: n for n, d in enumerate(GRADES)}, list(GRADES), [["d3", "d2", "d1", "d5", "d4"]])
    code = np.array(list(GRADES.values()), np.uint16)[:, None]
    result = values(pool.orders, code, np.arange(3.0), parse_measures("AP,RR,nDCG,nDCG@3"))
    np.testing.assert_allclose(result[0, :, 0], [0.533333333333, 0.5, 0.6001845537, 0.2015151419], atol=5e-11)


def test_what_only_runs_know_comes_last():
    """A pool has the judged documents first."""
    pool = pool_documents("1", {"a": 0, "1_a": 0, "b": 1}, ["a", "b"], [["x", "b"], ["1_a", "x", "y"]])
    assert (pool.documents, pool.judged) == (["a", "b", "x", "y"], 2)
    assert [order.tolist() for order in pool.orders] == [[2, 1], [0, 2, 3]]


def test_a_document_under_two_names_is_refused():
    """It would count twice."""
    with pytest.raises(UsageError, match="a run has a document of topic '1' twice, under two names"):
        pool_documents("1", {"a": 0, "1_a": 0}, ["a"], [["a", "1_a"]])


def test_draws_without_a_relevant_document_are_known():
    """At the level asked for."""
    code = np.array([[0, 1, 2]], np.uint16)
    assert without_relevant(code, np.arange(3.0)).tolist() == [True, False, False]
    assert without_relevant(code, np.arange(3.0), 2).tolist() == [True, True, False]


@pytest.mark.parametrize("level", [0, -1, float("nan"), float("inf")])
def test_a_level_is_above_what_nobody_judged(level):
    """Else a document without a judgment would be relevant."""
    assert check_level(2) == 2
    with pytest.raises(UsageError, match=r"level .* is not above 0, the grade of a document that nobody judged"):
        check_level(level)


NAMES = ["average_precision", "reciprocal_rank", "precision", "recall", "normalised_gain"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [1, 3, 5, 1000])
@pytest.mark.parametrize("ends", [[7], [2, 3, 7], [1, 5, 7], [1, 2, 3, 4, 5, 6, 7]])
def test_the_mean_of_all_orders(name, cut, ends):
    """Seven documents of which some are tied, in ten draws of labels, one of them without a relevant document."""
    rng = np.random.default_rng(cut)
    code = rng.integers(0, 3, (9, 10)).astype(np.uint16)
    code[:, 0] = 0
    order, count = rng.permutation(9)[:7], ranking.label_counts(code, 3)
    begins = [0, *ends[:-1]]
    groups = [list(permutations(order[b:e])) for b, e in zip(begins, ends, strict=True)]
    orders = [np.array([d for group in chosen for d in group]) for chosen in product(*groups)]
    plain = getattr(ranking, name)
    exact = np.mean([plain(code, each, WORTH, count, 1.0, cut) for each in orders], axis=0)
    result = getattr(ranking, f"expected_{name}")(code, order, np.array(ends), WORTH, count, 1.0, cut)
    np.testing.assert_allclose(result, exact, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_ranked_is_zero_of_ties(name):
    """A run that returns nothing has 0 everywhere."""
    code, nothing = np.ones((3, 2), np.uint16), np.empty(0, np.int64)
    assert getattr(ranking, f"expected_{name}")(
        code, nothing, nothing, WORTH, ranking.label_counts(code, 3), 1.0, 5
    ).tolist() == [0, 0]


def test_topics_are_ranked_by_score_and_then_by_name():
    """The oracle of the specification, beside a topic without a relevant document, in any order of the rows."""
    rng = np.random.default_rng(0)
    score = np.array([1, 1, 1, 0.5, 0.5, 3.0, 2.0])
    grade = np.array([0, 1, 0, 1, 2, 0, 0.0])
    topic, names = np.array([4, 4, 4, 4, 4, 7, 7]), ["d1", "d2", "d3", "d4", "d5", "d1", "d2"]
    for _ in range(5):
        row = rng.permutation(7)
        documents = [names[n] for n in row]
        value, barren = topic_values(
            score[row], grade[row], topic[row], documents, parse_measures("MAP,MRR,nDCG,nDCG@3")
        )
        assert value[:, 0] == pytest.approx([8 / 15, 0.5, 0.6001845537, 0.2015151419])
        assert value[:, 1].tolist() == [0, 0, 0, 0]
        assert barren == 1


def test_scores_that_tie_as_single_floats_are_tied():
    """1 - 1e-9 and 1 are one score, so that the name decides."""
    measures = parse_measures("MRR")
    value, _ = topic_values(np.array([1.0, 1 - 1e-9]), np.array([1.0, 0.0]), np.zeros(2, int), ["a", "b"], measures)
    assert value.tolist() == [[0.5]]
