"""What judges do, as commands: pure functions of the ledger that return the rows to add.

A command refuses before it changes anything. Asking again is safe: an assignment that is open is given again, an
answer with a known key is one answer, a finished set stays finished.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import islice

import numpy as np
from sqlalchemy import Table

from adjudge.studio.gates.gates import Answer, Problem, Verdict, problems
from adjudge.studio.record import schema
from adjudge.studio.record.audit import judgments_hash
from adjudge.studio.record.ledger import Assignment, Ledger, Person, Set
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import FixedSet, Refused
from adjudge.studio.work import assignment as assign
from adjudge.studio.work.grading import is_mistake, judgment_rows, timed, verdict_of

# What is given out and must not be guessed: completion codes for people to copy, tokens for addresses.

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1, I and L: 31 letters, 4.95 bits each
GROUPS, LETTERS = 3, 4  # 59 bits: at a thousand tries a second, nine million years for one certain hit


def new_code() -> str:
    """Return a completion code, as ``ABCD-EFGH-JKMN``."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(LETTERS)) for _ in range(GROUPS))


def new_mark() -> str:
    """Return a token for an assignment or a set: 128 random bits in 22 letters of an address. It tells nothing."""
    return secrets.token_urlsafe(16)


Rows = list[tuple[Table, Row]]
RETURNED_TOO_OFTEN = "{n} assignments did not pass the checks."  # why the studio itself pauses a judge
ENDED = ("passed", "approved", "returned", "submitted")  # outcomes of work that was done to its end


def take_assignment(ledger: Ledger, now: float, person: int, rng: np.random.Generator, outside: str = "") -> Change:
    """Give a judge the assignment they have, or a new one."""
    judge = ledger.people[person]
    held = present(ledger, judge)
    if held is not None and not held.outcome:
        held.active = now
        return Change(answer=held)
    kind = next_kind(ledger, judge)
    planned = _qualification(ledger, judge, rng) if kind == "qualification" else _work(ledger, judge, rng)
    number = ledger.next_id(schema.assignments)
    token = new_mark()
    rows: Rows = [
        (
            schema.assignments,
            {"id": number, "at": now, "person": person, "kind": kind, "token": token, "outside": outside},
        )
    ]
    for position, plan in enumerate(planned):
        id_ = ledger.next_id(schema.sets, position + 1)
        row = {"id": id_, "assignment": number, "position": position, "use": plan.use, "name": plan.name}
        rows.append((schema.sets, {**row, "token": new_mark()}))
        rows += [(schema.slots, {"set": id_, "slot": slot, "item": item}) for slot, item in enumerate(plan.items)]
    return Change(rows, number, (judge.name, "assignment taken", {"assignment": number, "sets": len(planned)}))


def present(ledger: Ledger, judge: Person) -> Assignment | None:
    """Return the assignment a judge has open, or had last."""
    return None if judge.last is None else ledger.assignments.get(judge.last)


def next_kind(ledger: Ledger, judge: Person) -> str:
    """Return what a judge may take on next, or refuse with the reason."""
    if ledger.switches.get("paused") == "1":
        raise Refused(409, "paused", "The campaign is paused. Your work is kept; please come back later.")
    if judge.standing in ("paused", "excluded"):
        raise Refused(409, judge.standing, judge.reason or f"You are {judge.standing}.")
    if judge.standing == "unqualified":
        raise Refused(409, "unqualified", judge.reason)
    required = ledger.campaign.settings.qualification.required
    if judge.standing == "new" and required and any(one.use == "qualification" for one in ledger.campaign.sets):
        return "qualification"
    return "work"


def _qualification(ledger: Ledger, judge: Person, rng: np.random.Generator) -> list[assign.Planned]:
    """Plan the jobs of the qualification, those first that the judge has not met."""
    jobs = [one for one in ledger.campaign.sets if one.use == "qualification"]
    jobs = sorted((jobs[k] for k in rng.permutation(len(jobs))), key=lambda one: one.name in judge.sets)
    return [assign.fixed(one, ledger.items, rng) for one in jobs[: ledger.campaign.settings.qualification.jobs]]


