"""``adjudge agreement``: how much judges agree with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adjudge.metrics.agreement import Agreement


TOPIC_MEASURES = ("raw_agreement", "alpha_nominal", "fleiss_kappa", "cohen_kappa")


@o.reads_judgments("time")
def agreement(
    judgments: o.Table,
    reading: o.Reading = o.READING,
    by_topic: Annotated[bool, typer.Option("--by-topic", help="Measure the agreement within each topic.")] = False,
    draws: Annotated[
        int, typer.Option(min=20, metavar="NUMBER", help="Number of bootstrap samples for the intervals.")
    ] = 1_000,
    seed: o.Seed = 0,
    pairs: Annotated[
        bool, o.output_option("--pairs", None, "With --format: print the pairs of judges, not the measures.")
    ] = False,
    format: o.TableFormat = None,  # noqa: A002
    rows: o.Rows = 10,
) -> None:
    """Measure how much judges agree with each other, without any known truth.

    Raw agreement is the share of pairs of judgments of an item that have the same label. Krippendorff's alpha, Fleiss'
    kappa and Cohen's kappa (the mean over pairs of judges) are 1 for perfect agreement and 0 for agreement by chance.
    --ordinal adds the alphas for ordered labels. Intervals are 90 % bootstrap intervals over items. Every judge has
    one vote per item; if they labelled an item more than once, their labels share the vote.

    \b
    $ adjudge datasets anesthesia --out labels.csv
    $ adjudge agreement labels.csv --ordinal
    $ adjudge agreement labels.csv --format csv
    $ adjudge agreement labels.csv --format jsonl --pairs --rows 100
    """
    from adjudge.cli.output import check_output, print_table
    from adjudge.errors import UsageError
    from adjudge.metrics import agreement as measures

    check_output(format, (judgments,))
    if pairs and (format is None or by_topic):
        raise UsageError("--pairs needs --format and cannot be combined with --by-topic; the tables show the pairs")
    table = reading.read(judgments)
    if by_topic:
        topics = measures.by_topic(table, draws=draws, seed=seed)
        _show_topics(topics, rows) if format is None else print_table(_topic_columns(topics), format)
        return
    result = measures.agreement(table, draws=draws, seed=seed, pairs=rows)
    if format is None:
        _show(result)
    else:
        print_table(result.pair_columns() if pairs else result.columns(), format)


def _show(result: Agreement) -> None:
    """Print the measures, the pairs of judges, and the summary."""
    from adjudge.cli.output import NOTES, console, table

    screen = console()
    alone = f"; {result.alone:,} items with fewer than two judges are left out" if result.alone else ""
    repeats = f"; {result.repeats:,} repeated judgments share their judge's vote" if result.repeats else ""
    title = f"Agreement of {result.judges:,} judges on {result.items:,} items{alone}{repeats}"
    screen.print(table(title, ("measure", "value", "low", "high", "note"), result.rows, NOTES))
    if result.pairs:
        head = ("judge", "and judge", "shared items", "agreement", "Cohen's kappa")
        screen.print()
        screen.print(table(f"Judges who share the most items ({len(result.pairs):,} pairs)", head, result.pairs))
    screen.print(f"\n{result.sentence}", markup=False)


def _show_topics(topics: Mapping[Any, Agreement], rows: int) -> None:
    """Print the first topics, one per row."""
    from adjudge.cli.output import console, table

    cells = [
        (str(name), result.items, result.judges, *(result.values[measure] for measure in TOPIC_MEASURES), _span(result))
        for name, result in list(topics.items())[:rows]
    ]
    title = f"Agreement by topic ({len(cells):,} of {len(topics):,} topics)"
    console().print(table(title, ("topic", "items", "judges", *TOPIC_MEASURES, "alpha, 90 %"), cells))


def _span(result: Agreement) -> str | None:
    """Return the interval of alpha as text."""
    low, high = next((row.low, row.high) for row in result.rows if row.measure == "alpha_nominal")
    return None if low is None or high is None else f"{low:.3f} to {high:.3f}"


def _topic_columns(topics: Mapping[Any, Agreement]) -> dict[str, list[Any]]:
    """Return the measures of all topics as named columns."""
    parts = [{"topic": [name] * len(result.rows), **result.columns()} for name, result in topics.items()]
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
