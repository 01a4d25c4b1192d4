"""What a lead decides, as commands: pure functions of the ledger that return the rows to add (see ``work.commands``).

The ledger no longer holds an assignment that ended long ago, so a decision on one reads it from the tables first
(``read_work``, ``read_past``). The record carries the last row of every table that it depends on; if a table has grown
by the time of the command, the command refuses, and ``decide`` reads again. So two leads may decide at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, Table, and_, func, select

from adjudge.errors import UsageError, quote, quoted
from adjudge.studio.access import new_token, parse_scopes
from adjudge.studio.desk.gold import last_answer, last_outcome
from adjudge.studio.gates import Answer
from adjudge.studio.record import schema
from adjudge.studio.record.audit import judgments_hash
from adjudge.studio.record.ledger import Assignment, Ledger, Person, Set
from adjudge.studio.record.schema import (
    assignments,
    contests,
    finishes,
    judgments,
    outcomes,
    rulings,
    sets,
    slots,
)
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.studio import Studio
from adjudge.studio.work import people
from adjudge.studio.work.commands import Rows, open_assignment, outcome_row, standing_row, switch_rows
from adjudge.studio.work.grading import document_seconds, judgment_rows, regrade

LastRows: TypeAlias = Mapping[str, int]  # table -> id of its last row
ROLES = ("judge", "reviewer", "lead")
LONGEST_REASON = 500  # characters
STALE = "stale"
TRIES = 20  # a busy campaign writes about every second, and reading takes a hundredth of one
STOPPED = ("paused", "excluded")


def switch_campaign(ledger: Ledger, now: float, by: int, paused: bool) -> Change:
    """Pause the campaign, so that nobody can start new work, or resume it.

    Parameters
    ----------
    ledger, now, by
        The present state, the time, and the person who decides.
    paused
        True to pause, False to resume. Judges finish the work that they have.
    """
    action = "campaign paused" if paused else "campaign resumed"
    return Change(switch_rows(ledger, now, by, paused), paused, (actor_name(ledger, by), action, {}))


def archive_campaign(ledger: Ledger, now: float, by: int | None, archived: bool) -> Change:
    """Archive the campaign, so that it can only be read and exported, or reopen it; judges must have no open work.

    Parameters
    ----------
    ledger, now
        The present state, and the time.
    by
        The lead who decides, or None for the command line.
    archived
        True to archive, False to reopen.
    """
    if archived == ledger.archived:
        raise Refused(409, "archived", f"The campaign is {'already' if archived else 'not'} archived.")
    if archived and (working := len(ledger.open_assignments())):
        sentence = (
            f"Judges have {working} open assignment{'s' if working > 1 else ''}: pause the campaign and wait, or "
        )
        raise Refused(409, "working", sentence + "take the work back at the page of each judge.")
    row = {"id": ledger.next_id(schema.switches), "at": now, "name": "archived", "value": str(int(archived)), "by": by}
    action = "campaign archived" if archived else "campaign reopened"
    return Change([(schema.switches, row)], archived, (actor_name(ledger, by), action, {}))


def invite(ledger: Ledger, now: float, by: int | None, role: str, name: str, days: float) -> Change:
    """Create an invitation; the answer is its number, which is signed to make a link.

    Parameters
    ----------
    ledger, now
        The present state, and the time.
    by
        The lead who invites, or None for the command line.
    role
        One of ``ROLES``.
    name
        A name that the form suggests, or an empty text.
    days
        For how many days the invitation is valid, more than 0 and at most 365.
    """
    if role not in ROLES:
        raise Refused(422, "role", f"The role is {quote(role)}, expected one of {quoted(ROLES)}.")
    if not 0 < days <= 365:
        raise Refused(422, "days", f"An invitation is valid for more than 0 and at most 365 days, not {days:g}.")
    name = " ".join(name.split())[:100]
    if name.casefold() in ledger.named:
        sentence = f"{quote(name)} already has an account: open it in the list to make a link for a new password."
        raise Refused(409, "name", sentence)
    return people.invite(ledger, now, role, name, days, by)


def invite_by_token(ledger: Ledger, now: float, token: str, role: str, name: str, days: float) -> Change:
    """Create an invitation for a program; only a lead invites leads.

    Parameters
    ----------
    ledger, now
        The present state, and the time.
    token
        The name of the API token.
    role, name, days
        As for ``invite``.
    """
    if role == "lead":
        raise Refused(403, "role", "An API token cannot invite a lead: do that at the desk.")
    change = invite(ledger, now, None, role, name, days)
    _, action, detail = change.audit or ("", "invited", {})
    return change._replace(audit=(actor_name(ledger, token), action, detail))


def change_standing(ledger: Ledger, now: float, by: int, person: int, standing: str, reason: str) -> Change:
    """Exclude or pause a judge; the answer is the new standing.

    Parameters
    ----------
    ledger, now, by
        The present state, the time, and the person who decides.
    person
        The judge.
    standing
        "paused": no new work. "excluded": in addition, the judgments no longer count, and the open assignment is
        released.
    reason
        A sentence that the judge sees. It is required, and stored in the audit log.
    """
    judge = _judge(ledger, person)
    if standing not in ("excluded", "paused"):
        raise Refused(422, "standing", f"The standing is {quote(standing)}, expected excluded, paused or reinstated.")
    if not reason.strip():
        raise Refused(422, "reason", "Please give a reason: the judge sees it, and it is stored in the audit log.")
    rows: Rows = [standing_row(ledger, now, person, standing, reason.strip()[:LONGEST_REASON], by)]
    if standing == "excluded":
        rows += _release_rows(ledger, now, by, judge)
    detail = {"judge": judge.name, "reason": reason.strip(), **_outcome_detail(rows)}
    return Change(rows, standing, (actor_name(ledger, by), f"judge {standing}", detail))


def reinstate(ledger: Ledger, now: float, by: int, person: int, past: Past) -> Change:
    """Let a judge work again; the answer is their standing.

    It is the standing before they were stopped, as ``read_past`` found it. A judge who did not qualify becomes
    qualified.
    """
    judge = _judge(ledger, person)
    check_unchanged(ledger, past.last_rows)
    if judge.standing not in ("excluded", "paused", "unqualified"):
        raise Refused(409, "standing", f"{judge.name} can already work.")
    standing = "qualified" if judge.standing == "unqualified" else past.before
    detail = {"judge": judge.name, "standing": standing}
    row = standing_row(ledger, now, person, standing, by=by)
    return Change([row], standing, (actor_name(ledger, by), "judge reinstated", detail))


def _outcome_detail(rows: Rows) -> Row:
    """Return the outcome among new rows as the audit log records it."""
    ended = [row for table, row in rows if table is schema.outcomes]
    return {"assignment": ended[0]["assignment"], "outcome": ended[0]["outcome"]} if ended else {}


def _release_rows(ledger: Ledger, now: float, by: int, judge: Person) -> Rows:
    """Return the row that releases the open assignment of a judge, if there is one."""
    assignment = open_assignment(ledger, judge)
    if assignment is None:
        return []
    return [(schema.outcomes, outcome_row(ledger, now, assignment.id, "released", by=by))]


def reassign(ledger: Ledger, now: float, by: int, assignment: int) -> Change:
    """Take an open assignment back: its documents go to other judges.

    Answers that the judge has sent stay in the record, but do not become judgments.
    """
    record = ledger.assignments.get(assignment)
    if record is None or record.outcome:
        raise Refused(409, "over", "This assignment is already over.")
    judge = ledger.people[record.person]
    rows = _release_rows(ledger, now, by, judge)
    detail = {"judge": judge.name, **_outcome_detail(rows)}
    return Change(rows, True, (actor_name(ledger, by), "assignment taken back", detail))


def approve(ledger: Ledger, now: float, by: int, reason: str, work: Work) -> Change:
    """Accept a returned assignment after all: its judgments count, and its judge is paid.

    A judge whom the studio itself paused for too many returns works again, if they now have few enough. For a
    qualification, the judge becomes qualified.

    Parameters
    ----------
    ledger, now, by
        The present state, the time, and the person who decides.
    reason
        Stored in the audit log; it may be empty.
    work
        The assignment, as ``read_work`` found it.
    """
    assignment = work.assignment
    check_unchanged(ledger, work.last_rows)
    if assignment.outcome != "returned":
        raise Refused(409, "outcome", "Only an assignment that was returned can be approved.")
    rows = _approval_rows(ledger, now, by, work)
    judge = ledger.people[assignment.person].name
    detail = {"assignment": assignment.id, "judge": judge, "reason": reason.strip()[:LONGEST_REASON]}
    action = "assignment approved" if assignment.kind == "work" else "qualification approved"
    return Change(
        rows, True, (actor_name(ledger, by), action, {**detail, **_outcome_detail(rows), **fingerprint(rows)})
    )


def fingerprint(rows: Rows) -> Row:
    """Return the digest of the judgments among new rows, which the audit log stores to detect later changes.

    The detail is empty if there are no judgments among the rows.
    """
    accepted = [row for table, row in rows if table is schema.judgments]
    return {"judgments": judgments_hash(accepted)} if accepted else {}


def _approval_rows(ledger: Ledger, now: float, by: int, work: Work) -> Rows:
    """Return the rows of an approval: for work an outcome and its judgments, for a qualification the standing."""
    assignment = work.assignment
    judge = ledger.people[assignment.person]
    if assignment.kind == "qualification":
        if judge.standing != "unqualified":
            raise Refused(409, "standing", f"{judge.name} is {judge.standing}: the qualification no longer matters.")
        return [standing_row(ledger, now, judge.id, "qualified", by=by)]
    answers = {work_set.id: work_set.answers for work_set in assignment.sets}
    times = document_seconds(assignment, answers, assignment.sets[-1].finished or assignment.at)
    rows: Rows = [(schema.outcomes, outcome_row(ledger, now, assignment.id, "approved", by=by))]
    first = ledger.next_id(schema.judgments)
    rows += [(schema.judgments, row) for row in judgment_rows(first, now, assignment, answers, times, work.judged)]
    if work.past.automatic and judge.returned - 1 < ledger.campaign.settings.pay.most_returns:
        rows.append(standing_row(ledger, now, judge.id, work.past.before, by=by))
    return rows


def rule(ledger: Ledger, now: float, by: int, contest: int, upheld: bool, reason: str, work: Work) -> Change:
    """Rule on a contest; the answer is whether the assignment was approved.

    Parameters
    ----------
    ledger, now, by
        The present state, the time, and the person who decides.
    contest
        The number of the contest.
    upheld
        Whether the judge is right and gold is wrong. Gold then grades nobody any more, and a returned assignment is
        approved if it passes without the document.
    reason
        Stored with the ruling and in the audit log; it may be empty.
    work
        The contested assignment, as ``read_work`` found it.
    """
    contested = ledger.contests.get(contest)
    if contested is None:
        raise Refused(404, "contest", "There is no such contest.")
    if contest in ledger.ruled:
        raise Refused(409, "ruled", "There is already a ruling on this contest.")
    check_unchanged(ledger, work.last_rows)
    row = {"id": ledger.next_id(schema.rulings), "at": now, "contest": contest, "upheld": int(upheld), "by": by}
    rows: Rows = [(schema.rulings, {**row, "reason": reason.strip()[:LONGEST_REASON]})]
    approved = upheld and _may_approve(ledger, work) and passes_without(ledger, work, contested)
    if approved:
        rows += _approval_rows(ledger, now, by, work)
    detail = {"contest": contest, "assignment": work.assignment.id, "approved": approved, "reason": reason.strip()}
    action = "contest upheld" if upheld else "contest rejected"
    detail = {**detail, **_outcome_detail(rows), **fingerprint(rows)}
    return Change(rows, approved, (actor_name(ledger, by), action, detail))


def _may_approve(ledger: Ledger, work: Work) -> bool:
    """Return whether an approval would change anything: a qualification matters only to unqualified judges."""
    assignment = work.assignment
    matters = assignment.kind == "work" or ledger.people[assignment.person].standing == "unqualified"
    return assignment.outcome == "returned" and matters


def passes_without(ledger: Ledger, work: Work, contest: Any) -> bool:
    """Return whether an assignment passes without the contested document and those upheld before.

    Parameters
    ----------
    ledger, work
        The present state, and the assignment.
    contest
        A row or a record with the ``set`` and the ``slot`` of the document.
    """
    dropped = work.upheld | {(contest["set"], contest["slot"])}
    return regrade(ledger, work.assignment, dropped).passed


def new_api_token(ledger: Ledger, now: float, by: int, name: str, scope: str) -> Change:
    """Create an API token; the answer is its text, which is displayed once and not stored.

    Parameters
    ----------
    ledger, now, by
        The present state, the time, and the person who decides.
    name
        By which the lead recognises the token; the audit log shows it for what a program does.
    scope
        One or more of ``access.SCOPES``, separated by blanks.
    """
    if not name.strip():
        raise Refused(422, "name", "Please give the token a name, so that you can recognise it when you revoke it.")
    try:
        scopes = parse_scopes(scope)
    except UsageError as error:
        raise Refused(422, "scope", f"A token needs {error}.") from error
    text, hashed = new_token()
    row = {"id": ledger.next_id(schema.tokens), "at": now, "by": by, "name": name.strip()[:100]}
    stored = {**row, "scope": " ".join(sorted(scopes)), "hash": hashed}
    detail = {"token": row["id"], "name": row["name"], "scope": stored["scope"]}
    return Change([(schema.tokens, stored)], text, (actor_name(ledger, by), "token made", detail))


def revoke_token(ledger: Ledger, now: float, by: int, token: int) -> Change:
    """Revoke an API token; revoking it twice is the same as once."""
    if token not in {row["id"] for row in ledger.tokens.values()}:
        raise Refused(404, "token", "There is no such token.")
    if token in ledger.revoked:
        return Change(answer=True)
    row = {"token": token, "at": now, "by": by}
    return Change([(schema.revocations, row)], True, (actor_name(ledger, by), "token revoked", {"token": token}))


def actor_name(ledger: Ledger, person: int | str | None) -> str:
    """Return who acts, for the audit log: a person, an API token by its name, or the command line (None).

    Parameters
    ----------
    ledger
        The present state.
    person
        The id of a person, the name of an API token, or None.
    """
    if isinstance(person, str):
        return f"API token {person}"
    return "command line" if person is None else ledger.people[person].name


def _judge(ledger: Ledger, person: int) -> Person:
    """Return a judge, or refuse."""
    judge = ledger.people.get(person)
    if judge is None or judge.role != "judge":
        raise Refused(404, "judge", "There is no such judge.")
    return judge


# What a decision is based on


class Past(NamedTuple):
    """The standing of a judge before they were paused or excluded."""

    before: str  # new, qualified, unqualified
    automatic: bool  # whether the studio itself paused them
    last_rows: LastRows


class Work(NamedTuple):
    """An assignment that is over, with its answers and what has happened since."""

    assignment: Assignment
    upheld: frozenset[tuple[int, int]]  # (set, slot) of gold that was ruled to be wrong
    judged: frozenset[int]  # items that its judge already has judgments of
    past: Past  # of its judge
    last_rows: LastRows


async def decide(studio: Studio, read: Callable[[Connection], Any], command: Callable[..., Any], *args: Any) -> Any:
    """Return the answer of ``command(ledger, now, *args, record)``, where ``record`` was read and is still current.

    Parameters
    ----------
    studio
        The campaign that is being served.
    read
        Reads the record from the tables: ``read_past`` or ``read_work`` of one person or assignment.
    command
        Refuses with the code ``STALE`` if the record is no longer current; it is then read again, up to ``TRIES``
        times.
    *args
        Further arguments of the command.
    """
    for left in reversed(range(TRIES)):
        record = await studio.read(read)
        try:
            return await studio.do(command, *args, record)
        except Refused as refused:
            if refused.code != STALE or not left:
                raise
    return None


def check_unchanged(ledger: Ledger, rows: LastRows) -> None:
    """Refuse a decision if one of the tables that it was based on has grown.

    Parameters
    ----------
    ledger
        The present state.
    rows
        The last row of each table when the decision was prepared, from ``last_rows``.
    """
    if any(ledger.next_id(schema.METADATA.tables[name]) != last + 1 for name, last in rows.items()):
        raise Refused(409, STALE, "Something else was changed at the same moment. Please try again.")


def last_rows(connection: Connection, *tables: Table) -> LastRows:
    """Return the id of the last row of each table, 0 for an empty one."""
    return {table.name: connection.scalar(select(func.max(table.c.id))) or 0 for table in tables}


def read_past(connection: Connection, person: int) -> Past:
    """Return the standing of a person before the last pause or exclusion, and whether the studio paused them."""
    last, rows = last_rows(connection, schema.standings), schema.standings.c
    query = select(rows.standing, rows.by).where(rows.person == person).order_by(rows.id)
    history = [(standing, by) for standing, by in connection.execute(query)]
    before = next((standing for standing, _ in reversed(history) if standing not in STOPPED), "new")
    return Past(before, bool(history) and history[-1] == ("paused", None), last)


def read_work(connection: Connection, assignment: int) -> Work | None:
    """Return an assignment with the last answer of each slot, or None if there is no such assignment.

    The ledger forgets an assignment when its judge takes another one, so this reads all of it from the tables.
    """
    last = last_rows(connection, outcomes, rulings, judgments)
    head = connection.execute(select(assignments).where(assignments.c.id == assignment)).mappings().one_or_none()
    if head is None:
        return None
    outcome = last_outcome()
    ended = connection.execute(select(outcome.c.outcome).where(outcome.c.assignment == assignment)).scalar()
    work = Assignment(**head, active=head["at"], outcome=ended or "")
    work.sets.extend(_read_sets(connection, assignment))
    judged, past = _judged_items(connection, work.person), read_past(connection, work.person)
    return Work(work, _upheld(connection, assignment), judged, past, {**last, **past.last_rows})


def _read_sets(connection: Connection, assignment: int) -> list[Set]:
    """Return the sets of an assignment with their items and last answers."""
    answered = last_answer(assignment)
    rows = connection.execute(
        select(sets, finishes.c.at.label("finished"), slots.c.item, answered.c.relevance, answered.c.told)
        .add_columns(answered.c.rank, answered.c.seconds, answered.c.comment)
        .select_from(
            sets.join(slots, slots.c.set == sets.c.id)
            .outerjoin(finishes, finishes.c.set == sets.c.id)
            .outerjoin(answered, and_(answered.c.set == slots.c.set, answered.c.slot == slots.c.slot))
        )
        .where(sets.c.assignment == assignment)
        .order_by(sets.c.position, slots.c.slot)
    )
    read = list[Set]()
    for row in rows.mappings():
        if not read or read[-1].id != row["id"]:
            fields = ("id", "assignment", "position", "use", "name", "token", "finished")
            read.append(Set(**{name: row[name] for name in fields}))
        answer = Answer(row["relevance"], bool(row["told"]), row["rank"], row["seconds"] or 0.0, row["comment"] or "")
        read[-1].items.append(row["item"])
        read[-1].answers.append(answer)
    return read


def _upheld(connection: Connection, assignment: int) -> frozenset[tuple[int, int]]:
    """Return the slots of an assignment whose gold was ruled to be wrong."""
    query = (
        select(contests.c.set, contests.c.slot)
        .select_from(contests.join(rulings, rulings.c.contest == contests.c.id).join(sets, sets.c.id == contests.c.set))
        .where(sets.c.assignment == assignment, rulings.c.upheld == 1)
    )
    return frozenset((set_, slot) for set_, slot in connection.execute(query))


def _judged_items(connection: Connection, person: int) -> frozenset[int]:
    """Return the items that a person has judgments of."""
    return frozenset(connection.execute(select(judgments.c.item).where(judgments.c.person == person)).scalars())
