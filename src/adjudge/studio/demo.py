"""The demo: a campaign that ships with the package (short texts on everyday questions, with gold) and simulated judges.

Simulated judges know the truth and make errors according to their kind. Their answers are always compatible: what they
call relevant they rank above the rest.

- good: as accurate as they are made, and rank by how relevant documents seem;
- careless: the same, but fast, sometimes too fast, and rank at random;
- spammer: toss coins, fast;
- drifting: good at first, and worse from set to set until they toss coins;
- lenient: call two of five irrelevant documents relevant;
- copying: of two such judges, the second gives the labels of the first wherever both judge a document.

``simulate_demo`` lets them work in the past, so that the desk has something to show; ``work_live`` lets some of them
go on while the studio runs, as slowly as people.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.data.formats import open_source
from adjudge.errors import UsageError, quoted
from adjudge.studio.campaign import FILES, Campaign, load_campaign, place_files
from adjudge.studio.gates import Answer
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Assignment, Ledger, Set
from adjudge.studio.record.store import Change, Store
from adjudge.studio.records import GRADES, Pair, Refused
from adjudge.studio.studio import Studio, open_store
from adjudge.studio.work.commands import contest, finish_set, open_assignment, submit, take_assignment
from adjudge.studio.work.people import person_row
from adjudge.studio.work.views import review_view

SHIPPED = Path(__file__).parent / "demo_campaign"


def make_demo(folder: str | os.PathLike[str], force: bool = False) -> Campaign:
    """Copy the demo campaign to a folder, and load it from there."""

    def copy(staging: Path) -> None:
        for name in FILES:
            shutil.copyfile(SHIPPED / name, staging / name)

    place_files(Path(folder), copy, force)
    return load_campaign(folder)


def is_demo(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds the demo campaign; its settings may differ."""
    documents = Path(folder) / "documents.jsonl"
    return documents.exists() and documents.read_bytes() == (SHIPPED / "documents.jsonl").read_bytes()


def demo_truth() -> dict[Pair, int]:
    """Return the true grade of every pair of the demo, which simulated judges know and real judges do not see."""
    source = open_source(SHIPPED / "truth.csv")
    topic, document, grade = (source.column(name).to_list() for name in ("topic", "document", "grade"))
    return {(t, d): int(g) for t, d, g in zip(topic, document, grade, strict=True)}


COIN = 0.5
LENIENT = 0.4  # how often a lenient judge calls an irrelevant document relevant
SETS = 40  # after which a drifting judge tosses coins
NOISE = 0.6  # standard deviation of the perceived relevance, in grades
SPREAD = 0.35  # standard deviation of the logarithm of seconds
SHARES = (0.5, 0.3, 0.2)  # of the grades 0, 1, 2 among pairs without a truth
DAYS = 2.0  # ago, simulated judges began
DONE = 0.6  # share of the campaign's judgments that they make: the rest is for users of the demo
PAUSE = 12_000.0  # seconds between two assignments, at most
COMMENTS = {1: "It answers the question, only in other words.", 0: "It is about something else."}


class Kind(NamedTuple):
    """How a simulated judge works."""

    seconds: float  # median per document
    least: float  # seconds per document
    ranks: bool  # whether ranks follow the perceived relevance


KINDS: Mapping[str, Kind] = {
    "good": Kind(22.0, 8.0, True),
    "careless": Kind(9.0, 4.0, False),
    "spammer": Kind(7.0, 3.0, False),
    "drifting": Kind(18.0, 7.0, True),
    "lenient": Kind(20.0, 8.0, True),
    "copying": Kind(12.0, 7.0, True),
}
CROWD = (  # name, accuracy, kind of the simulated judges
    ("Ada", 0.95, "good"),
    ("Bruno", 0.92, "good"),
    ("Chidi", 0.9, "good"),
    ("Dunja", 0.93, "good"),
    ("Emre", 0.88, "good"),
    ("Farah", 0.9, "lenient"),
    ("Goran", 0.92, "drifting"),
    ("Hana", 0.8, "careless"),
    ("Igor", 0.5, "spammer"),
)
PAIR = (("Kaya", 0.82, "copying"), ("Levin", 0.82, "copying"))  # who copy from each other, if the demo is alive
AT_WORK = ("Ada", "Chidi", "Hana", "Igor", "Kaya", "Levin")  # while somebody watches
DONE_LIVE = 0.35  # share of the judgments that they have made before
LEFT = 50  # judgments that they leave to people who try the demo
BREAK = (5.0, 25.0)  # seconds between two assignments
SOON = 20.0  # seconds after the start of the studio in which the first of them finishes an assignment


