"""Tables and progress for people. Numbers come in ready; here they only get a place on the screen."""

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


WIDTH = 110  # where there is no screen to fit
CELLS = 10  # labels beyond which a matrix is no longer read on a screen
LEAST = 3  # columns that are shown however narrow the screen
LONGEST = 48  # characters of a name that are shown
NOTES = 400  # of a note
PATIENCE = 0.5  # seconds before a fit is long enough to show progress


def console() -> Console:
    """Return the place people read."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=WIDTH)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]], longest: int = LONGEST) -> Group:
    """Return a table below its title; numbers stand right, text left, and only text in later columns is folded.

    Text of more than ``longest`` characters loses its middle.
    """
    shown = Table(header_style="bold", box=None, pad_edge=False)
    for c, name in enumerate(head):
        numeric = any(isinstance(row[c], int | float) for row in rows)
        shown.add_column(Text(name), justify="right" if numeric else "left", no_wrap=numeric or c == 0, overflow="fold")
    for row in rows:
        shown.add_row(*(Text(_cell(value, longest)) for value in row))
    return Group(Text(title, style="italic"), shown)


def fitting(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[int]:
    """Return which columns fit on a screen: all, or as many as there is room for but no probabilities of labels."""
    widest = [max(len(_cell(value)) for value in (name, *(row[c] for row in rows))) for c, name in enumerate(columns)]
    if sum(widest) + 2 * len(widest) <= width:
        return list(range(len(columns)))
    kept, left = list[int](), width
    for c, name in enumerate(columns):
        if not name.startswith("p_") and (c < LEAST or widest[c] + 2 <= left):
            kept.append(c)
            left -= widest[c] + 2
    return kept


def show_fit(fit: Fit, rows: int) -> None:
    """Print the consensus, the judges, and how the fit ended."""
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
    """Print the scores, with the reason where one is not defined."""
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
    """Return the first items' labels."""
    shown = frame(fit.label_columns()).head(rows)
    title = f"Consensus ({shown.height:,} of {len(fit.items):,} items)"
    return _narrowed(title, shown.columns, shown.rows(), width)


def _judges(fit: Fit, rows: int, width: int) -> Group:
    """Return the judges, best first; of many, the best and the worst. Few judgments say little of a judge."""
    sure = (pl.col("accuracy") * pl.col("judgments") + 1) / (pl.col("judgments") + 2)
    ranked = frame(fit.judge_columns()).sort(sure, descending=True, maintain_order=True)
    ranked = _with_intervals(ranked)
    few = ranked.height <= 2 * rows
    gap = [tuple("..." for _ in ranked.columns)]
    shown = ranked.rows() if few else [*ranked.head(rows).rows(), *gap, *ranked.tail(rows).rows()]
    title = f"best first ({ranked.height:,})" if few else f"the best and the worst {rows} of {ranked.height:,}"
    return _narrowed(f"Judges, {title}", ranked.columns, shown, width)


def _with_intervals(shown: pl.DataFrame) -> pl.DataFrame:
    """Return the table with every interval beside what it is of, in one column."""
    named = [low.removesuffix("_low") for low in shown.columns if low.endswith("_low")]
    for name in [name for name in named if {name, f"{name}_high"} <= {*shown.columns}]:
        ends = zip(shown[name], shown[f"{name}_low"], shown[f"{name}_high"], strict=True)
        texts = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in ends]
        shown = shown.with_columns(pl.Series(name, texts)).drop(f"{name}_low", f"{name}_high")
    return shown


def _narrowed(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> Group:
    """Return a table of the columns that fit, with a word about those that do not."""
    kept = fitting(columns, rows, width)
    gone = len(columns) - len(kept)
    note = f"; {gone} more columns with --out or --format" if gone else ""
    return table(title + note, [columns[c] for c in kept], [tuple(row[c] for c in kept) for row in rows])


def _cell(value: Any, longest: int = LONGEST) -> str:
    """Return a value as people read it."""
    if value is None or value != value:  # nothing, or not a number
        return "-"
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    text = text if len(text) <= longest else f"{text[: longest // 2]}...{text[-longest // 2 :]}"
    return text if text.isprintable() else repr(text)[1:-1]  # a name may hold what a terminal would obey


class _Line:
    """A line on the screen about work that takes long, shown once it does."""

    def __init__(self) -> None:
        self.began, self.screen = time.monotonic(), sys.stderr.isatty()
        self.live: Live | None = None

    def _say(self, text: str) -> None:
        """Show a line, once there is reason to."""
        if self.screen and self.live is None and time.monotonic() - self.began > PATIENCE:
            self.live = Live(console=Console(stderr=True), transient=True)
            self.live.start()
        if self.live is not None:
            self.live.update(Text(text))

    def close(self) -> None:
        """Take the line away."""
        if self.live is not None:
            self.live.stop()


class ClimbProgress(_Line):
    """A line about a running fit."""

    def __call__(self, passes: int, evidence: float) -> None:
        """Show how far the climb is."""
        self._say(f"pass {passes:,}   log evidence {evidence:,.3f}   Ctrl-C keeps what is found")

    def trying(self, model: str, number: int, models: int) -> None:
        """Show which model is tried, of how many."""
        self._say(f"auto: {number} of {models}, {model}")


class ChainProgress(ClimbProgress):
    """A line about running chains."""

    def __init__(self, sweeps: int) -> None:
        super().__init__()
        self.whole = sweeps

    def __call__(self, passes: int, evidence: float) -> None:
        """Show how far the slowest chain is, and whether the chains agree yet."""
        agree = "" if evidence != evidence else f"   worst R-hat {evidence:.3f}"
        beyond = f" of {self.whole:,}" if passes <= self.whole else ", until converged"
        self._say(f"sweep {passes:,}{beyond}{agree}   Ctrl-C keeps what is drawn")


class Doing(_Line):
    """A line about what is being done, of work in several steps."""

    def __enter__(self) -> Doing:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, what: str) -> None:
        """Show what is being done."""
        self._say(what)
