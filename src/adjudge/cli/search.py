"""``adjudge search``: passages and queries in, a run out."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.data.runs import System
    from adjudge.learn.search import Index


FORMATS = ("trec", "csv", "jsonl", "parquet")
EXAMPLE = {
    "passages.jsonl": '{"document": "d1", "text": "Mary had a little lamb"}\n'
    '{"document": "d2", "text": "Its fleece was white as snow"}\n'
    '{"document": "d3", "text": "The lamb was sure to follow Mary"}\n',
    "queries.tsv": "q1\tWho had a little lamb?\nq2\tWhat was white as snow?\n",
}


def _example(folder: str | None) -> None:
    """Write a few passages and queries, and stop."""
    if folder is not None:
        from adjudge.data.write import write_whole

        write_whole({name: text.encode() for name, text in EXAMPLE.items()}, folder)
        print(f"wrote {', '.join(EXAMPLE)} to {folder}")
        raise typer.Exit


def search(
    passages: Annotated[
        str,
        typer.Argument(
            metavar="PASSAGES",
            help="A table of (passage, text), CSV, TSV, JSONL or Parquet, or the folder of an index that was kept.",
        ),
    ],
    queries: Annotated[
        str, typer.Argument(metavar="QUERIES", help="A table of (query_id, text), or lines of name, tab, text.")
    ],
    depth: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="How many passages a query finds at most.")] = 20,
    k1: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="How soon more of the same word counts less [1.2].")
    ] = None,
    b: Annotated[
        float | None, typer.Option(metavar="SHARE", help="How far long passages count less, 0 to 1 [0.75].")
    ] = None,
    stem: Annotated[bool, typer.Option(help="Whether words count by their English stems.")] = True,
    stop: Annotated[bool, typer.Option(help="Whether words such as 'the' are left out.")] = True,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the run is called.")] = "bm25",
    out: Annotated[str | None, typer.Option("--out", "-o", metavar="FILE", help="Write the run here.")] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Keep the index here, to search it again at once.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option("--format", metavar="FORMAT", help="Print for machines: trec, csv, jsonl or parquet.")
    ] = None,
    rows: o.Rows = 10,
    example: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", callback=_example, is_eager=True, help="Write small files to try, and stop."),
    ] = None,
) -> None:
    """Search passages by BM25, and write a run.

    Scores are Lucene's, ties are ordered as trec_eval does, and passages without a word of the query are not
    returned. The run goes on to adjudge features and adjudge evaluate.

    \b
    $ adjudge search --example lambs/
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv --depth 20 --out lambs/bm25.run
    """
    from rich.console import Console

    from adjudge.errors import UsageError, quote, quoted
    from adjudge.learn.passages import read_queries

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    if format == "parquet" and sys.stdout.isatty():
        raise UsageError("--format parquet is not for a terminal: send it to a file or a pipe")
    if passages == queries == "-":
        raise UsageError("only one table can come from standard input")
    if not name or any(sign.isspace() for sign in name):
        raise UsageError(f"name {quote(name)} is empty or has blanks, which a run cannot hold")
    refuse_target(out, (passages, queries))
    refuse_folder("--keep", keep)
    asked = read_queries(queries)
    with Console(stderr=True).status("") as line:  # it is there on a screen only

        def indexing(done: int, of: int) -> None:
            line.update(f"indexing: {done:,} of {of:,} passages")

        def searching(done: int, of: int) -> None:
            line.update(f"searching: {done:,} of {of:,} queries")

        index = _index(passages, {"k1": k1, "b": b}, stem, stop, indexing)
        found = index.search(asked, depth, name=name, progress=searching)
    if keep is not None:
        index.save(keep)
    _deliver(found, len(asked), out, format, rows)


def _index(passages: str, chosen: dict[str, float | None], stem: bool, stop: bool, progress: object) -> Index:
    """Return the index of passages, or the one that was kept in a folder."""
    from adjudge.errors import UsageError
    from adjudge.learn.search import Index, load_index

    given = {name: value for name, value in chosen.items() if value is not None}
    if not os.path.isdir(passages):
        return Index(passages, **given, stem=stem, stop=stop, progress=progress)  # type: ignore[arg-type]
    if given or not (stem and stop):
        raise UsageError(f"{passages} is an index already: k1, b, stems and stop words are as they were when made")
    return load_index(passages)


def refuse_target(out: str | None, inputs: tuple[str, ...], option: str = "--out", made: str | None = None) -> None:
    """Refuse a file that is a folder, that is read here, or whose folder is not there nor the one that is made."""
    from adjudge.errors import UsageError

    if out is None:
        return
    if not out or os.path.isdir(out):
        raise UsageError(f"{option} {out or 'is empty'}: name a file")
    if any(os.path.realpath(out) == os.path.realpath(path) for path in inputs):
        raise UsageError(f"{option} {out} would write over what is read here: name another file")
    folder = os.path.dirname(os.path.realpath(out))
    if not os.path.isdir(folder) and (made is None or folder != os.path.realpath(made)):
        raise UsageError(f"{option} {out}: there is no such folder: make it first, or name another")


def refuse_folder(option: str, folder: str | None) -> None:
    """Refuse a folder that has no name, or that is a file."""
    from adjudge.errors import UsageError

    if folder is not None and (not folder or (os.path.exists(folder) and not os.path.isdir(folder))):
        raise UsageError(f"{option} {folder or 'is empty'}: name a folder")


def _deliver(found: System, queries: int, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a run, print it for machines, or show its first rows to people."""
    from adjudge.cli.show import console, table
    from adjudge.data.runs import run_text
    from adjudge.data.write import table_text, write_file

    if out is not None:
        write_file(run_text(found).encode(), out)
    if format is not None:
        sys.stdout.buffer.write(run_text(found).encode() if format == "trec" else table_text(found.table, format))
        sys.stdout.buffer.flush()
    else:
        height = found.table.height
        title = f"Found ({min(rows, height):,} of {height:,} rows)"
        console().print(table(title, found.table.columns, found.table.head(rows).rows()))
        if out is not None:
            print(f"wrote {height:,} rows of {len(found.ranked):,} queries to {out}")
    if len(found.ranked) < queries:
        missing = queries - len(found.ranked)
        finds, are = ("finds", "is") if missing == 1 else ("find", "are")
        said = f"{missing:,} of {queries:,} queries {finds} no passage and {are} not in the run"
        print(f"adjudge: warning: {said}", file=sys.stderr)
