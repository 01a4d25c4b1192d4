"""The mark of cells, by which outdated cells are recognised.

A mark is a digest of the files of the set, the methods, the crowds, the values of c, the versions of libraries, and the
source code of all modules that compute a cell.
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
)  # packages whose changes make cells outdated
LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "lightgbm")


def mark_of(data: Path, name: str) -> str:
    """Return the mark of the cells of one set."""
    parts = [repr((m.name, m.summary, m.needs, m.again)) for m in METHODS.values()]
    parts += [repr(tuple(regime)) for regime in REGIMES.values()]
    parts += [repr(CHOICE), repr(TREES), code_mark(), *(f"{library} {version_of(library)}" for library in LIBRARIES)]
    folder = folder_of(data, name)
    return digest([*(part.encode() for part in parts), *contents(folder, sorted(folder.rglob("*")))])


def code_mark() -> str:
    """Return a digest of the source code of cells."""
    root = Path(__file__).parents[2]
    return digest(contents(root, sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))))
