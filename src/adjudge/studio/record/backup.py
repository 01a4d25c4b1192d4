"""A campaign in one file: what its folder holds, and its database as it is at one moment, whatever database it is.

The signing key is not in it: sessions and invitations that are out do not outlive a restore, and a backup that is lost
lets nobody in.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import URL, Connection, insert, select

from adjudge.data.write import write_file
from adjudge.errors import InputError, Problems
from adjudge.studio.campaign.campaign import FILES, Campaign, CampaignProblems, Documents, load_campaign
from adjudge.studio.record import schema
from adjudge.studio.record.store import engine_of, url_of
from adjudge.studio.settings import load_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection


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


# A campaign looked at from outside: its files, and a connection that cannot write. It may be served meanwhile.


@contextlib.contextmanager
def reading_campaign(folder: str | os.PathLike[str], whole: bool = True) -> Iterator[tuple[Campaign, Connection]]:
    """Return a campaign and a connection that sees one moment of its database; nothing is made or changed.

    What needs the database only takes a campaign that is not ``whole`` too: its settings, and a warning of its files.
    """
    campaign = load_campaign(folder) if whole else _as_far_as_it_goes(folder)
    url = url_of(os.environ.get("ADJUDGE_DATABASE") or campaign.settings.store.database, campaign.folder)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise InputError("nobody has worked on this campaign yet: start it with `adjudge serve`", str(folder))
    engine = engine_of(url, read_only=True)
    try:
        with engine.begin() as connection:
            yield campaign, connection
    finally:
        engine.dispose()


def _as_far_as_it_goes(folder: str | os.PathLike[str]) -> Campaign:
    """Return a campaign; of one with problems the settings alone, with the problems as its warnings."""
    try:
        return load_campaign(folder)
    except CampaignProblems as error:
        place = Path(folder)
        own = Problems()
        settings = load_settings(place, own)
        if own.messages:  # where the database is, and how much was asked for, is not to be guessed
            raise
        said = f"files of the campaign have problems, so this is by its database alone; {error}"
        nothing = Documents(Path(os.devnull), {}, array("q"))
        return Campaign(place, settings, {}, (), {}, (), nothing, (said,))
