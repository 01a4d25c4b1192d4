"""A campaign in one file: what its folder holds, and its database as it is at one moment, whatever database it is.

The signing key is not in it: sessions and invitations that are out do not outlive a restore, and a backup that is lost
lets nobody in.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from sqlalchemy import URL, Connection, insert, select

from adjudge.collect.files.campaign import FILES, Campaign
from adjudge.collect.record import schema
from adjudge.collect.record.store import engine_of
from adjudge.errors import InputError
from adjudge.judgments.write import write_file

ROWS = 10_000  # copied at a time
DATABASE = "studio.db"


def backup(connection: Connection, campaign: Campaign, out: Path) -> int:
    """Write a zip file of the campaign, read back before it counts, and return how many rows it holds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / DATABASE
        rows = _copied(connection, place)
        packed = Path(folder) / "backup.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in FILES:
                if (campaign.folder / name).exists():
                    archive.write(campaign.folder / name, name)
            archive.write(place, DATABASE)
        with zipfile.ZipFile(packed) as archive:
            if (damaged := archive.testzip()) is not None:
                raise InputError(f"{damaged} could not be read back: is the disk full?", str(out))
        write_file(packed.read_bytes(), out)
    return rows


def _copied(source: Connection, place: Path) -> int:
    """Copy every table to a new SQLite file."""
    engine = engine_of(URL.create("sqlite", database=str(place)))
    copied = 0
    with engine.begin() as target:
        schema.migrate(target, 0.0, note=False)
        for table in schema.METADATA.sorted_tables:
            found = source.execution_options(yield_per=ROWS).execute(select(table)).mappings()
            for part in found.partitions(ROWS):
                target.execute(insert(table), [dict(row) for row in part])
                copied += len(part)
    engine.dispose()
    for rest in place.parent.glob(f"{place.name}-*"):  # an empty journal
        rest.unlink()
    return copied
