"""Folds by group, and measures as trec_eval has them."""

import numpy as np
import pytest
import pytrec_eval
import sklearn

from adjudge.errors import UsageError
from adjudge.learn.crossval import MEASURES, fold_of, score_groups, scorer, split
from adjudge.learn.ranksvm import RankSVM
from adjudge.metrics.run_scores import score_runs


def test_measures_are_those_of_trec_eval():
    """With ties, in groups that are mixed, by document names; groups without a relevant row are left out."""
    rng = np.random.default_rng(4)
    groups, names = rng.integers(0, 40, 500).astype(str), np.array([f"d{n}" for n in rng.permutation(500)])
    score, relevant = rng.integers(0, 6, 500) / 7 + 1e-9 * rng.random(500), rng.random(500) < 0.15
    found = score_groups(score, relevant, groups, names)
    run, qrels = {}, {}
    for q, d, s, r in zip(groups.tolist(), names.tolist(), score.tolist(), relevant.tolist(), strict=True):
        run.setdefault(q, {})[d] = s
        qrels.setdefault(q, {})[d] = int(r)
    kept = {q: held for q, held in qrels.items() if any(held.values())}
    peer = pytrec_eval.RelevanceEvaluator(kept, {"map", "recip_rank", "P.1"}).evaluate({q: run[q] for q in kept})
    order = [q for q in dict.fromkeys(groups.tolist()) if q in kept]
    assert len(order) == found.group.size < 40
    for measure, theirs in zip(MEASURES, ("recip_rank", "map", "P_1"), strict=True):
        assert found.values[measure] == pytest.approx([peer[q][theirs] for q in order])
    own = score_runs({"a": {q: run[q] for q in kept}}, kept, ["MRR", "MAP", "P@1"], draws=10)
    assert {one.measure: one.value for one in own.scores} == pytest.approx(found.means())


def test_nothing_relevant_has_no_mean():
    """It is not 0."""
    assert np.isnan(score_groups([1.0, 2.0], [0, 0], [0, 0]).means()["MAP"])


def test_without_names_the_later_of_ties_is_first():
    """Whatever there is, it is fixed."""
    assert score_groups([1.0, 1.0], [0, 1], [0, 0]).means()["P@1"] == 1


def test_folds_split_groups_not_rows():
    """Evenly, at random, the same by seed."""
    groups = np.repeat(np.arange(23), 4)
    fold = fold_of(groups, 5, seed=1)
    assert all(len(set(fold[groups == g].tolist())) == 1 for g in range(23))
    assert sorted(np.bincount(fold) // 4) == [4, 4, 5, 5, 5]
    assert np.array_equal(fold, fold_of(groups, 5, seed=1))
    assert not np.array_equal(fold, fold_of(groups, 5, seed=2))
    parts = list(split(fold))
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(92))
    assert all(not set(groups[part.train]) & set(groups[part.test]) for part in parts)


def test_more_folds_than_groups_are_refused():
    """And fewer than two."""
    for folds in (1, 4):
        with pytest.raises(UsageError, match=f"folds {folds} is not a number from 2 to the number of groups, 3"):
            fold_of([1, 2, 3], folds)


def test_an_unknown_measure_is_refused():
    """By naming those there are."""
    with pytest.raises(UsageError, match="measure 'nDCG' is not one of 'MRR', 'MAP', 'P@1'"):
        scorer("nDCG")


def test_a_scorer_is_called_as_scikit_learn_does():
    """With groups as a keyword, under routing."""
    X, y, g = [[0.0], [1.0], [2.0], [1.0]], [0, 1, 1, 0], [0, 0, 1, 1]
    with sklearn.config_context(enable_metadata_routing=True):
        assert scorer("P@1")(RankSVM().fit(X, y, g), X, y, groups=g) == 1
