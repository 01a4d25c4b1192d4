"""Contests, and failure rates of gold."""

import pytest

from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import read_work
from adjudge.studio.desk.gold import gold_failures, read_contests
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def gold_set(held):
    """Return the gold set of an assignment."""
    return next(entry for entry in held.sets if entry.use == "gold")


def test_contests_say_what_the_judge_said(desk):
    """The document, the answer, the words, and that nobody has ruled yet."""
    first = gold_set(desk.returned)
    desk.do(commands.contest, desk.bob, first.token, 1, "it is about oaks")
    with desk.store.reading() as connection:
        (result,) = read_contests(connection)
    pair = desk.store.ledger.items.pairs[first.items[1]]
    assert (result.judge, result.topic, result.document, result.comment) == ("bob", *pair, "it is about oaks")
    assert result.relevance == first.answers[1].relevance
    assert (result.outcome, result.upheld) == ("returned", None)


def test_contests_to_rule_on_come_first(desk):
    """Ruled ones after them, and those of one judge can be asked for."""
    first = gold_set(desk.returned)
    for slot in (0, 1):
        desk.do(commands.contest, desk.bob, first.token, slot, str(slot))
    with desk.store.reading() as connection:
        desk.do(lead.rule, desk.lead, 2, False, "no", read_work(connection, desk.returned.id))
    with desk.store.reading() as connection:
        assert [(read_contest.id, read_contest.upheld) for read_contest in read_contests(connection)] == [
            (1, None),
            (2, 0),
        ]
        assert read_contests(connection, person=desk.ann) == []
        assert [read_contest.comment for read_contest in read_contests(connection, contest=2)] == ["1"]


def test_failures_count_all_and_good_judges(reading, desk):
    """Bob failed both documents of their gold set, so bob is not a good judge; ann is."""
    rows = gold_failures(reading, desk.campaign.gold)
    assert sum(row.judged for row in rows) == 6
    assert sum(row.wrong for row in rows) == 2
    assert sum(row.good for row in rows) == 4
    assert sum(row.good_wrong for row in rows) == 0
    assert rows[0].rate >= rows[-1].rate
    assert not any(row.suspicious for row in rows)


def test_gold_that_good_judges_fail_is_suspicious(fresh_desk):
    """Four good judges who all err on one document, and pass nonetheless, speak against it."""
    fresh_desk.person("lea", "lead")
    for n in range(4):
        fresh_desk.work(fresh_desk.person(f"j{n}"))
    gold = {pair: reference._replace(grade=1 - reference.grade) for pair, reference in fresh_desk.campaign.gold.items()}
    with fresh_desk.store.reading() as connection:
        rows = gold_failures(connection, gold)
    assert rows[0].good_wrong == rows[0].good > 0
    assert all(row.suspicious == (row.good >= 4) for row in rows)
