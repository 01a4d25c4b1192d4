"""Claim: the first minutes are not spent on compilation.

CPU seconds (user and system) of new processes on 1,000 rows of CSV: first with an empty cache of machine code, as on a
new machine, then with the cache that the first run left (median of five).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from adjudge.data.judgments import judgment_table
from adjudge.data.simulate import simulate
from studies.benchmarks.claim import Claim, description

COMMANDS = {  # command: the goals when cold and when warm
    "fit labels.csv --out fit": ("3", "1"),
    "fit three.csv": ("3", "1"),
    "fit labels.csv --model dawid-skene": ("3", "1"),
    "fit labels.csv --model hybrid-confusion": ("", ""),
    "judges fit": ("", ""),
    "report fit --out report.html": ("", ""),
}


def cpu_seconds(command: list[str], folder: Path, cache: Path) -> float:
    """Return the CPU seconds of a command in a new process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure() -> Claim:
    """Run every command with an empty cache and again."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, labels in (("labels.csv", 2), ("three.csv", 3)):
            crowd = simulate("dawid-skene", items=200, judges=10, labels=labels)
            judgment_table(crowd.judgments).write_csv(folder / file)
        programs = {f"adjudge {line}": (["-m", "adjudge", *line.split()], *goal) for line, goal in COMMANDS.items()}
        programs["import adjudge"] = (["-c", "import adjudge"], "", "0.25")
        for n, (title, (arguments, *goals)) in enumerate(programs.items()):
            cache = folder / f"cache{n}"
            cold, *warm = (cpu_seconds([sys.executable, *arguments], folder, cache) for _ in range(6))
            rows.append((f"`{title}`", f"{cold:.2f}", goals[0], f"{median(warm):.2f}", goals[1]))
            print(" ".join(rows[-1]), file=sys.stderr)
    return Claim("First minutes", description(__doc__), ("command", "cold, s", "goal", "warm, s", "goal"), rows)


if __name__ == "__main__":
    print(measure().markdown())
