"""``adjudge features``: features of the queries and passages in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.learn.features import RunFeatures


FORMATS = ("svm", "csv", "jsonl", "parquet")


def _list_features(requested: bool) -> None:
    """Print all features and stop."""
    if requested:
        from adjudge.cli.output import console, table
        from adjudge.learn.features import FEATURES

        rows = [(feature.name, feature.group, feature.summary) for feature in FEATURES.values()]
        console().print(table("Features", ("name", "group", "what it is"), rows, longest=200))
        raise typer.Exit


def features(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run with lines: topic Q0 document rank score tag.")],
    passages: Annotated[
        str, typer.Argument(metavar="PASSAGES", help="Table of (passage, text): CSV, TSV, JSONL or Parquet.")
    ],
    queries: o.Queries,
    grades: o.Grades = None,
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Names of features or of groups of features; default: all but grammar."),
    ] = None,
    list_all: Annotated[
        bool, typer.Option("--list", callback=_list_features, is_eager=True, help="List all features, and exit.")
    ] = False,
    cache: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Keep computed features here; only what has changed is computed again."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Number of threads; default: one per core.")
    ] = None,
    out: Annotated[
        str | None, o.out_option("FILE", "Write to this .svm (SVM-light), .csv, .jsonl or .parquet file.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, o.output_option("--format", "FORMAT", "Print only the features, as svm, csv, jsonl or parquet.")
    ] = None,
    rows: o.Rows = 10,
) -> None:
    """Compute features of every query and passage in a run, for a ranker to learn from.

    They measure overlap of words and stems, rare words, word order, BM25, lengths, topics, and whether the passage has
    the kind of answer that the query asks for. How common a word is, is counted in all passages. Features of lemmas,
    parts of speech and names are the group "grammar", which needs pip install 'adjudge[grammar]'.

    \b
    $ adjudge search --example lambs/
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv --out lambs/bm25.run
    $ adjudge features lambs/bm25.run lambs/passages.jsonl lambs/queries.tsv --out lambs/features.svm
    """
    from rich.console import Console

    from adjudge.cli.output import check_file, check_folder, check_output
    from adjudge.learn.features import features as compute
    from adjudge.learn.features import features_named, format_of

    inputs = (run, passages, queries, grades)
    check_output(format, inputs, FORMATS)
    check_file(out, inputs)
    check_folder(cache, "--cache")
    if out is not None:
        format_of(out)
    features_named(names)
    with Console(stderr=True).status("reading") as status:  # visible in a terminal only

        def computing(done: int, total: int, name: str) -> None:
            status.update(f"computing: {done:,} of {total:,} features, {name}")

        result = compute(run, passages, queries, names, grades=grades, workers=workers, cache=cache, progress=computing)
    _deliver(result, out, format, rows)


def _deliver(result: RunFeatures, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write features, and print them for programs or show the first to people."""
    from adjudge.cli.output import print_bytes
    from adjudge.data.write import write_file
    from adjudge.learn.features import format_of

    if out is not None:
        write_file(result.content(format_of(out)), out)
    if format is not None:
        print_bytes(result.content(format))
        return
    _show(result, rows)
    if out is not None:
        print(f"wrote {len(result.topics):,} pairs with {len(result.features.names):,} features to {out}")


def _show(result: RunFeatures, rows: int) -> None:
    """Print the first pairs, with as many features as fit into the width."""
    from adjudge.cli.output import console, fitting, table

    head, screen = result.table.head(rows), console()
    columns = head.columns
    lines = [[round(value, 3) if isinstance(value, float) else value for value in row] for row in head.rows()]
    fitted = fitting(columns, lines, screen.width)
    more = f", {len(fitted):,} of {len(columns):,} columns" if len(fitted) < len(columns) else ""
    title = f"Pairs ({head.height:,} of {len(result.topics):,}{more})"
    screen.print(table(title, [columns[c] for c in fitted], [[row[c] for c in fitted] for row in lines]))
