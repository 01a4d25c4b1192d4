"""Rankers from lessons, chosen inside folds, and what they are worth on topics that they did not see."""

import io
import warnings

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.learn.average import AverageRanker
from adjudge.learn.folds import assign_folds, fold_of
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.rerank import (
    DOCUMENTS,
    EXAMPLE_FEATURES,
    JUDGES,
    TOPICS,
    Lessons,
    NotBetter,
    again,
    apply,
    candidates_for,
    example,
    relevant,
    train,
    train_ranker,
)
from adjudge.learn.training_set import TrainingSet, read_features


def lessons(*training):
    """Return the lessons of one training set."""
    only = TrainingSet(*training)
    return Lessons({"only": only}, relevant(only))


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
    result = train_ranker(rows, lessons(np.arange(120), truth, None, False), RankSVM())
    assert (result.topics, result.folds) == (12, 5)
    assert result.ranker.feature_names_in_.tolist() == ["good", "noise"]
    assert result.measures["MAP"] > 0.9
    assert np.isfinite(result.score).all()
    assert len(result.run(rows).ranked) == 12


def test_what_was_not_judged_is_ranked_all_the_same(table):
    """And topics that teach nothing are, too."""
    rows, truth = table
    stored = np.flatnonzero(np.arange(120) % 10 != 9)
    result = train_ranker(rows, lessons(stored[:90], truth[stored[:90]], np.ones(90), False), RankSVM(), folds=3)
    assert np.isfinite(result.score).all()
    assert result.topics == 10


def test_no_topic_teaches_its_own_fold(table):
    """A document whose feature alone gives it away is found by the whole ranker, and not in folds."""
    rows, _ = table
    result = np.where(np.array(rows.topics) == "t3", np.arange(120) % 10 == 5, np.arange(120) % 10 == 4).astype(float)
    X = np.column_stack([np.where(np.array(rows.topics) == "t3", result, 0.0), rows.X[:, 1]])
    own = read_features(pl.DataFrame({"topic": rows.topics, "document": rows.documents, "a": X[:, 0], "b": X[:, 1]}))
    outcome = train_ranker(own, lessons(np.arange(120), result, None, False), RankSVM(), folds=12)
    complete = outcome.ranker.decision_function(own.frame)
    at = np.flatnonzero(np.array(rows.topics) == "t3")
    assert complete[at].argmax() == 5
    assert abs(outcome.score[at][5] - np.median(outcome.score[at])) < complete[at][5] - np.median(complete[at])


def test_one_topic_has_no_folds(table):
    """But a ranker."""
    rows, truth = table
    first = read_features(rows.frame.with_columns(topic=pl.lit("t"), document=pl.Series(map(str, range(120)))))
    result = train_ranker(first, lessons(np.arange(120), truth, None, False), RankSVM())
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
    sets = [
        TrainingSet(only, truth[only], None, False),
        TrainingSet(np.arange(120), np.where(mine, truth, 1.0), None, False),
    ]
    if weighted:
        sets = [TrainingSet(np.arange(120), truth, mine.astype(float), False)]
    for training in sets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)
            result = train_ranker(rows, lessons(*training), RankSVM(pair_weight="product"))
        assert (result.measures, result.folds, result.ranker.pairs_) == ({}, 1, fitted.pairs_)


def test_two_topics_that_teach_are_never_left_out_together(table):
    """However many others there are, and whatever the seed: each is ranked by what the other taught."""
    rows, truth = table
    taught = np.flatnonzero(np.isin(rows.topics, ["t4", "t9"]))
    for seed in range(20):
        result = train_ranker(rows, lessons(taught, truth[taught], None, False), RankSVM(), seed=seed)
        assert (result.folds, np.isfinite(result.score).all(), set(result.measures)) == (2, True, {"MRR", "MAP", "P@1"})
    alone = RankSVM().fit(rows.frame[taught[10:]], truth[taught[10:]], np.zeros(10))
    assert result.score[taught[:10]] == pytest.approx(alone.decision_function(rows.frame[taught[:10]]), abs=1e-12)


def test_folds_of_topics_that_all_teach_are_those_of_the_study(table):
    """Dealt as ``fold_of`` deals them."""
    rows, _ = table
    topics = np.array(rows.topics)
    assert assign_folds(topics, set(rows.topics), 5, 3).tolist() == fold_of(topics, 5, 3).tolist()


def test_where_nothing_is_likely_relevant_no_measure_is_given(table):
    """Rather than NaN."""
    rows, truth = table
    result = train_ranker(rows, lessons(np.arange(120), truth / 4, None, True), RankSVM())
    assert result.measures == {}
    assert result.unmeasured == "no document of the training set is more likely relevant than not"
    assert len(result.run(rows).ranked) == 12


def test_folds_are_two_or_more(table):
    """One would be no fold."""
    rows, truth = table
    with pytest.raises(UsageError, match="folds 1 is not a number of at least 2"):
        train_ranker(rows, lessons(np.arange(120), truth, None, False), RankSVM(), folds=1)


