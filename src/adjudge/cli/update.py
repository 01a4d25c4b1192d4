"""``adjudge update``: judgments that came after a fit."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


@o.reads_judgments("labels", "ordinal")
def update(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    judgments: Annotated[
        str, typer.Argument(metavar="NEW", help="A table of the new judgments alone; - is standard input.")
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="TABLE",
            help="The judgments that were fitted, where they do not lie in the fit's folder.",
        ),
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Look again at the items with new judgments only: quick, and a little off.")
    ] = False,
    gold: o.Gold = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write here instead of back into the fit's own folder."),
    ] = None,
    format: o.Format = None,  # noqa: A002
    reading: o.Reading = o.USUAL,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Threads; the result is the same with any number.")
    ] = None,
    rows: o.Rows = 10,
) -> None:
    """Go on from a saved fit with new judgments: by old or new judges, on old or new items.

    The fit is climbed from where it is to where a fit of all judgments ends, in fewer passes, and replaces
    the one in FIT, whole, when it is done; --out leaves that as it is. --online passes over the items with
    new judgments alone: docs/update.md says how far off that is. Where the judgments of the fit do not lie
    in its folder, --data names them; --online does without.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --out fit/
    $ adjudge datasets anesthesia --out new.csv
    $ adjudge update fit/ new.csv
    $ adjudge update fit/ new.csv --online --out quick/
    """
    from adjudge.cli.output import deliver, refuse_late_surprises
    from adjudge.cli.show import ClimbProgress
    from adjudge.errors import InputError
    from adjudge.inference.save import load
    from adjudge.inference.update import other_advice
    from adjudge.inference.update import update as go_on

    target = fit if out is None else out
    refuse_late_surprises(target, format, (judgments, data, gold))
    known = load(fit)
    if not known.converged:
        print(f"adjudge: warning: {fit} is a fit that has not converged: {known.stopped}", file=sys.stderr)
    try:
        new = reading.read(judgments, labels=known.scale.labels, ordinal=known.scale.ordinal)
    except InputError as error:
        raise other_advice(error) from error
    progress = ClimbProgress()
    try:
        found = go_on(
            known, new, _fitted(fit, known, data, reading), gold, online=online, workers=threads, progress=progress
        )
    finally:
        progress.close()
    if found.stopped == "interrupted" and os.path.exists(target):
        target = f"{target.rstrip('/')}-interrupted"  # what was there is whole: it stays
    with _uninterrupted():
        deliver(found, found.judgments, target, format, rows)
    if not found.converged:
        print(f"adjudge: warning: the fit has not converged: {found.stopped}", file=sys.stderr)
    if found.calibration is not None and not online:
        print(f"adjudge: {found.calibration.words}", file=sys.stderr)
    if found.stopped == "interrupted":
        raise typer.Exit(130)


def _fitted(folder: str, fit: Fit, table: str | None, reading: o.Reading) -> Judgments | None:
    """Return the judgments of a fit, None where it has them in its codes or nobody knows them."""
    from adjudge.cli.output import JUDGMENTS, kept_judgments
    from adjudge.data.formats import open_source

    if table is not None:
        return reading.read(table, labels=fit.scale.labels, ordinal=fit.scale.ordinal)
    kept = os.path.join(folder, JUDGMENTS)
    if os.path.isfile(kept) and (fit.judgments is None or "time" in open_source(kept).columns):  # codes have no times
        return kept_judgments(folder, fit, None, o.USUAL)
    return None


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Do not hear Ctrl-C while the files of a fit are replaced: it would leave some of two fits."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
