"""Runs held against grades: means, intervals over topics, paired tests, and what is left out.

Labels or runs: which of them answers are, and that both are scored.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import adjudge
from adjudge.data.runs import example, read_run
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.metrics.labels import Scores, scores
from adjudge.metrics.score import INTERVAL, RunScores, find_runs, score, score_runs, topic_deviations, widening
from adjudge.metrics.significance import holm

GRADES = {"1": {"d1": 0, "d2": 1, "d3": 0, "d4": 1, "d5": 2}, "2": {"d1": 1, "d2": 0}, "3": {"d1": 0}}
RUN = {"1": {"d1": 1, "d2": 1, "d3": 1, "d4": 0.5, "d5": 0.5}, "2": {"d1": 2, "d2": 1}}


def test_means_are_over_the_topics_of_both():
    """As in trec_eval: a topic that the run leaves out does not count, unless it is asked to."""
    score = score_runs({"a": RUN}, GRADES, "MAP").scores[0]
    assert (score.value, score.topics) == (pytest.approx((8 / 15 + 1) / 2), 2)
    complete = score_runs({"a": RUN}, GRADES, "MAP", complete=True)
    assert complete.scores[0].value == pytest.approx((8 / 15 + 1) / 3)
    assert "a returns nothing for 1 of 3 topics, which count as 0" in complete.notes


def test_what_is_left_out_is_said():
    """Topics that one side only has, and topics without a relevant document."""
    result = score_runs({"a": {**RUN, "9": {"x": 1}}, "b": {"3": {"d1": 1}, "1": {"d5": 1}}}, GRADES, "MAP,P@1")
    assert result.notes == (
        "topic '3' without a relevant document: undefined values count as 0, as in trec_eval",
        "a returns nothing for 1 of 3 topics, which are left out",
        "a has 1 topics without grades, which are left out",
        "b returns nothing for 1 of 3 topics, which are left out",
    )
    rows = {(row.run, row.topic, row.measure): row for row in result.by_topic()}
    assert rows["b", "3", "MAP"].note == "not defined because topic 3 has no relevant document; 0 as in trec_eval"
    assert rows["b", "3", "P@1"].note == ""
    assert ("b", "2", "MAP") not in rows
    alone = score_runs({"a": {"1": RUN["1"]}}, GRADES, "MAP")
    assert alone.notes == ("no run has 2 of 3 topics with grades, which are left out",)
    assert (alone.scores[0].low, alone.scores[0].high) == (None, None)
    assert alone.scores[0].note == "its interval is not defined because there is one topic only"


def test_intervals_are_quantiles_of_topics_drawn_anew():
    """Forty topics with 0 or 1: about those of the normal distribution."""
    grades = {str(t): {"x": t % 2} for t in range(40)}
    score = score_runs({"a": {topic: {"x": 1} for topic in grades}}, grades, "P@1", draws=4_000).scores[0]
    assert score.value == 0.5
    assert score.low == pytest.approx(0.5 - 1.645 * 0.5 / 40**0.5, abs=0.03)
    assert score.high == pytest.approx(0.5 + 1.645 * 0.5 / 40**0.5, abs=0.03)


def test_intervals_of_few_topics_are_as_wide_as_they_must_be():
    """Of 5 topics about those of Student's t, and never beyond what a measure can be."""
    grades = {str(t): {f"d{n}": int(n <= t) for n in range(10)} for t in range(2, 7)}
    runs = {"a": {topic: {f"d{n}": -n for n in range(10)} for topic in grades}}
    score = score_runs(runs, grades, "P@10", draws=4_000).scores[0]
    reach = 2.132 * np.std([0.3, 0.4, 0.5, 0.6, 0.7], ddof=1) / 5**0.5
    assert (score.low, score.high) == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.03)
    wide = score_runs({"a": {"1": {"x": 1}, "2": {"x": 1}}}, {"1": {"x": 0}, "2": {"x": 1}}, "P@1").scores[0]
    assert (wide.low, wide.high) == (0, 1)


