"""``adjudge predict``: new judgments, judged with what an earlier fit learned."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from adjudge.cli import options as o


@o.reads_judgments("time", "labels", "ordinal", "repeats")
def predict(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    judgments: o.Table,
    out: o.Out = None,
    format: o.Format = None,  # noqa: A002
    reading: o.Reading = o.USUAL,
    rows: o.Rows = 10,
) -> None:
    """Infer the truth of new items from a saved fit, without learning anew ("memory" mode).

    A judge the fit never met is taken for an average one.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --out fit/
    $ adjudge predict fit/ labels.csv --format csv
    """
    from adjudge.cli.output import deliver, refuse_late_surprises
    from adjudge.errors import UsageError
    from adjudge.inference.predict import predict as infer
    from adjudge.inference.save import load

    refuse_late_surprises(out, format, (judgments,))
    if out is not None and os.path.realpath(out) == os.path.realpath(fit):
        raise UsageError(f"--out {out} is the fit itself, which would be lost: name another folder")
    known = load(fit)
    if not known.converged:
        print(f"adjudge: warning: {fit} is a fit that has not converged: {known.stopped}", file=sys.stderr)
    table = reading.read(judgments, labels=known.scale.labels, ordinal=known.scale.ordinal)
    deliver(infer(known, table), table, out, format, rows)
