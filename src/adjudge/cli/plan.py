"""``adjudge plan``: how many items a monitoring set needs."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o


def plan(
    fit: Annotated[
        str | None,
        typer.Argument(metavar="[FIT]", help="Folder of a fit of earlier work, whose confusions are expected again."),
    ] = None,
    width: Annotated[
        float | None, typer.Option(metavar="WIDTH", help="Mean width of 90 % intervals, such as 0.2.")
    ] = None,
    items: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Items of the set; the widths of intervals are printed.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Expected accuracy of a judge, without FIT.  [default: 0.8]")
    ] = None,
    labels: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Number of labels, without FIT.  [default: 2]")
    ] = None,
    coverage: Annotated[float, typer.Option(metavar="SHARE", help="Share of the set that each judge labels.")] = 1.0,
    judges: Annotated[int, typer.Option(metavar="NUMBER", help="Number of judges.")] = 1,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Plan a monitoring set: how many items of known truth give narrow intervals of judges.

    A monitoring set is mixed into the work of all judges. Give --width to learn how many items it needs, or --items to
    learn how wide the 90 % intervals of a judge will be: of their accuracy, and of every cell of their confusion
    matrix. A cell needs more items, since only those of its true label count; the set has enough of them with a
    probability of .9. ratings is the number of ratings of one judge that count.

    \b
    $ adjudge plan --width 0.2 --accuracy 0.7 --labels 5 --judges 148
    $ adjudge plan --items 48 --accuracy 0.7 --labels 5
    $ adjudge simulate monitoring --out crowd/
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge plan fit/ --width 0.3 --judges 148 --coverage 0.85
    """
    from adjudge.cli.output import check_output, console, first_rows, print_table
    from adjudge.diagnostics.plan import plan as size

    check_output(format, ())
    result = size(width, fit, items=items, accuracy=accuracy, labels=labels, coverage=coverage, judges=judges)
    if format is not None:
        print_table(result.table, format)
        return
    screen = console()
    screen.print(first_rows("Monitoring set", result.table, rows))
    screen.print(f"\n{result.sentence}", markup=False)
