"""The values of each page of the desk: from the record, the consensus and the campaign's files, side by side.

The lists of judges, assignments, items, invitations, tokens and audit entries are queries of the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, String, Subquery, case, cast, distinct, func, or_, select

from adjudge.studio.campaign import Campaign
from adjudge.studio.consensus import read_belief, read_grades, read_item_beliefs, read_judge_cards, read_looks
from adjudge.studio.desk.decisions import passes_without, read_work
from adjudge.studio.desk.gold import gold_failures, read_contests
from adjudge.studio.desk.overview import ACCEPTED, CRITERIA, Live, gate_rates
from adjudge.studio.gate_designer import gate_table
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import (
    acceptances,
    assignments,
    audit,
    contests,
    invitations,
    items,
    judgments,
    outcomes,
    people,
    revocations,
    rulings,
    standings,
    stands,
    tokens,
)
from adjudge.studio.records import Pair, Refused

PAGE = 100  # entries of the audit log on one page
REASONS = {  # why an item deserves a second look: title, and the meaning of its value
    "uncertain": ("Least certain", "Items whose truth is least certain: entropy of the consensus, in bits."),
    "contested": ("Most surprising", "Items on which reliable judges gave unexpected labels: surprise, in bits."),
    "gold": ("Gold contradicted", "Gold items for which the judges alone give another label: its probability."),
    "helpful": ("Most helpful to judge next", "Expected information of one more judgment by a typical judge, in bits."),
}


class Invitation(NamedTuple):
    """An invitation and its state."""

    id: int
    at: float
    role: str
    name: str
    by: str
    expires: float
    person: str | None  # who accepted it
    accepted: float | None

    def state(self, now: float) -> str:
        """Return its state: used, over or open."""
        return "used" if self.accepted is not None else "over" if self.expires < now else "open"


class ApiToken(NamedTuple):
    """An API token; its text is not stored."""

    id: int
    at: float
    name: str
    scope: str
    by: str
    revoked: float | None


class Entry(NamedTuple):
    """An entry of the audit log."""

    id: int
    at: float
    who: str
    action: str
    detail: Mapping[str, Any]
    hash: str


def list_invitations(connection: Connection) -> list[Invitation]:
    """Return all invitations, newest first."""
    taker, maker = people.alias("taker"), people.alias("maker")
    query = (
        select(invitations.c.id, invitations.c.at, invitations.c.role, invitations.c.name)
        .add_columns(func.coalesce(maker.c.name, "studio"), invitations.c.expires, taker.c.name, acceptances.c.at)
        .select_from(
            invitations.outerjoin(acceptances, acceptances.c.invitation == invitations.c.id)
            .outerjoin(taker, taker.c.id == acceptances.c.person)
            .outerjoin(maker, maker.c.id == invitations.c.by)
        )
        .order_by(invitations.c.id.desc())
    )
    return [Invitation(*row) for row in connection.execute(query)]


def list_tokens(connection: Connection) -> list[ApiToken]:
    """Return all API tokens, newest first, without their hashes."""
    query = (
        select(tokens.c.id, tokens.c.at, tokens.c.name, tokens.c.scope, func.coalesce(people.c.name, "studio"))
        .add_columns(revocations.c.at)
        .select_from(
            tokens.outerjoin(people, people.c.id == tokens.c.by).outerjoin(
                revocations, revocations.c.token == tokens.c.id
            )
        )
        .order_by(tokens.c.id.desc())
    )
    return [ApiToken(*row) for row in connection.execute(query)]


def list_audit_entries(
    connection: Connection, before: int | None = None, find: str = "", most: int = PAGE
) -> list[Entry]:
    """Return entries of the audit log, newest first.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    before
        Only entries with a smaller id: the last one of the page before.
    find
        Only entries that contain this text in who, what or detail, whatever its case.
    most
        The largest number of entries.
    """
    query = select(audit.c.id, audit.c.at, audit.c.who, audit.c.what, audit.c.detail, audit.c.hash)
    if before is not None:
        query = query.where(audit.c.id < before)
    if find:
        text = find.lower()
        matches = (
            func.lower(cast(column, String)).contains(text, autoescape=True) for column in (audit.c.who, audit.c.what)
        )
        query = query.where(or_(*matches, func.lower(audit.c.detail).contains(text, autoescape=True)))
    rows = connection.execute(query.order_by(audit.c.id.desc()).limit(most))
    return [Entry(id_, at, who, action, json.loads(detail), hash_) for id_, at, who, action, detail, hash_ in rows]


def judges_page(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the values of the page of judges: one row per judge, and their cards."""
    cards = read_judge_cards(campaign.folder)
    return {
        "judges": list_judges(connection),
        "cards": cards.cards,
        "drift": cards.drift,
        "reliability": cards.reliability,
    }


