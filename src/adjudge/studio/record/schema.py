"""The tables of a campaign, and the conditions under which a judgment counts.

Rows are only added, never changed; the present state follows from all rows (see ``ledger``). There is one writer (see
``store``), which numbers the ids. Times are seconds since 1970 by the studio's own clock. ``relevance`` is 1, 0, or
null for "cannot tell".
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
    LargeBinary,
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

VERSION = 2
METADATA = MetaData()


def _id() -> Column[int]:
    """Return the column of ids."""
    return Column("id", Integer, primary_key=True, autoincrement=False)


def _at() -> Column[float]:
    """Return the column of times."""
    return Column("at", Float, nullable=False)


def _of(table: str, name: str | None = None, nullable: bool = True, index: bool = False) -> Column[int]:
    """Return a foreign key to a table, given in the singular, under that name or another."""
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

# Judges, reviewers and leads. `outside` is the id of a crowd platform: "prolific:5f1c".
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
# The language that a person has chosen, if it differs from the one in `people`.
languages = Table(
    "languages", METADATA, _id(), _at(), _of("person", nullable=False), Column("language", String(5), nullable=False)
)
# The last row of a person counts: new, qualified, unqualified, paused, excluded.
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

# The work that a judge takes on at once.
assignments = Table(
    "assignments",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("kind", String(13), nullable=False),  # work, qualification
    Column("token", String(32), nullable=False, unique=True),
    Column("outside", Text, nullable=False, default=""),  # its id on a crowd platform, as JSON
)
# The documents of one topic that are judged and ranked together.
sets = Table(
    "sets",
    METADATA,
    _id(),
    _of("assignment", nullable=False, index=True),
    Column("position", Integer, nullable=False),
    Column("use", String(13), nullable=False),  # work, gold, monitoring, qualification
    Column("name", Text, nullable=False, default=""),  # of a fixed set
    Column("token", String(32), nullable=False, unique=True),
)
slots = Table(
    "slots",
    METADATA,
    Column("set", ForeignKey("sets.id"), primary_key=True),
    Column("slot", Integer, primary_key=True),
    _of("item", nullable=False),
)

# Every answer that was sent; the last one of a slot counts. `key` is made by the page, so that an answer that is sent
# twice is stored once.
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
# passed, returned, expired, released (given up), approved (returned, but accepted by a lead), submitted (with a code).
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
# Accepted judgments: one per person and item.
judgments = Table(
    "judgments",
    METADATA,
    _id(),
    _at(),
    _of("item", nullable=False),
    _of("person", nullable=False),
    Column("assignment", Integer),  # null for imported judgments
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
withdrawals = Table(
    "withdrawals",
    METADATA,
    Column("invitation", ForeignKey("invitations.id"), primary_key=True),
    _at(),
    _of("person", "by"),
)
# Links by which a person sets a new password. A link is over once there is a newer link, or a newer password than the
# one in `password` (0 if there was none).
resets = Table(
    "resets",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    _of("person", "by"),
    Column("password", Integer, nullable=False),
    Column("expires", Float, nullable=False),
)
# Sessions, so that people can list and end them; `nonce` is in the signed text that the browser has.
sessions = Table(
    "sessions",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("nonce", String(32), nullable=False, unique=True),
    Column("epoch", Integer, nullable=False),
    Column("expires", Float, nullable=False),
    Column("browser", String(20), nullable=False),  # its family: Firefox, Safari ...
)
# Sessions that were ended before their time: the one with this nonce, or with an empty nonce all of the person.
endings = Table(
    "endings",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("nonce", String(32), nullable=False, default=""),
    _of("person", "by"),
)
# The second factor of a person; the last row counts. The secret follows from the salt and the campaign's key; an empty
# salt removes the factor.
factors = Table(
    "factors",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("salt", String(32), nullable=False),
    _of("person", "by"),
)
recovery_codes = Table(
    "recovery_codes", METADATA, Column("hash", String(64), primary_key=True), _of("factor", nullable=False)
)
# Codes that were used: the time step of an app's code, or the hash of a recovery code.
factor_uses = Table(
    "factor_uses",
    METADATA,
    _id(),
    _at(),
    _of("person", nullable=False),
    Column("step", Integer, nullable=False),
    Column("recovery", String(64), nullable=False, default=""),
)
# People who sign in with an OpenID Connect provider; `subject` is a hash of its issuer and their subject.
identities = Table(
    "identities", METADATA, Column("subject", String(64), primary_key=True), _at(), _of("person", nullable=False)
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
# Settings of the running campaign: the last row of a name counts ("paused": "1", "archived": "1").
switches = Table(
    "switches",
    METADATA,
    _id(),
    _at(),
    Column("name", String(40), nullable=False),
    Column("value", Text, nullable=False),
    _of("person", "by"),
)
# The files of the campaign: as the studio found them, and after every change. The files of one change have the same
# `change`, the id of its first row. `packed` is the compressed content; null for documents, which are only added.
revisions = Table(
    "revisions",
    METADATA,
    _id(),
    _at(),
    _of("person", "by"),
    Column("change", Integer, nullable=False),
    Column("source", String(8), nullable=False),  # start, desk, files (changed outside), restored
    Column("file", String(20), nullable=False),
    Column("sha256", String(64), nullable=False),
    Column("note", Text, nullable=False),  # what has changed, one line each
    Column("packed", LargeBinary),
)
# Gold that was ruled wrong and has another grade since: it grades again.
corrections = Table("corrections", METADATA, _id(), _at(), _of("item", nullable=False), _of("person", "by"))
# The random id of the campaign that the database belongs to: the last row counts (see ``attach``).
identifications = Table("identifications", METADATA, _id(), _at(), Column("campaign", String(40), nullable=False))
# Who did what. Each entry has the hash of the entry before it (see ``audit``).
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

# An archived campaign gets no rows of these tables: nobody joins, works or decides.
WORK = (people, standings, assignments, answers, finishes, judgments, contests, rulings, invitations, acceptances)


def migrate(connection: Connection, now: float, note: bool = True) -> None:
    """Bring a database of any earlier version to this one, and note that; a newer version is refused."""
    present = set(inspect(connection).get_table_names())
    have = connection.scalar(select(func.max(versions.c.version))) or 0 if versions.name in present else 0
    if have > VERSION:
        problem = f"the database has version {have}, but this adjudge knows {VERSION}: install a newer adjudge"
        raise InputError(problem, connection.engine.url.render_as_string(hide_password=True))
    for version in range(have + 1, VERSION + 1):
        MIGRATIONS[version](connection)
        if note:
            connection.execute(insert(versions), {"version": version, "at": now})
    if have == VERSION and not METADATA.tables.keys() <= present:  # made before this version was complete
        _create(connection)


def _create(connection: Connection) -> None:
    """Create the tables that are missing, with triggers that refuse to change or delete a row."""
    present = inspect(connection).get_table_names()
    METADATA.create_all(connection)
    sqlite = connection.dialect.name == "sqlite"
    if not sqlite:
        connection.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION adjudge_kept() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'rows of %% are never changed', TG_TABLE_NAME; END $$"
        )
    for table in METADATA.sorted_tables:
        if table.name in present:
            continue
        for operation in ("UPDATE", "DELETE"):
            action = (
                f"BEGIN SELECT RAISE(ABORT, 'rows of {table.name} are never changed'); END"
                if sqlite
                else "FOR EACH ROW EXECUTE FUNCTION adjudge_kept()"
            )
            name = f"{table.name}_no_{operation.lower()}"
            connection.exec_driver_sql(f'CREATE TRIGGER {name} BEFORE {operation} ON "{table.name}" {action}')


# A new version adds tables, never columns: rows of existing tables are never changed.
MIGRATIONS: dict[int, Callable[[Connection], None]] = dict.fromkeys(range(1, VERSION + 1), _create)


def excluded() -> Select[Any]:
    """Return the query of the people whose last standing is "excluded"."""
    last = select(func.max(standings.c.id)).group_by(standings.c.person)
    return select(standings.c.person).where(standings.c.id.in_(last), standings.c.standing == "excluded")


def stands() -> ColumnElement[bool]:
    """Return the condition that the judge of a judgment is not excluded."""
    return judgments.c.person.not_in(excluded())


def counts() -> ColumnElement[bool]:
    """Return the condition that a judgment counts: its judge is not excluded, and it is not "cannot tell"."""
    return stands() & judgments.c.relevance.is_not(None)
