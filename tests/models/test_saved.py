"""Fits on disk: open files, damage is noticed, newer formats are refused."""

import json

import pytest

import adjudge
from adjudge.models.saved import FILES


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a saved fit."""
    adjudge.fit(adjudge.dataset("anesthesia")).save(tmp_path / "fit")
    return tmp_path / "fit"


def test_files_are_open_ones(folder):
    """JSON, Parquet and NPZ; nothing pickled."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert json.loads((folder / "fit.json").read_text())["format"] == 1


def test_gold_and_topics_survive(tmp_path):
    """What only some fits have is kept too."""
    drawn = adjudge.simulate("carpenter", topics=3, items=60, judges=10, judgments=300, gold=10)
    fit = adjudge.fit(drawn.judgments, gold=drawn.gold)
    fit.save(tmp_path / "fit")
    again = adjudge.load(tmp_path / "fit")
    assert again.labels.equals(fit.labels)
    assert again.gold.tolist() == fit.gold.tolist()


def test_saving_over_a_fit_replaces_it(folder):
    """A second save wins, whole."""
    adjudge.fit(adjudge.dataset("anesthesia"), "majority").save(folder)
    assert adjudge.load(folder).model == "majority"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["fit"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    """The message says which."""
    (folder / name).unlink()
    with pytest.raises(adjudge.InputError, match=f"is not a saved fit: {name} is missing"):
        adjudge.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_cut_off_file_is_noticed(folder, name):
    """Half a file is damage, not a traceback."""
    path = folder / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(adjudge.InputError, match=r"damaged saved fit|not a complete Parquet file"):
        adjudge.load(folder)


def test_a_newer_format_is_refused(folder):
    """A file from the future is not guessed at."""
    about = json.loads((folder / "fit.json").read_text())
    (folder / "fit.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(adjudge.InputError, match="was saved in format 99 by a newer adjudge; this one reads up to 1"):
        adjudge.load(folder)


def test_not_a_fit_is_said(tmp_path):
    """Any other folder is refused with what to do."""
    with pytest.raises(adjudge.InputError, match="adjudge fit --out writes one"):
        adjudge.load(tmp_path)