def test_pairs_are_tested_with_sign_flips():
    """A run that is better in each of 10 topics: two of 1,024 patterns of signs are as far from 0."""
    grades = {str(t): {"x": 1, "y": 0} for t in range(10)}
    good, bad = ({topic: {"x": x, "y": 1} for topic in grades} for x in (2, 0))
    result = score_runs({"good": good, "bad": bad, "same": bad}, grades, "P@1", draws=20_000)
    pairs = {(pair.first, pair.second): pair for pair in result.pairs}
    assert pairs["good", "bad"].difference == 1
    assert pairs["good", "bad"].p == pytest.approx(2 / 1024, abs=0.002)
    assert (pairs["bad", "same"].difference, pairs["bad", "same"].p) == (0, 1)
    assert [pair.adjusted for pair in result.pairs] == pytest.approx(holm(np.array([pair.p for pair in result.pairs])))


def test_what_nobody_judged_is_counted():
    """It has grade 0, and the share is told."""
    result = score_runs({"a": {"2": {"x": 3, "d1": 2}}}, GRADES, "MRR")
    assert result.scores[0].value == 0.5
    assert result.unjudged.tolist() == [0.5]
    assert repr(result) == "RunScores(1 topics: a MRR 0.5000)"


def test_strangers_are_refused():
    """A run of which no topic has grades."""
    with pytest.raises(InputError) as refused:
        score_runs({"a": {"q7": {"d": 1}}}, GRADES)
    case = "a: no topic of this run has grades: the run has topics such as 'q7', the grades such as '1'"
    assert str(refused.value) == case
    with pytest.raises(UsageError, match="level 0 is not above 0"):
        score_runs({"a": RUN}, GRADES, level=0)
    with pytest.raises(UsageError, match="draws 0 is not 1 or more"):
        score_runs({"a": RUN}, GRADES, draws=0)


def test_measures_may_be_expected_over_ties():
    """The oracle's five documents, three and two of them tied: RR is 1 / 1, 1 / 2 or 1 / 3 with the same chance."""
    result = score_runs({"a": {"1": RUN["1"]}}, GRADES, "MRR,P@1,P@4", ties="expected")
    assert result.value[0, :, 0] == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3, 1 / 3, 2 / 4])
    plain = {"1": {"d1": 5, "d2": 4, "d3": 3}}
    each = [
        score_runs({"a": plain, "b": {"2": {"d1": 1}}}, GRADES, "MAP,nDCG", ties=ties) for ties in ("name", "expected")
    ]
    np.testing.assert_allclose(each[0].value, each[1].value)
    with pytest.raises(UsageError, match="ties 'coin' is not one of 'name', 'expected'"):
        score_runs({"a": RUN}, GRADES, ties="coin")


def covered(topics: int, samples: int = 2_000, draws: int = 400) -> float:
    """Return how often the 90 % interval of normal values holds their mean, the same resamples for all samples."""
    rng = np.random.default_rng(topics)
    value = rng.standard_normal((topics, samples))
    low, high = value.mean(axis=0) + np.quantile(topic_deviations(value, draws, rng), INTERVAL, axis=0)
    return float(((low <= 0) & (high >= 0)).mean())


def test_two_topics_have_three_resamples() -> None:
    """Of 0 and 1 both once with chance 1/2, each twice with chance 1/4; one topic does not move."""
    apart = topic_deviations(np.array([[0.0], [1.0]]), 4_000, np.random.default_rng(1))[:, 0] / widening(2)
    assert np.unique(apart.round(9)).tolist() == [-0.5, 0, 0.5]
    assert apart.var() == pytest.approx(0.125, abs=0.02)
    assert not topic_deviations(np.array([[0.3, 1.0]]), 10, np.random.default_rng(1)).any()


@pytest.mark.parametrize("topics", [2, 5, 50])
def test_deviations_are_widened_as_students_t_asks(topics: int) -> None:
    """So that mean and reach are those of the t interval; with many topics nothing is left to widen."""
    t, z = stats.t.ppf(0.95, topics - 1), stats.norm.ppf(0.95)
    assert widening(topics) == pytest.approx((topics / (topics - 1)) ** 0.5 * t / z)
    assert widening(1) == 1
    assert widening(10**6) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("topics", "share"), [(3, 0.86), (5, 0.9), (10, 0.9), (50, 0.9)])
