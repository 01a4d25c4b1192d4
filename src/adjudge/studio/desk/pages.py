"""The values of each page of the desk: from the record, the consensus and the campaign's files, side by side.

The lists of judges, assignments, items, invitations, tokens and audit entries are queries of the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, String, Subquery, case, cast, distinct, func, or_, select

from adjudge.studio.campaign import Campaign
from adjudge.studio.charts import Charts, OverTime, answer_seconds, over_time, read_charts, second_bars
from adjudge.studio.consensus import (
    JudgeCards,
    read_belief,
    read_grades,
    read_item_beliefs,
    read_judge_cards,
    read_looks,
)
from adjudge.studio.copying import Pairs, read_pairs
from adjudge.studio.desk.decisions import passes_without, read_work
from adjudge.studio.desk.gold import Contest, GoldFailures, gold_failures, read_contests
from adjudge.studio.desk.item_list import SORTS, ItemTable, choose_items, item_rows, read_filter
from adjudge.studio.desk.listing import Listing, list_rows, page_of
from adjudge.studio.desk.overview import ACCEPTED, CRITERIA, Live, TopicProgress, earnings, gate_rates, open_assignments
from adjudge.studio.desk.pictures import JudgePoint, judges_picture, pairs_picture, seconds_picture, time_picture
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
    withdrawals,
)
from adjudge.studio.records import Pair, Refused

PAGE = 100  # entries of the audit log on one page
CONTESTS = 10  # on one page
REASONS = {  # why an item deserves a second look: title, what it means, and what its value is
    "uncertain": (
        "Least certain",
        "Both labels are about equally likely: the uncertainty is 1 bit if they are, and 0 if one is certain.",
        "Uncertainty, bits",
    ),
    "contested": (
        "Most surprising",
        "Reliable judges gave labels that nobody would expect of them: the more bits, the less expected.",
        "Surprise, bits",
    ),
    "helpful": (
        "Worth another judgment",
        "One more judgment would lower the uncertainty most here.",
        "Expected gain, bits",
    ),
    "gold": ("Gold contradicted", "Without gold, judges would give another label.", "Probability of it"),
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
    withdrawn: float | None

    def state(self, now: float) -> str:
        """Return its state: used, withdrawn, over or open."""
        if self.accepted is not None:
            return "used"
        return "withdrawn" if self.withdrawn is not None else "over" if self.expires < now else "open"


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
        .add_columns(withdrawals.c.at)
        .select_from(
            invitations.outerjoin(acceptances, acceptances.c.invitation == invitations.c.id)
            .outerjoin(withdrawals, withdrawals.c.invitation == invitations.c.id)
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


class JudgeTable(NamedTuple):
    """All judges with what the consensus says about them."""

    judges: list[Judge]
    cards: JudgeCards
    working: frozenset[int]  # people with an open assignment
    earned: Mapping[int, float]  # person -> amount
    copying: Pairs  # who agree more than chance


def judge_table(connection: Connection, ledger: Ledger) -> JudgeTable:
    """Return all judges, their cards, who has an open assignment, and what they have earned."""
    working = frozenset(row.person for row in open_assignments(connection))
    earned = {row.person: row.amount for row in earnings(connection, ledger.amounts())}
    folder = ledger.campaign.folder
    return JudgeTable(list_judges(connection), read_judge_cards(folder), working, earned, read_pairs(folder))


def judges_page(table: JudgeTable, fields: Mapping[str, str], page: int = 1) -> dict[str, Any]:
    """Return the values of the page of judges: those that fit the fields of its address, and their cards."""
    cards, earned = table.cards.cards, table.earned
    query = {name: fields.get(name, "").strip() for name in ("find", "standing", "working", "attention")}
    text = query["find"].casefold()
    chosen = [
        judge
        for judge in table.judges
        if text in f"{judge.name}\n{judge.outside}".casefold()
        and query["standing"] in ("", judge.standing)
        and (not query["working"] or judge.id in table.working)
        and (not query["attention"] or needs_attention(cards.get(judge.id)))
    ]

    def estimate(name: str) -> Callable[[Judge], float | None]:
        return lambda judge: ((cards.get(judge.id) or {}).get(name) or (None,))[0]

    columns: dict[str, Callable[[Judge], Any]] = {
        **{name: attrgetter(name) for name in ("judgments", "standing", "seconds", "last")},
        **{name: attrgetter(name) for name in ("pass_rate", "contests")},
        **{name: estimate(name) for name in ("right", "sensitivity", "specificity")},
        "name": lambda judge: judge.name.casefold(),
        "earned": lambda judge: earned.get(judge.id, 0.0),
    }
    return {
        "judges": list_rows(chosen, columns, fields.get("sort", ""), page, query),
        "all": len(table.judges),
        "standings": sorted({judge.standing for judge in table.judges}),
        "cards": cards,
        "earned": earned,
        "copying": table.copying,
        "drift": table.cards.drift,
        "reliability": table.cards.reliability,
        "needs_attention": needs_attention,
    }


def may_guess(card: Mapping[str, Any] | None) -> bool:
    """Return whether a judge may be no better than guessing: the 90 % interval of Youden's J contains 0."""
    return card is not None and bool(card["informedness"][1] <= 0)


