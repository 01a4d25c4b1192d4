"""Files written a piece at a time: whole or not there, or straight to standard output."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from adjudge.errors import InputError


def deliver(pieces: Iterable[bytes], out: str | None) -> int:
    """Write pieces to a file, or to standard output where none is named; return how many there were."""
    if out is None:
        written = _written(pieces, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return written
    target = Path(out).resolve()
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device
            with target.open("wb") as file:
                return _written(pieces, file)
        with aside.open("wb") as file:
            written = _written(pieces, file)
        os.replace(aside, target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", out) from error
    finally:
        aside.unlink(missing_ok=True)
    return written


def _written(pieces: Iterable[bytes], file: IO[bytes]) -> int:
    """Write pieces one after another, and count them."""
    many = 0
    for piece in pieces:
        file.write(piece)
        many += 1
    return many
