"""Tables and progress for people."""

import io

from rich.console import Console

from adjudge.cli import show


def drawn(shown):
    """Return a table as text."""
    screen = Console(file=io.StringIO(), width=60)
    screen.print(shown)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


def test_numbers_stand_right_and_missing_is_a_dash():
    """Three digits for shares, a dash for what is not defined."""
    assert drawn(show.table("T", ("name", "value"), [("a", 0.5), ("bb", None)])) == [
        "T",
        "name  value",
        "a     0.500",
        "bb        -",
    ]


def test_markup_in_names_is_text():
    """A judge called [red] is called [red]."""
    assert "[red]x" in drawn(show.table("T", ("name",), [("[red]x",)]))[-1]


def test_progress_waits_and_then_shows(monkeypatch):
    """Short fits show nothing; long ones a line that goes away."""
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(show.sys, "stderr", screen)
    progress = show.FitProgress()
    progress(1, -10.0)
    assert screen.getvalue() == ""
    progress.started -= 2 * show.PATIENCE
    progress(2, -9.0)
    progress.close()
    assert "log evidence -9.000" in screen.getvalue()


def test_without_a_screen_there_is_no_progress(monkeypatch):
    """Logs stay clean."""
    screen = io.StringIO()
    monkeypatch.setattr(show.sys, "stderr", screen)
    progress = show.FitProgress()
    progress.started -= 2 * show.PATIENCE
    progress(2, -9.0)
    progress.close()
    assert screen.getvalue() == ""


def test_names_cannot_command_the_terminal():
    """What is not printable is shown as an escape."""
    assert "\\x1b[31m" in drawn(show.table("T", ("name",), [("\x1b[31mred",)]))[-1]


def test_on_a_narrow_screen_whole_columns_go():
    """Probabilities of single labels go first, all of them; nothing is cut."""
    columns, rows = ["judge", "accuracy", "p_a_if_a", "p_b_if_a"], [("ann", 0.5, 0.25, 0.75)]
    assert show.fitting(columns, rows, 80) == [0, 1, 2, 3]
    assert show.fitting(columns, rows, 30) == [0, 1]


def test_long_names_keep_both_ends():
    """Two long addresses that differ at the end still differ."""
    start = "https://example.org/" + "x" * 60
    first, second = (drawn(show.table("T", ("item",), [(start + end,)]))[-1] for end in "12")
    assert first != second
    assert "..." in first
