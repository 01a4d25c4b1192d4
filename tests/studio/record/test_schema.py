import pytest
import sqlalchemy
from sqlalchemy import func, insert, select

from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import read_past
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record import schema as s
from adjudge.studio.record.schema import counts, excluded, judgments, stands


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
