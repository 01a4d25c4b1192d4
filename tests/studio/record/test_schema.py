import json

import pytest
import sqlalchemy
from sqlalchemy import func, insert, select
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.backups import back_up, restore
from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import read_past
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import Link, find_faults, next_entry
from adjudge.studio.record.revisions import list_changes
from adjudge.studio.record.schema import counts, excluded, judgments, stands
from adjudge.studio.record.store import Change
from adjudge.studio.studio import open_store, reading_campaign


@pytest.fixture
def empty(tmp_path):
    """Return a connection to a database without tables."""
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'x.db'}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def test_every_version_has_a_migration():
    """Whoever adds a version says how to come to it."""
    assert sorted(s.MIGRATIONS) == list(range(1, s.VERSION + 1))


def test_migrating_twice_is_once(empty):
    """A database that is up to date is left alone."""
    for _ in range(2):
        s.migrate(empty, 7.0)
    assert [tuple(row) for row in empty.execute(select(s.versions))] == [(n, 7.0) for n in range(1, s.VERSION + 1)]
    assert set(s.METADATA.tables) <= set(sqlalchemy.inspect(empty).get_table_names())


def test_an_older_database_is_brought_up(empty, monkeypatch):
    """Only what is missing is done, in order."""
    s.migrate(empty, 1.0)
    done = []
    monkeypatch.setattr(s, "VERSION", s.VERSION + 2)
    for version in (s.VERSION - 1, s.VERSION):
        monkeypatch.setitem(s.MIGRATIONS, version, lambda connection, version=version: done.append(version))
    s.migrate(empty, 2.0)
    assert done == [s.VERSION - 1, s.VERSION]
    assert empty.scalar(select(sqlalchemy.func.max(s.versions.c.version))) == s.VERSION


def test_a_missing_table_is_added_with_its_triggers(empty):
    """A database of an earlier version gets the tables it lacks, and their rows cannot be changed either."""
    s.migrate(empty, 1.0)
    s.switches.drop(empty)
    s.MIGRATIONS[s.VERSION](empty)
    empty.execute(insert(s.switches), {"id": 1, "at": 1.0, "name": "paused", "value": "1"})
    with pytest.raises(sqlalchemy.exc.IntegrityError, match="rows of switches are never changed"):
        empty.execute(sqlalchemy.delete(s.switches))


def test_a_person_judges_an_item_once(empty):
    """The database itself refuses a second judgment of an item by one person."""
    s.migrate(empty, 1.0)
    row = {"id": 1, "at": 1.0, "item": 1, "person": 1, "assignment": None, "use": "work", "relevance": 1}
    empty.execute(insert(s.judgments), row)
    with pytest.raises(sqlalchemy.exc.IntegrityError):
        empty.execute(insert(s.judgments), row | {"id": 2})


def counted(desk):
    """Return how many judgments stand, how many count, and who is excluded."""
    with desk.store.reading() as connection:
        many = [
            connection.scalar(select(func.count()).select_from(judgments).where(entry())) for entry in (stands, counts)
        ]
        return *many, list(connection.scalars(excluded()))


def test_excluded_judges_and_open_answers_do_not_count(desk):
    """Until the judge is reinstated; what cannot tell stands, and counts for nothing."""
    desk.do(import_judgments, None, [ImportedJudgment(1, "oak", "oak-5", "zoe", None)], {}, "a")
    assert counted(desk) == (13, 12, [])
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    assert counted(desk) == (1, 0, [desk.ann])
    with desk.store.reading() as connection:
        past = read_past(connection, desk.ann)
    desk.do(lead.reinstate, desk.lead, desk.ann, past)
    assert counted(desk) == (13, 12, [])


VERSION_1 = {
    *(
        "versions",
        "items",
        "people",
        "passwords",
        "languages",
        "standings",
        "assignments",
        "sets",
        "slots",
        "answers",
        "finishes",
    ),
    *("outcomes", "judgments", "contests", "rulings", "invitations", "acceptances", "tokens", "revocations"),
    *("switches", "audit"),
}  # tables of the first released version


def brought_back(created):
    """Make a closed campaign one of version 1: its tables alone, without a seal, with the entries of that time."""
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.begin() as connection:
        if engine.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER audit_no_delete")
            connection.exec_driver_sql("DROP TRIGGER versions_no_delete")
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
        new = [table for table in reversed(s.METADATA.sorted_tables) if table.name not in VERSION_1]
        for table in new:
            table.drop(connection)
        entries = [dict(row) for row in connection.execute(select(s.audit).order_by(s.audit.c.id)).mappings()]
        connection.execute(sqlalchemy.delete(s.audit))
        connection.execute(sqlalchemy.delete(s.versions).where(s.versions.c.version > 1))
        last = Link()
        for entry in entries:
            if entry["what"] not in ("campaign identified", "rows sealed"):
                row = next_entry(last, entry["at"], entry["who"], entry["what"], json.loads(entry["detail"]))
                connection.execute(insert(s.audit), row)
                last = Link(row["id"], row["hash"])
    engine.dispose()
    (created.folder / "seal.json").unlink()
    return new


def test_a_campaign_of_version_1_is_migrated_verified_and_served(crowd):
    """A record with work gets the new tables once, belongs to its folder from then on, and goes on."""
    created = crowd("[qualification]\nrequired = false\n")
    created.through(created.person("ann"))
    judged = created.store.ledger.items.judged.tolist()
    created.store.close()
    assert brought_back(created)
    with reading_campaign(created.folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []  # it can be verified before it is brought up to date
    message = r"lacks a table .*revisions.*: if it is of an earlier version, back it up"
    with pytest.raises(InputError, match=message), reading_campaign(created.folder) as (_, connection):
        list_changes(connection)
    store = open_store(created.campaign)
    assert store.notes == ()
    assert store.ledger.items.judged.tolist() == judged
    store.close()
    with reading_campaign(created.folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []
        assert list(connection.scalars(select(s.versions.c.version).order_by(s.versions.c.version))) == [1, s.VERSION]
        assert connection.scalar(select(func.count()).select_from(s.identifications)) == 1
    again = open_store(created.campaign)
    assert again.notes == ()
    again.do(lambda ledger, now: Change(audit=("test", "something", {})))
    with pytest.raises(sqlalchemy.exc.DBAPIError, match="never changed"), again._writer.begin() as connection:
        connection.execute(sqlalchemy.update(s.identifications).values(campaign="x"))
    again.close()
    with reading_campaign(created.folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []


def test_a_backup_of_version_1_can_be_made_and_restored(crowd, tmp_path, monkeypatch):
    """Before it was ever opened by this version."""
    created = crowd("[qualification]\nrequired = false\n")
    created.through(created.person("ann"))
    created.store.close()
    brought_back(created)
    with reading_campaign(created.folder) as (campaign, connection):
        back_up(connection, campaign, tmp_path / "old.zip")
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")
    restore(tmp_path / "old.zip", tmp_path / "again")
    with reading_campaign(tmp_path / "again") as (campaign, connection):
        assert find_faults(connection, campaign) == []
