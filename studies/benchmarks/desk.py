"""Claim: the desk stays light with hundreds of judges and thousands of items, and costs little while nothing happens.

A campaign with 1,000 topics of 10 documents, 1,000 gold sets and 500 simulated judges of all kinds, who work through
the commands of the studio until they have made 18,000 accepted judgments. `adjudge serve` runs as a process, and a lead
opens each page five times, one after the other: bytes of the answer, CPU seconds of the server per request, and the
median time. A refresh asks for what has changed on the overview since the last one: after nothing happened, and after
a judge answered a document. The column "before" has the figures of the same campaign before the pages were divided.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from adjudge.studio.access import Signer, load_key
from adjudge.studio.campaign import load_campaign
from adjudge.studio.demo import SimulatedJudge, add_judge, work_assignment
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change
from adjudge.studio.refresh_consensus import refresh
from adjudge.studio.studio import open_store
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work.people import invite
from studies.benchmarks.claim import Claim, description, say
from studies.benchmarks.studio_campaign import Server, Size, add_judges, write_campaign

SIZE = Size(topics=1_000, documents=10, gold=1_000, words=60)
JUDGES, JUDGMENTS, INVITATIONS = 500, 18_000, 300
DAYS = 3.0  # that the judges worked
OPENED = 5  # times that each page is opened
SHARES = {"good": 0.72, "lenient": 0.08, "careless": 0.08, "drifting": 0.06, "spammer": 0.06}
SETTINGS = {
    "campaign": {"name": "Campaign at scale"},
    "gate": {"ndcg_of": "attainable", "binary": 0.6},
    "qualification": {"required": False},
    "pay": {"amount": 1.5, "most_returns": 1_000},
    "consensus": {"every_seconds": 3_600.0},
}
VERSION = re.compile(r'id="live-(\w+)" data-version="(\w+)"')
PAUSE = 2.2  # seconds between two refreshes: for shorter ones, numbers are not computed again
BEFORE = {  # bytes, CPU seconds and seconds of the same campaign before the pages were divided
    "overview": (296_587, 0.086, 0.124),
    "judges": (321_937, 0.154, 0.367),
    "one judge": (7_437, 0.090, 0.079),
    "items worth a second look": (28_777, 0.074, 0.079),
    "one item": (2_531, 0.004, 0.006),
    "gold": (1_560_829, 2.054, 2.932),
    "people": (73_385, 0.018, 0.019),
    "data": (5_560, 0.000, 0.002),
    "audit": (39_212, 0.008, 0.010),
    "refresh, nothing happened": (294_697, 0.108, 0.104),
    "refresh, a document was judged": (294_697, 0.108, 0.104),
}
PAGES = {
    "overview": "/desk",
    "all topics": "/desk/progress",
    "charts": "/desk/charts",
    "judges": "/desk/judges",
    "one judge": "/desk/judges/1",
    "gold": "/desk/gold",
    "items": "/desk/items",
    "items that judges disagree on": "/desk/items?split=yes&sort=-split",
    "items as CSV": "/desk/items/list.csv",
    "items worth a second look": "/desk/items/look",
    "one item": "/desk/items/1",
    "people": "/desk/people",
    "data": "/desk/data",
    "audit": "/desk/audit",
}


class Cost(NamedTuple):
    """What a request costs."""

    bytes: int
    cpu: float  # seconds of the server
    seconds: float  # until the answer is complete


def build(folder: Path, judges: int = JUDGES, judgments: int = JUDGMENTS, size: Size = SIZE, seed: int = 0) -> None:
    """Build the campaign: simulated judges work through assignments until there are enough judgments."""
    write_campaign(folder, size, SETTINGS)
    campaign, rng = load_campaign(folder), np.random.default_rng(seed)
    truth = {pair: gold.grade for pair, gold in campaign.gold.items()}
    end, now = time.time() - 60.0, [time.time() - DAYS * 86_400]
    pause = DAYS * 86_400 / (1.6 * judgments / 25)
    store = open_store(campaign, clock=lambda: now[0])
    try:
        kinds = rng.choice(list(SHARES), judges, p=list(SHARES.values()))
        crowd = {
            add_judge(store, f"Judge {n + 1:03d}"): SimulatedJudge(
                f"{n}", float(rng.uniform(0.8, 0.98)), str(kind), stream
            )
            for n, (kind, stream) in enumerate(zip(kinds, rng.spawn(judges), strict=True))
        }
        for _ in range(INVITATIONS):
            store.do(lambda ledger, at: invite(ledger, at, "judge"))
        queue = list(crowd)
        while queue and store.ledger.items.judged.sum() < judgments:
            began, person = now[0], queue.pop(0)
            if work_assignment(store, person, crowd[person], truth, rng, now):
                queue.append(person)
            now[0] = min(began + pause * rng.exponential(), end)  # judges work at the same time
        say(f"{store.ledger.items.judged.sum():,} judgments")
    finally:
        store.close()


def lead_session(folder: Path) -> str:
    """Add a lead, and return their session."""
    store = open_store(load_campaign(folder))
    try:

        def join(ledger: Ledger, now: float) -> Change:
            number = ledger.next_id(schema.people)
            row = {"id": number, "at": now, "name": f"Lea {number}", "role": "lead", "outside": None, "language": "en"}
            return Change([(schema.people, row)], number, ("benchmark", "lead added", {}))

        person = store.do(join)
        return Signer(load_key(folder)).session(person, 0, 12, store.clock())
    finally:
        store.close()


def fetch(port: int, session: str, path: str, body: object = None, **headers: str) -> tuple[bytes, dict[str, str]]:
    """Return the answer to one request of a session, and its headers."""
    ask = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
    if body is not None:
        ask.data = json.dumps(body).encode()
        headers |= {"Content-Type": "application/json"}
    for name, value in ({"Cookie": f"{COOKIE}={session}", "Authorization": f"Bearer {session}"} | headers).items():
        ask.add_header(name, value)
    with urllib.request.urlopen(ask, timeout=60) as answer:
        return answer.read(), dict(answer.headers)


def server_cpu(pid: int) -> float:
    """Return the CPU seconds of a process without its children, which fit the consensus."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(server: Server, request: Callable[[], bytes], before: Callable[[], object] = lambda: None) -> Cost:
    """Return what a request costs; ``before`` is called before each and does not count."""
    request()
    times, cpu, size = [], 0.0, 0
    for _ in range(OPENED):
        before()
        used, began = server_cpu(server.pid), time.perf_counter()
        size = len(request())
        times.append(time.perf_counter() - began)
        cpu += server_cpu(server.pid) - used
    return Cost(size, cpu / OPENED, median(times))


