"""``adjudge weights``: what each item is worth as an example to learn from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.learn.weights import Weights


@o.reads_judgments("weight", "time")
def weights(
    judgments: Annotated[
        str | None,
        typer.Argument(
            metavar="JUDGMENTS",
            help="A table of (item, judge, label), with trust if there is any: CSV, TSV, JSONL, Parquet; - is standard "
            "input.",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option("--scheme", "-s", metavar="NAME", help="L, P, LP, TC, LTC or LPTC, of which the last is usual."),
    ] = None,
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of prior trust, from 0 to 1 [trust]; approved/judged for counts, rate/100 for percent.",
        ),
    ] = None,
    trust_table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="A table of (judge, trust), where judgments have no column.")
    ] = None,
    agreement: Annotated[
        str | None,
        typer.Option(metavar="HOW", help="Agreement with the majority as a count, as printed [count], or as a rate."),
    ] = None,
    positive: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The labels that count as +1, against all others; of two labels the last."),
    ] = None,
    fit: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Weigh by what a saved fit is sure of instead, without JUDGMENTS."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of --fit: margin, |2p - 1|, which is usual, or entropy, 1 - H(p)."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Leave the weights as printed, not scaled to a mean of 1.")
    ] = False,
    judges: Annotated[
        bool, typer.Option("--judges", help="The judges and their factors, too; with --format or --out, these alone.")
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the table here: .csv, .jsonl or .parquet."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="FORMAT", help="Print the table for machines: csv, jsonl or parquet.")
    ] = None,
    reading: o.Reading = o.USUAL,
    seed: o.Seed = 0,
    rows: o.Rows = 10,
) -> None:
    """Weigh every item by how far its judges can be believed, for learning from the labels of a crowd.

    The weight of an item is |sum of j W| over its judgments j of +1 or -1: W is the product of the judge's prior
    trust (P), activity (T) and agreement with the majority (C), as far as the scheme's name has their letters;
    without an L, signs do not count. With --fit it is how sure a model is of the truth. Give the column weight to
    any learner as sample_weight, with label as what to learn.

    \b
    $ adjudge simulate rerank --size topics=10 --size items=200 --size judges=15 --out crowd/
    $ adjudge weights crowd/labels.csv --judges --rows 3
    $ adjudge weights crowd/labels.csv --scheme LTC --agreement rate --out weights.csv
    $ adjudge fit crowd/labels.csv --out fit/
    $ adjudge weights --fit fit/ --kind margin --format csv
    """
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted

    given = {"scheme": scheme, "trust": trust, "trust_table": trust_table, "agreement": agreement, "positive": positive}
    _refuse_mixed(judgments, fit, kind, [name for name, value in given.items() if value is not None], reading)
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(None, format, (judgments, trust_table))
    kept = None if out is None else _suffix(out, (judgments, trust_table))
    if fit is not None:
        found = _of_fit(fit, kind or "margin", not raw)
    else:
        found = _of_judgments(judgments or "", given, reading, not raw, seed)
    _deliver(found, judges, out, kept, format, rows)


def _refuse_mixed(
    judgments: str | None, fit: str | None, kind: str | None, given: list[str], reading: o.Reading
) -> None:
    """Refuse options of the one way to weigh beside those of the other."""
    from adjudge.errors import UsageError

    if (judgments is None) == (fit is None):
        raise UsageError("give a table of judgments, or the folder of a fit with --fit: one of the two")
    if fit is None and kind is not None:
        raise UsageError(f"--kind {kind} is for a fit: give its folder with --fit")
    asked = given + [name for name, value in vars(reading).items() if value != vars(o.USUAL)[name]]
    if fit is not None and asked:
        raise UsageError(f"--{asked[0].replace('_', '-')} is for a table of judgments, and --fit needs none")
    if "trust" in given and "trust_table" in given:
        raise UsageError("--trust names a column of the judgments, --trust-table has its own: give one of the two")


def _of_judgments(path: str, given: dict[str, str | None], reading: o.Reading, mean_one: bool, seed: int) -> Weights:
    """Return weights by a scheme."""
    from adjudge.learn.weights import weights as weigh

    named: dict[str, Any] = {**vars(reading), "labels": o.label_list(reading.labels)}
    table = given["trust_table"]
    return weigh(
        path,
        given["scheme"] or "LPTC",
        trust=given["trust"] if table is None else Path(table),
        agreement=given["agreement"] or "count",
        positive=o.label_list(given["positive"]),
        mean_one=mean_one,
        seed=seed,
        format=named.pop("input_format"),
        **named,
    )


def _of_fit(folder: str, kind: str, mean_one: bool) -> Weights:
    """Return weights by what a saved fit is sure of."""
    from adjudge.inference.save import load
    from adjudge.learn.posterior_weights import posterior_weights

    known = load(folder)
    if not known.converged:
        print(f"adjudge: warning: {folder} is a fit that has not converged: {known.stopped}", file=sys.stderr)
    return posterior_weights(known, kind, mean_one=mean_one)


def _suffix(out: str, inputs: tuple[str | None, ...]) -> str:
    """Return the format that a file's name asks for, refusing others, and a file that is read here."""
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted

    kept = Path(out).suffix.removeprefix(".").lower()
    if kept not in FORMATS:
        raise UsageError(f"--out {out} does not end in one of {quoted(f'.{name}' for name in FORMATS)}")
    if os.path.realpath(out) in [os.path.realpath(path) for path in inputs if path is not None]:
        raise UsageError(f"--out {out} would write over what is read here: name another file")
    return kept


def _deliver(found: Weights, judges: bool, out: str | None, kept: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write the weights to a file, print them for machines, or show them to people."""
    from adjudge.data.write import frame, table_text, write_file

    table = _judges(found) if judges else frame(found.item_columns())
    if out is not None and kept is not None:
        write_file(table_text(table, kept), out)
    if format is not None:
        sys.stdout.buffer.write(table_text(table, format))
        sys.stdout.buffer.flush()
        return
    _show(found, judges, rows)
    if out is not None:
        print(f"wrote {'the judges' if judges else 'the weights'} to {out}")


def _show(found: Weights, judges: bool, rows: int) -> None:
    """Print the items that weigh most and least, and the judges, those who weigh most first."""
    from adjudge.cli.show import console, table
    from adjudge.data.write import frame

    screen, items = console(), frame(found.item_columns()).sort("weight", descending=True, maintain_order=True)
    lines, some = items.rows(), ""
    if items.height > 2 * rows:
        lines = [*items.head(rows).rows(), ("...",) * items.width, *items.tail(rows).rows()]
        some = f"the first and last {rows} of "
    screen.print(table(f"Items by weight, {found.scheme}: {some}{items.height:,}", items.columns, lines))
    if judges:
        known, by = _judges(found), list(found.judge_columns)[-1]
        known = known.sort(by, descending=True, maintain_order=True)
        screen.print()
        title = f"Judges by {by} ({min(rows, known.height):,} of {known.height:,})"
        screen.print(table(title, known.columns, known.head(rows).rows()))
    none = int((found.weight == 0).sum())
    if none:
        print(f"{none:,} of {len(found):,} items weigh nothing: learners pass them over")


def _judges(found: Weights) -> Any:
    """Return the table of judges, without a column of which nothing is known."""
    from adjudge.data.write import frame

    known = frame(found.judge_columns)
    return known.select(column for column in known if not (column.dtype.is_float() and column.is_nan().all()))
