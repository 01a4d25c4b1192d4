"""Claim: whatever fails, the studio loses nothing that it has acknowledged, and recovers without a person.

Faults: `adjudge serve` as a process, with simulated judges who send each request again until it is acknowledged. Each
row is one kind of fault. After it, every acknowledged answer, set, assignment and code must exist once, no item may
have more judgments than allowed, nobody may judge an item twice, and the audit log must be valid. "Answers afterwards"
were acknowledged after the fault by the same process, or after the studio was started again with the same command.
Power cuts: the studio's writes and flushes are recorded with strace, and the files of SQLite are built again as they
may be after a power cut: writes that were flushed are there, of all others a random part of the sectors. As a check of
the method, the same is done as if the studio had flushed nothing: then answers must be missing.
Flood: a judge who writes as much as they can for a simulated hour, with the default limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from adjudge.errors import AdjudgeError
from adjudge.studio.backups import back_up
from adjudge.studio.studio import open_studio, reading_campaign
from studies.benchmarks.claim import Claim, say
from studies.benchmarks.power_cut import build, files_after, read_operations, recorder
from studies.benchmarks.studio_campaign import process_tree
from studies.benchmarks.studio_kill import (
    Acknowledged,
    RepeatingJudge,
    Trial,
    faults,
    killed,
    outages,
    run_outage,
    wait_until,
)

HOW = [" ".join(part.split()) for part in re.split(r"\n(?=\w+(?: \w+)?: )", __doc__.split("\n\n")[1])]
FILES = 8_192  # that this process may open
HALF = b"POST /api/answers HTTP/1.1\r\nHost: studio\r\nContent-"  # the begin of a request
CLOCK = """\
import os, time

real = time.time
def shifted():
    try:
        with open(os.environ["ADJUDGE_TEST_CLOCK"]) as file:
            return real() + float(file.read() or 0)
    except (OSError, ValueError):
        return real()
time.time = shifted
"""


# Connections


@contextlib.contextmanager
def half_open_connections(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Open many connections that begin a request and stop."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, FILES)), hard))
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(count):
            sockets.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20)))
            sockets[-1].sendall(HALF)
        yield sockets
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def count_closed(sockets: list[socket.socket], within: float = 30.0) -> int:
    """Return how many connections the server closes within some seconds."""
    waiting = {each.fileno() for each in sockets}
    poll = select.poll()
    for number in waiting:
        poll.register(number, select.POLLIN)

    def gone() -> bool:
        for number, _ in poll.poll(100):  # the server sends nothing, so that these are at their end
            poll.unregister(number)
            waiting.discard(number)
        return not waiting

    wait_until(gone, within)
    return len(sockets) - len(waiting)


def half_open(folder: Path, count: int) -> dict[str, Any]:
    """Let judges work while many connections are open that ask for nothing."""
    trial, result = Trial(folder, 4, judges=4), {"opened": 0, "during": 0, "closed": 0}
    with trial.server as server:
        server.start(trial.sessions[0])

        def end() -> None:
            with half_open_connections(server.port, count) as sockets:
                result["opened"], before = len(sockets), len(trial.acknowledged.answers)
                wait_until(lambda: len(trial.acknowledged.answers) >= before + 20)
                result["during"] = len(trial.acknowledged.answers) - before
                result["closed"] = count_closed(sockets)
            server.kill()

        asyncio.run(trial.until(end))
    return {**result, "faults": trial.faults()}


class CuttingProxy:
    """A proxy between judges and studio that cuts each connection after a random number of bytes."""

    def __init__(self, port: int, seed: int = 0, most: int = 8_000) -> None:
        self.target, self.rng, self.most, self.cuts = port, random.Random(seed), most, 0
        self.port, self._loop = 0, asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> CuttingProxy:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self) -> None:
        """Serve until the loop is stopped."""
        server = self._loop.run_until_complete(asyncio.start_server(self._connect, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(_end_tasks())
        self._loop.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass bytes on in both directions until the connection is cut."""
        left, streams = [self.rng.randint(1, self.most)], [writer]
        try:
            there, to = await asyncio.open_connection("127.0.0.1", self.target)
            streams.append(to)
            await asyncio.gather(self._pass_on(reader, to, left), self._pass_on(there, writer, left))
        except (OSError, EOFError, asyncio.CancelledError):
            self.cuts += left[0] <= 0
        finally:
            for stream in streams:
                stream.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: list[int]) -> None:
        """Pass bytes on until none are left, then fail."""
        while data := await reader.read(4_096):
            writer.write(data[: max(0, left[0])])
            left[0] -= len(data)
            await writer.drain()
            if left[0] <= 0:
                raise EOFError
        raise EOFError


