"""``adjudge rank``: rankings or preferences in, one ranking out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.models.ranking.rank import Ranking


FILE = "ranking.csv"
EXAMPLE = {"ann": "abcde", "bob": "abdce", "cy": "bacd", "dee": "abce", "eve": "dceba"}  # a judge's items, best first


def _example(path: str | None) -> None:
    """Write a small table of rankings and stop."""
    if path is not None:
        from adjudge.data.write import write_file

        rows = [f"t1,{item},{judge},{place}" for judge, order in EXAMPLE.items() for place, item in enumerate(order, 1)]
        write_file("\n".join(["topic,item,judge,rank", *rows, ""]).encode(), path)
        print(f"wrote {path}")
        raise typer.Exit


def _column(role: str, what: str) -> typer.models.OptionInfo:
    """Return the option that names a column."""
    option: typer.models.OptionInfo = typer.Option(f"--{role}", metavar="COLUMN", help=f"The column of {what}.")
    return option


def rank(
    data: Annotated[
        str,
        typer.Argument(
            metavar="RANKINGS",
            help="A table of (topic, item, judge, rank), or of (left, right, winner): CSV, TSV, JSONL, Parquet; "
            "- is standard input.",
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="borda, plackett-luce or bradley-terry; by default the last for preferences, else the second.",
        ),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="A table of (item) or (topic, item): all items there are; others are refused."
        ),
    ] = None,
    reliability: Annotated[
        bool | None,
        typer.Option(help="Whether some judges count more; by default in plackett-luce, not in bradley-terry."),
    ] = None,
    position_bias: Annotated[
        bool, typer.Option("--position-bias", help="Estimate what the left place is worth (bradley-terry).")
    ] = False,
    spread: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="How far apart items are thought to be: prior deviation of log worths."),
    ] = 1.0,
    judge_spread: Annotated[float, typer.Option(metavar="NUMBER", help="The same of judges' log reliabilities.")] = 1.0,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help=f"Write {FILE} and judges.csv here.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print the ranking for machines: csv, jsonl or parquet."),
    ] = None,
    topic: o.TopicColumn = None,
    item: o.ItemColumn = None,
    judge: o.JudgeColumn = None,
    rank: Annotated[str | None, _column("rank", "ranks: 1 for the best; equal ones are a tie")] = None,
    left: Annotated[str | None, _column("left", "the items on the left")] = None,
    right: Annotated[str | None, _column("right", "the items on the right")] = None,
    winner: Annotated[str | None, _column("winner", "winners: one of the two items, or left, right or tie")] = None,
    input_format: o.InputFormat = None,
    rows: o.Rows = 10,
    example: Annotated[
        str | None,
        typer.Option(metavar="FILE", callback=_example, is_eager=True, help="Write a small table to try, and stop."),
    ] = None,
) -> None:
    """Combine judges' rankings, or preferences between two items, into one ranking a topic.

    A judge may rank only some of a topic's items. Prints tables for people; --out writes ranking.csv (topic,
    item, rank, score, standard error, how many ranked it) and judges.csv (judge, rankings, reliability, Kendall's
    tau with the consensus).

    \b
    $ adjudge rank --example ranks.csv
    $ adjudge rank ranks.csv
    $ adjudge rank ranks.csv --method borda --format csv
    """
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted
    from adjudge.models.ranking.rank import rank as combine

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(out, format, (data, items))
    for path in (data, items) if out is not None else ():
        if path is not None and os.path.realpath(path) == os.path.realpath(os.path.join(out or "", FILE)):
            raise UsageError(f"--out {out} would write over {path}, which is read here: name another folder")
    found = combine(
        data,
        method,
        items=items,
        reliability=reliability,
        position_bias=position_bias,
        spread=spread,
        judge_spread=judge_spread,
        topic=topic,
        item=item,
        judge=judge,
        rank=rank,
        left=left,
        right=right,
        winner=winner,
        format=input_format,
    )
    _deliver(found, out, format, rows)


def _deliver(found: Ranking, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a ranking to a folder, print it for machines, or show it to people."""
    from adjudge.data.write import frame, table_text, write_whole

    tables = {FILE: frame(found.item_columns()), "judges.csv": frame(found.judge_columns())}
    if out is not None:
        write_whole({name: table_text(table, "csv") for name, table in tables.items()}, out)
    if format is not None:
        sys.stdout.buffer.write(table_text(tables[FILE], format))
        sys.stdout.buffer.flush()
    else:
        _show(found, rows)
        if out is not None:
            print(f"wrote {FILE} and judges.csv to {out}")
    if not found.converged:
        print(f"adjudge: warning: the ranking has not converged: {found.stopped}", file=sys.stderr)


def _show(found: Ranking, rows: int) -> None:
    """Print the ranking, the judges who agree most with it first, and how it was found."""
    from adjudge.cli.show import console, table
    from adjudge.data.write import frame

    items, judges = frame(found.item_columns()), frame(found.judge_columns())
    shown = judges.sort("tau", descending=True, nulls_last=True, maintain_order=True).head(rows)
    title = f"Ranking ({min(rows, items.height):,} of {items.height:,} items)"
    agreeing = f"Judges, those who agree most first ({shown.height:,} of {judges.height:,})"
    screen = console()
    screen.print(table(title, items.columns, items.head(rows).rows()))
    screen.print()
    screen.print(table(agreeing, judges.columns, shown.rows()))
    screen.print()
    screen.print(f"{found.method}: {', '.join(found.summary())}")
