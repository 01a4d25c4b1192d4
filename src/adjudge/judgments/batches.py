"""The rows of files, a batch at a time: Parquet and separated values of any size, other formats file by file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from adjudge.errors import InputError
from adjudge.judgments.read import BOM, PARQUET, SUFFIXES, open_source, whole
from adjudge.judgments.source import Place, Source, bytes_of, display_name, of_lines

SEPARATED = {".csv": None, ".tsv": "\t", ".tab": "\t"}  # by what values are separated, None where the header tells
SAMPLE = 1 << 16  # bytes from which the length of a line is estimated
MARKS = ",\t;|"


def batches(files: Sequence[Place], rows: int, format: str | None = None) -> Iterator[tuple[Source, int]]:  # noqa: A002
    """Yield the rows of files in their order, as sources of about ``rows`` rows, and how many each has."""
    for file in files:
        if _is_parquet(file, format):
            yield from _parquet_batches(file, rows)
        elif _is_separated(file, format):
            yield from _separated_batches(file, rows)
        else:
            source = open_source(file, format)
            yield source, len(source.column(source.columns[0]))


def sizes(files: Sequence[Place], format: str | None = None) -> int:  # noqa: A002
    """Return about how many rows files have: of Parquet as it says itself, of others by the length of their lines."""
    return sum(_size(file, format) for file in files)


def _size(file: Place, format: str | None) -> int:  # noqa: A002
    """Return about how many rows a file has."""
    if _is_parquet(file, format):
        with whole(str(file)):
            return int(pl.scan_parquet(Path(file), glob=False).select(pl.len()).collect().item())
    sample = bytes_of(file, SAMPLE)
    lines = max(1, sample.count(b"\n"))
    return max(1, round(os.path.getsize(file) / max(1, len(sample)) * lines)) if str(file) != "-" else lines


def _is_parquet(file: Place, format: str | None) -> bool:  # noqa: A002
    """Whether a file says that it is Parquet."""
    return format in (None, "parquet") and str(file) != "-" and bytes_of(file, len(PARQUET)) == PARQUET


def _is_separated(file: Place, format: str | None) -> bool:  # noqa: A002
    """Whether a file can be read line by line: plain UTF-8, and separated values by its name."""
    suffix = Path(file).suffix.lower()
    return suffix in SEPARATED and format in (None, SUFFIXES[suffix]) and not bytes_of(file, 3).startswith(BOM)


def _parquet_batches(file: Place, rows: int) -> Iterator[tuple[Source, int]]:
    """Yield the rows of a Parquet file; they count from 0."""
    name, done = display_name(file), 0
    with whole(name):
        for batch in pl.scan_parquet(Path(file), glob=False).collect_batches(chunk_size=rows, maintain_order=True):
            if batch.height:
                yield _at(Source(name, tuple(batch.columns), batch.get_column), done), batch.height
            done += batch.height
    if not done:
        raise InputError("holds no rows", name)


def _separated_batches(file: Place, rows: int) -> Iterator[tuple[Source, int]]:
    """Yield the rows of separated values, each as the text it is; what is broken is told as of a file read whole."""
    name = display_name(file)
    with open(file, "rb") as content:
        header = content.readline()
    separator = SEPARATED[Path(file).suffix.lower()] or max(MARKS, key=lambda mark: header.count(mark.encode()))
    columns = [column.strip() for column in header.decode(errors="replace").split(separator)]
    if not header.strip() or b'"' in header or b"\r" in header.rstrip(b"\r\n") or len({*columns}) < len(columns):
        source = open_source(file)  # a header that spans lines, is missing, or names a column twice is for whole files
        yield source, len(source.column(source.columns[0]))
        return
    line, found = 2, False
    try:
        lazy = pl.scan_csv(Path(file), separator=separator, infer_schema=False, glob=False)
        for batch in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            breaks = batch.select(pl.all().str.count_matches("\n", literal=True).sum()).row(0)
            batch.columns = [column.strip() or column for column in batch.columns]
            if batch.height and not batch.select(pl.all_horizontal(pl.all().is_null()).all()).item():
                found = True
                yield of_lines(name, batch, line), batch.height
            line += batch.height + int(sum(breaks))
    except pl.exceptions.PolarsError as error:
        open_source(file, None)
        raise InputError("is not readable as separated values", name) from error
    if not found:
        raise InputError("the file holds a header and no rows", name)


def _at(source: Source, first: int) -> Source:
    """Return a source whose rows count from ``first``."""
    return Source(source.name, source.columns, source.column, lambda position: first + position)
