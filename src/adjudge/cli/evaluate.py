"""``adjudge evaluate``: search systems under labels that are not certain, and which documents would settle it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.evaluation.evaluate import Evaluation, Parts, Span


MEASURES = "MAP,nDCG@10,P@10"  # as adjudge.metrics.ranking has it; a test holds them together
VARIANCE = "variance: labels, topics"
TABLES = ("systems", "pairs", "documents")


def _example(folder: str | None) -> None:
    """Write judgments, two runs and the truth, and stop."""
    if folder is not None:
        from adjudge.data.runs import example
        from adjudge.data.write import write_whole

        files = example()
        write_whole({name: text.encode() for name, text in files.items()}, folder)
        print(f"wrote {', '.join(files)} to {folder}")
        raise typer.Exit


def evaluate(
    fit: Annotated[str, typer.Option("--fit", metavar="FOLDER", help="A saved fit of judgments with topics.")],
    more: Annotated[
        list[str] | None, typer.Argument(metavar="RUN", help="Runs: topic Q0 document rank score tag.")
    ] = None,
    runs: Annotated[
        list[str] | None, typer.Option("--runs", metavar="RUN...", help="Runs, here or without --runs.")
    ] = None,
    measures: Annotated[
        str, typer.Option(metavar="A,B,C", help="MAP, MRR, nDCG, nDCG@k, P@k, R@k for any k.")
    ] = MEASURES,
    draws: Annotated[int, typer.Option(min=20, metavar="NUMBER", help="Draws of the labels.")] = 1_000,
    seed: o.Seed = 0,
    budget: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="How many documents to name that would decide.")
    ] = 10,
    pair: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The runs to decide between; by default the two best by the first measure."),
    ] = None,
    unjudged: Annotated[
        str,
        typer.Option(metavar="HOW", help="Documents nobody judged: zero (grade 0), or prevalence (their topic's)."),
    ] = "zero",
    level: Annotated[float, typer.Option(metavar="GRADE", help="The grade from which a document is relevant.")] = 1.0,
    complete: Annotated[
        bool, typer.Option("--complete", help="Take all topics of the fit, not only those that a run has.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FOLDER", help="Write systems.csv, pairs.csv, documents.csv.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", metavar="FORMAT", help="Print for machines: csv, jsonl or parquet.")
    ] = None,
    table: Annotated[
        str, typer.Option(metavar="NAME", help="What --format prints: systems, pairs or documents.")
    ] = "systems",
    example: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", callback=_example, is_eager=True, help="Write small files to try, and stop."),
    ] = None,
) -> None:
    """Compare search systems where labels are uncertain, and name the documents whose labels would decide.

    Labels are drawn from the posterior of a fit: together where it kept its truths (adjudge fit --keep-truths), else
    item by item. Intervals hold 90 % of the draws: of the labels on these topics, of the topics with labels as expected
    (bootstrap, widened where topics are few), and of both added.

    \b
    $ adjudge evaluate --example search/
    $ adjudge fit search/labels.csv --out search/fit
    $ adjudge evaluate --runs search/bm25.run search/dense.run --fit search/fit
    """
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted
    from adjudge.evaluation.evaluate import evaluate as run

    given = [*(runs or ()), *(more or ())]
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    if table not in TABLES:
        raise UsageError(f"table {table!r} is not one of {quoted(TABLES)}")
    refuse_late_surprises(None, format, given)
    if out is not None and not os.path.isdir(out) and os.path.exists(out):
        raise UsageError(f"--out {out} is a file: name a folder")
    found = run(
        given,
        fit,
        measures,
        draws=draws,
        seed=seed,
        budget=budget,
        unjudged=unjudged,
        level=level,
        complete=complete,
        pair=_pair(pair),
    )
    _deliver(found, out, format, table)


def _pair(text: str | None) -> tuple[str, str] | None:
    """Return --pair as two names."""
    from adjudge.errors import UsageError

    names = o.label_list(text)
    if names is None:
        return None
    if len(names) != 2:
        raise UsageError(f"--pair {text} is not two runs: name them as A,B")
    return names[0], names[1]


def _deliver(found: Evaluation, out: str | None, format: str | None, table: str) -> None:  # noqa: A002
    """Write what was found to a folder, print a table for machines, or show all to people."""
    from adjudge.data.write import table_text, write_whole

    frames = {
        name: _frame(rows, columns)
        for name, rows, columns in zip(
            TABLES,
            (found.score_rows(), found.pair_rows(), found.deciding_rows()),
            found.columns(),
            strict=True,
        )
    }
    if out is not None:
        write_whole({f"{name}.csv": table_text(frame, "csv") for name, frame in frames.items()}, out)
    if format is None:
        _show(found)
        if out is not None:
            print(f"wrote {', '.join(f'{name}.csv' for name in frames)} to {out}")
        return
    sys.stdout.buffer.write(table_text(frames[table], format))
    sys.stdout.buffer.flush()
    for note in found.notes:
        print(f"adjudge: warning: {note}", file=sys.stderr)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Any:
    """Return rows as a frame, which has its columns without any row."""
    from adjudge.data.write import frame

    return frame({name: [row[name] for row in rows] for name in columns})


def _show(found: Evaluation) -> None:
    """Print the systems, the pairs, and the documents that would decide."""
    from adjudge.cli.show import console, table

    screen = console()
    title = f"Systems on {len(found.topics):,} topics, {found.draws:,} draws of the labels; 90 % intervals"
    head = ("run", "measure", "value", "labels", "topics", "both", VARIANCE)
    rows = [
        (one.run, one.measure, one.value, _span(one.labels), _span(one.topics), _span(one.both), _parts(one.parts))
        for one in found.scores
    ]
    screen.print(table(title, head, rows))
    if found.pairs:
        columns = ("measure", "first", "second", "difference", "both", "better", "by labels", VARIANCE)
        pairs = [
            (
                *(one.measure, one.first, one.second, one.difference, _span(one.span)),
                *(_chance(one.better, one.tied), _chance(one.better_labels, one.tied_labels), _parts(one.parts)),
            )
            for one in found.pairs
        ]
        screen.print()
        screen.print(table("Chance that the first is better (and that both are the same)", columns, pairs))
    if found.asked is not None:
        screen.print()
        _show_deciding(found, *found.asked)
    for note in found.notes:
        print(f"note: {note}")


def _show_deciding(found: Evaluation, measure: str, first: str, second: str) -> None:
    """Print the documents that would decide, or that there is none."""
    from adjudge.cli.show import console, table

    if not found.deciding:
        print(f"no label is left to be asked that could decide between {first} and {second} by {measure}")
        return
    head = ("topic", "document", "judged", "relevant", f"rank in {first}", f"rank in {second}", "effect", "moves")
    rows = [
        (
            *(one.topic, one.document, "yes" if one.judged else "no", one.chance),
            *(one.first_rank, one.second_rank, f"{one.effect:+.2g}", f"{one.moves:.2g}"),
        )
        for one in found.deciding
    ]
    title = f"Labels that would move P({first} is better than {second}) by {measure} most"
    console().print(table(title, head, rows))


def _span(span: Span | None) -> str | None:
    """Return an interval such as .706 to .744."""
    return None if span is None else " to ".join(f"{end:.3f}".replace("0.", ".", 1) for end in span)


def _parts(parts: Parts) -> str:
    """Return the parts of a variance in percent."""
    shares = parts.shares
    return "nothing varies" if shares is None else ", ".join(f"{share:.0%}" for share in shares)


def _chance(better: float, tied: float) -> str:
    """Return a chance, and that of a tie where there is one."""
    return f"{better:.3f} ({tied:.3f})" if tied else f"{better:.3f}"
