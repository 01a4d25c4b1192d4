"""Marks: short digests of the data and code of a stored result, by which an outdated result is recognised."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LENGTH = 16  # characters of a mark


def contents(root: Path, paths: Iterable[Path]) -> Iterable[bytes]:
    """Yield the names and contents of files that exist."""
    for path in paths:
        if path.is_file():
            yield path.relative_to(root).as_posix().encode()
            yield path.read_bytes()


def digest(parts: Iterable[bytes]) -> str:
    """Return a short digest of parts; each is hashed with its length, so that boundaries matter."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()[:LENGTH]


def version_of(library: str) -> str:
    """Return the version of a library, 'none' if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
