"""An assignment graded again without documents whose gold is wrong."""

from adjudge.studio.desk.decisions import read_work
from adjudge.studio.work import commands, grading
from adjudge.studio.work.grading import regrade


def half_right(desk, who):
    """Return an assignment in which one of two documents of gold is wrong, and the slot of that one."""
    stored = desk.open_work(who)
    for entry in stored.sets:
        desk.time[0] += 100
        result = [1, 0] if entry.use != "gold" else [1, 1]
        answers = [
            {
                "key": f"k{n}",
                "slot": n,
                "relevance": result[n],
                "told": True,
                "rank": n + 1,
                "seconds": 9.0,
                "comment": "",
            }
            for n in range(2)
        ]
        desk.do(commands.finish_set, who, entry.token, answers)
    gold = next(entry for entry in stored.sets if entry.use == "gold")
    wrong = grading.gold_grades(desk.store.ledger, gold).index(0)
    return stored, (gold.id, wrong)


def test_regrading_without_the_wrong_document_passes(fresh_desk):
    """The document that failed the gate is left out; the other one is right."""
    stored, wrong = half_right(fresh_desk, fresh_desk.person("ann"))
    assert stored.outcome == "returned"
    with fresh_desk.store.reading() as connection:
        work = read_work(connection, stored.id)
    ledger = fresh_desk.store.ledger
    assert not regrade(ledger, work.assignment, frozenset()).passed
    assert regrade(ledger, work.assignment, frozenset([wrong])).passed
    assert not regrade(ledger, work.assignment, frozenset([(wrong[0], 1 - wrong[1])])).passed


def test_regrading_keeps_the_other_criteria(desk, reading):
    """Haste is not made good by wrong gold."""
    work = read_work(reading, desk.returned.id)
    gold = next(entry for entry in work.assignment.sets if entry.use == "gold")
    verdict = regrade(desk.store.ledger, work.assignment, frozenset([(gold.id, 0)]))
    assert {entry.name for entry in verdict.criteria if not entry.passed} >= {"time"}


def test_a_qualification_counts_wrong_gold_as_right(desk, reading):
    """Bob's answers, taken as a qualification of which two must be right: each document ruled on adds one."""
    assignment = read_work(reading, desk.returned.id).assignment
    assignment.kind = "qualification"
    gold = next(entry for entry in assignment.sets if entry.use == "gold")
    result = [regrade(desk.store.ledger, assignment, frozenset((gold.id, slot) for slot in range(n))) for n in range(3)]
    assert [verdict.criteria[0].score for verdict in result] == [0, 1, 2]
    assert [verdict.passed for verdict in result] == [False, False, True]
