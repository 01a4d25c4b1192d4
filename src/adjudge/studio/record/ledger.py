"""The ledger: the present state of a campaign in memory, computed from all rows of the database.

The only writer holds it. A row is folded in the same way whether it was just decided or is read back after a restart
(``load_ledger``), so the memory never holds anything that counts and is not on the disk. Two more things are in memory
only and may be lost: when a judge was last active, and the beliefs about items. Only assignments that are open, or the
last of their judge, are kept.
"""

from __future__ import annotations

import secrets
import zlib
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Select, Table, and_, case, func, or_, select

from adjudge.data.files import decode_content
from adjudge.errors import Problems
from adjudge.studio.campaign import Campaign
from adjudge.studio.gates import Answer
from adjudge.studio.record import schema
from adjudge.studio.record.audit import Link
from adjudge.studio.record.items import TYPICAL, Items, ItemSet, update_belief
from adjudge.studio.record.row_hashes import SEALED, RowHashes, load_row_hashes
from adjudge.studio.records import Gold
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import Settings, read_settings

UNDECIDED = Answer(None, False, None, 0.0)
OVER = ("passed", "returned", "expired", "released")  # outcomes that end an assignment
COUNTED = ("work", "imported")  # uses of judgments that count towards redundancy
READ_FIRST = (schema.people, schema.passwords, schema.languages, schema.standings)
READ_LAST = (
    schema.contests,
    schema.rulings,
    schema.corrections,
    schema.invitations,
    schema.acceptances,
    schema.withdrawals,
    schema.resets,
    schema.sessions,
    schema.endings,
    schema.factors,
    schema.recovery_codes,
    schema.factor_uses,
    schema.identities,
    schema.tokens,
    schema.revocations,
    schema.switches,
)
NUMBERED = (
    schema.items,
    schema.assignments,
    schema.sets,
    schema.answers,
    schema.outcomes,
    schema.judgments,
    schema.identifications,
    schema.audit,
)  # not read completely


class Beliefs(Protocol):
    """The result of a consensus (see ``consensus.Beliefs``)."""

    array: NDArray[np.float64]  # (I,)
    typical: NDArray[np.float64]  # (2, 2)
    upto: int  # the last judgment that the consensus knows

    def confusion(self, person: int) -> NDArray[np.float64]:
        """Return the confusion matrix of a person, (2, 2)."""


@dataclass(slots=True)
class Set:
    """Documents of one topic that a judge works on together."""

    id: int
    assignment: int
    position: int
    use: str
    name: str
    token: str
    items: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    stored: list[int] = field(default_factory=list)  # how many answers each slot has had
    finished: float | None = None


@dataclass(slots=True)
class Assignment:
    """The sets that a judge has taken on at once."""

    id: int
    at: float
    person: int
    kind: str
    token: str
    outside: str
    active: float  # when its judge last did something
    sets: list[Set] = field(default_factory=list)
    outcome: str = ""  # how it ended, if it did
    failed: tuple[str, ...] = ()
    scores: dict[str, float] = field(default_factory=dict)
    code: str = ""
    contested: set[tuple[int, int]] = field(default_factory=set)  # set, slot

    @property
    def finished(self) -> int:
        """How many sets are finished; sets are finished in their order."""
        return sum(part.finished is not None for part in self.sets)

    @property
    def opened(self) -> float:
        """When the judge opened the current set."""
        return self.at if not self.finished else self.sets[self.finished - 1].finished or self.at


