"""Tables out: frames of the kind that came in, and files that are whole or not there."""

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

from adjudge.errors import InputError, UsageError, quoted

Columns = Mapping[str, Any]


def frame(columns: Columns, kind: Any = "polars") -> Any:
    """Return named columns as a frame of the given kind: polars, pandas, pyarrow."""
    if kind == "polars":
        return pl.DataFrame(dict(columns))
    plain = {name: _plain(column) for name, column in columns.items()}
    return nw.from_dict(plain, backend=kind).to_native()


def columns_of(content: bytes) -> dict[str, pl.Series]:
    """Return the columns of the content of a Parquet file by name."""
    return pl.read_parquet(io.BytesIO(content)).to_dict()


def stacked(tables: Sequence[Mapping[str, pl.Series]]) -> dict[str, pl.Series]:
    """Return tables with the same columns one below the other."""
    return pl.concat([pl.DataFrame(dict(table)) for table in tables], how="vertical_relaxed").to_dict()


def table_text(table: pl.DataFrame, format: str) -> bytes:  # noqa: A002
    """Return a table as the bytes of a file."""
    if format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    return FORMATS[format](table)


def write_whole(files: Mapping[str, bytes], folder: str | Path) -> None:
    """Write files into a folder so that each is there whole or not at all.

    All are written aside first, on the same disk; only when every one is there are they moved into place.
    """
    target = Path(folder).resolve()
    new = not target.exists()
    if not new and not target.is_dir():
        raise InputError("is a file; --out needs a folder", str(folder))
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
    """Write one file so that it is there whole or not at all; a pipe or a device is written to as it is."""
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
    """Return a name of its own beside a file or folder."""
    return target.parent / f".{target.name}-{secrets.token_hex(4)}"


@contextmanager
def _refused(path: str | Path) -> Iterator[None]:
    """Say in one sentence why the system refuses to write."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from error


def _plain(column: Any) -> Any:
    """Return a column as numbers in an array or names in a list, which every library takes."""
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
