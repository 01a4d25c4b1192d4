"""The mark of a study's cells: what they were made of, so that a cell of other data or other code is not taken for it.

A mark is a digest of the set's files, of the methods, the crowds and the values of c, of the libraries that move the
numbers, and of the source of all modules that a cell runs through.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from adjudge.learn.study_choice import CHOICE
from adjudge.learn.study_crowds import REGIMES
from adjudge.learn.study_methods import METHODS, TREES
from adjudge.learn.study_sets import folder_of

ROOMS = ("learn", "models", "kernels", "judgments")  # packages whose code makes a cell
LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "lightgbm")
LENGTH = 12  # letters of a mark


def mark_of(data: Path, name: str) -> str:
    """Return the mark of the cells of one set."""
    told = [repr((m.name, m.summary, m.needs, m.again)) for m in METHODS.values()]
    told += [repr(tuple(regime)) for regime in REGIMES.values()]
    told += [repr(CHOICE), repr(TREES), code_mark(), *(f"{one} {_version(one)}" for one in LIBRARIES)]
    place = folder_of(data, name)
    return _digest([*(one.encode() for one in told), *_contents(place, sorted(place.rglob("*")))])


def code_mark() -> str:
    """Return the digest of the source that makes cells."""
    root = Path(__file__).parents[1]
    return _digest(_contents(root, sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))))


def _contents(root: Path, paths: Iterable[Path]) -> Iterable[bytes]:
    """Return names and contents of files."""
    for path in paths:
        if path.is_file():
            yield path.relative_to(root).as_posix().encode()
            yield path.read_bytes()


def _digest(parts: Iterable[bytes]) -> str:
    """Return a short digest of parts, each with its length, so that none runs into the next."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:LENGTH]


def _version(library: str) -> str:
    """Return the version of a library, or that there is none."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"
