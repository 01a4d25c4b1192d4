"""Simulated judges at the studio's judge API, as a process of its own.

Reads what to do as JSON from standard input (``Load``), prints what it found as JSON. Judges are right: the title of
a generated document ends with its grade.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

from studies.benchmarks.studio_wire import Line, Reply, Watch, run


class Load(NamedTuple):
    """How judges go about their work."""

    port: int
    sessions: list[str]
    warm: float = 5.0  # seconds before anything counts, in which judges also qualify
    seconds: float = 30.0
    think: float = 0.0  # mean seconds a judgment; 0: the next is sent when the last is acknowledged
    documents: bool = False  # whether judges also load the documents
    prefix: str = ""  # of the keys of answers


class RefusedError(Exception):
    """An answer that a judge cannot go on from."""


class Judge:
    """One judge: takes assignments, judges document by document, finishes sets, submits."""

    def __init__(self, load: Load, session: str, watch: Watch, number: int) -> None:
        self.load, self.watch, self.number = load, watch, number
        self.line = Line(load.port)
        self.headers = f"Authorization: Bearer {session}\r\nContent-Type: application/json\r\n".encode()
        self.rng = random.Random(number)
        self.sent = 0
        self.due = 0.0
        self.kept: list[str] = []  # keys of acknowledged answers

    async def work(self) -> None:
        """Judge until time is up."""
        if self.load.think:  # not all at once
            await asyncio.sleep(self.rng.random() * min(self.load.think, self.load.warm))
        self.due = time.perf_counter()
        while not self.watch.over():
            reply = await self.post("assignment", "/api/assignment", b"{}")
            if reply.status == 409:  # nothing to do
                return
            held = json.loads(reply.body)
            while "set" in held and not self.watch.over():
                held = await self.judge_set(held["set"])
            if "review" in held and held["review"]["may"]["submit"] and held["review"]["kind"] == "work":
                await self.post("close", "/api/submit", b'{"assignment":"%b"}' % held["review"]["token"].encode())
            elif "review" in held and not held["review"]["passed"]:
                raise RefusedError(f"the work of a right judge was returned: {held['review']['criteria']}")
        self.line.close()

    async def judge_set(self, one: dict[str, Any]) -> dict[str, Any]:
        """Judge the documents of a set, each for itself, and leave it for the next."""
        token = one["token"].encode()
        grades = [int(document["title"][-1]) for document in one["documents"]]
        order = sorted(range(len(grades)), key=lambda slot: -grades[slot])
        for rank, slot in enumerate(order, 1):
            if self.load.documents:
                await self.watch.timed(
                    "document", lambda slot=slot: self.line.get(one["documents"][slot]["url"], self.headers)
                )
            await self.thought()
            self.sent += 1
            key = b"%b%d-%d" % (self.load.prefix.encode(), self.number, self.sent)
            body = (
                b'{"set":"%b","answers":[{"key":"%b","slot":%d,"relevance":%d,"told":true,"rank":%d,"seconds":7.5,'
                b'"comment":""}]}' % (token, key, slot, grades[slot] > 0, rank)
            )
            reply = await self.post("submit", "/api/answers", body, since=self.due if self.load.think else None)
            if reply.status == 200 and b'"%b"' % key in reply.body:
                self.kept.append(key.decode())
        return json.loads((await self.post("next", "/api/finish", b'{"set":"%b","answers":[]}' % token)).body)

    async def thought(self) -> None:
        """Wait until the next judgment is due: of itself, however long the last answer took."""
        if self.load.think:
            self.due += self.load.think * (0.5 + self.rng.random())
            await asyncio.sleep(max(0.0, self.due - time.perf_counter()))

    async def post(self, kind: str, path: str, body: bytes, since: float | None = None) -> Reply:
        """Post, again where the studio asks for patience."""
        while True:
            reply = await self.watch.timed(kind, lambda: self.line.post(path, body, self.headers), since)
            if reply.status not in (429, 503):
                break
            await asyncio.sleep(0.5)
        if reply.status >= 400 and reply.status != 409:
            raise RefusedError(f"{path} {body.decode()}: {reply.status} {reply.body.decode()}")
        return reply


async def judged(load: Load) -> dict[str, Any]:
    """Let all judges work; return what was measured."""
    begin = time.perf_counter() + load.warm
    watch = Watch(begin, begin + load.seconds)
    judges = [Judge(load, session, watch, number) for number, session in enumerate(load.sessions)]
    clock = asyncio.create_task(watch.clocked())
    ends = await asyncio.gather(*(judge.work() for judge in judges), return_exceptions=True)
    await clock
    problems = [repr(end) for end in ends if isinstance(end, BaseException)]
    kept = [key for judge in judges for key in judge.kept]
    return {**watch.told(), "kept": kept, "problems": problems[:5]}


class Elsewhere:
    """Judges in a process of their own."""

    def __init__(self, load: Load) -> None:
        self.told = tempfile.TemporaryFile("w+")  # noqa: SIM115  # a pipe would hold 64 kB, and nobody reads yet
        command = [sys.executable, "-m", "studies.benchmarks.studio_load"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.told, text=True)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(load._asdict()))
        self.process.stdin.close()

    def found(self) -> dict[str, Any]:
        """Return what they found, once they are done."""
        if self.process.wait():
            raise RuntimeError("the process of the judges failed")
        with self.told as file:
            file.seek(0)
            told: dict[str, Any] = json.load(file)
        return told


if __name__ == "__main__":
    print(json.dumps(run(judged(Load(**json.load(sys.stdin))))))
