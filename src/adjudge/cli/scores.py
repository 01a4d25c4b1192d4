"""``adjudge scores``: numeric judgments in, true scores and the bias, scale and noise of judges out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.models.scores import ScoreFit


FILE = "scores.csv"
TRUTHS = (12, 35, 48, 61, 77, 90)
EXAMPLE = {
    "ann": (0, 1.0),
    "bob": (8, 1.0),
    "cy": (20, 0.5),
    "dee": (-4, 1.1),
}  # of a judge: scores at 0, and the scale
ERRORS = (3, -2, 1, -3, 2, -1, 4)  # in turn


def _example(path: str) -> None:
    """Write a small table of scores."""
    from adjudge.data.write import write_file

    rows, n = [], 0
    for judge, (zero, scale) in EXAMPLE.items():
        for k, truth in enumerate(TRUTHS, 1):
            rows.append(f"essay{k},{judge},{zero + scale * truth + ERRORS[n % len(ERRORS)]:g}")
            n += 1
    write_file("\n".join(["item,judge,score", *rows, ""]).encode(), path)
    print(f"wrote {path}")


@dataclass(frozen=True)
class Columns:
    """The columns of a table of scores."""

    item: o.ItemColumn = None
    judge: o.JudgeColumn = None
    score: Annotated[str | None, o.column_option("score", "scores; default: score, value, or a name of labels")] = None
    topic: o.TopicColumn = None


@dataclass(frozen=True)
class ScoreModel:
    """How scores are modelled, and how long chains are."""

    inference: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="gibbs, or em: faster, with narrower intervals that take the judges as known."
        ),
    ] = "gibbs"
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="normal, or t (Student-t: gross errors count little). Default: the one that predicts held-out "
            "judgments better.",
        ),
    ] = None
    chains: Annotated[int, typer.Option(metavar="NUMBER", help="Number of Markov chains.")] = 4
    warmup: Annotated[int, typer.Option(metavar="SWEEPS", help="Sweeps of each chain that are discarded first.")] = 500
    draws: Annotated[int, typer.Option(metavar="NUMBER", help="Draws of each chain that are kept.")] = 500


COLUMNS, MODEL = Columns(), ScoreModel()


@o.takes("columns", Columns)
@o.takes("model", ScoreModel, section="Model")
def scores(
    judgments: Annotated[
        str,
        typer.Argument(
            metavar="SCORES",
            help="Table with the columns item, judge and score: CSV, TSV, JSONL or Parquet; - reads standard input.",
        ),
    ],
    gold: Annotated[
        str | None, o.input_option("--gold", "TABLE", "Table of (item, score): items whose true score is known.")
    ] = None,
    columns: Columns = COLUMNS,
    input_format: o.InputFormat = None,
    model: ScoreModel = MODEL,
    seed: o.Seed = 0,
    out: Annotated[str | None, o.out_option("FOLDER", f"Write {FILE} and judges.csv to this folder.")] = None,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
    example: Annotated[str | None, o.example_option("FILE", _example)] = None,
) -> None:
    """Infer the true score of every item from numeric judgments, such as 0 to 100, and how every judge scores.

    A judge's score is bias + scale * truth + noise: some judges score higher than others, some use less of the scale,
    and some are less exact. The result is printed as tables; --out writes scores.csv (item, value, the ends of a 90 %
    interval, number of judgments) and judges.csv (bias, scale and noise with intervals, and a sentence). Without
    --gold, values have the scale of the average judgment.

    \b
    $ adjudge scores --example essays.csv
    $ adjudge scores essays.csv
    $ adjudge scores essays.csv --inference em --format csv
    """
    from adjudge.cli.output import WRITTEN, check_fit_folder, check_output
    from adjudge.models.scores import scores as infer

    check_output(format, (judgments, gold))
    check_fit_folder(out, (judgments, gold), (*WRITTEN, FILE))
    fit = infer(judgments, gold, seed=seed, format=input_format, **vars(model), **vars(columns))
    _deliver(fit, out, format, rows)


def _deliver(fit: ScoreFit, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write the tables to a folder, and print the values for programs or show both tables to people."""
    from adjudge.cli.output import print_table, warn
    from adjudge.data.write import frame, table_text, write_whole

    tables = {FILE: frame(fit.item_columns()), "judges.csv": frame(fit.judge_columns())}
    if out is not None:
        write_whole({name: table_text(table, "csv") for name, table in tables.items()}, out)
    if format is not None:
        print_table(tables[FILE], format)
    else:
        _show(fit, rows)
        if out is not None:
            print(f"wrote {FILE} and judges.csv to {out}")
    if not fit.converged:
        warn(f"{fit.stopped}; {'increase --draws' if fit.inference == 'gibbs' else '--inference gibbs may help'}")


def _show(fit: ScoreFit, rows: int) -> None:
    """Print the values, the judges with the least noise first, and how the fit ended."""
    from adjudge.cli.output import console, first_rows, judge_intervals
    from adjudge.data.write import frame
    from adjudge.errors import quote

    screen = console()
    screen.print(first_rows("Scores", frame(fit.item_columns()), rows, " items"))
    screen.print()
    judges = judge_intervals(frame(fit.judge_columns()).sort("noise", maintain_order=True))
    screen.print(first_rows("Judges, least noise first", judges.drop("sentence"), rows))
    screen.print()
    for judge, sentence in judges.select("judge", "sentence").head(rows).rows():
        screen.print(f"{quote(judge)}: {sentence}", markup=False)
    screen.print()
    data = fit.scores
    counts = f"{len(data.items):,} items, {len(data.judges):,} judges, {data.score.size:,} scores"
    screen.print(f"{counts}; {fit.inference}: {fit.stopped}")
    screen.print(f"noise {fit.noise}: {fit.reason}")
    if not fit.anchored:
        screen.print("Values have the scale of the average judgment (mean bias 0, mean scale 1); --gold changes that.")
