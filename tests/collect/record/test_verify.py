import sqlite3

import pytest

from adjudge.collect.record.verify import CHECKS, wrong

FREE = "[qualification]\nrequired = false\n"


@pytest.fixture
def worked(file_crowd):
    """Return a campaign with accepted work, in a file that a test may tamper with."""
    made = file_crowd(FREE)
    for name in ("ann", "bob"):
        made.through(made.person(name))
    return made


def tampered(made, *statements):
    """Return what is found after somebody changed the file, triggers or not."""
    with sqlite3.connect(made.folder / "studio.db") as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            file.execute(statement)
    with made.store.reading() as connection:
        return wrong(connection, made.campaign)


def test_nothing_is_wrong(crowd):
    """A campaign as the studio made it has nothing wrong, on either database."""
    made = crowd(FREE)
    for name in ("ann", "bob"):
        made.through(made.person(name))
    with made.store.reading() as connection:
        assert wrong(connection, made.campaign) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE audit SET who = 'eve' WHERE id = 2", "audit log: entry 2"),
        ("DELETE FROM audit WHERE id = 3", "audit log: entry 3"),
        ("UPDATE judgments SET relevance = 1 - relevance WHERE id = 1", "its judgments are not those"),
        ("DELETE FROM judgments WHERE id = 4", "its judgments are not those"),
        ("DELETE FROM judgments WHERE assignment = 1", "the judgments that were accepted are gone"),
        ("UPDATE judgments SET item = 2, use = 'work', relevance = 1", "judged item 2 more than once"),
        ("UPDATE sets SET name = 'gold-0-0', use = 'gold'", "was given the set gold-0-0 more than once"),
    ],
)
def test_tampering_shows(worked, statement, told):
    """Whatever is changed in the file is found and named."""
    found = tampered(worked, "DROP INDEX judgments_once", statement)
    assert any(told in sentence for sentence in found), found


def test_items_beyond_what_was_asked_show(worked):
    """An item with more judgments than redundancy is named."""
    extra = "INSERT INTO judgments SELECT id + 1000, at, item, person + 10, NULL, 'work', 1, 1, 9, '' FROM judgments"
    found = tampered(worked, extra, extra.replace("1000", "9000").replace("+ 10", "+ 20"))
    assert any("judgments, 3 were asked for" in sentence for sentence in found), found


def test_every_check_has_a_name():
    """The command prints what was looked for."""
    assert len(CHECKS) == 6
    assert all(name and check.__doc__ for name, check in CHECKS.items())
