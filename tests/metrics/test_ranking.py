"""Names of ranking measures, and their values by topic."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.metrics.ranking import (
    KINDS,
    NO_CUTOFF,
    PARAMETERS,
    check_level,
    known_measures,
    only_judged,
    parse_measure,
    parse_measures,
    pool_documents,
    topic_values,
    values,
    without_relevant,
)

GRADES = {"d1": 0, "d2": 1, "d3": 0, "d4": 1, "d5": 2}


MEASURES = (
    "measures are MAP, MRR, nDCG, ERR, RBP, Judged (also with @k), P@k, R@k, Success@k, Rprec, Bpref, infAP, SetP, "
    "SetR, SetF, SetAP"
)


@pytest.mark.parametrize(
    ("text", "name", "cut", "rel", "more"),
    [
        ("MAP", "MAP", NO_CUTOFF, None, {}),
        ("ap", "MAP", NO_CUTOFF, None, {}),
        ("AP(rel=2)", "MAP(rel=2)", NO_CUTOFF, 2, {}),
        ("AP(rel=2)@100", "MAP(rel=2)@100", 100, 2, {}),
        ("AP(cutoff=100,judged_only=True)", "MAP(judged_only=True)@100", 100, None, {"judged_only": True}),
        ("rr", "MRR", NO_CUTOFF, None, {}),
        ("RR(rel=2)@10", "MRR(rel=2)@10", 10, 2, {}),
        (" ndcg@010 ", "nDCG@10", 10, None, {}),
        ("NDCG", "nDCG", NO_CUTOFF, None, {}),
        ("nDCG(dcg='exp-log2')@10", "nDCG(dcg='exp-log2')@10", 10, None, {"dcg": "exp-log2"}),
        ('ndcg(dcg="log2")@10', "nDCG@10", 10, None, {"dcg": "log2"}),
        ("nDCG(gains={2: 5, 1: 3})", "nDCG(gains={1:3,2:5})", NO_CUTOFF, None, {"gains": {1: 3, 2: 5}}),
        ("p@1", "P@1", 1, None, {}),
        ("R@100", "R@100", 100, None, {}),
        ("RBP", "RBP", NO_CUTOFF, None, {"p": 0.8}),
        ("RBP(rel=1, p=0.5) @ 7", "RBP(rel=1,p=0.5)@7", 7, 1, {"p": 0.5}),
        ("ERR@20", "ERR@20", 20, None, {"max_rel": 4}),
        ("err(max_rel=2)", "ERR(max_rel=2)", NO_CUTOFF, None, {"max_rel": 2}),
        ("bpref(rel=1.5)", "Bpref(rel=1.5)", NO_CUTOFF, 1.5, {}),
        ("infAP", "infAP", NO_CUTOFF, None, {}),
        ("judged@10", "Judged@10", 10, None, {}),
        ("Success@5", "Success@5", 5, None, {}),
        ("SetF(beta=2.0)", "SetF(beta=2.0)", NO_CUTOFF, None, {"beta": 2.0}),
    ],
)
def test_a_measure_is_read_as_it_is_said(text, name, cut, rel, more):
    """In capitals or not, under any of its names, with its parameters; its own name can be read again."""
    result = parse_measure(text)
    assert (result.name, result.cut, result.rel) == (name, cut, rel)
    assert result.parameters.items() >= more.items()
    assert parse_measure(result.name) == result


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gain", f"there is no measure 'gain': {MEASURES}"),
        ("nDGC@10", f"there is no measure 'nDGC@10' (did you mean nDCG?): {MEASURES}"),
        ("recal(rel=2)", f"there is no measure 'recal(rel=2)' (did you mean R@k?): {MEASURES}"),
        ("nDCG@", f"there is no measure 'nDCG@' (did you mean nDCG?): {MEASURES}"),
        ("nDCG@-1", f"there is no measure 'nDCG@-1' (did you mean nDCG?): {MEASURES}"),
        ("AP(rel=", f"there is no measure 'AP(rel=' (did you mean MAP?): {MEASURES}"),
        ("P", "measure 'P' needs a cutoff, such as P@10"),
        ("R", "measure 'R' needs a cutoff, such as R@10"),
        ("P@0", "measure 'P@0' has the cutoff 0: it is a whole number from 1"),
        ("Bpref@10", "measure 'Bpref@10' has a cutoff: Bpref takes none"),
        ("AP(rel=0)", "measure 'AP(rel=0)' has the parameter rel 0: it is a number above 0"),
        (
            "AP(level=2)",
            "measure 'AP(level=2)' has the parameter 'level': the parameters of MAP are rel, judged_only, cutoff",
        ),
        ("SetR(p=1)", "measure 'SetR(p=1)' has the parameter 'p': the parameters of SetR are rel"),
        ("nDCG(dcg='exp')", "measure 'nDCG(dcg='exp')' has the parameter dcg 'exp': it is one of 'log2', 'exp-log2'"),
        ("RBP(p=1)", "measure 'RBP(p=1)' has the parameter p 1: it is a number between 0 and 1"),
        ("RBP(0.5)", "the parameters of measure 'RBP(0.5)' cannot be read: write name=value, such as RBP(rel=...)"),
        ("RBP(p=q)", "the parameters of measure 'RBP(p=q)' cannot be read: write name=value, such as RBP(rel=...)"),
        ("Judged(**x)", "the parameters of measure 'Judged(**x)' cannot be read: write name=value, such as Judged"),
    ],
)
def test_what_is_no_measure_is_refused(text, said):
    """With the list and the nearest name, or with what is wrong."""
    with pytest.raises(UsageError) as refused:
        parse_measure(text)
    assert str(refused.value) == said


def test_measures_are_a_list_or_text():
    """Each once, in the order given; commas between parentheses do not separate; none is refused."""
    assert [entry.name for entry in parse_measures("map, nDCG@10,AP")] == ["MAP", "nDCG@10"]
    assert [entry.name for entry in parse_measures(["P@5"])] == ["P@5"]
    mixed = "RBP(rel=1, p=0.5)@3,nDCG(gains={1:1,2:3}),MAP"
    assert [entry.name for entry in parse_measures(mixed)] == ["RBP(rel=1,p=0.5)@3", "nDCG(gains={1:1,2:3})", "MAP"]
    with pytest.raises(UsageError) as refused:
        parse_measures(" , ")
    assert str(refused.value) == f"no measure is named: {MEASURES}"


def test_the_list_of_names_has_every_kind():
    """It is made from the table, as are the parameters."""
    assert f"measures are {known_measures()}" == MEASURES
    assert all(kind.form in known_measures() for kind in KINDS.values())
    assert {name for kind in KINDS.values() for name in kind.parameters} | {"cutoff"} == set(PARAMETERS)


def test_grades_above_the_highest_grade_of_err_are_refused():
    """The chance to stop would be above 1."""
    code, measure = np.zeros((1, 1), np.uint16), parse_measure("ERR@5")
    with pytest.raises(UsageError) as refused:
        values([np.array([0])], code, np.array([0.0, 5.0]), [measure])
    assert str(refused.value) == "ERR@5 is for grades up to 4, but there is 5: write ERR(max_rel=5)"
    best = values([np.array([0])], code + 1, np.array([0.0, 5.0]), [parse_measure("ERR(max_rel=5)")])
    assert best[0, 0, 0] == 31 / 32


def test_a_measure_with_its_own_level_ignores_that_of_the_evaluation():
    """P(rel=2)@2 counts grade 2, P@2 the level."""
    code = np.array([[1], [2]], np.uint16)
    result = values([np.array([0, 1])], code, np.arange(3.0), parse_measures("P(rel=2)@2,P@2,P(rel=1)@2"), level=3.0)
    assert result[0, :, 0].tolist() == [0.5, 0.0, 1.0]


def test_ties_of_judged_documents():
    """Ties lose the documents that nobody judged, and vanish if none is left."""
    order, ends = only_judged(np.array([3, 0, 4, 1]), np.array([1, 3, 4]), np.array([True, True, False, False, True]))
    assert order.tolist() == [0, 4, 1]
    assert ends.tolist() == [2, 3]


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
