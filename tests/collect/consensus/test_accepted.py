"""The judgments that count, as they are read from the tables."""

import pytest
from sqlalchemy import create_engine, insert

from adjudge.collect.consensus.accepted import accepted, mark
from adjudge.collect.record import schema
from adjudge.collect.records import Gold

ITEMS = [("t", "d1"), ("t", "d2"), ("u", "d1")]
GOLD = {("t", "d1"): Gold(2, "it says so"), ("u", "d1"): Gold(0, "it does not"), ("u", "else"): Gold(1, "not in use")}


@pytest.fixture
def connection():
    """Return a database with two people and three items, nothing judged."""
    with create_engine("sqlite://").connect() as found:
        schema.METADATA.create_all(found)
        found.execute(insert(schema.items), [{"id": n, "topic": t, "document": d} for n, (t, d) in enumerate(ITEMS, 1)])
        rows = [{"id": n, "at": 0.0, "name": name, "role": "judge"} for n, name in ((1, "ann"), (2, "bob"))]
        found.execute(insert(schema.people), rows)
        yield found


def judge(connection, number, item, person, relevance, use="work"):
    """Add a judgment."""
    row = {"id": number, "at": 10.0 + number, "item": item, "person": person, "relevance": relevance, "use": use}
    connection.execute(insert(schema.judgments).values(comment="", **row))


def stand(connection, number, person, standing):
    """Add a standing."""
    row = {"id": number, "at": 0.0, "person": person, "standing": standing, "reason": ""}
    connection.execute(insert(schema.standings).values(**row))


def test_judgments_come_with_names_pairs_and_gold(connection):
    """By their numbers in the tables; gold is of the items there are, relevant from grade 1 on."""
    judge(connection, 1, 2, 1, 1)
    judge(connection, 2, 2, 2, 0, "imported")
    found = accepted(connection, GOLD)
    assert found.item.tolist() == [2, 2]
    assert found.person.tolist() == [1, 2]
    assert found.relevance.tolist() == [1, 0]
    assert found.at.tolist() == [11.0, 12.0]
    assert found.items == 3
    assert found.names == {1: "ann", 2: "bob"}
    assert found.gold == {1: 1, 3: 0}
    assert found.pairs[3] == ("u", "d1")


def test_answers_that_cannot_tell_and_people_who_are_excluded_do_not_count(connection):
    """By the last standing: who is let in again counts again."""
    judge(connection, 1, 1, 1, None)
    judge(connection, 2, 2, 1, 1)
    judge(connection, 3, 2, 2, 1)
    stand(connection, 1, 1, "excluded")
    stand(connection, 2, 2, "excluded")
    stand(connection, 3, 2, "qualified")
    assert accepted(connection, GOLD).person.tolist() == [2]


def test_gold_that_was_ruled_to_be_wrong_does_not_stand(connection):
    """And gold whose contest was turned down does."""
    connection.execute(insert(schema.assignments).values(id=1, at=0, person=1, kind="work", token="a", outside=""))
    connection.execute(
        insert(schema.sets).values(id=1, assignment=1, position=0, use="gold", name="g", token="s"),
    )
    connection.execute(insert(schema.slots), [{"set": 1, "slot": 0, "item": 1}, {"set": 1, "slot": 1, "item": 3}])
    for number, slot, item, upheld in ((1, 0, 1, 1), (2, 1, 3, 0)):
        told = {"id": number, "at": 0, "person": 1, "set": 1, "slot": slot, "item": item, "comment": ""}
        connection.execute(insert(schema.contests).values(told))
        connection.execute(insert(schema.rulings).values(id=number, at=0, contest=number, upheld=upheld, reason=""))
    assert accepted(connection, GOLD).gold == {3: 0}


def test_an_empty_database_has_nothing(connection):
    """Columns of no rows, with gold."""
    found = accepted(connection, GOLD)
    assert [len(found.item), len(found.person), len(found.relevance), len(found.at)] == [0, 0, 0, 0]


def test_the_mark_changes_with_whatever_the_consensus_learns_from(connection):
    """A judgment, a standing, another grade; and with nothing else."""
    marks = [mark(connection, GOLD)]
    judge(connection, 1, 1, 1, 1)
    marks.append(mark(connection, GOLD))
    stand(connection, 1, 1, "excluded")
    marks.append(mark(connection, GOLD))
    marks.append(mark(connection, {**GOLD, ("t", "d1"): Gold(1, "it says so")}))
    assert len(set(marks)) == 4
    assert mark(connection, {**GOLD, ("t", "d1"): Gold(2, "other words")}) == marks[2]
