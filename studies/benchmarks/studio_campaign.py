"""Campaigns to measure the studio on: generated text, gold that can be passed, judges who are signed in, a server.

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

from adjudge.studio.identity.access import Signer, load_key
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change
from adjudge.studio.studio import open_studio

GRADES = {  # of gold sets by size: all can be passed, none by saying the same of all documents
    2: ((2, 0), (1, 0)),
    5: ((2, 1, 1, 0, 0), (2, 2, 1, 0, 0), (2, 1, 0, 0, 0), (2, 2, 1, 1, 0)),
}
SETTINGS: Mapping[str, Mapping[str, Any]] = {"gate": {"seconds": 0.0}}  # simulated judges do not take their time


class Size(NamedTuple):
    """How large a campaign is."""

    topics: int = 1_000
    documents: int = 100  # of a topic
    gold: int = 300  # sets
    words: int = 100  # of a document
    set_size: int = 5


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
            told = {"document": name, "title": f"{name} {grade}", "kind": "text", "content": text}
            print(json.dumps(told), file=documents)

        for t in range(size.topics):
            told = {"topic": f"t{t}", "query": " ".join(rng.choices(words, k=3))}
            told |= {key: " ".join(rng.choices(words, k=20)) for key in ("description", "narrative")}
            print(json.dumps(told), file=topics)
            for d in range(size.documents):
                document(f"t{t}d{d}", rng.choice((0, 0, 0, 1, 2)))
                tables["pool"].writerow((f"t{t}", f"t{t}d{d}"))
        patterns = GRADES[size.set_size]
        for use, sets in (("gold", size.gold), ("qualification", 6)):
            for s in range(sets):
                for d, grade in enumerate(patterns[s % len(patterns)]):
                    pair = (f"t{s % size.topics}", f"{use}{s}d{d}")
                    document(pair[1], grade)
                    tables["gold"].writerow((*pair, grade, "It is generated so."))
                    tables["sets"].writerow((f"{use}{s}", use, *pair))


def _toml(keys: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table."""
    for key, value in keys.items():
        yield f"{key} = {json.dumps(value)}"


def add_judges(folder: Path, count: int, prefix: str = "judge", qualified: bool = False) -> list[str]:
    """Add judges to a campaign that is not being served; return a session of each."""
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
    """Return a port that nobody uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Server:
    """The studio as a process of its own: `adjudge serve`."""

    def __init__(self, folder: Path, port: int | None = None, log: Path | None = None) -> None:
        self.folder, self.port, self.log = folder, port or free_port(), log
        self.process: subprocess.Popen[bytes] | None = None
        self.started = 0.0  # seconds that the last start took

    def start(self, session: str, within: float = 60.0) -> float:
        """Start it, wait until a judge is answered; return the seconds that took."""
        command = [sys.executable, "-m", "adjudge", "serve", str(self.folder), "--port", str(self.port)]
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
        told = self.log.read_text()[-2_000:] if self.log else ""
        raise RuntimeError(f"the studio did not start within {within:.0f} s: {told}")

    @property
    def pid(self) -> int:
        """Its process."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """Kill it, and all below it, with SIGKILL: nothing is flushed, nothing is said."""
        assert self.process is not None
        for pid in reversed(family(self.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Ask it to end."""
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


def family(pid: int) -> list[int]:
    """Return a process and all below it."""
    try:
        below = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [pid, *(found for child in below for found in family(child))]


def peak_mb(pid: int) -> float:
    """Return the most memory that a process has held, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return float("nan")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and those below it that are still there."""
    ticks = 0
    for each in family(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
