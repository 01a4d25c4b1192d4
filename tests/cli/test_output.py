"""What commands print and write: tables and progress for people, and where a fit goes."""

import io
import warnings

import numpy as np
import pytest
from rich.console import Console

import adjudge
from adjudge.cli import options as o
from adjudge.cli import output
from adjudge.cli.output import JUDGMENTS, deliver, kept_judgments
from adjudge.data.judgments import judgment_table
from adjudge.errors import AdjudgeWarning, UsageError, command_line


def test_a_folder_gets_tables_and_the_fit(tmp_path, capsys):
    """All or nothing, and people are told."""
    judgments = adjudge.dataset("anesthesia")
    deliver(adjudge.fit(judgments), judgments, str(tmp_path / "deep" / "fit"), None, 3)
    names = sorted(path.name for path in (tmp_path / "deep" / "fit").iterdir())
    tables = ["items.parquet", "judges.csv", "judges.parquet", "judgments.npz", "judgments.parquet", "labels.csv"]
    assert names == ["fit.json", *tables, "params.npz"]
    assert "wrote labels.csv" in capsys.readouterr().out


def test_nothing_of_an_earlier_fit_stays(tmp_path, capsys):
    """Draws and their tables, judgments, and the labels of a fit of blocks; other files are left alone."""
    judgments, run = adjudge.dataset("anesthesia"), adjudge.Run(2, 5, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        deliver(adjudge.fit(judgments, "hybrid-confusion", run=run), judgments, str(tmp_path), None, 3)
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "part-00000.parquet").write_bytes(b"")
    (tmp_path / "notes.txt").write_text("mine")
    assert (tmp_path / "matrices.csv").exists()
    deliver(adjudge.fit(judgments), None, str(tmp_path), None, 3)
    names = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    tables = ["items.parquet", "judges.csv", "judges.parquet", "labels.csv", "notes.txt"]
    assert names == ["fit.json", *tables, "params.npz"]
    assert adjudge.load(tmp_path).draws is None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "prevalence.csv").write_text("not of a fit")
    deliver(adjudge.fit(judgments), None, str(tmp_path / "mine"), None, 3)
    assert (tmp_path / "mine" / "prevalence.csv").exists()


@pytest.fixture
def saved(tmp_path, capsys):
    """Return a folder with a fit and what it was made from, and both."""
    judgments = adjudge.simulate("carpenter", topics=3, items=30, judges=6, judgments=150, gold=3).judgments
    fit = adjudge.fit(judgments, "dawid-skene")
    deliver(fit, judgments, str(tmp_path / "fit"), None, 1)
    capsys.readouterr()
    return str(tmp_path / "fit"), fit, judgments


def test_what_was_fitted_lies_beside_the_fit(saved):
    """Items, judges, labels and topics are the same again, row by row."""
    folder, fit, judgments = saved
    again = kept_judgments(folder, fit, None, o.READING)
    for name in ("label", "topic", "start"):
        np.testing.assert_array_equal(getattr(again, name), getattr(judgments, name))
    assert again.judges.gather(again.judge).to_list() == judgments.judges.gather(judgments.judge).to_list()
    assert again.items.to_list() == judgments.items.to_list()
    assert again.topics.to_list() == judgments.topics.to_list()


def test_a_table_that_is_given_is_read_instead(saved, tmp_path):
    """It may be in another order and have times; other judgments are refused."""
    folder, fit, judgments = saved
    table = judgment_table(judgments).with_row_index("time").reverse()
    table.write_csv(tmp_path / "again.csv")
    assert kept_judgments(folder, fit, str(tmp_path / "again.csv"), o.READING).time is not None
    table.with_columns(label=1 - table["label"].cast(int)).write_csv(tmp_path / "turned.csv")
    with pytest.raises(
        UsageError, match=r"turned.csv is not the table that .*fit was fitted to; that table is in the folder"
    ):
        kept_judgments(folder, fit, str(tmp_path / "turned.csv"), o.READING)


def test_a_fit_that_was_saved_alone_says_what_to_give(saved, tmp_path):
    """A fit saved from Python has no judgments beside it."""
    adjudge.save(saved[1], tmp_path / "alone")
    with pytest.raises(UsageError, match=rf"alone holds no {JUDGMENTS}: name the table it was fitted to"):
        kept_judgments(str(tmp_path / "alone"), saved[1], None, o.READING)


def test_columns_are_named_for_a_table_that_is_given(saved):
    """What lies beside the fit has its columns already."""
    with command_line(), pytest.raises(UsageError, match=r"--time applies to a table: --judgments labels\.csv --time"):
        kept_judgments(saved[0], saved[1], None, o.Reading(time="when"))


def drawn(shown):
    """Return a table as text."""
    screen = Console(file=io.StringIO(), width=60)
    screen.print(shown)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def test_numbers_stand_right_and_missing_is_a_dash():
    """Three digits for shares, a dash for what is not defined."""
    assert drawn(output.table("T", ("name", "value"), [("a", 0.5), ("bb", None)])) == [
        "T",
        "name  value",
        "a     0.500",
        "bb        -",
    ]


def test_markup_in_names_is_text():
    """A judge called [red] is called [red]."""
    assert "[red]x" in drawn(output.table("T", ("name",), [("[red]x",)]))[-1]


def test_progress_waits_and_then_shows(monkeypatch):
    """Short fits show nothing; long ones a line that goes away."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(output.sys, "stderr", screen)
    progress = output.FitProgress()
    progress(1, -10.0)
    assert screen.getvalue() == ""
    progress.started -= 2 * output.PATIENCE
    progress(2, -9.0)
    progress.close()
    assert "log evidence -9.000" in screen.getvalue()


def test_without_a_screen_there_is_no_progress(monkeypatch):
    """Logs stay clean."""
    screen = io.StringIO()
    monkeypatch.setattr(output.sys, "stderr", screen)
    progress = output.FitProgress()
    progress.started -= 2 * output.PATIENCE
    progress(2, -9.0)
    progress.close()
    assert screen.getvalue() == ""


def test_names_cannot_command_the_terminal():
    """What is not printable is shown as an escape."""
    assert "\\x1b[31m" in drawn(output.table("T", ("name",), [("\x1b[31mred",)]))[-1]


def test_on_a_narrow_screen_whole_columns_go():
    """Probabilities of single labels go first, all of them; nothing is cut."""
    columns, rows = ["judge", "accuracy", "p_a_if_a", "p_b_if_a"], [("ann", 0.5, 0.25, 0.75)]
    assert output.fitting(columns, rows, 80) == [0, 1, 2, 3]
    assert output.fitting(columns, rows, 30) == [0, 1]


def test_long_names_keep_both_ends():
    """Two long addresses that differ at the end still differ."""
    start = "https://example.org/" + "x" * 60
    first, second = (drawn(output.table("T", ("item",), [(start + end,)]))[-1] for end in "12")
    assert first != second
    assert "..." in first
