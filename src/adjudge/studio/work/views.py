"""What a judge's page is told. Sets look the same whatever they are for: nothing here asks for gold before the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudge.studio.gates.gates import Answer
from adjudge.studio.record.ledger import Assignment, Ledger, Person, Set
from adjudge.studio.records import Refused
from adjudge.studio.work.commands import next_kind, present
from adjudge.studio.work.grading import GRADED, grades, is_mistake, timed, verdict_of

View = dict[str, Any]
REVIEWED = ("passed", "approved", "returned")  # outcomes of which the judge has not yet closed the review


def state_view(ledger: Ledger, now: float, person: int) -> View:
    """Return where a judge stands, and all they should know before they begin."""
    judge = ledger.people[person]
    stage, why = stage_of(ledger, judge)
    held = present(ledger, judge)
    going = held is not None and not held.outcome
    about = ledger.campaign.settings.campaign
    return {
        "person": {"name": judge.name, "role": judge.role, "language": judge.language},
        "campaign": {"name": about.name, "instructions": _paragraphs(about.instructions), "contact": about.contact},
        "rules": rules_view(ledger),
        "stage": stage,
        "why": why,
        "assignment": assignment_view(ledger, now, held) if held is not None and going else None,
        "review": review_view(ledger, held) if held is not None and held.outcome in REVIEWED else None,
        "done": {"passed": judge.passed, "returned": judge.returned, "judgments": len(judge.counted)},
    }


def stage_of(ledger: Ledger, judge: Person) -> tuple[str, str]:
    """Return what a judge does next, and why if it is nothing."""
    held = present(ledger, judge)
    if held is not None and not held.outcome:
        return held.kind, ""
    if held is not None and held.outcome in ("passed", "approved"):
        return "review", ""
    try:
        return next_kind(ledger, judge), ""
    except Refused as error:
        return error.code, str(error)


def rules_view(ledger: Ledger) -> View:
    """Return the rules by which work is checked, which every judge is told in advance."""
    settings = ledger.campaign.settings
    jobs = [one for one in ledger.campaign.sets if one.use == "qualification"][: settings.qualification.jobs]
    graded = sum((one.topic, document) in ledger.campaign.gold for one in jobs for document in one.documents)
    return {
        "sets": settings.assignment.sets,
        "documents": settings.assignment.documents,
        "binary": settings.gate.binary,
        "ndcg": settings.gate.ndcg,
        "seconds": settings.gate.seconds,
        "qualification": {
            "jobs": len(jobs),
            "gold": graded,
            "correct": min(settings.qualification.correct, graded),
            "attempts": settings.qualification.attempts,
        },
        "lease_minutes": settings.assignment.lease_minutes,
        "most_returns": settings.pay.most_returns,
        "pay": {"amount": settings.pay.amount, "currency": settings.pay.currency},
    }


def assignment_view(ledger: Ledger, now: float, assignment: Assignment) -> View:
    """Return an open assignment: the set it is at, and the one after, to be fetched ahead."""
    at = assignment.finished
    following = assignment.sets[at + 1] if at + 1 < len(assignment.sets) else None
    return {
        "token": assignment.token,
        "kind": assignment.kind,
        "of": len(assignment.sets),
        "finished": at,
        "seconds_left": seconds_left(ledger, now, assignment),
        "set": set_view(ledger, assignment.sets[at]),
        "next": None if following is None else set_view(ledger, following),
    }


def seconds_left(ledger: Ledger, now: float, assignment: Assignment) -> int:
    """Return for how long an assignment is kept for a judge who does nothing."""
    return max(0, round(60 * ledger.campaign.settings.assignment.lease_minutes - (now - assignment.active)))


def set_view(ledger: Ledger, one: Set) -> View:
    """Return a set with the answers it has."""
    documents = [_document_view(ledger, one, slot, answer) for slot, answer in enumerate(one.answers)]
    return {
        "token": one.token,
        "position": one.position,
        "topic": _topic_view(ledger, one.items[0]),
        "documents": documents,
    }


def _document_view(ledger: Ledger, one: Set, slot: int, answer: Answer) -> View:
    """Return one document of a set."""
    return {
        "slot": slot,
        "title": _title(ledger, one.items[slot]),
        "url": url_of(one, slot),
        "relevance": answer.relevance,
        "told": answer.decided,
        "rank": answer.rank,
        "seconds": answer.seconds,
        "comment": answer.comment,
    }


def url_of(one: Set, slot: int) -> str:
    """Return where a document of a set is shown; the address says nothing of the document."""
    return f"/documents/{one.token}/{slot}"


def _title(ledger: Ledger, item: int) -> str:
    """Return what a document is called."""
    return ledger.campaign.documents.document(ledger.items.pairs[item][1]).title


def _topic_view(ledger: Ledger, item: int) -> View:
    """Return the topic of an item, without its name: judges have no use for it."""
    topic = ledger.campaign.topics[ledger.items.pairs[item][0]]
    return {"query": topic.query, "description": topic.description, "narrative": topic.narrative}


def _paragraphs(text: str) -> list[str]:
    """Return a text's paragraphs."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def review_view(ledger: Ledger, assignment: Assignment) -> View:
    """Return how an assignment that is over was graded, with the gold documents that were judged otherwise."""
    said = {one.id: one.answers for one in assignment.sets}
    ended = assignment.sets[-1].finished
    if ended is None:
        raise Refused(410, "over", "This assignment was not finished: there is nothing to review.")
    verdict = verdict_of(ledger, assignment, said, timed(assignment, said, ended))
    passed = assignment.outcome in ("passed", "approved", "submitted")
    stage, _ = stage_of(ledger, ledger.people[assignment.person])
    return {
        "token": assignment.token,
        "kind": assignment.kind,
        "passed": passed,
        "criteria": [
            {"name": criterion.name, "wanted": criterion.threshold, "got": criterion.score, "passed": criterion.passed}
            for criterion in verdict.criteria
        ],
        "gold": sum(grade is not None for one in assignment.sets for grade in _shown_grades(ledger, assignment, one)),
        "mistakes": [row for one in assignment.sets for row in _mistakes(ledger, assignment, one)],
        "may": {"submit": passed, "again": stage in ("work", "qualification")},
        "code": assignment.code,
    }


def _shown_grades(ledger: Ledger, assignment: Assignment, one: Set) -> Sequence[int | None]:
    """Return the gold that is shown after the end: of sets that are graded, and not of a test one may take again."""
    left = assignment.kind == "qualification" and assignment.outcome == "returned"
    again = left and ledger.people[assignment.person].standing == "new"
    return grades(ledger, one) if one.use in GRADED and not again else [None] * len(one.items)


def _mistakes(ledger: Ledger, assignment: Assignment, one: Set) -> list[View]:
    """Return the documents of a set that gold says were judged wrongly."""
    found = []
    for slot, (grade, answer) in enumerate(zip(_shown_grades(ledger, assignment, one), one.answers, strict=True)):
        if grade is None or not is_mistake(ledger, one, slot):
            continue
        item, right = one.items[slot], int(grade > 0)
        view = {
            "set": one.token,
            "slot": slot,
            "topic": _topic_view(ledger, item),
            "title": _title(ledger, item),
            "url": url_of(one, slot),
            "yours": answer.relevance,
            "right": right,
            "grade": grade,
            "reason": ledger.campaign.gold[ledger.items.pairs[item]].reason,
            "rank": answer.rank,
            "contested": (one.id, slot) in assignment.contested,
        }
        found.append(view)
    return found
