"""What the desk shows of who came and who did what: invitations, tokens, the audit log. Functions of a connection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import String, cast, func, or_, select

from adjudge.studio.desk.commands import passes_without
from adjudge.studio.desk.consensus_view import belief_found, judges_found, looks_found
from adjudge.studio.desk.gold import contested, failures, work_of
from adjudge.studio.desk.judges import assigned, said_of, splits
from adjudge.studio.desk.judges import judges as judge_rows
from adjudge.studio.desk.overview import Live, gate_rates
from adjudge.studio.gates.designer import gate_table
from adjudge.studio.record.schema import acceptances, audit, invitations, people, revocations, tokens
from adjudge.studio.records import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from adjudge.studio.campaign.campaign import Campaign
    from adjudge.studio.record.ledger import Ledger
    from adjudge.studio.records import Pair


PAGE = 100  # entries of the audit log on one page


class Invitation(NamedTuple):
    """An invitation and what became of it."""

    id: int
    at: float
    role: str
    name: str
    by: str
    expires: float
    person: str | None  # who took it up
    accepted: float | None

    def state(self, now: float) -> str:
        """Return what became of it: used, over, open."""
        return "used" if self.accepted is not None else "over" if self.expires < now else "open"


class ApiToken(NamedTuple):
    """An API token; its text is kept nowhere."""

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
    what: str
    detail: Mapping[str, Any]
    hash: str


def invited(connection: Connection) -> list[Invitation]:
    """Return all invitations, newest first."""
    taker, maker = people.alias("taker"), people.alias("maker")
    found = (
        select(invitations.c.id, invitations.c.at, invitations.c.role, invitations.c.name)
        .add_columns(func.coalesce(maker.c.name, "studio"), invitations.c.expires, taker.c.name, acceptances.c.at)
        .select_from(
            invitations.outerjoin(acceptances, acceptances.c.invitation == invitations.c.id)
            .outerjoin(taker, taker.c.id == acceptances.c.person)
            .outerjoin(maker, maker.c.id == invitations.c.by)
        )
        .order_by(invitations.c.id.desc())
    )
    return [Invitation(*row) for row in connection.execute(found)]


def api_tokens(connection: Connection) -> list[ApiToken]:
    """Return all API tokens, newest first, without their hashes."""
    found = (
        select(tokens.c.id, tokens.c.at, tokens.c.name, tokens.c.scope, func.coalesce(people.c.name, "studio"))
        .add_columns(revocations.c.at)
        .select_from(
            tokens.outerjoin(people, people.c.id == tokens.c.by).outerjoin(
                revocations, revocations.c.token == tokens.c.id
            )
        )
        .order_by(tokens.c.id.desc())
    )
    return [ApiToken(*row) for row in connection.execute(found)]


def entries(connection: Connection, before: int | None = None, find: str = "", most: int = PAGE) -> list[Entry]:
    """Return entries of the audit log, newest first, older than one of them and with some words in them."""
    found = select(audit.c.id, audit.c.at, audit.c.who, audit.c.what, audit.c.detail, audit.c.hash)
    if before is not None:
        found = found.where(audit.c.id < before)
    if find:
        words = find.lower()
        inside = (
            func.lower(cast(column, String)).contains(words, autoescape=True) for column in (audit.c.who, audit.c.what)
        )
        found = found.where(or_(*inside, func.lower(audit.c.detail).contains(words, autoescape=True)))
    rows = connection.execute(found.order_by(audit.c.id.desc()).limit(most))
    return [Entry(id_, at, who, what, json.loads(detail), hash_) for id_, at, who, what, detail, hash_ in rows]


# What each page of the desk shows: the records of the desk and of the consensus, side by side.

REASONS = {
    "uncertain": ("Least certain", "The truth is least sure: the entropy of what is believed of it, in bits."),
    "contested": ("Most surprising", "Good judges gave labels one would not expect of them: bits of surprise."),
    "gold": ("Gold contradicted", "What judges say by themselves is another label than gold: how probable theirs is."),
    "helpful": ("Most helpful to judge next", "One more judgment by a typical judge tells most: bits expected."),
}


def judges(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the table of judges, each with her card where there is one."""
    found = judges_found(campaign.folder)
    told = {"drift": found.drift, "reliability": found.reliability}
    return {"judges": judge_rows(connection), "cards": found.cards, **told}


def judge(connection: Connection, campaign: Campaign, person: int) -> dict[str, Any]:
    """Return all about one judge."""
    rows = judge_rows(connection, person)
    if not rows:
        raise Refused(404, "judge", "There is no such judge.")
    return {
        "judge": rows[0],
        "card": judges_found(campaign.folder).cards.get(person),
        "assigned": assigned(connection, person),
        "contests": contested(connection, person=person),
        "gates": gate_rates(connection, "work", person),
    }


def gold(connection: Connection, ledger: Ledger) -> dict[str, Any]:
    """Return what the gate does on every gold set, what is contested, and what is failed."""
    contests = contested(connection)
    passing = {}
    for one in contests:
        work = work_of(connection, one.assignment) if one.upheld is None and one.outcome == "returned" else None
        if work is not None:
            passing[one.id] = passes_without(ledger, work, {"set": one.set, "slot": one.slot})
    return {
        "gates": gate_table(ledger.campaign),
        "contests": contests,
        "passing": passing,
        "failures": failures(connection, ledger.campaign.gold),
        "gold": ledger.campaign.gold,
    }


def items(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the items that deserve a second look, by reason."""
    found = looks_found(campaign.folder)
    looks = [(name, *said, found.get(name, [])) for name, said in REASONS.items()]
    return {"looks": looks, "known": bool(found), "splits": splits(connection)}


def item(connection: Connection, ledger: Ledger, number: int) -> dict[str, Any]:
    """Return all about one item."""
    pair = pair_of(ledger, number)
    belief, campaign = belief_found(ledger.campaign.folder), ledger.campaign
    said = said_of(connection, number)
    return {
        "item": number,
        "pair": pair,
        "topic": campaign.topics[pair[0]],
        "document": campaign.documents.document(pair[1]),
        "gold": campaign.gold.get(pair),
        "belief": float(belief[number]) if said and belief is not None and number < len(belief) else None,
        "said": said,
        "leased": int(ledger.items.leased[number]),
    }


def pair_of(ledger: Ledger, number: int) -> Pair:
    """Return the topic and the document of an item, or refuse."""
    if not 1 <= number < len(ledger.items.pairs):
        raise Refused(404, "item", "There is no such item.")
    return ledger.items.pairs[number]


def plain(live: Live) -> dict[str, Any]:
    """Return the overview as plain values, for programs."""
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
        "pay": {"earned": live.pay, "assignments": sum(one.assignments for one in live.earned)},
        "gates": [{"kind": one.kind, "passed": one.passed, "returned": one.returned} for one in live.gates],
        "consensus": live.consensus,
    }
