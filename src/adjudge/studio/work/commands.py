"""The commands of judges: pure functions of the ledger that return the rows to add.

A command refuses before it changes anything. Repeating it is safe: an open assignment is given again, an answer with a
known key is stored once, a finished set stays finished. ``finish_set`` grades an assignment when its last set is
finished, with ``grading.assignment_verdict``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain, islice

import numpy as np
from sqlalchemy import Table

from adjudge.studio.gate_designer import set_costs
from adjudge.studio.gates import Answer, Problem, Verdict, active_seconds, problems
from adjudge.studio.record import schema
from adjudge.studio.record.audit import judgments_hash
from adjudge.studio.record.ledger import UNDECIDED, Assignment, Ledger, Person, Set
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import FixedSet, Refused
from adjudge.studio.work import assignment as assign
from adjudge.studio.work.grading import assignment_verdict, document_seconds, is_mistake, judgment_rows

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1, I and L: 31 letters, 4.95 bits each
GROUPS, LETTERS = 3, 4  # 59 bits: nine million years at a thousand guesses per second


def new_code() -> str:
    """Return a completion code, as ``ABCD-EFGH-JKMN``."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(LETTERS)) for _ in range(GROUPS))


def new_token() -> str:
    """Return a random token for an assignment or a set: 128 bits in 22 characters of a URL."""
    return secrets.token_urlsafe(16)


Rows = list[tuple[Table, Row]]
FINISHING = 20  # answers to a document beyond the quota, so that a set can still be finished
RETURNED_TOO_OFTEN = "{n} assignments did not pass the checks."  # why the studio itself pauses a judge
NOT_PASSED = "The qualification was not passed."
ENDED = ("passed", "approved", "returned", "submitted")  # outcomes of work that was done to its end


def take_assignment(ledger: Ledger, now: float, person: int, rng: np.random.Generator, outside: str = "") -> Change:
    """Give a judge the assignment they have, or a new one."""
    judge = ledger.people[person]
    assignment = open_assignment(ledger, judge)
    if assignment is not None:
        assignment.active = now
        return Change(answer=assignment)
    kind = next_kind(ledger, judge)
    planned = _plan_qualification(ledger, judge, rng) if kind == "qualification" else _plan_work(ledger, judge, rng)
    number = ledger.next_id(schema.assignments)
    token = new_token()
    rows: Rows = [
        (
            schema.assignments,
            {"id": number, "at": now, "person": person, "kind": kind, "token": token, "outside": outside},
        )
    ]
    interrupted = _interrupted_qualification(ledger, judge) if kind == "qualification" else None
    for position, plan in enumerate(planned):
        id_ = ledger.next_id(schema.sets, position + 1)
        row = {"id": id_, "assignment": number, "position": position, "use": plan.use, "name": plan.name}
        rows.append((schema.sets, {**row, "token": new_token()}))
        rows += [(schema.slots, {"set": id_, "slot": slot, "item": item}) for slot, item in enumerate(plan.items)]
    if interrupted is not None:
        rows += _copied_answers(ledger, now, interrupted)
    return Change(rows, number, (judge.name, "assignment taken", {"assignment": number, "sets": len(planned)}))


def current_assignment(ledger: Ledger, judge: Person) -> Assignment | None:
    """Return the assignment a judge has open, or had last."""
    return None if judge.last is None else ledger.assignments.get(judge.last)


def open_assignment(ledger: Ledger, judge: Person) -> Assignment | None:
    """Return the assignment a judge has open, or None."""
    assignment = current_assignment(ledger, judge)
    return None if assignment is None or assignment.outcome else assignment


def next_kind(ledger: Ledger, judge: Person) -> str:
    """Return what a judge may take on next, or refuse with the reason."""
    if ledger.archived:
        raise Refused(409, "archived", "The campaign is archived. Your work is kept.")
    if ledger.switches.get("paused") == "1":
        raise Refused(409, "paused", "The campaign is paused. Your work is kept; please come back later.")
    if judge.standing in ("paused", "excluded"):
        raise Refused(409, judge.standing, judge.reason or f"You are {judge.standing}.")
    if judge.standing == "unqualified":
        raise Refused(409, "unqualified", judge.reason)
    required = ledger.campaign.settings.qualification.required
    if judge.standing == "new" and required and any(fixed.use == "qualification" for fixed in ledger.campaign.sets):
        return "qualification"
    return "work"


