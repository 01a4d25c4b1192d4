"""Contests, failure rates of gold, and decisions on what was read from the tables."""

import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.gold import check_unchanged, gold_failures, last_rows, read_contests, read_past, read_work
from adjudge.studio.record import schema
from adjudge.studio.records import Refused
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def gold_set(held):
    """Return the gold set of an assignment."""
    return next(one for one in held.sets if one.use == "gold")


def test_contests_say_what_the_judge_said(desk):
    """The document, the answer, the words, and that nobody has ruled yet."""
    one = gold_set(desk.returned)
    desk.do(commands.contest, desk.bob, one.token, 1, "it is about oaks")
    with desk.store.reading() as connection:
        (told,) = read_contests(connection)
    pair = desk.store.ledger.items.pairs[one.items[1]]
    assert (told.judge, told.topic, told.document, told.comment) == ("bob", *pair, "it is about oaks")
    assert told.relevance == one.answers[1].relevance
    assert (told.outcome, told.upheld) == ("returned", None)


def test_contests_to_rule_on_come_first(desk):
    """Ruled ones after them, and those of one judge can be asked for."""
    one = gold_set(desk.returned)
    for slot in (0, 1):
        desk.do(commands.contest, desk.bob, one.token, slot, str(slot))
    with desk.store.reading() as connection:
        desk.do(lead.rule, desk.lead, 2, False, "no", read_work(connection, desk.returned.id))
    with desk.store.reading() as connection:
        assert [(told.id, told.upheld) for told in read_contests(connection)] == [(1, None), (2, 0)]
        assert read_contests(connection, person=desk.ann) == []
        assert [told.comment for told in read_contests(connection, contest=2)] == ["1"]


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
    gold = {pair: known._replace(grade=1 - known.grade) for pair, known in fresh_desk.campaign.gold.items()}
    with fresh_desk.store.reading() as connection:
        rows = gold_failures(connection, gold)
    assert rows[0].good_wrong == rows[0].good > 0
    assert all(row.suspicious == (row.good >= 4) for row in rows)


def test_work_is_read_as_the_ledger_had_it(reading, desk):
    """Sets in order with items, answers and times: the same record as the one in memory."""
    work = read_work(reading, desk.returned.id)
    for read, held in zip(work.assignment.sets, desk.returned.sets, strict=True):
        assert (read.id, read.use, read.items, read.answers) == (held.id, held.use, held.items, held.answers)
        assert read.finished == held.finished
    assert work.assignment.outcome == "returned"
    assert work.judged == work.upheld == frozenset()
    assert read_work(reading, 999) is None
    assert len(read_work(reading, desk.first.id).judged) == 12


def test_what_was_read_holds_until_its_tables_grow(desk):
    """Other tables do not matter."""
    with desk.store.reading() as connection:
        seen = last_rows(connection, schema.standings, schema.rulings)
    desk.work(desk.ann)
    check_unchanged(desk.store.ledger, seen)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    with pytest.raises(Refused, match="try again"):
        check_unchanged(desk.store.ledger, seen)


def test_the_past_says_who_stopped_a_judge(desk):
    """Nobody yet; the lead; the studio itself, after three returns."""
    with desk.store.reading() as connection:
        assert read_past(connection, desk.ann)[:2] == ("new", False)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    for _ in range(2):
        desk.work(desk.bob, seconds=3.0)
    with desk.store.reading() as connection:
        assert read_past(connection, desk.ann)[:2] == ("new", False)
        assert read_past(connection, desk.bob)[:2] == ("new", True)