def test_training_takes_files_frames_and_names(table, tmp_path):
    """The doorway reads what the command reads: features and grades from files or frames, rankers by name."""
    rows, truth = table
    path = tmp_path / "features.csv"
    frame = pl.DataFrame({"topic": rows.topics, "document": rows.documents}).hstack(rows.frame)
    frame.write_csv(path)
    grades = pl.DataFrame({"topic": rows.topics, "item": rows.documents, "label": truth.astype(int)})
    trained = train(str(path), grades=grades, folds=3)
    same = train(frame, grades=grades, ranker=RankSVM(None), folds=3)
    assert trained.measures.keys() == same.measures.keys() == {"MRR", "MAP", "P@1"}
    trained.ranker.save(tmp_path / "svm")
    runs = [apply(ranker, path) for ranker in (trained, trained.ranker, str(tmp_path / "svm"))]
    assert runs[0].ranked == runs[1].ranked == runs[2].ranked
    assert [run.name for run in runs] == ["rerank", "rerank", "svm"]
    assert trained.run(path).ranked.keys() == runs[0].ranked.keys()


@pytest.fixture(scope="module")
def crowd():
    """Return the example: features with bm25, and a fit of its judgments."""
    files = example()
    fit = adjudge.fit(pl.read_csv(files["labels.csv"]), "dawid-skene")
    return pl.read_csv(files["features.csv"]), fit


def test_what_is_not_given_is_chosen_inside_folds(crowd):
    """How to learn, c, and trees are candidates; the outcome is compared with the first stage, on the same topics."""
    features, fit = crowd
    seen = []
    trained = train(features, fit, progress=lambda *call: seen.append(call))
    kinds = {(candidate.learn, type(candidate.ranker).__name__) for candidate in trained.choice.candidates}
    assert {("pairs", "RankSVM"), ("margin", "RankSVM"), ("label", "RankSVM")} <= kinds
    assert len(trained.choice.by_fold) == trained.folds == 5
    assert set(map(str, trained.choice.final.members)) <= set(map(str, trained.choice.candidates))
    assert str(trained.choice.candidates[trained.choice.precision.argmax()]) in map(str, trained.choice.final.members)
    assert seen[0][:2] == (0, 10 * len(trained.choice.candidates))
    comparison = trained.comparison
    assert comparison.first == "bm25"
    assert comparison.gains["MAP"].ranker == trained.measures["MAP"]
    assert comparison.better is (comparison.gains["MAP"].difference > 0) is True


def test_held_out_topics_have_no_part_in_the_choice(crowd):
    """Other labels in a fold change neither the ranker that ranks it nor what was chosen for it."""
    features, fit = crowd
    rows = read_features(features)
    every = np.arange(len(rows))
    target = fit.posterior[:, 1]
    fold = assign_folds(np.array(rows.topics), set(rows.topics), 5, 0)
    other = np.where(fold == 2, 1 - target, target)
    first, second = (
        train_ranker(rows, Lessons({"pairs": TrainingSet(every, p, None, True)}, p > 0.5, p), "svm")
        for p in (target, other)
    )
    assert str(first.choice.by_fold[2]) == str(second.choice.by_fold[2])
    assert np.array_equal(first.score[fold == 2], second.score[fold == 2])
    assert not np.array_equal(first.score[fold != 2], second.score[fold != 2])


def test_a_ranker_that_does_not_beat_the_first_stage_is_not_saved(table, tmp_path):
    """Unless it is forced; the message has both measures."""
    rows, truth = table
    frame = pl.DataFrame({"topic": rows.topics, "document": rows.documents, "bm25": truth, "noise": rows.X[:, 1]})
    grades = pl.DataFrame({"topic": rows.topics, "item": rows.documents, "label": truth.astype(int)})
    trained = train(
        frame.drop("bm25"), grades=grades, first=read_features(frame).run(truth, "perfect"), ranker=RankSVM()
    )
    assert trained.comparison.first == "perfect"
    message = (
        "the ranker was not saved, because it does not beat the first stage 'perfect' (MAP "
        f"{trained.measures['MAP']:.3f} against 1.000): save it anyway with force=True"
    )
    with pytest.raises(NotBetter) as error:
        trained.save(tmp_path / "svm")
    assert str(error.value) == message
    assert not (tmp_path / "svm").exists()
    trained.save(tmp_path / "svm", force=True)
    assert (tmp_path / "svm" / "ranker.json").is_file()


def test_without_a_first_stage_nothing_is_compared(table, tmp_path):
    """And the ranker is saved."""
    rows, truth = table
    trained = train_ranker(rows, lessons(np.arange(120), truth, None, False), RankSVM())
    assert trained.comparison is None
    trained.save(tmp_path / "svm")
    assert (tmp_path / "svm").is_dir()


def test_two_topics_are_too_few_to_choose(table):
    """The ranker has its default settings."""
    rows, truth = table
    few = np.flatnonzero(np.isin(rows.topics, ["t4", "t9"]))
    trained = train_ranker(rows, lessons(few, truth[few], None, False))
    assert (trained.choice, trained.ranker.c) == (None, 1.0)


