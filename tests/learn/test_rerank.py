"""Folds by group, and measures as trec_eval has them.

Rankers from lessons, and what they are worth on topics that they did not see.
"""

import io
import warnings

import numpy as np
import polars as pl
import pytest
import pytrec_eval
import sklearn

import adjudge
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.rerank import (
    DOCUMENTS,
    EXAMPLE_FEATURES,
    JUDGES,
    MEASURES,
    TOPICS,
    _assign_folds,
    again,
    apply,
    example,
    fold_of,
    ranker_named,
    score_groups,
    scorer,
    split,
    train,
    train_ranker,
)
from adjudge.learn.training_set import TrainingSet, read_features
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


@pytest.fixture
def table():
    """Return twelve topics of ten documents, of which a feature tells the truth and another lies."""
    rng = np.random.default_rng(0)
    truth = (np.arange(120) % 10 < 3).astype(float)
    columns = {"topic": [f"t{n // 10}" for n in range(120)], "document": [f"d{n % 10}" for n in range(120)]}
    return read_features(
        pl.DataFrame(columns | {"good": truth + 0.3 * rng.normal(size=120), "noise": rng.normal(size=120)})
    ), truth


def test_a_ranker_learns_and_is_tried_in_folds(table):
    """All rows get a score, by a ranker that did not see their topic."""
    rows, truth = table
    result = train_ranker(rows, TrainingSet(np.arange(120), truth, None, False), RankSVM())
    assert (result.topics, result.folds) == (12, 5)
    assert result.ranker.feature_names_in_.tolist() == ["good", "noise"]
    assert result.measures["MAP"] > 0.9
    assert np.isfinite(result.score).all()
    assert len(result.run(rows).ranked) == 12


def test_what_was_not_judged_is_ranked_all_the_same(table):
    """And topics that teach nothing are, too."""
    rows, truth = table
    stored = np.flatnonzero(np.arange(120) % 10 != 9)
    result = train_ranker(rows, TrainingSet(stored[:90], truth[stored[:90]], np.ones(90), False), RankSVM(), folds=3)
    assert np.isfinite(result.score).all()
    assert result.topics == 10


def test_no_topic_teaches_its_own_fold(table):
    """A document whose feature alone gives it away is found by the whole ranker, and not in folds."""
    rows, _ = table
    result = np.where(np.array(rows.topics) == "t3", np.arange(120) % 10 == 5, np.arange(120) % 10 == 4).astype(float)
    X = np.column_stack([np.where(np.array(rows.topics) == "t3", result, 0.0), rows.X[:, 1]])
    own = read_features(pl.DataFrame({"topic": rows.topics, "document": rows.documents, "a": X[:, 0], "b": X[:, 1]}))
    outcome = train_ranker(own, TrainingSet(np.arange(120), result, None, False), RankSVM(), folds=12)
    complete = outcome.ranker.decision_function(own.frame)
    at = np.flatnonzero(np.array(rows.topics) == "t3")
    assert complete[at].argmax() == 5
    assert abs(outcome.score[at][5] - np.median(outcome.score[at])) < complete[at][5] - np.median(complete[at])


def test_one_topic_has_no_folds(table):
    """But a ranker."""
    rows, truth = table
    first = read_features(rows.frame.with_columns(topic=pl.lit("t"), document=pl.Series(map(str, range(120)))))
    result = train_ranker(first, TrainingSet(np.arange(120), truth, None, False), RankSVM())
    assert (result.measures, result.folds) == ({}, 1)
    assert result.unmeasured.startswith("only one topic has pairs")
    assert result.ranker.pairs_ == 36 * 84
    with pytest.raises(UsageError, match="there is no cross-validated run, because only one topic has pairs"):
        result.run(first)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_topic_that_teaches_among_others_is_enough(table, weighted):
    """Whether the others were not judged, have one target, or weigh nothing."""
    rows, truth = table
    mine = np.array(rows.topics) == "t4"
    only = np.flatnonzero(mine)
    fitted = RankSVM().fit(rows.frame[only], truth[only], np.zeros(10))
    lessons = [
        TrainingSet(only, truth[only], None, False),
        TrainingSet(np.arange(120), np.where(mine, truth, 1.0), None, False),
    ]
    if weighted:
        lessons = [TrainingSet(np.arange(120), truth, mine.astype(float), False)]
    for lesson in lessons:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)
            result = train_ranker(rows, lesson, RankSVM(pair_weight="product"))
        assert (result.measures, result.folds, result.ranker.pairs_) == ({}, 1, fitted.pairs_)


