"""Fits on disk: open files, damage is noticed, newer formats are refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import judgment_table
from adjudge.data.write import table_text, write_file
from adjudge.errors import UsageError
from adjudge.inference.save import FILES, JUDGMENTS, read_fit, read_fitted


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a saved fit."""
    adjudge.save(adjudge.fit(adjudge.dataset("anesthesia")), tmp_path / "fit")
    return tmp_path / "fit"


def test_files_are_open_ones(folder):
    """JSON, Parquet and NPZ; nothing pickled."""
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert json.loads((folder / "fit.json").read_text())["format"] == 4


def test_gold_and_topics_survive(tmp_path):
    """What only some fits have is kept too."""
    drawn = adjudge.simulate("carpenter", topics=3, items=60, judges=10, judgments=300, gold=10)
    fit = adjudge.fit(drawn.judgments, gold=drawn.gold)
    adjudge.save(fit, tmp_path / "fit")
    again = adjudge.load(tmp_path / "fit")
    assert again.labels.equals(fit.labels)
    assert again.gold.tolist() == fit.gold.tolist()


def test_judgments_to_save_may_be_a_table(tmp_path):
    """A path or a frame gives the same files as the judgments themselves."""
    judgments = adjudge.dataset("anesthesia")
    fit = adjudge.fit(judgments)
    judgments.table.write_csv(tmp_path / "labels.csv")
    for name, data in (("read", judgments), ("path", tmp_path / "labels.csv"), ("frame", judgments.table)):
        adjudge.save(fit, tmp_path / name, data)
        for file in (tmp_path / "read").iterdir():
            assert (tmp_path / name / file.name).read_bytes() == file.read_bytes(), file.name


def test_saving_over_a_fit_replaces_it(folder):
    """A second save wins, whole."""
    adjudge.save(adjudge.fit(adjudge.dataset("anesthesia"), "majority"), folder)
    assert adjudge.load(folder).model == "majority"
    assert sorted(path.name for path in folder.parent.iterdir()) == ["fit"]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(folder, name):
    """The message says which."""
    (folder / name).unlink()
    with pytest.raises(adjudge.InputError, match=f"is not a saved fit: {name} is missing"):
        adjudge.load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut off", "empty", "flipped"])
