"""Labels or runs: which of them answers are, and that both are scored."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import adjudge
from adjudge.data.runs import example, read_run
from adjudge.errors import UsageError
from adjudge.metrics.labels import Scores, scores
from adjudge.metrics.run_scores import RunScores, score_runs
from adjudge.metrics.score import find_runs, score

RUN = {"t1": {"d1": 2.0, "d2": 1.0}, "t2": {"d1": 1.0}}
GRADES = {"t1": {"d1": 0, "d2": 1}, "t2": {"d1": 1}}
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
    wanted = scores(answers, GOLD).rows
    assert score(answers, GOLD).rows == score([answers], GOLD).rows == wanted
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "majority")
    adjudge.save(fit, tmp_path / "fit")
    gold = dict(zip(fit.items.to_list(), fit.labels["label"].to_list(), strict=True))
    assert score(fit, gold).values["accuracy"] == score(tmp_path / "fit", gold).values["accuracy"] == 1
    assert isinstance(score(fit, gold), Scores)


def test_runs_are_scored_as_by_score_runs(files):
    """From files, alone, in a list, or by name."""
    path, grades = files / "bm25.run", files / "truth.qrels"
    wanted = score_runs([path], grades).scores
    assert score(path, grades).scores == score([path], grades).scores == score({"bm25": path}, grades).scores == wanted
    assert isinstance(score([path, files / "dense.run"], grades, draws=20), RunScores)


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_frame_with_the_columns_of_a_run_is_one(kind):
    """Topic, document and score."""
    table = kind({"topic": ["t1", "t1"], "document": ["d1", "d2"], "score": [2.0, 1.0]})
    assert score(table, GRADES, "MRR").scores[0].value == 0.5
    assert find_runs(table) == [table] if kind is pl.DataFrame else find_runs(table) is not None


def test_mappings_are_told_from_their_shape():
    """{topic: {document: score}} is one run, {name: run} several, {item: label} labels."""
    assert find_runs(RUN) == [RUN]
    assert find_runs({"a": RUN, "b": RUN}) == {"a": RUN, "b": RUN}
    assert find_runs({"a": read_run(RUN)}) is not None
    assert find_runs(GOLD) is None
    assert find_runs({}) is None
    assert find_runs(["a.csv", "b.csv"]) is None
    assert find_runs("a.csv", named=True) == ["a.csv"]


@pytest.mark.parametrize(
    ("answers", "options", "message"),
    [
        (
            RUN,
            {"positive": "yes"},
            "positive is not an option for runs: their options are 'level', 'complete', 'ties', 'draws', 'seed'",
        ),
        (
            GOLD,
            {"level": 2},
            "level is not an option for labels: their options are 'positive', 'bound', 'item', 'label', 'labels', "
            "'ordinal'",
        ),
        ([GOLD, GOLD], {}, "score takes one set of labels or several runs, but got 2 sets of labels"),
    ],
)
def test_what_does_not_go_together_is_refused(answers, options, message):
    """With the options that do."""
    with pytest.raises(UsageError) as error:
        score(answers, GRADES if answers is RUN else GOLD, **options)
    assert str(error.value) == message


def test_tables_are_of_the_kind_that_came_in():
    """A pandas table of answers gives a pandas table of scores."""
    answers = pd.DataFrame({"item": ["d1", "d2"], "label": ["yes", "no"]})
    found = score(answers, GOLD)
    assert isinstance(found.table, pd.DataFrame)
    assert list(found.table.columns) == ["measure", "value", "note"]
    assert "accuracy" in found._repr_html_()
