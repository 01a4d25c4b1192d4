import sqlite3

import pytest

from adjudge.studio.desk.decisions import change_standing
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record.audit import CHECKS, Link, entry_hash, find_faults, first_broken_entry, next_entry
from adjudge.studio.work.commands import submit


def chain(length):
    """Return a chain of entries."""
    last, rows = Link(), []
    for n in range(length):
        rows.append(next_entry(last, float(n), "ann", f"deed {n}", {"n": n, "ü": "ß"}))
        last = Link(rows[-1]["id"], rows[-1]["hash"])
    return rows


def test_a_chain_holds():
    """Entries as they were written follow from one another."""
    assert first_broken_entry(chain(5)) is None
    assert first_broken_entry([]) is None


@pytest.mark.parametrize("field", ["at", "who", "what", "detail"])
def test_a_changed_entry_shows(field):
    """Whatever is changed in an entry, that entry no longer fits."""
    rows = chain(5)
    rows[2] = {**rows[2], field: 99.0 if field == "at" else "{}"}
    assert first_broken_entry(rows) == 3


def test_a_changed_entry_with_its_hash_shows_in_the_next():
    """After a change of one hash, all later ones must be computed again."""
    rows = chain(5)
    rows[2] = {**rows[2], "who": "eve"}
    rows[2]["hash"] = entry_hash(rows[2])
    assert first_broken_entry(rows) == 4


def test_a_missing_entry_shows():
    """An entry that was taken away leaves a gap, even the first."""
    rows = chain(5)
    assert first_broken_entry(rows[:2] + rows[3:]) == 3
    assert first_broken_entry(rows[1:]) == 1


FREE = "[qualification]\nrequired = false\n"


@pytest.fixture
def worked(file_crowd):
    """Return a campaign with accepted work, in a file that a test may tamper with."""
    created = file_crowd(FREE)
    people = [created.person(name) for name in ("ann", "bob", "cid", "dan")]
    lea = created.person("lea", "lead")
    stored = [created.through(who, right=n != 2) for n, who in enumerate(people[:3])]
    created.do(submit, people[0], stored[0].token)
    created.open_work(people[3])
    created.do(change_standing, lea, people[3], "excluded", "copies")
    created.do(
        import_judgments, lea, [ImportedJudgment(1, "t0", f"d0-{n}", "a model", 1) for n in range(3)], {}, "a.csv"
    )
    return created


def tampered(made, *statements):
    """Return what is found after somebody changed the file, triggers or not."""
    with sqlite3.connect(made.folder / "studio.db") as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            file.execute(statement)
    with made.store.reading() as connection:
        return find_faults(connection, made.campaign)


def test_nothing_is_wrong(crowd):
    """A campaign as the studio made it has nothing wrong, on either database."""
    created = crowd(FREE)
    for name in ("ann", "bob"):
        created.through(created.person(name))
    with created.store.reading() as connection:
        assert find_faults(connection, created.campaign) == []


def test_all_that_was_done_is_vouched_for(worked):
    """Work passed, returned, submitted and taken back, and an import: nothing is wrong."""
    with worked.store.reading() as connection:
        assert find_faults(connection, worked.campaign) == []


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE audit SET who = 'eve' WHERE id = 2", "audit log: entry 2"),
        ("DELETE FROM audit WHERE id = 3", "audit log: entry 3"),
        ("UPDATE judgments SET relevance = 1 - relevance WHERE id = 1", "its judgments are not those"),
        ("DELETE FROM judgments WHERE id = 4", "its judgments are not those"),
        ("DELETE FROM judgments WHERE assignment = 1", "the judgments that were accepted are missing"),
        (
            "UPDATE outcomes SET outcome = 'passed' WHERE assignment = 3",
            "the audit log has no entry for the outcome passed",
        ),
        ("UPDATE outcomes SET outcome = 'approved' WHERE assignment = 3", "the outcome returned is missing"),
        ("UPDATE outcomes SET failed = '' WHERE assignment = 3", "the failed criteria are not those in the audit log"),
        ("UPDATE outcomes SET code = 'ABCD' WHERE outcome = 'passed'", "its completion code is not the one"),
        ("UPDATE outcomes SET code = 'AAAA' WHERE outcome = 'submitted'", "assignment 1: its completion code is not"),
        ("DELETE FROM outcomes WHERE outcome = 'submitted'", "assignment 1: the outcome submitted is missing"),
        ("DELETE FROM outcomes WHERE outcome = 'released'", "assignment 4: the outcome released is missing"),
        ("UPDATE judgments SET relevance = 0 WHERE use = 'imported'", "import of judgments 61 to 63: its judgments"),
        ("DELETE FROM judgments WHERE use = 'imported'", "the judgments that were accepted are missing"),
        (
            "INSERT INTO judgments SELECT id + 99, at, item, person + 9, NULL, 'imported', 1, 1, 9, '' FROM judgments",
            "judgment 100: its judgments are not those that were accepted",
        ),
        ("UPDATE judgments SET item = 2, use = 'work', relevance = 1", "judged item 2 more than once"),
        ("UPDATE sets SET name = 'gold-0-0', use = 'gold'", "was given the set gold-0-0 more than once"),
    ],
)
def test_tampering_shows(worked, statement, told):
    """Whatever is changed in the file is found and named."""
    result = tampered(worked, "DROP INDEX judgments_once", statement)
    assert any(told in sentence for sentence in result), result


def test_items_beyond_what_was_asked_show(worked):
    """An item with more judgments than redundancy is named."""
    extra = "INSERT INTO judgments SELECT id + 1000, at, item, person + 10, NULL, 'work', 1, 1, 9, '' FROM judgments"
    result = tampered(worked, extra, extra.replace("1000", "9000").replace("+ 10", "+ 20"))
    assert any("judgments, but the settings ask for 3" in sentence for sentence in result), result


def test_every_check_has_a_name():
    """The command prints what was looked for."""
    assert len(CHECKS) == 10
    assert all(name and check.__doc__ for name, check in CHECKS.items())
