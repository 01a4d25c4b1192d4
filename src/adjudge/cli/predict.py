"""``adjudge predict``: labels of new items from a saved fit."""

from __future__ import annotations

import os
import sys

from adjudge.cli import options as o


@o.reads_judgments("time", "labels", "ordinal", "values", "repeats")
def predict(
    fit: o.FitFolder,
    judgments: o.Table,
    reading: o.Reading = o.READING,
    out: o.Out = None,
    format: o.Format = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Infer the labels of new items from a saved fit, without changing what it learned.

    A judge whom the fit does not know is treated as an average judge. A fit of majority predicts with the judges'
    confusions that it counted: the vote with memory of Liu and Wang.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --out fit/
    $ adjudge predict fit/ labels.csv --format csv
    """
    from adjudge.cli.output import FIT_FORMATS, check_fit_folder, check_output, deliver, load_fit
    from adjudge.errors import UsageError
    from adjudge.inference.predict import predict as infer

    check_output(format, (judgments,), FIT_FORMATS)
    check_fit_folder(out, (judgments,))
    if out is not None and os.path.realpath(out) == os.path.realpath(fit):
        raise UsageError(f"--out {out} is the folder of the fit, which would be lost: name another folder")
    saved = load_fit(fit)
    table = reading.read_like(saved, judgments)
    result = infer(saved, table)
    deliver(result, table, out, format, rows)
    if result.calibration is not None and result.calibration.margin and len(table):
        print(f"adjudge: {result.calibration.claim}", file=sys.stderr)