def needs_attention(card: Mapping[str, Any] | None) -> bool:
    """Return whether a judge may be guessing, or has changed."""
    return card is not None and (may_guess(card) or bool(card["drift"] and card["drift"]["flagged"]))


def judge_page(connection: Connection, campaign: Campaign, person: int, page: int = 1) -> dict[str, Any]:
    """Return the values of the page of one judge: numbers, card, assignments, contests and gates."""
    rows = list_judges(connection, person)
    if not rows:
        raise Refused(404, "judge", "There is no such judge.")
    return {
        "judge": rows[0],
        "card": read_judge_cards(campaign.folder).cards.get(person),
        "assigned": list_rows(list_assignments(connection, person), {}, "", page),
        "contests": read_contests(connection, person=person),
        "gates": gate_rates(connection, "work", person),
        "may_guess": may_guess,
    }


class GoldTable(NamedTuple):
    """What the record says about gold."""

    contests: list[Contest]
    failures: list[GoldFailures]


def gold_table(connection: Connection, ledger: Ledger) -> GoldTable:
    """Return all contests, and how often each gold item is judged wrong."""
    return GoldTable(read_contests(connection), gold_failures(connection, ledger.campaign.gold))


def gold_page(
    connection: Connection, ledger: Ledger, table: GoldTable, fields: Mapping[str, str], pages: tuple[int, int] = (1, 1)
) -> dict[str, Any]:
    """Return the values of the page of gold: contests and wrong answers that fit the fields of its address.

    ``passing`` says of each open contest on the page whether the assignment would pass if the contest were upheld.
    ``pages`` are the pages of contests and of wrong answers.
    """
    query = {"find": fields.get("find", "").strip()}
    text = query["find"].casefold()
    failures = [row for row in table.failures if text in f"{row.topic}\n{row.document}".casefold()]
    columns: dict[str, Callable[[GoldFailures], Any]] = {
        **{name: attrgetter(name) for name in ("document", "topic", "grade", "judged", "wrong", "rate")},
        "good": lambda row: row.good_wrong / row.good if row.good else None,
    }
    sort = fields.get("sort", "")
    contests = list_rows(table.contests, {}, "", pages[0], query | {"sort": sort}, "contests", CONTESTS)
    passing = {}
    for contest in contests.rows:
        if contest.upheld is None and contest.outcome == "returned":
            work = read_work(connection, contest.assignment)
            if work is not None:
                passing[contest.id] = passes_without(ledger, work, {"set": contest.set, "slot": contest.slot})
    return {
        "contests": contests,
        "passing": passing,
        "failures": list_rows(failures, columns, sort, pages[1], query),
        "judged": len(table.failures),
        "gold": ledger.campaign.gold,
    }


