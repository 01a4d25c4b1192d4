"""The store: the database of a campaign (a SQLite file, or PostgreSQL by its URL), and its one writer.

A command decides (``command(ledger, now, ...) -> Change``), its rows are folded into the ledger, and the rows of all
waiting commands are written in one transaction. They are answered only after its commit, so that everything that was
acknowledged is on the disk. If a commit fails, all of them are answered with 503, and the ledger is loaded again from
the disk.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, Table, create_engine, event, insert, make_url, text
from sqlalchemy.exc import ArgumentError, DataError, IntegrityError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.campaign import Campaign
from adjudge.studio.record import schema
from adjudge.studio.record.audit import Link, next_entry
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.row_hashes import SEALED
from adjudge.studio.records import Refused, Unsaved


def _steady() -> float:
    """Return the seconds of a monotonic clock, if possible of one that continues while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """The studio's clock: seconds since 1970 at the start, and from then on by a monotonic clock.

    A jump of the machine's clock would make all leases and active times wrong. ``not_before`` is the last time in the
    database: if the machine's clock is behind it, the studio's clock continues from there.
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
        """Return how far the machine's clock is from this one, in seconds."""
        return self._wall() - self()


Row: TypeAlias = dict[str, Any]
Reply: TypeAlias = Callable[[Any, BaseException | None], None]

PASSWORD_FILE = "ADJUDGE_DATABASE_PASSWORD_FILE"
DRIVERS = ("sqlite", "postgresql+psycopg")
EXPECTED = "expected a path, or a URL that begins with postgresql+psycopg://"
BUSY = 2.0  # seconds to wait for a database that another process has locked
LOCK_TRIES = 40  # to take the lock of PostgreSQL in this time
MOST = 500  # commands in one commit
WAITING = 5_000  # commands in the queue; more are refused at once
IN_USE = "another adjudge is writing to this campaign: stop it, or use its pages"


class Change(NamedTuple):
    """The result of a command: rows to add, the answer when they are committed, and its entry in the audit log."""

    rows: Sequence[tuple[Table, Row]] = ()
    answer: Any = None
    audit: tuple[str, str, Row] | None = None  # who, what, detail
    campaign: Campaign | None = None  # the changed files, with which the ledger works from now on


View: TypeAlias = Callable[
    [Ledger, float, Any], Any
]  # called with the ledger after the change, the time, and the answer


Command: TypeAlias = Callable[[Ledger, float], Change]


class Request(NamedTuple):
    """A waiting command, and the function that gets its answer."""

    command: Command
    reply: Reply
    then: View | None = None


def database_url(folder: Path, database: str) -> URL:
    """Return the URL of a campaign's database: of ADJUDGE_DATABASE or the setting, a URL or a path in the folder."""
    database = os.environ.get("ADJUDGE_DATABASE") or database
    if "://" not in database:
        return URL.create("sqlite", database=str(folder / database))
    try:
        url = make_url(database)
    except (ArgumentError, ValueError):
        url = URL.create("unknown")
    if url.drivername not in DRIVERS or (url.drivername == "sqlite" and not url.database):
        raise InputError(f"the address of the database cannot be used: {EXPECTED}")
    file = os.environ.get(PASSWORD_FILE)
    return url.set(password=_password(Path(file))) if file else url


def _password(file: Path) -> str:
    """Return the password in a file, such as a container's secret."""
    try:
        return file.read_text(encoding="utf8").strip()
    except OSError as error:
        raise InputError(f"{PASSWORD_FILE} names a file that cannot be read: {error.strerror}", str(file)) from error


