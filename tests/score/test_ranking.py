"""Measures by name, and topics' documents in pools."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from adjudge.score.ranking import KINDS, WHOLE, checked, measure, measures, pooled, values, without_relevant

GRADES = {"d1": 0, "d2": 1, "d3": 0, "d4": 1, "d5": 2}


@pytest.mark.parametrize(
    ("text", "name", "cut"),
    [
        ("MAP", "MAP", WHOLE),
        ("ap", "MAP", WHOLE),
        ("rr", "MRR", WHOLE),
        (" ndcg@010 ", "nDCG@10", 10),
        ("NDCG", "nDCG", WHOLE),
        ("p@1", "P@1", 1),
        ("R@100", "R@100", 100),
    ],
)
def test_a_measure_is_read_as_it_is_said(text, name, cut):
    """In capitals or not, under any of its names."""
    found = measure(text)
    assert (found.name, found.cut) == (name, cut)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bpref", "there is no measure 'bpref': known are MAP, MRR, nDCG, nDCG@10, P@10, R@100, and others after @"),
        ("nDCG@", "there is no measure 'nDCG@': known are"),
        ("nDCG@-1", "there is no measure 'nDCG@-1': known are"),
        ("P", "measure 'P' needs a cutoff, such as P@10"),
        ("R", "measure 'R' needs a cutoff, such as R@10"),
        ("P@0", "measure 'P@0' looks at no document: its cutoff is 1 or more"),
    ],
)
def test_what_is_no_measure_is_refused(text, said):
    """With the list, or with what is missing."""
    with pytest.raises(UsageError) as refused:
        measure(text)
    assert str(refused.value).startswith(said)


def test_measures_are_a_list_or_text():
    """Each once, in the order given; none is refused."""
    assert [one.name for one in measures("map, nDCG@10,AP")] == ["MAP", "nDCG@10"]
    assert [one.name for one in measures(["P@5"])] == ["P@5"]
    with pytest.raises(UsageError, match="no measure is named: known are MAP"):
        measures(" , ")


def test_every_kind_says_what_it_is():
    """For help texts."""
    assert all(kind.summary and kind.name.lower() == name for name, kind in KINDS.items())


def test_the_oracle_of_the_specification():
    """Five documents, scores 1, 1, 1, .5, .5: ties by the document's name, the last first."""
    pool = pooled("1", {d: n for n, d in enumerate(GRADES)}, list(GRADES), [["d3", "d2", "d1", "d5", "d4"]])
    code = np.array(list(GRADES.values()), np.uint16)[:, None]
    found = values(pool.orders, code, np.arange(3.0), measures("AP,RR,nDCG,nDCG@3"))
    np.testing.assert_allclose(found[0, :, 0], [0.533333333333, 0.5, 0.6001845537, 0.2015151419], atol=5e-11)


def test_what_only_runs_know_comes_last():
    """A pool has the judged documents first."""
    pool = pooled("1", {"a": 0, "1_a": 0, "b": 1}, ["a", "b"], [["x", "b"], ["1_a", "x", "y"]])
    assert (pool.documents, pool.judged) == (["a", "b", "x", "y"], 2)
    assert [order.tolist() for order in pool.orders] == [[2, 1], [0, 2, 3]]


def test_a_document_under_two_names_is_refused():
    """It would count twice."""
    with pytest.raises(UsageError, match="a run has a document of topic '1' twice, under two names"):
        pooled("1", {"a": 0, "1_a": 0}, ["a"], [["a", "1_a"]])


def test_draws_without_a_relevant_document_are_known():
    """At the level asked for."""
    code = np.array([[0, 1, 2]], np.uint16)
    assert without_relevant(code, np.arange(3.0)).tolist() == [True, False, False]
    assert without_relevant(code, np.arange(3.0), 2).tolist() == [True, True, False]


@pytest.mark.parametrize("level", [0, -1, float("nan"), float("inf")])
def test_a_level_is_above_what_nobody_judged(level):
    """Else a document without a judgment would be relevant."""
    assert checked(2) == 2
    with pytest.raises(UsageError, match=r"level .* is not a grade above 0, which a document has that nobody judged"):
        checked(level)