def judge_page(connection: Connection, campaign: Campaign, person: int) -> dict[str, Any]:
    """Return the values of the page of one judge: numbers, card, assignments, contests and gates."""
    rows = list_judges(connection, person)
    if not rows:
        raise Refused(404, "judge", "There is no such judge.")
    return {
        "judge": rows[0],
        "card": read_judge_cards(campaign.folder).cards.get(person),
        "assigned": list_assignments(connection, person),
        "contests": read_contests(connection, person=person),
        "gates": gate_rates(connection, "work", person),
    }


def gold_page(connection: Connection, ledger: Ledger) -> dict[str, Any]:
    """Return the values of the page of gold: contests, failures, and the error rates of the gate.

    ``passing`` says of each open contest whether the assignment would pass if the contest were upheld.
    """
    contests = read_contests(connection)
    passing = {}
    for contest in contests:
        if contest.upheld is None and contest.outcome == "returned":
            work = read_work(connection, contest.assignment)
            if work is not None:
                passing[contest.id] = passes_without(ledger, work, {"set": contest.set, "slot": contest.slot})
    return {
        "gates": gate_table(ledger.campaign),
        "contests": contests,
        "passing": passing,
        "failures": gold_failures(connection, ledger.campaign.gold),
        "gold": ledger.campaign.gold,
    }


