"""``adjudge search``: search passages with BM25, and write a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

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


def _example(folder: str) -> None:
    """Write a few passages and queries."""
    from adjudge.cli.output import write_examples

    write_examples(EXAMPLE, folder)


@dataclass(frozen=True)
class SearchOptions:
    """How passages are searched."""

    depth: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Maximum number of passages per query.")] = 20
    k1: Annotated[float | None, typer.Option(metavar="NUMBER", help="BM25: saturation of term frequency [1.2].")] = None
    b: Annotated[
        float | None, typer.Option(metavar="SHARE", help="BM25: normalisation by passage length, 0 to 1 [0.75].")
    ] = None
    stem: Annotated[bool, typer.Option(help="Whether to reduce words to their English stems.")] = True
    stop: Annotated[bool, typer.Option(help="Whether to leave out stop words such as 'the'.")] = True

    def changed(self) -> dict[str, Any]:
        """Return the settings of the index that are not at their defaults."""
        return {name: value for name, value in vars(self).items() if name != "depth" and value != getattr(SEARCH, name)}


SEARCH = SearchOptions()


@o.takes("options", SearchOptions, section="Search")
def search(
    passages: Annotated[
        str,
        typer.Argument(
            metavar="PASSAGES",
            help="Table of (passage, text) as CSV, TSV, JSONL or Parquet, or the folder of an index saved with --keep.",
        ),
    ],
    queries: o.Queries,
    options: SearchOptions = SEARCH,
    name: Annotated[str, o.output_option("--name", "NAME", "Name of the run.")] = "bm25",
    out: Annotated[str | None, o.out_option("FILE", "Write the run to this file.")] = None,
    keep: Annotated[
        str | None, o.output_option("--keep", "FOLDER", "Save the index to this folder, to search it again faster.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, o.output_option("--format", "FORMAT", "Print only the run, as trec, csv, jsonl or parquet.")
    ] = None,
    rows: o.Rows = 10,
    example: Annotated[str | None, o.example_option("FOLDER", _example)] = None,
) -> None:
    """Search passages with BM25 and write a run.

    Scores are Lucene's, and ties are ordered as trec_eval orders them. Passages that share no word with a query are not
    returned. `adjudge features` and `adjudge evaluate` read the run.

    \b
    $ adjudge search --example lambs/
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv
    $ adjudge search lambs/passages.jsonl lambs/queries.tsv --depth 20 --out lambs/bm25.run
    """
    from adjudge.cli.output import check_file, check_folder, check_output
    from adjudge.errors import UsageError, quote
    from adjudge.learn.passages import read_queries

    check_output(format, (passages, queries), FORMATS)
    if not name or any(sign.isspace() for sign in name):
        raise UsageError(f"--name {quote(name)} is empty or has blanks, which a run file cannot hold")
    check_file(out, (passages, queries))
    check_folder(keep, "--keep")
    texts = read_queries(queries)
    index, run = _search(passages, texts, name, options)
    if keep is not None:
        index.save(keep)
    _deliver(run, len(texts), out, format, rows)


def _search(passages: str, texts: dict[str, str], name: str, options: SearchOptions) -> tuple[Index, System]:
    """Return the index of the passages and the run of all queries, with a progress line."""
    from rich.console import Console

    from adjudge.learn.search import open_index

    with Console(stderr=True).status("") as status:  # visible in a terminal only

        def indexing(done: int, total: int) -> None:
            status.update(f"indexing: {done:,} of {total:,} passages")

        def searching(done: int, total: int) -> None:
            status.update(f"searching: {done:,} of {total:,} queries")

        index = open_index(passages, progress=indexing, **options.changed())
        return index, index.search(texts, options.depth, name=name, progress=searching)


def _deliver(run: System, queries: int, out: str | None, format: str | None, rows: int) -> None:  # noqa: A002
    """Write a run, and print it for programs or show its first rows to people."""
    from adjudge.cli.output import console, first_rows, print_bytes, warn
    from adjudge.data.runs import run_text
    from adjudge.data.write import table_text, write_file

    if out is not None:
        write_file(run_text(run).encode(), out)
    if format is not None:
        print_bytes(run_text(run).encode() if format == "trec" else table_text(run.table, format))
    else:
        console().print(first_rows("Results", run.table, rows, " rows"))
        if out is not None:
            print(f"wrote {run.table.height:,} rows of {len(run.ranked):,} queries to {out}")
    missing = queries - len(run.ranked)
    if missing:
        finds, are = ("finds", "is") if missing == 1 else ("find", "are")
        warn(f"{missing:,} of {queries:,} queries {finds} no passage and {are} not in the run")