async def _end_tasks() -> None:
    """Cancel all other tasks, those that they begin too, and let their connections close."""
    this = asyncio.current_task()
    while tasks := {task for task in asyncio.all_tasks() if task is not this}:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.sleep(0.1)  # an aborted connection is closed by a later turn of the loop


def proxy_cuts(folder: Path, answers: int = 150) -> dict[str, Any]:
    """Let judges work through a proxy that cuts their connections at random, until so many answers are acknowledged."""
    trial = Trial(folder, 4, judges=6)
    with trial.server as server:
        server.start(trial.sessions[0])
        with CuttingProxy(server.port) as proxy:
            for judge in trial.judges:
                judge.server = SimpleNamespace(port=proxy.port)  # type: ignore[assignment]
            asyncio.run(_persist(trial, lambda: len(trial.acknowledged.answers) >= answers))
            cuts = proxy.cuts
        server.kill()
    return {"cuts": cuts, "answers": len(trial.acknowledged.answers), "faults": trial.faults()}


async def _persist(trial: Trial, over: Callable[[], bool], within: float = 60.0) -> None:
    """Let judges work, and come back whenever their connection is cut."""
    end = time.monotonic() + within

    async def come_back(judge: RepeatingJudge) -> None:
        while True:
            await judge.work()
            judge.line.close()
            await asyncio.sleep(0.02)

    working = [asyncio.create_task(come_back(judge)) for judge in trial.judges]
    while not over() and time.monotonic() < end:
        await asyncio.sleep(0.05)
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    for judge in trial.judges:
        judge.line.close()


# The clock


def clock_jumps(folder: Path, jumps: tuple[float, ...] = (3e7, -3e8, 0.0, 86_400.0)) -> dict[str, Any]:
    """Let judges work while the clock jumps by these seconds, and after a start with a clock that is a day late."""
    shift = folder.parent / "shift"
    tools = folder.parent / "clock"
    tools.mkdir()
    (tools / "sitecustomize.py").write_text(CLOCK)
    shift.write_text("0")
    changed = {"ADJUDGE_TEST_CLOCK": str(shift), "PYTHONPATH": f"{tools}:{os.environ.get('PYTHONPATH', '')}"}
    trial = Trial(folder, 4, judges=6)
    counts = []
    with environment(changed), trial.server as server:
        server.start(trial.sessions[0])

        def end() -> None:
            for jump in jumps:
                shift.write_text(str(jump))
                before = len(trial.acknowledged.answers)
                wait_until(lambda: len(trial.acknowledged.answers) >= before + 20)  # noqa: B023 - called at once
                counts.append(len(trial.acknowledged.answers) - before)
            server.kill()

        asyncio.run(trial.until(end))
        shift.write_text("-86400")
        server.start(trial.sessions[0])
        before = len(trial.acknowledged.answers)
        asyncio.run(trial.until(lambda: wait_then_kill(trial, before + 20)))
    after = len(trial.acknowledged.answers) - before
    return {"after jumps": counts, "after a start in the past": after, "faults": trial.faults()}


def wait_then_kill(trial: Trial, answers: int) -> None:
    """Kill the server when so many answers are acknowledged."""
    wait_until(lambda: len(trial.acknowledged.answers) >= answers)
    trial.server.kill()


@contextlib.contextmanager
def environment(changed: dict[str, str]) -> Iterator[None]:
    """Change variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


# PostgreSQL


class Postgres:
    """A PostgreSQL server of our own with flushes on, which can be killed and started again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="adjudge-pg"))  # a socket's path must be short
        self.programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
        self.user = "postgres" if os.geteuid() == 0 else None  # root may not run the server
        if self.user:
            shutil.chown(self.folder, self.user)
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "adjudge", "--auth=trust", "--no-sync")

    @property
    def url(self) -> str:
        """The URL of its database."""
        return f"postgresql+psycopg://adjudge@/postgres?host={self.folder}"

    def _run(self, program: str, *args: str) -> None:
        """Run one of PostgreSQL's programs."""
        command = [str(self.programs / program), *args]
        subprocess.run(command, check=True, user=self.user, cwd=self.folder, capture_output=True, timeout=120)

    def start(self) -> None:
        """Start the server; after it was killed, it recovers by itself."""
        options = f"-k {self.folder} -c listen_addresses=''"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        self._run("pg_ctl", "-D", data, "-w", "-t", "60", "-l", log, "-o", options, "start")

    def kill(self) -> None:
        """Kill all of its processes with SIGKILL."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        pids = process_tree(first)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() and _lives(pid) for pid in pids), 10)

    def __enter__(self) -> Postgres:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


def _lives(pid: int) -> bool:
    """Return whether a process is more than an entry that its parent has not read."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