@dataclass(slots=True)
class Person:
    """Someone who judges, reviews or leads."""

    id: int
    name: str
    role: str
    outside: str | None
    language: str
    met: ItemSet  # items that they have judged, which are not shown again
    standing: str = "new"
    reason: str = ""
    password: str = ""
    password_id: int = 0
    epoch: int = 0  # how often all sessions were ended, by a new password or by request; earlier sessions are over
    sessions: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # nonce -> row; may hold some that are over
    reset: Mapping[str, Any] | None = None  # the last link to set a password
    factor: str = ""  # the salt of the second factor, if there is one
    factor_id: int = 0
    recovery: frozenset[str] = frozenset()  # hashes of the recovery codes that are left
    step: int = 0  # the time step of the last code of the second factor
    openid: bool = False  # whether they sign in with an OpenID Connect provider
    last: int | None = None  # the assignment that is open, or was the last
    sets: set[str] = field(default_factory=set)  # names of the fixed sets that they have had
    counted: array[int] = field(default_factory=lambda: array("I"))  # items of their judgments that count
    passed: int = 0
    returned: int = 0
    attempts: int = 0  # at the qualification

    @property
    def excluded(self) -> bool:
        """Whether their judgments do not count."""
        return self.standing == "excluded"


class Ledger:
    """The present state: people, items, assignments and the rest."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.latest = 0.0  # the time of the newest row
        self.link = Link()  # the end of the audit log
        self.hashes = RowHashes()  # of the rows that are not sealed yet
        self.people: dict[int, Person] = {}
        self.named: dict[str, int] = {}
        self.outsiders: dict[str, int] = {}
        self.assignments: dict[int, Assignment] = {}
        self.assignment_of: dict[str, int] = {}  # token -> assignment
        self.set_of: dict[str, Set] = {}  # token -> set
        self.sets: dict[int, Set] = {}
        self.contests: dict[int, Mapping[str, Any]] = {}
        self.ruled: set[int] = set()
        self.overruled: set[int] = set()  # items whose gold was ruled wrong
        self._overruled_at: dict[int, float] = {}
        self.files: dict[str, str] = {}  # file of the campaign -> SHA-256 of its last revision
        self.rules: list[tuple[float, Settings]] = []  # the settings since a time, oldest first
        self.invitations: dict[int, Mapping[str, Any]] = {}
        self.accepted: set[int] = set()
        self.withdrawn: set[int] = set()  # invitations
        self.ended: set[str] = set()  # nonces of sessions
        self.identities: dict[str, int] = {}  # of an OpenID Connect provider -> person
        self.tokens: dict[str, Mapping[str, Any]] = {}  # hash -> row
        self.revoked: set[int] = set()
        self.switches: dict[str, str] = {}
        self.items = Items()
        self.person_of: dict[int, int] = {}  # assignment -> person, for all assignments
        self.belief: NDArray[np.float64] | None = None  # (I,) P(relevant), from the last consensus
        self.confusion: Callable[[int], NDArray[np.float64]] | None = None  # of a person, (2, 2)
        self.typical: NDArray[np.float64] = TYPICAL  # the confusion of a judge without judgments
        self.since: list[Mapping[str, Any]] = []  # judgments after the last consensus
        self._last_id: dict[str, int] = {}

    def note_id(self, table: Table, last: int) -> None:
        """Note that ids up to this one are used in a table."""
        self._last_id[table.name] = max(self._last_id.get(table.name, 0), last)

    def next_id(self, table: Table, ahead: int = 1) -> int:
        """Return the id of the next row of a table, or of the row that comes ``ahead`` rows from now."""
        return self._last_id.get(table.name, 0) + ahead

    def fold(self, table: Table, row: Mapping[str, Any]) -> None:
        """Change the state by one row of a table.

        Rows must come in an order in which they could have been written: a person before their assignments, an
        assignment before its sets.
        """
        if "id" in row:
            self.note_id(table, row["id"])
        self.latest = max(self.latest, row.get("at", 0.0))
        self._FOLDS[table.name](self, row)

    def gold_of(self, item: int) -> Gold | None:
        """Return the gold of an item in the campaign's files."""
        return self.campaign.gold.get(self.items.pairs[item])

    def settings_at(self, time: float) -> Settings:
        """Return the settings that held at a time; work is graded by those under which its judge began.

        The first settings that the record has hold for the time before them too.
        """
        index = bisect_right(self.rules, time, key=lambda rule: rule[0])
        return self.rules[max(index - 1, 0)][1] if self.rules else self.campaign.settings

    def amounts(self) -> list[tuple[float, float]]:
        """Return the pay for an assignment with the time since which it holds, oldest first."""
        amounts = [(since, settings.pay.amount) for since, settings in self.rules]
        changes = [entry for index, entry in enumerate(amounts) if not index or entry[1] != amounts[index - 1][1]]
        return changes or [(0.0, self.campaign.settings.pay.amount)]

    def adopt(self, campaign: Campaign) -> None:
        """Work with changed files from now on; all their pairs have an id."""
        self.campaign = campaign
        self.items.pool(campaign)

    def copy_activity(self, before: Ledger) -> None:
        """Copy from an earlier ledger when judges were last active, which is in no row."""
        for number in self.assignments.keys() & before.assignments.keys():
            assignment = self.assignments[number]
            assignment.active = max(assignment.active, before.assignments[number].active)

    @property
    def archived(self) -> bool:
        """Whether a lead has archived the campaign: it can be read, and no work is added (see ``store``)."""
        return self.switches.get("archived") == "1"

    def open_assignments(self) -> list[Assignment]:
        """Return the assignments that are not over."""
        return [assignment for assignment in self.assignments.values() if not assignment.outcome]

    # one method per table, in the order in which tables are read

    def _item(self, row: Mapping[str, Any]) -> None:
        """Add an item."""
        self.items.add(row["id"], (row["topic"], row["document"]))

    def _person(self, row: Mapping[str, Any]) -> None:
        """Add a person."""
        met = ItemSet(len(self.items.pairs))
        person = Person(row["id"], row["name"], row["role"], row["outside"], row["language"], met)
        self.people[person.id] = person
        self.named[person.name.casefold()] = person.id
        if person.outside:
            self.outsiders[person.outside] = person.id

    def _password(self, row: Mapping[str, Any]) -> None:
        """Set a person's password; sessions of earlier passwords end."""
        person = self.people[row["person"]]
        person.password, person.password_id, person.epoch = row["hash"], row["id"], person.epoch + 1

    def _language(self, row: Mapping[str, Any]) -> None:
        """Set a person's language."""
        self.people[row["person"]].language = row["language"]

    def _standing(self, row: Mapping[str, Any]) -> None:
        """Set a person's standing; exclusion takes their judgments out of the counts, and the reverse."""
        person = self.people[row["person"]]
        before = person.excluded
        person.standing, person.reason = row["standing"], row["reason"]
        if person.excluded != before:
            self.items.count(person.counted, 1 if before else -1)

    def _assignment(self, row: Mapping[str, Any]) -> None:
        """Add an assignment, the new last one of its judge."""
        assignment = Assignment(
            row["id"], row["at"], row["person"], row["kind"], row["token"], row["outside"], row["at"]
        )
        self._forget(self.people[assignment.person].last)
        self.people[assignment.person].last = assignment.id
        self.person_of[assignment.id] = assignment.person
        self.assignments[assignment.id] = assignment
        self.assignment_of[assignment.token] = assignment.id

    def _forget(self, number: int | None) -> None:
        """Remove an assignment that is over when its judge has another one."""
        ended = self.assignments.pop(number, None) if number is not None else None
        if ended is not None:
            self.assignment_of.pop(ended.token, None)
            for part in ended.sets:
                self.set_of.pop(part.token, None)
                self.sets.pop(part.id, None)

    def _set(self, row: Mapping[str, Any]) -> None:
        """Add a set to its assignment, in the order of positions."""
        new = Set(row["id"], row["assignment"], row["position"], row["use"], row["name"], row["token"])
        assignment = self.assignments[new.assignment]
        assignment.sets.append(new)
        assignment.sets.sort(key=lambda part: part.position)
        self.set_of[new.token] = self.sets[new.id] = new
        if new.name:
            self.people[assignment.person].sets.add(new.name)

    def _slot(self, row: Mapping[str, Any]) -> None:
        """Add an item to a set; an item of a work set is then out with a judge."""
        part = self.sets[row["set"]]
        part.items.append(row["item"])
        part.answers.append(UNDECIDED)
        part.stored.append(0)
        if part.use == "work":
            self.items.leased[row["item"]] += 1
        elif part.use == "gold":
            self.items.shown[row["item"]] += 1

    def _answer(self, row: Mapping[str, Any]) -> None:
        """Set the answer of a slot."""
        part = self.sets[row["set"]]
        part.keys.add(row["key"])
        part.stored[row["slot"]] += 1
        part.answers[row["slot"]] = Answer(
            row["relevance"], bool(row["told"]), row["rank"], row["seconds"], row["comment"]
        )
        self._note_activity(part, row["at"])

    def _finish(self, row: Mapping[str, Any]) -> None:
        """Note that a set is finished."""
        part = self.sets[row["set"]]
        part.finished = row["at"]
        self._note_activity(part, row["at"])

    def _note_activity(self, part: Set, at: float) -> None:
        """Note that the judge of a set is active."""
        assignment = self.assignments[part.assignment]
        assignment.active = max(assignment.active, at)

    def _outcome(self, row: Mapping[str, Any]) -> None:
        """Set the outcome of an assignment, and count it for its judge."""
        person = self.people[self.person_of[row["assignment"]]]
        assignment = self.assignments.get(row["assignment"])
        if row["outcome"] == "approved":
            person.passed, person.returned = person.passed + 1, person.returned - 1
        if assignment is None:  # it was over long before it was approved
            return
        if row["outcome"] in OVER:
            self._end(assignment, person, row)
        assignment.outcome = row["outcome"]
        assignment.code = row["code"] or assignment.code

    def _end(self, assignment: Assignment, person: Person, row: Mapping[str, Any]) -> None:
        """End an assignment: its slots are free again, and its judge has met the items of returned work and all gold.

        Gold counts as met also if the judge gave the work up or let its time run out: they could otherwise take work
        again and again, and would know the gold by how often it comes.
        """
        outcome = row["outcome"]
        assignment.failed = tuple(row["failed"].split())
        assignment.scores = {name: row[name] for name in ("binary", "ndcg", "fastest") if row[name] is not None}
        if outcome in ("passed", "returned"):
            person.passed += outcome == "passed" and assignment.kind == "work"
            person.returned += outcome == "returned" and assignment.kind == "work"
        graded, given_up = outcome in ("passed", "returned"), row["by"] == person.id
        person.attempts += assignment.kind == "qualification" and (graded or given_up)
        for part in assignment.sets:
            if part.use == "work":
                self.items.lease(part.items, -1)
            if outcome == "returned" or part.use == "gold":
                for item in part.items:
                    person.met.add(item)

    def _judgment(self, row: Mapping[str, Any]) -> None:
        """Count a judgment, and update the belief about its item."""
        person, item, relevance = self.people[row["person"]], row["item"], row["relevance"]
        person.met.add(item)
        if row["use"] not in COUNTED:
            return
        if relevance is None:
            self.items.undecided[item] += 1
            return
        person.counted.append(item)
        if not person.excluded:
            self.items.judged[item] += 1
            if self.belief is not None:
                self.since.append(row)
                self._revise(row)

    def add_judgments(
        self, person: Person, met: NDArray[np.int64], counted: NDArray[np.int64], undecided: NDArray[np.int64]
    ) -> None:
        """Fold all judgments of a person at once: items they met, those that count, and those with "cannot tell"."""
        person.met.add_all(met)
        np.add.at(self.items.undecided, undecided, 1)
        person.counted.extend(counted.tolist())
        if not person.excluded:
            self.items.count(counted, 1)

    def believe(self, beliefs: Beliefs) -> None:
        """Replace the beliefs by those of a consensus, updated by the judgments that it does not know."""
        self.belief, self.confusion, self.typical = beliefs.array.astype(float), beliefs.confusion, beliefs.typical
        self.since = [row for row in self.since if row["id"] > beliefs.upto]
        for row in self.since:
            self._revise(row)

    def _revise(self, row: Mapping[str, Any]) -> None:
        """Update the belief about an item by one judgment, with Bayes' rule."""
        if self.belief is not None and self.confusion is not None and row["item"] < len(self.belief):
            before = float(self.belief[row["item"]])
            self.belief[row["item"]] = update_belief(before, row["relevance"], self.confusion(row["person"]))

    def _contest(self, row: Mapping[str, Any]) -> None:
        """Add a contest."""
        self.contests[row["id"]] = row
        if row["set"] in self.sets:
            self.assignments[self.sets[row["set"]].assignment].contested.add((row["set"], row["slot"]))

    def _ruling(self, row: Mapping[str, Any]) -> None:
        """Note a ruling; gold whose contest is upheld no longer grades anybody."""
        self.ruled.add(row["contest"])
        if row["upheld"]:
            item = self.contests[row["contest"]]["item"]
            self.overruled.add(item)
            self._overruled_at[item] = row["at"]

    def _correction(self, row: Mapping[str, Any]) -> None:
        """Note that gold which was ruled wrong has another grade; a later ruling on that grade stands."""
        if row["at"] >= self._overruled_at.get(row["item"], 0.0):
            self.overruled.discard(row["item"])

    def _revision(self, row: Mapping[str, Any]) -> None:
        """Note the content of a file of the campaign, and the settings with the time from which they hold."""
        self.files[row["file"]] = row["sha256"]
        if row["file"] == SETTINGS_FILE:
            content = decode_content(zlib.decompress(row["packed"]), SETTINGS_FILE, empty=True)
            self.rules.append((row["at"], read_settings(content.text, Problems())))

    def _invitation(self, row: Mapping[str, Any]) -> None:
        """Add an invitation."""
        self.invitations[row["id"]] = row

    def _acceptance(self, row: Mapping[str, Any]) -> None:
        """Note that an invitation was accepted."""
        self.accepted.add(row["invitation"])

    def _withdrawal(self, row: Mapping[str, Any]) -> None:
        """Note that an invitation was withdrawn."""
        self.withdrawn.add(row["invitation"])

    def _reset(self, row: Mapping[str, Any]) -> None:
        """Set the link by which a person sets a new password; an earlier link is over."""
        self.people[row["person"]].reset = row

    def _session(self, row: Mapping[str, Any]) -> None:
        """Add a session, and forget those of the person that are over."""
        person, at, epoch = self.people[row["person"]], row["at"], row["epoch"]
        valid = {n: old for n, old in person.sessions.items() if old["expires"] > at and old["epoch"] >= epoch}
        person.sessions = {**valid, row["nonce"]: row}  # a new one, because pages read it meanwhile

    def _ending(self, row: Mapping[str, Any]) -> None:
        """End one session of a person, or all of them."""
        person = self.people[row["person"]]
        if row["nonce"]:
            self.ended.add(row["nonce"])
            person.sessions = {nonce: old for nonce, old in person.sessions.items() if nonce != row["nonce"]}
        else:
            person.epoch += 1

    def _factor(self, row: Mapping[str, Any]) -> None:
        """Set or remove the second factor of a person; recovery codes of an earlier one are void."""
        person = self.people[row["person"]]
        person.factor, person.factor_id, person.recovery = row["salt"], row["id"], frozenset()

    def _recovery_code(self, row: Mapping[str, Any]) -> None:
        """Add a recovery code, if it belongs to the present second factor of somebody."""
        for person in self.people.values():
            if person.factor_id == row["factor"]:
                person.recovery |= {row["hash"]}

    def _factor_use(self, row: Mapping[str, Any]) -> None:
        """Note a code that was used."""
        person = self.people[row["person"]]
        person.step, person.recovery = max(person.step, row["step"]), person.recovery - {row["recovery"]}

    def _identity(self, row: Mapping[str, Any]) -> None:
        """Bind an identity of an OpenID Connect provider to a person."""
        self.identities[row["subject"]] = row["person"]
        self.people[row["person"]].openid = True

    def _token(self, row: Mapping[str, Any]) -> None:
        """Add an API token."""
        self.tokens[row["hash"]] = row

    def _revocation(self, row: Mapping[str, Any]) -> None:
        """Note that an API token was revoked."""
        self.revoked.add(row["token"])

    def _switch(self, row: Mapping[str, Any]) -> None:
        """Set a switch of the running campaign."""
        self.switches[row["name"]] = row["value"]

    def _identification(self, row: Mapping[str, Any]) -> None:
        """Ignore the id of the campaign, which is compared before the ledger is used."""

    def _audit(self, row: Mapping[str, Any]) -> None:
        """Note the end of the audit log, and the rows that it seals."""
        self.link = Link(row["id"], row["hash"])
        if row["what"] == SEALED:
            self.hashes.seal(row["detail"])

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
        "corrections": _correction,
        "revisions": _revision,
        "invitations": _invitation,
        "acceptances": _acceptance,
        "withdrawals": _withdrawal,
        "resets": _reset,
        "sessions": _session,
        "endings": _ending,
        "factors": _factor,
        "recovery_codes": _recovery_code,
        "factor_uses": _factor_use,
        "identities": _identity,
        "tokens": _token,
        "revocations": _revocation,
        "switches": _switch,
        "identifications": _identification,
        "audit": _audit,
    }


