"""Simulated judges who use the judge API of the studio, in a separate process.

The process reads its settings (``Load``) as JSON from standard input, and prints its measurements as JSON. Judges are
right, because the title of a generated document ends with its grade.
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

from studies.benchmarks.studio_client import Line, Reply, Watch, run


class Load(NamedTuple):
    """The settings of simulated judges."""

    port: int
    sessions: list[str]
    warm: float = 5.0  # seconds before the measurement, in which judges also qualify
    seconds: float = 30.0
    think: float = 0.0  # mean seconds per judgment; 0: the next is sent when the last is acknowledged
    documents: bool = False  # whether judges also load the documents
    prefix: str = ""  # of the keys of answers


class RefusedError(Exception):
    """A reply after which a judge cannot continue."""


class Judge:
    """One judge: takes assignments, judges document by document, finishes sets, submits."""

    def __init__(self, load: Load, session: str, watch: Watch, number: int) -> None:
        self.load, self.watch, self.number = load, watch, number
        self.line = Line(load.port)
        self.headers = f"Authorization: Bearer {session}\r\nContent-Type: application/json\r\n".encode()
        self.rng = random.Random(number)
        self.sent = 0
        self.due = 0.0
        self.acknowledged: list[str] = []  # keys of acknowledged answers

    async def work(self) -> None:
        """Judge until time is up."""
        if self.load.think:  # judges start at different times
            await asyncio.sleep(self.rng.random() * min(self.load.think, self.load.warm))
        self.due = time.perf_counter()
        while not self.watch.over():
            reply = await self.post("assignment", "/api/assignment", b"{}")
            if reply.status == 409:  # nothing to do
                return
            reply_body = json.loads(reply.body)
            while "set" in reply_body and not self.watch.over():
                reply_body = await self.judge_set(reply_body["set"])
            if (
                "review" in reply_body
                and reply_body["review"]["may"]["submit"]
                and reply_body["review"]["kind"] == "work"
            ):
                await self.post("close", "/api/submit", b'{"assignment":"%b"}' % reply_body["review"]["token"].encode())
            elif "review" in reply_body and not reply_body["review"]["passed"]:
                raise RefusedError(f"the work of a right judge was returned: {reply_body['review']['criteria']}")
        self.line.close()

    async def judge_set(self, set_: dict[str, Any]) -> dict[str, Any]:
        """Judge the documents of a set one by one, and ask for the next set."""
        token = set_["token"].encode()
        grades = [int(document["title"][-1]) for document in set_["documents"]]
        order = sorted(range(len(grades)), key=lambda slot: -grades[slot])
        for rank, slot in enumerate(order, 1):
            if self.load.documents:
                await self.watch.timed(
                    "document", lambda slot=slot: self.line.get(set_["documents"][slot]["url"], self.headers)
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
                self.acknowledged.append(key.decode())
        return json.loads((await self.post("next", "/api/finish", b'{"set":"%b","answers":[]}' % token)).body)

    async def thought(self) -> None:
        """Wait until the next judgment is due, which does not depend on the time of the last reply."""
        if self.load.think:
            self.due += self.load.think * (0.5 + self.rng.random())
            await asyncio.sleep(max(0.0, self.due - time.perf_counter()))

    async def post(self, kind: str, path: str, body: bytes, since: float | None = None) -> Reply:
        """Post, and repeat if the studio is busy."""
        while True:
            reply = await self.watch.timed(kind, lambda: self.line.post(path, body, self.headers), since)
            if reply.status not in (429, 503):
                break
            await asyncio.sleep(0.5)
        if reply.status >= 400 and reply.status != 409:
            raise RefusedError(f"{path} {body.decode()}: {reply.status} {reply.body.decode()}")
        return reply


async def judged(load: Load) -> dict[str, Any]:
    """Let all judges work, and return the measurements."""
    begin = time.perf_counter() + load.warm
    watch = Watch(begin, begin + load.seconds)
    judges = [Judge(load, session, watch, number) for number, session in enumerate(load.sessions)]
    clock = asyncio.create_task(watch.clocked())
    ends = await asyncio.gather(*(judge.work() for judge in judges), return_exceptions=True)
    await clock
    problems = [repr(end) for end in ends if isinstance(end, BaseException)]
    acknowledged = [key for judge in judges for key in judge.acknowledged]
    return {**watch.summary(), "acknowledged": acknowledged, "problems": problems[:5]}


class RemoteJudges:
    """Judges in a separate process."""

    def __init__(self, load: Load) -> None:
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115  # a pipe holds only 64 kB
        command = [sys.executable, "-m", "studies.benchmarks.studio_load"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.output, text=True)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(load._asdict()))
        self.process.stdin.close()

    def result(self) -> dict[str, Any]:
        """Wait for the process, and return its measurements."""
        if self.process.wait():
            raise RuntimeError("the process of the judges failed")
        with self.output as file:
            file.seek(0)
            result_row: dict[str, Any] = json.load(file)
        return result_row


if __name__ == "__main__":
    print(json.dumps(run(judged(Load(**json.load(sys.stdin))))))