def open_engine(url: URL, read_only: bool = False) -> Engine:
    """Return the engine of a database; with SQLite, every transaction of the writer takes the lock when it begins."""
    if url.get_backend_name() != "sqlite":
        if read_only:  # a reader sees one snapshot
            return create_engine(
                url, hide_parameters=True, pool_size=4, pool_pre_ping=True, isolation_level="REPEATABLE READ"
            )
        return create_engine(
            url, hide_parameters=True, pool_size=1, max_overflow=0, pool_pre_ping=True
        )  # the lock belongs to this connection
    if read_only:
        return _read_only_engine(url)
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": BUSY})  # errors go to the log

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver leaves BEGIN to us
        # ``checkpoint`` moves the journal into the file, in another thread, so that the writer does not wait for it
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "wal_autocheckpoint=0"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _read_only_engine(url: URL) -> Engine:
    """Return the engine of a file that is only read, also on a read-only disk such as a mounted backup."""
    file = Path(str(url.database)).absolute()
    fixed = "" if os.access(file.parent, os.W_OK) else "&immutable=1"
    address = f"file:{quote(str(file))}?mode=ro{fixed}"
    engine = create_engine(
        "sqlite://",
        hide_parameters=True,
        creator=lambda: sqlite3.connect(address, uri=True, timeout=BUSY, isolation_level=None),
        poolclass=NullPool,
    )

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")  # without it, each query would see another snapshot

    return engine