class PostgresTrial(Trial):
    """A trial whose faults are looked for in a backup of its PostgreSQL database."""

    down = False

    def faults(self) -> list[str]:
        """Return the faults so far; none while the database cannot be read."""
        if self.down:
            return []
        with tempfile.TemporaryDirectory() as temporary, reading_campaign(self.folder) as (campaign, connection):
            back_up(connection, campaign, Path(temporary) / "backup.zip")
            with zipfile.ZipFile(Path(temporary) / "backup.zip") as archive:
                archive.extract("studio.db", temporary)
            return faults(Path(temporary), self.acknowledged)


def postgres_killed(folder: Path, rounds: int) -> list[dict[str, Any]]:
    """Kill PostgreSQL while judges work, and start it again; the studio keeps running."""

    def outage(postgres: Postgres) -> Callable[[Trial], contextlib.AbstractContextManager[None]]:
        @contextlib.contextmanager
        def dead(trial: Trial) -> Iterator[None]:
            postgres.kill()
            trial.down = True  # type: ignore[attr-defined]
            yield
            postgres.start()
            trial.down = False  # type: ignore[attr-defined]

        return dead

    results = []
    for n in range(rounds):
        with Postgres() as postgres, environment({"ADJUDGE_DATABASE": postgres.url}):
            results.append(run_outage(folder / str(n), outage(postgres), trial_of=PostgresTrial))
    return results


# The power


class TimedSet(set[str]):
    """A set that knows when each of its members was added."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[str, float] = {}

    def add(self, member: str) -> None:
        """Add a member."""
        self.update([member])

    def update(self, *members: Any) -> None:
        """Add members."""
        now = time.time()
        for member in (each for group in members for each in group):
            self.at.setdefault(member, now)
            super().add(member)

    def until(self, at: float) -> set[str]:
        """Return the members that were added before a time."""
        return {member for member, added in self.at.items() if added <= at}


def power_cuts(folder: Path, cuts: int, answers: int = 150, seed: int = 0) -> dict[str, Any]:
    """Record a run of the studio, and build its files as after power cuts at random moments."""
    rng = random.Random(seed)
    trial = Trial(folder, 4, judges=6)
    trial.acknowledged = Acknowledged(TimedSet(), TimedSet(), TimedSet(), TimedSet())
    for judge in trial.judges:
        judge.acknowledged = trial.acknowledged
    before = {name: (folder / name).read_bytes() for name in ("studio.db",)}
    logs = folder.parent / "strace"
    logs.mkdir()
    trial.server.prefix = recorder(folder, logs / "log")
    with trial.server as server:
        server.start(trial.sessions[0])
        began = time.time()
        asyncio.run(trial.until(lambda: wait_then_kill(trial, answers)))
        ended = time.time()
    operations = read_operations(logs.iterdir())
    result: dict[str, Any] = {"answers": len(trial.acknowledged.answers), "writes": 0, "faults": [], "unrecovered": 0}
    result["writes"] = sum(operation.kind == "write" for operation in operations)
    result["flushes"] = sum(operation.kind == "flush" for operation in operations)
    out, lost_unflushed = folder.parent / "cut", 0
    for n in range(cuts):
        at = ended if n == 0 else began + rng.random() * (ended - began)
        known = Acknowledged(*(group.until(at) for group in trial.acknowledged))  # type: ignore[attr-defined]
        build(folder, out, files_after(before, operations, at, rng))
        result["unrecovered"] += not _opens(out)
        result["faults"] += faults(out, known)
        build(folder, out, files_after(before, operations, at, rng, flushes=False))
        lost_unflushed += bool(known.answers) and _lost(out, known)
    return {**result, "cuts": cuts, "found without flushes": lost_unflushed}


def _opens(folder: Path) -> bool:
    """Return whether the studio opens a campaign by itself."""
    try:
        open_studio(folder).store.close()
    except AdjudgeError as error:
        say(f"not opened: {error}")
        return False
    return True


def _lost(folder: Path, known: Acknowledged) -> bool:
    """Return whether something acknowledged is missing, or the database cannot even be read."""
    try:
        return bool(faults(folder, known))
    except Exception:
        return True


# The flood


def flood(folder: Path, hours: int = 1) -> float:
    """Return the megabytes by which the database grows while a judge writes all they can, with the default limits."""
    import httpx

    from adjudge.studio.web.app import create_app

    trial = Trial(folder, 10, judges=1)
    (folder / "campaign.toml").write_text("[gate]\nseconds = 0.0\n")  # default limits
    studio = open_studio(folder)
    now, before = [studio.now()], _size(folder)
    studio.store.clock = lambda: now[0]
    rng = np.random.default_rng(0)
    row = {"relevance": 1, "told": True, "rank": 1, "seconds": 1.0, "comment": "x" * 2_000}

    async def write() -> None:
        transport = httpx.ASGITransport(create_app(studio))
        headers = {"Authorization": f"Bearer {trial.sessions[0]}"}
        keys = iter(range(1_000_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://studio", headers=headers) as client:
            for _ in range(12 * hours):
                now[0] += 300.0
                while True:  # answers to all documents of the first set, then give the work up and take other work
                    taken = await client.post("/api/assignment", json={})
                    if taken.status_code != 200:
                        break
                    work, status = taken.json(), 200
                    while status == 200:
                        slots = rng.integers(0, len(work["set"]["documents"]), 100).tolist()
                        answers = [{"key": f"k{next(keys)}", "slot": slot, **row} for slot in slots]
                        body = {"set": work["set"]["token"], "answers": answers}
                        status = (await client.post("/api/answers", json=body)).status_code
                    given_up = await client.post("/api/release", json={"assignment": work["token"]})
                    if status == 429 or given_up.status_code != 200:
                        break

    studio.store.start()
    asyncio.run(write())
    studio.store.close()
    return (_size(folder) - before) / 1e6


def _size(folder: Path) -> int:
    """Return the bytes of a campaign's database, with its journal."""
    return sum(path.stat().st_size for path in folder.glob("studio.db*"))


