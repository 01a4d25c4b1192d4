"""``adjudge features``: a run in, numbers about its pairs out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o
from adjudge.cli.search import refuse_folder, refuse_target

if TYPE_CHECKING:
    from adjudge.learn.describe import Described


FORMATS = ("svm", "csv", "jsonl", "parquet")


def _listed(asked: bool) -> None:
    """Print all features and stop."""
    if asked:
        from adjudge.cli.show import console, table
        from adjudge.learn.features import FEATURES

        rows = [(one.name, one.group, one.summary) for one in FEATURES.values()]
        console().print(table("Features", ("name", "group", "what it is"), rows, longest=200))
        raise typer.Exit


def features(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run: topic Q0 document rank score tag.")],
    passages: Annotated[
        str, typer.Argument(metavar="PASSAGES", help="A table of (passage, text): CSV, TSV, JSONL or Parquet.")
    ],
    queries: Annotated[
        str, typer.Argument(metavar="QUERIES", help="A table of (query_id, text), or lines of name, tab, text.")
    ],
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Features, or groups of them; by default all."),
    ] = None,
    grades: Annotated[
        str | None,
        typer.Option(metavar="QRELS", help="Labels of the pairs: qrels, or a table of (topic, item, label)."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write here: .svm (SVM-light), .csv, .jsonl or .parquet."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", metavar="FORMAT", help="Print for machines: svm, csv, jsonl or parquet.")
    ] = None,
    cache: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Keep numbers here; only what changed is computed again."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Threads; by default as many as cores.")
    ] = None,
    rows: o.Rows = 10,
    every: Annotated[
        bool, typer.Option("--list", callback=_listed, is_eager=True, help="List all features, and stop.")
    ] = False,
) -> None:
    """Describe every pair of a query and a passage in a run by numbers, for a ranker to learn from.

    Overlap of words and stems, rare words, order, BM25, lengths, topics, and whether the passage has the kind
    of answer that is asked for. All passages tell how common words are.

    \b
    $ adjudge search --example lambs/
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv --out lambs/bm25.run
    $ adjudge features lambs/bm25.run lambs/passages.jsonl lambs/queries.tsv --out lambs/features.svm
    """
    from rich.console import Console

    from adjudge.errors import UsageError, quoted
    from adjudge.learn.describe import describe, format_of
    from adjudge.learn.features import features_named

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    if format == "parquet" and sys.stdout.isatty():
        raise UsageError("--format parquet is not for a terminal: send it to a file or a pipe")
    if [run, passages, queries, grades].count("-") > 1:
        raise UsageError("only one table can come from standard input")
    refuse_target(out, tuple(path for path in (run, passages, queries, grades) if path is not None))
    refuse_folder("--cache", cache)
    if out is not None:
        format_of(out)
    features_named(names)
    with Console(stderr=True).status("reading") as line:  # it is there on a screen only

        def computing(done: int, of: int, name: str) -> None:
            line.update(f"computing: {done:,} of {of:,} features, {name}")

        found = describe(run, passages, queries, names, grades=grades, workers=workers, cache=cache, progress=computing)
    _deliver(found, out, format, rows)


def _deliver(found: Described, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write features, print them for machines, or show people what they are like."""
    from adjudge.data.write import write_file
    from adjudge.learn.describe import format_of

    if out is not None:
        write_file(found.content(format_of(out)), out)
    if format is not None:
        sys.stdout.buffer.write(found.content(format))
        sys.stdout.buffer.flush()
        return
    _show(found, rows)
    if out is not None:
        print(f"wrote {len(found.topics):,} pairs with {len(found.features.names):,} features to {out}")


def _show(found: Described, rows: int) -> None:
    """Print the first pairs as far as the screen is wide."""
    from adjudge.cli.show import console, fitting, table

    shown, screen = found.frame.head(rows), console()
    columns, listed = shown.columns, [[_short(value) for value in row] for row in shown.rows()]
    kept = fitting(columns, listed, screen.width)
    more = f", {len(kept):,} of {len(columns):,} columns" if len(kept) < len(columns) else ""
    title = f"Pairs ({shown.height:,} of {len(found.topics):,}{more})"
    screen.print(table(title, [columns[c] for c in kept], [[row[c] for c in kept] for row in listed]))


def _short(value: object) -> object:
    """Return a number as people read it."""
    return round(value, 3) if isinstance(value, float) else value
