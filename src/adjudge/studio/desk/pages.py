"""The values of each page of the desk: from the record, the consensus and the campaign's files, side by side."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import String, cast, func, or_, select

from adjudge.studio.consensus import read_belief, read_judge_cards, read_looks
from adjudge.studio.desk.commands import passes_without
from adjudge.studio.desk.gold import gold_failures, read_contests, read_work
from adjudge.studio.desk.judges import list_assignments, list_judges, list_judgments, list_splits
from adjudge.studio.desk.overview import Live, gate_rates
from adjudge.studio.gate_designer import gate_table
from adjudge.studio.record.schema import acceptances, audit, invitations, people, revocations, tokens
from adjudge.studio.records import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from adjudge.studio.campaign import Campaign
    from adjudge.studio.record.ledger import Ledger
    from adjudge.studio.records import Pair


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
    """Return entries of the audit log that contain a text, newest first, from the one before ``before``."""
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


def judges(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the values of the page of judges: one row per judge, and their cards."""
    cards = read_judge_cards(campaign.folder)
    return {
        "judges": list_judges(connection),
        "cards": cards.cards,
        "drift": cards.drift,
        "reliability": cards.reliability,
    }


def judge(connection: Connection, campaign: Campaign, person: int) -> dict[str, Any]:
    """Return the values of the page of one judge."""
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


def gold(connection: Connection, ledger: Ledger) -> dict[str, Any]:
    """Return the values of the page of gold: contests, failures, and the error rates of the gate."""
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


def items(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the values of the page of items that deserve a second look, by reason."""
    rows = read_looks(campaign.folder)
    looks = [(name, *words, rows.get(name, [])) for name, words in REASONS.items()]
    return {"looks": looks, "consensus": bool(rows), "splits": list_splits(connection)}


def item(connection: Connection, ledger: Ledger, number: int) -> dict[str, Any]:
    """Return the values of the page of one item."""
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