def _plan_qualification(ledger: Ledger, judge: Person, rng: np.random.Generator) -> list[assign.PlannedSet]:
    """Plan the sets of a qualification, first those that the judge has not had; one that ran out is continued."""
    interrupted = _interrupted_qualification(ledger, judge)
    if interrupted is not None:
        return [assign.PlannedSet(part.use, part.name, tuple(part.items)) for part in interrupted.sets]
    jobs = [job for job in ledger.campaign.sets if job.use == "qualification"]
    jobs = sorted((jobs[k] for k in rng.permutation(len(jobs))), key=lambda job: job.name in judge.sets)
    plans = [assign.plan_fixed(job, ledger.items) for job in jobs[: ledger.campaign.settings.qualification.jobs]]
    return [assign.shuffle_documents(plan, rng) for plan in plans]


def _interrupted_qualification(ledger: Ledger, judge: Person) -> Assignment | None:
    """Return the qualification that a judge can continue because its time ran out, or None."""
    last = current_assignment(ledger, judge)
    return last if last is not None and (last.kind, last.outcome) == ("qualification", "expired") else None


def _copied_answers(ledger: Ledger, now: float, before: Assignment) -> Rows:
    """Return the rows of the answers of an assignment, for the new one that continues it."""
    rows: Rows = []
    for position, part in enumerate(before.sets):
        set_ = ledger.next_id(schema.sets, position + 1)
        for slot, answer in enumerate(part.answers):
            if answer == UNDECIDED:
                continue
            id_ = ledger.next_id(schema.answers, len(rows) + 1)
            row = {"id": id_, "at": now, "set": set_, "key": f"continued {slot}", "slot": slot, "rank": answer.rank}
            decision = {"relevance": answer.relevance, "told": int(answer.decided)}
            rows.append((schema.answers, {**row, **decision, "seconds": answer.seconds, "comment": answer.comment}))
    return rows


def _plan_work(ledger: Ledger, judge: Person, rng: np.random.Generator) -> list[assign.PlannedSet]:
    """Plan the sets of an assignment in random order, gold among them, if possible of different topics."""
    settings, gold_sets = ledger.campaign.settings, ledger.campaign.settings.assignment.gold_sets
    monitoring = list(islice(_fixed_sets(ledger, judge, "monitoring", rng), 1))
    chosen = [assign.plan_fixed(fixed, ledger.items) for fixed in monitoring]
    chosen += _gold_sets(ledger, judge, [fixed.topic for fixed in monitoring], rng)
    if len(chosen) < len(monitoring) + gold_sets:
        raise Refused(409, "nothing", "You have met every check set there is: there is no more work for you for now.")
    allowed = assign.open_items(ledger.items, settings.redundancy, ledger.belief)
    priorities = assign.priority(ledger.items, settings.redundancy, ledger.belief, ledger.typical, rng)
    used = {ledger.items.topics[ledger.items.pairs[plan.items[0]][0]] for plan in chosen}
    shape = (settings.assignment.sets - len(chosen), settings.assignment.documents)
    work = assign.work_sets(ledger.items, judge.met, shape, allowed, priorities, rng, used)
    if not work and not monitoring:
        raise Refused(409, "nothing", "Every document is judged or with another judge: there is no work for now.")
    planned = [assign.shuffle_documents(plan, rng) for plan in chosen]
    planned += [assign.PlannedSet("work", "", items) for items in work]
    return [planned[k] for k in rng.permutation(len(planned))]


def _gold_sets(
    ledger: Ledger, judge: Person, used_topics: Sequence[str], rng: np.random.Generator
) -> list[assign.PlannedSet]:
    """Return the gold sets of an assignment: drawn from all graded documents, or chosen from the fixed ones."""
    settings = ledger.campaign.settings
    count = settings.assignment.gold_sets
    if settings.assignment.draw_gold:
        costs = set_costs(settings.assignment.documents, settings.gate)
        return assign.draw_gold(ledger.items, count, costs, partial(_is_barred, ledger, judge), used_topics, rng)
    fixed = assign.choose_by_topic(_fixed_sets(ledger, judge, "gold", rng), count, used_topics)
    return [assign.plan_fixed(source, ledger.items) for source in fixed]


