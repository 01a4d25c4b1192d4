"""Runs every benchmark, both sides in one run each, and writes the pages of docs that follow from them.

``run.py published choosing`` writes these pages alone.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from studies.benchmarks import (
    acceleration,
    bayes,
    calibrating,
    choosing,
    diagnostics,
    em_step,
    glad,
    large,
    models,
    published,
    reading,
    reporting,
    scaling,
    search,
    simulation,
    starting,
    studio,
    update,
    weights,
)
from studies.benchmarks.claim import Claim

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "measured"
PACKAGES = ("numpy", "numba", "polars", "crowd-kit", "pandas")
TIMED = (em_step, acceleration, scaling, glad, models, reading, starting, simulation)


def timed() -> Iterator[Claim]:
    """Measure everything that is a matter of time."""
    for room in TIMED:
        found = room.measure()
        yield from found if isinstance(found, list) else [found]


def machine() -> str:
    """Return what the times were taken on."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


PAGES: dict[str, tuple[str, str, Callable[[], Iterator[Claim] | list[Claim]]]] = {
    "benchmarks": ("Benchmarks", f" ({machine()}). Times depend on the machine; compare the ratios.", timed),
    "bayes": (
        "Sampling, compared with JAGS, NumPyro and nutpie",
        f" ({machine()}). JAGS needs a long time.",
        bayes.measure,
    ),
    "published": ("Published results and ours", ".", published.measure),
    "choosing": ("Model selection", ".", choosing.measure),
    "calibration": ("Calibration of probabilities", calibrating.OPENING, calibrating.measure),
    "reporting": ("Reports and evaluation, measured", f" ({machine()}).", reporting.measure),
    "diagnostics": (
        "Monitoring of judges, measured",
        f". {' '.join(diagnostics.__doc__.split(chr(10) * 2)[1].split())}",
        diagnostics.measure,
    ),
    "studio": ("The studio, measured", f" ({machine()}).", studio.measure),
    "weights": ("Weights, measured", f" ({machine()}).", weights.measure),
    "update": ("Updates with new judgments, measured", f" ({machine()}).", update.measure),
    "search": ("Search and features, measured", f" ({machine()}).", search.measure),
    "large": ("Large data, measured", f" ({machine()}).", large.measure),
}
FILES = {  # where a page is not called as it is asked for
    "large": "large-figures",
    "studio": "studio-figures",
    "weights": "weights-figures",
    "search": "search-figures",
}


def main() -> None:
    """Measure, and write the pages."""
    for name in sys.argv[1:] or PAGES:
        title, more, measure = PAGES[name]
        parts = [f"# {title}\n\nWritten by `make bench`{more}\n", *(claim.markdown() for claim in measure())]
        page = DOCS / f"{FILES.get(name, name)}.md"
        page.write_text("\n".join(parts), encoding="utf8")
        print(f"wrote docs/explanation/measured/{page.name}")


if __name__ == "__main__":
    main()
