"""Where rows are kept: SQLite in one file, or PostgreSQL by its URL; one writer, who commits in groups.

A command decides (``command(ledger, now, ...) -> Change``), its rows are folded into the ledger, and the rows of all
commands that wait are written in one transaction. Only after its commit are they answered, so that what was
acknowledged is on the disk. A commit that fails answers all of them with 503, and the ledger is folded anew from
what the disk holds.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert, make_url
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.record import schema
from adjudge.studio.record.audit import linked
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.records import Unsaved

# The studio's clock: it never goes back, and does not follow when the machine's clock is set.


def _steady() -> float:
    """Return seconds of a clock that nobody sets, which goes on while the machine sleeps where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """Seconds since 1970 as they were at the start, and from then on by a clock that nobody sets.

    Leases and active times would all be wrong after a jump of the machine's clock. ``not_before`` is the last time
    on record: a machine that wakes up in the past goes on from there.
    """

    def __init__(
        self,
        not_before: float = 0.0,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = _steady,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._offset = max(wall(), not_before) - steady()

    def __call__(self) -> float:
        """Return the time."""
        return self._offset + self._steady()

    def jumped(self) -> float:
        """Return how far the machine's clock has since moved away from this one, in seconds."""
        return self._wall() - self()


Row: TypeAlias = dict[str, Any]
Reply: TypeAlias = Callable[[Any, BaseException | None], None]

BUSY = 2.0  # seconds to wait for a database that another process holds
MOST = 500  # commands of one commit
WAITING = 5_000  # commands; who comes then is told so at once
ELSEWHERE = "another adjudge is writing to this campaign: stop it, or use its pages"


class Change(NamedTuple):
    """What a command does: rows to add, the answer once they are safe, and what the audit log says of it."""

    rows: Sequence[tuple[Table, Row]] = ()
    answer: Any = None
    audit: tuple[str, str, Row] | None = None  # who, what, detail


View: TypeAlias = Callable[[Ledger, float, Any], Any]  # of the ledger after the change, the time, and its answer


Command: TypeAlias = Callable[[Ledger, float], Change]


class Asked(NamedTuple):
    """A command that waits, and whom to tell."""

    command: Command
    reply: Reply
    then: View | None = None


def url_of(database: str, folder: Path) -> URL:
    """Return where a database is: a URL as it is, or a path from the campaign's folder."""
    return make_url(database) if "://" in database else URL.create("sqlite", database=str(folder / database))


def engine_of(url: URL, read_only: bool = False) -> Engine:
    """Return the way to a database; every transaction of SQLite's writer takes the lock at its beginning."""
    if url.get_backend_name() != "sqlite":
        if read_only:  # a reader sees one moment
            return create_engine(url, pool_size=4, pool_pre_ping=True, isolation_level="REPEATABLE READ")
        return create_engine(url, pool_size=1, max_overflow=0, pool_pre_ping=True)  # the lock is this connection's
    if read_only:
        return _reading_file(url)
    engine = create_engine(url, connect_args={"timeout": BUSY})

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver leaves BEGIN to us
        # the journal is folded into the file by ``checkpoint``, beside the writer, whom it would hold up
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=0"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _reading_file(url: URL) -> Engine:
    """Return the way to a file that is only read, also where nothing can be written: a backup that is mounted, say."""
    place = Path(str(url.database)).absolute()
    fixed = "" if os.access(place.parent, os.W_OK) else "&immutable=1"
    address = f"file:{quote(str(place))}?mode=ro{fixed}"
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(address, uri=True, timeout=BUSY, isolation_level=None),
        poolclass=NullPool,
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")  # without it, each question would be asked of another moment

    return engine


class Store:
    """The tables of one campaign, and the one who writes to them."""

    def __init__(
        self, url: URL, fold: Callable[[Connection], Ledger], clock: Callable[[], float] | None = None
    ) -> None:
        self.url = url
        self._writer, self._reader = engine_of(url), engine_of(url, read_only=True)
        self._held = contextlib.ExitStack()
        self._fold = fold
        self._waiting: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stale = False  # the ledger is ahead of the disk
        try:
            if url.get_backend_name() == "sqlite":
                self._held.enter_context(_alone(Path(str(url.database))))
            else:
                event.listen(self._writer, "connect", self._lock)
            with self._writer.begin() as connection:
                schema.migrate(connection, (clock or time.time)())
            with self._writer.begin() as connection:
                self.ledger = fold(connection)
        except BaseException:
            self.close()
            raise
        self.clock = clock or Clock(not_before=self.ledger.latest)

    def _lock(self, connection: Any, _: Any) -> None:
        """Hold the right to write on the writer's own connection; a new one holds it anew, and believes nothing."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", (zlib.crc32(f"adjudge:{self.url.database}".encode()),))
            mine = cursor.fetchone()[0]
        connection.commit()
        if not mine:
            connection.close()
            raise InputError(ELSEWHERE, self.url.render_as_string(hide_password=True))
        self._stale = hasattr(self, "ledger")

    def start(self) -> None:
        """Begin to take commands."""
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish what waits, and let go of the database."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        self._held.close()
        self._writer.dispose()
        self._reader.dispose()

    def checkpoint(self) -> None:
        """Fold SQLite's journal into its file, as far as can be done without holding anybody up."""
        if self.url.get_backend_name() == "sqlite":
            with contextlib.closing(sqlite3.connect(str(self.url.database), timeout=BUSY)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def ask(self, command: Command, reply: Reply, then: View | None = None) -> None:
        """Have a command carried out; ``reply`` is called by the writer's thread, after the commit."""
        if self._waiting.qsize() >= WAITING:
            reply(None, Unsaved("too many wait to be saved"))
        else:
            self._waiting.put(Asked(command, reply, then))

    def do(self, command: Command, then: View | None = None) -> Any:
        """Carry out one command at once, where no writer has been started."""
        kept: list[tuple[Any, BaseException | None]] = []
        self._commit([Asked(command, lambda answer, error: kept.append((answer, error)), then)])
        answer, error = kept[0]
        if error is not None:
            raise error
        return answer

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection that sees one moment and cannot write."""
        with self._reader.begin() as connection:
            yield connection

    def _work(self) -> None:
        """Take all that waits, commit it at once, and again: whatever happens, the next is served."""
        going = True
        while going:
            batch: list[Asked | None] = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < MOST:
                    batch.append(self._waiting.get_nowait())
            asked = [one for one in batch if one is not None]
            going = len(asked) == len(batch)
            if asked:
                self._commit(asked)

    def _commit(self, batch: Sequence[Asked]) -> None:
        """Decide and write a group of commands, and answer them once they are safe."""
        replies: list[Callable[[], None]] = []
        try:
            self._refresh()
            with self._writer.begin() as connection:
                self._stale = True
                _write(connection, [row for one in batch for row in self._decided(one, replies)])
            self._stale = False
        except _Fault as fault:  # one of them, once its rows were in the ledger: it did not happen, the others go on
            replies = [_telling(fault.asked.reply, None, fault.error)]
            rest = [one for one in batch if one is not fault.asked]
            if rest:
                self._commit(rest)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, OperationalError):  # one of them is at fault: which?
                for one in batch:
                    self._commit([one])
                return
            replies = [_telling(one.reply, None, _unsaved(error)) for one in batch]
        for reply in replies:
            with contextlib.suppress(RuntimeError):  # who asked has gone, and their loop with them
                reply()
        with contextlib.suppress(Exception):  # if the disk is still full, the next command tries again
            self._refresh()

    def _decided(self, asked: Asked, replies: list[Callable[[], None]]) -> list[tuple[Table, Row]]:
        """Return the rows of one command, folded into the ledger already; what it answers waits for the commit."""
        now = self.clock()
        try:
            change = asked.command(self.ledger, now)
        except Exception as error:  # a refusal, or a fault of ours: nothing has been changed yet
            replies.append(_telling(asked.reply, None, error))
            return []
        try:
            rows = list(change.rows)
            if change.audit is not None:
                rows.append((schema.audit, linked(self.ledger.link, now, *change.audit)))
            for table, row in rows:
                self.ledger.fold(table, row)
            answer = change.answer if asked.then is None else asked.then(self.ledger, now, change.answer)
        except Exception as error:
            raise _Fault(asked, error) from error
        replies.append(_telling(asked.reply, answer, None))
        return rows

    def _refresh(self) -> None:
        """Fold the ledger anew if it is ahead of the disk, or if another studio may have written meanwhile."""
        if self._stale:
            with self._writer.begin() as connection:
                ledger = self._fold(connection)
            ledger.carry(self.ledger)
            self.ledger, self._stale = ledger, False


class _Fault(Exception):  # noqa: N818
    """A command that failed after its rows were folded."""

    def __init__(self, asked: Asked, error: Exception) -> None:
        self.asked, self.error = asked, error


def _telling(reply: Reply, answer: Any, error: BaseException | None) -> Callable[[], None]:
    """Return the call that gives an answer."""
    return lambda: reply(answer, error)


def _write(connection: Connection, rows: Sequence[tuple[Table, Row]]) -> None:
    """Insert rows, each table's at once, tables that others point at first."""
    by_table: dict[Table, list[Row]] = {}
    for table, row in rows:
        by_table.setdefault(table, []).append(row)
    for table in schema.METADATA.sorted_tables:
        if table in by_table:
            connection.execute(insert(table), by_table[table])


def _unsaved(error: Exception) -> Exception:
    """Return what is answered when nothing could be written: try again, or a fault that trying again does not mend."""
    if isinstance(error, IntegrityError | DataError) or not isinstance(error, SQLAlchemyError | InputError):
        return error
    said = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return Unsaved(f"the database says “{said.splitlines()[0]}”")


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the right to write to a file, which one process has at a time."""
    import fcntl

    with open(f"{place}.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(ELSEWHERE, str(place)) from error
        yield