def load_ledger(connection: Connection, campaign: Campaign) -> Ledger:
    """Return the ledger of all rows of a database, folded in an order in which they could have been written.

    Of assignments that are long over it reads only what still matters: who judged what, which fixed sets a judge has
    had, and the outcome.
    """
    ledger = Ledger(campaign)
    for id_, topic, document in _tuples(connection, select(schema.items).order_by(schema.items.c.id)):
        ledger.items.add(id_, (topic, document))
    for table in READ_FIRST:
        _fold(ledger, table, connection, _ordered(table))
    _fold_assignments(ledger, connection)
    _fold_judgments(ledger, connection)
    for table in READ_LAST:
        _fold(ledger, table, connection, _ordered(table))
    _fold(ledger, schema.revisions, connection, _rows_of_revisions())
    _fold(ledger, schema.audit, connection, select(schema.audit).order_by(schema.audit.c.id.desc()).limit(1))
    for table in NUMBERED:
        ledger.note_id(table, connection.scalar(select(func.max(table.c.id))) or 0)
    _count_shown(ledger, connection)
    ledger.hashes = load_row_hashes(connection)
    ledger.items.pool(campaign)
    return ledger


def _fold(ledger: Ledger, table: Table, connection: Connection, rows: Select[Any]) -> None:
    """Fold the rows of one table."""
    for row in connection.execute(rows).mappings():
        ledger.fold(table, dict(row))