def test_damage_is_noticed(folder, name, damage):
    """Half a file, none of it, or a bit that flipped: damage, not a traceback."""
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged = {"cut off": content[: len(content) // 2], "empty": b"", "flipped": content}
    (folder / name).write_bytes(damaged[damage])
    with pytest.raises(adjudge.InputError, match=f"is a damaged saved fit: {name}"):
        adjudge.load(folder)


def test_files_of_two_fits_are_not_mixed(folder, tmp_path):
    """A folder that was being replaced when the machine stopped holds files of two fits."""
    adjudge.save(adjudge.fit(adjudge.dataset("anesthesia"), "majority"), tmp_path / "other")
    (folder / "params.npz").write_bytes((tmp_path / "other" / "params.npz").read_bytes())
    with pytest.raises(adjudge.InputError, match=r"params\.npz is not the file that was saved with it"):
        adjudge.load(folder)


def test_a_fit_of_the_first_format_still_loads():
    """The folder beside this file was written by version 0.1.0 and must load in every later one."""
    old = adjudge.load(Path(__file__).parent / "saved_format_1")
    assert (old.model, len(old.items), len(old.judge_names)) == ("dawid-skene", 45, 5)
    np.testing.assert_allclose(old.posterior.sum(axis=1), 1)
    np.testing.assert_array_equal(np.round(old.params.prevalence[0], 2), [0.40, 0.42, 0.11, 0.07])


def test_a_fit_of_the_second_format_still_loads():
    """It had skills of judges and more of items, and no draws."""
    old = adjudge.load(Path(__file__).parent / "saved_format_2")
    assert (old.model, old.params.skill.shape, old.more.shape, old.draws) == ("glad", (5, 1), (40, 1), None)
    new = adjudge.simulate("dawid-skene", items=9, judges=3, labels=2, per_item=2)
    assert adjudge.predict(old, new.judgments).label.size == 9


def test_a_fit_of_the_third_format_still_loads():
    """It had draws, and no judgments."""
    old = adjudge.load(Path(__file__).parent / "saved_format_3")
    assert (old.model, len(old.items), old.draws.confusion.shape[:2]) == ("hybrid-confusion", 45, (2, 4))
    assert (old.judgments, old.tally) == (None, None)


def test_judgments_are_kept_in_small_codes(tmp_path):
    """They come back as they were, with weights and topics, and are damaged as any other file is."""
    drawn = adjudge.simulate("carpenter", topics=3, items=60, judges=10, judgments=300, gold=0).judgments
    judgments = replace(drawn, weight=np.arange(300.0) / 100)
    adjudge.save(adjudge.fit(judgments), tmp_path / "fit", judgments)
    again = adjudge.load(tmp_path / "fit").judgments
    for name in ("start", "judge", "label", "weight", "topic"):
        np.testing.assert_array_equal(getattr(again, name), getattr(judgments, name))
    assert (again.judge.dtype, again.label.dtype) == (judgments.judge.dtype, judgments.label.dtype)
    assert again.items.equals(judgments.items)
    assert again.scale == judgments.scale
    with np.load(tmp_path / "fit" / "judgments.npz") as codes:
        assert codes["judge"].dtype == np.uint8
    (tmp_path / "fit" / "judgments.npz").unlink()
    with pytest.raises(adjudge.InputError, match=r"is a damaged saved fit: judgments\.npz"):
        adjudge.load(tmp_path / "fit")


def test_judgments_of_an_earlier_fit_are_not_taken_for_its_own(tmp_path):
    """A fit that is saved over another, without judgments, has none."""
    judgments = adjudge.dataset("anesthesia")
    adjudge.save(adjudge.fit(judgments), tmp_path / "fit", judgments)
    adjudge.save(adjudge.fit(judgments, "majority"), tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").judgments is None


def test_other_judgments_are_not_saved_with_a_fit(tmp_path):
    """Only those that it was made from."""
    judgments = adjudge.dataset("anesthesia")
    with pytest.raises(adjudge.UsageError, match="the fit was not made from these judgments"):
        adjudge.save(adjudge.fit(judgments), tmp_path / "fit", judgments.take(np.arange(100)))
    assert not (tmp_path / "fit").exists()


def test_items_that_only_gold_knows_are_kept_with_judgments(tmp_path):
    """Nobody judged them, and they have a place all the same."""
    judgments = adjudge.dataset("anesthesia")
    with pytest.warns(adjudge.AdjudgeWarning, match="nobody judged gold item"):
        fit = adjudge.fit(judgments, gold={judgments.items[0]: "1", "elsewhere": "2"})
    adjudge.save(fit, tmp_path / "fit", judgments)
    again = adjudge.load(tmp_path / "fit")
    assert len(again.judgments.items) == len(again.items) == 46
    assert again.judgments.start[-1] == again.judgments.start[-2] == len(judgments)


def test_a_newer_format_is_refused(folder):
    """A file from the future is not guessed at."""
    about = json.loads((folder / "fit.json").read_text())
    (folder / "fit.json").write_text(json.dumps({**about, "format": 99}))
    with pytest.raises(adjudge.InputError, match="was saved in format 99 by a newer adjudge; this one reads up to 5"):
        adjudge.load(folder)


def test_not_a_fit_is_said(tmp_path):
    """Any other folder is refused with what to do."""
    with pytest.raises(adjudge.InputError, match=r"adjudge\.save and `adjudge fit --out` write one"):
        adjudge.load(tmp_path)


CROWD = adjudge.dataset("anesthesia")
FIT = adjudge.fit(CROWD, "majority")


def test_a_fit_is_a_record_or_a_folder(tmp_path):
    """Both are the same fit."""
    adjudge.save(FIT, tmp_path / "fit")
    assert read_fit(FIT) is FIT
    assert read_fit(tmp_path / "fit").items.equals(FIT.items)


NO_FIT = "expected a fit or the folder of a saved one, got {}: adjudge.fit(judgments) makes a fit"
SWAPPED = "the arguments are swapped: the fit comes first, then the {}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adjudge.judges(CROWD), NO_FIT.format("Judgments")),
        (lambda: adjudge.ask(None), NO_FIT.format("NoneType")),
        (lambda: adjudge.predict(judgment_table(CROWD), CROWD), NO_FIT.format("DataFrame")),
        (lambda: adjudge.evaluate(CROWD, {"a": {"t": {"d": 1.0}}}), NO_FIT.format("Judgments")),
        (lambda: adjudge.report(CROWD, FIT), SWAPPED.format("Judgments")),
        (lambda: adjudge.predict(CROWD, FIT), SWAPPED.format("Judgments")),
        (lambda: adjudge.update("new.csv", FIT), SWAPPED.format("str")),
        (lambda: adjudge.evaluate({"a": {"t": {"d": 1.0}}}, FIT), SWAPPED.format("dict")),
        (lambda: adjudge.save("fit", FIT), "the arguments are swapped: write save(fit, folder)"),
        (lambda: adjudge.save(CROWD, "fit"), "expected a fit, got Judgments: adjudge.fit(judgments) makes a fit"),
        (lambda: adjudge.save(FIT, None), "expected the path of a folder, got NoneType"),
        (lambda: adjudge.load(None), "expected the folder of a saved fit, got NoneType"),
        (lambda: adjudge.load(FIT), "expected the folder of a saved fit, got Fit"),
    ],
)
def test_other_arguments_are_refused(call, message):
    """Arguments of another type or in another order get a sentence, not an error from inside."""
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == message


def test_judgments_are_given_or_kept(tmp_path):
    """A frame, judgments, the table in the folder, or what the fit itself keeps."""
    adjudge.save(FIT, tmp_path / "fit", CROWD)
    table = judgment_table(CROWD)
    assert read_fitted(FIT, CROWD)[1] is CROWD
    assert len(read_fitted(FIT, table)[1]) == len(CROWD)
    assert len(read_fitted(tmp_path / "fit")[1]) == len(CROWD)
    write_file(table_text(table.with_columns(time=1.0), "parquet"), tmp_path / "fit" / JUDGMENTS)
    assert read_fitted(tmp_path / "fit")[1].time is not None


def test_a_fit_without_judgments_asks_for_them():
    """It cannot know them."""
    with pytest.raises(UsageError) as error:
        read_fitted(FIT)
    assert str(error.value) == "the fit does not hold the judgments that it was made from: pass them as judgments"


def test_the_panel_survives(tmp_path):
    """What is known about judges is saved with a fit and with its judgments; a fit without it has none."""
    judgments = adjudge.dataset("anesthesia")
    names = judgments.judges.to_list()
    judges = {
        name: {"kind": "machine" if n else "expert", "model": "m" if n > 1 else None} for n, name in enumerate(names)
    }
    fit = adjudge.fit(judgments, "majority", judges=judges)
    assert fit.panel.kind == ("expert", "machine", "machine", "machine", "machine")
    assert fit.panel.family == (names[0], names[1], "m", "m", "m")
    assert fit.judges.columns[-3:] == ["kind", "family", "model"]
    adjudge.save(fit, tmp_path / "fit", judgments)
    again = adjudge.load(tmp_path / "fit")
    assert again.panel == again.judgments.panel == fit.panel
    adjudge.save(adjudge.fit(judgments, "majority"), tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").panel is None


def test_values_of_labels_are_saved(tmp_path):
    """Expected values of the loaded fit are those of the saved one; default values are not written."""
    table = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["bad", "good", "good"]})
    fit = adjudge.fit(adjudge.read(table, values={"bad": 0, "good": 4}), "ordinal")
    adjudge.save(fit, tmp_path / "fit", table)
    loaded = adjudge.load(tmp_path / "fit")
    assert loaded.scale == fit.scale
    assert loaded.labels["expected"].to_list() == fit.labels["expected"].to_list()
    assert json.loads((tmp_path / "fit" / "fit.json").read_text())["scale"]["values"] == [0.0, 4.0]
    assert adjudge.predict(loaded, table).scale == fit.scale
