"""Files as text: bytes are read, decompressed and decoded here, alike for every table and document.

Compression is recognised by the first bytes of the content, not by the name of the file: gzip, bzip2, xz and Zstandard.
The encoding is UTF-8 or what a byte order mark says (UTF-16 is also recognised without one). A file that is not UTF-8
is read as windows-1252, the encoding of older spreadsheets, with a warning that says so.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

import polars as pl

from adjudge.errors import AdjudgeWarning, InputError, Problems

FilePath: TypeAlias = str | os.PathLike[str]

PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
BINARIES = (  # formats of tables that are not text, and the first bytes of their files
    ("parquet", PARQUET),
    ("arrow", b"ARROW1"),
    ("arrow", b"\xff\xff\xff\xff"),  # a stream, as Hugging Face datasets are stored
    ("excel", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),  # before 2007
)
MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
FALLBACK = "windows-1252"
BINARY = "binary"
TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet")  # endings of tables in an archive
POTATO = ("user_state", "annotated_instances")  # files of annotations that Potato writes for every user
LARGEST = 2_000_000_000  # bytes of a file of a campaign; larger files are mistakes, or made to fill the memory
DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)  # errors that a damaged archive raises
DAMAGED = "the compressed file is damaged or cut off"


@dataclass(frozen=True)
class Content:
    """What a file contains: UTF-8 text without a byte order mark, or the bytes of a file that is not text."""

    name: str  # as messages call the file
    data: bytes
    encoding: str = "utf-8"  # of the file
    compression: str | None = None

    @property
    def text(self) -> str:
        """The content as text."""
        return self.data.decode()

    @property
    def is_parquet(self) -> bool:
        """Whether the content is a Parquet file."""
        return self.data.startswith(PARQUET)

    @property
    def binary_format(self) -> str | None:
        """The format of a table that is not text, None if the content is text."""
        return binary_format(self.data) if self.encoding == BINARY or self.is_parquet else None


def display_name(path: FilePath) -> str:
    """Return the name of a file in messages."""
    return "standard input" if str(path) == "-" else str(path)


def binary_format(data: bytes) -> str | None:
    """Return the format of a table that is not text from its bytes, None if it is another file.

    >>> binary_format(b"PAR1..."), binary_format(b"item,judge,label")
    ('parquet', None)
    """
    if data.startswith(ZIP) and b"xl/workbook" in data:
        return "excel"
    return next((name for name, start in BINARIES if data.startswith(start)), None)


def read_bytes(path: FilePath, limit: int = -1) -> bytes:
    """Return the bytes of a file or of standard input (``-``), at most ``limit`` of them unless it is -1."""
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError("is closed", "standard input")
        return sys.stdin.buffer.read(limit)
    with _readable(path), open(path, "rb") as file:
        return file.read(limit)


def archive_members(path: Any) -> list[Content] | None:
    """Return the tables in a zip archive or a folder, in the order of their names; None if it is another file.

    Hidden files and files that are no tables are left out. If Potato has written the folder, only the annotations of
    its users are read.
    """
    if not isinstance(path, str | os.PathLike) or str(path) == "-":
        return None
    if os.path.isdir(path):
        if os.path.isfile(os.path.join(path, "fit.json")):
            raise InputError("is the folder of a fit, not a table of judgments", str(path))
        folder = Path(path)
        paths = [file for file in sorted([*folder.glob("*"), *folder.glob("*/*")]) if file.is_file()]
        members = {str(file): partial(file.read_bytes) for file in paths}
    elif os.path.isfile(path) and read_bytes(path, len(ZIP)) == ZIP and binary_format(read_bytes(path)) is None:
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise InputError(DAMAGED, str(path)) from error
        infos = sorted((info for info in archive.infolist() if not info.is_dir()), key=lambda info: info.filename)
        if sum(info.file_size for info in infos) > LARGEST:
            raise InputError(f"has more than {LARGEST:,} bytes: unpack it", str(path))
        members = {f"{path}/{info.filename}": partial(archive.read, info) for info in infos}
    else:
        return None
    names = [name for name in members if Path(name).suffix.lower() in TABLES]
    names = [name for name in names if not any(part.startswith((".", "__MACOSX")) for part in Path(name).parts[-3:])]
    names = [name for name in names if Path(name).stem in POTATO] or names
    if not names:
        endings = ", ".join(TABLES)
        kind = "a folder" if os.path.isdir(path) else "an archive"
        raise InputError(f"is {kind} without tables: expected files whose names end in {endings}", str(path))
    try:
        return [decode_content(members[name](), name) for name in names]
    except DAMAGE as error:
        raise InputError(DAMAGED, str(path)) from error


def read_content(path: FilePath, name: str | None = None, *, limit: int | None = None, empty: bool = False) -> Content:
    """Return the content of a file or of standard input, decompressed and decoded.

    Parameters
    ----------
    path
        The file; ``-`` is standard input.
    name
        What messages call the file, if not by its path.
    limit
        The most bytes that the file may have after decompression; a larger one is refused.
    empty
        Whether the file may be empty.

    Returns
    -------
    Content
        UTF-8 text, or the bytes of a table that is not text, with the encoding and the compression that the file had.
    """
    name = name or display_name(path)
    try:
        data = read_bytes(path, -1 if limit is None else limit + 1)
    except InputError as error:
        raise InputError(error.problem, name) from error
    return decode_content(data, name, limit=limit, empty=empty)


def decode_content(data: bytes, name: str, *, limit: int | None = None, empty: bool = False) -> Content:
    """Return bytes, decompressed and decoded; see ``read_content``."""
    plain, compression = decompress(data, name, limit)
    # a file of limited size may come from anybody, and a workbook is an archive of any size
    is_binary = plain.startswith(PARQUET) or (limit is None and binary_format(plain) is not None)
    text, encoding = (plain, BINARY) if is_binary else to_utf8(plain, name)
    if not empty and (not text or text.isspace()):
        raise InputError("the file is empty", name)
    return Content(name, text, encoding, compression)


def binary_content(path: FilePath) -> Content:
    """Return the content of a file or of standard input, decompressed and not decoded; an empty file is refused."""
    name = display_name(path)
    data, compression = decompress(read_bytes(path), name)
    if not data:
        raise InputError("the file is empty", name)
    return Content(name, data, BINARY, compression)


def checked_content(path: FilePath, problems: Problems, name: str | None = None) -> Content | None:
    """Return the content of a file, which may be empty; None if it cannot be read, with the problem added."""
    with problems.catch():
        return read_content(path, name, limit=LARGEST, empty=True)
    return None


def checked_bytes(path: FilePath, problems: Problems, limit: int = LARGEST) -> bytes | None:
    """Return the bytes of a file, decompressed; None if it cannot be read, with the problem added."""
    with problems.catch():
        return decompress(read_bytes(path, limit + 1), str(path), limit)[0]
    return None


def decompress(data: bytes, name: str, limit: int | None = None) -> tuple[bytes, str | None]:
    """Return bytes without their compression, and its name if there is one; see ``read_content`` for ``limit``.

    >>> decompress(gzip.compress(b"item,judge"), "labels.csv")
    (b'item,judge', 'gzip')
    """
    if data.startswith(ZIP):
        if limit is None and binary_format(data) == "excel":
            return data, None
        raise InputError("is a zip archive or an Excel workbook: unpack it, or save the sheet as CSV", name)
    compression = compression_of(data)
    plain = data
    if compression is not None:
        try:
            if limit is None or compression.open is None:
                plain = compression.decompress(data)
            else:
                with compression.open(io.BytesIO(data)) as file:
                    plain = file.read(limit + 1)
        except pl.exceptions.PolarsError as error:
            raise InputError("contains something other than text: decompress it first (zstd -d)", name) from error
        except DAMAGE as error:
            raise InputError(DAMAGED, name) from error
    if limit is not None and len(plain) > limit:
        raise InputError(f"has more than {limit:,} bytes", name)
    if compression is None:
        return plain, None
    inner, _ = decompress(plain, name, limit)  # a file may be compressed twice
    return inner, compression.name


def to_utf8(data: bytes, name: str) -> tuple[bytes, str]:
    """Return the bytes of a text as UTF-8 without a byte order mark, and the encoding that they had.

    A text that is not UTF-8 is read as windows-1252, with a warning; bytes that are neither are refused.

    >>> to_utf8("a,b".encode("utf-16"), "labels.csv")
    (b'a,b', 'utf-16')
    """
    encoding = _marked_encoding(data)
    if encoding == "utf-8" or (encoding is None and data.isascii()):
        data = data.removeprefix(codecs.BOM_UTF8)
    elif encoding is not None:
        try:
            return data.decode(encoding).removeprefix("\ufeff").encode(), "utf-16"
        except UnicodeDecodeError as error:
            raise InputError("looks like UTF-16 text but is not; save the file as UTF-8", name) from error
    if data.isascii():
        return data, "utf-8"
    try:
        data.decode()
        return data, "utf-8"
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        return _from_fallback(data, name, row, data[error.start]), FALLBACK


def decode_document(data: bytes) -> str:
    """Return the text of a document, which may hold any bytes: what cannot be decoded is replaced."""
    encoding = _marked_encoding(data)
    if encoding is not None:
        return data.decode(encoding, errors="replace").removeprefix("\ufeff")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode(FALLBACK, errors="replace")


@contextmanager
def open_decompressed(path: FilePath) -> Iterator[IO[bytes]]:
    """Open a file for reading its bytes a piece at a time, decompressed.

    Zstandard files are decompressed as a whole. A damaged archive is an ``InputError`` when its damage is reached.
    """
    with _readable(path):
        with open(path, "rb") as file:
            compression = compression_of(file.read(8))
        if compression is None:
            stream: Any = open(path, "rb")  # noqa: SIM115, closed below
        elif compression.open is None:
            stream = io.BytesIO(decompress(read_bytes(path), str(path))[0])
        else:
            stream = compression.open(path)
    with stream:
        try:
            yield stream
        except DAMAGE as error:
            if compression is None:
                raise
            raise InputError(DAMAGED, str(path)) from error


class Compression(NamedTuple):
    """A compressed format: how it is recognised and undone."""

    name: str
    suffix: str
    start: bytes  # the first bytes of a file
    decompress: Callable[[bytes], bytes]
    open: Callable[..., Any] | None  # None if it cannot be read a piece at a time


def compression_of(data: bytes) -> Compression | None:
    """Return the compression of a file from its first bytes, None if it is not compressed."""
    return next((each for each in COMPRESSIONS if data.startswith(each.start)), None)


@contextmanager
def _readable(path: FilePath) -> Iterator[None]:
    """Turn the system's errors about a file into one sentence."""
    try:
        yield
    except (FileNotFoundError, ValueError) as error:
        raise InputError("there is no such file", str(path)) from error
    except IsADirectoryError as error:
        raise InputError("is a folder, not a file", str(path)) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", str(path)) from error


