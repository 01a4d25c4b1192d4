"""Tables and progress for people. Numbers come in ready; here they only get a place on the screen."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adjudge.models.record import Fit
    from adjudge.score.labels import Scores

WIDTH = 110  # where there is no screen to fit
CELLS = 10  # probabilities beyond this many labels are left to the file
PATIENCE = 0.5  # seconds before a fit is long enough to show progress


def console() -> Console:
    """Return the place people read."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=WIDTH)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    """Return a table; numbers stand right, text left."""
    shown = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for c, name in enumerate(head):
        numeric = bool(rows) and all(isinstance(row[c], int | float) for row in rows)
        shown.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True, overflow="ellipsis")
    for row in rows:
        shown.add_row(*(Text(_cell(value)) for value in row))
    return shown


def show_fit(fit: Fit, rows: int) -> None:
    """Print the consensus, the judges, and how the fit ended."""
    screen = console()
    screen.print(_consensus(fit, rows))
    screen.print()
    screen.print(_judges(fit, rows))
    screen.print()
    ended = f"{fit.stopped} after {fit.passes} passes" if fit.passes > 1 else fit.stopped
    evidence = f", log evidence {fit.evidence[-1]:,.2f}" if fit.evidence else ""
    screen.print(f"{fit.model}: {len(fit.items):,} items, {len(fit.judge_names):,} judges, {ended}{evidence}")


def show_scores(scores: Scores) -> None:
    """Print the scores, with the reason where one is not defined."""
    notes = f"; {scores.missing:,} gold items without an answer" if scores.missing else ""
    console().print(table(f"Scores on {scores.items:,} items{notes}", ("measure", "value", "note"), scores.table()))


def _consensus(fit: Fit, rows: int) -> Table:
    """Return the first items' labels."""
    columns = {name: list(values)[:rows] for name, values in fit.label_columns().items()}
    if len(fit.scale) > CELLS:
        columns = {name: values for name, values in columns.items() if not name.startswith("p_")}
    title = f"Consensus ({min(rows, len(fit.items)):,} of {len(fit.items):,} items)"
    return table(title, list(columns), list(zip(*columns.values(), strict=True)))


def _judges(fit: Fit, rows: int) -> Table:
    """Return the judges, best first; of many, the best and the worst."""
    columns = fit.judge_columns()
    if len(columns) > CELLS + 3:
        columns = {name: columns[name] for name in ("judge", "judgments", "accuracy")}
    every = list(zip(*(list(values) for values in columns.values()), strict=True))
    ranked = sorted(every, key=lambda row: (-float(row[2]), -int(row[1])))
    few = len(ranked) <= 2 * rows
    shown = ranked if few else [*ranked[:rows], tuple("..." for _ in columns), *ranked[-rows:]]
    title = f"Judges, best first ({len(ranked):,})" if few else f"Judges, the best and the worst {rows} of {len(ranked):,}"
    return table(title, list(columns), shown)


def _cell(value: Any) -> str:
    """Return a value as people read it."""
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


class ClimbProgress:
    """A line about a running fit, shown on a screen once the fit takes long."""

    def __init__(self) -> None:
        self.began, self.live = time.monotonic(), None if sys.stderr.isatty() else False

    def __call__(self, passes: int, evidence: float) -> None:
        """Show how far the climb is."""
        if self.live is None and time.monotonic() - self.began > PATIENCE:
            self.live = Live(console=Console(stderr=True), transient=True)
            self.live.start()
        if isinstance(self.live, Live):
            self.live.update(Text(f"pass {passes:,}   log evidence {evidence:,.3f}   Ctrl-C keeps what is found"))

    def close(self) -> None:
        """Take the line away."""
        if isinstance(self.live, Live):
            self.live.stop()
