"""Where a fit goes: to people, to machines, or to a folder."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from adjudge.cli.show import show_fit
from adjudge.judgments.write import frame, table_text, write_whole

if TYPE_CHECKING:
    from adjudge.models.record import Fit


def deliver(fit: Fit, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a fit to a folder, print it for machines, or show it to people."""
    if format is not None:
        content = table_text(frame(fit.label_columns()), format)
    if out is not None:
        from adjudge.models.saved import saved_files

        tables = {
            "labels.csv": table_text(frame(fit.label_columns()), "csv"),
            "judges.csv": table_text(frame(fit.judge_columns()), "csv"),
        }
        write_whole({**tables, **saved_files(fit)}, out)
    if format is not None:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        show_fit(fit, rows)
        if out is not None:
            print(f"wrote labels.csv, judges.csv and the fit to {out}")