def _is_barred(ledger: Ledger, judge: Person, item: int) -> bool:
    """Return whether an item may not be gold for a judge: they have met it, or its gold was ruled wrong."""
    return item in judge.met or item in ledger.overruled


def _fixed_sets(ledger: Ledger, judge: Person, use: str, rng: np.random.Generator) -> Iterator[FixedSet]:
    """Yield the fixed sets of a use that a judge may get, in random order.

    Left out are sets with a document that the judge has met, or whose gold was ruled wrong.
    """
    sets = assign.unmet_sets(ledger.campaign.sets, use, judge.sets)
    for k in rng.permutation(len(sets)):
        if not any(_is_barred(ledger, judge, ledger.items.ids[pair]) for pair in sets[k].pairs):
            yield sets[k]


def save_answers(ledger: Ledger, now: float, person: int, token: str, sent: Sequence[Row]) -> Change:
    """Store answers; those with a known key are stored already."""
    part = open_set(ledger, person, token)
    most = ledger.campaign.settings.limits.answers_per_document
    rows, _ = _answer_rows(ledger, part, now, sent, most)
    return Change(rows, [row["key"] for row in sent])


def _answer_rows(ledger: Ledger, part: Set, now: float, sent: Sequence[Row], most: int) -> tuple[Rows, list[Answer]]:
    """Return the rows of new answers, at most so many for a document, and the answers of the set after them."""
    rows: Rows = []
    answers = list(part.answers)
    keys, stored = set(part.keys), list(part.stored)
    for row in sent:
        if row["slot"] >= len(part.items):
            raise Refused(422, "slot", f"The set has {len(part.items)} documents; there is no slot {row['slot']}.")
        if row["rank"] is not None and row["rank"] > len(part.items):
            raise Refused(422, "rank", f"The set has {len(part.items)} documents; there is no rank {row['rank']}.")
        if row["key"] in keys:
            continue
        if stored[row["slot"]] >= most:
            message = f"The answer to this document was changed {most} times. The last one that was saved counts."
            raise Refused(409, "quota", message)
        stored[row["slot"]] += 1
        keys.add(row["key"])
        values = {**row, "told": int(row["told"]), "relevance": row["relevance"] if row["told"] else None}
        id_ = ledger.next_id(schema.answers, len(rows) + 1)
        rows.append((schema.answers, {"id": id_, "at": now, "set": part.id, **values}))
        answers[row["slot"]] = Answer(values["relevance"], row["told"], row["rank"], row["seconds"], row["comment"])
    return rows, answers


def open_set(ledger: Ledger, person: int, token: str) -> Set:
    """Return a judge's set that may still be answered, or refuse with the reason."""
    part = own_set(ledger, person, token)
    assignment = ledger.assignments[part.assignment]
    if assignment.outcome:
        raise Refused(410, "over", "This assignment is over: its time ran out, or it was handed in.")
    if part.finished is not None:
        raise Refused(410, "finished", "This set is finished and can no longer be changed.")
    if part.position > assignment.finished:
        raise Refused(409, "early", "The set before this one is not finished yet.")
    return part


def own_set(ledger: Ledger, person: int, token: str) -> Set:
    """Return the set of a token, if it belongs to this judge; others learn nothing about it."""
    part = ledger.set_of.get(token)
    if part is None or ledger.assignments[part.assignment].person != person:
        raise Refused(404, "unknown", "There is no such set, or it is no longer yours.")
    return part


def finish_set(ledger: Ledger, now: float, person: int, token: str, sent: Sequence[Row], hold: bool = False) -> Change:
    """Finish a set, if its answers are compatible; after the last set the assignment is graded.

    With ``hold``, a set with a document that was judged in too short a time stays open, so that its judge can read on;
    without, the assignment is returned at its end.
    """
    part = own_set(ledger, person, token)
    assignment = ledger.assignments[part.assignment]
    if part.finished is not None:
        return Change(answer=(assignment.id, []))
    open_set(ledger, person, token)
    most = ledger.campaign.settings.limits.answers_per_document
    rows, answers = _answer_rows(ledger, part, now, sent, most + FINISHING)
    incompatible = problems(answers)
    if hold and not incompatible:
        missing = missing_seconds(ledger, now, part, answers)
        incompatible = [Problem("brief", (slot,)) for slot, seconds in enumerate(missing) if seconds]
    if incompatible:
        return Change(rows, (assignment.id, incompatible))
    rows.append((schema.finishes, {"set": part.id, "at": now}))
    if part.position + 1 < len(assignment.sets):
        return Change(rows, (assignment.id, []))
    graded, audit = _grade(ledger, now, assignment, part, answers)
    return Change(rows + graded, (assignment.id, []), audit)