def _work(ledger: Ledger, judge: Person, rng: np.random.Generator) -> list[assign.Planned]:
    """Plan the sets of an assignment, gold among them at a random place, no two of a topic where that can be."""
    settings, wanted = ledger.campaign.settings, ledger.campaign.settings.assignment.gold_sets
    watched = list(islice(_fixed_sets(ledger, judge, "monitoring", rng), 1))
    gold = assign.of_different_topics(_fixed_sets(ledger, judge, "gold", rng), wanted, [one.topic for one in watched])
    if len(gold) < wanted:
        raise Refused(409, "nothing", "You have met every check set there is: there is no more work for you for now.")
    fixed = watched + gold
    may = assign.open_items(ledger.items, settings.redundancy, ledger.belief)
    press = assign.priority(ledger.items, settings.redundancy, ledger.belief, ledger.typical, rng)
    taken = {ledger.items.topics[one.topic] for one in fixed}
    shape = (settings.assignment.sets - len(fixed), settings.assignment.documents)
    work = assign.work_sets(ledger.items, judge.met, shape, may, press, rng, taken)
    if not work and not watched:
        raise Refused(409, "nothing", "Every document is judged or with another judge: there is no work for now.")
    planned = [assign.fixed(one, ledger.items, rng) for one in fixed]
    planned += [assign.Planned("work", "", items) for items in work]
    return [planned[k] for k in rng.permutation(len(planned))]


def _fixed_sets(ledger: Ledger, judge: Person, use: str, rng: np.random.Generator) -> Iterator[FixedSet]:
    """Yield the fixed sets of a use that a judge may be given, in random order.

    Not those that they have met, be it by one document, nor those with gold that was ruled to be wrong.
    """
    sets = assign.unmet(ledger.campaign.sets, use, judge.sets)
    for k in rng.permutation(len(sets)):
        ids = [ledger.items.ids[sets[k].topic, name] for name in sets[k].documents]
        if not any(id_ in judge.met or id_ in ledger.overruled for id_ in ids):
            yield sets[k]


def save_answers(ledger: Ledger, now: float, person: int, token: str, sent: Sequence[Row]) -> Change:
    """Keep answers as they are now; one whose key is known is kept already."""
    one = open_set(ledger, person, token)
    rows, _ = _answer_rows(ledger, one, now, sent)
    return Change(rows, [row["key"] for row in sent])


def _answer_rows(ledger: Ledger, one: Set, now: float, sent: Sequence[Row]) -> tuple[Rows, list[Answer]]:
    """Return the rows of new answers, and how the set's answers then are."""
    rows: Rows = []
    answers = list(one.answers)
    keys = set(one.keys)
    for row in sent:
        if row["slot"] >= len(one.items):
            raise Refused(422, "slot", f"The set has {len(one.items)} documents; there is no slot {row['slot']}.")
        if row["rank"] is not None and row["rank"] > len(one.items):
            raise Refused(422, "rank", f"The set has {len(one.items)} documents; there is no rank {row['rank']}.")
        if row["key"] in keys:
            continue
        keys.add(row["key"])
        told = {**row, "told": int(row["told"]), "relevance": row["relevance"] if row["told"] else None}
        id_ = ledger.next_id(schema.answers, len(rows) + 1)
        rows.append((schema.answers, {"id": id_, "at": now, "set": one.id, **told}))
        answers[row["slot"]] = Answer(told["relevance"], row["told"], row["rank"], row["seconds"], row["comment"])
    return rows, answers


def open_set(ledger: Ledger, person: int, token: str) -> Set:
    """Return a judge's set that may still be answered, or refuse with the reason."""
    one = own_set(ledger, person, token)
    assignment = ledger.assignments[one.assignment]
    if assignment.outcome:
        raise Refused(410, "over", "This assignment is over: its time ran out, or it was handed in.")
    if one.finished is not None:
        raise Refused(410, "finished", "This set is finished and can no longer be changed.")
    if one.position > assignment.finished:
        raise Refused(409, "early", "The set before this one is not finished yet.")
    return one


def own_set(ledger: Ledger, person: int, token: str) -> Set:
    """Return the set of a token, if it is this judge's: others are told nothing."""
    one = ledger.set_of.get(token)
    if one is None or ledger.assignments[one.assignment].person != person:
        raise Refused(404, "unknown", "There is no such set, or it is no longer yours.")
    return one


def finish_set(ledger: Ledger, now: float, person: int, token: str, sent: Sequence[Row]) -> Change:
    """Leave a set for the next, if its answers are compatible; after the last set the assignment is graded."""
    one = own_set(ledger, person, token)
    assignment = ledger.assignments[one.assignment]
    if one.finished is not None:
        return Change(answer=(assignment.id, []))
    open_set(ledger, person, token)
    rows, answers = _answer_rows(ledger, one, now, sent)
    wrong = problems(answers)
    if wrong:
        return Change(rows, (assignment.id, wrong))
    rows.append((schema.finishes, {"set": one.id, "at": now}))
    if one.position + 1 < len(assignment.sets):
        return Change(rows, (assignment.id, []))
    graded, audit = _graded(ledger, now, assignment, one, answers)
    return Change(rows + graded, (assignment.id, []), audit)


