"""Runs every benchmark, both sides in one run each, and writes docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import acceleration
import em_step
import reading
import scaling
import simulation
import starting

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
PACKAGES = ("numpy", "numba", "polars", "crowd-kit", "pandas")


def main() -> None:
    """Measure, and write the page."""
    claims = [room.measure() for room in (em_step, acceleration, scaling, reading, starting, simulation)]
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    opening = f"# Benchmarks\n\nWritten by `make bench` ({machine}). Times vary by machine; look at the ratios.\n"
    PAGE.write_text("\n".join([opening, *(claim.markdown() for claim in claims)]), encoding="utf8")
    print(f"wrote {PAGE.relative_to(PAGE.parents[1])}")


if __name__ == "__main__":
    main()
