"""What commands share about files and output: checks before the work, then tables to a screen, a pipe or a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from adjudge.cli.show import show_fit
from adjudge.data.judgments import judgment_table
from adjudge.data.write import FORMATS, frame, table_text, write_file, write_whole
from adjudge.errors import InputError, MissingExtra, UsageError, quoted
from adjudge.inference.export import FILES
from adjudge.inference.save import FILES as SAVED
from adjudge.inference.save import LABELS, SOME, load, saved_files

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


STUDIO = ("fastapi", "uvicorn", "jinja2", "multipart", "sqlalchemy", "argon2", "itsdangerous", "nh3", "pypdf")
JUDGMENTS = "judgments.parquet"  # the judgments of a fit, in its folder
DRAWN = ("matrices.csv", "prevalence.csv", "ranks.csv")  # of a sampled fit, with intervals
WRITTEN = ("labels.csv", "judges.csv", JUDGMENTS, *DRAWN, *SAVED, *SOME)
FIT_FORMATS = (*FORMATS, *FILES)


def warn(message: str) -> None:
    """Print a warning."""
    print(f"adjudge: warning: {message}", file=sys.stderr)


def require_studio() -> None:
    """Raise an error with the line to type if the studio's packages are not installed."""
    if not all(find_spec(name) for name in STUDIO):
        raise MissingExtra("'adjudge[studio]'", "the studio")


# Checks before any work is done, of what could otherwise fail only after it.


def check_output(
    format: str | None,  # noqa: A002
    inputs: Sequence[str | None],
    formats: Collection[str] = FORMATS,
) -> None:
    """Check that the format can be printed, and that at most one input is standard input."""
    if format is not None and format not in formats:
        raise UsageError(f"format {format!r} is not one of {quoted(formats)}")
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


# Tables.


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

    labels, ordinal = fit.scale.labels, fit.scale.ordinal
    path = Path(folder) / JUDGMENTS
    if table is not None:
        judgments = reading.read(table, labels=labels, ordinal=ordinal)
        as_fitted(fit, judgments)  # raises an error if there are items or judges that the fit does not know
        if path.is_file() and not _same_judgments(judgments, read(str(path), labels=labels, ordinal=ordinal)):
            raise UsageError(f"{table} is not the table that {folder} was fitted to; that table is in the folder")
        return judgments
    if not path.is_file():
        raise UsageError(f"{folder} holds no {JUDGMENTS}: name the table it was fitted to (--judgments labels.csv)")
    for option in reading.changed():
        raise UsageError(f"{option} applies to a table: --judgments labels.csv {option} ...")
    return read(str(path), labels=labels, ordinal=ordinal)


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
        _write_fit(fit, judgments, out)
    if content is not None:
        print_bytes(content)
        return
    show_fit(fit, rows)
    if out is not None:
        drawn = "" if fit.draws is None else f", {', '.join(DRAWN)}"
        print(f"wrote labels.csv, judges.csv{drawn} and the fit to {out}")


def _label_bytes(fit: Fit, format: str) -> bytes:  # noqa: A002
    """Return the labels in a format for programs."""
    return FILES[format](fit).encode() if format in FILES else table_text(frame(fit.label_columns()), format)


def _write_fit(fit: Fit, judgments: Judgments | None, out: str) -> None:
    """Write the files of a fit, and remove those of an earlier fit that this one does not have."""
    tables = {"labels.csv": frame(fit.label_columns()), "judges.csv": frame(fit.judge_columns())}
    if fit.draws is not None:
        tables |= dict(zip(DRAWN, (fit.confusion, fit.prevalence, fit.ranks), strict=True))
    files = {name: table_text(table, "csv") for name, table in tables.items()}
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
