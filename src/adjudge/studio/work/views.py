"""The JSON views of a judge's page. Sets look the same whatever their use; gold is not read before the end."""

from __future__ import annotations

from typing import Any

from adjudge.studio.gates import Answer
from adjudge.studio.record.ledger import Assignment, Ledger, Person, Set
from adjudge.studio.records import Refused
from adjudge.studio.work.commands import ENDED, current_assignment, next_kind
from adjudge.studio.work.grading import assignment_verdict, document_seconds, is_mistake, shown_grades

View = dict[str, Any]
REVIEWED = ("passed", "approved", "returned")  # outcomes with a review that the judge has not closed yet


def state_view(ledger: Ledger, now: float, person: int) -> View:
    """Return the state of a judge's work, and all that they should know before they begin."""
    judge = ledger.people[person]
    stage, why = stage_of(ledger, judge)
    assignment = current_assignment(ledger, judge)
    going = assignment is not None and not assignment.outcome
    about = ledger.campaign.settings.campaign
    return {
        "person": {"name": judge.name, "role": judge.role, "language": judge.language},
        "campaign": {"name": about.name, "instructions": paragraphs(about.instructions), "contact": about.contact},
        "rules": rules_view(ledger, assignment.at if assignment is not None and going else now),
        "stage": stage,
        "why": why,
        "assignment": assignment_view(ledger, now, assignment) if assignment is not None and going else None,
        "review": review_view(ledger, assignment)
        if assignment is not None and assignment.outcome in REVIEWED
        else None,
        "last": assignment.token if assignment is not None and assignment.outcome in ENDED else None,
        "done": {"passed": judge.passed, "returned": judge.returned, "judgments": len(judge.counted)},
    }


def stage_of(ledger: Ledger, judge: Person) -> tuple[str, str]:
    """Return what a judge does next, and the reason if there is nothing."""
    assignment = current_assignment(ledger, judge)
    if assignment is not None and not assignment.outcome:
        return assignment.kind, ""
    if assignment is not None and assignment.outcome in ("passed", "approved"):
        return "review", ""
    try:
        return next_kind(ledger, judge), ""
    except Refused as error:
        return error.code, str(error)


def rules_view(ledger: Ledger, at: float) -> View:
    """Return the rules by which work that began at a time is checked; judges can read them before they begin."""
    settings = ledger.settings_at(at)
    jobs = [job for job in ledger.campaign.sets if job.use == "qualification"][: settings.qualification.jobs]
    graded = sum(pair in ledger.campaign.gold for job in jobs for pair in job.pairs)
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
    """Return an open assignment: its current set, and the next one, which the page loads in advance."""
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
    """Return the time until the lease of an assignment ends, if its judge does nothing."""
    lease = 60 * ledger.settings_at(assignment.at).assignment.lease_minutes
    return max(0, round(lease - (now - assignment.active)))


def set_view(ledger: Ledger, part: Set) -> View:
    """Return a set with its answers."""
    documents = [_document_view(ledger, part, slot, answer) for slot, answer in enumerate(part.answers)]
    return {
        "token": part.token,
        "position": part.position,
        "topic": _topic_view(ledger, part.items[0]),
        "documents": documents,
    }


def _document_view(ledger: Ledger, part: Set, slot: int, answer: Answer) -> View:
    """Return one document of a set."""
    return {
        "slot": slot,
        "title": _title(ledger, part.items[slot]),
        "url": document_url(part, slot),
        "relevance": answer.relevance,
        "told": answer.decided,
        "rank": answer.rank,
        "seconds": answer.seconds,
        "comment": answer.comment,
    }


def document_url(part: Set, slot: int) -> str:
    """Return the URL of a document of a set, which tells nothing about the document."""
    return f"/documents/{part.token}/{slot}"


def _title(ledger: Ledger, item: int) -> str:
    """Return the title of a document."""
    return ledger.campaign.documents.document(ledger.items.pairs[item][1]).title


def _topic_view(ledger: Ledger, item: int) -> View:
    """Return the topic of an item, without its name, which judges do not need."""
    topic = ledger.campaign.topics[ledger.items.pairs[item][0]]
    return {"query": topic.query, "description": topic.description, "narrative": topic.narrative}


def paragraphs(text: str) -> list[str]:
    """Return a text's paragraphs."""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def review_view(ledger: Ledger, assignment: Assignment) -> View:
    """Return the grading of an assignment that is over, with the judgments that differ from gold."""
    answers = {part.id: part.answers for part in assignment.sets}
    ended = assignment.sets[-1].finished
    if ended is None:
        raise Refused(410, "over", "This assignment was not finished: there is nothing to review.")
    verdict = assignment_verdict(ledger, assignment, answers, document_seconds(assignment, answers, ended))
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
        "gold": sum(grade is not None for part in assignment.sets for grade in shown_grades(ledger, part)),
        "mistakes": [row for part in assignment.sets for row in _mistakes(ledger, assignment, part)],
        "may": {"submit": passed, "again": stage in ("work", "qualification")},
        "code": assignment.code,
    }


def _mistakes(ledger: Ledger, assignment: Assignment, part: Set) -> list[View]:
    """Return the documents of a set whose judgments differ from gold."""
    mistakes = []
    for slot, (grade, answer) in enumerate(zip(shown_grades(ledger, part), part.answers, strict=True)):
        if grade is None or not is_mistake(ledger, part, slot):
            continue
        item, right = part.items[slot], int(grade > 0)
        view = {
            "set": part.token,
            "slot": slot,
            "topic": _topic_view(ledger, item),
            "title": _title(ledger, item),
            "url": document_url(part, slot),
            "yours": answer.relevance,
            "right": right,
            "grade": grade,
            "reason": ledger.campaign.gold[ledger.items.pairs[item]].reason,
            "rank": answer.rank,
            "contested": (part.id, slot) in assignment.contested,
        }
        mistakes.append(view)
    return mistakes
