"""What is so now: the fold of all rows, held in memory by the one who writes.

Every row is folded the same way whether it was just decided or is read back after a restart, so that nothing that
counts can be so in memory that the disk does not say. Beside the rows it holds two things that may be lost: when a
judge was last heard of, and what is believed of items. Items are counted in arrays; of assignments only those are
kept that are open, or the last of their judge.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Table

from adjudge.studio.campaign.campaign import Campaign
from adjudge.studio.gates.gates import Answer
from adjudge.studio.gates.information import TYPICAL, update_belief
from adjudge.studio.record.audit import Link
from adjudge.studio.record.item_counts import Items, Met
from adjudge.studio.records import Gold

UNTOLD = Answer(None, False, None, 0.0)
OVER = ("passed", "returned", "expired", "released")  # outcomes that end an assignment
COUNTED = ("work", "imported")  # uses of judgments that count towards redundancy


class Beliefs(Protocol):
    """What a consensus found (``consensus.beliefs`` has it)."""

    array: NDArray[np.float64]  # (I,)
    typical: NDArray[np.float64]  # (2, 2)
    upto: int

    def confusion(self, person: int) -> NDArray[np.float64]:
        """Return how a person errs, (2, 2)."""


@dataclass(slots=True)
class Set:
    """Documents of one topic that a judge has before them."""

    id: int
    assignment: int
    position: int
    use: str
    name: str
    token: str
    items: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    finished: float | None = None


@dataclass(slots=True)
class Assignment:
    """What one judge has taken on."""

    id: int
    at: float
    person: int
    kind: str
    token: str
    outside: str
    active: float  # when its judge was last heard of
    sets: list[Set] = field(default_factory=list)
    outcome: str = ""  # how it ended, if it did
    failed: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    code: str = ""
    contested: set[tuple[int, int]] = field(default_factory=set)  # set, slot

    @property
    def finished(self) -> int:
        """How many sets are finished: they are so in their order."""
        return sum(one.finished is not None for one in self.sets)

    @property
    def opened(self) -> float:
        """When the present set came before the judge."""
        return self.at if not self.finished else self.sets[self.finished - 1].finished or self.at


@dataclass(slots=True)
class Person:
    """Someone who judges, reviews or leads."""

    id: int
    name: str
    role: str
    outside: str | None
    language: str
    met: Met  # items judged once, never shown again
    standing: str = "new"
    reason: str = ""
    password: str = ""
    epoch: int = 0  # sessions begun before the last change of password no longer hold
    last: int | None = None  # the assignment that is open, or was the last
    sets: set[str] = field(default_factory=set)  # names of fixed sets they have met
    counted: array[int] = field(default_factory=lambda: array("I"))  # items their judgments count for
    passed: int = 0
    returned: int = 0
    attempts: int = 0  # at the qualification

    @property
    def excluded(self) -> bool:
        """Whether what they judged is set aside."""
        return self.standing == "excluded"


class Ledger:
    """People, items, assignments: as they are now."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.latest = 0.0  # the time of the newest row
        self.link = Link()  # where the audit log ends
        self.people: dict[int, Person] = {}
        self.named: dict[str, int] = {}
        self.outsiders: dict[str, int] = {}
        self.assignments: dict[int, Assignment] = {}
        self.assignment_of: dict[str, int] = {}  # token -> assignment
        self.set_of: dict[str, Set] = {}  # token -> set
        self.sets: dict[int, Set] = {}
        self.contests: dict[int, Mapping[str, Any]] = {}
        self.ruled: set[int] = set()
        self.overruled: set[int] = set()  # items whose gold was ruled to be wrong
        self.invitations: dict[int, Mapping[str, Any]] = {}
        self.accepted: set[int] = set()
        self.tokens: dict[str, Mapping[str, Any]] = {}  # hash -> row
        self.revoked: set[int] = set()
        self.switches: dict[str, str] = {}
        self.items = Items()
        self.person_of: dict[int, int] = {}  # assignment -> person, of all there ever were
        self.belief: NDArray[np.float64] | None = None  # (I,) P(relevant), from the last consensus
        self.confusion: Callable[[int], NDArray[np.float64]] | None = None  # of a person, (2, 2)
        self.typical: NDArray[np.float64] = TYPICAL  # of a judge whom nobody knows
        self.since: list[Mapping[str, Any]] = []  # judgments that came since
        self._last_id: dict[str, int] = {}

    def number(self, table: Table, last: int) -> None:
        """Note how many rows a table has that is not folded whole."""
        self._last_id[table.name] = max(self._last_id.get(table.name, 0), last)

    def next_id(self, table: Table, ahead: int = 1) -> int:
        """Return the id of the row that is added to a table next, or the one ``ahead`` rows on."""
        return self._last_id.get(table.name, 0) + ahead

    def fold(self, table: Table, row: Mapping[str, Any]) -> None:
        """Take one row in."""
        if "id" in row:
            self.number(table, row["id"])
        self.latest = max(self.latest, row.get("at", 0.0))
        self._FOLDS[table.name](self, row)

    def gold_of(self, item: int) -> Gold | None:
        """Return what the campaign's files know of an item."""
        return self.campaign.gold.get(self.items.pairs[item])

    def carry(self, before: Ledger) -> None:
        """Take over from an earlier ledger when judges were last heard of: no row says that."""
        for number in self.assignments.keys() & before.assignments.keys():
            one = self.assignments[number]
            one.active = max(one.active, before.assignments[number].active)

    def open_assignments(self) -> list[Assignment]:
        """Return the assignments that are not over."""
        return [one for one in self.assignments.values() if not one.outcome]

    # one method a table, in the order in which tables are read back

    def _item(self, row: Mapping[str, Any]) -> None:
        self.items.add(row["id"], (row["topic"], row["document"]))

    def _person(self, row: Mapping[str, Any]) -> None:
        met = Met(len(self.items.pairs))
        person = Person(row["id"], row["name"], row["role"], row["outside"], row["language"], met)
        self.people[person.id] = person
        self.named[person.name.casefold()] = person.id
        if person.outside:
            self.outsiders[person.outside] = person.id

    def _password(self, row: Mapping[str, Any]) -> None:
        person = self.people[row["person"]]
        person.password, person.epoch = row["hash"], person.epoch + 1

    def _language(self, row: Mapping[str, Any]) -> None:
        self.people[row["person"]].language = row["language"]

    def _standing(self, row: Mapping[str, Any]) -> None:
        person = self.people[row["person"]]
        before = person.excluded
        person.standing, person.reason = row["standing"], row["reason"]
        if person.excluded != before:
            self.items.count(person.counted, 1 if before else -1)

    def _assignment(self, row: Mapping[str, Any]) -> None:
        one = Assignment(row["id"], row["at"], row["person"], row["kind"], row["token"], row["outside"], row["at"])
        self._forget(self.people[one.person].last)
        self.people[one.person].last = one.id
        self.person_of[one.id] = one.person
        self.assignments[one.id] = one
        self.assignment_of[one.token] = one.id

    def _forget(self, assignment: int | None) -> None:
        """Let go of an assignment that is over, once its judge has another."""
        one = self.assignments.pop(assignment, None) if assignment is not None else None
        if one is not None:
            self.assignment_of.pop(one.token, None)
            for held in one.sets:
                self.set_of.pop(held.token, None)
                self.sets.pop(held.id, None)

    def _set(self, row: Mapping[str, Any]) -> None:
        one = Set(row["id"], row["assignment"], row["position"], row["use"], row["name"], row["token"])
        assignment = self.assignments[one.assignment]
        assignment.sets.append(one)
        assignment.sets.sort(key=lambda held: held.position)
        self.set_of[one.token] = self.sets[one.id] = one
        if one.name:
            self.people[assignment.person].sets.add(one.name)

    def _slot(self, row: Mapping[str, Any]) -> None:
        one = self.sets[row["set"]]
        one.items.append(row["item"])
        one.answers.append(UNTOLD)
        if one.use == "work":
            self.items.leased[row["item"]] += 1

    def _answer(self, row: Mapping[str, Any]) -> None:
        one = self.sets[row["set"]]
        one.keys.add(row["key"])
        one.answers[row["slot"]] = Answer(
            row["relevance"], bool(row["told"]), row["rank"], row["seconds"], row["comment"]
        )
        self._heard(one, row["at"])

    def _finish(self, row: Mapping[str, Any]) -> None:
        one = self.sets[row["set"]]
        one.finished = row["at"]
        self._heard(one, row["at"])

    def _heard(self, one: Set, at: float) -> None:
        """Note that a judge is at work."""
        assignment = self.assignments[one.assignment]
        assignment.active = max(assignment.active, at)

    def _outcome(self, row: Mapping[str, Any]) -> None:
        person = self.people[self.person_of[row["assignment"]]]
        one = self.assignments.get(row["assignment"])
        if row["outcome"] == "approved":
            person.passed, person.returned = person.passed + 1, person.returned - 1
        if one is None:  # long over, and approved all the same
            return
        if row["outcome"] in OVER:
            self._ended(one, person, row)
        one.outcome = row["outcome"]
        one.code = row["code"] or one.code

    def _ended(self, one: Assignment, person: Person, row: Mapping[str, Any]) -> None:
        """End an assignment: its slots are free again, and what was judged in vain has been met."""
        outcome = row["outcome"]
        one.failed = tuple(row["failed"].split())
        one.scores = {name: row[name] for name in ("binary", "ndcg", "fastest") if row[name] is not None}
        if outcome in ("passed", "returned"):
            person.passed += outcome == "passed" and one.kind == "work"
            person.returned += outcome == "returned" and one.kind == "work"
            person.attempts += one.kind == "qualification"
        for held in one.sets:
            if held.use == "work":
                self.items.lease(held.items, -1)
            if outcome == "returned":
                for item in held.items:
                    person.met.add(item)

    def _judgment(self, row: Mapping[str, Any]) -> None:
        person, item, relevance = self.people[row["person"]], row["item"], row["relevance"]
        person.met.add(item)
        if row["use"] not in COUNTED:
            return
        if relevance is None:
            self.items.untold[item] += 1
            return
        person.counted.append(item)
        if not person.excluded:
            self.items.judged[item] += 1
            if self.belief is not None:
                self.since.append(row)
                self._revise(row)

    def meet(
        self, person: Person, met: NDArray[np.int64], counted: NDArray[np.int64], untold: NDArray[np.int64]
    ) -> None:
        """Take in all judgments of a person at once: items they have met, that count, and that they could not tell."""
        person.met.add_all(met)
        np.add.at(self.items.untold, untold, 1)
        person.counted.extend(counted.tolist())
        if not person.excluded:
            self.items.count(counted, 1)

    def believe(self, found: Beliefs) -> None:
        """Take in what a consensus found, and the judgments that came after those it knew."""
        self.belief, self.confusion, self.typical = found.array.astype(float), found.confusion, found.typical
        upto = found.upto
        self.since = [row for row in self.since if row["id"] > upto]
        for row in self.since:
            self._revise(row)

    def _revise(self, row: Mapping[str, Any]) -> None:
        """Let one judgment change what is believed of its item, by Bayes' rule."""
        if self.belief is not None and self.confusion is not None and row["item"] < len(self.belief):
            before = float(self.belief[row["item"]])
            self.belief[row["item"]] = update_belief(before, row["relevance"], self.confusion(row["person"]))

    def _contest(self, row: Mapping[str, Any]) -> None:
        self.contests[row["id"]] = row
        if row["set"] in self.sets:
            self.assignments[self.sets[row["set"]].assignment].contested.add((row["set"], row["slot"]))

    def _ruling(self, row: Mapping[str, Any]) -> None:
        self.ruled.add(row["contest"])
        if row["upheld"]:
            self.overruled.add(self.contests[row["contest"]]["item"])

    def _invitation(self, row: Mapping[str, Any]) -> None:
        self.invitations[row["id"]] = row

    def _acceptance(self, row: Mapping[str, Any]) -> None:
        self.accepted.add(row["invitation"])

    def _token(self, row: Mapping[str, Any]) -> None:
        self.tokens[row["hash"]] = row

    def _revocation(self, row: Mapping[str, Any]) -> None:
        self.revoked.add(row["token"])

    def _switch(self, row: Mapping[str, Any]) -> None:
        self.switches[row["name"]] = row["value"]

    def _audit(self, row: Mapping[str, Any]) -> None:
        self.link = Link(row["id"], row["hash"])

    _FOLDS: Mapping[str, Callable[[Ledger, Mapping[str, Any]], None]] = {
        "items": _item,
        "people": _person,
        "passwords": _password,
        "languages": _language,
        "standings": _standing,
        "assignments": _assignment,
        "sets": _set,
        "slots": _slot,
        "answers": _answer,
        "finishes": _finish,
        "outcomes": _outcome,
        "judgments": _judgment,
        "contests": _contest,
        "rulings": _ruling,
        "invitations": _invitation,
        "acceptances": _acceptance,
        "tokens": _token,
        "revocations": _revocation,
        "switches": _switch,
        "audit": _audit,
    }
