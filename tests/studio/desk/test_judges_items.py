"""What the desk shows of items."""

import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.imports import Given
from adjudge.studio.desk.judges import said_of, splits

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_splits_are_where_judges_disagree(desk):
    """Ann said relevant; two others say no of one item, one cannot tell, and of another all agree."""
    first = next(one for one in desk.first.sets if one.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    _, agreed = desk.store.ledger.items.pairs[first.items[1]]
    given = [Given(n, topic, document, f"j{n}", said) for n, said in enumerate((0, 0, None))]
    desk.do(lead.import_judgments, None, [*given, Given(9, topic, agreed, "j0", 1)], {}, "a.csv")
    with desk.store.reading() as connection:
        (split,) = splits(connection)
        said = said_of(connection, split.item)
    assert split == (first.items[0], topic, document, 1, 2, 1)
    assert [(one.judge, one.relevance, one.use) for one in said] == [
        ("ann", 1, "work"),
        ("j0", 0, "imported"),
        ("j1", 0, "imported"),
        ("j2", None, "imported"),
    ]


def test_no_splits_where_all_agree(reading):
    """One judge alone cannot disagree, and an item that nobody judged has nothing said of it."""
    assert splits(reading) == []
    assert said_of(reading, 999) == []


def test_excluded_judges_split_nothing(desk):
    """What they said is set aside."""
    first = next(one for one in desk.first.sets if one.use == "work")
    topic, document = desk.store.ledger.items.pairs[first.items[0]]
    desk.do(lead.import_judgments, None, [Given(1, topic, document, "zoe", 0)], {}, "a.csv")
    zoe = desk.store.ledger.named["zoe"]
    with desk.store.reading() as connection:
        assert len(splits(connection)) == 1
    desk.do(lead.change_standing, desk.lead, zoe, "excluded", "copies")
    with desk.store.reading() as connection:
        assert splits(connection) == []
