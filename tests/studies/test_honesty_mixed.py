"""One person beside machines: who is drawn, what the truth is, and the scores of all answers on a small panel."""

import numpy as np
import polars as pl
import pytest

from adjudge.data.panel import MACHINE, PERSON
from adjudge.data.read import read
from adjudge.inference.calibration import learned_weights
from studies import honesty_mixed
from studies.honesty import Score
from studies.honesty_mixed import (
    MixedScore,
    draw_people,
    mixed_scores,
    read_mixed,
    rows_of_kind,
    rows_of_mixed,
    worse_than_person,
)

QUIET = lambda text: None  # noqa: E731
ANSWER = "people beside machines: consensus"


@pytest.fixture
def panel(tmp_path):
    """Return a folder with a panel of three people and three machines, who are right on four in five items."""
    rng, folder = np.random.default_rng(3), tmp_path / "small"
    folder.mkdir()
    truth, judges = rng.integers(2, size=80), ["p1", "p2", "p3", "m1", "m2", "m3"]
    right = rng.random((80, 6)) < 0.8
    given = np.where(right, truth[:, None], 1 - truth[:, None])
    table = {"item": np.repeat(np.arange(80), 6), "judge": judges * 80, "label": given.ravel()}
    pl.DataFrame(table).write_csv(folder / "labels.csv")
    pl.DataFrame({"item": np.arange(80), "label": truth}).write_csv(folder / "gold.csv")
    kinds = pl.DataFrame({"judge": judges, "kind": ["human"] * 3 + ["llm"] * 3})
    kinds.write_csv(folder / "judges.csv")
    return folder


def test_the_truth_is_the_majority_of_the_others(panel):
    """Every item keeps all machines and one person, and the truth is what the two other people agree on."""
    judgments = read_mixed(panel)
    drawn, truth = draw_people(judgments, np.random.default_rng(0))
    assert set(np.diff(drawn.start)) == {4}
    assert rows_of_kind(drawn, PERSON).size == 80
    assert rows_of_kind(drawn, MACHINE).size == 240
    people = judgments.take(rows_of_kind(judgments, PERSON))
    ones = np.bincount(people.item(), people.label) - np.bincount(
        drawn.item()[rows_of_kind(drawn, PERSON)], drawn.label[rows_of_kind(drawn, PERSON)]
    )
    np.testing.assert_array_equal(truth, np.select([ones == 0, ones == 2], [0, 1], -1))


def test_judgments_without_kinds_have_no_people():
    """If nothing is known about the judges, nobody is of a kind."""
    judgments = read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [1]}))
    assert rows_of_kind(judgments, PERSON).size == 0


def test_all_answers_are_scored(panel, monkeypatch):
    """Every answer is scored once per draw; the person and the machines together are better than one person."""
    monkeypatch.setattr(honesty_mixed, "MIXED", ("small",))
    scores = mixed_scores(panel.parent, {"small": learned_weights()}, QUIET)
    assert len(scores) == 3 * 8
    rows = {(row[0], row[1]): row for row in rows_of_mixed(scores)}
    assert len(rows) == 8
    right = {key: float(row[-1].split(" / ")[0]) for key, row in rows.items()}
    assert right[ANSWER, "0"] > right["one person", "0"]
    assert right[ANSWER, "20"] > 0.75


def test_failures_are_told():
    """A panel on which one person is more often right than the answer is named."""
    scores = [
        MixedScore(ANSWER, 0, "p", Score(0.8, 0.5, 0.0)),
        MixedScore("one person", 0, "p", Score(0.9, 0.5, 0.0)),
        MixedScore("machines: consensus", 0, "p", Score(0.7, 0.5, 0.0)),
    ]
    assert worse_than_person(scores) == ["on `p` (0.800, one person 0.900)"]
    better = [each._replace(score=Score(0.95, 0.5, 0.0)) if each.method == ANSWER else each for each in scores]
    assert worse_than_person(better) == []
