"""``adjudge weights``: how much each item should count in training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o
from adjudge.errors import UsageError

if TYPE_CHECKING:
    from adjudge.learn.weights import Weights


@dataclass(frozen=True)
class SchemeOptions:
    """How judgments are weighted."""

    scheme: Annotated[
        str | None, typer.Option("--scheme", "-s", metavar="NAME", help="L, P, LP, TC, LTC or LPTC; default: LPTC.")
    ] = None
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Name of the column of prior trust, from 0 to 1 [trust]; approved/judged for counts, rate/100 for "
            "percent.",
        ),
    ] = None
    trust_table: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Table of (judge, trust), if the judgments have no column of trust."),
    ] = None
    agreement: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="Agreement with the majority as a count (default, as in the paper) or a rate."
        ),
    ] = None
    positive: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Labels that count as +1; all others count as -1. Default: the last of two."),
    ] = None


@dataclass(frozen=True)
class FitOptions:
    """How a fit is used instead of judgments."""

    fit: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Weight by the certainty of a saved fit instead, without JUDGMENTS."),
    ] = None
    kind: Annotated[
        str | None, typer.Option(metavar="NAME", help="margin, |2p - 1| (the default), or entropy, 1 - H(p).")
    ] = None


SCHEME, FIT = SchemeOptions(), FitOptions()


@o.reads_judgments("weight", "time")
@o.takes("scheme", SchemeOptions, section="Weights from judgments")
@o.takes("fit", FitOptions, section="Weights from a fit")
def weights(
    judgments: Annotated[
        str | None,
        typer.Argument(
            metavar="JUDGMENTS",
            help="Table with the columns item, judge, label and optionally trust: CSV, TSV, JSONL or Parquet; - reads "
            "standard input.",
        ),
    ] = None,
    reading: o.Reading = o.READING,
    scheme: SchemeOptions = SCHEME,
    fit: FitOptions = FIT,
    raw: Annotated[bool, o.output_option("--raw", None, "Do not scale the weights to a mean of 1.")] = False,
    judges: Annotated[
        bool,
        o.output_option(
            "--judges", None, "Also show the judges and their factors; with --format or --out, only these."
        ),
    ] = False,
    out: o.TableFile = None,
    format: o.TableFormat = None,  # noqa: A002
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Weight every item by how far its judges can be believed, for training on the labels of a crowd.

    The weight of an item is |sum of j W| over its judgments j, +1 or -1. W is the product of the judge's prior trust
    (P), activity (T) and agreement with the majority (C), as far as their letters are in the name of the scheme;
    without an L, signs are ignored. With --fit, the weight is how certain a model is of the label. Give the column
    weight to any learner as sample_weight, with label as the target.

    \b
    $ adjudge simulate rerank --size topics=10 --size items=200 --size judges=15 --out crowd/
    $ adjudge weights crowd/labels.csv --judges --rows 3
    $ adjudge weights crowd/labels.csv --scheme LTC --agreement rate --out weights.csv
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge weights --fit fit/ --kind margin --format csv
    """
    from adjudge.cli.output import check_output, table_format

    _check_sources(judgments, fit, scheme, reading)
    inputs = (judgments, scheme.trust_table)
    check_output(format, inputs)
    out_format = table_format(out, inputs)
    if fit.fit is not None:
        result = _from_fit(fit.fit, fit.kind or "margin", not raw)
    else:
        result = _from_judgments(judgments or "", scheme, reading, not raw, seed)
    _deliver(result, judges, out, out_format, format, rows)


def _check_sources(judgments: str | None, fit: FitOptions, scheme: SchemeOptions, reading: o.Reading) -> None:
    """Raise an error unless there are either judgments or a fit, with the options of that source only."""
    if (judgments is None) == (fit.fit is None):
        raise UsageError("give either a table of judgments, or the folder of a fit with --fit")
    if fit.fit is None and fit.kind is not None:
        raise UsageError(f"--kind {fit.kind} needs a fit: give its folder with --fit")
    if fit.fit is not None:
        changed = [f"--{name.replace('_', '-')}" for name, value in vars(scheme).items() if value is not None]
        for option in (*changed, *reading.changed()):
            raise UsageError(f"{option} applies to a table of judgments, and cannot be combined with --fit")
    if scheme.trust is not None and scheme.trust_table is not None:
        raise UsageError("--trust names a column of the judgments, --trust-table a table of its own: give only one")


def _from_judgments(path: str, scheme: SchemeOptions, reading: o.Reading, mean_one: bool, seed: int) -> Weights:
    """Return weights by a scheme."""
    from adjudge.learn.weights import weights as compute

    return compute(
        path,
        scheme.scheme or "LPTC",
        trust=scheme.trust if scheme.trust_table is None else Path(scheme.trust_table),
        agreement=scheme.agreement or "count",
        positive=o.label_list(scheme.positive),
        mean_one=mean_one,
        seed=seed,
        **reading.arguments(),
    )


def _from_fit(folder: str, kind: str, mean_one: bool) -> Weights:
    """Return weights by the certainty of a saved fit."""
    from adjudge.cli.output import load_fit
    from adjudge.learn.posterior_weights import posterior_weights

    return posterior_weights(load_fit(folder), kind, mean_one=mean_one)


def _deliver(
    result: Weights,
    judges: bool,
    out: str | None,
    out_format: str,
    format: str | None,  # noqa: A002
    rows: int,
) -> None:
    """Write the weights to a file, and print them for programs or show them to people."""
    from adjudge.cli.output import print_table, write_table

    table = _judge_table(result) if judges else result.item_columns()
    if out is not None:
        write_table(table, out, out_format)
    if format is not None:
        print_table(table, format)
        return
    _show(result, judges, rows)
    if out is not None:
        print(f"wrote {'the judges' if judges else 'the weights'} to {out}")


def _show(result: Weights, judges: bool, rows: int) -> None:
    """Print the items with the largest and smallest weights and, on demand, the judges."""
    from adjudge.cli.output import console, first_and_last, first_rows, table
    from adjudge.data.write import frame

    screen, items = console(), frame(result.item_columns()).sort("weight", descending=True, maintain_order=True)
    lines, some = first_and_last(items.rows(), rows)
    screen.print(table(f"Items by weight, {result.scheme}: {some}{items.height:,}", items.columns, lines))
    if judges:
        by = list(result.judge_columns)[-1]
        factors = _judge_table(result).sort(by, descending=True, maintain_order=True)
        screen.print()
        screen.print(first_rows(f"Judges by {by}", factors, rows))
    zero = int((result.weight == 0).sum())
    if zero:
        print(f"{zero:,} of {len(result):,} items have weight 0: learners ignore them")


def _judge_table(result: Weights) -> Any:
    """Return the table of judges, without columns that are missing for all of them."""
    from adjudge.data.write import frame

    judges = frame(result.judge_columns)
    return judges.select(column for column in judges if not (column.dtype.is_float() and column.is_nan().all()))
