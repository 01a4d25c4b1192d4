"""A fit as TREC's files."""

import polars as pl
import pytest

import adjudge
from adjudge.inference.export import FILES, qrels, task2_run

TABLE = pl.DataFrame(
    {
        "item": ["7_a", "7_a", "7_b", "8_a", "8_a", "8_a"],
        "judge": ["x", "y", "x", "x", "y", "z"],
        "label": [1, 1, 0, 0, 1, 1],
        "topic": ["7", "7", "7", "8", "8", "8"],
    }
)


def test_qrels_hold_the_consensus() -> None:
    """Topic, 0, document, label."""
    assert qrels(adjudge.fit(TABLE, "majority")) == "7 0 a 1\n7 0 b 0\n8 0 a 1\n"


def test_runs_rank_within_topics() -> None:
    """Topic, document, rank, probability."""
    text = task2_run(adjudge.fit(TABLE, "majority"))
    assert text == "7 a 1 1.000000\n7 b 2 0.000000\n8 a 1 0.666667\n"


def test_items_that_only_gold_knows_have_no_topic_and_no_line() -> None:
    """What has no topic is not in a TREC file."""
    with pytest.warns(adjudge.AdjudgeWarning):
        fit = adjudge.fit(TABLE, "majority", gold={"9_z": 1, "7_a": 1})
    with pytest.warns(adjudge.AdjudgeWarning, match="1 items that only gold knows have no topic and are left out"):
        assert "z" not in qrels(fit)


def test_topics_and_two_labels_are_needed() -> None:
    """The message says what is missing."""
    with pytest.raises(adjudge.UsageError, match="needs the topic of every item: name its column with --topic"):
        qrels(adjudge.fit(TABLE.drop("topic"), "majority"))
    with pytest.raises(adjudge.UsageError, match="this fit has 4"):
        task2_run(adjudge.fit(adjudge.dataset("anesthesia")))
    assert sorted(FILES) == ["qrels", "trec-task2-run"]
