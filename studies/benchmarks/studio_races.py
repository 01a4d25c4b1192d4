"""Many judges who ask for the next set at the same time, in one process, with a single writer.

Most judges are right and submit; some give up their work, some leave so that their reservations expire, and some are
wrong so that their work is returned.

``python -m studies.benchmarks.studio_races 64 1000``: 64 judges with about 1,000 requests each.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.studio.record.ledger import Assignment, Ledger
from adjudge.studio.record.store import Clock
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio, open_studio
from adjudge.studio.work.commands import expire, finish_set, release, submit, take_assignment
from studies.benchmarks.studio_campaign import Size, add_judges, write_campaign
from studies.benchmarks.studio_client import run
from studies.benchmarks.studio_kill import Acknowledged, faults

GIVEN_UP, LEFT, WRONG = 0.03, 0.005, 0.02  # shares of assignments; after a judge leaves, all reservations expire
SETTINGS = {
    "gate": {"seconds": 0.0},
    "assignment": {"documents": 2, "lease_minutes": 1},
    "pay": {"most_returns": 1_000},
    "qualification": {"required": False, "documents": 2},
}


class Race(NamedTuple):
    """The result of a race."""

    requests: int  # for the next set
    refused: dict[str, int]
    seconds: float
    open: int  # reservations that remain after all should have expired
    faults: list[str]


class SettableClock(Clock):
    """A clock that can be set forward, so that reservations expire without waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return super().__call__() + self.ahead


class Racer:
    """A simulated judge."""

    def __init__(self, studio: Studio, person: int) -> None:
        self.studio, self.person = studio, person
        self.rng = random.Random(person)
        self.requests = self.sent = 0
        self.refused: dict[str, int] = {}

    async def run(self) -> None:
        """Ask for assignments until there is none."""
        while True:
            try:
                await self.assignment()
            except Refused as error:
                self.refused[error.code] = self.refused.get(error.code, 0) + 1
                if error.code in ("nothing", "paused"):
                    return

    async def assignment(self) -> None:
        """Take an assignment, and finish it, give it up or leave it at random."""
        self.requests += 1
        assignment: Assignment = await self.studio.do(
            take_assignment, self.person, self.studio.rng, then=self.current_assignment
        )
        draw = self.rng.random()
        stop = self.rng.randrange(len(assignment.sets)) if draw < GIVEN_UP + LEFT else len(assignment.sets)
        for set_ in [set_ for set_ in assignment.sets if set_.finished is None][:stop]:
            right = draw >= GIVEN_UP + LEFT + WRONG
            await self.studio.do(finish_set, self.person, set_.token, self.answers(set_.items, right))
            self.requests += 1
        if draw < GIVEN_UP:
            await self.studio.do(release, self.person, assignment.token)
        elif draw < GIVEN_UP + LEFT:
            self.studio.store.clock.ahead += 61.0  # type: ignore[attr-defined]  # as if a minute had passed
            await self.studio.do(expire)
        elif draw >= GIVEN_UP + LEFT + WRONG:
            await self.studio.do(submit, self.person, assignment.token)

    def current_assignment(self, ledger: Ledger, now: float, _: Any) -> Assignment:
        """Return the assignment that the judge now has."""
        last = ledger.people[self.person].last
        assert last is not None
        return ledger.assignments[last]

    def answers(self, items: list[int], right: bool) -> list[dict[str, Any]]:
        """Return answers to a set; gold is relevant if the grade of its document is not 0."""
        campaign = self.studio.campaign
        pairs = [self.studio.ledger.items.pairs[item] for item in items]
        grades = [campaign.gold[pair].grade if pair in campaign.gold else self.rng.randint(0, 2) for pair in pairs]
        order = sorted(range(len(items)), key=lambda slot: -grades[slot] if right else grades[slot])
        rows = []
        for rank, slot in enumerate(order, 1):
            relevance = int(grades[slot] > 0) if right else int(rank == 1)
            self.sent += 1
            row = {
                "key": f"{self.person}-{self.sent}",
                "slot": slot,
                "relevance": relevance,
                "told": True,
                "rank": rank,
            }
            rows.append({**row, "seconds": 7.5, "comment": ""})
        return rows


def race(folder: Path, judges: int, asks: int, k: int = 3) -> Race:
    """Let judges work until nothing is left, which takes about ``asks`` requests each."""
    items = int(
        judges * asks * (6 / 7) * (5 / 6) * 2 / k
    )  # one request in seven is for an assignment, one set in six is gold
    size = Size(max(12, items // 100), 100, gold=asks // 4 + 20, words=5, set_size=2)
    write_campaign(folder, size, {**SETTINGS, "redundancy": {"judgments": k}})
    add_judges(folder, judges)
    return run(_raced(folder, k))


async def _raced(folder: Path, k: int) -> Race:
    """Open the studio, let all judges work at once, then let all reservations expire."""
    studio = open_studio(folder)
    clock = studio.store.clock = SettableClock()
    began = time.perf_counter()
    async with studio.running():
        racers = [Racer(studio, person.id) for person in studio.ledger.people.values() if person.role == "judge"]
        await asyncio.gather(*(racer.run() for racer in racers))
        took = time.perf_counter() - began
        clock.ahead += 3_600.0
        await studio.do(expire)
        items, left = studio.ledger.items, len(studio.ledger.open_assignments())
        left += int(abs(items.leased).sum())
        over = int((items.judged > k).sum())
    messages = faults(folder, Acknowledged(set(), set(), set(), set()), k)
    messages += [f"items judged more than {k} times, by the ledger: {over}"] if over else []
    refused: dict[str, int] = {}
    for racer in racers:
        for code, n in racer.refused.items():
            refused[code] = refused.get(code, 0) + n
    return Race(sum(racer.requests for racer in racers), refused, took, left, messages)


def row(judges: int, asks: int, k: int) -> list[str]:
    """Return the row of the table."""
    with tempfile.TemporaryDirectory() as temporary:
        result = race(Path(temporary) / "campaign", judges, asks, k)
    wrong = "; ".join(result.faults) or "none"
    return [str(judges), f"{result.requests:,}", f"{result.requests / result.seconds:,.0f}", wrong, str(result.open)]


if __name__ == "__main__":
    print(row(*(int(word) for word in sys.argv[1:] or ("64", "160")), 3 if len(sys.argv) < 3 else 20))
