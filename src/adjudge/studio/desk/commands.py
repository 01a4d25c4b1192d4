"""What the lead does, as commands: pure functions of the ledger that return the rows to add (see ``commands``).

An assignment that is long over is no longer in the ledger; what is decided about it comes with it, as it was read
from the tables (``gold.work_of``), and is decided on only if nothing came since (see ``seen``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table

from adjudge.errors import UsageError, quote
from adjudge.studio.desk.exports import MODEL
from adjudge.studio.desk.gold import Past, Work, still
from adjudge.studio.desk.imports import Given
from adjudge.studio.identity.access import new_token, parse_scopes
from adjudge.studio.record import schema
from adjudge.studio.record.audit import judgments_hash
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.work import people
from adjudge.studio.work.commands import Rows, outcome_row
from adjudge.studio.work.grading import document_seconds, judgment_rows, regrade

ROLES = ("judge", "reviewer", "lead")
LONGEST = 500  # characters of a reason


def switch_campaign(ledger: Ledger, now: float, by: int, paused: bool) -> Change:
    """Pause the campaign, so that nobody takes on anything new, or let it go on."""
    row = {"id": ledger.next_id(schema.switches), "at": now, "name": "paused", "value": str(int(paused)), "by": by}
    what = "campaign paused" if paused else "campaign resumed"
    return Change([(schema.switches, row)], paused, (_name(ledger, by), what, {}))


def invite(ledger: Ledger, now: float, by: int | None, role: str, name: str, days: float) -> Change:
    """Make an invitation; the answer is its number, which is sealed into a link."""
    if role not in ROLES:
        raise Refused(422, "role", f"A role is one of {', '.join(ROLES)}.")
    if not 0 < days <= 365:
        raise Refused(422, "days", "An invitation holds for more than 0 and at most 365 days.")
    called = " ".join(name.split())[:100]
    if called.casefold() in ledger.named:
        raise Refused(409, "name", f"There is somebody called {quote(called)} already.")
    return people.invite(ledger, now, role, called, days, by)


def change_standing(ledger: Ledger, now: float, by: int, person: int, standing: str, reason: str) -> Change:
    """Exclude or pause a judge, with a reason."""
    judge = _judge(ledger, person)
    if standing not in ("excluded", "paused"):
        raise Refused(422, "standing", "A judge can be excluded, paused or reinstated.")
    if not reason.strip():
        raise Refused(422, "reason", "Please say why: the judge is shown the reason, and the audit log keeps it.")
    rows: Rows = [_standing_row(ledger, now, by, judge, standing, reason.strip()[:LONGEST])]
    if standing == "excluded":
        rows += _release_rows(ledger, now, by, judge)
    detail = {"judge": judge.name, "reason": reason.strip(), **_ended(rows)}
    return Change(rows, standing, (_name(ledger, by), f"judge {standing}", detail))


def reinstate(ledger: Ledger, now: float, by: int, person: int, past: Past) -> Change:
    """Let a judge work again, as before the pause or exclusion; who did not qualify may work all the same."""
    judge = _judge(ledger, person)
    still(ledger, past.seen)
    if judge.standing not in ("excluded", "paused", "unqualified"):
        raise Refused(409, "standing", f"{judge.name} may work already.")
    standing = "qualified" if judge.standing == "unqualified" else past.before
    detail = {"judge": judge.name, "standing": standing}
    row = _standing_row(ledger, now, by, judge, standing)
    return Change([row], standing, (_name(ledger, by), "judge reinstated", detail))


def _standing_row(
    ledger: Ledger, now: float, by: int, judge: Person, standing: str, reason: str = ""
) -> tuple[Table, Row]:
    """Return the row of a new standing."""
    row = {"id": ledger.next_id(schema.standings), "at": now, "person": judge.id, "standing": standing, "by": by}
    return schema.standings, {**row, "reason": reason}


def _ended(rows: Rows) -> Row:
    """Return what the audit log says of the outcome that is among new rows: it vouches for each."""
    ended = [row for table, row in rows if table is schema.outcomes]
    return {"assignment": ended[0]["assignment"], "outcome": ended[0]["outcome"]} if ended else {}


def _release_rows(ledger: Ledger, now: float, by: int, judge: Person) -> Rows:
    """Return the row that gives the open assignment of a judge back, if there is one."""
    held = None if judge.last is None else ledger.assignments.get(judge.last)
    if held is None or held.outcome:
        return []
    return [(schema.outcomes, outcome_row(ledger, now, held.id, "released", by=by))]


def reassign(ledger: Ledger, now: float, by: int, assignment: int) -> Change:
    """Take an open assignment back: its documents go to others."""
    held = ledger.assignments.get(assignment)
    if held is None or held.outcome:
        raise Refused(409, "over", "This assignment is over already.")
    rows = _release_rows(ledger, now, by, ledger.people[held.person])
    detail = {"judge": ledger.people[held.person].name, **_ended(rows)}
    return Change(rows, True, (_name(ledger, by), "assignment taken back", detail))


def approve(ledger: Ledger, now: float, by: int, reason: str, work: Work) -> Change:
    """Accept a returned assignment all the same: its judgments count, its judge is paid."""
    held = work.assignment
    still(ledger, work.seen)
    if held.outcome != "returned":
        raise Refused(409, "outcome", "Only an assignment that was returned can be approved.")
    rows = _approval_rows(ledger, now, by, work)
    detail = {"assignment": held.id, "judge": ledger.people[held.person].name, "reason": reason.strip()[:LONGEST]}
    what = "assignment approved" if held.kind == "work" else "qualification approved"
    return Change(rows, True, (_name(ledger, by), what, {**detail, **_ended(rows), **_vouched(rows)}))


def _vouched(rows: Rows) -> Row:
    """Return the fingerprint of accepted judgments, by which the audit log vouches for them."""
    accepted = [row for table, row in rows if table is schema.judgments]
    return {"judgments": judgments_hash(accepted)} if accepted else {}


def _approval_rows(ledger: Ledger, now: float, by: int, work: Work) -> Rows:
    """Return what approving adds: of work an outcome and its judgments, of a qualification the standing."""
    held = work.assignment
    judge = ledger.people[held.person]
    if held.kind == "qualification":
        if judge.standing != "unqualified":
            raise Refused(409, "standing", f"{judge.name} is {judge.standing}: the qualification no longer matters.")
        return [_standing_row(ledger, now, by, judge, "qualified")]
    said = {one.id: one.answers for one in held.sets}
    times = document_seconds(held, said, held.sets[-1].finished or held.at)
    rows: Rows = [(schema.outcomes, outcome_row(ledger, now, held.id, "approved", by=by))]
    first = ledger.next_id(schema.judgments)
    rows += [(schema.judgments, row) for row in judgment_rows(first, now, held, said, times, work.judged)]
    if work.past.automatic and judge.returned - 1 < ledger.campaign.settings.pay.most_returns:
        rows.append(_standing_row(ledger, now, by, judge, work.past.before))
    return rows


def rule(ledger: Ledger, now: float, by: int, contest: int, upheld: bool, reason: str, work: Work) -> Change:
    """Rule on a contest. Upheld, gold is wrong: the assignment is approved if it passes without that document."""
    asked = ledger.contests.get(contest)
    if asked is None:
        raise Refused(404, "contest", "There is no such contest.")
    if contest in ledger.ruled:
        raise Refused(409, "ruled", "This contest has been ruled on already.")
    still(ledger, work.seen)
    row = {"id": ledger.next_id(schema.rulings), "at": now, "contest": contest, "upheld": int(upheld), "by": by}
    rows: Rows = [(schema.rulings, {**row, "reason": reason.strip()[:LONGEST]})]
    approved = upheld and _may_approve(ledger, work) and passes_without(ledger, work, asked)
    if approved:
        rows += _approval_rows(ledger, now, by, work)
    detail = {"contest": contest, "assignment": work.assignment.id, "approved": approved, "reason": reason.strip()}
    what = "contest upheld" if upheld else "contest rejected"
    return Change(rows, approved, (_name(ledger, by), what, {**detail, **_ended(rows), **_vouched(rows)}))


def _may_approve(ledger: Ledger, work: Work) -> bool:
    """Return whether approving an assignment would change anything: a qualification matters to the unqualified."""
    held = work.assignment
    waiting = held.kind == "work" or ledger.people[held.person].standing == "unqualified"
    return held.outcome == "returned" and waiting


def passes_without(ledger: Ledger, work: Work, contest: Any) -> bool:
    """Return whether an assignment passes without the contested document, and those whose gold was wrong before."""
    dropped = work.upheld | {(contest["set"], contest["slot"])}
    return regrade(ledger, work.assignment, dropped).passed


def new_api_token(ledger: Ledger, now: float, by: int, name: str, scope: str) -> Change:
    """Make an API token; the answer is its text, which is shown once and not kept."""
    if not name.strip():
        raise Refused(422, "name", "Please give the token a name, so that you know it when you revoke it.")
    try:
        scopes = parse_scopes(scope)
    except UsageError as error:
        raise Refused(422, "scope", f"A token needs {error}.") from error
    text, hashed = new_token()
    row = {"id": ledger.next_id(schema.tokens), "at": now, "by": by, "name": name.strip()[:100]}
    kept = {**row, "scope": " ".join(sorted(scopes)), "hash": hashed}
    detail = {"token": row["id"], "name": row["name"], "scope": kept["scope"]}
    return Change([(schema.tokens, kept)], text, (_name(ledger, by), "token made", detail))


def revoke_token(ledger: Ledger, now: float, by: int, token: int) -> Change:
    """Revoke an API token; again is no harm."""
    if token not in {row["id"] for row in ledger.tokens.values()}:
        raise Refused(404, "token", "There is no such token.")
    if token in ledger.revoked:
        return Change(answer=True)
    row = {"token": token, "at": now, "by": by}
    return Change([(schema.revocations, row)], True, (_name(ledger, by), "token revoked", {"token": token}))


def import_judgments(
    ledger: Ledger,
    now: float,
    by: int | str | None,
    given: Sequence[Given],
    known: dict[tuple[str, int], int | None],
    source: str,
    program: bool = False,
) -> Change:
    """Take judgments made elsewhere; those that are there already, with the same label, are skipped.

    ``by`` is a person, the name of an API token, or the command line (None). ``known`` holds the labels on record by
    (name of judge in small letters, item). The answer says how many were taken and skipped, which judges are new, what
    is known from now on, and every row that contradicts what is known: then nothing is taken.
    """
    rows, new, problems, skipped = list[tuple[Any, Row]](), dict[str, int](), list[str](), 0
    seen = dict(known)
    for one in given:
        item, whose = ledger.items.ids.get((one.topic, one.document)), one.judge.casefold()
        problem = _unfit(ledger, one, item, seen)
        if problem:
            problems.append(f"line {one.row}: {problem}")
        elif item is not None and (whose, item) in seen:
            skipped += 1
        elif item is not None:
            seen[whose, item] = one.relevance
            person = ledger.named.get(whose) or new.get(whose)
            if person is None:
                person = new[whose] = ledger.next_id(schema.people, len(new) + 1)
                rows.append((schema.people, _new_judge(person, now, one.judge, program)))
            rows.append((schema.judgments, _imported(now, person, item, one)))
    taken = _numbered(ledger, rows)
    answer = {"taken": taken, "skipped": skipped, "judges": sorted(new), "problems": problems, "labels": {}}
    if problems:
        return Change(answer={**answer, "taken": 0, "judges": []})
    answer["labels"] = {key: label for key, label in seen.items() if key not in known}
    detail = {"source": source, "taken": taken, "skipped": skipped, "judges": sorted(new), **_vouched(rows)}
    detail |= {"first": ledger.next_id(schema.judgments)} if taken else {}
    return Change(rows, answer, (_name(ledger, by), "judgments imported", detail) if taken else None)


def unfit_rows(
    ledger: Ledger, now: float, given: Sequence[Given], seen: dict[tuple[str, int], int | None]
) -> list[str]:
    """Return why rows of a file cannot be taken, and note in ``seen`` what those that can say."""
    problems = []
    for one in given:
        item = ledger.items.ids.get((one.topic, one.document))
        if problem := _unfit(ledger, one, item, seen):
            problems.append(f"line {one.row}: {problem}")
        elif item is not None:
            seen[one.judge.casefold(), item] = one.relevance
    return problems


def _numbered(ledger: Ledger, rows: Rows) -> int:
    """Return how many judgments are among new rows, after numbering them."""
    judged = [row for table, row in rows if table is schema.judgments]
    for ahead, row in enumerate(judged, 1):
        row["id"] = ledger.next_id(schema.judgments, ahead)
    return len(judged)


def _unfit(ledger: Ledger, one: Given, item: int | None, seen: dict[tuple[str, int], int | None]) -> str:
    """Return why a judgment cannot be taken, or nothing."""
    if item is None:
        return f"topic {quote(one.topic)} with document {quote(one.document)} is not in this campaign"
    person = ledger.people.get(ledger.named.get(one.judge.casefold(), -1))
    if person is None and (problem := _unfit_name(one.judge)):
        return problem
    if person is not None and person.role != "judge":
        return f"{quote(one.judge)} is a {person.role}, not a judge"
    if person is not None and item in _out(ledger, person):
        return f"{quote(one.judge)} has it in an open assignment: take that back, or leave the row out"
    key = (one.judge.casefold(), item)
    if key in seen and seen[key] != one.relevance:
        said = {1: "relevant", 0: "irrelevant", None: "cannot tell"}
        return f"{quote(one.judge)} has judged it {said[seen[key]]} before"
    return ""


def _unfit_name(name: str) -> str:
    """Return why nobody new can have this name, or nothing."""
    try:
        people.clean_name(name)
    except Refused as refused:
        return f"judge {quote(name)}: {str(refused)[0].lower()}{str(refused)[1:].rstrip('.')}"
    return ""


def _out(ledger: Ledger, person: Person) -> set[int]:
    """Return the items that a judge has in an open assignment."""
    held = None if person.last is None else ledger.assignments.get(person.last)
    return set() if held is None or held.outcome else {item for one in held.sets for item in one.items}


def _new_judge(id_: int, now: float, name: str, program: bool) -> Row:
    """Return the row of a judge who has no password: of judgments made elsewhere."""
    outside = f"{MODEL}{name}" if program else None
    return {"id": id_, "at": now, "name": name, "role": "judge", "outside": outside, "language": "en"}


def _imported(now: float, person: int, item: int, one: Given) -> Row:
    """Return the row of an imported judgment, not numbered yet."""
    row = {"at": now, "item": item, "person": person, "assignment": None, "use": "imported"}
    said = {"relevance": one.relevance, "rank": one.rank, "seconds": one.seconds, "comment": one.comment}
    return {**row, **said}


def _name(ledger: Ledger, person: int | str | None) -> str:
    """Return who does it, for the audit log."""
    if isinstance(person, str):
        return f"API token {person}"
    return "command line" if person is None else ledger.people[person].name


def _judge(ledger: Ledger, person: int) -> Person:
    """Return a judge, or refuse."""
    found = ledger.people.get(person)
    if found is None or found.role != "judge":
        raise Refused(404, "judge", "There is no such judge.")
    return found
