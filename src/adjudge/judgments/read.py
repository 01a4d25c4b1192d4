"""Files to judgments: CSV, TSV, JSON lines, Parquet and TREC files, compressed or not, or standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.errors import AdjudgeWarning, InputError, UsageError, quoted
from adjudge.judgments import source as sources
from adjudge.judgments import trec
from adjudge.judgments.encode import encode
from adjudge.judgments.scale import Label
from adjudge.judgments.source import Source
from adjudge.judgments.table import Judgments

UNPACK: Mapping[bytes, Callable[[bytes], bytes]] = {  # the first bytes of a compressed file
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ": lzma.decompress,
}
ZSTD = b"\x28\xb5\x2f\xfd"
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
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
    if isinstance(data, Judgments):
        return data
    named = {"item": item, "judge": judge, "label": label, "topic": topic, "weight": weight, "time": time}
    judgments = encode(open_source(data, format), named, labels, ordinal)
    judgments, gone = judgments.without_repeats(repeats)
    if gone:
        warnings.warn(f"repeats: {repeats} left out {gone:,} judgments", AdjudgeWarning, stacklevel=2)
    return judgments


def open_source(data: Any, format: str | None = None) -> Source:  # noqa: A002
    """Return the columns of a file, of standard input, or of a frame."""
    if not isinstance(data, str | Path):
        return sources.from_frame(data)
    name = sources.display_name(data)
    if str(data) != "-" and not Path(data).is_file():
        what = "is a folder, not a file" if Path(data).is_dir() else "there is no such file"
        raise InputError(what, name)
    kind = format or _kind_by_name(data)
    if kind == "parquet" and str(data) != "-":
        return _parquet(Path(data), name)
    content = sources.bytes_of(data)
    if not content or content.isspace():
        raise InputError("the file is empty", name)
    unpacked = _unpacked(content, name)
    return READERS[_known(kind or _kind_by_content(unpacked))](unpacked, name)


def _known(kind: str) -> str:
    """Return a format's name, refusing one nobody knows."""
    if kind not in READERS:
        raise UsageError(f"format {kind!r} is not one of {quoted(READERS, most=99)}")
    return kind


def _kind_by_name(path: str | Path) -> str | None:
    """Return the format that a file's name tells, if any."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    plain = [suffix for suffix in suffixes if suffix not in PACKED]
    return SUFFIXES.get(plain[-1]) if plain else None


def _kind_by_content(content: bytes) -> str:
    """Return the format that the first bytes tell."""
    if content.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if content.lstrip()[:1] == b"{" else "csv"


def _unpacked(content: bytes, name: str) -> bytes:
    """Return the content without its compression, told by the first bytes."""
    if content.startswith(ZSTD):
        return _unzstd(content, name)
    for start, unpack in UNPACK.items():
        if content.startswith(start):
            try:
                return unpack(content)
            except (OSError, EOFError, lzma.LZMAError) as error:
                raise InputError(f"the compressed file is damaged or cut off ({error})", name) from error
    return content


def _unzstd(content: bytes, name: str) -> bytes:
    """Unpack Zstandard through polars, which reads it for lines of text."""
    try:
        lines = pl.read_csv(content, has_header=False, separator="\x01", quote_char=None, infer_schema=False, new_columns=["line"])
    except pl.exceptions.PolarsError as error:
        raise InputError("the compressed file is damaged or cut off", name) from error
    return "\n".join(line or "" for line in lines.get_column("line")).encode()


def _parquet(path: Path | io.BytesIO, name: str) -> Source:
    """Open a Parquet file; columns are read one at a time, when asked for."""
    try:
        columns = tuple(pl.read_parquet_schema(path))

        def column(wanted: str) -> pl.Series:
            return pl.read_parquet(path, columns=[wanted]).get_column(wanted)

        if not pl.scan_parquet(path).select(pl.len()).collect().item():
            raise InputError("the file holds no rows", name)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError("is not a complete Parquet file (cut off while it was written or copied?)", name) from error
    return Source(name, columns, column)


def _separated(content: bytes, name: str, separator: str | None = None) -> Source:
    """Read lines of separated values; every value stays the text it is."""
    header = content.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    separator = separator or max(",\t;|", key=lambda mark: header.count(mark.encode()))
    try:
        frame = pl.read_csv(content, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise _broken_line(content, name, separator) or InputError(f"is not readable as separated values ({error})", name) from error
    repeated = [column for column in frame.columns if "_duplicated_" in column]
    if repeated:
        raise InputError(f"two columns are called '{repeated[0].split('_duplicated_')[0]}'", name, 1)
    if not frame.height:
        raise InputError("the file holds a header and no rows", name)
    return sources.of_lines(name, frame.rename(str.strip), 2)


def _broken_line(content: bytes, name: str, separator: str) -> InputError | None:
    """Return the error about the first line that is not UTF-8 or has too many values, with its row."""
    bad_bytes = not_utf8(content, name)
    if bad_bytes is not None:
        return bad_bytes
    width = None
    for row, line in enumerate(content.decode().splitlines(), 1):
        if line.count('"') % 2:
            return InputError("a quotation mark is opened and not closed", name, row)
        values = line.count(separator) + 1
        if '"' not in line and width is not None and values > width:
            return InputError(f"{values} values where the header names {width} columns", name, row)
        width = values if width is None else width
    return None


def not_utf8(content: bytes, name: str) -> InputError | None:
    """Return the error about the first byte that is not UTF-8, if there is one."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        row = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        return InputError(f"byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8", name, row)
    return None


def _json_lines(content: bytes, name: str) -> Source:
    """Read one JSON object a line."""
    try:
        frame = pl.read_ndjson(content, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise _broken_json(content, name) or InputError(f"is not readable as JSON lines ({error})", name) from error
    return Source(name, tuple(frame.columns), frame.get_column, 1)


def _broken_json(content: bytes, name: str) -> InputError | None:
    """Return the error about the first line that is not a JSON object."""
    import json

    bad_bytes = not_utf8(content, name)
    if bad_bytes is not None:
        return bad_bytes
    for row, line in enumerate(content.decode().splitlines(), 1):
        try:
            value = json.loads(line) if line.strip() else {}
        except ValueError as error:
            return InputError(f"is not JSON: {error}", name, row)
        if not isinstance(value, dict):
            return InputError("is JSON but not an object with named values", name, row)
    return None


READERS: Mapping[str, Callable[[bytes, str], Source]] = {
    "csv": _separated,
    "tsv": lambda content, name: _separated(content, name, "\t"),
    "jsonl": _json_lines,
    "parquet": lambda content, name: _parquet(io.BytesIO(content), name),
    "qrels": trec.qrels_source,
    "trec-task1": trec.task1_source,
    "trec-task2": trec.task2_source,
}
