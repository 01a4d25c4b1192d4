"""The studio killed with SIGKILL at random moments, its disk full, its database locked: what was acknowledged stays.

``python -m studies.benchmarks.studio_kill 20`` kills it twenty times.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.studio.record import audit as chain
from studies.benchmarks.studio_campaign import SETTINGS, Server, Size, add_judges, write_campaign
from studies.benchmarks.studio_wire import Line, Reply, quantile

K = 3  # judgments an item
JUDGES = 12
COUNTED = "('work', 'imported')"
OVER = "('passed', 'returned', 'expired', 'released')"

# What must never be: each question finds rows only where something is wrong.
QUESTIONS = {
    "answers saved twice": "SELECT key FROM answers GROUP BY key HAVING count(*) > 1",
    "items beyond k": f"""
        SELECT item, sum(n) FROM (
            SELECT item, count(*) AS n FROM judgments WHERE use IN {COUNTED} AND relevance IS NOT NULL GROUP BY item
            UNION ALL
            SELECT slots.item, count(*) FROM slots JOIN sets ON sets.id = slots."set"
            WHERE sets.use = 'work' AND sets.assignment NOT IN (SELECT assignment FROM outcomes WHERE outcome IN {OVER})
            GROUP BY slots.item)
        GROUP BY item HAVING sum(n) > :k""",
    "items judged twice by one judge": "SELECT person, item FROM judgments GROUP BY person, item HAVING count(*) > 1",
    "items given anew to who has judged them": """
        SELECT assignments.person, slots.item FROM assignments JOIN sets ON sets.assignment = assignments.id
        JOIN slots ON slots."set" = sets.id
        JOIN judgments ON judgments.person = assignments.person AND judgments.item = slots.item
        WHERE judgments.assignment < assignments.id""",
    "gold shown twice to one judge": """
        SELECT assignments.person, sets.name FROM sets JOIN assignments ON assignments.id = sets.assignment
        WHERE sets.use = 'gold' GROUP BY assignments.person, sets.name HAVING count(*) > 1""",
    "judges with two open assignments": f"""
        SELECT person FROM assignments WHERE id NOT IN (SELECT assignment FROM outcomes WHERE outcome IN {OVER})
        GROUP BY person HAVING count(*) > 1""",
    "assignments without all their documents": """
        SELECT assignments.id FROM assignments LEFT JOIN sets ON sets.assignment = assignments.id
        LEFT JOIN slots ON slots."set" = sets.id WHERE slots.item IS NULL""",
    "passed work without all its judgments": """
        SELECT assignments.id FROM outcomes JOIN assignments ON assignments.id = outcomes.assignment
        JOIN sets ON sets.assignment = assignments.id JOIN slots ON slots."set" = sets.id
        LEFT JOIN judgments ON judgments.assignment = assignments.id AND judgments.item = slots.item
        WHERE outcomes.outcome = 'passed' AND assignments.kind = 'work' AND judgments.id IS NULL""",
    "judgments that are not the last answer": """
        SELECT judgments.id FROM judgments JOIN sets ON sets.assignment = judgments.assignment
        JOIN slots ON slots."set" = sets.id AND slots.item = judgments.item
        JOIN answers ON answers."set" = slots."set" AND answers.slot = slots.slot
        WHERE answers.id = (SELECT max(a.id) FROM answers AS a WHERE a."set" = slots."set" AND a.slot = slots.slot)
          AND (answers.relevance IS NOT judgments.relevance OR answers.rank IS NOT judgments.rank)""",
}


class Told(NamedTuple):
    """What the studio has acknowledged."""

    answers: set[str]  # keys
    finished: set[str]  # tokens of sets
    taken: set[str]  # tokens of assignments
    codes: set[str]


def faults(folder: Path, told: Told, k: int = K) -> list[str]:
    """Return everything in a campaign's database that may not be, as sentences."""
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'studio.db'}?mode=ro", uri=True, timeout=10)) as database:
        database.row_factory = sqlite3.Row
        found = []
        for what, question in QUESTIONS.items():
            rows = database.execute(question, {"k": k} if ":k" in question else {}).fetchall()
            found += [f"{what}: {len(rows)}, e.g. {tuple(rows[0])}"] if rows else []
        held = {
            "answers": "SELECT key FROM answers",
            "finished": 'SELECT token FROM sets JOIN finishes ON finishes."set" = sets.id',
            "taken": "SELECT token FROM assignments",
            "codes": "SELECT code FROM outcomes",
        }
        for what, question in held.items():
            lost = getattr(told, what) - {row[0] for row in database.execute(question)}
            found += [f"acknowledged and lost ({what}): {len(lost)}, e.g. {min(lost)}"] if lost else []
        entry = chain.first_broken_entry(dict(row) for row in database.execute("SELECT * FROM audit ORDER BY id"))
        found += [f"the audit log is broken at entry {entry}"] if entry is not None else []
        found += [f"SQLite: {row[0]}" for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        found += [f"foreign key: {tuple(row)}" for row in database.execute("PRAGMA foreign_key_check")]
    return found


class Stubborn:
    """A judge who sends again, under the same key, what was not acknowledged; goes on where the studio went on."""

    def __init__(self, server: Server, session: str, number: int, told: Told) -> None:
        self.server, self.number, self.told = server, number, told
        self.headers = f"Authorization: Bearer {session}\r\nContent-Type: application/json\r\n".encode()
        self.line = Line(server.port)
        self.rng = random.Random(number)
        self.sent = 0
        self.pending: tuple[str, dict[str, Any]] | None = None  # what was sent last and not answered
        self.refused: dict[int, int] = {}
        self.idle = False

    async def work(self) -> None:
        """Judge until the connection breaks."""
        self.line = Line(self.server.port)
        with contextlib.suppress(ConnectionError, OSError):
            if self.pending is not None:
                await self.post(*self.pending)
            while not self.idle:
                held = await self.post("/api/assignment", {})
                while held is not None and "set" in held:
                    held = await self.judge_set(held["set"])
                if held is not None and "review" in held and held["review"]["may"]["submit"]:
                    await self.post("/api/submit", {"assignment": held["review"]["token"]})

    async def judge_set(self, one: dict[str, Any]) -> dict[str, Any] | None:
        """Judge what is not judged yet in a set, and finish it, sometimes with the last answer on the way."""
        grades = [int(document["title"][-1]) for document in one["documents"]]
        order = sorted(range(len(grades)), key=lambda slot: -grades[slot])
        rest: list[dict[str, Any]] = []
        for rank, slot in enumerate(order, 1):
            if one["documents"][slot]["told"]:
                continue
            self.sent += 1
            answer = {"key": f"{self.number}-{self.sent}", "slot": slot, "relevance": int(grades[slot] > 0)}
            answer |= {"told": True, "rank": rank, "seconds": 7.5, "comment": ""}
            if rank == len(order) and self.rng.random() < 0.5:
                rest = [answer]
            elif await self.post("/api/answers", {"set": one["token"], "answers": [answer]}) is None:
                return None
        return await self.post("/api/finish", {"set": one["token"], "answers": rest})

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send, note what is acknowledged; None where the studio refuses and the judge has to look anew."""
        self.pending = (path, body)
        reply = await self.line.post(path, json.dumps(body).encode(), self.headers)
        if reply.status == 503 or reply.status == 429:
            self.refused[reply.status] = self.refused.get(reply.status, 0) + 1
            await asyncio.sleep(0.05)
            return None if path != "/api/answers" else await self.post(path, body)
        self.pending = None
        if reply.status != 200:
            self.refused[reply.status] = self.refused.get(reply.status, 0) + 1
            self.idle = reply.status == 409 and path == "/api/assignment"
            return None
        return self._acknowledged(path, body, reply)

    def _acknowledged(self, path: str, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """Note what the studio says it has kept."""
        answer: dict[str, Any] = json.loads(reply.body)
        if path == "/api/answers":
            self.told.answers.update(answer["saved"])
        elif path == "/api/finish":
            self.told.answers.update(one["key"] for one in body["answers"])
            self.told.finished.add(body["set"])
        elif path == "/api/assignment":
            self.told.taken.add(answer["token"])
        elif path == "/api/submit":
            self.told.codes.add(answer["code"])
        return answer


class Trial:
    """A small campaign, its server, and judges who do not give up."""

    def __init__(self, folder: Path, rounds: int, judges: int = JUDGES) -> None:
        self.folder = folder
        per_round = 250  # judgments, at the most
        items = max(600, rounds * per_round // K)
        write_campaign(
            folder, Size(items // 20, 20, gold=40 + rounds * per_round // 30 // judges * 2, words=20), SETTINGS
        )
        self.sessions = add_judges(folder, judges, qualified=True)
        self.told = Told(set(), set(), set(), set())
        self.server = Server(folder, log=folder / "log")
        self.judges = [Stubborn(self.server, one, n, self.told) for n, one in enumerate(self.sessions)]

    def faults(self) -> list[str]:
        """Return what is wrong by now."""
        return faults(self.folder, self.told)

    def refused(self, status: int) -> int:
        """Return how often the studio has refused with a status."""
        return sum(judge.refused.get(status, 0) for judge in self.judges)

    async def until(self, end: Callable[[], Any]) -> None:
        """Let judges work until something is done, in a thread, that ends it for them."""
        working = [asyncio.create_task(judge.work()) for judge in self.judges]
        await asyncio.to_thread(end)
        done, waiting = await asyncio.wait(working, timeout=20)
        for task in waiting:
            task.cancel()
        for task in done:
            task.result()
        for judge in self.judges:
            judge.line.close()


def wait_until(so: Callable[[], bool], within: float = 30.0) -> None:
    """Wait for something, for no longer than some seconds."""
    end = time.perf_counter() + within
    while not so() and time.perf_counter() < end:
        time.sleep(0.001)


def killed(folder: Path, rounds: int, seed: int = 0, most: int = 60) -> dict[str, Any]:
    """Kill the studio again and again while judges work; return what was found.

    It is killed a few random milliseconds after a random number of answers, none included.
    """
    rng = random.Random(seed)
    found: list[str] = []
    starts: list[float] = []
    trial = Trial(folder, rounds)
    with trial.server as server:
        for _ in range(rounds):
            starts.append(server.start(trial.sessions[0]))
            found += trial.faults()
            answers, later = len(trial.told.answers) + rng.randint(0, most), rng.random() * 0.02

            def end(answers: int = answers, later: float = later) -> None:
                wait_until(lambda: len(trial.told.answers) >= answers)
                time.sleep(later)
                server.kill()

            asyncio.run(trial.until(end))
        starts.append(server.start(trial.sessions[0]))
        found += trial.faults()
    refused = {status: trial.refused(status) for judge in trial.judges for status in judge.refused}
    return {"faults": found, "starts": starts, "answers": len(trial.told.answers), "refused": refused}


def hindered(
    folder: Path, hindrance: Callable[[Trial], contextlib.AbstractContextManager[None]], seconds: float = 2.0
) -> dict[str, Any]:
    """Let judges work before, during and after something that keeps the studio from writing."""
    trial = Trial(folder, 10)
    counts: list[int] = []
    found: list[str] = []

    def count() -> None:
        counts.append(len(trial.told.answers))

    with trial.server as server:
        server.start(trial.sessions[0])

        def end() -> None:
            wait_until(lambda: len(trial.told.answers) >= 20)
            count()
            with hindrance(trial):
                wait_until(lambda: trial.refused(503) > 0)
                time.sleep(0.5)  # what was on its way has come
                count()
                time.sleep(seconds)
                count()
                found.extend(trial.faults())
            wait_until(lambda: len(trial.told.answers) >= counts[-1] + 20)
            count()
            server.kill()

        asyncio.run(trial.until(end))
        server.start(trial.sessions[0])
        found += trial.faults()
    before, began, ended, after = counts
    refused = trial.refused(503)
    return {"faults": found, "before": before, "during": ended - began, "after": after - ended, "refused": refused}


@contextlib.contextmanager
def no_room(trial: Trial) -> Iterator[None]:
    """Let the server write no byte more to any file, as on a full disk."""
    resource.prlimit(trial.server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    resource.prlimit(trial.server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def full_disk(trial: Trial) -> Iterator[None]:
    """Fill the disk, which is to be a small one, to the last byte."""
    filler = trial.folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1024))
    yield
    filler.unlink()


@contextlib.contextmanager
def locked(trial: Trial) -> Iterator[None]:
    """Hold the database in another process's hands for longer than the studio waits."""
    program = (
        "import sqlite3, sys; held = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10);"
        "held.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(trial.folder / "studio.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdout.readline()
        yield
        other.stdin.close()


@contextlib.contextmanager
def small_disk(size: str = "64m") -> Iterator[Path | None]:
    """Return a folder on a disk of its own, which only root can have; none elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True)
        try:
            yield Path(place) / "campaign" if done.returncode == 0 else None
        finally:
            if done.returncode == 0:
                subprocess.run(["umount", "--lazy", place], check=True)


def hindrances() -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Try everything that keeps the studio from writing."""
    with tempfile.TemporaryDirectory() as place:
        yield "no file can grow (EFBIG)", hindered(Path(place) / "a", no_room)
        yield "database locked by another process", hindered(Path(place) / "b", locked)
    with small_disk() as folder:
        yield "disk full (ENOSPC)", None if folder is None else hindered(folder, full_disk)


def lines(rounds: int) -> tuple[Sequence[str], Sequence[str]]:
    """Kill the studio; return the head and the row of the table."""
    with tempfile.TemporaryDirectory() as place:
        found = killed(Path(place) / "campaign", rounds)
    head = ("rounds", "acknowledged answers", "lost, duplicated or too many", "restart p50, s", "longest, s (goal 3)")
    starts = found["starts"][1:]
    row = (
        str(rounds),
        f"{found['answers']:,}",
        "; ".join(found["faults"]) or "none",
        f"{quantile(starts, 0.5):.2f}",
        f"{max(starts):.2f}",
    )
    return head, row


if __name__ == "__main__":
    print(lines(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
    for hindrance, outcome in hindrances():
        print(hindrance, outcome)
