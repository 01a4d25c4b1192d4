"""The study of paper 001: comparison, curves by judgments and by labels, and types of task."""

import numpy as np
import polars as pl
import pytest

from adjudge.data.judgments import from_codes
from adjudge.data.scale import Scale
from adjudge.inference.fit import fit
from studies import ordinal as room
from studies.datasets import Crowd, read_crowd
from studies.ordinal import EMOTION, METHODS, by_judgments, by_labels, merged, on_simulation, ordinal, score_methods
from studies.outcome import StudyOptions


@pytest.fixture
def small(monkeypatch):
    """Make the sets and curves of the study those of two small ordinal crowds."""
    monkeypatch.setattr(room, "PER_ITEM", {"c": (1, 3)})
    monkeypatch.setattr(room, "SCALES", {"d": (2, 4)})
    monkeypatch.setattr(room, "LENGTHS", (3,))
    monkeypatch.setattr(room, "SIZE", 40)
    monkeypatch.setattr(room, "TASKS", {"c": "one task", "d": "another"})
    monkeypatch.setitem(room.STUDIES, "ordinal", room.STUDIES["ordinal"]._replace(sets=("c",)))


def test_the_study_has_curves_and_tasks(small, crowds):
    """The comparison first, then both curves, then the types of task."""
    outcome = ordinal(StudyOptions(str(crowds), runs=2, draws=5))
    assert [(p.panel, p.x) for p in outcome.judgments.points[:: len(METHODS)]] == [("c", 1), ("c", 3)]
    assert outcome.labels.positions() == [("d", 2), ("d", 4), ("simulated", 3)]
    assert [(task.set, task.labels, task.per_item) for task in outcome.tasks] == [("c", 4, 5.0), ("d", 4, 5.0)]
    titles = [table.title.split(":")[0] for table in outcome.tables()]
    assert titles == ["c", "c", "c", "d", "d", "simulated", "simulated", "By type of task", "By type of task"]
    assert list(outcome.files()) == [".svg", "_judgments.csv", "_judgments.svg", "_labels.csv", "_labels.svg"]
    assert outcome.files()["_labels.csv"]().startswith(b"set,labels,method,runs,accuracy,")
    assert not outcome.interrupted
    assert outcome.warnings() == []


def test_named_sets_are_compared_alone(crowds):
    """Curves are those of the study's own sets."""
    outcome = ordinal(StudyOptions(str(crowds), ["c"], draws=5))
    assert outcome.curves == {}
    assert outcome.columns()["set"][0] == "c"


def test_methods_are_scored_by_value_and_label(crowds):
    """Rounded values of the ordinal model, of mean and median; labels of GLAD and of the vote."""
    crowd = read_crowd(crowds, "c", ("label",), ordinal=True)
    scores = score_methods(crowd.judgments, crowd.item, crowd.truth, seed=0)
    assert tuple(scores) == METHODS
    mean = fit(crowd.judgments, "mean").posterior[crowd.item] @ np.arange(4)
    assert scores["mean"]["accuracy"] == (np.floor(mean + 0.5) == crowd.truth).mean()
    assert scores["mean"]["error"] == pytest.approx(np.abs(mean - crowd.truth).mean() / 3)
    vote = fit(crowd.judgments, "majority", seed=0).label[crowd.item]
    assert scores["majority"]["accuracy"] == (vote == crowd.truth).mean()


def test_neighbouring_labels_are_merged(crowds):
    """Four labels become two in judgments and truths alike; scores of emotions are cut into steps of one width."""
    crowd = read_crowd(crowds, "c", ("label",), ordinal=True)
    two = merged(crowd, 2)
    assert two.judgments.scale == Scale((0, 1), ordinal=True)
    assert two.judgments.label.tolist() == (crowd.judgments.label // 2).tolist()
    assert two.truth.tolist() == (crowd.truth // 2).tolist()
    scale = Scale((-100, 0, 39, 40, 99, 100), ordinal=True)
    names = {"items": pl.Series(["a"]), "judges": pl.Series(list("uvwxyz"))}
    judgments = from_codes(np.zeros(6, np.int32), np.arange(6), np.arange(6, dtype=np.uint8), scale=scale, **names)
    cut = merged(Crowd(EMOTION, judgments, np.array([5]), np.array([0])), 5)
    assert sorted(cut.judgments.label.tolist()) == [0, 0, 1, 2, 4, 4]
    assert cut.truth.tolist() == [4]


def test_a_run_depends_on_its_seed(crowds):
    """Judgments are drawn again in each run, and crowds are simulated again."""
    crowd = read_crowd(crowds, "c", ("label",), ordinal=True)
    assert by_judgments(crowd, 2, 1) == by_judgments(crowd, 2, 1) != by_judgments(crowd, 2, 2)
    assert by_labels(crowd, 4, 1) == by_judgments(merged(crowd, 4), 5, 1)
    assert set(on_simulation(3, 0)) == set(METHODS)
