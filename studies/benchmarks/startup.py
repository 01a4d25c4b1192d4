"""Claim: the command line starts quickly.

Wall time in new processes, median of seven, after a first run has compiled the kernels.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from adjudge.data.judgments import judgment_table
from adjudge.data.simulate import simulate
from studies.benchmarks.claim import Claim, description

IMPORTS = "import adjudge.cli.fit, adjudge.cli.output, adjudge.inference.fit"


def wall(command: list[str]) -> float:
    """Return the median wall time of a command, after a first run."""
    times = []
    for _ in range(8):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return median(times[1:])


def measure() -> Claim:
    """Time the command and its imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        judgment_table(simulate("dawid-skene", items=200, judges=10).judgments).write_csv(path)
        bare = wall([sys.executable, "-c", "pass"])
        run = wall([sys.executable, "-m", "adjudge", "fit", str(path), "--out", str(Path(folder) / "fit")])
        imports = wall([sys.executable, "-c", IMPORTS]) - bare
        alone = wall([sys.executable, "-c", "import adjudge"]) - bare
    rows = [
        ("`adjudge fit` on 1,000 rows of CSV, with --out", f"{run:.2f}", "1.5"),
        ("imports included in it", f"{imports:.2f}", "0.7"),
        ("`import adjudge`", f"{alone:.3f}", "0.25"),
    ]
    for row in rows:
        print(" ".join(row), file=sys.stderr)
    return Claim("Start-up time", description(__doc__), ("command", "s", "goal, s"), rows)


if __name__ == "__main__":
    print(measure().markdown())
