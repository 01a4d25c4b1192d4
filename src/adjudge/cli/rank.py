"""``adjudge rank``: combine rankings or preferences into one ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.models.ranking.rank import Ranking


FILE = "ranking.csv"
EXAMPLE = {"ann": "abcde", "bob": "abdce", "cy": "bacd", "dee": "abce", "eve": "dceba"}  # items of a judge, best first


def _example(path: str) -> None:
    """Write a small table of rankings."""
    from adjudge.data.write import write_file

    rows = [f"t1,{item},{judge},{n}" for judge, order in EXAMPLE.items() for n, item in enumerate(order, 1)]
    write_file("\n".join(["topic,item,judge,rank", *rows, ""]).encode(), path)
    print(f"wrote {path}")


@dataclass(frozen=True)
class Columns:
    """The columns of a table of rankings or preferences."""

    topic: o.TopicColumn = None
    item: o.ItemColumn = None
    judge: o.JudgeColumn = None
    rank: Annotated[str | None, o.column_option("rank", "ranks: 1 is the best, equal ranks are a tie")] = None
    set: Annotated[
        str | None,
        o.column_option(
            "set", "sets, which tell the rankings of a judge in a topic apart; default: set and assignment"
        ),
    ] = None
    left: Annotated[str | None, o.column_option("left", "the left items of preferences")] = None
    right: Annotated[str | None, o.column_option("right", "the right items of preferences")] = None
    winner: Annotated[
        str | None, o.column_option("winner", "the winners: one of the two items, or left, right or tie")
    ] = None
    label: o.LabelColumn = None


@dataclass(frozen=True)
class RankModel:
    """The model of rankings."""

    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="borda, plackett-luce, bradley-terry or graded (labels and ranks together); default: bradley-terry "
            "for preferences, else plackett-luce.",
        ),
    ] = None
    reliability: Annotated[
        bool | None,
        typer.Option(
            help="plackett-luce (default: yes) and bradley-terry (default: no): whether judges differ in reliability."
        ),
    ] = None
    position_bias: Annotated[
        bool, typer.Option("--position-bias", help="bradley-terry: estimate the advantage of the left position.")
    ] = False
    spread: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="plackett-luce and bradley-terry: prior standard deviation of the items' log worths; graded: scale of "
            "the prior of the steps between the log worths of grades.",
        ),
    ] = 1.0
    judge_spread: Annotated[
        float,
        typer.Option(
            metavar="NUMBER",
            help="Prior standard deviation of the judges' log reliabilities.",
        ),
    ] = 1.0


COLUMNS, MODEL = Columns(), RankModel()


@o.takes("columns", Columns)
@o.takes("model", RankModel, section="Model")
def rank(
    data: Annotated[
        str,
        typer.Argument(
            metavar="RANKINGS",
            help="Table of (topic, item, judge, rank) or of (left, right, winner): CSV, TSV, JSONL or Parquet; - reads "
            "standard input.",
        ),
    ],
    items: Annotated[
        str | None,
        o.input_option(
            "--items", "TABLE", "Table of (item) or (topic, item) with all items; any other item is an error."
        ),
    ] = None,
    gold: Annotated[
        str | None, o.input_option("--gold", "TABLE", "graded: table of (topic, item, grade) with known grades.")
    ] = None,
    labels: Annotated[
        str | None, o.input_option("--labels", "A,B,C", "graded: all labels, lowest first, if they are not numbers.")
    ] = None,
    columns: Columns = COLUMNS,
    ties: Annotated[
        bool, o.input_option("--ties", None, "Equal ranks are ties, even if they look like those of several sets.")
    ] = False,
    input_format: o.InputFormat = None,
    model: RankModel = MODEL,
    seed: o.Seed = 0,
    out: Annotated[str | None, o.out_option("FOLDER", f"Write {FILE} and judges.csv to this folder.")] = None,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
    example: Annotated[str | None, o.example_option("FILE", _example)] = None,
) -> None:
    """Combine judges' rankings, or preferences between two items, into one ranking per topic.

    A judge may rank only some items of a topic, in one set or in several; the columns set and assignment, if there are
    any, tell sets apart. The result is printed as tables; --out writes ranking.csv (topic, item,
    rank, score, standard error, number of judges) and judges.csv (judge, rankings, reliability, Kendall's tau). Method
    graded takes labels beside ranks, and adds the interval of each rank, the grade and the probabilities of grades.

    \b
    $ adjudge rank --example ranks.csv
    $ adjudge rank ranks.csv
    $ adjudge rank ranks.csv --method borda --format csv
    """
    from adjudge.cli.output import WRITTEN, check_fit_folder, check_output
    from adjudge.models.ranking.rank import rank as combine

    check_output(format, (data, items, gold))
    check_fit_folder(out, (data, items, gold), (*WRITTEN, FILE))
    ranking = combine(
        data,
        items=items,
        gold=gold,
        labels=o.label_list(labels),
        seed=seed,
        ties=ties,
        format=input_format,
        **vars(model),
        **vars(columns),
    )
    _deliver(ranking, out, format, rows)


def _deliver(ranking: Ranking, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a ranking to a folder, and print it for programs or show it to people."""
    from adjudge.cli.output import print_table, warn
    from adjudge.data.write import frame, table_text, write_whole

    tables = {FILE: frame(ranking.item_columns()), "judges.csv": frame(ranking.judge_columns())}
    if out is not None:
        write_whole({name: table_text(table, "csv") for name, table in tables.items()}, out)
    if format is not None:
        print_table(tables[FILE], format)
    else:
        _show(ranking, rows)
        if out is not None:
            print(f"wrote {FILE} and judges.csv to {out}")
    if not ranking.converged:
        warn(f"the ranking has not converged: {ranking.stopped}")


def _show(ranking: Ranking, rows: int) -> None:
    """Print the ranking, the judges who agree most with it first, and the method."""
    from adjudge.cli.output import console, first_rows
    from adjudge.data.write import frame

    items, judges = frame(ranking.item_columns()), frame(ranking.judge_columns())
    judges = judges.sort("tau", descending=True, nulls_last=True, maintain_order=True)
    screen = console()
    screen.print(first_rows("Ranking", items, rows, " items"))
    screen.print()
    screen.print(first_rows("Judges, highest agreement first", judges, rows))
    screen.print()
    screen.print(f"{ranking.method}: {', '.join(ranking.summary())}")
