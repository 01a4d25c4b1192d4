"""The tables of a campaign. Rows are only ever added: what is so now is what its rows add up to.

Who may write is one (see ``store``), so ids are numbered by the writer. Times are seconds since 1970 by the studio's
own clock. ``relevance`` is 1, 0, or null where the judge cannot tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    insert,
    inspect,
    select,
)

from adjudge.errors import InputError

VERSION = 1
METADATA = MetaData()


def _id() -> Column[int]:
    """Return the column that numbers rows."""
    return Column("id", Integer, primary_key=True, autoincrement=False)


def _at() -> Column[float]:
    """Return the column that says when."""
    return Column("at", Float, nullable=False)


def _of(table: str, name: str | None = None, nullable: bool = True, index: bool = False) -> Column[int]:
    """Return a column that points at a row of another table, under the name of what it points at or another."""
    plural = "people" if table == "person" else f"{table}s"
    return Column(name or table, ForeignKey(f"{plural}.id"), nullable=nullable, index=index)


versions = Table("versions", METADATA, Column("version", Integer, primary_key=True), _at())

# A topic and a document to judge together.
items = Table(
    "items",
    METADATA,
    _id(),
    Column("topic", Text, nullable=False),
    Column("document", Text, nullable=False),
    UniqueConstraint("topic", "document"),
)

# Judges, reviewers and leads. `outside` is who a crowd's platform says it is: "prolific:5f1c".
people = Table(
    "people",
    METADATA,
    _id(),
    _at(),
    Column("name", Text, nullable=False, unique=True),
    Column("role", String(10), nullable=False),  # lead, reviewer, judge
    Column("outside", Text, unique=True),
    Column("language", String(5), nullable=False, default="en"),
)
passwords = Table(
    "passwords", METADATA, _id(), _at(), _of("person", nullable=False), Column("hash", Text, nullable=False)
)
# The language a person reads, where it is no longer the one they came with.
languages = Table(
    "languages", METADATA, _id(), _at(), _of("person", nullable=False), Column("language", String(5), nullable=False)
)
# What a person may do now is the last row: new, qualified, unqualified, paused, excluded.
standings = Table(
    "standings",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("standing", String(12), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    _of("person", "by"),
)

# What one judge takes on at once.
assignments = Table(
    "assignments",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("kind", String(13), nullable=False),  # work, qualification
    Column("token", String(32), nullable=False, unique=True),
    Column("outside", Text, nullable=False, default=""),  # what a crowd's platform calls it, as JSON
)
# The documents of one topic that are judged and ranked together.
sets = Table(
    "sets",
    METADATA,
    _id(),
    _of("assignment", nullable=False, index=True),
    Column("position", Integer, nullable=False),
    Column("use", String(13), nullable=False),  # work, gold, monitoring, qualification
    Column("name", Text, nullable=False, default=""),  # of a set that the campaign's files fix
    Column("token", String(32), nullable=False, unique=True),
)
slots = Table(
    "slots",
    METADATA,
    Column("set", ForeignKey("sets.id"), primary_key=True),
    Column("slot", Integer, primary_key=True),
    _of("item", nullable=False),
)

# Every answer as it came; the last one of a slot counts. `key` is the page's own, so that what is sent twice is one.
answers = Table(
    "answers",
    METADATA,
    _id(),
    _at(),
    Column("set", Integer, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("key", String(40), nullable=False),
    Column("relevance", Integer),
    Column("told", Integer, nullable=False),  # 1 once relevance, or "cannot tell", is chosen
    Column("rank", Integer),
    Column("seconds", Float, nullable=False),  # active time, as the page counts it
    Column("comment", Text, nullable=False, default=""),
    Index("answers_key", "set", "key", unique=True),
)
finishes = Table("finishes", METADATA, Column("set", ForeignKey("sets.id"), primary_key=True), _at())
# passed, returned, expired, released (given up), approved (returned, but taken all the same), submitted (has its code).
outcomes = Table(
    "outcomes",
    METADATA,
    _id(),
    _at(),
    _of("assignment", nullable=False, index=True),
    Column("outcome", String(9), nullable=False),
    Column("binary", Float),
    Column("ndcg", Float),
    Column("fastest", Float),  # seconds
    Column("failed", Text, nullable=False, default=""),  # criteria, separated by blanks
    Column("code", Text, nullable=False, default=""),
    _of("person", "by"),
)
# What was accepted: an item is judged by a person once.
judgments = Table(
    "judgments",
    METADATA,
    _id(),
    _at(),
    _of("item", nullable=False),
    _of("person", nullable=False),
    Column("assignment", Integer),  # null of judgments made elsewhere
    Column("use", String(13), nullable=False),  # work, gold, monitoring, imported
    Column("relevance", Integer),
    Column("rank", Integer),
    Column("seconds", Float),
    Column("comment", Text, nullable=False, default=""),
    Index("judgments_once", "person", "item", unique=True),
)

contests = Table(
    "contests",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("set", Integer, nullable=False),
    Column("slot", Integer, nullable=False),
    _of("item", nullable=False),
    Column("comment", Text, nullable=False),
)
rulings = Table(
    "rulings",
    METADATA,
    _id(),
    _at(),
    _of("contest", nullable=False),
    Column("upheld", Integer, nullable=False),  # 1: the judge is right, gold is wrong
    Column("reason", Text, nullable=False, default=""),
    _of("person", "by"),
)

invitations = Table(
    "invitations",
    METADATA,
    _id(),
    _at(),
    _of("person", "by"),
    Column("role", String(10), nullable=False),
    Column("name", Text, nullable=False, default=""),
    Column("expires", Float, nullable=False),
)
acceptances = Table(
    "acceptances",
    METADATA,
    Column("invitation", ForeignKey("invitations.id"), primary_key=True),
    _at(),
    _of("person", nullable=False),
)
tokens = Table(
    "tokens",
    METADATA,
    _id(),
    _at(),
    _of("person", "by"),
    Column("name", Text, nullable=False),
    Column("scope", Text, nullable=False),  # words separated by blanks
    Column("hash", String(64), nullable=False, unique=True),
)
revocations = Table(
    "revocations", METADATA, Column("token", ForeignKey("tokens.id"), primary_key=True), _at(), _of("person", "by")
)
# Settings of the running campaign: the last row of a name counts ("paused": "1").
switches = Table(
    "switches",
    METADATA,
    _id(),
    _at(),
    Column("name", String(40), nullable=False),
    Column("value", Text, nullable=False),
    _of("person", "by"),
)
# Who did what. Each entry carries the hash of the one before it (see ``chain``).
audit = Table(
    "audit",
    METADATA,
    _id(),
    _at(),
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", Text, nullable=False),  # JSON
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)


def migrate(connection: Connection, now: float, note: bool = True) -> None:
    """Bring a database to this version, whatever version it has, and note that; one from the future is refused."""
    present = versions.name in inspect(connection).get_table_names()
    have = connection.scalar(select(func.max(versions.c.version))) or 0 if present else 0
    if have > VERSION:
        what = f"the database has version {have}, this adjudge knows {VERSION}: install a newer adjudge"
        raise InputError(what, connection.engine.url.render_as_string(hide_password=True))
    for version in range(have + 1, VERSION + 1):
        MIGRATIONS[version](connection)
        if note:
            connection.execute(insert(versions), {"version": version, "at": now})


def _create(connection: Connection) -> None:
    """Make all tables, and have the database itself refuse that a row is changed or taken away."""
    METADATA.create_all(connection)
    sqlite = connection.dialect.name == "sqlite"
    if not sqlite:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION adjudge_kept() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'rows of %% are never changed', TG_TABLE_NAME; END $$"
        )
    for table in METADATA.sorted_tables:
        for deed in ("UPDATE", "DELETE"):
            done = (
                f"BEGIN SELECT RAISE(ABORT, 'rows of {table.name} are never changed'); END"
                if sqlite
                else "FOR EACH ROW EXECUTE FUNCTION adjudge_kept()"
            )
            name = f"{table.name}_no_{deed.lower()}"
            connection.exec_driver_sql(f'CREATE TRIGGER {name} BEFORE {deed} ON "{table.name}" {done}')


MIGRATIONS: dict[int, Callable[[Connection], None]] = {1: _create}


# Which judgments count, in one place: not those of excluded judges, nor answers that cannot tell.


def excluded() -> Select[Any]:
    """Return the query of the people whose last standing is that they are excluded."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings.c.person).where(standings.c.id.in_(last), standings.c.standing == "excluded")


def stands() -> ColumnElement[bool]:
    """Return the condition that a judgment was not set aside with its judge."""
    return judgments.c.person.not_in(excluded())


def counts() -> ColumnElement[bool]:
    """Return the condition that a judgment counts: it stands, and says relevant or irrelevant."""
    return stands() & judgments.c.relevance.is_not(None)
