"""A campaign looked at from outside: its files, and a connection that cannot write. It may be served meanwhile."""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.collect.files import settings_file
from adjudge.collect.files.campaign import Campaign, CampaignProblems, Documents, load_campaign
from adjudge.collect.files.lines import text
from adjudge.collect.files.problems import Problems
from adjudge.collect.record.store import engine_of, url_of
from adjudge.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Connection


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
        written = text(place / settings_file.FILE, own, settings_file.FILE)
        settings = settings_file.read_settings(written or "", own)
        if own.found:  # where the database is, and how much was asked for, is not to be guessed
            raise
        said = f"files of the campaign have problems, so this is by its database alone; {error}"
        nothing = Documents(Path(os.devnull), {}, array("q"))
        return Campaign(place, settings, {}, (), {}, (), nothing, (said,))
