"""Files to judgments: CSV, TSV, JSON lines, Parquet and TREC files, compressed or not, or standard input."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.data import source as sources
from adjudge.data import trec
from adjudge.data.encode import encode
from adjudge.data.judgments import Judgments
from adjudge.data.scale import Label
from adjudge.data.source import Place, Source
from adjudge.errors import AdjudgeWarning, InputError, UsageError, quote, quoted

PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
BOM = b"\xef\xbb\xbf"
STRAY_QUOTE = "a quotation mark stands inside a value"
QUOTE_HINT = "values are quoted whole, and quotation marks in them are doubled"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".qrels": "qrels",
    ".qrel": "qrels",
}
PACKED = {".gz", ".bz2", ".xz", ".zst"}


def read(
    data: Any,
    *,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    topic: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    labels: Sequence[Label] | None = None,
    ordinal: bool = False,
    repeats: str = "keep",
    format: str | None = None,  # noqa: A002
) -> Judgments:
    """Read judgments from a path (``-`` is standard input) or from a pandas, polars or pyarrow frame.

    ``item`` to ``time`` name columns whose names are not usual. ``labels`` fixes the scale, in order;
    ``ordinal`` says that the order means something. A judge's repeats on an item are judgments like any
    other; ``repeats="merge"`` drops those that say the same again, ``"drop"`` all but the first.
    """
    named = {"item": item, "judge": judge, "label": label, "topic": topic, "weight": weight, "time": time}
    if isinstance(data, Judgments):
        _refuse_options(ordinal, labels, format, *named.values())
        judgments = data
    else:
        judgments = encode(open_source(data, format), named, labels, ordinal)
    kept, gone = judgments.without_repeats(repeats)
    if gone:
        warnings.warn(f"repeats: {repeats} left out {gone:,} judgments", AdjudgeWarning, stacklevel=2)
    return kept


def open_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Return the columns of a file, of standard input, or of a frame."""
    if not isinstance(data, str | os.PathLike):
        return sources.from_frame(data)
    name = sources.display_name(data)
    if format in (None, "parquet") and os.path.isfile(data) and sources.bytes_of(data, len(PARQUET)) == PARQUET:
        return _parquet(Path(data), name)
    content = content_of(data)
    kind = format or _kind(data, content)
    if kind not in READERS:
        raise UsageError(f"format {kind!r} is not one of {quoted(READERS, most=99)}")
    return READERS[kind](content, name)


def content_of(path: Place) -> bytes:
    """Return what a file or standard input holds, unpacked and without a byte order mark; an empty one is refused."""
    name = sources.display_name(path)
    content = _unpacked(sources.bytes_of(path), name).removeprefix(BOM)
    if not content or content.isspace():
        raise InputError("the file is empty", name)
    return content


def _refuse_options(*given: object) -> None:
    """Refuse options that come too late, for judgments that are read already."""
    if any(option is not None and option is not False for option in given):
        raise UsageError("these judgments are read already: give columns, labels and format where they are read")


def _kind(path: Place, content: bytes) -> str:
    """Return the format that the content or else the file's name tells."""
    if content.startswith(PARQUET):
        return "parquet"
    suffixes = [suffix for suffix in Path(path).suffixes if suffix.lower() not in PACKED]
    named = SUFFIXES.get(suffixes[-1].lower()) if suffixes else None
    return named or ("jsonl" if content.lstrip()[:1] == b"{" else "csv")


def _unpacked(content: bytes, name: str) -> bytes:
    """Return the content without its compression, told by the first bytes."""
    if content.startswith(ZIP):
        raise InputError("is a zip archive or an Excel workbook: unpack it, or save the sheet as CSV", name)
    for start, unpack in UNPACK.items():
        if content.startswith(start):
            try:
                return _unpacked(unpack(content), name)
            except pl.exceptions.PolarsError as error:
                raise InputError("holds something other than text: unpack it first (zstd -d)", name) from error
            except DAMAGES as error:
                raise InputError("the compressed file is damaged or cut off", name) from error
    return content


def _unzstd(content: bytes) -> bytes:
    """Unpack text from Zstandard through polars, which does so for tables: here one of one row and one column."""
    try:
        table = pl.read_csv(
            content, has_header=False, infer_schema=False, separator="\x1f", eol_char="\x1e", quote_char=None
        )
    except pl.exceptions.NoDataError:
        return b""
    return str(table.item()).encode()


def _parquet(content: Path | bytes, name: str) -> Source:
    """Open a Parquet file; columns are read one at a time, when asked for."""
    if isinstance(content, bytes) and not content.startswith(PARQUET):
        raise InputError("is not a Parquet file", name)
    table = pl.scan_parquet(content, glob=False)

    def column(wanted: str) -> pl.Series:
        with whole(name):
            return table.select(wanted).collect().get_column(wanted)

    with whole(name):
        return Source(name, tuple(table.collect_schema()), column)


