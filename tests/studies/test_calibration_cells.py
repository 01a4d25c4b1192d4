"""One model on one set, measured three ways, and kept."""

import json
import shutil
import signal

import numpy as np
import pytest

from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.inference import calibrate
from adjudge.inference.fit import fit
from adjudge.metrics.probabilities import brier, calibration, log_loss
from studies import calibration_cells
from studies.calibration_cells import (
    BINS,
    Job,
    Scores,
    code_mark,
    make_cell,
    mark_of,
    read_cell,
    read_set,
    score_posterior,
)
from studies.datasets import Crowd, gold_folds


@pytest.fixture
def job(crowds, tmp_path):
    """Return a cell to be made."""
    return Job(str(crowds), str(tmp_path), "a", "dawid-skene", 0, mark_of(crowds / "a", "code"), 300)


def test_a_cell_has_the_scores_of_fits(job, crowds):
    """Its own probabilities, those by judgments, and by gold in folds that no scored truth is told in."""
    cell = make_cell(job)
    crowd = read_set(crowds, "a")
    own = fit(crowd.judgments, "dawid-skene").posterior[crowd.item]
    by = fit(crowd.judgments, "dawid-skene", calibrate="judgments")
    scored = cell.ways["own"]
    assert scored.log_loss == log_loss(crowd.truth, own)
    assert scored.brier == brier(crowd.truth, own)
    assert scored.ece == pytest.approx(calibration(crowd.truth, own).ece)
    assert scored.accuracy == np.mean(own.argmax(axis=1) == crowd.truth)
    assert cell.ways["judgments"].log_loss == log_loss(crowd.truth, by.posterior[crowd.item])
    assert (cell.dependence, cell.hedge) == (by.calibration.dependence, by.calibration.hedge)
    gold = np.empty_like(own)
    for answer, requested in gold_folds(crowd, 5, 0):
        assert (answer[crowd.item[requested]] == -1).all()
        gold[requested] = fit(crowd.judgments, "dawid-skene", answer, calibrate="gold").posterior[crowd.item[requested]]
    assert cell.ways["gold"].log_loss == log_loss(crowd.truth, gold)
    assert (cell.items, cell.labels, cell.left_out) == (40, 2, "")


def test_ties_count_by_their_shares_and_bins_are_of_the_likeliest_label(crowds):
    """Of two labels that are equally likely, half is right."""
    crowd = Crowd("x", read_set(crowds, "a").judgments, np.array([0, 1, 1]), np.arange(3))
    scored = score_posterior(crowd, np.array([[0.5, 0.5], [0.1, 0.9], [1 + 1e-16, 0.0]]))
    assert scored.accuracy == 0.5
    assert scored.bins.shape == (3, BINS)
    assert scored.bins[:, 10].tolist() == [1, 0.5, 0.5]
    assert scored.bins[:, 18].tolist() == [1, 0.9, 1]
    assert scored.bins[:, 19].tolist() == [1, 1, 0]


def test_a_cell_is_read_as_it_was_made(job):
    """Number by number."""
    cell, again = make_cell(job), read_cell(job)
    for name, mode in cell.ways.items():
        assert again.ways[name][:4] == mode[:4]
        np.testing.assert_array_equal(again.ways[name].bins, mode.bins)
    assert again._replace(ways={}) == cell._replace(ways={})
    assert isinstance(again.ways["own"], Scores)


@pytest.mark.parametrize("spoil", [lambda told: {**told, "format": 0}, lambda told: {**told, "mark": "x"}, list])
def test_a_cell_of_another_kind_is_not_taken(job, spoil):
    """Nor half a file, nor none."""
    assert read_cell(job) is None
    make_cell(job)
    job.path.write_text(json.dumps(spoil(json.loads(job.path.read_text()))))
    assert read_cell(job) is None
    job.path.write_text('{"format"')
    assert read_cell(job) is None


def test_a_mark_tells_data_and_code(crowds, tmp_path, monkeypatch):
    """A set that is copied has the same, one that is changed another."""
    shutil.copytree(crowds / "a", tmp_path / "copy")
    mark = mark_of(crowds / "a", "code")
    assert mark_of(tmp_path / "copy", "code") == mark
    assert mark_of(tmp_path / "copy", "other") != mark
    (tmp_path / "copy" / "meta.json").write_text("{}")
    assert mark_of(tmp_path / "copy", "code") != mark
    code = code_mark()
    monkeypatch.setattr(calibration_cells, "LIBRARIES", ("numpy", "no-such-library"))
    assert code_mark() != code


def test_labels_have_an_order_where_meta_says_so(crowds, tmp_path):
    """And only there."""
    shutil.copytree(crowds / "c", tmp_path / "c")
    assert not read_set(tmp_path, "c").judgments.scale.ordinal
    names = read_set(tmp_path, "c").judgments.scale.names[::-1]
    (tmp_path / "c" / "meta.json").write_text(json.dumps({"ordinal": True, "label_order": names}))
    assert read_set(tmp_path, "c").judgments.scale.ordinal
    assert read_set(tmp_path, "c").judgments.scale.names == names


def test_sets_that_cannot_be_measured(tmp_path):
    """Numbers instead of labels, and no gold."""
    (tmp_path / "n").mkdir()
    rows = "".join(f"i{n % 7},j{n % 3},{n}\n" for n in range(21))
    (tmp_path / "n" / "labels.csv").write_text("item,judge,label\n" + rows)
    (tmp_path / "n" / "gold.csv").write_text("item,label\ni1,1\n")
    refusal = "set 'n' has 21 labels, which are numbers: the study is of 20 labels at most"
    with pytest.raises(UsageError, match=refusal), pytest.warns(AdjudgeWarning, match="which look like scores"):
        read_set(tmp_path, "n")
    (tmp_path / "n" / "labels.csv").write_text("item,judge,label\ni1,a,0\ni1,b,1\n")
    (tmp_path / "n" / "gold.csv").write_text("item,label\n")
    with pytest.raises(InputError, match="has a header but no rows"):
        read_set(tmp_path, "n")


def test_too_little_gold_is_no_calibration_by_gold(job, crowds, tmp_path):
    """The other ways are there; and a model that is not among the three is not calibrated by gold."""
    shutil.copytree(crowds / "a", tmp_path / "few")
    lines = (crowds / "a" / "gold.csv").read_text().splitlines(keepends=True)
    (tmp_path / "few" / "gold.csv").write_text("".join(lines[:6]))
    cell = make_cell(job._replace(data=str(tmp_path), set="few"))
    assert list(cell.ways) == ["own", "judgments"]
    assert cell.left_out == "5 items with gold are too few: 5 are needed beside a fold"
    assert list(make_cell(job._replace(model="mace")).ways) == ["own", "judgments"]


def test_a_model_that_refuses_is_left_out_with_its_words(job, monkeypatch):
    """And the cell is kept."""

    def refused(*arguments, **options):
        raise UsageError("not these")

    monkeypatch.setattr(calibration_cells, "fit", refused)
    assert (make_cell(job).ways, read_cell(job).left_out) == ({}, "not these")


@pytest.mark.parametrize(("module", "name"), [(calibration_cells, "fit"), (calibrate, "infer")])
def test_half_a_fit_is_not_measured(job, monkeypatch, module, name):
    """Ctrl-C during a fit ends the cell, whether the fit is the model's own or one of the calibration."""
    real = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *a, **o: real(*a, **o, progress=press))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        make_cell(job)
    assert read_cell(job) is None
    assert signal.getsignal(signal.SIGINT) is before


def press(*told):
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
