"""``adjudge ask``: choose items for an expert to label."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o


def ask(
    fit: o.FitFolder,
    items: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of items to choose.")] = 20,
    how: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="systematic (a sample by label and certainty), or uncertain (the most uncertain items). Default: "
            "systematic until the fit has 50 gold items.",
        ),
    ] = None,
    seed: o.Seed = 0,
    out: Annotated[str | None, o.output_option("--out", "FILE", "Write the items to this CSV file.")] = None,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Choose items for an expert to label, so that gold teaches most.

    The first 50 gold items are a systematic sample by label and certainty, because they must show how far judges can
    be believed where most items are. Then the most uncertain items follow; they are marked calibrate = false, and
    correct themselves only. Fill in the column gold of the file, and give it as gold; empty rows are not yet labelled.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge fit labels.csv --out fit/
    $ adjudge ask fit/ --items 10 --out ask.csv
    $ adjudge ask fit/ --items 5 --how uncertain
    """
    from adjudge.cli.output import check_file, check_output, first_rows, load_fit, print_table, write_table
    from adjudge.cli.output import console as screen_of
    from adjudge.data.write import frame
    from adjudge.diagnostics.ask import ask as choose

    check_output(format, (fit,))
    check_file(out, (fit,))
    result = choose(load_fit(fit), items, how=how, seed=seed)
    if out is not None:
        write_table(result.columns, out, "csv")
    if format is not None:
        print_table(result.columns, format)
        return
    screen = screen_of()
    screen.print(first_rows("Items to label", frame(result.columns), rows))
    screen.print(f"\n{result.sentence}", markup=False)
    if out is not None:
        print(f"wrote {out}")