def _graded(
    ledger: Ledger, now: float, assignment: Assignment, last: Set, answers: Sequence[Answer]
) -> tuple[Rows, tuple[str, str, Row]]:
    """Return the rows that end an assignment: its outcome, the judge's standing, the judgments if it passed."""
    judge = ledger.people[assignment.person]
    said = {one.id: list(answers) if one is last else one.answers for one in assignment.sets}
    times = timed(assignment, said, now)
    verdict = verdict_of(ledger, assignment, said, times)
    outcome = "passed" if verdict.passed else "returned"
    scores = {criterion.name: criterion.score for criterion in verdict.criteria}
    row = {
        "id": ledger.next_id(schema.outcomes),
        "at": now,
        "assignment": assignment.id,
        "outcome": outcome,
        "binary": scores.get("binary", scores.get("qualification")),
        "ndcg": scores.get("ndcg"),
        "fastest": min((seconds for part in times.values() for seconds in part), default=None),
        "failed": " ".join(criterion.name for criterion in verdict.criteria if not criterion.passed),
        "code": "",
        "by": None,
    }
    rows: Rows = [(schema.outcomes, row)]
    rows += _standing_rows(ledger, now, judge, assignment, verdict)
    detail = {"assignment": assignment.id, "failed": row["failed"]}
    if verdict.passed and assignment.kind == "work":
        first = ledger.next_id(schema.judgments)
        made = list(judgment_rows(first, now, assignment, said, times, judge.met))
        rows += [(schema.judgments, row) for row in made]
        detail["judgments"] = judgments_hash(made)
    return rows, (judge.name, f"assignment {outcome}", detail)


def _standing_rows(ledger: Ledger, now: float, judge: Person, assignment: Assignment, verdict: Verdict) -> Rows:
    """Return what an outcome changes in what a judge may do."""
    settings = ledger.campaign.settings
    standing = reason = ""
    if judge.standing in ("paused", "excluded"):  # a person has decided
        return []
    if assignment.kind == "qualification":
        if verdict.passed:
            standing = "qualified"
        elif judge.attempts + 1 >= settings.qualification.attempts:
            standing, reason = "unqualified", "The qualification was not passed."
    elif not verdict.passed and judge.returned + 1 >= settings.pay.most_returns:
        standing, reason = "paused", RETURNED_TOO_OFTEN.format(n=judge.returned + 1)
    if not standing:
        return []
    row = {"id": ledger.next_id(schema.standings), "at": now, "person": judge.id, "standing": standing}
    return [(schema.standings, {**row, "reason": reason, "by": None})]


def contest(ledger: Ledger, now: float, person: int, token: str, slot: int, comment: str) -> Change:
    """Note that a judge holds gold to be wrong."""
    one = own_set(ledger, person, token)
    assignment = ledger.assignments[one.assignment]
    if assignment.outcome not in ENDED:
        raise Refused(409, "early", "Only work that was finished and reviewed can be contested.")
    if (one.id, slot) in assignment.contested:
        return Change(answer=True)
    if not is_mistake(ledger, one, slot):
        raise Refused(422, "slot", "The review shows no mistake in this document.")
    row = {"id": ledger.next_id(schema.contests), "at": now, "person": person, "set": one.id, "slot": slot}
    judge = ledger.people[person]
    detail = {"assignment": assignment.id, "set": one.id, "slot": slot}
    told = {**row, "item": one.items[slot], "comment": comment}
    return Change([(schema.contests, told)], True, (judge.name, "gold contested", detail))


