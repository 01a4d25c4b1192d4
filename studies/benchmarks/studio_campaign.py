"""Campaigns for the benchmarks of the studio: generated text, gold that can be passed, signed-in judges, a server.

The title of a generated document ends with its grade, so that a simulated judge can be right without reading.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.studio.access import Signer, load_key
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change
from adjudge.studio.studio import open_studio

GRADES = {  # of gold sets by size: all can be passed, but not by the same answer for all documents
    2: ((2, 0), (1, 0)),
    5: ((2, 1, 1, 0, 0), (2, 2, 1, 0, 0), (2, 1, 0, 0, 0), (2, 2, 1, 1, 0)),
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {  # simulated judges answer at once, and much
    "gate": {"seconds": 0.0},
    "limits": {"requests_per_minute": 1_000_000, "megabytes_per_hour": 1_000_000},
}


class Size(NamedTuple):
    """The size of a campaign."""

    topics: int = 1_000
    documents: int = 100  # per topic
    gold: int = 300  # sets
    words: int = 100  # per document
    set_size: int = 5
    graded: int = 5  # documents of a qualification set that have gold


def write_campaign(folder: Path, size: Size, settings: Mapping[str, Mapping[str, Any]] = SETTINGS) -> None:
    """Write the files of a campaign."""
    rng = random.Random(0)
    words = ["".join(rng.choices("bdfgklmnprstaeiou", k=rng.randint(3, 9))) for _ in range(2_000)]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [line for table, keys in settings.items() for line in (f"[{table}]", *_toml(keys))]
    (folder / "campaign.toml").write_text("\n".join(lines) + "\n")
    with contextlib.ExitStack() as files:
        topics, documents = (files.enter_context((folder / f"{n}.jsonl").open("w")) for n in ("topics", "documents"))
        heads = {"pool": ("topic", "document"), "gold": ("topic", "document", "grade", "reason")}
        heads["sets"] = ("set", "use", "topic", "document")
        tables = {name: csv.writer(files.enter_context((folder / f"{name}.csv").open("w"))) for name in heads}
        for name, head in heads.items():
            tables[name].writerow(head)

        def document(name: str, grade: int) -> None:
            text = " ".join(rng.choices(words, k=size.words))
            row = {"document": name, "title": f"{name} {grade}", "kind": "text", "content": text}
            print(json.dumps(row), file=documents)

        for t in range(size.topics):
            row = {"topic": f"t{t}", "query": " ".join(rng.choices(words, k=3))}
            row |= {key: " ".join(rng.choices(words, k=20)) for key in ("description", "narrative")}
            print(json.dumps(row), file=topics)
            for d in range(size.documents):
                document(f"t{t}d{d}", rng.choice((0, 0, 0, 1, 2)))
                tables["pool"].writerow((f"t{t}", f"t{t}d{d}"))
        patterns = GRADES[size.set_size]
        for use, sets in (("gold", size.gold), ("qualification", 6)):
            for s in range(sets):
                for d, grade in enumerate(patterns[s % len(patterns)]):
                    pair = (f"t{s % size.topics}", f"{use}{s}d{d}")
                    document(pair[1], grade)
                    if use == "gold" or d < size.graded:
                        tables["gold"].writerow((*pair, grade, "It is generated so."))
                    tables["sets"].writerow((f"{use}{s}", use, *pair))


def _toml(keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table."""
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}"


def add_judges(folder: Path, count: int, prefix: str = "judge", qualified: bool = False) -> list[str]:
    """Add judges to a campaign without a running server, and return a session for each."""
    studio = open_studio(folder)
    try:

        def join(ledger: Ledger, now: float) -> Change:
            first, standing = ledger.next_id(schema.people), ledger.next_id(schema.standings)
            rows: list[Any] = []
            for n in range(count):
                person = {"id": first + n, "at": now, "name": f"{prefix}{n}", "role": "judge"}
                rows.append((schema.people, {**person, "outside": None, "language": "en"}))
            for n in range(count if qualified else 0):
                row = {"id": standing + n, "at": now, "person": first + n, "standing": "qualified"}
                rows.append((schema.standings, {**row, "reason": "", "by": None}))
            return Change(rows, [first + n for n in range(count)], ("benchmark", "judges added", {"judges": count}))

        people = studio.store.do(join)
        signer = Signer(load_key(folder))
        return [signer.session(person, 0, 12, studio.now()) for person in people]
    finally:
        studio.store.close()


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """The studio in its own process: `adjudge serve`."""

    def __init__(self, folder: Path, port: int | None = None, log: Path | None = None) -> None:
        self.folder, self.port, self.log = folder, port or free_port(), log
        self.prefix: list[str] = []  # a command that runs the server, for example strace
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0  # seconds that the last start took

    def start(self, session: str, within: float = 60.0) -> float:
        """Start the server, and return the seconds until a judge is answered."""
        command = [*self.prefix, sys.executable, "-m", "adjudge", "serve", str(self.folder), "--port", str(self.port)]
        began = time.perf_counter()
        with self.log.open("ab") if self.log else open(os.devnull, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        while time.perf_counter() - began < within:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                ask = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/state")
                ask.add_header("Authorization", f"Bearer {session}")
                if urllib.request.urlopen(ask, timeout=10).status == 200:
                    self.started = time.perf_counter() - began
                    return self.started
            time.sleep(0.02)
        self.stop()
        log_text = self.log.read_text()[-2_000:] if self.log else ""
        raise RuntimeError(f"the studio did not start within {within:.0f} s: {log_text}")

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """Kill the server and its child processes with SIGKILL."""
        assert self.process is not None
        for pid in reversed(process_tree(self.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Terminate the server."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def process_tree(parent: int) -> list[int]:
    """Return a process and its descendants."""
    try:
        below = [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [parent, *(pid for child in below for pid in process_tree(child))]


def peak_mb(pid: int) -> float:
    """Return the peak memory of a process, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its running descendants."""
    ticks = 0
    for each in process_tree(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