def _rows_of_revisions() -> Select[Any]:
    """Return all revisions in their order, with the content of the settings only."""
    columns = schema.revisions.c
    packed = case((columns.file == SETTINGS_FILE, columns.packed), else_=None).label("packed")
    return select(columns.id, columns.at, columns.file, columns.sha256, packed).order_by(columns.id)


def _tuples(connection: Connection, rows: Select[Any]) -> list[tuple[Any, ...]]:
    """Return rows as the driver gives them; with a row per judgment, this is most of the time of a restart."""
    return list(connection.execute(rows).cursor.fetchall())


def _fold_judgments(ledger: Ledger, connection: Connection) -> None:
    """Fold all judgments at once, with the same result as one by one."""
    columns = schema.judgments.c
    kind_of = case((columns.use.not_in(COUNTED), 0), (columns.relevance.is_(None), 2), else_=1)
    rows = _tuples(connection, select(columns.item, columns.person, kind_of).order_by(columns.id))
    if not rows:
        return
    item, person, kind = np.array(rows, np.int64).T
    order = np.argsort(person, kind="stable")
    item, kind = item[order], kind[order]
    numbers, starts = np.unique(person[order], return_index=True)
    for number, judged, kinds in zip(
        numbers.tolist(), np.split(item, starts[1:]), np.split(kind, starts[1:]), strict=True
    ):
        ledger.add_judgments(ledger.people[number], judged, judged[kinds == 1], judged[kinds == 2])
    ledger.latest = max(ledger.latest, connection.scalar(select(func.max(columns.at))) or 0.0)


