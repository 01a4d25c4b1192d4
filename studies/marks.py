"""Marks: short digests of what a kept result was made of, by which a stale one is known."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LENGTH = 16  # characters of a mark


def contents(root: Path, paths: Iterable[Path]) -> Iterable[bytes]:
    """Yield names and contents of the files that are there."""
    for path in paths:
        if path.is_file():
            yield path.relative_to(root).as_posix().encode()
            yield path.read_bytes()


def digest(parts: Iterable[bytes]) -> str:
    """Return a short digest of parts, each with its length, so that none runs into the next."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:LENGTH]


def version_of(library: str) -> str:
    """Return the version of a library, or that there is none."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