class SimulatedJudge:
    """A judge who answers sets whose true grades they know; those who copy share ``notes`` of item and label."""

    notes: dict[int, int] | None = None

    def __init__(self, name: str, accuracy: float, kind: str, rng: np.random.Generator) -> None:
        if kind not in KINDS:
            raise UsageError(f"the kind of a simulated judge is {kind!r}, expected one of {quoted(KINDS)}")
        self.name, self.accuracy, self.kind, self.rng = name, accuracy, kind, rng
        self.sets = 0  # judged so far

    def answers(self, grades: Sequence[int], items: Sequence[int] = ()) -> list[Answer]:
        """Return the answers to a set: relevance, ranks that are compatible with it, and seconds."""
        relevance = [int(self.rng.random() < self.chance(grade)) for grade in grades]
        if self.notes is not None:
            relevance = [self.notes.setdefault(item, label) for item, label in zip(items, relevance, strict=True)]
        self.sets += 1
        ranks, seconds = self._ranks(relevance, grades), self._seconds(len(grades))
        answers = zip(relevance, ranks, seconds, strict=True)
        return [Answer(label, True, rank, time) for label, rank, time in answers]

    def chance(self, grade: int) -> float:
        """Return the probability that the judge now calls a document of this grade relevant."""
        right = self._accuracy_now()
        if grade >= 1:
            return right
        return LENIENT if self.kind == "lenient" else 1 - right

    def _accuracy_now(self) -> float:
        """Return how often the judge is right after the sets so far."""
        if self.kind == "spammer":
            return COIN
        if self.kind == "drifting":
            progress = min(1.0, self.sets / SETS)
            return self.accuracy + progress * (COIN - self.accuracy)
        return self.accuracy

    def _ranks(self, relevance: Sequence[int], grades: Sequence[int]) -> list[int]:
        """Return strict ranks: documents judged relevant first, then by perceived relevance."""
        noise = self.rng.normal(0, NOISE, len(grades))
        perceived = (np.asarray(grades) if KINDS[self.kind].ranks else 0) + noise
        order = np.lexsort((-perceived, -np.asarray(relevance)))
        ranks = np.empty(len(grades), int)
        ranks[order] = np.arange(1, len(grades) + 1)
        return [int(rank) for rank in ranks]

    def _seconds(self, documents: int) -> list[float]:
        """Return how long the judge looks at each document."""
        kind = KINDS[self.kind]
        drawn = kind.seconds * np.exp(self.rng.normal(0, SPREAD, documents))
        return [round(float(seconds), 1) for seconds in np.maximum(drawn, kind.least)]


def demo_judges(rng: np.random.Generator, live: bool = False) -> list[SimulatedJudge]:
    """Return the judges of the demo, each with their own random stream; a live demo also has a pair who copy."""
    crowd = (*CROWD, *PAIR) if live else CROWD
    judges = [SimulatedJudge(*who, stream) for who, stream in zip(crowd, rng.spawn(len(crowd)), strict=True)]
    notes: dict[int, int] = {}
    for judge in judges:
        judge.notes = notes if judge.kind == "copying" else None
    return judges


