"""What a lead does, as commands: pure functions of the ledger that return the rows to add (see ``work.commands``).

The ledger no longer holds an assignment that ended long ago. A decision on one takes it as it was read from the tables
(``gold.read_work``), and refuses if anything that it depends on has changed since.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table

from adjudge.errors import UsageError, quote, quoted
from adjudge.studio.desk.gold import Past, Work, check_unchanged
from adjudge.studio.identity.access import new_token, parse_scopes
from adjudge.studio.record import schema
from adjudge.studio.record.audit import judgments_hash
from adjudge.studio.record.ledger import Assignment, Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.work import people
from adjudge.studio.work.commands import Rows, outcome_row
from adjudge.studio.work.grading import document_seconds, judgment_rows, regrade

ROLES = ("judge", "reviewer", "lead")
LONGEST_REASON = 500  # characters


def switch_campaign(ledger: Ledger, now: float, by: int, paused: bool) -> Change:
    """Pause the campaign, so that nobody can start new work, or resume it."""
    row = {"id": ledger.next_id(schema.switches), "at": now, "name": "paused", "value": str(int(paused)), "by": by}
    action = "campaign paused" if paused else "campaign resumed"
    return Change([(schema.switches, row)], paused, (actor_name(ledger, by), action, {}))


def invite(ledger: Ledger, now: float, by: int | None, role: str, name: str, days: float) -> Change:
    """Create an invitation; the answer is its number, which is signed to make a link."""
    if role not in ROLES:
        raise Refused(422, "role", f"The role is {quote(role)}, expected one of {quoted(ROLES)}.")
    if not 0 < days <= 365:
        raise Refused(422, "days", f"An invitation is valid for more than 0 and at most 365 days, not {days:g}.")
    name = " ".join(name.split())[:100]
    if name.casefold() in ledger.named:
        raise Refused(409, "name", f"The name {quote(name)} is already taken.")
    return people.invite(ledger, now, role, name, days, by)


def change_standing(ledger: Ledger, now: float, by: int, person: int, standing: str, reason: str) -> Change:
    """Exclude or pause a judge, with a reason."""
    judge = _judge(ledger, person)
    if standing not in ("excluded", "paused"):
        raise Refused(422, "standing", f"The standing is {quote(standing)}, expected excluded, paused or reinstated.")
    if not reason.strip():
        raise Refused(422, "reason", "Please give a reason: the judge sees it, and it is stored in the audit log.")
    rows: Rows = [_standing_row(ledger, now, by, judge, standing, reason.strip()[:LONGEST_REASON])]
    if standing == "excluded":
        rows += _release_rows(ledger, now, by, judge)
    detail = {"judge": judge.name, "reason": reason.strip(), **_outcome_detail(rows)}
    return Change(rows, standing, (actor_name(ledger, by), f"judge {standing}", detail))


def reinstate(ledger: Ledger, now: float, by: int, person: int, past: Past) -> Change:
    """Let a judge work again, with their standing before; a judge who did not qualify becomes qualified."""
    judge = _judge(ledger, person)
    check_unchanged(ledger, past.last_rows)
    if judge.standing not in ("excluded", "paused", "unqualified"):
        raise Refused(409, "standing", f"{judge.name} can already work.")
    standing = "qualified" if judge.standing == "unqualified" else past.before
    detail = {"judge": judge.name, "standing": standing}
    row = _standing_row(ledger, now, by, judge, standing)
    return Change([row], standing, (actor_name(ledger, by), "judge reinstated", detail))


def _standing_row(
    ledger: Ledger, now: float, by: int, judge: Person, standing: str, reason: str = ""
) -> tuple[Table, Row]:
    """Return the row of a new standing."""
    row = {"id": ledger.next_id(schema.standings), "at": now, "person": judge.id, "standing": standing, "by": by}
    return schema.standings, {**row, "reason": reason}


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


def open_assignment(ledger: Ledger, judge: Person) -> Assignment | None:
    """Return the open assignment of a judge, or None."""
    last = None if judge.last is None else ledger.assignments.get(judge.last)
    return None if last is None or last.outcome else last


def reassign(ledger: Ledger, now: float, by: int, assignment: int) -> Change:
    """Take an open assignment back: its documents go to other judges."""
    record = ledger.assignments.get(assignment)
    if record is None or record.outcome:
        raise Refused(409, "over", "This assignment is already over.")
    judge = ledger.people[record.person]
    rows = _release_rows(ledger, now, by, judge)
    detail = {"judge": judge.name, **_outcome_detail(rows)}
    return Change(rows, True, (actor_name(ledger, by), "assignment taken back", detail))


def approve(ledger: Ledger, now: float, by: int, reason: str, work: Work) -> Change:
    """Accept a returned assignment after all: its judgments count, and its judge is paid."""
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
    """Return the digest of the judgments among new rows, which the audit log stores to detect later changes."""
    accepted = [row for table, row in rows if table is schema.judgments]
    return {"judgments": judgments_hash(accepted)} if accepted else {}


def _approval_rows(ledger: Ledger, now: float, by: int, work: Work) -> Rows:
    """Return the rows of an approval: for work an outcome and its judgments, for a qualification the standing."""
    assignment = work.assignment
    judge = ledger.people[assignment.person]
    if assignment.kind == "qualification":
        if judge.standing != "unqualified":
            raise Refused(409, "standing", f"{judge.name} is {judge.standing}: the qualification no longer matters.")
        return [_standing_row(ledger, now, by, judge, "qualified")]
    answers = {work_set.id: work_set.answers for work_set in assignment.sets}
    times = document_seconds(assignment, answers, assignment.sets[-1].finished or assignment.at)
    rows: Rows = [(schema.outcomes, outcome_row(ledger, now, assignment.id, "approved", by=by))]
    first = ledger.next_id(schema.judgments)
    rows += [(schema.judgments, row) for row in judgment_rows(first, now, assignment, answers, times, work.judged)]
    if work.past.automatic and judge.returned - 1 < ledger.campaign.settings.pay.most_returns:
        rows.append(_standing_row(ledger, now, by, judge, work.past.before))
    return rows


def rule(ledger: Ledger, now: float, by: int, contest: int, upheld: bool, reason: str, work: Work) -> Change:
    """Rule on a contest; if it is upheld, the assignment is approved if it passes without that document."""
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
    """Return whether an assignment passes without the contested document and those upheld before."""
    dropped = work.upheld | {(contest["set"], contest["slot"])}
    return regrade(ledger, work.assignment, dropped).passed


def new_api_token(ledger: Ledger, now: float, by: int, name: str, scope: str) -> Change:
    """Create an API token; the answer is its text, which is displayed once and not stored."""
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
    """Return who acts, for the audit log: a person, an API token by its name, or the command line (None)."""
    if isinstance(person, str):
        return f"API token {person}"
    return "command line" if person is None else ledger.people[person].name


def _judge(ledger: Ledger, person: int) -> Person:
    """Return a judge, or refuse."""
    judge = ledger.people.get(person)
    if judge is None or judge.role != "judge":
        raise Refused(404, "judge", "There is no such judge.")
    return judge