def missing_seconds(ledger: Ledger, now: float, part: Set, answers: Sequence[Answer]) -> list[float]:
    """Return the active seconds that each document of the current set needs before it can pass the time gate."""
    assignment = ledger.assignments[part.assignment]
    if assignment.kind != "work":
        return [0.0] * len(answers)
    seconds = active_seconds([answer.seconds for answer in answers], now - assignment.opened)
    least = ledger.settings_at(assignment.at).gate.seconds
    return [max(0.0, least - counted) for counted in seconds]


def _grade(
    ledger: Ledger, now: float, assignment: Assignment, last: Set, answers: Sequence[Answer]
) -> tuple[Rows, tuple[str, str, Row]]:
    """Return the rows that end an assignment: its outcome, the judge's standing, the judgments if it passed."""
    judge = ledger.people[assignment.person]
    answers_by_set = {part.id: list(answers) if part is last else part.answers for part in assignment.sets}
    times = document_seconds(assignment, answers_by_set, now)
    verdict = assignment_verdict(ledger, assignment, answers_by_set, times)
    row = _outcome_with_scores(ledger, now, assignment, verdict, times)
    rows: Rows = [(schema.outcomes, row), *_standing_rows(ledger, now, judge, assignment, verdict)]
    detail = {"assignment": assignment.id, "failed": row["failed"]}
    if verdict.passed and assignment.kind == "work":
        first = ledger.next_id(schema.judgments)
        judgments = list(judgment_rows(first, now, assignment, answers_by_set, times, judge.met))
        rows += [(schema.judgments, judgment) for judgment in judgments]
        detail["judgments"] = judgments_hash(judgments)
    return rows, (judge.name, f"assignment {row['outcome']}", detail)


def _outcome_with_scores(
    ledger: Ledger, now: float, assignment: Assignment, verdict: Verdict, times: Mapping[int, Sequence[float]]
) -> Row:
    """Return the row of an outcome that was graded."""
    scores = {criterion.name: criterion.score for criterion in verdict.criteria}
    return {
        **outcome_row(ledger, now, assignment.id, "passed" if verdict.passed else "returned"),
        "binary": scores.get("binary", scores.get("qualification")),
        "ndcg": scores.get("ndcg"),
        "fastest": min(chain.from_iterable(times.values()), default=None),
        "failed": " ".join(criterion.name for criterion in verdict.criteria if not criterion.passed),
    }


def _standing_rows(ledger: Ledger, now: float, judge: Person, assignment: Assignment, verdict: Verdict) -> Rows:
    """Return the row of the judge's new standing, if the outcome changes it."""
    settings = ledger.settings_at(assignment.at)
    standing = reason = ""
    if judge.standing in ("paused", "excluded"):  # a lead has decided
        return []
    if assignment.kind == "qualification":
        if verdict.passed:
            standing = "qualified"
        elif judge.attempts + 1 >= settings.qualification.attempts:
            standing, reason = "unqualified", NOT_PASSED
    elif not verdict.passed and judge.returned + 1 >= settings.pay.most_returns:
        standing, reason = "paused", RETURNED_TOO_OFTEN.format(n=judge.returned + 1)
    if not standing:
        return []
    return [standing_row(ledger, now, judge.id, standing, reason)]


def standing_row(
    ledger: Ledger, now: float, person: int, standing: str, reason: str = "", by: int | None = None
) -> tuple[Table, Row]:
    """Return the row of a new standing, with its table; ``by`` is the lead who decided, None for the studio."""
    row = {"id": ledger.next_id(schema.standings), "at": now, "person": person, "standing": standing}
    return schema.standings, {**row, "reason": reason, "by": by}


