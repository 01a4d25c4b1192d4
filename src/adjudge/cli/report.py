"""``adjudge report``: one page that says what was found and what to do about it."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from adjudge.cli import options as o

FILE = "report.html"


@o.reads_judgments("labels", "ordinal", "repeats")
def report(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help=f"Where the page goes; {FILE} in the fit's folder."),
    ] = None,
    judgments: o.KeptTable = None,
    truth: Annotated[
        str | None,
        typer.Option(
            "--truth", metavar="TABLE", help="A table of (item, label) not told to the fit, to hold it against."
        ),
    ] = None,
    earlier: Annotated[
        str | None,
        typer.Option(
            "--earlier", metavar="FIT", help="An earlier fit of the same judges: are they as good as they were?"
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What the page is called.")] = None,
    figures: Annotated[
        str | None, typer.Option("--figures", metavar="FOLDER", help="Write every figure here, as SVG and PNG.")
    ] = None,
    reading: o.Reading = o.USUAL,
    seed: o.Seed = 0,
) -> None:
    """Write one HTML page on a fit: what is found, how sure it is, the judges, and what to do.

    The page needs nothing else: it can be mailed, printed and read on a phone. It has a summary in words,
    figures, a table of judges to sort and search with a card for each, the confusions worth a word in the
    guidelines, and the items to look at.

    \b
    $ adjudge simulate carpenter --out crowd/
    $ adjudge fit crowd/labels.csv --gold crowd/gold.csv --model hierarchical --out fit/
    $ adjudge report fit/
    $ adjudge report fit/ --truth crowd/truth.csv --figures pictures/
    """
    from adjudge.cli.output import kept_judgments
    from adjudge.cli.show import Doing
    from adjudge.data.write import write_file, write_whole
    from adjudge.inference.save import load
    from adjudge.reports.case import case_of
    from adjudge.reports.gallery import figure_files
    from adjudge.reports.report import document

    found = load(fit)
    before = None if earlier is None else load(earlier)
    case = case_of(found, kept_judgments(fit, found, judgments, reading), truth, seed=seed, earlier=before)
    place = out or os.path.join(fit, FILE)
    with Doing() as doing:
        page = document(case, title or os.path.basename(os.path.normpath(fit)), doing)
        pictures = {} if figures is None else figure_files(case, doing)
    write_file(page.encode(), place)
    if figures is not None:
        write_whole(pictures, figures)
    more = "" if figures is None else f", and {len(pictures):,} pictures to {figures}"
    print(f"wrote {place} ({len(page.encode()) / 1e6:.1f} MB){more}")