def test_two_topics_that_teach_are_never_left_out_together(table):
    """However many others there are, and whatever the seed: each is ranked by what the other taught."""
    rows, truth = table
    taught = np.flatnonzero(np.isin(rows.topics, ["t4", "t9"]))
    for seed in range(20):
        result = train_ranker(rows, TrainingSet(taught, truth[taught], None, False), RankSVM(), seed=seed)
        assert (result.folds, np.isfinite(result.score).all(), set(result.measures)) == (2, True, {"MRR", "MAP", "P@1"})
    alone = RankSVM().fit(rows.frame[taught[10:]], truth[taught[10:]], np.zeros(10))
    assert result.score[taught[:10]] == pytest.approx(alone.decision_function(rows.frame[taught[:10]]), abs=1e-12)


def test_folds_of_topics_that_all_teach_are_those_of_the_study(table):
    """Dealt as ``fold_of`` deals them."""
    rows, _ = table
    topics = np.array(rows.topics)
    assert _assign_folds(topics, set(rows.topics), 5, 3).tolist() == fold_of(topics, 5, 3).tolist()


def test_where_nothing_is_likely_relevant_no_measure_is_given(table):
    """Rather than NaN."""
    rows, truth = table
    result = train_ranker(rows, TrainingSet(np.arange(120), truth / 4, None, True), RankSVM())
    assert result.measures == {}
    assert result.unmeasured == "no document of the training set is more likely relevant than not"
    assert len(result.run(rows).ranked) == 12


def test_folds_are_two_or_more(table):
    """One would be no fold."""
    rows, truth = table
    with pytest.raises(UsageError, match="folds 1 is not a number of at least 2"):
        train_ranker(rows, TrainingSet(np.arange(120), truth, None, False), RankSVM(), folds=1)


def test_rankers_have_names():
    """Options that are not given stay as they are."""
    assert ranker_named("svm", c=None).get_params() == RankSVM().get_params()
    assert ranker_named("lambdamart", trees=3).trees == 3
    with pytest.raises(UsageError, match="ranker 'magic' is not one of 'svm', 'lambdamart'"):
        ranker_named("magic")


def test_training_takes_files_frames_and_names(table, tmp_path):
    """The doorway reads what the command reads: features and grades from files or frames, rankers by name."""
    rows, truth = table
    path = tmp_path / "features.csv"
    frame = pl.DataFrame({"topic": rows.topics, "document": rows.documents}).hstack(rows.frame)
    frame.write_csv(path)
    grades = pl.DataFrame({"topic": rows.topics, "item": rows.documents, "label": truth.astype(int)})
    trained = train(str(path), grades=grades, folds=3)
    same = train(frame, grades=grades, ranker=RankSVM(), folds=3)
    assert trained.measures == same.measures
    trained.ranker.save(tmp_path / "svm")
    runs = [apply(ranker, path) for ranker in (trained, trained.ranker, str(tmp_path / "svm"))]
    assert runs[0].ranked == runs[1].ranked == runs[2].ranked
    assert [run.name for run in runs] == ["rerank", "rerank", "svm"]
    assert trained.run(path).ranked.keys() == runs[0].ranked.keys()


def test_exactly_one_source_is_learned_from(table):
    """A fit, weights or grades."""
    with pytest.raises(UsageError, match="give exactly one of fit, weights and grades to learn from: got none"):
        train(table[0])
    with pytest.raises(UsageError, match="to learn from: got weights and grades"):
        train(table[0], weights="w.csv", grades="g.qrels")


def test_documents_to_judge_again_come_from_a_fit_or_its_folder(tmp_path):
    """The doorway reads the fit, the judgments and the features."""
    crowd = adjudge.simulate("rerank", 0, topics=4, items=24, judges=5, noise=0.2, gold=0)
    judgments = crowd.judgments
    fit = adjudge.fit(judgments, "dawid-skene")
    adjudge.save(fit, tmp_path / "fit")
    topics = judgments.topics.gather(judgments.topic).cast(str)
    feature = np.random.default_rng(0).normal(size=24)
    frame = pl.DataFrame({"topic": topics, "document": judgments.items.cast(str), "feature": feature})
    chosen = again(fit, frame, judgments, budget=3)
    assert len(chosen) == 3
    assert again(str(tmp_path / "fit"), frame, judgments, budget=3).documents == chosen.documents


def test_example_files_are_of_one_crowd():
    """And the same for the same seed."""
    files = example()
    assert files == example(0) != example(1)
    labels, features = (pl.read_csv(io.BytesIO(files[name])) for name in ("labels.csv", "features.csv"))
    assert features.columns == ["topic", "document", *EXAMPLE_FEATURES]
    assert (features.height, labels["judge"].n_unique()) == (TOPICS * DOCUMENTS, JUDGES)
    assert set(labels["item"]) == set(features["document"])
    assert len(files["truth.qrels"].splitlines()) == features.height == len(files["bm25.run"].splitlines())