def looks_page(connection: Connection, campaign: Campaign) -> dict[str, Any]:
    """Return the values of the page of items that deserve a second look: by reason, and where judges disagree."""
    rows = read_looks(campaign.folder)
    looks = [(name, *words, rows.get(name, [])) for name, words in REASONS.items()]
    return {"looks": looks, "consensus": bool(rows), "splits": list_splits(connection)}


def ranks_page(connection: Connection, campaign: Campaign, page: int = 1) -> dict[str, Any]:
    """Return the values of the page of ranks: items with grades, the best of each topic first."""
    graded = read_grades(campaign.folder) is not None
    beliefs = read_item_beliefs(connection, campaign.folder) if graded else None
    ranks = sorted((item for item in beliefs or () if item.grades), key=lambda item: (item.topic, item.rank))
    return {"ranks": list_rows(ranks, {}, "", page)}


def items_page(
    connection: Connection, table: ItemTable, ledger: Ledger, fields: Mapping[str, str], page: int = 1
) -> dict[str, Any]:
    """Return the values of the list of items: those that fit the fields of its address."""
    item_filter, sort = read_filter(fields), fields.get("sort", "")
    sort = sort if sort.removeprefix("-") in SORTS else ""
    ids = choose_items(connection, table, item_filter, ledger, sort)
    number, part = page_of(ids.size, page)
    rows = list(item_rows(table, ids[part], ledger))
    return {"items": Listing(rows, int(ids.size), number, sort=sort, query=item_filter.query), "wanted": item_filter}


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


def progress_page(live: Live, campaign: Campaign, fields: Mapping[str, str], page: int = 1) -> dict[str, Any]:
    """Return the values of the page of all topics: those that fit the fields of its address."""
    find = fields.get("find", "").strip()

    def query(row: TopicProgress) -> str:
        return campaign.topics[row.topic].query or row.topic

    rows = [row for row in live.progress.topics if find.casefold() in f"{row.topic}\n{query(row)}".casefold()]
    columns: dict[str, Callable[[TopicProgress], Any]] = {
        **{name: attrgetter(name) for name in ("items", "judged", "left", "settled", "share")},
        "topic": lambda row: query(row).casefold(),
    }
    return {"topics": list_rows(rows, columns, fields.get("sort", ""), page, {"find": find}), "find": find}


class ChartData(NamedTuple):
    """The numbers of the pictures."""

    over_time: OverTime | None
    seconds: Mapping[int, int]
    charts: Charts
    cards: Mapping[int, Mapping[str, Any]]
    names: Mapping[int, str]


def chart_data(connection: Connection, campaign: Campaign) -> ChartData:
    """Return the numbers of the pictures."""
    names = {row.id: row.name for row in connection.execute(select(people.c.id, people.c.name))}
    cards = read_judge_cards(campaign.folder).cards
    charts = read_charts(campaign.folder)
    return ChartData(over_time(connection), answer_seconds(connection), charts, cards, names)


def charts_page(data: ChartData, campaign: Campaign) -> dict[str, Any]:
    """Return the pictures by their names; None for one that has no numbers yet."""
    judges = [
        JudgePoint(data.names.get(person, ""), card["sensitivity"], card["specificity"], may_guess(card))
        for person, card in data.cards.items()
        if card["sensitivity"] and card["specificity"]
    ]
    settings = campaign.settings
    return {
        "time": time_picture(data.over_time, data.charts.history, settings.redundancy.target),
        "judges": judges_picture(judges),
        "seconds": seconds_picture(second_bars(data.seconds), settings.gate.seconds),
        "pairs": pairs_picture(data.charts.pairs, data.charts.judges, data.names),
    }


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
