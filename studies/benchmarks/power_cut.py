"""A power cut, simulated: the writes of a recorded run that were not flushed to the disk are lost, or some of them are.

The server runs under strace, which records every write and every flush (fsync, fdatasync) of its SQLite database, with
their contents and times. For a moment T, the files are built again as a disk may have them after a power cut at T: what
was written before a flush that had ended by T is there; of everything later, a random part is (any subset of the
512-byte sectors, so that writes are torn and out of order). All that judges had been told by T must be in the database.

This is for SQLite. It does not simulate disks that lie about flushes, and takes the names of files as durable.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SECTOR = 512
TRACED = "pwrite64,ftruncate,fsync,fdatasync,unlink"
CALL = re.compile(r"(\d+\.\d+) (\w+)\((.*)\) += (-?\d+).*<(\d+\.\d+)>$")
WRITE = re.compile(r'\d+<([^>]*)>, "([^"]*)"(\.\.\.)?, (\d+), (\d+)')
LENGTH = re.compile(r"\d+<([^>]*)>, (\d+)")
PATH = re.compile(r'(?:\d+<([^>]*)>|"([^"]*)")')


class Operation(NamedTuple):
    """One call of the server on a file of the database."""

    began: float
    ended: float
    kind: str  # write, truncate, flush, unlink
    file: str  # its name
    offset: int = 0  # or the new length
    data: bytes = b""


def recorder(folder: Path, log: Path) -> list[str]:
    """Return the command that records what another command does with the database in a folder."""
    files = [part for name in ("studio.db", "studio.db-wal") for part in ("-P", str(folder / name))]
    return [
        "strace",
        "-ff",
        "-y",
        "-ttt",
        "-T",
        "-xx",
        "-s",
        "1000000",
        "-e",
        f"trace={TRACED}",
        *files,
        "-o",
        str(log),
    ]


def read_operations(logs: Iterable[Path]) -> list[Operation]:
    """Return the operations of all threads, in the order in which they ended."""
    lines = (line for log in logs for line in log.read_text(errors="replace").splitlines())
    parsed = (_operation(match) for line in lines if (match := CALL.match(line)) is not None)
    return sorted((operation for operation in parsed if operation is not None), key=lambda operation: operation.ended)


def _operation(match: re.Match[str]) -> Operation | None:
    """Return the operation of a line of strace, or None for a call that failed."""
    began, call, arguments, result = float(match[1]), match[2], match[3], int(match[4])
    ended = began + float(match[5])
    if result < 0:
        return None
    if call == "pwrite64":
        write = WRITE.match(arguments)
        assert write is not None, arguments[:200]
        return Operation(began, ended, "write", _name(write[1]), int(write[5]), _bytes(write[2])[:result])
    if call == "ftruncate":
        length = LENGTH.match(arguments)
        assert length is not None, arguments
        return Operation(began, ended, "truncate", _name(length[1]), int(length[2]))
    path = PATH.match(arguments)
    assert path is not None, arguments
    return Operation(began, ended, "unlink" if call == "unlink" else "flush", _name(path[1] or path[2]))


def _bytes(text: str) -> bytes:
    """Return the bytes that strace writes as hexadecimal numbers."""
    return bytes.fromhex(text.replace("\\x", ""))


def _name(text: str) -> str:
    """Return the name of a file from its path, as strace writes it."""
    return Path(_bytes(text).decode()).name


def files_after(
    before: dict[str, bytes], operations: list[Operation], at: float, rng: random.Random, flushes: bool = True
) -> dict[str, bytes]:
    """Return the content of the files after a power cut.

    Parameters
    ----------
    before
        The files when the recording began.
    operations
        What was recorded.
    at
        The moment of the cut.
    rng
        Decides which sectors of writes without a flush are there.
    flushes
        False ignores flushes, as if the server had made none: then acknowledged answers must be missing.
    """
    files = {name: bytearray(content) for name, content in before.items()}
    durable: dict[str, float] = {}
    for operation in operations if flushes else ():
        if operation.kind == "flush" and operation.ended <= at:
            durable[operation.file] = max(durable.get(operation.file, 0.0), operation.began)
    for operation in operations:
        if operation.began > at:
            continue
        kept = operation.ended <= durable.get(operation.file, 0.0)
        content = files.setdefault(operation.file, bytearray())
        if operation.kind == "write":
            for start in range(0, len(operation.data), SECTOR):
                if kept or rng.random() < 0.5:
                    _put(content, operation.offset + start, operation.data[start : start + SECTOR])
        elif operation.kind == "truncate" and (kept or rng.random() < 0.5):
            content[operation.offset :] = bytes(max(0, operation.offset - len(content)))
        elif operation.kind == "unlink":
            files.pop(operation.file)
    return {name: bytes(content) for name, content in files.items()}


def _put(content: bytearray, offset: int, data: bytes) -> None:
    """Write data into a file's content; a gap before it is filled with zeros."""
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def build(folder: Path, out: Path, files: dict[str, bytes]) -> None:
    """Copy a campaign, with other files of the database."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns("studio.db*", "log*"))
    for name, content in files.items():
        (out / name).write_bytes(content)
