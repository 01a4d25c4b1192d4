"""The study of calibration, on small sets."""

import shutil
from xml.etree import ElementTree

import numpy as np
import pytest

from adjudge.errors import InputError, UsageError
from adjudge.inference.model import MODELS
from studies import calibration, calibration_cells
from studies.calibration import NOTE, CalibrationStudy, pooled, progress, svg
from studies.calibration_cells import BINS, METHODS, Cell, Job, Scores, make_cell
from studies.outcome import StudyOptions

study = calibration.calibration
FEW = ("majority", "wawa", "dawid-skene", "hybrid-confusion", "mean")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Let there be few models, of which one needs an order."""
    monkeypatch.setattr(calibration, "METHODS", FEW)


@pytest.fixture
def counted(monkeypatch):
    """Return the cells that are made, as they are begun; the fourth is interrupted."""
    real, calls = calibration_cells._cell, []

    def cell(job, crowd):
        calls.append(job)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(job, crowd)

    monkeypatch.setattr(calibration_cells, "_cell", cell)
    return calls


def test_every_model_takes_part(crowds, tmp_path):
    """Those that are sampled only by short chains, and ``auto`` by what it takes; not what was trained on the sets."""
    assert set(METHODS) == {*MODELS, "auto"} - {"consensus"}
    for model in ("hierarchical", "auto"):
        cell = make_cell(Job(str(crowds), str(tmp_path), "a", model, 0, "", 1))
        assert cell.ways["own"].log_loss > 0
        assert cell.ways["judgments"].accuracy > 0.5


def test_gains_have_intervals(crowds):
    """A bootstrap over sets: with one set it is a point, and the mean is inside."""
    result = study(StudyOptions(str(crowds), ["a", "b"])).by_model()
    for entry in result:
        assert entry.gain[0] == pytest.approx(entry.before["log_loss"] - entry.after["log_loss"])
        assert entry.gain[1] <= entry.gain[0] <= entry.gain[2]
    assert any(entry.gain[1] < entry.gain[2] for entry in result)
    assert all(entry.gain[1] == entry.gain[2] for entry in study(StudyOptions(str(crowds), ["a"])).by_model())


def test_models_and_sets_are_told(crowds):
    """Means over sets, the vote's loss beside them, and what gold gives."""
    result = study(StudyOptions(str(crowds), ["a", "b"]))
    assert (result.sets, result.models) == (["a", "b"], ["majority", "wawa", "dawid-skene", "hybrid-confusion"])
    models, ds, hybrid = result.tables()
    assert [row[0] for row in models.rows] == result.models
    cells = result.of("dawid-skene")
    by = next(entry for entry in result.by_model() if entry.model == "dawid-skene")
    for mode, means in (("own", by.before), ("judgments", by.after)):
        losses = [cell.ways[mode].log_loss for cell in cells]
        assert means["log_loss"] == pytest.approx(sum(losses) / 2)
    assert by.vote == pytest.approx(sum(cell.ways["own"].log_loss for cell in result.of("majority")) / 2)
    assert ds.title.startswith("dawid-skene: log loss")
    assert hybrid.title.startswith("hybrid-confusion: log loss")
    assert [row[0] for row in ds.rows] == ["a", "b", "mean"]
    assert ds.rows[0][1:6] == [40, result.vote("a"), *(cells[0].ways[w].log_loss for w in ("own", "judgments", "gold"))]
    assert ds.rows[2][5] == pytest.approx((ds.rows[0][5] + ds.rows[1][5]) / 2)
    assert repr(result) == "CalibrationStudy(4 models on 2 sets)"
    columns = result.columns()
    assert len(columns["set"]) == 2 * (2 + 2 + 3 + 3)
    assert list(zip(columns["model"], columns["calibrate"], strict=True))[4:7] == [
        ("dawid-skene", how) for how in ("none", "judgments", "gold")
    ]
    assert columns["hedge"][4:7] == [None, cells[0].hedge, None]
    assert columns["vote_log_loss"][4] == result.vote("a")


def test_sets_worse_than_the_vote_are_named(crowds):
    """By more than .05 in log loss, after calibration."""
    result = study(StudyOptions(str(crowds), ["a"]))
    bad = tuple(
        cell._replace(
            ways={**cell.ways, "judgments": cell.ways["judgments"]._replace(log_loss=result.vote("a") + more)}
        )
        for cell, more in zip(result.of("wawa") + result.of("dawid-skene"), (0.06, 0.04), strict=True)
    )
    rows = CalibrationStudy((*result.of("majority"), *bad)).tables()[0].rows
    assert [row[-1] for row in rows] == ["0", "1, a", "0"]


def test_what_is_finished_is_kept(crowds, tmp_path, counted):
    """Ctrl-C ends the study with it, and the next goes on from there."""
    messages = []
    options = StudyOptions(str(crowds), ["a", "b"], keep=str(tmp_path), say=messages.append)
    first = study(options)
    assert (first.interrupted, len(first.cells)) == (True, 3)
    assert first.warnings()[-1] == "interrupted; cells finished: 3"
    assert any(line.startswith("[########----") and " 3 of 8, " in line for line in messages)
    again = study(options)
    assert (again.interrupted, len(again.cells), len(counted)) == (False, 8, 4 + 5)
    assert study(options).columns() == again.columns()
    assert len(counted) == 9
    assert len(list((tmp_path / "cells").glob("calibration-*.json"))) == 8


def test_a_study_without_a_finished_cell_ends(crowds, tmp_path, monkeypatch):
    """There is nothing to tell."""

    def interrupted(job, crowd):
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration_cells, "_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        study(StudyOptions(str(crowds), ["a"], keep=str(tmp_path)))