class Overview:
    """A page of the overview that is open, which asks for the parts that have changed."""

    def __init__(self, get: Callable[[str], tuple[bytes, dict[str, str]]]) -> None:
        self.get = get
        self.versions = dict(VERSION.findall(get("/desk")[0].decode()))

    def refresh(self) -> bytes:
        """Ask for what has changed, and keep it."""
        answer, _ = self.get(f"/desk/live?have={'.'.join(self.versions.values())}")
        self.versions |= dict(VERSION.findall(answer.decode()))
        return answer


class Judging:
    """A judge who answers one document after another."""

    def __init__(self, ask: Callable[[str, object], tuple[bytes, dict[str, str]]]) -> None:
        self.ask = ask
        self.set = json.loads(ask("/api/assignment", {})[0])["set"]
        self.answered = 0

    def answer(self) -> None:
        """Answer a document, or the first one again."""
        slot = self.answered % len(self.set["documents"])
        self.answered += 1
        row = {"key": f"desk {self.answered}", "slot": slot, "relevance": 1, "told": True, "rank": slot + 1}
        self.ask("/api/answers", {"set": self.set["token"], "answers": [{**row, "seconds": 7.5, "comment": ""}]})


def measure() -> list[Claim]:
    """Measure every page of the desk and the refresh of the overview."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "campaign"
        build(folder)
        refresh(folder)
        costs = measure_folder(folder)
    rows = [[name, *_cells(BEFORE.get(name)), *_cells(now)] for name, now in costs.items()]
    head = ("page", "before: bytes", "CPU, s", "time, s", "now: bytes", "CPU, s", "time, s")
    return [Claim("Pages of the desk", description(__doc__), head, rows)]


def measure_folder(folder: Path) -> dict[str, Cost]:
    """Return what each page of a campaign costs."""
    session, (judge,) = lead_session(folder), add_judges(folder, 1, "Measured")
    with Server(folder) as server:
        server.start(judge, within=180.0)
        get = partial(fetch, server.port, session)
        costs = {name: cost(server, lambda path=path: get(path)[0]) for name, path in PAGES.items()}  # type: ignore[misc]
        overview, judging = Overview(get), Judging(partial(fetch, server.port, judge))

        def judged() -> None:
            judging.answer()
            time.sleep(PAUSE)

        costs["refresh, nothing happened"] = cost(server, overview.refresh, lambda: time.sleep(PAUSE))
        costs["refresh, a document was judged"] = cost(server, overview.refresh, judged)
        return costs


def _cells(cost: Cost | tuple[int, float, float] | None) -> list[str]:
    """Return a cost as cells of a table."""
    if cost is None:
        return ["", "", ""]
    size, cpu, seconds = cost
    return [f"{size:,}", f"{cpu:.3f}", f"{seconds:.3f}"]


if __name__ == "__main__":
    if len(sys.argv) > 1:  # build a campaign to look at
        build(Path(sys.argv[1]))
        refresh(sys.argv[1])
    else:
        print(*measure(), sep="\n", file=sys.stdout)
