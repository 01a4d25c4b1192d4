"""``python -m studies calibration``."""

from xml.etree import ElementTree

import polars as pl
import pytest

from adjudge.data.judgments import judgment_table
from adjudge.data.simulate import simulate
from studies import calibration, calibration_cells

STUDY = ("study", "calibration", "--data", "crowds", "--out", "results")


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    """Leave a small crowd, and let few models take part, in this process alone."""
    monkeypatch.setattr(calibration, "METHODS", ("majority", "dawid-skene"))
    monkeypatch.setattr("studies.command._cores", lambda: 1)
    drawn = simulate("dawid-skene", 0, items=60, judges=9, labels=2, per_item=5, gold=40)
    (tmp_path / "crowds" / "a").mkdir(parents=True)
    judgment_table(drawn.judgments).write_csv(tmp_path / "crowds" / "a" / "labels.csv")
    gold = pl.DataFrame({"item": list(drawn.gold), "label": list(drawn.gold.values())})
    gold.write_csv(tmp_path / "crowds" / "a" / "gold.csv")


def test_tables_figure_and_cells(run, crowd, tmp_path, monkeypatch):
    """The next run computes nothing again."""
    answer = run(*STUDY)
    assert answer.code == 0
    assert answer.out.startswith(
        "Means over sets (1 in all): the model's own probabilities, and calibrated by judgments"
    )
    assert "dawid-skene: log loss, clipped at .001" in answer.out
    assert answer.out.endswith("wrote study_calibration.csv to results\nwrote study_calibration.svg to results\n")
    table = pl.read_csv(tmp_path / "results" / "study_calibration.csv")
    assert table["calibrate"].to_list() == ["none", "judgments", "none", "judgments", "gold"]
    drawn = set(ElementTree.parse(tmp_path / "results" / "study_calibration.svg").getroot().itertext())
    assert "dawid-skene, by judgments" in drawn
    monkeypatch.setattr(calibration_cells, "_cell", None)
    assert run(*STUDY).out == answer.out


def test_ctrl_c_keeps_what_is_finished(run, crowd, tmp_path, monkeypatch):
    """Tables of it are shown, and the exit code says that it was ended."""
    real = calibration_cells._cell

    def interrupted(job, crowd):
        if job.model == "dawid-skene":
            raise KeyboardInterrupt
        return real(job, crowd)

    monkeypatch.setattr(calibration_cells, "_cell", interrupted)
    answer = run(*STUDY)
    assert answer.code == 130
    assert "adjudge: warning: interrupted; cells finished: 1" in answer.err
    assert [path.name[:22] for path in (tmp_path / "results" / "cells").iterdir()] == ["calibration-a-majority"]


def test_it_is_listed(run):
    """Beside the others."""
    answer = run("study").out.replace("\n", " ")
    assert "calibration, every set with gold, every model" in answer