def items_page(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the values of the page of items that deserve a second look: by reason, and where judges disagree."""
    rows = read_looks(campaign.folder)
    looks = [(name, *words, rows.get(name, [])) for name, words in REASONS.items()]
    graded = read_grades(campaign.folder) is not None
    beliefs = read_item_beliefs(connection, campaign.folder) if graded else None
    ranks = sorted((item for item in beliefs or () if item.grades), key=lambda item: (item.topic, item.rank))
    return {"looks": looks, "consensus": bool(rows), "splits": list_splits(connection), "ranks": ranks}


def item_page(connection: Connection, ledger: Ledger, number: int) -> dict[str, Any]:
    """Return the values of the page of one item: its document, gold, belief and judgments.

    The belief is None if there are no judgments or no consensus yet.
    """
    pair = pair_of(ledger, number)
    belief, campaign = read_belief(ledger.campaign.folder), ledger.campaign
    judgments = list_judgments(connection, number)
    return {
        "item": number,
        "pair": pair,
        "topic": campaign.topics[pair[0]],
        "document": campaign.documents.document(pair[1]),
        "gold": campaign.gold.get(pair),
        "belief": float(belief[number]) if judgments and belief is not None and number < len(belief) else None,
        "judgments": judgments,
        "leased": int(ledger.items.leased[number]),
    }


def pair_of(ledger: Ledger, number: int) -> Pair:
    """Return the topic and the document of an item, or refuse the number."""
    if not 1 <= number < len(ledger.items.pairs):
        raise Refused(404, "item", "There is no such item.")
    return ledger.items.pairs[number]


def live_json(live: Live) -> dict[str, Any]:
    """Return the overview as JSON values, for programs."""
    total = live.progress.total
    return {
        "at": live.at,
        "paused": live.paused,
        "archived": live.archived,
        "judged": total.judged,
        "needed": total.needed,
        "items": total.items,
        "settled": total.settled,
        "saved": live.progress.saved,
        "topics": [row._asdict() for row in live.progress.topics],
        "pace": live.pace._asdict(),
        "active": live.active,
        "out": len(live.out),
        "pay": {"earned": live.pay, "assignments": sum(row.assignments for row in live.earned)},
        "gates": [{"kind": row.kind, "passed": row.passed, "returned": row.returned} for row in live.gates],
        "consensus": live.consensus,
    }


# Judges and their assignments


class Judge(NamedTuple):
    """A row of the table of judges."""

    id: int
    name: str
    outside: str
    joined: float
    standing: str
    reason: str
    judgments: int
    seconds: float | None  # per judgment, on average
    last: float | None  # time of their last accepted judgment
    passed: int  # or approved
    returned: int
    failed: tuple[int, ...]  # by criterion: binary, ndcg, time
    contests: int
    upheld: int

    @property
    def pass_rate(self) -> float | None:
        """Return the share of graded assignments that was accepted."""
        return self.passed / (self.passed + self.returned) if self.passed + self.returned else None


@dataclass(frozen=True)
class Assigned:
    """A row of the table of one judge's assignments."""

    id: int
    token: str
    at: float
    kind: str
    outcome: str  # the last one; empty while it is open
    ended: float | None
    binary: float | None
    ndcg: float | None
    fastest: float | None
    failed: tuple[str, ...]
    code: str


def last_standings() -> Subquery:
    """Return the current standing of each person: the last row."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings).where(standings.c.id.in_(last)).subquery("last_standings")


def list_judges(connection: Connection, person: int | None = None) -> list[Judge]:
    """Return all judges in the order of their names, each with their numbers; or one person of any role.

    Judgments of excluded judges are counted here: a lead sees what they did.
    """
    standing, tallies = last_standings(), (_judgment_tally(), _grading_tally(), _contest_tally())
    joined = people.outerjoin(standing, standing.c.person == people.c.id)
    for tally in tallies:
        joined = joined.outerjoin(tally, tally.c.person == people.c.id)
    judged, graded, contested = tallies
    query = (
        select(
            people.c.id,
            people.c.name,
            func.coalesce(people.c.outside, ""),
            people.c.at,
            func.coalesce(standing.c.standing, "new"),
            func.coalesce(standing.c.reason, ""),
            func.coalesce(judged.c.n, 0),
            judged.c.seconds,
            judged.c.last,
            *(func.coalesce(graded.c[name], 0) for name in ("passed", "returned", *CRITERIA)),
            *(func.coalesce(contested.c[name], 0) for name in ("contests", "upheld")),
        )
        .select_from(joined)
        .order_by(people.c.name)
    )
    chosen = people.c.role == "judge" if person is None else people.c.id == person
    return [_judge(row) for row in connection.execute(query.where(chosen))]


def _judge(row: Sequence[Any]) -> Judge:
    """Return a row of the query of ``list_judges`` as a record."""
    return Judge._make((*row[:11], tuple(row[11:14]), *row[14:]))


def _judgment_tally() -> Subquery:
    """Return the number and the average time of each person's judgments."""
    return (
        select(
            judgments.c.person,
            func.count().label("n"),
            func.avg(judgments.c.seconds).label("seconds"),
            func.max(judgments.c.at).label("last"),
        )
        .group_by(judgments.c.person)
        .subquery("judged")
    )


def _grading_tally() -> Subquery:
    """Return the accepted and returned assignments of each person, and the failures by criterion."""
    accepted = distinct(case((outcomes.c.outcome.in_(ACCEPTED), assignments.c.id)))
    returned = distinct(case((outcomes.c.outcome == "returned", assignments.c.id)))
    approved = distinct(case((outcomes.c.outcome == "approved", assignments.c.id)))
    padded = " " + outcomes.c.failed + " "
    failed = (
        func.count(case((padded.like(f"% {name} %") & (outcomes.c.outcome == "returned"), 1))).label(name)
        for name in CRITERIA
    )
    return (
        select(
            assignments.c.person,
            func.count(accepted).label("passed"),
            (func.count(returned) - func.count(approved)).label("returned"),
            *failed,
        )
        .select_from(outcomes.join(assignments, assignments.c.id == outcomes.c.assignment))
        .where(assignments.c.kind == "work")
        .group_by(assignments.c.person)
        .subquery("graded")
    )


def _contest_tally() -> Subquery:
    """Return the number of contests of each person, and how many were upheld."""
    return (
        select(
            contests.c.person,
            func.count(distinct(contests.c.id)).label("contests"),
            func.count(distinct(case((rulings.c.upheld == 1, contests.c.id)))).label("upheld"),
        )
        .select_from(contests.outerjoin(rulings, rulings.c.contest == contests.c.id))
        .group_by(contests.c.person)
        .subquery("contested")
    )


def list_assignments(connection: Connection, person: int) -> list[Assigned]:
    """Return the assignments of one person, newest first, each with its scores and its last outcome."""
    query: Select[Any] = (
        select(assignments, outcomes.c.outcome, outcomes.c.at.label("ended"), outcomes.c.binary, outcomes.c.ndcg)
        .add_columns(outcomes.c.fastest, outcomes.c.failed, outcomes.c.code)
        .select_from(assignments.outerjoin(outcomes, outcomes.c.assignment == assignments.c.id))
        .where(assignments.c.person == person)
        .order_by(assignments.c.id.desc(), outcomes.c.id)
    )
    rows: dict[int, Assigned] = {}
    for row in connection.execute(query).mappings():
        rows[row["id"]] = _with_outcome(rows.get(row["id"]), row)
    return list(rows.values())


def _with_outcome(before: Assigned | None, row: Any) -> Assigned:
    """Return an assignment after another outcome: scores and failed criteria stay those of its grading."""
    graded = row if before is None else vars(before)
    failed = graded["failed"] or ()
    return Assigned(
        row["id"],
        row["token"],
        row["at"],
        row["kind"],
        row["outcome"] or "",
        row["ended"],
        graded["binary"],
        graded["ndcg"],
        graded["fastest"],
        tuple(failed.split()) if isinstance(failed, str) else failed,
        row["code"] or graded["code"] or "",
    )


# Items that judges disagree on


class Split(NamedTuple):
    """An item that judges disagree on."""

    item: int
    topic: str
    document: str
    relevant: int
    irrelevant: int
    unsure: int  # cannot tell


class ItemJudgment(NamedTuple):
    """A judgment of an item, with its judge."""

    person: int
    judge: str
    relevance: int | None
    rank: int | None
    seconds: float | None
    comment: str
    use: str
    at: float


def list_splits(connection: Connection, most: int = 50) -> list[Split]:
    """Return the items that judges disagree on, the most even first; excluded judges do not count.

    ``most`` is the largest number of items.
    """
    sides = [func.count(case((judgments.c.relevance == side, 1))) for side in (1, 0)]
    minority = case((sides[0] < sides[1], sides[0]), else_=sides[1])
    query = (
        select(items.c.id, items.c.topic, items.c.document, *sides, func.count() - sides[0] - sides[1])
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .where(stands())
        .group_by(items.c.id, items.c.topic, items.c.document)
        .having(minority > 0)
        .order_by(minority.desc(), func.count(), items.c.id)
        .limit(most)
    )
    return [Split(*row) for row in connection.execute(query)]


def list_judgments(connection: Connection, item: int) -> list[ItemJudgment]:
    """Return all judgments of an item in the order of their arrival, also those of excluded judges."""
    query = (
        select(people.c.id, people.c.name, judgments.c.relevance, judgments.c.rank, judgments.c.seconds)
        .add_columns(judgments.c.comment, judgments.c.use, judgments.c.at)
        .select_from(judgments.join(people, people.c.id == judgments.c.person))
        .where(judgments.c.item == item)
        .order_by(judgments.c.id)
    )
    return [ItemJudgment(*row) for row in connection.execute(query)]