def _count_shown(ledger: Ledger, connection: Connection) -> None:
    """Count in how many gold sets each item was given out, also in sets that are long over."""
    item, of = schema.slots.c.item, schema.sets.c.id == schema.slots.c.set
    query = select(item, func.count()).join(schema.sets, of).where(schema.sets.c.use == "gold").group_by(item)
    rows = _tuples(connection, query)
    if rows:
        number, times = np.array(rows, np.int64).T
        ledger.items.shown[number] = times


def _ordered(table: Table) -> Select[Any]:
    """Return all rows of a table in the order in which they were written."""
    return select(table).order_by(*table.primary_key.columns)


def _fold_assignments(ledger: Ledger, connection: Connection) -> None:
    """Fold assignments one after another, each with all its rows, because a judge has one at a time."""
    last = select(func.max(schema.assignments.c.id)).group_by(schema.assignments.c.person)
    unfinished_gold = and_(schema.sets.c.use == "gold", _has_outcome("expired", "released"))
    complete = or_(schema.sets.c.assignment.in_(last), _has_outcome("returned"), unfinished_gold)
    rows_of_sets = select(schema.sets).where(or_(complete, schema.sets.c.name != "")).order_by(schema.sets.c.id)
    sets = _grouped(connection, rows_of_sets, "assignment")
    slots = _grouped(
        connection, _rows_in_sets(schema.slots, complete).order_by(schema.slots.c.set, schema.slots.c.slot), "set"
    )
    latest = schema.sets.c.assignment.in_(last)
    answers = _grouped(connection, _rows_in_sets(schema.answers, latest).order_by(schema.answers.c.id), "set")
    finishes = _grouped(connection, _rows_in_sets(schema.finishes, latest), "set")
    outcomes = _grouped(connection, _ordered(schema.outcomes), "assignment")
    for assignment in connection.execute(_ordered(schema.assignments)).mappings():
        ledger.fold(schema.assignments, dict(assignment))
        for part in sets[assignment["id"]]:
            ledger.fold(schema.sets, part)
            for table, rows in ((schema.slots, slots), (schema.answers, answers), (schema.finishes, finishes)):
                for row in rows[part["id"]]:
                    ledger.fold(table, row)
        for outcome in outcomes[assignment["id"]]:
            ledger.fold(schema.outcomes, outcome)