def grade_of(pair: Pair, truth: Mapping[Pair, int]) -> int:
    """Return the grade of a pair; without a truth, a grade that is computed from its names and always the same."""
    if pair in truth:
        return truth[pair]
    share = int.from_bytes(blake2b("\0".join(pair).encode(), digest_size=6).digest()) / 2**48
    return GRADES[int(np.searchsorted(np.cumsum(SHARES)[:-1], share, side="right"))]


def simulate_demo(folder: str | os.PathLike[str], seed: int = 0, live: bool = False) -> int:
    """Let simulated judges work through part of a campaign, and return how many judgments were accepted.

    They qualify and judge over the last two days, through the same commands as real judges. If the demo will be
    ``live``, they do less, and some are in the middle of an assignment at the end.
    """
    campaign, rng, truth = load_campaign(Path(folder)), np.random.default_rng(seed), demo_truth()
    end = time.time() - 600
    now = [end - 86_400 * DAYS]
    store = open_store(campaign, clock=lambda: now[0])
    try:
        judges = {add_judge(store, judge.name): judge for judge in demo_judges(rng, live)}
        target = (DONE_LIVE if live else DONE) * campaign.settings.redundancy.judgments * len(campaign.pool)
        at_work = list(judges)
        while at_work and store.ledger.items.judged.sum() < target:
            now[0] = min(now[0] + PAUSE * rng.random(), max(now[0], end - 3_600))
            person = at_work.pop(0)
            if work_assignment(store, person, judges[person], truth, rng, now):
                at_work.append(person)
        if live:
            _begin_assignments(store, {person: judges[person] for person in at_work}, truth, rng, now)
        return int(store.ledger.items.judged.sum())
    finally:
        store.close()


def _begin_assignments(
    store: Store,
    judges: Mapping[int, SimulatedJudge],
    truth: dict[Pair, int],
    rng: np.random.Generator,
    now: list[float],
) -> None:
    """Let the judges who go on while somebody watches begin assignments: the first is nearly done, the last begins."""
    people = [person for person, judge in judges.items() if judge.name in AT_WORK]
    events = []
    for k, person in enumerate(people):
        each = store.ledger.campaign.settings.assignment
        pace = each.documents * KINDS[judges[person].kind].seconds  # seconds of a set
        done = max(0, each.sets - 1 - k)
        began = time.time() - (done + 1) * pace + min(pace, SOON * (k + 1))
        events += [(began + sets * pace, person, sets) for sets in range(done + 1)]
    for at, person, sets in sorted(events):
        now[0] = max(now[0], at)
        with contextlib.suppress(Refused):
            if not sets:
                store.do(partial(take_assignment, person=person, rng=rng))
            elif (assignment := open_assignment(store.ledger, store.ledger.people[person])) is not None:
                part = assignment.sets[sets - 1]
                answers = set_answers(store.ledger, part, judges[person], truth)
                store.do(partial(finish_set, person=person, token=part.token, sent=answers))


def add_judge(store: Store, name: str) -> int:
    """Add a judge, and return their number."""

    def add(ledger: Ledger, now: float) -> Change:
        row = person_row(ledger, now, name, "judge")
        return Change([(schema.people, row)], row["id"], (name, "joined", {"simulated": True}))

    number: int = store.do(add)
    return number


def work_assignment(
    store: Store,
    person: int,
    judge: SimulatedJudge,
    truth: dict[Pair, int],
    rng: np.random.Generator,
    now: list[float],
) -> bool:
    """Let a judge work through one assignment, while the clock ``now[0]`` goes on; return whether there was one."""
    try:
        store.do(lambda ledger, at: take_assignment(ledger, at, person, rng))
    except Refused:
        return False
    assignment = store.ledger.assignments[store.ledger.people[person].last or 0]
    for part in assignment.sets:
        answers = set_answers(store.ledger, part, judge, truth)
        now[0] += sum(answer["seconds"] for answer in answers) + 5
        store.do(partial(finish_set, person=person, token=part.token, sent=answers))
    _end_assignment(store, person, assignment)
    return True