class Store:
    """The tables of one campaign, and their only writer.

    ``fold`` loads the ledger from a connection; ``clock`` replaces the studio's clock in simulations. Opening a store
    takes the lock of the database, so that a second studio is refused.
    """

    def __init__(
        self, url: URL, fold: Callable[[Connection], Ledger], clock: Callable[[], float] | None = None
    ) -> None:
        self.url = url
        self._writer, self._reader = open_engine(url), open_engine(url, read_only=True)
        self._lock_holder = contextlib.ExitStack()
        self._fold = fold
        self._waiting: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stale = False  # whether the ledger may differ from the disk
        self._head = self._sealed = Link()  # what is committed, and what is in the seal
        self.seal: Callable[[Link, bool], None] | None = None  # renews the seal: the head, and whether it is complete
        self.notes: tuple[str, ...] = ()  # on how the database was attached to the folder
        self.on_commit: Callable[[int, float], None] = lambda commands, seconds: None
        self.failures, self.failure, self.failed_at = 0, "", -math.inf  # commits; the last reason, and when (monotonic)
        try:
            if url.get_backend_name() == "sqlite":
                self._lock_holder.enter_context(_exclusive_lock(Path(str(url.database)).resolve()))
            else:
                event.listen(self._writer, "connect", self._lock)
            with self._writer.begin() as connection:
                schema.migrate(connection, (clock or time.time)())
            with self._writer.begin() as connection:
                self.ledger = fold(connection)
            self.campaign = self.ledger.campaign
            self._head = self.ledger.link
        except BaseException:
            self.close()
            raise
        self.clock = clock or Clock(not_before=self.ledger.latest)

    def _lock(self, connection: Any, _: Any) -> None:
        """Take PostgreSQL's lock on the writer's connection; a new connection takes it again and reloads the ledger.

        PostgreSQL releases the lock of a connection shortly after its end, so a lock that is held is tried again. Tries
        are counted instead of seconds, so that a machine that stands still for a moment does not use them up.
        """
        key = zlib.crc32(f"adjudge:{self.url.database}".encode())
        with connection.cursor() as cursor:
            for _ in range(LOCK_TRIES):
                cursor.execute("SELECT pg_try_advisory_lock(%s)", (key,))
                if mine := cursor.fetchone()[0]:
                    break
                time.sleep(BUSY / LOCK_TRIES)
        connection.commit()
        if not mine:
            connection.close()
            raise InputError(IN_USE, self.url.render_as_string(hide_password=True))
        self._stale = hasattr(self, "ledger")

    def start(self) -> None:
        """Start the writer's thread."""
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Finish the waiting commands, and release the database."""
        if self._thread is not None:
            self._waiting.put(None)
            self._thread.join()
            self._thread = None
        if self.seal is not None:
            with contextlib.suppress(Exception):  # a full disk: the next start seals what is not sealed
                self.do(partial(seal_rows, closing=True))
                self.renew_seal(complete=True)
            self.seal = None
        self._lock_holder.close()
        self._writer.dispose()
        self._reader.dispose()

    def checkpoint(self) -> None:
        """Move SQLite's journal into its file, as far as possible without blocking anybody."""
        if self.url.get_backend_name() == "sqlite":
            with contextlib.closing(sqlite3.connect(str(self.url.database), timeout=BUSY)) as connection:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def renew_seal(self, complete: bool = False) -> None:
        """Write the head of what is committed to the seal, if it is new or nothing comes after it."""
        head = self._head
        if self.seal is not None and head != Link() and (complete or head != self._sealed):
            self.seal(head, complete)
            self._sealed = head

    @property
    def waiting(self) -> int:
        """How many commands wait for the writer."""
        return self._waiting.qsize()

    def enqueue(self, command: Command, reply: Reply, then: View | None = None) -> None:
        """Add a command to the queue; the writer's thread calls ``reply`` after the commit."""
        if self.waiting >= WAITING:
            reply(None, Unsaved("too many changes wait to be saved"))
        else:
            self._waiting.put(Request(command, reply, then))

    def do(self, command: Command, then: View | None = None) -> Any:
        """Carry out one command at once, if the writer's thread is not running."""
        results: list[tuple[Any, BaseException | None]] = []
        self._commit([Request(command, lambda answer, error: results.append((answer, error)), then)])
        answer, error = results[0]
        if error is not None:
            raise error
        return answer

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Return a connection that sees one snapshot and cannot write."""
        with self._reader.begin() as connection:
            yield connection

    def _work(self) -> None:
        """Commit all waiting commands together, repeatedly; errors of one group do not affect the next."""
        going = True
        while going:
            batch: list[Request | None] = [self._waiting.get()]
            with contextlib.suppress(queue.Empty):
                while len(batch) < MOST:
                    batch.append(self._waiting.get_nowait())
            requests = [request for request in batch if request is not None]
            going = len(requests) == len(batch)
            if requests:
                self._commit(requests)

    def _commit(self, batch: Sequence[Request]) -> None:
        """Decide and write a group of commands, and answer them after the commit."""
        try:
            replies = self._write_batch(batch)
        except _Fault as fault:  # one command failed after its rows were folded: commit the others without it
            replies = [_replying(fault.request.reply, None, fault.error)]
            rest = [request for request in batch if request is not fault.request]
            if rest:
                self._commit(rest)
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, OperationalError):  # find the one that fails
                for request in batch:
                    self._commit([request])
                return
            failure = _unsaved(error)
            if isinstance(failure, Unsaved):
                self.failures, self.failure, self.failed_at = self.failures + 1, failure.reason, time.monotonic()
            replies = [_replying(request.reply, None, failure) for request in batch]
        self._send(replies)

    def _send(self, replies: Sequence[Callable[[], None]]) -> None:
        """Answer commands, and load the ledger again if their commit failed."""
        for reply in replies:
            with contextlib.suppress(RuntimeError):  # the event loop of the caller is closed
                reply()
        with contextlib.suppress(Exception):  # if the disk is still full, the next command tries again
            self._refresh()

    def _write_batch(self, batch: Sequence[Request]) -> list[Callable[[], None]]:
        """Decide a group of commands and write their rows in one transaction; return the replies to send."""
        replies: list[Callable[[], None]] = []
        began = time.perf_counter()
        with self._writer.begin() as connection:
            if self._stale:  # also if this is a new connection: another studio may have written in between
                self._load(connection)
            self._stale = True
            rows = [row for request in batch for row in self._decide(request, replies)]
            _write(connection, rows)
        self._stale, self.campaign = False, self.ledger.campaign
        self._head = self.ledger.link
        if rows:
            self.on_commit(len(batch), time.perf_counter() - began)
        return replies

    def _decide(self, request: Request, replies: list[Callable[[], None]]) -> list[tuple[Table, Row]]:
        """Return the rows of one command, which are folded into the ledger; its answer waits for the commit."""
        now = self.clock()
        try:
            change = request.command(self.ledger, now)
            if self.ledger.archived:
                check_archived(change)
        except Exception as error:  # a refusal or a bug: nothing has changed yet
            replies.append(_replying(request.reply, None, error))
            return []
        try:
            rows = list(change.rows)
            if change.audit is not None:
                rows.append((schema.audit, next_entry(self.ledger.link, now, *change.audit)))
            for table, row in rows:
                self.ledger.fold(table, row)
                self.ledger.hashes.add(table, row)
            if change.campaign is not None:
                self.ledger.adopt(change.campaign)
            answer = change.answer if request.then is None else request.then(self.ledger, now, change.answer)
        except Exception as error:
            raise _Fault(request, error) from error
        replies.append(_replying(request.reply, answer, None))
        return rows

    def _refresh(self) -> None:
        """Load the ledger again if it may differ from the disk."""
        if self._stale:
            with self._writer.begin() as connection:
                self._load(connection)

    def _load(self, connection: Connection) -> None:
        """Load the ledger again from the disk."""
        ledger = self._fold(connection)
        ledger.copy_activity(self.ledger)
        ledger.adopt(self.campaign)  # which may be newer than the files that were folded
        self.ledger, self._stale = ledger, False


def seal_rows(ledger: Ledger, now: float, closing: bool = False) -> Change:
    """Seal the rows since the last time with an entry of the audit log, if there are enough or the studio stops."""
    if not (ledger.hashes.due or (closing and ledger.hashes.new)):
        return Change()
    return Change(audit=("studio", SEALED, ledger.hashes.detail()))


def check_archived(change: Change) -> None:
    """Refuse a change that adds work to an archived campaign."""
    if any(table in schema.WORK for table, _ in change.rows):
        sentence = "This campaign is archived: it can be read and exported, and nothing is added. A lead can reopen it."
        raise Refused(409, "archived", sentence)


class _Fault(Exception):  # noqa: N818
    """A command that failed after its rows were folded."""

    def __init__(self, request: Request, error: Exception) -> None:
        self.request, self.error = request, error


def _replying(reply: Reply, answer: Any, error: BaseException | None) -> Callable[[], None]:
    """Return a function without arguments that sends a reply."""
    return lambda: reply(answer, error)


def _write(connection: Connection, rows: Sequence[tuple[Table, Row]]) -> None:
    """Insert rows, all of a table at once, in the order of foreign keys."""
    by_table: dict[Table, list[Row]] = {}
    for table, row in rows:
        by_table.setdefault(table, []).append(row)
    for table in schema.METADATA.sorted_tables:
        if table in by_table:
            connection.execute(insert(table), by_table[table])


def _unsaved(error: Exception) -> Exception:
    """Return the answer to a failed commit: ``Unsaved`` if it can be tried again, else the error itself."""
    if isinstance(error, IntegrityError | DataError) or not isinstance(error, SQLAlchemyError | InputError):
        return error
    message = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
    return Unsaved(f"the database says “{message.splitlines()[0]}”")


@contextlib.contextmanager
def _exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the lock beside a database file, which only one process can have."""
    import fcntl

    with open(f"{path}.lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(IN_USE, str(path)) from error
        yield


def database_bytes(connection: Connection) -> int:
    """Return the size of a database: SQLite's file with its journal, or what PostgreSQL says."""
    if connection.dialect.name != "sqlite":
        return int(connection.scalar(text("SELECT pg_database_size(current_database())")) or 0)
    file = next(row[2] for row in connection.exec_driver_sql("PRAGMA database_list") if row[1] == "main")
    return sum(path.stat().st_size for path in (Path(file), Path(f"{file}-wal")) if path.exists())
