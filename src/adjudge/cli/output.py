"""Where a fit goes: to people, to machines, or to a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from adjudge.cli.show import show_fit
from adjudge.data.judgments import judgment_table
from adjudge.data.write import FORMATS, frame, table_text, write_whole
from adjudge.errors import InputError, MissingExtra, UsageError, quoted
from adjudge.inference.export import FILES
from adjudge.inference.save import FILES as SAVED
from adjudge.inference.save import LABELS, SOME

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


# Optional parts: said in one line where they are missing.

STUDIO = ("fastapi", "uvicorn", "jinja2", "multipart", "sqlalchemy", "argon2", "itsdangerous", "nh3", "pypdf")


def studio_installed() -> None:
    """Refuse where the studio's packages are not installed, with the line to type."""
    if not all(find_spec(name) for name in STUDIO):
        raise MissingExtra("'adjudge[studio]'", "the studio")


# The judgments that a saved fit was made from: kept beside it, or given again.

JUDGMENTS = "judgments.parquet"


def kept_judgments(folder: str, fit: Fit, table: str | None, reading: Reading) -> Judgments:
    """Return the judgments of a fit: the table that is given or, without one, what lies in the fit's folder."""
    from adjudge.cli.options import USUAL
    from adjudge.data.read import read
    from adjudge.inference.fitted import as_fitted

    labels, ordinal = fit.scale.labels, fit.scale.ordinal
    kept = Path(folder) / JUDGMENTS
    if table is not None:
        given = reading.read(table, labels=labels, ordinal=ordinal)
        as_fitted(fit, given)  # says what it has never met
        if kept.is_file() and not _same(given, read(str(kept), labels=labels, ordinal=ordinal)):
            raise UsageError(f"{table} does not hold the judgments that {folder} was fitted to, which lie in it")
        return given
    if not kept.is_file():
        raise UsageError(
            f"{folder} holds no {JUDGMENTS}: give the table that it was fitted to (--judgments labels.csv)"
        )
    asked = [name for name, value in vars(reading).items() if value != vars(USUAL)[name]]
    if asked:
        option = asked[0].replace("_", "-")
        raise UsageError(f"--{option} is for a table that is given: --judgments labels.csv --{option} ...")
    return read(str(kept), labels=labels, ordinal=ordinal)


def _same(one: Judgments, other: Judgments) -> bool:
    """Whether two tables hold the same judgments, in any order: one may have times that the other has not."""
    from adjudge.data.judgments import judgment_table

    names = ("item", "judge", "label")
    tables = [judgment_table(each).select(pl.col(names).cast(pl.String)).sort(names) for each in (one, other)]
    return tables[0].equals(tables[1])


DRAWN = ("matrices.csv", "prevalence.csv", "ranks.csv")  # of a sampled fit, with intervals
WRITTEN = ("labels.csv", "judges.csv", JUDGMENTS, *DRAWN, *SAVED, *SOME)


def deliver(
    fit: Fit,
    judgments: Judgments | None,
    out: str | None,
    format: str | None,  # noqa: A002
    rows: int,
) -> None:
    """Write a fit to a folder, beside what it was made from, print it for machines, or show it to people."""
    content = None if format is None else _printed(fit, format)  # before anything is written: it may be refused
    if out is not None:
        from adjudge.inference.save import saved_files

        tables = {"labels.csv": fit.label_columns(), "judges.csv": fit.judge_columns()}
        texts = {name: table_text(frame(columns), "csv") for name, columns in tables.items()}
        if fit.draws is not None:
            drawn = zip(DRAWN, (fit.confusion, fit.prevalence, fit.ranks), strict=True)
            texts |= {name: table_text(table, "csv") for name, table in drawn}
        if judgments is not None:
            texts[JUDGMENTS] = table_text(judgment_table(judgments), "parquet")
        files = {**texts, **saved_files(fit, judgments)}
        earlier = (Path(out) / "fit.json").exists()  # or other files are not those of a fit
        write_whole(files, out)
        if earlier:
            _remove_stale(Path(out), files)
    if content is not None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        show_fit(fit, rows)
        if out is not None:
            more = "" if fit.draws is None else f", {', '.join(DRAWN)}"
            print(f"wrote labels.csv, judges.csv{more} and the fit to {out}")


def _remove_stale(folder: Path, files: Collection[str]) -> None:
    """Remove what an earlier fit left in the folder and this one does not have: it would be taken for this one's."""
    stale = [folder / name for name in WRITTEN if name not in files]
    for path in (*stale, *(folder / LABELS).glob("part-*.parquet")):
        path.unlink(missing_ok=True)


def refuse_late_surprises(out: str | None, format: str | None, inputs: Sequence[str | None]) -> None:  # noqa: A002
    """Refuse, before any work is done, what could only go wrong after it."""
    known = [*FORMATS, *FILES]
    if format is not None and format not in known:
        raise UsageError(f"format {format!r} is not one of {quoted(known)}")
    if format == "parquet" and sys.stdout.isatty():
        raise UsageError("--format parquet is not for a terminal: send it to a file or a pipe")
    if list(inputs).count("-") > 1:
        raise UsageError("only one table can come from standard input")
    if out is not None:
        _refuse_target(out, inputs)


def _refuse_target(out: str, inputs: Sequence[str | None]) -> None:
    """Refuse a folder that is none, or where a file that is read would be written over."""
    if not out:
        raise UsageError("--out is empty: name a folder")
    if os.path.isfile(out):
        raise InputError("is a file; --out needs a folder", out)
    written = {os.path.realpath(os.path.join(out, name)) for name in WRITTEN}
    for path in inputs:
        if path is not None and os.path.realpath(path) in written:
            raise UsageError(f"--out {out} would write over {path}, which is read here: name another folder")


def _printed(fit: Fit, format: str) -> bytes:  # noqa: A002
    """Return the labels in a format for machines."""
    return FILES[format](fit).encode() if format in FILES else table_text(frame(fit.label_columns()), format)
