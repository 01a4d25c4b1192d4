"""Tables and progress lines for people. Numbers arrive computed; this module only lays them out."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from adjudge.data.write import frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adjudge.inference.result import Fit
    from adjudge.metrics.labels import Scores


WIDTH = 110  # of output that does not go to a terminal
CELLS = 10  # labels beyond which a matrix is too large to show
LEAST = 3  # columns that are shown even in a narrow terminal
LONGEST = 48  # characters of a cell
NOTES = 400  # characters of a cell that holds a sentence: all of it
PATIENCE = 0.5  # seconds of work before a progress line appears


def console() -> Console:
    """Return the console to print on."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=WIDTH)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], longest: int = LONGEST) -> Group:
    """Return a table with a title: numbers aligned right, text left, and long text folded except in the first column.

    Text of more than ``longest`` characters is shortened in the middle.
    """
    grid = Table(header_style="bold", box=None, pad_edge=False)
    for c, name in enumerate(head):
        numeric = any(isinstance(row[c], int | float) for row in rows)
        grid.add_column(Text(name), justify="right" if numeric else "left", no_wrap=numeric or c == 0, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(_cell(value, longest)) for value in row))
    return Group(Text(title, style="italic"), grid)


def fitting(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[int]:
    """Return which columns fit into a width: all, or as many as possible without those of label probabilities."""
    widest = [max(len(_cell(value)) for value in (name, *(row[c] for row in rows))) for c, name in enumerate(columns)]
    if sum(widest) + 2 * len(widest) <= width:
        return list(range(len(columns)))
    fitted, left = list[int](), width
    for c, name in enumerate(columns):
        if not name.startswith("p_") and (c < LEAST or widest[c] + 2 <= left):
            fitted.append(c)
            left -= widest[c] + 2
    return fitted


def show_fit(fit: Fit, rows: int) -> None:
    """Print the labels, the judges, and how the fit ended."""
    screen = console()
    screen.print(_consensus(fit, rows, screen.width))
    screen.print()
    screen.print(_judges(fit, rows, screen.width))
    screen.print()
    ended = f"{fit.stopped} after {fit.passes:,} passes" if fit.passes > 1 else fit.stopped
    ended = ended if fit.draws is None else f"{fit.passes:,} sweeps: {fit.stopped}"
    evidence = f", log evidence {fit.evidence[-1]:,.2f}" if fit.evidence else ""
    screen.print(f"{fit.model}: {len(fit.items):,} items, {len(fit.judge_names):,} judges, {ended}{evidence}")
    if fit.reason:
        screen.print(f"chosen because {fit.reason}")


def show_scores(scores: Scores) -> None:
    """Print the scores, with the reason for each that is not defined."""
    notes = f"; {scores.missing:,} gold items without an answer" if scores.missing else ""
    screen = console()
    title = f"Scores on {scores.items:,} items{notes}"
    screen.print(table(title, ("measure", "value", "note"), scores.rows, longest=NOTES))
    if len(scores.labels) <= CELLS:
        names = [str(label) for label in scores.labels]
        counts = [(name, *row) for name, row in zip(names, scores.confusion.tolist(), strict=True)]
        screen.print()
        screen.print(table("Items by truth (rows) and answer (columns)", ("truth", *names), counts))


def _consensus(fit: Fit, rows: int, width: int) -> Group:
    """Return the labels of the first items."""
    head = frame(fit.label_columns()).head(rows)
    title = f"Consensus ({head.height:,} of {len(fit.items):,} items)"
    return _narrowed(title, head.columns, head.rows(), width)


def _judges(fit: Fit, rows: int, width: int) -> Group:
    """Return the judges, best first; of many, the best and the worst.

    The order is by accuracy with one right and one wrong judgment added, so that judges with few judgments do not lead.
    """
    smoothed = (pl.col("accuracy") * pl.col("judgments") + 1) / (pl.col("judgments") + 2)
    ranked = _with_intervals(frame(fit.judge_columns()).sort(smoothed, descending=True, maintain_order=True))
    few = ranked.height <= 2 * rows
    gap = [tuple("..." for _ in ranked.columns)]
    lines = ranked.rows() if few else [*ranked.head(rows).rows(), *gap, *ranked.tail(rows).rows()]
    title = f"best first ({ranked.height:,})" if few else f"the best and the worst {rows} of {ranked.height:,}"
    return _narrowed(f"Judges, {title}", ranked.columns, lines, width)


def _with_intervals(judges: pl.DataFrame) -> pl.DataFrame:
    """Return the table with each estimate and its interval in one column."""
    names = [low.removesuffix("_low") for low in judges.columns if low.endswith("_low")]
    for name in [name for name in names if {name, f"{name}_high"} <= {*judges.columns}]:
        ends = zip(judges[name], judges[f"{name}_low"], judges[f"{name}_high"], strict=True)
        texts = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in ends]
        judges = judges.with_columns(pl.Series(name, texts)).drop(f"{name}_low", f"{name}_high")
    return judges


def _narrowed(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> Group:
    """Return a table of the columns that fit, with a note of how many do not."""
    fitted = fitting(columns, rows, width)
    hidden = len(columns) - len(fitted)
    note = f"; {hidden} more columns with --out or --format" if hidden else ""
    return table(title + note, [columns[c] for c in fitted], [tuple(row[c] for c in fitted) for row in rows])


def _cell(value: Any, longest: int = LONGEST) -> str:
    """Return a value as text."""
    if value is None or value != value:  # missing, or NaN
        return "-"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    text = text if len(text) <= longest else f"{text[: longest // 2]}...{text[-longest // 2 :]}"
    return text if text.isprintable() else repr(text)[1:-1]  # escapes in names must not reach the terminal


class _ProgressLine:
    """A line in the terminal about work that takes more than a moment."""

    def __init__(self) -> None:
        self.started, self.terminal = time.monotonic(), sys.stderr.isatty()
        self.live: Live | None = None

    def _show(self, text: str) -> None:
        """Show a text, unless the work has only begun."""
        if self.terminal and self.live is None and time.monotonic() - self.started > PATIENCE:
            self.live = Live(console=Console(stderr=True), transient=True)
            self.live.start()
        if self.live is not None:
            self.live.update(Text(text))

    def close(self) -> None:
        """Remove the line."""
        if self.live is not None:
            self.live.stop()


class FitProgress(_ProgressLine):
    """A line about a running EM fit."""

    def __call__(self, passes: int, evidence: float) -> None:
        """Show the number of passes and the log evidence."""
        self._show(f"pass {passes:,}   log evidence {evidence:,.3f}   Ctrl-C stops and keeps the result so far")

    def trying(self, model: str, number: int, models: int) -> None:
        """Show which of the models is being fitted."""
        self._show(f"auto: {number} of {models}, {model}")


class ChainProgress(FitProgress):
    """A line about running Markov chains."""

    def __init__(self, sweeps: int) -> None:
        super().__init__()
        self.sweeps = sweeps

    def __call__(self, passes: int, evidence: float) -> None:
        """Show the sweeps of the slowest chain and the worst R-hat, which takes the place of the evidence."""
        r_hat = "" if evidence != evidence else f"   worst R-hat {evidence:.3f}"
        total = f" of {self.sweeps:,}" if passes <= self.sweeps else ", until converged"
        self._show(f"sweep {passes:,}{total}{r_hat}   Ctrl-C stops and keeps the draws so far")


class StepProgress(_ProgressLine):
    """A line about the current step of work in several steps."""

    def __enter__(self) -> StepProgress:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, step: str) -> None:
        """Show the current step."""
        self._show(step)
