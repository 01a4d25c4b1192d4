"""The record of a benchmark (a claim and a table of measurements), and helpers to measure times and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

SHARED = Path(os.environ.get("ADJUDGE_SHARED", Path(__file__).parents[3] / "shared"))  # folder of the shared data
DATA = SHARED / "data"
RESIDENT = """
def resident():  # the high-water mark of this process alone; getrusage inherits that of the parent
    with open("/proc/self/status") as status:
        return 1024 * next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
"""  # for programs that are run in a new process


class Claim(NamedTuple):
    """A table of measurements."""

    title: str
    how: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the section of a page: title, description and table."""
        lines = [f"## {self.title}", "", self.how, "", _row(self.head), _row("---" for _ in self.head)]
        return "\n".join([*lines, *(_row(row) for row in self.rows), ""])


def description(doc: str | None) -> str:
    """Return the second paragraph of a docstring on one line: how a claim is measured."""
    return " ".join(str(doc).split("\n\n")[1].split())


def say(text: str) -> None:
    """Report progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(work: Callable[[], object], rounds: int) -> float:
    """Return the median CPU time of several calls, over all threads."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return median(times)


def in_new_process(program: str, *arguments: str) -> Any:
    """Run a program in a new interpreter, and return the JSON of its last line."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _row(cells: Any) -> str:
    """Return a line of a Markdown table."""
    return "| " + " | ".join(cells) + " |"