def test_intervals_cover_nine_in_ten(topics: int, share: float) -> None:
    """Of few normal topics as of many; without widening .61, .79, .84 and .89."""
    assert covered(topics) == pytest.approx(share, abs=0.025)


TOPIC_RUN = {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 1.0}}
TOPIC_GRADES = {"t1": {"d1": 0, "d2": 1}, "t2": {"d1": 1}}
GOLD = {"d1": "yes", "d2": "yes"}


@pytest.fixture
def files(tmp_path):
    """Return the folder of the example files."""
    for name, text in example().items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_labels_are_scored_as_by_scores(tmp_path):
    """From a mapping, a table, a fit, or the folder of one, alone or in a list."""
    answers = {"d1": "yes", "d2": "no"}
    expected = scores(answers, GOLD).rows
    assert score(answers, GOLD).rows == score([answers], GOLD).rows == expected
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "majority")
    adjudge.save(fit, tmp_path / "fit")
    gold = dict(zip(fit.items.to_list(), fit.labels["label"].to_list(), strict=True))
    assert score(fit, gold).values["accuracy"] == score(tmp_path / "fit", gold).values["accuracy"] == 1
    assert isinstance(score(fit, gold), Scores)


def test_runs_are_scored_as_by_score_runs(files):
    """From files, alone, in a list, or by name."""
    path, grades = files / "bm25.run", files / "truth.qrels"
    expected = score_runs([path], grades).scores
    assert (
        score(path, grades).scores == score([path], grades).scores == score({"bm25": path}, grades).scores == expected
    )
    assert isinstance(score([path, files / "dense.run"], grades, draws=20), RunScores)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_frame_with_the_columns_of_a_run_is_one(kind):
    """Topic, document and score."""
    table = kind({"topic": ["t1", "t1"], "document": ["d1", "d2"], "score": [2.0, 1.0]})
    assert score(table, TOPIC_GRADES, "MRR").scores[0].value == 0.5
    assert find_runs(table) == [table] if kind is pl.DataFrame else find_runs(table) is not None


def test_mappings_are_told_from_their_shape():
    """{topic: {document: score}} is one run, {name: run} several, {item: label} labels."""
    assert find_runs(TOPIC_RUN) == [TOPIC_RUN]
    assert find_runs({"a": TOPIC_RUN, "b": TOPIC_RUN}) == {"a": TOPIC_RUN, "b": TOPIC_RUN}
    assert find_runs({"a": read_run(TOPIC_RUN)}) is not None
    assert find_runs(GOLD) is None
    assert find_runs({}) is None
    assert find_runs(["a.csv", "b.csv"]) is None
    assert find_runs("a.csv", named=True) == ["a.csv"]


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (
            TOPIC_RUN,
            {"positive": "yes"},
            "positive is not an option for runs: their options are 'level', 'complete', 'judged', 'ties', "
            "'draws', 'seed', 'baseline'",
        ),
        (
            GOLD,
            {"complete": True},
            "complete is not an option for labels: their options are 'positive', 'bound', 'item', 'label', 'labels', "
            "'ordinal', 'values', 'level'",
        ),
        (
            [GOLD, GOLD],
            {},
            "score takes one set of labels or several runs, but got 2 sets of labels: labels are a table "
            "with the columns item and label, or {item: label}",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(answers, options, message):
    """With the options that do."""
    with pytest.raises(UsageError) as error:
        score(answers, TOPIC_GRADES if answers is TOPIC_RUN else GOLD, **options)
    assert str(error.value) == message


def test_tables_are_of_the_kind_that_came_in():
    """A pandas table of answers gives a pandas table of scores."""
    answers = pd.DataFrame({"item": ["d1", "d2"], "label": ["yes", "no"]})
    result = score(answers, GOLD)
    assert isinstance(result.table, pd.DataFrame)
    assert list(result.table.columns) == ["measure", "value", "note"]
    assert "accuracy" in result._repr_html_()


def test_documents_without_a_grade_can_be_left_out():
    """The order of the others, and the ends of their ties, stay; a topic of which nothing remains counts as 0."""
    grades = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"z": 1}}
    run = {"1": {"x": 9.0, "a": 5.0, "y": 5.0, "b": 5.0, "c": 1.0}, "2": {"x": 1.0}}
    alone = {"1": {"a": 5.0, "b": 5.0, "c": 1.0}}
    for ties in ("name", "expected"):
        kept = score_runs([run], grades, "MAP,nDCG,MRR", judged=True, ties=ties)
        bare = score_runs([alone], grades, "MAP,nDCG,MRR", ties=ties)
        assert kept.value[0, :, 0] == pytest.approx(bare.value[0, :, 0])
        assert kept.value[0, :, 1].tolist() == [0, 0, 0]
        assert kept.counts.all()
        assert kept.unjudged.tolist() == [0]


