"""The numbers of the lead's overview: progress from the ledger, everything else from the tables.

The queries use SQLAlchemy Core on the tables of ``schema``, so that SQLite and PostgreSQL give the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, case, distinct, func, literal, select

from adjudge.errors import quoted
from adjudge.studio.campaign import Campaign
from adjudge.studio.consensus import read_summary
from adjudge.studio.record.items import Items, judgments_saved, settled_items
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import answers, assignments, finishes, items, judgments, outcomes, people, sets, slots
from adjudge.studio.records import Pair
from adjudge.studio.settings import Redundancy
from adjudge.studio.work.assignment import item_beliefs

Belief: TypeAlias = NDArray[np.float64] | None  # (I,) P(relevant)

HOUR = 3600.0
ACTIVE_SECONDS = 300.0  # since the last answer of a judge who counts as active
RECENT_ANSWERS = 20_000  # that are searched for active judges
LISTED_PAIRS = 3  # in a sentence about changed files
ACCEPTED = ("passed", "approved", "submitted")
CRITERIA = ("binary", "ndcg", "time")


class TopicProgress(NamedTuple):
    """The progress of a topic."""

    topic: str
    items: int
    judged: int  # judgments that count
    needed: int  # judgments in the end
    settled: int  # items that need no more judgments

    @property
    def share(self) -> float:
        """Return the share of the needed judgments that is done."""
        return min(self.judged / self.needed, 1.0) if self.needed else 1.0

    @property
    def left(self) -> int:
        """Return how many judgments are still needed."""
        return max(self.needed - self.judged, 0)


class Progress(NamedTuple):
    """The progress of a campaign."""

    topics: tuple[TopicProgress, ...]
    saved: int | None  # judgments saved by adaptive redundancy, compared with a fixed number

    @property
    def total(self) -> TopicProgress:
        """Return all topics together."""
        sums = [sum(row[column] for row in self.topics) for column in range(1, 5)]  # type: ignore[misc]
        return TopicProgress("", *sums)


class Pace(NamedTuple):
    """The rate of judgments."""

    last_hour: int  # documents answered in the last hour, gold included
    last_answer: float | None  # time of the last answer
    per_hour: float  # accepted judgments in the last hour or, if there are none, since the first judgment
    hours_left: float | None


class CriterionRate(NamedTuple):
    """How often assignments fail a criterion."""

    name: str
    failed: int
    only: int  # assignments that failed this criterion only


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
        """Return the number of graded assignments."""
        return self.passed + self.returned

    @property
    def pass_rate(self) -> float | None:
        """Return the share of accepted assignments: passed, or approved after they were returned."""
        return (self.passed + self.approved) / self.graded if self.graded else None


class Earned(NamedTuple):
    """The earnings of a judge, paid or not."""

    person: int
    name: str
    assignments: int
    amount: float


class Open(NamedTuple):
    """An open assignment."""

    id: int
    token: str
    person: int
    name: str
    kind: str
    at: float


def progress(pool: Items, topics: Sequence[str], redundancy: Redundancy, belief: Belief) -> Progress:
    """Return the progress of the pool by the counts of the ledger, which leave out excluded judges.

    A settled item needs no more judgments than it has; any other item needs the fixed number.

    Parameters
    ----------
    pool
        The items of the ledger.
    topics
        The names of the campaign's topics, in the order of ``pool.topic_items``.
    redundancy
        How many judgments an item gets.
    belief
        P(relevant) of items by the consensus, or None without one.
    """
    size = len(pool.pooled)  # items that were added later are not in the pool yet
    judged = pool.judged[:size]
    done = settled_items(item_beliefs(pool, belief)[:size], judged, redundancy) & pool.pooled
    needed = np.where(done, judged, np.maximum(redundancy.judgments, judged + 1))
    rows = []
    for name, ids in zip(topics, pool.topic_items, strict=True):
        total = int(np.minimum(needed[ids], max(redundancy.judgments, redundancy.most)).sum())
        rows.append(TopicProgress(name, len(ids), int(judged[ids].sum()), total, int(done[ids].sum())))
    spared = judgments_saved(judged, done, redundancy) if redundancy.adaptive else None
    return Progress(tuple(row for row in rows if row.items), spared)


def pace(connection: Connection, now: float, left: int) -> Pace:
    """Return the rate of judgments, and the time that the remaining ones take at this rate.

    A judgment counts from the time when the judge gave it, not when a lead approved it.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    now
        The time, by the studio's clock.
    left
        How many judgments are still needed.
    """
    recent, total, first = _accepted_judgments(connection, now)
    last = connection.execute(select(answers.c.at).order_by(answers.c.id.desc()).limit(1)).scalar()
    hours = max((now - first) / HOUR, 1 / 60) if first is not None else 1.0
    per_hour = recent / min(hours, 1.0) if recent else total / hours
    return Pace(answered(connection, now - HOUR), last, per_hour, left / per_hour if per_hour else None)


def _accepted_judgments(connection: Connection, now: float) -> tuple[int, int, float | None]:
    """Return the number of accepted judgments in the last hour and in all, and the time of the first."""
    columns = judgments.c
    approved = select(outcomes.c.assignment).where(outcomes.c.outcome == "approved")
    passed = select(func.count().filter(columns.at > now - HOUR), func.count(), func.min(columns.at)).where(
        columns.use == "work", columns.assignment.not_in(approved)
    )
    recent, total, first = connection.execute(passed).one()
    last_finish = (
        select(sets.c.assignment, func.max(finishes.c.at).label("at"))
        .select_from(finishes.join(sets, sets.c.id == finishes.c.set))
        .where(sets.c.assignment.in_(approved))
        .group_by(sets.c.assignment)
        .subquery()
    )
    approved_later = select(last_finish.c.at).select_from(
        judgments.join(last_finish, last_finish.c.assignment == columns.assignment)
    )
    times = [at for (at,) in connection.execute(approved_later.where(columns.use == "work"))]
    earliest = min([*times, *([] if first is None else [first])], default=None)
    return recent + sum(at > now - HOUR for at in times), total + len(times), earliest


def answered(connection: Connection, since: float) -> int:
    """Return how many documents judges answered since a time, in finished and in open sets, accepted or not."""
    finished = (
        select(func.count())
        .select_from(finishes.join(slots, slots.c.set == finishes.c.set))
        .where(finishes.c.at > since)
    )
    newest = connection.execute(select(func.max(answers.c.id))).scalar() or 0
    unfinished = (
        select(answers.c.set, answers.c.slot)
        .where(answers.c.id > newest - RECENT_ANSWERS, answers.c.at > since, answers.c.told == 1)
        .where(answers.c.set.not_in(select(finishes.c.set)))
        .distinct()
        .subquery()
    )
    queries = (finished, select(func.count()).select_from(unfinished))
    return sum(int(connection.execute(query).scalar_one()) for query in queries)


def active_judges(connection: Connection, now: float, within: float = ACTIVE_SECONDS) -> int:
    """Return how many judges answered recently; answers are numbered in order, so only the last ones are searched."""
    newest = connection.execute(select(func.max(answers.c.id))).scalar() or 0
    query = (
        select(func.count(distinct(assignments.c.person)))
        .select_from(answers.join(sets, sets.c.id == answers.c.set))
        .join(assignments, assignments.c.id == sets.c.assignment)
        .where(answers.c.id > newest - RECENT_ANSWERS, answers.c.at > now - within)
    )
    return int(connection.execute(query).scalar_one())


def gate_rates(connection: Connection, kind: str = "work", person: int | None = None) -> GateRates:
    """Return how assignments of a kind ended, for all judges or for one.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    kind
        "work" or "qualification"; they have different criteria.
    person
        Only the assignments of this judge.
    """
    query = (
        select(outcomes.c.outcome, outcomes.c.failed, func.count())
        .select_from(outcomes.join(assignments, assignments.c.id == outcomes.c.assignment))
        .where(assignments.c.kind == kind)
        .group_by(outcomes.c.outcome, outcomes.c.failed)
    )
    if person is not None:
        query = query.where(assignments.c.person == person)
    ended, failures = Counter[str](), Counter[tuple[str, ...]]()
    for outcome, failed, n in connection.execute(query):
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


def earnings(connection: Connection, amounts: Sequence[tuple[float, float]]) -> list[Earned]:
    """Return the earnings of each judge, the highest first: every accepted assignment counts once.

    ``amounts`` are the pay for one assignment, each with the time since which it holds, oldest first. The amount counts
    that held when the judge took the assignment.
    """
    later = [(assignments.c.at >= since, amount) for since, amount in reversed(amounts[1:])]
    amount = case(*later, else_=amounts[0][1]) if later else literal(amounts[0][1])
    accepted = (
        select(assignments.c.person, func.count().label("n"), func.sum(amount).label("amount"))
        .where(assignments.c.kind == "work")
        .where(assignments.c.id.in_(select(outcomes.c.assignment).where(outcomes.c.outcome.in_(ACCEPTED))))
        .group_by(assignments.c.person)
        .subquery()
    )
    query = (
        select(people.c.id, people.c.name, accepted.c.n, accepted.c.amount)
        .select_from(accepted.join(people, people.c.id == accepted.c.person))
        .order_by(accepted.c.n.desc(), people.c.name)
    )
    return [Earned(*row) for row in connection.execute(query)]


def open_assignments(connection: Connection, person: int | None = None) -> list[Open]:
    """Return the open assignments: neither graded nor given up nor expired."""
    ended = select(outcomes.c.assignment)
    query = (
        select(assignments.c.id, assignments.c.token, people.c.id, people.c.name, assignments.c.kind, assignments.c.at)
        .select_from(assignments.join(people, people.c.id == assignments.c.person))
        .where(assignments.c.id.not_in(ended))
        .order_by(assignments.c.id)
    )
    if person is not None:
        query = query.where(assignments.c.person == person)
    return [Open(*row) for row in connection.execute(query)]


class Live(NamedTuple):
    """The numbers of the overview."""

    at: float
    paused: bool
    pause_reason: str  # if the studio paused it, not a lead
    archived: bool
    progress: Progress
    pace: Pace
    active: int
    out: list[Open]
    gates: tuple[GateRates, ...]
    earned: list[Earned]
    unruled: int  # contests without a ruling
    consensus: Mapping[str, Any] | None
    sure: int  # items with a label whose probability reaches the target

    @property
    def pay(self) -> float:
        """Return the sum of all earnings."""
        return sum(row.amount for row in self.earned)


def live(connection: Connection, ledger: Ledger, now: float) -> Live:
    """Return the numbers of the overview: from the tables, and from the ledger what changes with every answer."""
    campaign = ledger.campaign
    current = progress(ledger.items, list(campaign.topics), campaign.settings.redundancy, ledger.belief)
    left = current.total.needed - current.total.judged
    return Live(
        now,
        ledger.switches.get("paused") == "1",
        ledger.switches.get("pause reason", ""),
        ledger.archived,
        current,
        pace(connection, now, left),
        active_judges(connection, now),
        open_assignments(connection),
        tuple(gate_rates(connection, kind) for kind in ("work", "qualification")),
        earnings(connection, ledger.amounts()),
        len(ledger.contests.keys() - ledger.ruled),
        read_summary(campaign.folder),
        _count_sure(ledger),
    )


def _count_sure(ledger: Ledger) -> int:
    """Return the number of judged pool items with a label as probable as adaptive redundancy requires."""
    pool, size = ledger.items, len(ledger.items.pooled)
    belief = item_beliefs(pool, ledger.belief)[:size]
    reached = np.maximum(belief, 1 - belief) >= ledger.campaign.settings.redundancy.target
    return int((reached & pool.pooled & (pool.judged[:size] > 0)).sum())


def file_changes(connection: Connection, campaign: Campaign) -> list[str]:
    """Return how the campaign's files differ from its record, one sentence each, for ``adjudge campaign check``.

    These are judged pairs that are no longer in the files, and pairs in the files that the record does not have yet.
    """
    recorded = _read_pairs(connection, select(items.c.id))
    if not recorded:
        return []
    fixed = {pair for fixed_set in campaign.sets for pair in fixed_set.pairs}
    current = {*campaign.pool, *campaign.gold, *fixed}
    missing = [pair for pair in _read_pairs(connection, select(judgments.c.item)) if pair not in current]
    new = [pair for pair in campaign.pool if pair not in recorded]
    changes = ((missing, "judged but no longer in the files; the judgments are kept"), (new, "new since work began"))
    return [_pair_sentence(pairs, text) for pairs, text in changes if pairs]


def _read_pairs(connection: Connection, numbers: Select[Any]) -> dict[Pair, None]:
    """Return the topics and documents of the items of a query, in the order of their numbers."""
    query = select(items.c.topic, items.c.document).where(items.c.id.in_(numbers)).order_by(items.c.id)
    return dict.fromkeys((topic, document) for topic, document in connection.execute(query))


def _pair_sentence(pairs: list[Pair], text: str) -> str:
    """Return a sentence about a number of pairs, with the first few of them."""
    names = quoted((f"{topic} {document}" for topic, document in pairs), LISTED_PAIRS)
    return f"{len(pairs):,} {'pair is' if len(pairs) == 1 else 'pairs are'} {text}: {names}"
