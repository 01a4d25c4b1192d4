"""Where a fit goes: to people, to machines, or to a folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from adjudge.cli.show import show_fit
from adjudge.errors import InputError, UsageError, quoted
from adjudge.judgments.write import FORMATS, frame, table_text, write_whole
from adjudge.models.trec import FILES

if TYPE_CHECKING:
    from adjudge.models.record import Fit


def deliver(fit: Fit, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a fit to a folder, print it for machines, or show it to people."""
    content = None if format is None else _printed(fit, format)  # before anything is written: it may be refused
    if out is not None:
        from adjudge.models.saved import saved_files

        tables = {"labels.csv": fit.label_columns(), "judges.csv": fit.judge_columns()}
        texts = {name: table_text(frame(columns), "csv") for name, columns in tables.items()}
        write_whole({**texts, **saved_files(fit)}, out)
    if content is not None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        show_fit(fit, rows)
        if out is not None:
            print(f"wrote labels.csv, judges.csv and the fit to {out}")


def refuse_late_surprises(out: str | None, format: str | None) -> None:  # noqa: A002
    """Refuse, before any work is done, a format nobody knows or an --out that is a file."""
    known = [*FORMATS, *FILES]
    if format is not None and format not in known:
        raise UsageError(f"format {format!r} is not one of {quoted(known)}")
    if out is not None and os.path.isfile(out):
        raise InputError("is a file; --out needs a folder", out)


def _printed(fit: Fit, format: str) -> bytes:  # noqa: A002
    """Return the labels in a format for machines."""
    return FILES[format](fit).encode() if format in FILES else table_text(frame(fit.label_columns()), format)
