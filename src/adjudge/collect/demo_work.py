"""The demo at work: simulated judges who qualified and judged over the last two days, through the studio's commands."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from adjudge.collect.files.campaign import load_campaign
from adjudge.collect.files.demo import demo_truth
from adjudge.collect.record import schema
from adjudge.collect.record.ledger import Assignment, Ledger
from adjudge.collect.record.store import Change, Store
from adjudge.collect.records import Pair
from adjudge.collect.refused import Refused
from adjudge.collect.studio import open_store
from adjudge.collect.work.commands import contest, finish_set, submit, take_assignment
from adjudge.collect.work.commands_people import person_row
from adjudge.collect.work.simulated import SimulatedJudge, demo_judges, grade_of
from adjudge.collect.work.views import review_view

DAYS = 2.0  # ago, they began
DONE = 0.6  # of the judgments that the campaign asks for: the rest is for whoever tries the demo
PAUSE = 12_000.0  # seconds between two pieces of work, at most

WHY = {1: "It answers the question, only in other words.", 0: "It is about something else."}


def simulate_demo(folder: str | os.PathLike[str], seed: int = 0) -> int:
    """Have simulated judges work through part of a campaign, and return how many judgments were accepted."""
    campaign, rng, truth = load_campaign(Path(folder)), np.random.default_rng(seed), demo_truth()
    end = time.time() - 600
    now = [end - 86_400 * DAYS]
    store = open_store(campaign, clock=lambda: now[0])
    try:
        judges = {_joined(store, judge.name): judge for judge in demo_judges(rng)}
        wanted = DONE * campaign.settings.redundancy.judgments * len(campaign.pool)
        at_work = list(judges)
        while at_work and store.ledger.items.judged.sum() < wanted:
            now[0] = min(now[0] + PAUSE * rng.random(), max(now[0], end - 3_600))
            person = at_work.pop(0)
            if _works(store, person, judges[person], truth, rng, now):
                at_work.append(person)
        return int(store.ledger.items.judged.sum())
    finally:
        store.close()


def _joined(store: Store, name: str) -> int:
    """Return a new judge."""

    def add(ledger: Ledger, now: float) -> Change:
        row = person_row(ledger, now, name, "judge")
        return Change([(schema.people, row)], row["id"], (name, "joined", {"simulated": True}))

    number: int = store.do(add)
    return number


def _works(
    store: Store,
    person: int,
    judge: SimulatedJudge,
    truth: dict[Pair, int],
    rng: np.random.Generator,
    now: list[float],
) -> bool:
    """Have a judge work through one assignment; return whether there was one."""
    try:
        store.do(lambda ledger, at: take_assignment(ledger, at, person, rng))
    except Refused:
        return False
    held = store.ledger.assignments[store.ledger.people[person].last or 0]
    for one in held.sets:
        grades = [grade_of(store.ledger.items.pairs[item], truth) for item in one.items]
        given = [
            {"key": f"simulated {slot}", "slot": slot, **answer._asdict()}
            for slot, answer in enumerate(judge.answers(grades))
        ]
        now[0] += sum(answer["seconds"] for answer in given) + 5
        store.do(lambda ledger, at, one=one, given=given: finish_set(ledger, at, person, one.token, given))  # type: ignore[misc]
    _handed_in(store, person, held)
    return True


def _handed_in(store: Store, person: int, held: Assignment) -> None:
    """Submit what passed; contest gold that was judged otherwise, so that the desk has something to rule on."""
    if held.outcome == "passed":
        store.do(lambda ledger, at: submit(ledger, at, person, held.token))
    elif held.kind == "work" and not held.contested:
        mistakes = review_view(store.ledger, held)["mistakes"]
        for one in mistakes[:1]:
            why = WHY[one["yours"]]
            store.do(lambda ledger, at, one=one, why=why: contest(ledger, at, person, one["set"], one["slot"], why))  # type: ignore[misc]
