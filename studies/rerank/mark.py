"""The mark of a study's cells: what they were made of, so that a cell of other data or other code is not taken for it.

A mark is a digest of the set's files, of the methods, the crowds and the values of c, of the libraries that move the
numbers, and of the source of all modules that a cell runs through.
"""

from __future__ import annotations

from pathlib import Path

from studies.marks import contents, digest, version_of
from studies.rerank.choice import CHOICE
from studies.rerank.crowds import REGIMES
from studies.rerank.methods import METHODS, TREES
from studies.rerank.sets import folder_of

ROOMS = (
    "src/adjudge/learn",
    "src/adjudge/inference",
    "src/adjudge/models",
    "src/adjudge/kernels",
    "src/adjudge/data",
    "studies/rerank",
)  # packages whose code makes a cell
LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "lightgbm")


def mark_of(data: Path, name: str) -> str:
    """Return the mark of the cells of one set."""
    told = [repr((m.name, m.summary, m.needs, m.again)) for m in METHODS.values()]
    told += [repr(tuple(regime)) for regime in REGIMES.values()]
    told += [repr(CHOICE), repr(TREES), code_mark(), *(f"{one} {version_of(one)}" for one in LIBRARIES)]
    place = folder_of(data, name)
    return digest([*(one.encode() for one in told), *contents(place, sorted(place.rglob("*")))])


def code_mark() -> str:
    """Return the digest of the source that makes cells."""
    root = Path(__file__).parents[2]
    return digest(contents(root, sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))))
