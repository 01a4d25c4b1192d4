"""Write tables: frames of the kind that came in, and files that are either complete or absent."""

from __future__ import annotations

import io
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from adjudge.errors import InputError, UsageError, not_one_of

Columns = Mapping[str, Any]


def frame(columns: Columns, kind: Any = "polars") -> Any:
    """Return named columns as a frame of a kind: polars, pandas or pyarrow.

    >>> frame({"item": ["a", "b"], "share": [0.5, 1.0]}).shape
    (2, 2)
    """
    if kind == "polars":
        return pl.DataFrame(dict(columns))
    plain = {name: _plain(column) for name, column in columns.items()}
    return nw.from_dict(plain, backend=kind).to_native()


def columns_of(content: bytes) -> dict[str, pl.Series]:
    """Return the columns of the content of a Parquet file by name."""
    return pl.read_parquet(io.BytesIO(content)).to_dict()


def stacked(tables: Sequence[Mapping[str, pl.Series]]) -> dict[str, pl.Series]:
    """Return tables with the same columns, concatenated."""
    return pl.concat([pl.DataFrame(dict(table)) for table in tables], how="vertical_relaxed").to_dict()


def table_text(table: pl.DataFrame, format: str) -> bytes:  # noqa: A002
    r"""Return a table as the bytes of a file, in a format of ``FORMATS``: csv, jsonl or parquet.

    >>> table_text(pl.DataFrame({"item": ["a"], "label": [1]}), "csv")
    b'item,label\na,1\n'
    """
    if format not in FORMATS:
        raise UsageError(not_one_of("format", format, FORMATS))
    return FORMATS[format](table)


def write_whole(files: Mapping[str, bytes], folder: str | Path) -> None:
    """Write files into a folder so that each is complete or absent.

    They are written to a temporary folder on the same disk first, and moved when all of them are complete.

    Parameters
    ----------
    files
        The content of every file by its name.
    folder
        The folder, which is created if it does not exist. Other files in it stay.
    """
    target = Path(folder).resolve()
    new = not target.exists()
    if not new and not target.is_dir():
        raise InputError("is a file: name a folder", str(folder))
    staging = _aside(target if new else target / "files")
    with _refused(folder):
        staging.mkdir(parents=True)
        try:
            for name, content in files.items():
                (staging / name).write_bytes(content)
            if new:
                staging.rename(target)
            else:
                for name in files:
                    os.replace(staging / name, target / name)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def write_file(content: bytes, path: str | Path) -> None:
    """Write a file so that it is complete or absent; a pipe or a device is written to directly."""
    target = Path(path).resolve()
    with _refused(path):
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        staging = _aside(target)
        try:
            staging.write_bytes(content)
            os.replace(staging, target)
        finally:
            staging.unlink(missing_ok=True)


def _aside(target: Path) -> Path:
    """Return a temporary name beside a file or folder."""
    return target.parent / f".{target.name}-{secrets.token_hex(4)}"


@contextmanager
def _refused(path: str | Path) -> Iterator[None]:
    """Turn the system's errors about writing into one sentence."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from error


def _plain(column: Any) -> Any:
    """Return a column as an array of numbers or a list of names, which every library accepts."""
    if isinstance(column, pl.Series):
        return column.to_numpy() if column.dtype.is_numeric() and not column.null_count() else column.to_list()
    return column if isinstance(column, np.ndarray) else list(column)


def _parquet(table: pl.DataFrame) -> bytes:
    """Return a table as Parquet."""
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


FORMATS: Mapping[str, Callable[[pl.DataFrame], bytes]] = {
    "csv": lambda table: table.write_csv().encode(),
    "jsonl": lambda table: table.write_ndjson().encode(),
    "parquet": _parquet,
}