def contest(ledger: Ledger, now: float, person: int, token: str, slot: int, comment: str) -> Change:
    """Store that a judge contests the gold of a document."""
    part = own_set(ledger, person, token)
    assignment = ledger.assignments[part.assignment]
    if assignment.outcome not in ENDED:
        raise Refused(409, "early", "Only work that was finished and reviewed can be contested.")
    if (part.id, slot) in assignment.contested:
        return Change(answer=True)
    if not is_mistake(ledger, part, slot):
        raise Refused(422, "slot", "The review shows no mistake in this document.")
    row = {"id": ledger.next_id(schema.contests), "at": now, "person": person, "set": part.id, "slot": slot}
    judge = ledger.people[person]
    detail = {"assignment": assignment.id, "set": part.id, "slot": slot}
    stored = {**row, "item": part.items[slot], "comment": comment}
    return Change([(schema.contests, stored)], True, (judge.name, "gold contested", detail))


def submit(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Submit an assignment that passed, and return its completion code; repeated, the same code."""
    assignment = own_assignment(ledger, person, token)
    if assignment.code:
        return Change(answer=(assignment.id, assignment.code))
    if assignment.outcome not in ("passed", "approved"):
        raise Refused(409, "not passed", "Only an assignment that passed its checks can be submitted.")
    row = submitted_row(ledger, now, assignment.id)
    audit = (ledger.people[person].name, "assignment submitted", submitted_detail(row))
    return Change([(schema.outcomes, row)], (assignment.id, row["code"]), audit)


def submitted_row(ledger: Ledger, now: float, assignment: int) -> Row:
    """Return the row that submits an assignment, with a new code."""
    return outcome_row(ledger, now, assignment, "submitted", code=new_code())


def submitted_detail(row: Row) -> Row:
    """Return the detail of a submission in the audit log: the hash of the code, not the code."""
    return {"assignment": row["assignment"], "code": sha256(row["code"].encode()).hexdigest()}


def release(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Give up an open assignment: its documents go to other judges; of a qualification, the attempt is used."""
    assignment = own_assignment(ledger, person, token)
    if assignment.outcome:
        return Change(answer=True)
    row = outcome_row(ledger, now, assignment.id, "released", by=person)
    judge = ledger.people[person]
    audit = (judge.name, "assignment released", {"assignment": assignment.id})
    rows: Rows = [(schema.outcomes, row)]
    last_attempt = judge.attempts + 1 >= ledger.settings_at(assignment.at).qualification.attempts
    if assignment.kind == "qualification" and last_attempt and judge.standing == "new":
        rows.append(standing_row(ledger, now, person, "unqualified", NOT_PASSED))
    return Change(rows, True, audit)


def own_assignment(ledger: Ledger, person: int, token: str) -> Assignment:
    """Return the assignment of a token, if it belongs to this judge."""
    number = ledger.assignment_of.get(token)
    if number is None or ledger.assignments[number].person != person:
        raise Refused(404, "unknown", "There is no such assignment, or it is no longer yours.")
    return ledger.assignments[number]


def expire(ledger: Ledger, now: float, began: float = 0.0) -> Change:
    """End the assignments whose judges were inactive for the time of a lease, counted from ``began`` or later."""
    late = [assignment for assignment in ledger.open_assignments() if _has_lapsed(ledger, assignment, now, began)]
    return _end_all(ledger, now, late, "expired")


def _end_all(ledger: Ledger, now: float, assignments: Sequence[Assignment], outcome: str) -> Change:
    """End several assignments with the same outcome."""
    numbers = [assignment.id for assignment in assignments]
    rows: Rows = [
        (schema.outcomes, outcome_row(ledger, now, number, outcome, ahead=ahead))
        for ahead, number in enumerate(numbers, 1)
    ]
    audit = ("studio", f"assignments {outcome}", {"assignments": numbers}) if numbers else None
    return Change(rows, len(numbers), audit)


def hand_in(ledger: Ledger, now: float, began: float = 0.0) -> Change:
    """Submit a passed assignment that a crowd worker left: their next session cannot submit it."""
    for assignment in ledger.assignments.values():
        passed = assignment.outside and assignment.outcome in ("passed", "approved")
        if passed and _has_lapsed(ledger, assignment, now, began):
            row = submitted_row(ledger, now, assignment.id)
            return Change([(schema.outcomes, row)], 1, ("studio", "assignment submitted", submitted_detail(row)))
    return Change(answer=0)


def _has_lapsed(ledger: Ledger, assignment: Assignment, now: float, began: float) -> bool:
    """Return whether the lease of an assignment is over."""
    return now - max(assignment.active, began) > 60 * ledger.settings_at(assignment.at).assignment.lease_minutes


def switch_rows(ledger: Ledger, now: float, by: int | None, paused: bool, reason: str = "") -> Rows:
    """Return the rows that pause the campaign or resume it; ``by`` is the lead, None for the studio with its reason."""
    values = {"paused": str(int(paused)), "pause reason": reason}
    first = ledger.next_id(schema.switches)
    return [
        (schema.switches, {"id": first + n, "at": now, "name": name, "value": value, "by": by})
        for n, (name, value) in enumerate(values.items())
        if name == "paused" or value != ledger.switches.get(name, "")
    ]


def pause(ledger: Ledger, now: float, reason: str) -> Change:
    """Pause the campaign for a reason that the desk shows; the studio does this, not a person."""
    if ledger.switches.get("paused") == "1":
        return Change()
    return Change(switch_rows(ledger, now, None, True, reason), True, ("studio", "campaign paused", {"reason": reason}))


def note_finished(ledger: Ledger, now: float) -> Change:
    """Note that no document needs a judgment and nobody works, or that there is work again; else change nothing."""
    campaign, items = ledger.campaign, ledger.items
    working = any(assignment.kind == "work" for assignment in ledger.open_assignments())
    finished = not working and bool(items.pooled.any())
    finished = finished and not assign.open_items(items, campaign.settings.redundancy, ledger.belief).any()
    if ledger.archived or finished == (ledger.switches.get("finished") == "1"):
        return Change()
    row = {"id": ledger.next_id(schema.switches), "at": now, "name": "finished", "value": str(int(finished))}
    action = "campaign finished" if finished else "campaign has work again"
    detail = {"judgments": ledger.next_id(schema.judgments) - 1}
    return Change([(schema.switches, {**row, "by": None})], finished, ("studio", action, detail))


def release_broken(ledger: Ledger, now: float) -> Change:
    """Release open assignments whose topics or documents are no longer in the campaign's files."""
    campaign, pairs = ledger.campaign, ledger.items.pairs

    def is_missing(item: int) -> bool:
        topic, document = pairs[item]
        return topic not in campaign.topics or document not in campaign.documents

    broken = [
        assignment
        for assignment in ledger.open_assignments()
        if any(is_missing(item) for part in assignment.sets for item in part.items)
    ]
    return _end_all(ledger, now, broken, "released")


def outcome_row(
    ledger: Ledger, now: float, assignment: int, outcome: str, *, code: str = "", by: int | None = None, ahead: int = 1
) -> Row:
    """Return the row of an outcome without scores."""
    row = {"id": ledger.next_id(schema.outcomes, ahead), "at": now, "assignment": assignment, "outcome": outcome}
    return {**row, "binary": None, "ndcg": None, "fastest": None, "failed": "", "code": code, "by": by}


def keep_alive(ledger: Ledger, now: float, person: int, token: str) -> Change:
    """Extend the lease of a judge who works without changing an answer."""
    part = open_set(ledger, person, token)
    ledger.assignments[part.assignment].active = now
    return Change(answer=True)


def choose_language(ledger: Ledger, now: float, person: int, language: str) -> Change:
    """Store the language that a person reads."""
    row = {"id": ledger.next_id(schema.languages), "at": now, "person": person, "language": language}
    return Change([(schema.languages, row)] if ledger.people[person].language != language else [])


def document_name(ledger: Ledger, token: str, slot: int) -> str:
    """Return the name of the document in a slot of a set that is out."""
    part = ledger.set_of.get(token)
    if part is None or not 0 <= slot < len(part.items):
        raise Refused(404, "unknown", "There is no such document, or it is no longer out.")
    return ledger.items.pairs[part.items[slot]][1]


def problem_rows(incompatible: Sequence[Problem]) -> list[Row]:
    """Return the problems of a set as the page expects them."""
    return [{"kind": problem.kind, "slots": list(problem.slots)} for problem in incompatible]