def _has_outcome(*outcomes: str) -> ColumnElement[bool]:
    """Return the condition that the assignment of a set has one of these outcomes."""
    columns = schema.outcomes.c
    return schema.sets.c.assignment.in_(select(columns.assignment).where(columns.outcome.in_(outcomes)))


def _rows_in_sets(table: Table, condition: ColumnElement[bool]) -> Select[Any]:
    """Return the query of the rows of a table whose sets meet a condition."""
    return select(table).join(schema.sets, schema.sets.c.id == table.c.set).where(condition)


def _grouped(connection: Connection, rows: Select[Any], by: str) -> Mapping[int, list[Mapping[str, Any]]]:
    """Return rows by the value of a column."""
    groups: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for row in connection.execute(rows).mappings():
        groups[row[by]].append(dict(row))
    return groups


def missing_items(ledger: Ledger, campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield rows for a campaign's pairs that have no id yet, in random order, so that no id tells which are gold."""
    fixed = (pair for part in campaign.sets for pair in part.pairs)
    new = dict.fromkeys(
        pair for pairs in (campaign.pool, campaign.drawn, fixed) for pair in pairs if pair not in ledger.items.ids
    )
    order = secrets.SystemRandom().sample(list(new), len(new))
    for number, (topic, document) in enumerate(order, ledger.next_id(schema.items)):
        yield {"id": number, "topic": topic, "document": document}
