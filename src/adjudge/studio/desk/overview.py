"""The numbers of the lead's overview: how far the pool is by the ledger, all else by the tables. Read, never kept.

The SQL is that of SQLAlchemy's Core on the tables of ``schema``, so SQLite and PostgreSQL give the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import distinct, func, select

from adjudge.studio.desk.consensus_view import summary_found
from adjudge.studio.gates.information import judgments_saved, settled_items
from adjudge.studio.record.schema import answers, assignments, finishes, judgments, outcomes, people, sets, slots
from adjudge.studio.work.assignment import item_beliefs

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.studio.record.items import Items
    from adjudge.studio.record.ledger import Ledger
    from adjudge.studio.settings import Redundancy


Belief: TypeAlias = NDArray[np.float64] | None  # (I,) P(relevant)

HOUR = 3600.0
ACTIVE = 300.0  # seconds since the last answer within which a judge is at work
RECENT = 20_000  # answers that are looked through for who is at work
ACCEPTED = ("passed", "approved", "submitted")
CRITERIA = ("binary", "ndcg", "time")


class TopicProgress(NamedTuple):
    """How far a topic is."""

    topic: str
    items: int
    judged: int  # judgments that count
    needed: int  # judgments that there will be
    settled: int  # items that need no more

    @property
    def share(self) -> float:
        """Return the part of the judgments that is there."""
        return min(self.judged / self.needed, 1.0) if self.needed else 1.0


class Progress(NamedTuple):
    """How far a campaign is."""

    topics: tuple[TopicProgress, ...]
    saved: int | None  # judgments that adaptive redundancy has saved against a fixed number

    @property
    def total(self) -> TopicProgress:
        """Return all topics together."""
        sums = [sum(row[column] for row in self.topics) for column in range(1, 5)]  # type: ignore[misc]
        return TopicProgress("", *sums)


class Pace(NamedTuple):
    """How fast judgments come."""

    last_hour: int  # documents that were answered in it, gold too
    last_answer: float | None  # when
    per_hour: float  # accepted, of the last hour, or, where it had none, of the time since the first judgment
    hours_left: float | None


class CriterionRate(NamedTuple):
    """How often assignments fail a criterion."""

    name: str
    failed: int
    only: int  # failed this one and no other


@dataclass(frozen=True)
class GateRates:
    """How assignments of one kind ended."""

    kind: str
    passed: int
    returned: int
    approved: int  # of the returned
    expired: int
    released: int
    criteria: tuple[CriterionRate, ...]

    @property
    def graded(self) -> int:
        """Return how many met the gate."""
        return self.passed + self.returned

    @property
    def pass_rate(self) -> float | None:
        """Return the share that was accepted: that passed, or was approved after it was returned."""
        return (self.passed + self.approved) / self.graded if self.graded else None


class Earned(NamedTuple):
    """What a judge has earned, paid or not."""

    person: int
    name: str
    assignments: int
    amount: float


class Open(NamedTuple):
    """An assignment that someone has taken and not finished."""

    id: int
    token: str
    person: int
    name: str
    kind: str
    at: float


def progress(pool: Items, topics: Sequence[str], redundancy: Redundancy, belief: Belief) -> Progress:
    """Return how far the pool is, by what the ledger counts: judgments of excluded judges are not among them.

    An item that is settled needs no more than it has; any other, as many as a fixed number would ask.
    """
    size = len(pool.pooled)  # items that came later are not of the pool yet
    judged = pool.judged[:size]
    done = settled_items(item_beliefs(pool, belief)[:size], judged, redundancy) & pool.pooled
    wanted = np.where(done, judged, np.maximum(redundancy.judgments, judged + 1))
    rows = []
    for name, ids in zip(topics, pool.topic_items, strict=True):
        needed = int(np.minimum(wanted[ids], max(redundancy.judgments, redundancy.most)).sum())
        rows.append(TopicProgress(name, len(ids), int(judged[ids].sum()), needed, int(done[ids].sum())))
    less = judgments_saved(judged, done, redundancy) if redundancy.adaptive else None
    return Progress(tuple(row for row in rows if row.items), less)


def pace(connection: Connection, now: float, left: int) -> Pace:
    """Return how fast judgments come and how long those that are left take at that pace.

    A judgment counts when it was given, not when a lead approved it.
    """
    approved = select(outcomes.c.assignment).where(outcomes.c.outcome == "approved")
    made = judgments.c
    at_once = select(func.count().filter(made.at > now - HOUR), func.count(), func.min(made.at)).where(
        made.use == "work", made.assignment.not_in(approved)
    )
    recent, total, first = connection.execute(at_once).one()
    last_finish = (
        select(sets.c.assignment, func.max(finishes.c.at).label("at"))
        .select_from(finishes.join(sets, sets.c.id == finishes.c.set))
        .where(sets.c.assignment.in_(approved))
        .group_by(sets.c.assignment)
        .subquery()
    )
    later = select(last_finish.c.at).select_from(
        judgments.join(last_finish, last_finish.c.assignment == made.assignment)
    )
    given = [at for (at,) in connection.execute(later.where(made.use == "work"))]
    recent, total = recent + sum(at > now - HOUR for at in given), total + len(given)
    first = min([*given, *([] if first is None else [first])], default=None)
    last = connection.execute(select(answers.c.at).order_by(answers.c.id.desc()).limit(1)).scalar()
    hours = max((now - first) / HOUR, 1 / 60) if first is not None else 1.0
    per_hour = recent / min(hours, 1.0) if recent else total / hours
    return Pace(answered(connection, now - HOUR), last, per_hour, left / per_hour if per_hour else None)


def answered(connection: Connection, since: float) -> int:
    """Return how many documents judges have answered since then, accepted or not: of finished sets and of open ones."""
    done = (
        select(func.count())
        .select_from(finishes.join(slots, slots.c.set == finishes.c.set))
        .where(finishes.c.at > since)
    )
    newest = connection.execute(select(func.max(answers.c.id))).scalar() or 0
    begun = (
        select(answers.c.set, answers.c.slot)
        .where(answers.c.id > newest - RECENT, answers.c.at > since, answers.c.told == 1)
        .where(answers.c.set.not_in(select(finishes.c.set)))
        .distinct()
        .subquery()
    )
    counted = (connection.execute(query).scalar_one() for query in (done, select(func.count()).select_from(begun)))
    return sum(map(int, counted))


def active_judges(connection: Connection, now: float, within: float = ACTIVE) -> int:
    """Return how many judges answered a moment ago. Answers are numbered as they come: only the last are looked at."""
    newest = connection.execute(select(func.max(answers.c.id))).scalar() or 0
    found = (
        select(func.count(distinct(assignments.c.person)))
        .select_from(answers.join(sets, sets.c.id == answers.c.set))
        .join(assignments, assignments.c.id == sets.c.assignment)
        .where(answers.c.id > newest - RECENT, answers.c.at > now - within)
    )
    return int(connection.execute(found).scalar_one())


def gate_rates(connection: Connection, kind: str = "work", person: int | None = None) -> GateRates:
    """Return how assignments of a kind ended, of everyone or of one judge."""
    found = (
        select(outcomes.c.outcome, outcomes.c.failed, func.count())
        .select_from(outcomes.join(assignments, assignments.c.id == outcomes.c.assignment))
        .where(assignments.c.kind == kind)
        .group_by(outcomes.c.outcome, outcomes.c.failed)
    )
    if person is not None:
        found = found.where(assignments.c.person == person)
    ended, failures = Counter[str](), Counter[tuple[str, ...]]()
    for outcome, failed, n in connection.execute(found):
        ended[outcome] += n
        if outcome == "returned":
            failures[tuple(failed.split())] += n
    names = CRITERIA if kind == "work" else ("qualification",)
    rates = (
        CriterionRate(name, sum(n for failed, n in failures.items() if name in failed), failures[(name,)])
        for name in names
    )
    counts = {outcome: ended[outcome] for outcome in ("passed", "returned", "approved", "expired", "released")}
    return GateRates(kind, criteria=tuple(rates), **counts)


def earnings(connection: Connection, amount: float) -> list[Earned]:
    """Return what each judge has earned: every assignment that was accepted, once."""
    accepted = (
        select(assignments.c.person, func.count(distinct(assignments.c.id)).label("n"))
        .select_from(outcomes.join(assignments, assignments.c.id == outcomes.c.assignment))
        .where(assignments.c.kind == "work", outcomes.c.outcome.in_(ACCEPTED))
        .group_by(assignments.c.person)
        .subquery()
    )
    found = (
        select(people.c.id, people.c.name, accepted.c.n)
        .select_from(accepted.join(people, people.c.id == accepted.c.person))
        .order_by(accepted.c.n.desc(), people.c.name)
    )
    return [Earned(person, name, n, n * amount) for person, name, n in connection.execute(found)]


def open_assignments(connection: Connection, person: int | None = None) -> list[Open]:
    """Return the assignments that are out: taken, and neither graded nor given back nor expired."""
    ended = select(outcomes.c.assignment)
    found = (
        select(assignments.c.id, assignments.c.token, people.c.id, people.c.name, assignments.c.kind, assignments.c.at)
        .select_from(assignments.join(people, people.c.id == assignments.c.person))
        .where(assignments.c.id.not_in(ended))
        .order_by(assignments.c.id)
    )
    if person is not None:
        found = found.where(assignments.c.person == person)
    return [Open(*row) for row in connection.execute(found)]


class Live(NamedTuple):
    """All that the overview shows."""

    at: float
    paused: bool
    progress: Progress
    pace: Pace
    active: int
    out: list[Open]
    gates: tuple[GateRates, ...]
    earned: list[Earned]
    unruled: int  # contests that wait
    consensus: Mapping[str, Any] | None
    sure: int  # items of which a label reaches the target

    @property
    def pay(self) -> float:
        """Return what was earned in all, paid or not."""
        return sum(one.amount for one in self.earned)


def live(connection: Connection, ledger: Ledger, now: float) -> Live:
    """Return all that the overview shows."""
    campaign = ledger.campaign
    far = progress(ledger.items, list(campaign.topics), campaign.settings.redundancy, ledger.belief)
    left = far.total.needed - far.total.judged
    return Live(
        now,
        ledger.switches.get("paused") == "1",
        far,
        pace(connection, now, left),
        active_judges(connection, now),
        open_assignments(connection),
        tuple(gate_rates(connection, kind) for kind in ("work", "qualification")),
        earnings(connection, campaign.settings.pay.amount),
        len(ledger.contests.keys() - ledger.ruled),
        summary_found(campaign.folder),
        _sure(ledger),
    )


def _sure(ledger: Ledger) -> int:
    """Return of how many judged items of the pool a label is as probable as adaptive redundancy asks."""
    pool, size = ledger.items, len(ledger.items.pooled)
    belief = item_beliefs(pool, ledger.belief)[:size]
    reached = np.maximum(belief, 1 - belief) >= ledger.campaign.settings.redundancy.target
    return int((reached & pool.pooled & (pool.judged[:size] > 0)).sum())
