"""``adjudge update``: add new judgments to a saved fit."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o
from adjudge.cli.fit import folder_for

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


@o.reads_judgments("labels", "ordinal", "values")
def update(
    fit: o.FitFolder,
    judgments: Annotated[
        str, typer.Argument(metavar="NEW", help="Table of the new judgments only; - reads standard input.")
    ],
    data: Annotated[
        str | None,
        o.input_option("--data", "TABLE", "The judgments of the fit; needed if its folder does not hold them."),
    ] = None,
    gold: o.Gold = None,
    judges: o.Judges = None,
    reading: o.Reading = o.READING,
    online: Annotated[
        bool, typer.Option("--online", help="Update only the items with new judgments: fast, approximate.")
    ] = False,
    threads: o.Threads = None,
    out: Annotated[
        str | None, o.out_option("FOLDER", "Write the new fit here instead of replacing the fit in its folder.")
    ] = None,
    format: o.Format = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Update a saved fit with new judgments, by known or new judges, on known or new items.

    EM continues from the saved parameters to the fit of all judgments, in fewer passes than a new fit needs. The
    result replaces the fit in its folder once it is complete; --out writes it elsewhere. With --online only the items
    with new judgments are updated, which is faster and approximate, and does not need the judgments of the fit.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --out fit/
    $ adjudge datasets anesthesia --out new.csv
    $ adjudge update fit/ new.csv
    $ adjudge update fit/ new.csv --online --out quick/
    """
    from adjudge.cli.output import FIT_FORMATS, FitProgress, check_fit_folder, check_output, deliver, load_fit, warn
    from adjudge.inference.update import update as infer

    target = fit if out is None else out
    check_output(format, (judgments, data, gold, judges), FIT_FORMATS)
    check_fit_folder(target, (judgments, data, gold, judges))
    saved = load_fit(fit)
    new = _new_judgments(saved, judgments, judges, reading)
    progress = FitProgress()
    try:
        before = _saved_judgments(fit, saved, data, reading)
        result = infer(saved, new, before, gold, online=online, workers=threads, progress=progress)
    finally:
        progress.close()
    with _ignoring_ctrl_c():
        deliver(result, result.judgments, folder_for(result, target), format, rows)
    if not result.converged:
        warn(f"the fit has not converged: {result.stopped}")
    if result.calibration is not None and not online:
        print(f"adjudge: {result.calibration.words}", file=sys.stderr)
    if result.stopped == "interrupted":
        raise typer.Exit(130)


def _new_judgments(fit: Fit, table: str, judges: str | None, reading: o.Reading) -> Judgments:
    """Return the new judgments, on the scale of the fit."""
    from adjudge.errors import InputError
    from adjudge.inference.update import other_advice

    try:
        return reading.read_like(fit, table, judges=judges)
    except InputError as error:
        raise other_advice(error) from error


def _saved_judgments(folder: str, fit: Fit, table: str | None, reading: o.Reading) -> Judgments | None:
    """Return the judgments of a fit; None if the fit itself holds them, or if there are none to read."""
    from adjudge.cli.output import JUDGMENTS, kept_judgments
    from adjudge.data.formats import open_source

    if table is not None:
        return reading.read_like(fit, table)
    path = os.path.join(folder, JUDGMENTS)
    if os.path.isfile(path) and (fit.judgments is None or "time" in open_source(path).columns):  # a fit has no times
        return kept_judgments(folder, fit, None, o.READING)
    return None


@contextmanager
def _ignoring_ctrl_c() -> Iterator[None]:
    """Ignore Ctrl-C while the files of a fit are replaced, which would mix two fits."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