def submit(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Close an assignment that passed, and give its completion code; again, the same code."""
    assignment = own_assignment(ledger, person, token)
    if assignment.code:
        return Change(answer=(assignment.id, assignment.code))
    if assignment.outcome not in ("passed", "approved"):
        raise Refused(409, "not passed", "Only an assignment that passed its checks can be submitted.")
    row = submitted_row(ledger, now, assignment.id)
    audit = (ledger.people[person].name, "assignment submitted", submitted_detail(row))
    return Change([(schema.outcomes, row)], (assignment.id, row["code"]), audit)


def submitted_row(ledger: Ledger, now: float, assignment: int) -> Row:
    """Return the row that closes an assignment, with a new code."""
    return outcome_row(ledger, now, assignment, "submitted", code=new_code())


def submitted_detail(row: Row) -> Row:
    """Return what the audit log says of a submission: it vouches for the code, and does not tell it."""
    return {"assignment": row["assignment"], "code": sha256(row["code"].encode()).hexdigest()}


def release(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Give an open assignment up: its documents go to others."""
    assignment = own_assignment(ledger, person, token)
    if assignment.outcome:
        return Change(answer=True)
    row = outcome_row(ledger, now, assignment.id, "released", by=person)
    audit = (ledger.people[person].name, "assignment released", {"assignment": assignment.id})
    return Change([(schema.outcomes, row)], True, audit)


def own_assignment(ledger: Ledger, person: int, token: str) -> Assignment:
    """Return the assignment of a token, if it is this judge's."""
    number = ledger.assignment_of.get(token)
    if number is None or ledger.assignments[number].person != person:
        raise Refused(404, "unknown", "There is no such assignment, or it is no longer yours.")
    return ledger.assignments[number]


def expire(ledger: Ledger, now: float, began: float = 0.0) -> Change:
    """End the assignments whose judge was not heard of for as long as a lease lasts, nor since the studio ``began``."""
    late = [one for one in ledger.open_assignments() if _lapsed(ledger, one, now, began)]
    rows: Rows = [
        (schema.outcomes, outcome_row(ledger, now, one.id, "expired", ahead=ahead)) for ahead, one in enumerate(late, 1)
    ]
    audit = ("studio", "assignments expired", {"assignments": [one.id for one in late]}) if late else None
    return Change(rows, len(late), audit)


def hand_in(ledger: Ledger, now: float, began: float = 0.0) -> Change:
    """Submit what a crowd's worker passed and left: they come again with another session, which cannot."""
    for one in ledger.assignments.values():
        if one.outside and one.outcome in ("passed", "approved") and _lapsed(ledger, one, now, began):
            row = submitted_row(ledger, now, one.id)
            return Change([(schema.outcomes, row)], 1, ("studio", "assignment submitted", submitted_detail(row)))
    return Change(answer=0)


def _lapsed(ledger: Ledger, one: Assignment, now: float, began: float) -> bool:
    """Return whether the lease of an assignment is over."""
    return now - max(one.active, began) > 60 * ledger.campaign.settings.assignment.lease_minutes


def release_broken(ledger: Ledger, now: float) -> Change:
    """Take back open assignments whose topics or documents are no longer in the campaign's files."""
    campaign, pairs = ledger.campaign, ledger.items.pairs

    def gone(item: int) -> bool:
        topic, document = pairs[item]
        return topic not in campaign.topics or document not in campaign.documents

    broken = [one for one in ledger.open_assignments() if any(gone(item) for held in one.sets for item in held.items)]
    rows: Rows = [
        (schema.outcomes, outcome_row(ledger, now, one.id, "released", ahead=ahead))
        for ahead, one in enumerate(broken, 1)
    ]
    audit = ("studio", "assignments released", {"assignments": [one.id for one in broken]}) if broken else None
    return Change(rows, len(broken), audit)


def outcome_row(
    ledger: Ledger, now: float, assignment: int, outcome: str, *, code: str = "", by: int | None = None, ahead: int = 1
) -> Row:
    """Return the row of an outcome that was not graded."""
    row = {"id": ledger.next_id(schema.outcomes, ahead), "at": now, "assignment": assignment, "outcome": outcome}
    return {**row, "binary": None, "ndcg": None, "fastest": None, "failed": "", "code": code, "by": by}


def keep_alive(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Hold the lease of a judge who is at work but has changed nothing."""
    one = open_set(ledger, person, token)
    ledger.assignments[one.assignment].active = now
    return Change(answer=True)


def choose_language(ledger: Ledger, now: float, person: int, language: str) -> Change:
    """Remember the language a person reads."""
    row = {"id": ledger.next_id(schema.languages), "at": now, "person": person, "language": language}
    return Change([(schema.languages, row)] if ledger.people[person].language != language else [])


def document_name(ledger: Ledger, token: str, slot: int) -> str:
    """Return which document has a place in a set that somebody has before them."""
    one = ledger.set_of.get(token)
    if one is None or not 0 <= slot < len(one.items):
        raise Refused(404, "unknown", "There is no such document, or it is no longer out.")
    return ledger.items.pairs[one.items[slot]][1]


def problem_rows(found: Sequence[Problem]) -> list[Row]:
    """Return incompatibilities as the page takes them."""
    return [{"kind": one.kind, "slots": list(one.slots)} for one in found]
