"""Backups: the files of a campaign and one snapshot of its database (as SQLite, whatever it is) in a zip file.

The signing key is not in it. Sessions and invitations therefore end with a restore, and nobody can sign in with a
stolen backup.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from sqlalchemy import URL, Connection, insert, select

from adjudge.data.write import write_file
from adjudge.errors import InputError
from adjudge.studio.campaign import FILES, Campaign
from adjudge.studio.record import schema
from adjudge.studio.record.store import open_engine

ROWS = 10_000  # copied at a time
DATABASE = "studio.db"


def backup(connection: Connection, campaign: Campaign, out: Path) -> int:
    """Write a zip file of the campaign, check that it can be read, and return how many rows it holds."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / DATABASE
        rows = _copy_tables(connection, database)
        packed = Path(folder) / "backup.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in FILES:
                if (campaign.folder / name).exists():
                    archive.write(campaign.folder / name, name)
            archive.write(database, DATABASE)
        with zipfile.ZipFile(packed) as archive:
            if (damaged := archive.testzip()) is not None:
                raise InputError(f"{damaged} is damaged in the new backup: is the disk full?", str(out))
        write_file(packed.read_bytes(), out)
    return rows


def _copy_tables(source: Connection, path: Path) -> int:
    """Copy every table to a new SQLite file, and return the number of rows."""
    engine = open_engine(URL.create("sqlite", database=str(path)))
    copied = 0
    with engine.begin() as target:
        schema.migrate(target, 0.0, note=False)
        for table in schema.METADATA.sorted_tables:
            rows = source.execution_options(yield_per=ROWS).execute(select(table)).mappings()
            for part in rows.partitions(ROWS):
                target.execute(insert(table), [dict(row) for row in part])
                copied += len(part)
    engine.dispose()
    for rest in path.parent.glob(f"{path.name}-*"):  # an empty journal
        rest.unlink()
    return copied
