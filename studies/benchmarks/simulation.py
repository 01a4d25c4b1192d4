"""Claim: 10 million judgments are simulated in seconds.

Wall time of ``simulate("dawid-skene")`` in one process, including names.
"""

from __future__ import annotations

import sys
import time

from adjudge.data.simulate import simulate
from studies.benchmarks.claim import Claim, description


def measure() -> Claim:
    """Time one simulation of each size."""
    rows = []
    for size in (1_000_000, 10_000_000):
        began = time.perf_counter()
        simulate("dawid-skene", items=size // 5, judges=size // 200)
        rows.append((f"{size:,}", f"{time.perf_counter() - began:.2f}"))
        print(" ".join(rows[-1]), file=sys.stderr)
    return Claim("Simulation", description(__doc__), ("judgments", "s"), rows)


if __name__ == "__main__":
    print(measure().markdown())
