"""Whether a ranker beats the first stage."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_1samp

from adjudge.errors import UsageError
from adjudge.learn.first_stage import FirstStage, compare, interval, read_first_stage
from adjudge.learn.training_set import read_features


@pytest.fixture
def table():
    """Return ten topics of four documents with two features."""
    names = {"topic": [f"t{n // 4}" for n in range(40)], "document": [f"d{n}" for n in range(40)]}
    rng = np.random.default_rng(0)
    return read_features(pl.DataFrame(names | {"bm25": rng.normal(size=40), "other": rng.normal(size=40)}))


def test_it_is_a_feature_or_a_run(table, tmp_path):
    """By default bm25; documents that a run does not have come last."""
    assert read_first_stage(None, table).name == "bm25"
    assert np.array_equal(read_first_stage("other", table).score, table.X[:, 1])
    (tmp_path / "mine.run").write_text("t0 Q0 d1 1 2.5 mine\nt0 Q0 d0 2 1.5 mine\n")
    stage = read_first_stage(str(tmp_path / "mine.run"), table)
    assert stage.score[:3].tolist() == [1.5, 2.5, -np.inf]
    assert read_first_stage(table.run(table.X[:, 1], "b"), table).name == "b"
    assert (
        read_first_stage(
            None,
            read_features(
                table.frame.select("other").with_columns(
                    topic=pl.Series(table.topics), document=pl.Series(table.documents)
                )
            ),
        )
        is None
    )


def test_what_is_neither_is_refused(table, tmp_path):
    """Both messages in full."""
    with pytest.raises(UsageError) as error:
        read_first_stage("none", table)
    assert str(error.value) == (
        "first stage 'none' is neither a feature nor a file: features are 'bm25', 'other', and a run is a file in TREC "
        "format"
    )
    (tmp_path / "mine.run").write_text("q Q0 x 1 2.5 mine\n")
    with pytest.raises(UsageError) as error:
        read_first_stage(tmp_path / "mine.run", table)
    assert str(error.value) == "first stage 'mine' has none of the 40 documents with features"


def test_intervals_are_those_of_students_t():
    """As scipy has them; a single topic has none."""
    difference = np.random.default_rng(1).normal(0.1, 1, 30)
    expected = ttest_1samp(difference, 0).confidence_interval(0.95)
    assert interval(difference) == pytest.approx((expected.low, expected.high))
    assert interval(np.array([0.5])) == (-np.inf, np.inf)


def test_the_verdict_has_the_difference_and_its_interval(table):
    """Better, the same, and worse; the first stage against itself is not better."""
    truth = np.tile([True, False, False, False], 10)
    stage = FirstStage("bm25", np.tile([1.0, 2.0, 0.0, 0.5], 10))  # the relevant document is second
    rows = np.arange(40)
    up = compare(stage, truth.astype(float), rows, truth, table)
    assert up.better
    assert up.verdict == (
        "the ranker beats the first stage 'bm25': MAP 1.000 against 0.500, a difference of +0.500 (95% interval +0.500 "
        f"to +0.500, p = {up.gains['MAP'].p:.3g}) on 10 topics"
    )
    assert up.gains["MAP"].p < 0.01
    same = compare(stage, stage.score, rows, truth, table)
    assert (same.better, same.gains["MRR"].difference) == (False, 0.0)
    assert same.verdict == (
        "the ranker does not beat the first stage 'bm25': MAP 0.500 against 0.500, a difference of +0.000 (95% "
        "interval +0.000 to +0.000, p = 1) on 10 topics; the interval includes 0, so this can be chance"
    )
    assert not compare(stage, -truth.astype(float), rows, truth, table).better
