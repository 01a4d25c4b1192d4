import pytest
import sqlalchemy
from sqlalchemy import insert, select

from adjudge.collect.record import schema as s


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


def test_a_person_judges_an_item_once(empty):
    """The database itself refuses a second judgment of an item by one person."""
    s.migrate(empty, 1.0)
    row = {"id": 1, "at": 1.0, "item": 1, "person": 1, "assignment": None, "use": "work", "relevance": 1}
    empty.execute(insert(s.judgments), row)
    with pytest.raises(sqlalchemy.exc.IntegrityError):
        empty.execute(insert(s.judgments), row | {"id": 2})
