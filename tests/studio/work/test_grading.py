"""An assignment graded again without documents whose gold is wrong."""

from adjudge.studio.desk.decisions import read_work
from adjudge.studio.work import commands, grading
from adjudge.studio.work.grading import regrade


def half_right(desk, who):
    """Return an assignment in which one of two documents of gold is wrong, and the slot of that one."""
    held = desk.open_work(who)
    for one in held.sets:
        desk.time[0] += 100
        said = [1, 0] if one.use != "gold" else [1, 1]
        answers = [
            {
                "key": f"k{n}",
                "slot": n,
                "relevance": said[n],
                "told": True,
                "rank": n + 1,
                "seconds": 9.0,
                "comment": "",
            }
            for n in range(2)
        ]
        desk.do(commands.finish_set, who, one.token, answers)
    gold = next(one for one in held.sets if one.use == "gold")
    wrong = grading.gold_grades(desk.store.ledger, gold).index(0)
    return held, (gold.id, wrong)


def test_regrading_without_the_wrong_document_passes(fresh_desk):
    """The document that failed the gate is left out; the other one is right."""
    held, wrong = half_right(fresh_desk, fresh_desk.person("ann"))
    assert held.outcome == "returned"
    with fresh_desk.store.reading() as connection:
        work = read_work(connection, held.id)
    ledger = fresh_desk.store.ledger
    assert not regrade(ledger, work.assignment, frozenset()).passed
    assert regrade(ledger, work.assignment, frozenset([wrong])).passed
    assert not regrade(ledger, work.assignment, frozenset([(wrong[0], 1 - wrong[1])])).passed


def test_regrading_keeps_the_other_criteria(desk, reading):
    """Haste is not made good by wrong gold."""
    work = read_work(reading, desk.returned.id)
    gold = next(one for one in work.assignment.sets if one.use == "gold")
    verdict = regrade(desk.store.ledger, work.assignment, frozenset([(gold.id, 0)]))
    assert {one.name for one in verdict.criteria if not one.passed} >= {"time"}


def test_a_qualification_counts_wrong_gold_as_right(desk, reading):
    """Bob's answers, taken as a qualification of which two must be right: each document ruled on adds one."""
    held = read_work(reading, desk.returned.id).assignment
    held.kind = "qualification"
    gold = next(one for one in held.sets if one.use == "gold")
    told = [regrade(desk.store.ledger, held, frozenset((gold.id, slot) for slot in range(n))) for n in range(3)]
    assert [verdict.criteria[0].score for verdict in told] == [0, 1, 2]
    assert [verdict.passed for verdict in told] == [False, False, True]
