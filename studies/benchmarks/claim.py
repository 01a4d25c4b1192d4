"""What a benchmark gives: a table with a claim above it, and how times are taken."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple


class Claim(NamedTuple):
    """A table of measurements."""

    title: str
    how: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table for docs."""
        lines = [f"## {self.title}", "", self.how, "", _row(self.head), _row("---" for _ in self.head)]
        return "\n".join([*lines, *(_row(row) for row in self.rows), ""])


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of several rounds of some work, all threads counted."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return median(times)


def in_new_process(program: str, *arguments: str) -> Any:
    """Run a program in a fresh interpreter and return what it prints, as JSON."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _row(cells: Any) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