@contextmanager
def whole(name: str) -> Iterator[None]:
    """Say it in one sentence when a Parquet file is not whole; polars panics at some of them."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError("the Parquet file is damaged, or cut off while it was written or copied", name) from error


def _separated(content: bytes, name: str, separator: str | None = None) -> Source:
    """Read lines of separated values; every value stays the text it is."""
    content = content if b"\n" in content else content.replace(b"\r", b"\n")
    text = content.lstrip(b"\r\n")
    first_line = io.BytesIO(text).readline()
    separator = separator or max(",\t;|", key=lambda mark: first_line.count(mark.encode()))
    try:
        header = next(csv.reader(io.TextIOWrapper(io.BytesIO(text), "utf8", newline=""), delimiter=separator))
        frame = pl.read_csv(text, separator=separator, infer_schema=False)
    except (UnicodeDecodeError, csv.Error, pl.exceptions.PolarsError) as error:
        raise _broken_line(content, name, separator) from error
    above = content.count(b"\n", 0, len(content) - len(text)) + sum(column.count("\n") for column in header)
    twice = [column for column, times in Counter(map(str.strip, header)).items() if column and times > 1]
    if twice:
        raise InputError(f"two columns are called {quote(twice[0])}: rename one", name, above + 1)
    if len(header) == frame.width:  # polars leaves doubled quotation marks in names as they are
        frame.columns = [column.strip() or old for column, old in zip(header, frame.columns, strict=True)]
    return sources.of_lines(name, frame, above + 2)


def _broken_line(content: bytes, name: str, separator: str) -> InputError:
    """Return the error about the first line that is not UTF-8, not well quoted, or too long, with its row."""
    lines = sources.text_of(content, name).split("\n")
    reader = csv.reader((line + "\n" for line in lines), delimiter=separator, strict=True)
    row, width = 1, 0
    try:
        for values in reader:
            width = width or len(values)
            if len(values) > width:
                what = f"{len(values)} values where the header names {width} columns"
                return InputError(f"{what}; a value that holds {quote(separator)} needs quotation marks", name, row)
            raw = "\n".join(lines[row - 1 : reader.line_num])
            if any('"' in value and value.replace('"', '""') not in raw for value in values):
                return InputError(f"{STRAY_QUOTE}: {QUOTE_HINT}", name, row)
            row = reader.line_num + 1
    except csv.Error as error:
        what = STRAY_QUOTE if "expected after" in str(error) else "a quotation mark is opened and not closed"
        return InputError(f"{what}: {QUOTE_HINT}", name, row)
    return InputError("is not readable as separated values", name)


def _json_lines(content: bytes, name: str) -> Source:
    """Read one JSON object a line."""
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken_json(content, name) or InputError("is not readable as JSON lines", name) from error

    def column(wanted: str) -> pl.Series:
        series = frame.get_column(wanted)
        if series.dtype == pl.String and series.str.contains(r"^[\[{]").any():  # polars writes a list as text
            wrong = _broken_json(content, name, wanted)
            if wrong is not None:
                raise wrong
        return series

    def row(position: int) -> int:
        return [number for number, line in enumerate(content.split(b"\n"), 1) if line.strip()][position]

    return Source(name, tuple(frame.columns), column, row)


def _broken_json(content: bytes, name: str, only: str | None = None) -> InputError | None:
    """Return the error about the first line that is not a JSON object like those before, with its row."""
    nested: dict[str, bool] = {}
    for row, line in enumerate(sources.text_of(content, name).split("\n"), 1):
        try:
            values = json.loads(line, parse_constant=_no_json) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            return InputError(f"is not JSON ({getattr(error, 'msg', error)}); give one object a line", name, row)
        if not isinstance(values, dict):
            return InputError("is JSON but not an object with named values; give one object a line", name, row)
        for key, value in values.items():
            kind = isinstance(value, list | dict)
            if only in (None, key) and value is not None and nested.setdefault(key, kind) != kind:
                return InputError(f"{quote(key)} holds a list or record in some rows and not in others", name, row)
    return None


def _no_json(constant: str) -> None:
    """Refuse NaN and Infinity, which Python would read."""
    raise ValueError(f"{constant} is not a JSON value")


UNPACK: Mapping[bytes, Callable[[bytes], bytes]] = {  # by the first bytes of a compressed file
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
    b"\x28\xb5\x2f\xfd": _unzstd,
}
DAMAGES = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)

READERS: Mapping[str, Callable[[bytes, str], Source]] = {
    "csv": _separated,
    "tsv": lambda content, name: _separated(content, name, "\t"),
    "jsonl": _json_lines,
    "parquet": _parquet,
    "qrels": trec.qrels_source,
    "trec-task1": trec.task1_source,
    "trec-task2": trec.task2_source,
    "trec-task2-run": trec.task2_run_source,
}
