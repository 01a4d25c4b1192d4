"""``adjudge report``: one page about a fit."""

from __future__ import annotations

import os
from typing import Annotated

from adjudge.cli import options as o

FILE = "report.html"


@o.reads_judgments("labels", "ordinal", "values", "repeats")
def report(
    fit: o.FitFolder,
    judgments: o.KeptTable = None,
    truth: o.TruthTable = None,
    earlier: Annotated[
        str | None, o.input_option("--earlier", "FIT", "An earlier fit of the same judges, to compare their work with.")
    ] = None,
    reading: o.Reading = o.READING,
    seed: o.Seed = 0,
    title: Annotated[str | None, o.output_option("--title", "TEXT", "Title of the page.")] = None,
    out: Annotated[str | None, o.out_option("FILE", f"File of the page; default: {FILE} in the fit's folder.")] = None,
    figures: Annotated[
        str | None, o.output_option("--figures", "FOLDER", "Also write every figure to this folder, as SVG and PNG.")
    ] = None,
) -> None:
    """Write an HTML page about a fit: its labels and their uncertainty, the judges, and what to do.

    The page is one file that can be mailed, printed and read on a phone. It has a summary in words, figures, a
    sortable table of judges with a card for each, the confusions that the guidelines should address, and the items that
    deserve a second look.

    \b
    $ adjudge simulate carpenter --out crowd/
    $ adjudge fit crowd/labels.csv --gold crowd/gold.csv --model hierarchical --out fit/
    $ adjudge report fit/
    $ adjudge report fit/ --truth crowd/truth.csv --figures pictures/
    """
    from adjudge.cli.output import StepProgress, kept_judgments
    from adjudge.inference.save import load
    from adjudge.reports.report import report as make

    saved = load(fit)
    table = kept_judgments(fit, saved, judgments, reading)
    name = title or os.path.basename(os.path.normpath(fit))
    path = out or os.path.join(fit, FILE)
    with StepProgress() as progress:
        page = make(saved, table, truth=truth, earlier=earlier, title=name, seed=seed, progress=progress)
        page.save(path, figures)
    more = "" if figures is None else f", and {len(page.figures):,} pictures to {figures}"
    print(f"wrote {path} ({len(page.html.encode()) / 1e6:.1f} MB){more}")