def test_cells_of_other_data_or_code_are_made_anew(crowds, tmp_path, monkeypatch):
    """A changed set, and a changed package."""
    shutil.copytree(crowds / "a", tmp_path / "data" / "a")
    options = StudyOptions(str(tmp_path / "data"), ["a"], keep=str(tmp_path))
    monkeypatch.setattr(calibration, "METHODS", ("majority",))

    def cells():
        """Return how many are kept, and how many items the study has."""
        items = study(options).cells[0].items
        return len(list((tmp_path / "cells").iterdir())), items

    assert (cells(), cells()) == ((1, 40), (1, 40))
    gold = tmp_path / "data" / "a" / "gold.csv"
    gold.write_text("".join(gold.read_text().splitlines(keepends=True)[:-1]))
    assert cells() == (2, 39)
    monkeypatch.setattr(calibration, "code_mark", lambda: "other")
    assert cells() == (3, 39)


def test_processes_do_not_change_the_result(crowds, monkeypatch):
    """Two give what one gives, but for the time it took."""
    monkeypatch.setattr(calibration, "METHODS", ("majority",))
    first, two = (study(StudyOptions(str(crowds), ["a"], workers=n)).columns() for n in (1, 2))
    assert {**first, "seconds": 0} == {**two, "seconds": 0}


def test_of_all_sets_those_are_left_out_that_cannot_be_taken(crowds, tmp_path, monkeypatch):
    """With a word; a set that was named is refused."""
    monkeypatch.setattr(calibration, "METHODS", ("majority",))
    shutil.copytree(crowds / "a", tmp_path / "a")
    shutil.copytree(crowds / "a", tmp_path / "b")
    (tmp_path / "b" / "gold.csv").write_text("item,label\n")
    result = study(StudyOptions(str(tmp_path)))
    assert result.sets == ["a"]
    message = f"left out: b: {tmp_path}/b/gold.csv: the file has a header but no rows"
    assert message in result.warnings()
    with pytest.raises(InputError, match="has a header but no rows"):
        study(StudyOptions(str(tmp_path), ["b"]))
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(UsageError, match="there is no set to study: name some with --sets"):
        study(StudyOptions(str(tmp_path)))


def test_a_folder_that_cannot_be_made(crowds, tmp_path):
    """Is refused before any work."""
    (tmp_path / "cells").write_text("")
    with pytest.raises(InputError, match=r"cells: cannot be created: .*; name another folder with --out"):
        study(StudyOptions(str(crowds), ["a"], keep=str(tmp_path)))


def test_warnings_tell_what_is_missing(crowds):
    """A fit that has not converged, gold that is too little, and a model that refused."""
    result = study(StudyOptions(str(crowds), ["a"]))
    (cell,) = result.of("dawid-skene")
    odd = (
        cell._replace(stopped="stopped at the cap of 5 passes"),
        cell._replace(left_out="too few"),
        cell._replace(ways={}, left_out="not these"),
    )
    assert CalibrationStudy(odd).warnings() == [
        "dawid-skene on a has not converged: stopped at the cap of 5 passes",
        "left out: dawid-skene on a, by gold: too few",
        "left out: dawid-skene on a: not these",
    ]


def test_the_bar_tells_how_long():
    """In minutes or seconds."""
    job = Job("", "", "a", "wawa", 0, "", 1)
    assert progress(1, 4, 90, job) == "[#####---------------] 1 of 4, 2 min left: a, wawa"
    assert progress(4, 4, 0, job) == "[####################] 4 of 4, 0 s left: a, wawa"


def test_a_real_set(shared, monkeypatch):
    """Dawid-Skene is far too sure of the bluebirds: calibration takes it below the vote's loss, gold further."""
    monkeypatch.setattr(calibration, "METHODS", ("majority", "dawid-skene"))
    result = study(StudyOptions(str(shared("data/bluebirds").parent), ["bluebirds"]))
    row = result.tables()[1].rows[0]
    vote, own, judgments, gold = row[2:6]
    assert own > vote > judgments > gold
    assert 0.1 < result.of("dawid-skene")[0].hedge < 0.6


def cell(name, model, items, right):
    """Return a cell of a model that says .97 of everything."""
    bins = np.zeros((3, BINS))
    bins[:, 19] = items, 0.97 * items, right * items
    ways = {mode: Scores(right, 0.1, 0.1, 0.1, bins) for mode in ("own", "judgments")}
    return Cell(Job("", "", name, model, 0, "", 1), items, 2, ways, 0.0, 0.0, "", 0.0)


@pytest.fixture
def found():
    """Return two sets, of which one is ten times as large."""
    models = ("majority", "dawid-skene")
    return CalibrationStudy(tuple(cell(*entry) for m in models for entry in (("a", m, 10, 0.5), ("b", m, 100, 0.9))))


def test_every_set_has_the_same_weight(found):
    """However many items it has."""
    share, says, right = pooled(found, "majority", "own")
    assert share.sum() == pytest.approx(1)
    assert (says[19], right[19]) == pytest.approx((0.97, 0.7))


def test_before_and_after_stand_parallel_map(found):
    """With what is said and what is right above."""
    words = {element.text for element in ElementTree.fromstring(svg(found)).iter() if element.text}
    titles = {f"{model}, {mode}" for model in ("majority", "dawid-skene") for mode in ("own", "by judgments")}
    assert titles | {"says 97%, right in 70%", NOTE.format(sets=2)} <= words
