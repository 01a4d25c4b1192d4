"""What commands print and write: checks before the work, tables and progress lines for people, and files.

Numbers arrive computed; this module only lays them out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from adjudge.data.judgments import judgment_table
from adjudge.data.write import FORMATS, frame, table_text, write_file, write_whole
from adjudge.errors import InputError, UsageError, not_one_of, quoted
from adjudge.inference.export import FILES
from adjudge.inference.save import FILES as SAVED
from adjudge.inference.save import LABELS, SOME, load, saved_files

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit
    from adjudge.metrics.labels import Scores
    from adjudge.metrics.leaderboard import Place


JUDGMENTS = "judgments.parquet"  # the judgments of a fit, in its folder
DRAWN = ("matrices.csv", "prevalence.csv", "ranks.csv")  # of a sampled fit, with intervals
WRITTEN = ("labels.csv", "judges.csv", JUDGMENTS, *DRAWN, *SAVED, *SOME)
FIT_FORMATS = (*FORMATS, *FILES)
LATEX_FORMATS = (*FORMATS, "latex")
WIDTH = 110  # of output that does not go to a terminal
CELLS = 10  # labels beyond which a matrix is too large to show
LEAST = 3  # columns that are shown even in a narrow terminal
LONGEST = 48  # characters of a cell
NOTES = 400  # characters of a cell that holds a sentence: all of it
PATIENCE = 0.5  # seconds of work before a progress line appears


def warn(message: str) -> None:
    """Print a warning."""
    print(f"adjudge: warning: {message}", file=sys.stderr)


# Checks before any work is done, of what could otherwise fail only after it.


def check_output(
    format: str | None,  # noqa: A002
    inputs: Sequence[str | None],
    formats: Collection[str] = FORMATS,
) -> None:
    """Check that the format can be printed, and that at most one input is standard input."""
    if format is not None and format not in formats:
        raise UsageError(not_one_of("format", format, formats))
    if format == "parquet" and sys.stdout.isatty():
        raise UsageError("--format parquet cannot be shown in a terminal: redirect it to a file or a pipe")
    if list(inputs).count("-") > 1:
        raise UsageError("only one table can come from standard input")


def check_folder(folder: str | None, option: str = "--out") -> None:
    """Check that a folder can be written: it has a name, and is not a file."""
    if folder is not None and (not folder or (os.path.exists(folder) and not os.path.isdir(folder))):
        raise UsageError(f"{option} {f'{folder} is a file' if folder else 'is empty'}: name a folder")


def check_fit_folder(out: str | None, inputs: Sequence[str | None], written: Sequence[str] = WRITTEN) -> None:
    """Check that a folder can be written, and that none of the inputs would be overwritten."""
    if out is None:
        return
    if not out:
        raise UsageError("--out is empty: name a folder")
    if os.path.isfile(out):
        raise InputError("is a file; --out needs a folder", out)
    targets = {os.path.realpath(os.path.join(out, name)) for name in written}
    for path in inputs:
        if path is not None and os.path.realpath(path) in targets:
            raise UsageError(f"--out {out} would overwrite the input {path}: name another folder")


def check_file(
    out: str | None, inputs: Sequence[str | None], option: str = "--out", new_folder: str | None = None
) -> None:
    """Check that a file can be written: in a folder that exists, or in the new one, and not over an input."""
    if out is None:
        return
    if not out or os.path.isdir(out):
        raise UsageError(f"{option} {f'{out} is a folder' if out else 'is empty'}: name a file")
    _refuse_overwriting(out, inputs, option)
    folder = os.path.dirname(os.path.realpath(out))
    if not os.path.isdir(folder) and (new_folder is None or folder != os.path.realpath(new_folder)):
        raise UsageError(f"{option} {out}: the folder does not exist; create it first, or name another")


def table_format(out: str | None, inputs: Sequence[str | None]) -> str:
    """Return the format that a file's ending names, after checking that the file can be written."""
    if out is None:
        return ""
    ending = os.path.splitext(out)[1].removeprefix(".").lower()
    if ending not in FORMATS:
        raise UsageError(f"--out {out} must end in one of {quoted(f'.{name}' for name in FORMATS)}")
    _refuse_overwriting(out, inputs, "--out")
    return ending


def _refuse_overwriting(out: str, inputs: Sequence[str | None], option: str) -> None:
    """Raise an error if a file to be written is one of the inputs."""
    if os.path.realpath(out) in [os.path.realpath(path) for path in inputs if path is not None]:
        raise UsageError(f"{option} {out} would overwrite an input: name another file")


