"""``adjudge agreement``: how much judges agree with each other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adjudge.metrics.agreement import Agreement


WHOLE = 400  # characters of a note: all of it
SHOWN = ("raw_agreement", "alpha_nominal", "fleiss_kappa", "cohen_kappa")  # of each topic


@o.reads_judgments("time")
def agreement(
    judgments: o.Table,
    by_topic: Annotated[bool, typer.Option("--by-topic", help="Measure each topic apart.")] = False,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="With --format: the pairs of judges instead of the measures.")
    ] = False,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print the measures for machines: csv, jsonl or parquet."),
    ] = None,
    reading: o.Reading = o.USUAL,
    draws: Annotated[int, typer.Option(min=20, metavar="NUMBER", help="Draws of items, for the intervals.")] = 1_000,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Say how much judges agree, before anything is known of the truth.

    Raw agreement is the share of pairs of judges who gave an item the same label. Krippendorff's alpha, Fleiss'
    kappa and Cohen's kappa (the mean over pairs of judges) are 1 where all agree and 0 where they agree as if
    by chance. Alphas of labels in an order need --ordinal. Intervals are of 90 % (bootstrap over items). A judge
    has one vote an item; where it was judged again, the vote is shared among the labels.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge agreement labels.csv --ordinal
    $ adjudge agreement labels.csv --format csv
    $ adjudge agreement labels.csv --format jsonl --pairs --rows 100
    """
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted
    from adjudge.metrics import agreement as room

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    if pairs and (format is None or by_topic):
        raise UsageError("--pairs is for --format, and not for --by-topic; people see the pairs below the measures")
    refuse_late_surprises(None, format, (judgments,))
    table = reading.read(judgments)
    if by_topic:
        topics = room.by_topic(table, draws=draws, seed=seed)
        _show_topics(topics, rows) if format is None else _print(_topic_columns(topics), format)
        return
    found = room.agreement(table, draws=draws, seed=seed, pairs=rows)
    if format is None:
        _show(found)
    else:
        _print(found.pair_columns() if pairs else found.columns(), format)


def _print(columns: dict[str, list[Any]], format: str) -> None:  # noqa: A002
    """Print a table for machines."""
    from adjudge.data.write import frame, table_text

    sys.stdout.buffer.write(table_text(frame(columns), format))
    sys.stdout.buffer.flush()


def _show(found: Agreement) -> None:
    """Print the measures, the pairs of judges, and what they come to."""
    from adjudge.cli.show import console, table

    screen = console()
    alone = f"; {found.alone:,} items with fewer than two judges are left out" if found.alone else ""
    repeats = f"; {found.repeats:,} repeats share their judges' votes" if found.repeats else ""
    title = f"Agreement of {found.judges:,} judges on {found.items:,} items{alone}{repeats}"
    screen.print(table(title, ("measure", "value", "low", "high", "note"), found.rows, WHOLE))
    if found.pairs:
        head = ("judge", "and judge", "shared items", "agreement", "Cohen's kappa")
        screen.print()
        screen.print(table(f"Judges who share the most items ({len(found.pairs):,} pairs)", head, found.pairs))
    screen.print(f"\n{found.sentence}", markup=False)


def _show_topics(topics: Mapping[Any, Agreement], rows: int) -> None:
    """Print the first topics, a line each."""
    from adjudge.cli.show import console, table

    cells = [
        (str(name), found.items, found.judges, *(found.values[measure] for measure in SHOWN), _span(found))
        for name, found in list(topics.items())[:rows]
    ]
    title = f"Agreement by topic ({len(cells):,} of {len(topics):,} topics)"
    console().print(table(title, ("topic", "items", "judges", *SHOWN, "alpha, 90 %"), cells))


def _span(found: Agreement) -> str | None:
    """Return the interval of alpha."""
    low, high = next((row.low, row.high) for row in found.rows if row.measure == "alpha_nominal")
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _topic_columns(topics: Mapping[Any, Agreement]) -> dict[str, list[Any]]:
    """Return the measures of all topics as named columns."""
    parts = [{"topic": [name] * len(found.rows), **found.columns()} for name, found in topics.items()]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
