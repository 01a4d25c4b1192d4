"""A fit as TREC's files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.runs import read_run
from adjudge.inference.export import FILES, qrels, run, task2_run, task2_run_quantised

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
    with pytest.raises(adjudge.UsageError, match="needs the topic of every item: name its column with topic="):
        qrels(adjudge.fit(TABLE.drop("topic"), "majority"))
    with pytest.raises(adjudge.UsageError, match="this fit has 4"):
        task2_run(adjudge.fit(adjudge.dataset("anesthesia")))
    assert list(FILES) == ["qrels", "run", "trec-task2-run", "trec-task2-run-quantised"]


def test_a_quantised_run_has_certain_labels_and_the_same_ranks() -> None:
    """The class label is 1 above one half, and 0 at one half."""
    fit = adjudge.fit(TABLE, "majority")
    assert task2_run_quantised(fit) == "7 a 1 1.0\n7 b 2 0.0\n8 a 1 1.0\n"
    tied = adjudge.fit(TABLE.filter(pl.col("judge") != "z"), "majority")
    assert task2_run_quantised(tied).splitlines()[2] == "8 a 1 0.0"


def test_a_trec_run_ranks_by_log_odds() -> None:
    """Documents that are relevant to sixteen digits are still in the order of their odds."""
    fit = adjudge.fit(TABLE, "majority")
    sure = replace(fit, posterior=np.array([[1e-20, 1.0], [1e-30, 1.0], [0.75, 0.25]]), topic=np.zeros(3, np.int32))
    assert run(sure) == (
        f"7 Q0 b 1 {np.log(1e30)!r} majority\n7 Q0 a 2 {np.log(1e20)!r} majority\n"
        f"7 Q0 8_a 3 {np.log(0.25) - np.log(0.75)!r} majority\n"
    ).replace("np.float64(", "").replace(")", "")


def test_a_trec_run_of_grades_ranks_by_their_expected_value(tmp_path: Path) -> None:
    """On an ordered scale; a scale without order is refused."""
    scale = adjudge.Scale(("bad", "fair", "good"), ordinal=True, values=(0.0, 1.0, 5.0))
    fit = replace(adjudge.fit(TABLE, "majority"), scale=scale, topic=np.zeros(3, np.int32))
    fit = replace(fit, posterior=np.array([[0.0, 1.0, 0.0], [0.7, 0.0, 0.3], [0.1, 0.8, 0.1]]))
    (tmp_path / "x.run").write_text(run(fit))
    assert read_run(tmp_path / "x.run").ranked == {"7": ["b", "8_a", "a"]}  # 1.5, 1.3 and 1
    with pytest.raises(adjudge.UsageError) as error:
        run(replace(fit, scale=adjudge.Scale(("bad", "fair", "good"))))
    assert str(error.value) == (
        "a run needs two labels, or ordered ones; this fit has 'bad', 'fair', 'good' (give their order with labels= "
        "and ordinal=True, or with values=)"
    )