# Tables for people.


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


def first_rows(title: str, frame: pl.DataFrame, rows: int, note: str = "") -> Group:
    """Return the first rows of a frame as a table, with their number and a note after the title."""
    return table(
        f"{title} ({min(rows, frame.height):,} of {frame.height:,}{note})", frame.columns, frame.head(rows).rows()
    )


def first_and_last(lines: Sequence[tuple[Any, ...]], rows: int) -> tuple[list[tuple[Any, ...]], str]:
    """Return all lines of a table or, of many, the first and the last; and words for the title that say so."""
    if len(lines) <= 2 * rows:
        return [*lines], ""
    return [*lines[:rows], ("...",) * len(lines[0]), *lines[-rows:]], f"the first and last {rows} of "


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
    how, *notes = fit.stopped.split("; ")
    ended = "; ".join([f"{how} after {fit.passes:,} passes", *notes]) if fit.passes > 1 else fit.stopped
    ended = ended if fit.draws is None else f"{fit.passes:,} sweeps: {fit.stopped}"
    evidence = f", log evidence {fit.evidence[-1]:,.2f}" if fit.evidence else ""
    screen.print(f"{fit.model}: {len(fit.items):,} items, {len(fit.judge_names):,} judges, {ended}{evidence}")
    if fit.reason:
        screen.print(f"auto: {fit.reason}")


def show_leaderboard(places: Sequence[Place], title: str) -> None:
    """Print all runs in the order of the first measure, with their values by the others."""
    first, *rest = dict.fromkeys(place.measure for place in places)
    values = {(place.measure, place.run): place.value for place in places}
    chances = any(place.best is not None for place in places)
    head = ("rank", "run", first, "interval", *(("best",) if chances else ()), "ranks", "groups", *rest)
    rows = [
        (
            *(place.rank, place.run, place.value),
            None if place.low is None or place.high is None else f"{place.low:.3f} to {place.high:.3f}",
            *((place.best,) if chances else ()),
            *(place.ranks, place.groups, *(values[measure, place.run] for measure in rest)),
        )
        for place in places
        if place.measure == first
    ]
    screen = console()
    screen.print(table(f"Leaderboard. {title}", head, rows))
    best = "best: probability of being the best; " if chances else ""
    screen.print(
        f"{best}ranks: 90 % interval of each rank by {first}; groups: runs that share one cannot be distinguished "
        "(90 % for all together). For every pair: --format csv --table pairs",
        soft_wrap=True,
    )


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
    if scores.warning:
        screen.print()
        screen.print(f"{scores.warning}.", soft_wrap=True)


def _consensus(fit: Fit, rows: int, width: int) -> Group:
    """Return the labels of the first items."""
    head = frame(fit.label_columns()).head(rows)
    title = f"Consensus ({head.height:,} of {len(fit.items):,} items)"
    return narrowed(title, head.columns, head.rows(), width)


def _judges(fit: Fit, rows: int, width: int) -> Group:
    """Return the judges, best first; of many, the best and the worst.

    The order is by accuracy with one right and one wrong judgment added, so that judges with few judgments do not lead.
    """
    smoothed = (pl.col("accuracy") * pl.col("judgments") + 1) / (pl.col("judgments") + 2)
    ranked = judge_intervals(frame(fit.judge_columns()).sort(smoothed, descending=True, maintain_order=True))
    few = ranked.height <= 2 * rows
    gap = [tuple("..." for _ in ranked.columns)]
    lines = ranked.rows() if few else [*ranked.head(rows).rows(), *gap, *ranked.tail(rows).rows()]
    title = f"best first ({ranked.height:,})" if few else f"the best and the worst {rows} of {ranked.height:,}"
    return narrowed(f"Judges, {title}", ranked.columns, lines, width)


def judge_intervals(judges: pl.DataFrame) -> pl.DataFrame:
    """Return the table with each estimate and its interval in one column."""
    names = [low.removesuffix("_low") for low in judges.columns if low.endswith("_low")]
    for name in [name for name in names if {name, f"{name}_high"} <= {*judges.columns}]:
        ends = zip(judges[name], judges[f"{name}_low"], judges[f"{name}_high"], strict=True)
        texts = [f"{value:.2f} ({low:.2f} to {high:.2f})" for value, low, high in ends]
        judges = judges.with_columns(pl.Series(name, texts)).drop(f"{name}_low", f"{name}_high")
    return judges


