"""Backups of a campaign: one zip file with its files and a snapshot of its database; their restore, and a drill.

The snapshot is SQLite, whatever the database is. The signing key is not in it. Sessions and invitations therefore end
with a restore, and nobody can sign in with a stolen backup. ``head.json`` has the head of the record, sealed with the
key like ``seal.json``, and the number of rows of every table. A restore writes to a new folder, and to a database
without a record. It checks everything first, and seals the record again, which the audit log says.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import URL, Connection, Engine, func, insert, inspect, select
from sqlalchemy.exc import OperationalError

from adjudge.errors import InputError
from adjudge.studio.campaign import FILES, Campaign, load_campaign
from adjudge.studio.desk.exports import write_chunks
from adjudge.studio.record import schema
from adjudge.studio.record.audit import content_faults
from adjudge.studio.record.damage import address, explained
from adjudge.studio.record.erasure import find_person, rewrite
from adjudge.studio.record.private import private_files
from adjudge.studio.record.seal import Seal, campaign_of, code_problem, head_problem, parse_seal, read_head, signed
from adjudge.studio.record.store import database_url, open_engine
from adjudge.studio.studio import open_store, reading_campaign

COPIED_ROWS = 10_000  # copied at a time
PIECE = 1 << 20  # bytes of a backup that are in memory at a time
DATABASE, HEAD = "studio.db", "head.json"
# what a damaged archive can cause; RuntimeError for methods of compression and encryption that there are not
DAMAGED = (
    *(ArithmeticError, EOFError, LookupError, RuntimeError, TypeError, ValueError),
    *(zipfile.BadZipFile, zlib.error),
)


class Backup(NamedTuple):
    """What a backup says about itself."""

    seal: Seal  # the head of its record
    rows: Mapping[str, int]  # by table

    @property
    def created(self) -> str:
        """When it was created."""
        return datetime.fromtimestamp(self.seal.at, UTC).strftime("%Y-%m-%d %H:%M UTC")


class Drill(NamedTuple):
    """The result of restoring a backup to a temporary folder and comparing it with the record it was made of."""

    backup: Backup
    seconds: float
    later: int  # entries of the audit log that the record has now and the backup has not


def back_up(connection: Connection, campaign: Campaign, out: Path) -> int:
    """Write a zip file of the campaign, check that it can be read, and return how many rows it holds."""
    with tempfile.TemporaryDirectory() as folder, private_files():
        database = Path(folder) / DATABASE
        try:
            rows = _snapshot(connection, database)
        except OperationalError as error:
            if "full" in str(error.orig):
                raise InputError(f"{error.orig}: name a folder with more space in TMPDIR", folder) from error
            raise
        packed = Path(folder) / "backup.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in FILES:
                if (campaign.folder / name).exists():
                    archive.write(campaign.folder / name, name)
            archive.write(database, DATABASE)
            archive.writestr(HEAD, json.dumps({"seal": _seal_of(connection, campaign)._asdict(), "rows": rows}))
        with zipfile.ZipFile(packed) as archive:
            if (damaged := archive.testzip()) is not None:
                raise InputError(f"{damaged} is damaged in the new backup: is the disk full?", str(out))
        with open(packed, "rb") as file:
            write_chunks(iter(partial(file.read, PIECE), b""), str(out))
    return sum(rows.values())


def _seal_of(connection: Connection, campaign: Campaign) -> Seal:
    """Return the seal of what a connection sees; without a key it has no code."""
    entry, hash_ = read_head(connection)
    seal, key = Seal(campaign_of(connection), entry, hash_, time.time(), ""), campaign.folder / "key"
    return signed(seal, key.read_bytes()) if key.exists() else seal


def _snapshot(source: Connection, path: Path) -> dict[str, int]:
    """Copy every table to a new SQLite file, and return the number of rows by table."""
    engine = open_engine(URL.create("sqlite", database=str(path)))
    rows = _copy_tables(source, engine)
    engine.dispose()
    for rest in path.parent.glob(f"{path.name}-*"):  # an empty journal
        rest.unlink()
    return rows


def _copy_tables(source: Connection, engine: Engine) -> dict[str, int]:
    """Copy every table to a database without a record, and return the number of rows by table."""
    copied, present = {}, set(inspect(source).get_table_names())  # a database of an earlier version has fewer
    with engine.begin() as target:
        schema.migrate(target, 0.0, note=False)
        for table in schema.METADATA.sorted_tables:
            copied[table.name] = 0
            if table.name in present:
                with source.execute(select(table).execution_options(yield_per=COPIED_ROWS)) as rows:
                    for part in rows.mappings().partitions():
                        target.execute(insert(table), [dict(row) for row in part])
                        copied[table.name] += len(part)
    return copied


# Restoring


def restore(file: Path, folder: Path, erase: str = "", comments: bool = False) -> Backup:
    """Restore a backup to a new folder, and to the database that its settings or ADJUDGE_DATABASE name.

    Nothing is overwritten, and nothing stays if a check fails. ``erase`` names a person whose identity, and if asked
    whose ``comments``, are left out (see ``record.erasure``).
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("is not empty, and a restore never overwrites: name a new folder", str(folder))
    with _unpacked(file, folder.absolute().parent) as (unpacked, backup):
        campaign, _ = _checked(unpacked, backup, file)
        if erase:
            _erase(unpacked / DATABASE, erase, comments)
        url = database_url(folder, campaign.settings.store.database)
        with explained(url, campaign):
            _place_database(unpacked / DATABASE, url, unpacked, folder)
        (unpacked / HEAD).unlink(missing_ok=True)
        unpacked.replace(folder)  # complete or not at all; an empty folder is replaced
    reason = f"restored from a backup of {backup.created}, entry {backup.seal.entry}"
    with private_files():
        open_store(load_campaign(folder), accept=reason).close()
    return backup