def set_answers(ledger: Ledger, part: Set, judge: SimulatedJudge, truth: Mapping[Pair, int]) -> list[dict[str, Any]]:
    """Return the answers of a simulated judge to a set, as a page sends them."""
    grades = [grade_of(ledger.items.pairs[item], truth) for item in part.items]
    return [_answer_row(slot, answer) for slot, answer in enumerate(judge.answers(grades, part.items))]


def _answer_row(slot: int, answer: Answer) -> dict[str, Any]:
    """Return an answer as a page sends it."""
    label, decided, rank, seconds, comment = answer
    row = {"key": f"simulated {slot}", "slot": slot, "relevance": label, "told": decided}
    return {**row, "rank": rank, "seconds": seconds, "comment": comment}


def _end_assignment(store: Store, person: int, assignment: Assignment) -> None:
    for command in _last_commands(store.ledger, person, assignment):
        store.do(command)


def _last_commands(ledger: Ledger, person: int, assignment: Assignment) -> Iterator[Callable[[Ledger, float], Change]]:
    """Yield what a judge does at the end: submit work that passed; contest a mistake in work that did not."""
    if assignment.outcome == "passed":
        yield partial(submit, person=person, token=assignment.token)
    elif assignment.kind == "work" and not assignment.contested:
        for mistake in review_view(ledger, assignment)["mistakes"][:1]:
            where = {"token": mistake["set"], "slot": mistake["slot"]}
            yield partial(contest, person=person, comment=COMMENTS[mistake["yours"]], **where)


async def work_live(studio: Studio, pace: float = 1.0) -> None:
    """Let simulated judges work while the studio runs, through the same commands as real judges.

    They stop when nothing is left but what people who try the demo may judge. With ``pace`` 2 they are twice as fast
    as people.
    """
    rng, truth = np.random.default_rng(), demo_truth()
    named = {judge.name: judge for judge in demo_judges(rng, live=True) if judge.name in AT_WORK}
    people = {number: named[person.name] for number, person in studio.ledger.people.items() if person.name in named}
    await asyncio.gather(*(_work_shift(studio, person, judge, truth, pace) for person, judge in people.items()))


async def _work_shift(
    studio: Studio, person: int, judge: SimulatedJudge, truth: Mapping[Pair, int], pace: float
) -> None:
    """Let one judge finish their assignment and take others, until there is no work for them."""
    while _has_work(studio.ledger, person):
        try:
            await studio.do(take_assignment, person, studio.rng)
        except Refused:
            if studio.ledger.switches.get("paused") != "1":
                return  # otherwise the campaign is paused, and they look again later
        else:
            with contextlib.suppress(Refused):  # a lead took the assignment back
                await _work_through(studio, person, judge, truth, pace)
        await asyncio.sleep(judge.rng.uniform(*BREAK) / pace)


def _has_work(ledger: Ledger, person: int) -> bool:
    """Return whether a judge has an assignment open, or there is more work than is left to people."""
    return open_assignment(ledger, ledger.people[person]) is not None or judgments_left(ledger) > LEFT


async def _work_through(
    studio: Studio, person: int, judge: SimulatedJudge, truth: Mapping[Pair, int], pace: float
) -> None:
    """Let a judge finish the assignment that they have, as slowly as they read."""
    assignment = studio.ledger.assignments[studio.ledger.people[person].last or 0]
    for part in assignment.sets[assignment.finished :]:
        answers = set_answers(studio.ledger, part, judge, truth)
        began = assignment.opened  # perhaps before the studio was started
        await asyncio.sleep(max(0.0, began + sum(answer["seconds"] for answer in answers) - studio.now()) / pace)
        await studio.do(finish_set, person, part.token, answers)
    for command in _last_commands(studio.ledger, person, assignment):
        await studio.do(command)


def judgments_left(ledger: Ledger) -> int:
    """Return how many judgments are still to be given out."""
    items, per_item = ledger.items, ledger.campaign.settings.redundancy.judgments
    return int(np.maximum(per_item - items.judged - items.leased, 0)[items.pooled].sum())