def test_pairs_with_the_same_topics_share_the_draws_of_signs():
    """Together or one by one, p is the same; topics that only some runs have make no difference to the others."""
    rng = np.random.default_rng(0)
    grades = {str(t): {f"d{n}": int(n < 3) for n in range(8)} for t in range(9)}
    runs = {r: {t: {d: float(rng.random()) for d in x} for t, x in grades.items()} for r in "abc"}
    runs["c"].pop("8")
    every = {(pair.first, pair.second): pair for pair in score_runs(runs, grades, "MAP").pairs}
    assert [every[pair].topics for pair in ((("a", "b")), ("a", "c"), ("b", "c"))] == [9, 8, 8]
    for first, second in every:
        alone = score_runs({r: runs[r] for r in (first, second)}, grades, "MAP").pairs[0]
        assert every[first, second][:5] == pytest.approx(alone[:5])
    assert score_runs(runs, grades, "MAP").leaderboard == ()  # values of different topics have no order
    based = score_runs(runs, grades, "MAP", baseline="b")
    assert [(pair.first, pair.second) for pair in based.pairs] == [("a", "b"), ("c", "b")]


def test_a_leaderboard_is_that_of_the_bootstrap_over_topics():
    """A run that is better in every topic is best in every draw, and distinguished."""
    grades = {str(t): {f"d{n}": int(n < 3) for n in range(8)} for t in range(9)}
    runs = {
        "best": {t: {d: -float(d[1:]) for d in x} for t, x in grades.items()},
        "worst": {t: {d: float(d[1:]) for d in x} for t, x in grades.items()},
    }
    result = score_runs(runs, grades, "MAP")
    assert [(place.run, place.best, place.ranks) for place in result.leaderboard] == [
        ("best", 1, "1"),
        ("worst", 0, "2"),
    ]
    assert result.distinguished("MAP") == {("best", "worst")}
    assert result.leaderboard_table.shape == (2, 11)


def test_rows_may_come_from_iterators():
    """The documents and grades of ir_datasets and ir_measures are often generators."""
    run = ({"query_id": "1", "doc_id": name, "score": value} for name, value in (("a", 2.0), ("b", 1.0)))
    grades = ({"query_id": "1", "doc_id": name, "relevance": grade} for name, grade in (("a", 0), ("b", 1)))
    assert score(run, grades, "MRR").scores[0].value == 0.5


def test_swapped_arguments_of_score(tmp_path):
    """A run in the place of the truth is refused, and labels of a fit in the place of the truth are noticed."""
    path = tmp_path / "a.run"
    path.write_text("1 Q0 d1 1 2.0 a\n")
    with pytest.raises(UsageError, match=r"a.run is a run, not the truth: runs come first, then the truth"):
        score({"d1": "yes"}, path)
    labels = pd.DataFrame({"item": [1, 2], "label": ["x", "y"], "probability": [0.9, 0.8]})
    gold = pd.DataFrame({"item": [1, 2], "label": ["x", "x"]})
    with pytest.warns(AdjudgeWarning, match="answers come first, then the truth"):
        score(gold, labels)
    assert score(labels, gold).values["accuracy"] == 0.5