def test_candidates_follow_from_the_ranker(table):
    """All by default, one if it is given, and c alone if a linear ranker has none."""
    rows, truth = table
    sets = lessons(np.arange(120), truth, None, False).sets
    topics = np.array(rows.topics)

    def kinds(ranker):
        return [type(candidate.ranker).__name__ for candidate in candidates_for(ranker, sets, topics)]

    assert kinds(None) == ["RankSVM"] * 8 + ["LambdaMART"]
    assert kinds("svm") == ["RankSVM"] * 8
    assert kinds("lambdamart") == ["LambdaMART"] * 2
    assert kinds(RankSVM(c=3)) == ["RankSVM"]
    chosen = candidates_for(RankSVM(None, pair_weight="min"), sets, topics)
    assert {candidate.ranker.pair_weight for candidate in chosen} == {"min"}
    assert [np.log2(candidate.ranker.c) for candidate in chosen] == [0, *(e - 8 for e in range(-9, 10, 3))]
    with pytest.raises(UsageError) as error:
        candidates_for("magic", sets, topics)
    assert str(error.value) == "ranker 'magic' is not one of 'svm', 'lambdamart'"


def test_labels_without_pairs_are_no_candidates(table):
    """If nothing is likely relevant, soft pairs can still be learned from."""
    rows, truth = table
    every = np.arange(120)
    sets = {"pairs": TrainingSet(every, truth / 4, None, True), "label": TrainingSet(every, 0 * truth, None, False)}
    trained = train_ranker(rows, Lessons(sets, truth > 2, truth / 4), "svm")
    assert {candidate.learn for candidate in trained.choice.candidates} == {"pairs"}


def test_the_crowd_and_the_ranker_learn_together(crowd):
    """Raykar's loop changes the probabilities that the ranker learns; measures are still by the fit."""
    features, fit = crowd
    alone, joint = (train(features, fit, ranker=RankSVM(c=0.01), learn="pairs", joint=j) for j in (False, True))
    assert alone.joint is None
    assert joint.joint.rounds > 0
    assert not np.allclose(joint.joint.relevance, fit.posterior[:, 1])
    assert joint.comparison.gains["MAP"].first == alone.comparison.gains["MAP"].first
    assert not np.allclose(alone.ranker.coef_, joint.ranker.coef_)


def test_an_average_learns_together_with_the_crowd(crowd, tmp_path):
    """By default: linear rankers and trees, all in Raykar's loop, saved and read again."""
    features, fit = crowd
    trained = train(features, fit, joint=True)
    assert isinstance(trained.ranker, AverageRanker)
    assert {member.learn for member in trained.choice.final.members} == {"pairs"}
    assert trained.joint.rounds > 0
    trained.save(tmp_path / "average")
    runs = [apply(ranker, features).ranked for ranker in (trained, tmp_path / "average")]
    assert runs[0] == runs[1]


def test_members_that_have_nothing_to_learn_are_left_out(table):
    """Of an average whose other members can learn from the same rows."""
    rows, truth = table
    every = np.arange(120)
    label = np.where(np.isin(rows.topics, ["t1"]), truth, 0.0)  # certain labels in one topic alone
    sets = {"pairs": TrainingSet(every, truth, None, True), "label": TrainingSet(every, label, None, False)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        trained = train_ranker(rows, Lessons(sets, truth > 0.5, truth), RankSVM(0.01))
    assert np.isfinite(trained.score).all()
    assert trained.measures["MAP"] > 0.9


def test_joint_and_learn_need_a_fit_of_two_labels(table, crowd):
    """Each message says what to change."""
    rows, truth = table
    grades = pl.DataFrame({"topic": rows.topics, "item": rows.documents, "label": truth.astype(int)})
    three = adjudge.fit(
        pl.DataFrame({"item": [*"abcabc"], "topic": [*"tttttt"], "judge": [*"xxxyyy"], "label": [0, 1, 2, 0, 1, 2]}),
        "dawid-skene",
    )
    features = pl.DataFrame({"topic": [*"ttt"], "document": [*"abc"], "f": [1.0, 2.0, 3.0]})
    cases = [
        (lambda: train(rows, grades=grades, joint=True), "joint needs a fit to learn from"),
        (lambda: train(rows, grades=grades, learn="pairs"), "learn 'pairs' needs a fit to learn from"),
        (lambda: train(*crowd, learn="label", joint=True), "joint learns by 'pairs', not by 'label'"),
        (
            lambda: train(features, three, joint=True),
            "joint needs a fit with two labels, this one has 3: '0', '1', '2'",
        ),
    ]
    for call, message in cases:
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value) == message


def test_weights_may_be_left_out(crowd):
    """They are one candidate, labels without them another."""
    files = example()
    weighted = adjudge.weights(adjudge.read(pl.read_csv(files["labels.csv"])), "L")
    trained = train(crowd[0], weights=weighted)
    assert {candidate.learn for candidate in trained.choice.candidates} == {"weights", "label"}


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
