"""The studio killed with SIGKILL at random, with a full disk or a locked database: nothing acknowledged is lost.

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
from studies.benchmarks.studio_client import Line, Reply, quantile

K = 3  # judgments per item
JUDGES = 12
COUNTED = "('work', 'imported')"
OVER = "('passed', 'returned', 'expired', 'released')"

# Each query finds rows only if something is wrong.
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
    "items given again to a judge who has judged them": """
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


class Acknowledged(NamedTuple):
    """The keys, tokens and codes that the studio has acknowledged."""

    answers: set[str]  # keys
    finished: set[str]  # tokens of sets
    assignments: set[str]  # tokens
    codes: set[str]


def faults(folder: Path, acknowledged: Acknowledged, k: int = K) -> list[str]:
    """Return the faults in the database of a campaign, as sentences."""
    with contextlib.closing(sqlite3.connect(f"file:{folder / 'studio.db'}?mode=ro", uri=True, timeout=10)) as database:
        database.row_factory = sqlite3.Row
        messages = []
        for title, question in QUESTIONS.items():
            rows = database.execute(question, {"k": k} if ":k" in question else {}).fetchall()
            messages += [f"{title}: {len(rows)}, e.g. {tuple(rows[0])}"] if rows else []
        stored_keys = {
            "answers": "SELECT key FROM answers",
            "finished": 'SELECT token FROM sets JOIN finishes ON finishes."set" = sets.id',
            "assignments": "SELECT token FROM assignments",
            "codes": "SELECT code FROM outcomes",
        }
        for title, question in stored_keys.items():
            lost = getattr(acknowledged, title) - {row[0] for row in database.execute(question)}
            messages += [f"acknowledged and lost ({title}): {len(lost)}, e.g. {min(lost)}"] if lost else []
        entry = chain.first_broken_entry(dict(row) for row in database.execute("SELECT * FROM audit ORDER BY id"))
        messages += [f"the audit log is broken at entry {entry}"] if entry is not None else []
        messages += [f"SQLite: {row[0]}" for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        messages += [f"foreign key: {tuple(row)}" for row in database.execute("PRAGMA foreign_key_check")]
    return messages


class RepeatingJudge:
    """A judge who repeats requests that were not acknowledged, with the same key."""

    def __init__(self, server: Server, session: str, number: int, acknowledged: Acknowledged) -> None:
        self.server, self.number, self.acknowledged = server, number, acknowledged
        self.headers = f"Authorization: Bearer {session}\r\nContent-Type: application/json\r\n".encode()
        self.line = Line(server.port)
        self.rng = random.Random(number)
        self.sent = 0
        self.pending: tuple[str, dict[str, Any]] | None = None  # the last request, if it was not answered
        self.refused: dict[int, int] = {}
        self.idle = False

    async def work(self) -> None:
        """Judge until the connection is lost."""
        self.line = Line(self.server.port)
        with contextlib.suppress(ConnectionError, OSError):
            if self.pending is not None:
                await self.post(*self.pending)
            while not self.idle:
                reply = await self.post("/api/assignment", {})
                while reply is not None and "set" in reply:
                    reply = await self.judge_set(reply["set"])
                if reply is not None and "review" in reply and reply["review"]["may"]["submit"]:
                    await self.post("/api/submit", {"assignment": reply["review"]["token"]})

    async def judge_set(self, set_: dict[str, Any]) -> dict[str, Any] | None:
        """Judge the remaining documents of a set, and finish it, sometimes together with the last answer."""
        grades = [int(document["title"][-1]) for document in set_["documents"]]
        order = sorted(range(len(grades)), key=lambda slot: -grades[slot])
        rest: list[dict[str, Any]] = []
        for rank, slot in enumerate(order, 1):
            if set_["documents"][slot]["told"]:
                continue
            self.sent += 1
            answer = {"key": f"{self.number}-{self.sent}", "slot": slot, "relevance": int(grades[slot] > 0)}
            answer |= {"told": True, "rank": rank, "seconds": 7.5, "comment": ""}
            if rank == len(order) and self.rng.random() < 0.5:
                rest = [answer]
            elif await self.post("/api/answers", {"set": set_["token"], "answers": [answer]}) is None:
                return None
        return await self.post("/api/finish", {"set": set_["token"], "answers": rest})

    async def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Send a request and record what is acknowledged; None if the studio refuses."""
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
        """Record what the studio has acknowledged."""
        answer: dict[str, Any] = json.loads(reply.body)
        if path == "/api/answers":
            self.acknowledged.answers.update(answer["saved"])
        elif path == "/api/finish":
            self.acknowledged.answers.update(sent["key"] for sent in body["answers"])
            self.acknowledged.finished.add(body["set"])
        elif path == "/api/assignment":
            self.acknowledged.assignments.add(answer["token"])
        elif path == "/api/submit":
            self.acknowledged.codes.add(answer["code"])
        return answer


class Trial:
    """A small campaign with its server and judges who repeat requests."""

    def __init__(self, folder: Path, rounds: int, judges: int = JUDGES) -> None:
        self.folder = folder
        per_round = 250  # judgments at most
        items = max(600, rounds * per_round // K)
        write_campaign(
            folder, Size(items // 20, 20, gold=40 + rounds * per_round // 30 // judges * 2, words=20), SETTINGS
        )
        self.sessions = add_judges(folder, judges, qualified=True)
        self.acknowledged = Acknowledged(set(), set(), set(), set())
        self.server = Server(folder, log=folder / "log")
        self.judges = [
            RepeatingJudge(self.server, session, n, self.acknowledged) for n, session in enumerate(self.sessions)
        ]

    def faults(self) -> list[str]:
        """Return the faults so far."""
        return faults(self.folder, self.acknowledged)

    def refused(self, status: int) -> int:
        """Return the number of replies with a status."""
        return sum(judge.refused.get(status, 0) for judge in self.judges)

    async def until(self, end: Callable[[], Any]) -> None:
        """Let judges work until the function ``end`` returns, which runs in a thread."""
        working = [asyncio.create_task(judge.work()) for judge in self.judges]
        await asyncio.to_thread(end)
        done, waiting = await asyncio.wait(working, timeout=20)
        for task in waiting:
            task.cancel()
        for task in done:
            task.result()
        for judge in self.judges:
            judge.line.close()


def wait_until(condition: Callable[[], bool], within: float = 30.0) -> None:
    """Wait for a condition, for at most some seconds."""
    end = time.perf_counter() + within
    while not condition() and time.perf_counter() < end:
        time.sleep(0.001)


def killed(folder: Path, rounds: int, seed: int = 0, most: int = 60) -> dict[str, Any]:
    """Kill the studio several times while judges work, and return faults and restart times.

    It is killed a few random milliseconds after a random number of answers, which can be 0.
    """
    rng = random.Random(seed)
    fault_messages: list[str] = []
    starts: list[float] = []
    trial = Trial(folder, rounds)
    with trial.server as server:
        for _ in range(rounds):
            starts.append(server.start(trial.sessions[0]))
            fault_messages += trial.faults()
            answers, later = len(trial.acknowledged.answers) + rng.randint(0, most), rng.random() * 0.02

            def end(answers: int = answers, later: float = later) -> None:
                wait_until(lambda: len(trial.acknowledged.answers) >= answers)
                time.sleep(later)
                server.kill()

            asyncio.run(trial.until(end))
        starts.append(server.start(trial.sessions[0]))
        fault_messages += trial.faults()
    refused = {status: trial.refused(status) for judge in trial.judges for status in judge.refused}
    return {"faults": fault_messages, "starts": starts, "answers": len(trial.acknowledged.answers), "refused": refused}


def run_outage(
    folder: Path,
    outage: Callable[[Trial], contextlib.AbstractContextManager[None]],
    seconds: float = 2.0,
    trial_of: type[Trial] = Trial,
) -> dict[str, Any]:
    """Let judges work before, during and after an outage in which the studio cannot write."""
    trial = trial_of(folder, 10)
    counts: list[int] = []
    fault_messages: list[str] = []

    def count() -> None:
        counts.append(len(trial.acknowledged.answers))

    with trial.server as server:
        server.start(trial.sessions[0])

        def end() -> None:
            wait_until(lambda: len(trial.acknowledged.answers) >= 20)
            count()
            with outage(trial):
                wait_until(lambda: trial.refused(503) > 0)
                time.sleep(0.5)  # for replies that were already sent
                count()
                time.sleep(seconds)
                count()
                fault_messages.extend(trial.faults())
            wait_until(lambda: len(trial.acknowledged.answers) >= counts[-1] + 20)
            count()
            server.kill()

        asyncio.run(trial.until(end))
        server.start(trial.sessions[0])
        fault_messages += trial.faults()
    before, began, ended, after = counts
    refused = trial.refused(503)
    return {
        "faults": fault_messages,
        "before": before,
        "during": ended - began,
        "after": after - ended,
        "refused": refused,
    }


@contextlib.contextmanager
def no_file_growth(trial: Trial) -> Iterator[None]:
    """Let no file of the server grow, as on a full disk."""
    resource.prlimit(trial.server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    resource.prlimit(trial.server.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextlib.contextmanager
def full_disk(trial: Trial) -> Iterator[None]:
    """Fill the disk, which must be a small one."""
    filler = trial.folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1024))
    yield
    filler.unlink()


@contextlib.contextmanager
def locked(trial: Trial) -> Iterator[None]:
    """Lock the database from another process for longer than the studio waits."""
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
    """Return a folder on a separate small disk; None without the rights of root."""
    with tempfile.TemporaryDirectory() as temporary:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", temporary], capture_output=True)
        try:
            yield Path(temporary) / "campaign" if done.returncode == 0 else None
        finally:
            if done.returncode == 0:
                subprocess.run(["umount", "--lazy", temporary], check=True)


def outages() -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Run the outages, and yield their names and results."""
    with tempfile.TemporaryDirectory() as temporary:
        yield "no file can grow (EFBIG)", run_outage(Path(temporary) / "a", no_file_growth)
        yield "database locked by another process", run_outage(Path(temporary) / "b", locked)
    with small_disk() as folder:
        yield "disk full (ENOSPC)", None if folder is None else run_outage(folder, full_disk)


def lines(rounds: int) -> tuple[Sequence[str], Sequence[str]]:
    """Kill the studio several times, and return the head and the row of the table."""
    with tempfile.TemporaryDirectory() as temporary:
        result = killed(Path(temporary) / "campaign", rounds)
    head = ("rounds", "acknowledged answers", "lost, duplicated or too many", "restart p50, s", "longest, s (goal 3)")
    starts = result["starts"][1:]
    row = (
        str(rounds),
        f"{result['answers']:,}",
        "; ".join(result["faults"]) or "none",
        f"{quantile(starts, 0.5):.2f}",
        f"{max(starts):.2f}",
    )
    return head, row


if __name__ == "__main__":
    print(lines(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
    for outage, outcome in outages():
        print(outage, outcome)