def _erase(database: Path, name: str, comments: bool) -> None:
    """Write a SQLite file again without the identity of a person."""
    new = database.with_name("erased.db")
    source, target = (open_engine(URL.create("sqlite", database=str(path))) for path in (database, new))
    try:
        with source.begin() as old, target.begin() as connection:
            schema.migrate(connection, 0.0, note=False)
            rewrite(old, connection, find_person(old, name, comments), time.time())
    finally:
        source.dispose()
        target.dispose()
    new.replace(database)


def check(file: Path) -> Backup:
    """Restore a backup to a temporary folder with all checks, and return what it says about itself."""
    with tempfile.TemporaryDirectory() as temporary, _unpacked(file, Path(temporary)) as (unpacked, backup):
        _checked(unpacked, backup, file)
    return backup


def drill(folder: Path, file: Path) -> Drill:
    """Check a backup as a restore does, and compare it with the record of a campaign, which may be running."""
    began = time.perf_counter()
    backup = check(file)
    with reading_campaign(folder) as (campaign, connection):
        key = campaign.folder / "key"
        problem = head_problem(connection, backup.seal)
        problem = problem or (code_problem(backup.seal, key.read_bytes()) if key.exists() else "")
        if problem:
            raise InputError(f"is not a backup of this record: {problem}", str(file))
        fewer = [name for name, rows in backup.rows.items() if rows > _count(connection, name)]
        if fewer:
            raise InputError(f"has more rows than the record in {', '.join(fewer)}: rows were deleted", str(file))
        later = read_head(connection)[0] - backup.seal.entry
    return Drill(backup, time.perf_counter() - began, later)


def _count(connection: Connection, name: str) -> int:
    """Return how many rows a table has."""
    return connection.scalar(select(func.count()).select_from(schema.METADATA.tables[name])) or 0


@contextmanager
def _unpacked(file: Path, beside: Path) -> Iterator[tuple[Path, Backup]]:
    """Unpack the known files of a backup to a temporary folder; nothing else in the archive is touched."""
    beside.mkdir(parents=True, exist_ok=True)
    with private_files(), tempfile.TemporaryDirectory(prefix=".restore-", dir=beside) as temporary:
        unpacked = Path(temporary) / "campaign"
        unpacked.mkdir()
        try:
            with zipfile.ZipFile(file) as archive:
                names = {*archive.namelist()} & {*FILES, DATABASE, HEAD}
                for name in names:
                    archive.extract(name, unpacked)
            if DATABASE not in names:
                raise LookupError("it contains no database")
            backup = _manifest(unpacked)
        except OSError as error:
            raise InputError(f"cannot be unpacked: {error.strerror}", str(file)) from error
        except DAMAGED as error:
            raise InputError(f"is damaged, or is not a backup ({error}): use another one", str(file)) from error
        yield unpacked, backup


def _manifest(unpacked: Path) -> Backup:
    """Return what a backup says about itself; those of earlier versions say nothing."""
    if not (unpacked / HEAD).exists():
        return Backup(Seal("", 0, "", (unpacked / DATABASE).stat().st_mtime, ""), {})
    content: dict[str, Any] = json.loads((unpacked / HEAD).read_text("utf-8"))
    rows = {name: int(rows) for name, rows in dict(content["rows"]).items() if name in schema.METADATA.tables}
    seal = parse_seal(json.dumps(content["seal"]))
    datetime.fromtimestamp(seal.at, UTC)  # which raises an error if it is no time
    return Backup(seal, rows)


def _checked(unpacked: Path, backup: Backup, file: Path) -> tuple[Campaign, int]:
    """Check the files and the database of an unpacked backup; return the campaign and its number of rows."""
    campaign = load_campaign(unpacked)
    url = URL.create("sqlite", database=str(unpacked / DATABASE))
    engine = open_engine(url)
    try:
        with explained(url, campaign), engine.begin() as connection:
            schema.migrate(connection, time.time())
            faults = [head_problem(connection, backup.seal)]
            counts = {name: _count(connection, name) for name in backup.rows}
            faults += [f"{name}: {n:,} rows, not {backup.rows[name]:,}" for name, n in counts.items()
                       if n != backup.rows[name] and name != schema.versions.name]  # fmt: skip
            faults += content_faults(connection, campaign)
        if faults := [fault for fault in faults if fault]:
            raise InputError(f"cannot be trusted, so nothing was restored: {'; '.join(faults[:5])}", str(file))
        return campaign, sum(counts.values())
    finally:
        engine.dispose()


def _place_database(database: Path, url: URL, unpacked: Path, folder: Path) -> None:
    """Put the database where the campaign expects it: into the folder, to another path, or into PostgreSQL."""
    if url.get_backend_name() != "sqlite":
        _fill(database, url)
        database.unlink()
        return
    path = Path(str(url.database))
    inside = path.absolute().is_relative_to(folder.absolute())
    target = unpacked / path.absolute().relative_to(folder.absolute()) if inside else path
    if not inside and target.exists():
        raise InputError("exists, and a restore never overwrites: set store.database or ADJUDGE_DATABASE", str(path))
    if target != database:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(database, target)


def _fill(database: Path, url: URL) -> None:
    """Copy a SQLite file to a server's database, which must hold no record."""
    target, source = open_engine(url), open_engine(URL.create("sqlite", database=str(database)), read_only=True)
    try:
        with target.connect() as connection:
            present = set(inspect(connection).get_table_names()) & schema.METADATA.tables.keys()
        if present:
            raise InputError("holds a record, and a restore never overwrites: name an empty database", address(url))
        with source.begin() as connection:
            _copy_tables(connection, target)
    finally:
        target.dispose()
        source.dispose()
