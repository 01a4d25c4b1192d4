"""MRR, MAP and P@1 as trec_eval has them, and expected precision."""

import itertools

import numpy as np
import pytest
import pytrec_eval
import sklearn

from adjudge.errors import UsageError
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.topic_scores import MEASURES, expected_precision, score_groups, scorer
from adjudge.metrics.score import score_runs


def test_measures_are_those_of_trec_eval():
    """With ties, in groups that are mixed, by document names; groups without a relevant row are left out."""
    rng = np.random.default_rng(4)
    groups, names = rng.integers(0, 40, 500).astype(str), np.array([f"d{n}" for n in rng.permutation(500)])
    score, relevant = rng.integers(0, 6, 500) / 7 + 1e-9 * rng.random(500), rng.random(500) < 0.15
    result = score_groups(score, relevant, groups, names)
    run, qrels = {}, {}
    for q, d, s, r in zip(groups.tolist(), names.tolist(), score.tolist(), relevant.tolist(), strict=True):
        run.setdefault(q, {})[d] = s
        qrels.setdefault(q, {})[d] = int(r)
    stored = {q: assigned for q, assigned in qrels.items() if any(assigned.values())}
    peer = pytrec_eval.RelevanceEvaluator(stored, {"map", "recip_rank", "P.1"}).evaluate({q: run[q] for q in stored})
    order = [q for q in dict.fromkeys(groups.tolist()) if q in stored]
    assert len(order) == result.group.size < 40
    for measure, theirs in zip(MEASURES, ("recip_rank", "map", "P_1"), strict=True):
        assert result.values[measure] == pytest.approx([peer[q][theirs] for q in order])
    own = score_runs({"a": {q: run[q] for q in stored}}, stored, ["MRR", "MAP", "P@1"], draws=10)
    assert {entry.measure: entry.value for entry in own.scores} == pytest.approx(result.means())


def test_nothing_relevant_has_no_mean():
    """It is not 0."""
    assert np.isnan(score_groups([1.0, 2.0], [0, 0], [0, 0]).means()["MAP"])


def test_without_names_the_later_of_ties_is_first():
    """Whatever there is, it is fixed."""
    assert score_groups([1.0, 1.0], [0, 1], [0, 0]).means()["P@1"] == 1


def test_an_unknown_measure_is_refused():
    """By naming those there are."""
    with pytest.raises(UsageError, match="measure 'nDCG' is not one of 'MRR', 'MAP', 'P@1'"):
        scorer("nDCG")


def test_a_scorer_is_called_as_scikit_learn_does():
    """With groups as a keyword, under routing."""
    X, y, g = [[0.0], [1.0], [2.0], [1.0]], [0, 1, 1, 0], [0, 0, 1, 1]
    with sklearn.config_context(enable_metadata_routing=True):
        assert scorer("P@1")(RankSVM().fit(X, y, g), X, y, groups=g) == 1


def test_expected_precision_of_certain_labels_is_map():
    """With ties, in groups that are mixed; groups without a relevant row have no weight."""
    rng = np.random.default_rng(1)
    code, score, relevant = rng.integers(0, 30, 300), rng.integers(0, 9, 300) / 7, rng.random(300) < 0.1
    value, weight = expected_precision(score, relevant.astype(float), code, 30, np.arange(300))
    exact = score_groups(score, relevant, code)
    names = list(dict.fromkeys(code.tolist()))
    assert weight.sum() == exact.group.size < 30
    assert value[[names[g] for g in exact.group.tolist()]] == pytest.approx(exact.values["MAP"])


def test_expected_precision_is_a_mean_over_all_labellings():
    """The sum of precisions at relevant rows, in expectation, by enumeration."""
    p, score = np.array([0.3, 0.9, 0.5, 0.1]), np.array([4.0, 3.0, 2.0, 1.0])
    total = 0.0
    for labels in itertools.product((0, 1), repeat=4):
        chance = np.prod(np.where(labels, p, 1 - p))
        hits = np.cumsum(labels)
        total += chance * sum(hits[r] / (r + 1) for r in range(4) if labels[r])
    value, weight = expected_precision(score, p, np.zeros(4, np.int64), 1, np.arange(4))
    assert (value[0] * p.sum(), weight[0]) == (pytest.approx(total), 1.0)
