"""Claim: after two hours with a thousand judges the studio is as fast as at the start, and uses no more memory.

A campaign of 1,000,000 pairs of topic and document, 3 judgments each, on SQLite. `adjudge serve` runs as one process
for two hours, with the live consensus. In another process, 1,000 judges take 6 s (3 to 9) per judgment and load every
document. Every ten minutes has a row: times are counted from the moment when a judgment was due, memory is what the
process holds at the end of the row (its temporary process of the consensus: the most it held), and the database
includes its journal. Afterwards, every acknowledged answer must exist once, no item may have more judgments than
allowed, and the audit log must be valid; then the studio is stopped and started again.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from studies.benchmarks.claim import Claim, description, say
from studies.benchmarks.studio_campaign import (
    SETTINGS,
    Server,
    Size,
    add_judges,
    cpu_seconds,
    process_tree,
    write_campaign,
)
from studies.benchmarks.studio_kill import Acknowledged, faults
from studies.benchmarks.studio_load import Load, RemoteJudges

JUDGMENTS = 3  # per item
HEAD = (
    "minutes",
    "judgments",
    "judgments/s",
    "submit p50, ms",
    "p99",
    "next p99, ms",
    "server, MB",
    "consensus, MB",
    "database, MB",
    "cores of the server",
)


class Soak(NamedTuple):
    """The length and the size of the measurement."""

    size: Size = Size(topics=10_000, documents=100, words=30)
    judges: int = 1_000
    windows: int = 12
    seconds: float = 600.0  # per window, the time in which judges begin included
    warm: float = 30.0  # of each window
    think: float = 6.0


class Children(threading.Thread):
    """Records the memory of a process's children until it is stopped."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.most, self.stopped = pid, 0.0, threading.Event()

    def run(self) -> None:
        """Read the memory of all children twice per second."""
        while not self.stopped.wait(0.5):
            self.most = max([self.most, *(resident_mb(child) for child in process_tree(self.pid)[1:])])


def resident_mb(pid: int) -> float:
    """Return the memory that a process holds, in MB; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def database_mb(folder: Path) -> float:
    """Return the size of the database with its journal, in MB."""
    return sum(file.stat().st_size for file in folder.glob("studio.db*")) / 2**20


def measure(soak: Soak = Soak()) -> Iterator[Claim]:  # noqa: B008  # a constant
    """Run the campaign, and report a row per window."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "campaign"
        write_campaign(folder, soak.size, {**SETTINGS, "redundancy": {"judgments": JUDGMENTS}})
        sessions = add_judges(folder, soak.judges)
        server = Server(folder, log=folder / "log")
        started = server.start(sessions[0], within=300.0)
        say(f"started in {started:.1f} s, {resident_mb(server.pid):.0f} MB")
        acknowledged: set[str] = set()
        rows = []
        with server:
            for window in range(soak.windows):
                rows.append(_window(soak, window, server, sessions, acknowledged))
                say(" | ".join(rows[-1]))
            server.stop()
            again = server.start(sessions[0], within=300.0)
        wrong = faults(folder, Acknowledged(acknowledged, set(), set(), set()), JUDGMENTS)
        yield Claim("Two hours", description(__doc__), HEAD, rows)
        row = [f"{started:.1f}", f"{again:.1f}", f"{len(acknowledged):,}", "; ".join(wrong) or "none"]
        head = ("first start, s", "start with all judgments, s", "acknowledged answers", "lost, duplicated or too many")
        yield Claim("Afterwards", "The same folder after the last row.", head, [row])


def _window(soak: Soak, window: int, server: Server, sessions: list[str], acknowledged: set[str]) -> list[str]:
    """Let the judges work for the time of one window, and return its row."""
    seconds = soak.seconds - soak.warm
    children = Children(server.pid)
    children.start()
    before, began = cpu_seconds(server.pid), time.perf_counter()
    load = Load(server.port, sessions, soak.warm, seconds, soak.think, documents=True, prefix=f"{window}-")
    result = RemoteJudges(load).result()
    cores = (cpu_seconds(server.pid) - before) / (time.perf_counter() - began)
    children.stopped.set()
    children.join()
    if result["problems"]:
        raise RuntimeError(f"judges met problems: {result['problems']}")
    acknowledged.update(result["acknowledged"])
    submit, follow = result["kinds"]["submit"], result["kinds"]["next"]
    return [
        f"{(window + 1) * soak.seconds / 60:.0f}",
        f"{len(acknowledged):,}",
        f"{submit['per_second']:.0f}",
        f"{submit['p50']:.0f}",
        f"{submit['p99']:.0f}",
        f"{follow['p99']:.0f}",
        f"{resident_mb(server.pid):.0f}",
        f"{children.most:.0f}",
        f"{database_mb(server.folder):,.0f}",
        f"{cores:.2f}",
    ]


if __name__ == "__main__":
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    for claim in measure(Soak(windows=max(1, round(minutes / 10)))):
        print(claim.markdown(), flush=True)