def narrowed(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> Group:
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


# Tables for programs and files.


def print_bytes(content: bytes) -> None:
    """Print content for a program."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def print_table(table: Any, format: str) -> None:  # noqa: A002
    """Print a frame, or a mapping from names to columns, for a program."""
    print_bytes(table_text(frame(table) if isinstance(table, dict) else table, format))


def write_examples(files: dict[str, Any], folder: str) -> None:
    """Write small example files, and say so."""
    write_whole({name: text if isinstance(text, bytes) else text.encode() for name, text in files.items()}, folder)
    print(f"wrote {', '.join(files)} to {folder}")


def write_table(table: Any, out: str, format: str) -> None:  # noqa: A002
    """Write a frame, or a mapping from names to columns, to a file."""
    write_file(table_text(frame(table) if isinstance(table, dict) else table, format), out)


# Fits.


def load_fit(folder: str) -> Fit:
    """Load a saved fit, and warn if it has not converged."""
    fit = load(folder)
    if not fit.converged:
        warn(f"the fit in {folder} has not converged: {fit.stopped}")
    return fit


def kept_judgments(folder: str, fit: Fit, table: str | None, reading: Reading) -> Judgments:
    """Return the judgments of a saved fit: from a table if one is named, else from the fit's folder."""
    from adjudge.data.read import read
    from adjudge.inference.fitted import as_fitted

    path = Path(folder) / JUDGMENTS
    if table is not None:
        judgments = reading.read_like(fit, table)
        as_fitted(fit, judgments)  # raises an error if there are items or judges that the fit does not know
        if path.is_file() and not _same_judgments(judgments, read(str(path), labels=fit.scale)):
            raise UsageError(f"{table} is not the table that {folder} was fitted to; that table is in the folder")
        return judgments
    if not path.is_file():
        raise UsageError(f"{folder} holds no {JUDGMENTS}: name the table it was fitted to (--judgments labels.csv)")
    for option in reading.changed():
        raise UsageError(f"{option} applies to a table: --judgments labels.csv {option} ...")
    return read(str(path), labels=fit.scale)


def _same_judgments(first: Judgments, second: Judgments) -> bool:
    """Whether two tables hold the same judgments in any order; times are not compared."""
    names = ("item", "judge", "label")
    tables = [judgment_table(each).select(pl.col(names).cast(pl.String)).sort(names) for each in (first, second)]
    return tables[0].equals(tables[1])


def deliver(
    fit: Fit,
    judgments: Judgments | None,
    out: str | None,
    format: str | None,  # noqa: A002
    rows: int,
) -> None:
    """Write a fit and its judgments to a folder, and print its labels for a program or its tables for people."""
    content = None if format is None else _label_bytes(fit, format)  # first, since it may raise an error
    if out is not None:
        write_fit(fit, judgments, out)
    if content is not None:
        print_bytes(content)
        return
    show_fit(fit, rows)
    if out is not None:
        print(f"wrote {', '.join(_tables(fit))} and the fit to {out}")


def _label_bytes(fit: Fit, format: str) -> bytes:  # noqa: A002
    """Return the labels in a format for programs."""
    return FILES[format](fit).encode() if format in FILES else table_text(frame(fit.label_columns()), format)


def _tables(fit: Fit) -> dict[str, Callable[[], Any]]:
    """Return the names of the tables of a fit, and functions that return them."""
    tables = {"labels.csv": lambda: frame(fit.label_columns()), "judges.csv": lambda: frame(fit.judge_columns())}
    if fit.draws is not None:
        tables |= dict(zip(DRAWN, (lambda: fit.confusion, lambda: fit.prevalence, lambda: fit.ranks), strict=True))
    elif len(fit.params.prevalence) > 1:
        tables["prevalence.csv"] = lambda: fit.prevalence
    return tables


def write_fit(fit: Fit, judgments: Judgments | None, out: str) -> None:
    """Write the files of a fit, and remove those of an earlier fit that this one does not have."""
    files = {name: table_text(table(), "csv") for name, table in _tables(fit).items()}
    if judgments is not None:
        files[JUDGMENTS] = table_text(judgment_table(judgments), "parquet")
    files |= saved_files(fit, judgments)
    folder = Path(out)
    replaces = (folder / "fit.json").exists()  # otherwise other files in the folder are not a fit's
    write_whole(files, out)
    if replaces:
        stale = [folder / name for name in WRITTEN if name not in files]
        for path in (*stale, *(folder / LABELS).glob("part-*.parquet")):
            path.unlink(missing_ok=True)


# Progress lines.


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