# The suite


def kinds(rounds: int) -> Iterator[tuple[str, str, str, list[str]]]:
    """Run every fault, and yield its name, how often or long, the answers afterwards, and what is wrong."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary)
        result = killed(path / "kill", rounds)
        yield "studio killed (SIGKILL)", f"{rounds} times", f"{result['answers']:,}", result["faults"]
        for name, outage in outages():
            if outage is None:
                yield name, "not tried: only root can mount a small disk", "", []
            else:
                yield name, f"{outage['refused']} requests answered 503", f"{outage['after']:,}", outage["faults"]
        wrong, after, refused = [], 0, 0
        for outage in postgres_killed(path / "postgres", max(1, rounds // 10)):
            wrong, after, refused = wrong + outage["faults"], after + outage["after"], refused + outage["refused"]
        yield "PostgreSQL killed (SIGKILL) and started again", f"{refused} requests answered 503", f"{after:,}", wrong
        (path / "clock").mkdir()
        result = clock_jumps(path / "clock" / "campaign")
        after = sum(result["after jumps"]) + result["after a start in the past"]
        yield "clock: a year ahead, ten years back, a start a day late", "5 jumps", f"{after:,}", result["faults"]
        result = half_open(path / "half", 2_000)
        yield "half-open connections", f"{result['opened']:,}", f"{result['during']:,}", result["faults"]
        result = proxy_cuts(path / "proxy", 10 * rounds)
        yield "proxy that cuts connections", f"{result['cuts']:,} cuts", f"{result['answers']:,}", result["faults"]


def measure(rounds: int = 20) -> Iterator[Claim]:
    """Run the suite; it ends by itself."""
    rows = []
    for name, often, after, wrong in kinds(rounds):
        say(f"{name}: {often}, {after} answers, wrong: {wrong}")
        rows.append([name, often, after, "; ".join(wrong) or "none"])
    head = ("fault", "how often", "answers afterwards", "lost, duplicated or too many")
    yield Claim("Faults", HOW[0], head, rows)
    with tempfile.TemporaryDirectory() as temporary:
        result = power_cuts(Path(temporary) / "campaign", 2 * rounds)
        megabytes = flood(Path(temporary) / "flood")
    row = [str(result["cuts"]), f"{result['answers']:,}", f"{result['writes']:,}, {result['flushes']:,}"]
    row += [str(result["unrecovered"]), "; ".join(result["faults"]) or "none", str(result["found without flushes"])]
    head_cuts = ("power cuts", "acknowledged answers", "writes, flushes", "not opened again", "lost or wrong")
    yield Claim("Power cuts", HOW[1], (*head_cuts, "cuts with losses if nothing were flushed"), [row])
    yield Claim("Flood", HOW[2], ("judges", "hours", "growth of the database, MB"), [["1", "1", f"{megabytes:.1f}"]])


if __name__ == "__main__":
    for claim in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 20):
        print(claim.markdown(), flush=True)
