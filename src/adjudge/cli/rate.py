"""``adjudge rate``: the share of items that have a label, from judges and gold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.evaluation.rate import Rates

TABLES = ("shares", "estimates", "pairs", "plan")


def _example(folder: str) -> None:
    """Write judgments, items and gold."""
    from adjudge.cli.output import write_examples
    from adjudge.evaluation.rate import example

    write_examples(example(), folder)


def rate(
    judged: Annotated[
        str,
        typer.Argument(
            metavar="FIT", help="Folder of a fit, or a table of judgments (item, judge, label), which is fitted first."
        ),
    ],
    label: Annotated[
        str, o.input_option("--label", "LABEL", "The label that counts, such as pass; or several, as A,B.")
    ],
    gold: Annotated[
        str | None,
        o.input_option(
            "--gold",
            "TABLE",
            "Table of (item, label): the true labels of a random sample of the items. If they were drawn with other "
            "probabilities, these are in a column probability.",
        ),
    ] = None,
    items: Annotated[
        str | None,
        o.input_option(
            "--items",
            "TABLE",
            "Table of (item, system, group), of which item and one more are enough. A column prompt or topic says "
            "which items of two systems are a pair.",
        ),
    ] = None,
    population: Annotated[
        bool, typer.Option("--population", help="Intervals for a population of items like these, not for these items.")
    ] = False,
    width: Annotated[
        float | None,
        typer.Option(metavar="WIDTH", help="Plan how many gold items give 90 % intervals of this width, such as 0.05."),
    ] = None,
    out: Annotated[
        str | None, o.out_option("FOLDER", "Write shares.csv, estimates.csv, pairs.csv and plan.csv to this folder.")
    ] = None,
    format: o.TableFormat = None,  # noqa: A002
    table: Annotated[
        str,
        o.output_option("--table", "NAME", "With --format: the table to print: shares, estimates, pairs or plan."),
    ] = "shares",
    rows: o.Rows = 20,
    example: Annotated[str | None, o.example_option("FOLDER", _example)] = None,
) -> None:
    """Estimate the share of items with a label: a pass rate, a win rate, a prevalence.

    Judges label all items, and experts label a random sample of them (--gold). The intervals hold whatever the judges'
    errors are, and good judges make them narrow. The estimate that is used puts items into strata by what the judges
    say and lets gold measure each stratum; gold alone, Rogan-Gladen and PPI++ stand beside it. Differences of systems
    use pairs of items, such as the answers of two systems to one prompt. Without gold, only what judges say is printed.

    \b
    $ adjudge rate --example answers/
    $ adjudge rate answers/labels.csv --label pass --gold answers/gold.csv --items answers/items.csv
    $ adjudge rate answers/labels.csv --label pass --items answers/items.csv --width 0.1
    """
    from adjudge.cli.output import check_folder, check_output
    from adjudge.errors import UsageError, not_one_of
    from adjudge.evaluation.rate import rate as run

    check_output(format, (judged, gold, items))
    if table not in TABLES:
        raise UsageError(not_one_of("table", table, TABLES))
    check_folder(out)
    labels = o.label_list(label)
    _deliver(run(judged, labels, gold, items=items, population=population, width=width), out, format, table, rows)


def _deliver(result: Rates, out: str | None, format: str | None, table: str, rows: int) -> None:  # noqa: A002
    """Write the tables to a folder, and print one for programs or show all to people."""
    from adjudge.cli.output import print_table, warn
    from adjudge.data.write import table_text, write_whole

    frames = dict(zip(TABLES, (result.table, result.estimate_table, result.pair_table, result.plan_table), strict=True))
    if out is not None:
        write_whole({f"{name}.csv": table_text(each, "csv") for name, each in frames.items()}, out)
    if format is not None:
        print_table(frames[table], format)
        for note in result.notes:
            warn(note)
        return
    _show(result, rows)
    if out is not None:
        print(f"wrote {', '.join(f'{name}.csv' for name in frames)} to {out}")


def _show(result: Rates, rows: int) -> None:
    """Print the shares, all estimates of them, the differences, the plan and the notes."""
    from adjudge.cli.output import console

    screen = console()
    for title, head, lines in _tables(result):
        if lines:
            screen.print(_used_columns(title, head, lines, rows))
            screen.print()
    for note in result.notes:
        print(f"note: {note}")


def _tables(result: Rates) -> list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]]:
    """Return the title, the columns and the rows of every table for people."""
    whose = ("system", "group")
    counted = " or ".join(result.labels)
    shares = [
        (*each[:2], *each[2:5], _interval(each.low, each.high), each.judges, each.estimator, _count(each.saved))
        for each in result.rows
    ]
    estimates = [
        (*each[:4], _interval(each.low, each.high), "yes" if each.used else "")
        for each in result.estimates
        if each.group is None
    ]
    pairs = [(*each[:4], _interval(each.low, each.high), each.larger or "open", each.needed) for each in result.pairs]
    plan = [(each.system, each.accuracy, each.width, each.gold, each.alone) for each in result.sizes]
    head = ("items", "gold", "share", "90 % interval", "judges say", "estimate", "labels saved")
    return [
        (f"Share of items with the label {counted}", (*whose, *head), shares),
        ("Estimates", (*whose, "estimate", "share", "90 % interval", "used"), estimates),
        (
            "Differences of systems",
            ("group", "first", "second", "difference", "90 % interval", "larger", "gold to decide"),
            pairs,
        ),
        ("Gold items for the width", ("system", "accuracy", "width", "with judges", "gold alone"), plan),
    ]


def _used_columns(title: str, head: tuple[str, ...], lines: list[tuple[Any, ...]], rows: int) -> Any:
    """Return a table of the first rows, without the columns that are empty in all rows."""
    from adjudge.cli.output import table

    used = [c for c in range(len(head)) if any(line[c] not in (None, "") for line in lines)]
    more = f" (the first {rows} of {len(lines):,})" if len(lines) > rows else ""
    cells = [tuple(line[c] for c in used) for line in lines[:rows]]
    return table(title + more, [head[c] for c in used], cells)


def _interval(low: float | None, high: float | None) -> str | None:
    """Return an interval as text."""
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _count(number: float | None) -> int | None:
    """Return a number of labels, rounded."""
    return None if number is None else round(number)
