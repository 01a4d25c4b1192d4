"""Judges and items as the desk lists them."""

import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk import judges as desk_judges
from adjudge.studio.desk.gold import read_work
from adjudge.studio.desk.import_files import ImportedJudgment
from adjudge.studio.desk.imports import import_judgments
from adjudge.studio.desk.judges import list_judgments, list_splits
from adjudge.studio.desk.overview import gate_rates
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_judges_have_a_row_each(reading, desk):
    """What they judged, how it was graded, what it failed."""
    rows = {row.name: row for row in desk_judges.list_judges(reading)}
    assert list(rows) == ["ann", "bob", "cid"]
    assert (rows["ann"].judgments, rows["ann"].passed, rows["ann"].returned) == (12, 2, 0)
    assert rows["ann"].seconds == pytest.approx(10)
    assert (rows["bob"].judgments, rows["bob"].returned, rows["bob"].failed) == (0, 1, (1, 0, 1))
    assert rows["cid"].pass_rate is None
    assert [row.name for row in desk_judges.list_judges(reading, desk.lead)] == ["lea"]


def test_judges_show_where_they_stand(desk):
    """The last standing and its reason; someone without any is new."""
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "on leave")
    with desk.store.reading() as connection:
        rows = {row.name: row for row in desk_judges.list_judges(connection)}
    assert (rows["ann"].standing, rows["ann"].reason) == ("paused", "on leave")
    assert rows["cid"].standing == "new"


def test_judges_are_told_apart_by_approval_and_contests(desk):
    """An approved assignment is no longer a returned one, and an upheld contest is counted."""
    gold = next(one for one in desk.returned.sets if one.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "it is right")
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(lead.rule, desk.lead, 1, True, "", work)
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(lead.approve, desk.lead, "", work)
    with desk.store.reading() as connection:
        (bob,) = desk_judges.list_judges(connection, desk.bob)
        rates = gate_rates(connection, "work", desk.bob)
    assert (bob.passed, bob.returned, bob.contests, bob.upheld) == (1, 0, 1, 1)
    assert bob.pass_rate == rates.pass_rate == 1.0  # the overview counts as the judge's page does


def test_assigned_keeps_the_scores_of_the_grading(desk):
    """A later outcome, such as being submitted, takes nothing away from them."""
    desk.do(commands.submit, desk.ann, desk.second.token)
    with desk.store.reading() as connection:
        newest, oldest = desk_judges.list_assignments(connection, desk.ann)
        (returned,) = desk_judges.list_assignments(connection, desk.bob)
        (out,) = desk_judges.list_assignments(connection, desk.cid)
    assert (newest.id, newest.outcome, newest.binary) == (desk.second.id, "submitted", 1.0)
    assert newest.code != ""
    assert oldest.outcome == "passed"
    assert (returned.failed, returned.fastest) == (("binary", "time"), 3.0)
    assert (out.outcome, out.ended) == ("", None)


def test_splits_are_where_judges_disagree(desk):
    """Ann said relevant; two others say no of one item, one cannot tell, and of another all agree."""
    first = next(one for one in desk.first.sets if one.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    _, agreed = desk.store.ledger.items.pairs[first.items[1]]
    given = [ImportedJudgment(n, topic, document, f"j{n}", said) for n, said in enumerate((0, 0, None))]
    desk.do(import_judgments, None, [*given, ImportedJudgment(9, topic, agreed, "j0", 1)], {}, "a.csv")
    with desk.store.reading() as connection:
        (split,) = list_splits(connection)
        said = list_judgments(connection, split.item)
    assert split == (first.items[0], topic, document, 1, 2, 1)
    assert [(one.judge, one.relevance, one.use) for one in said] == [
        ("ann", 1, "work"),
        ("j0", 0, "imported"),
        ("j1", 0, "imported"),
        ("j2", None, "imported"),
    ]


def test_no_splits_where_all_agree(reading):
    """One judge alone cannot disagree, and an item that nobody judged has nothing said of it."""
    assert list_splits(reading) == []
    assert list_judgments(reading, 999) == []


def test_excluded_judges_split_nothing(desk):
    """What they said is set aside."""
    first = next(one for one in desk.first.sets if one.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    desk.do(import_judgments, None, [ImportedJudgment(1, topic, document, "zoe", 0)], {}, "a.csv")
    zoe = desk.store.ledger.named["zoe"]
    with desk.store.reading() as connection:
        assert len(list_splits(connection)) == 1
    desk.do(lead.change_standing, desk.lead, zoe, "excluded", "copies")
    with desk.store.reading() as connection:
        assert list_splits(connection) == []