def _marked_encoding(data: bytes) -> str | None:
    """Return the encoding that the first bytes show: a byte order mark, or a NUL byte beside an ASCII letter."""
    marked = next((encoding for mark, encoding in MARKS.items() if data.startswith(mark)), None)
    if marked is None and len(data) >= 2 and (data[0] == 0) != (data[1] == 0):
        return "utf-16-be" if data[0] == 0 else "utf-16-le"
    return marked


def _from_fallback(data: bytes, name: str, row: int, byte: int) -> bytes:
    """Return windows-1252 text as UTF-8 with a warning; ``byte`` in ``row`` is the first that is not UTF-8."""
    if b"\0" in data:
        raise InputError("is not text: give CSV, TSV, JSON lines or Parquet", name)
    try:
        utf8 = data.decode(FALLBACK).encode()
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{data[error.start]:02x} is neither UTF-8 nor {FALLBACK} text; save the file as UTF-8"
        raise InputError(problem, name, row) from error
    message = f"{name}, row {row}: byte 0x{byte:02x} is not UTF-8, so the file is read as {FALLBACK}"
    warnings.warn(f"{message}; if names look wrong, save it as UTF-8", AdjudgeWarning, stacklevel=2)
    return utf8


def _decompress_zstd(data: bytes) -> bytes:
    """Decompress Zstandard text with polars, which does it for tables: here a table of one row and one column."""
    try:
        table = pl.read_csv(
            data, has_header=False, infer_schema=False, separator="\x1f", eol_char="\x1e", quote_char=None
        )
    except pl.exceptions.NoDataError:
        return b""
    return str(table.item()).encode()


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", gzip.decompress, gzip.open),
    Compression("bzip2", ".bz2", b"BZh", bz2.decompress, bz2.open),
    Compression("xz", ".xz", b"\xfd7zXZ", lzma.decompress, lzma.open),
    Compression("zstd", ".zst", b"\x28\xb5\x2f\xfd", _decompress_zstd, None),
)
SUFFIXES = {compression.suffix for compression in COMPRESSIONS}
