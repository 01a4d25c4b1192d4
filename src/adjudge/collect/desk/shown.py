"""What each page of the desk shows: the records of the desk and of the consensus, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjudge.collect.desk.commands import passes_without
from adjudge.collect.desk.found import belief_found, judges_found, looks_found
from adjudge.collect.desk.gold import contested, failures, work_of
from adjudge.collect.desk.items import said_of, splits
from adjudge.collect.desk.judges import assigned
from adjudge.collect.desk.judges import judges as judge_rows
from adjudge.collect.desk.overview import Live, gate_rates
from adjudge.collect.gate.designer import gate_table
from adjudge.collect.refused import Refused

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.collect.files.campaign import Campaign
    from adjudge.collect.record.ledger import Ledger
    from adjudge.collect.records import Pair

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
