"""The campaign that ships with the package: short texts of our own on everyday questions, with gold."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adjudge.errors import UsageError, quoted
from adjudge.studio.campaign.campaign import FILES, Campaign, load_campaign
from adjudge.studio.campaign.create import place_files
from adjudge.studio.campaign.lines import Problems, table_rows, text
from adjudge.studio.gates.gates import GRADES, Answer
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Assignment, Ledger
from adjudge.studio.record.store import Change, Store
from adjudge.studio.records import Pair, Refused
from adjudge.studio.studio import open_store
from adjudge.studio.work.commands import contest, finish_set, submit, take_assignment
from adjudge.studio.work.people import person_row
from adjudge.studio.work.views import review_view

SHIPPED = Path(__file__).parent / "demo_campaign"
TRUTH = {name: (name,) for name in ("topic", "document", "grade")}


def make_demo(folder: str | os.PathLike[str], force: bool = False) -> Campaign:
    """Copy the demo to a folder, and load it from there."""

    def copy(staging: Path) -> None:
        for name in FILES:
            shutil.copyfile(SHIPPED / name, staging / name)

    place_files(Path(folder), copy, force)
    return load_campaign(folder)


def is_demo(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder's campaign is the demo, whatever was made of its settings."""
    place = Path(folder) / "documents.jsonl"
    return place.exists() and place.read_bytes() == (SHIPPED / "documents.jsonl").read_bytes()


def demo_truth() -> dict[Pair, int]:
    """Return the grade that we gave to every pair of the demo: what simulated judges try to tell, and no judge sees."""
    problems = Problems()
    rows = table_rows(text(SHIPPED / "truth.csv", problems) or "", "truth.csv", problems, TRUTH, tuple(TRUTH))
    truth = {(row.values["topic"], row.values["document"]): int(row.values["grade"]) for row in rows}
    problems.refuse(str(SHIPPED))
    return truth


# Judges who do not exist, for the demo and for tests: they read the truth, and err each in a way of their own.
#
# All answer compatibly, as a page would have them do: what they call relevant they rank above the rest.
#
# - good: right as often as their accuracy says, ranks by how relevant documents seem;
# - careless: the same, but fast, now and then too fast, and ranks at random;
# - spammer: tosses coins, fast;
# - drifting: good at first, and worse from set to set down to a coin;
# - lenient: calls what is irrelevant relevant in two cases of five.

COIN = 0.5
LENIENT = 0.4  # how often a lenient judge calls what is irrelevant relevant
SETS = 40  # after which a drifting judge tosses coins
NOISE = 0.6  # of how relevant a document seems, in grades
SPREAD = 0.35  # of the logarithm of seconds
SHARES = (0.5, 0.3, 0.2)  # of the grades 0, 1, 2 where no truth is given


class Kind(NamedTuple):
    """A way to err."""

    seconds: float  # a document, at the middle
    least: float  # seconds
    ranks: bool  # whether ranks follow how relevant documents seem


KINDS: Mapping[str, Kind] = {
    "good": Kind(22.0, 8.0, True),
    "careless": Kind(9.0, 4.0, False),
    "spammer": Kind(7.0, 3.0, False),
    "drifting": Kind(18.0, 7.0, True),
    "lenient": Kind(20.0, 8.0, True),
}
CROWD = (  # of the demo: name, accuracy, kind
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


class SimulatedJudge:
    """A judge who answers sets whose grades are known to her, and only to her."""

    def __init__(self, name: str, accuracy: float, kind: str, rng: np.random.Generator) -> None:
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r} of a simulated judge is not one of {quoted(KINDS)}")
        self.name, self.accuracy, self.kind, self.rng = name, accuracy, kind, rng
        self.sets = 0  # that she has judged

    def answers(self, grades: Sequence[int]) -> list[Answer]:
        """Return her answers on a set: relevance, ranks that are compatible with it, and seconds."""
        relevance = [int(self.rng.random() < self.chance(grade)) for grade in grades]
        self.sets += 1
        ranks, seconds = self._ranks(relevance, grades), self._seconds(len(grades))
        return [Answer(*given) for given in zip(relevance, [True] * len(grades), ranks, seconds, strict=True)]

    def chance(self, grade: int) -> float:
        """Return how likely it is that she calls a document of this grade relevant, now."""
        right = self._right()
        if grade >= 1:
            return right
        return LENIENT if self.kind == "lenient" else 1 - right

    def _right(self) -> float:
        """Return how often she is right, now."""
        if self.kind == "spammer":
            return COIN
        if self.kind == "drifting":
            worn = min(1.0, self.sets / SETS)
            return self.accuracy + worn * (COIN - self.accuracy)
        return self.accuracy

    def _ranks(self, relevance: Sequence[int], grades: Sequence[int]) -> list[int]:
        """Return strict ranks, what she calls relevant first, then by how relevant documents seem to her."""
        noise = self.rng.normal(0, NOISE, len(grades))
        seems = (np.asarray(grades) if KINDS[self.kind].ranks else 0) + noise
        order = np.lexsort((-seems, -np.asarray(relevance)))
        ranks = np.empty(len(grades), int)
        ranks[order] = np.arange(1, len(grades) + 1)
        return [int(rank) for rank in ranks]

    def _seconds(self, documents: int) -> list[float]:
        """Return how long she looks at each document."""
        kind = KINDS[self.kind]
        drawn = kind.seconds * np.exp(self.rng.normal(0, SPREAD, documents))
        return [round(float(seconds), 1) for seconds in np.maximum(drawn, kind.least)]


def demo_judges(rng: np.random.Generator) -> list[SimulatedJudge]:
    """Return the judges of the demo, each with randomness of her own."""
    streams = rng.spawn(len(CROWD))
    return [SimulatedJudge(*who, stream) for who, stream in zip(CROWD, streams, strict=True)]


def grade_of(pair: Pair, truth: Mapping[Pair, int]) -> int:
    """Return the grade of a pair; of one whose truth is not given, one that its name decides, always the same."""
    if pair in truth:
        return truth[pair]
    share = int.from_bytes(blake2b("\0".join(pair).encode(), digest_size=6).digest()) / 2**48
    return GRADES[int(np.searchsorted(np.cumsum(SHARES)[:-1], share, side="right"))]


# The demo at work: simulated judges who qualified and judged over the last two days, through the studio's commands.

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
