"""A campaign looked at from outside: its files, and a connection that cannot write. It may be served meanwhile."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.collect.files.campaign import Campaign, load_campaign
from adjudge.collect.record.store import engine_of, url_of
from adjudge.errors import InputError

if TYPE_CHECKING:
    from sqlalchemy import Connection


@contextlib.contextmanager
def reading_campaign(folder: str | os.PathLike[str]) -> Iterator[tuple[Campaign, Connection]]:
    """Return a campaign and a connection that sees one moment of its database; nothing is made or changed."""
    campaign = load_campaign(folder)
    url = url_of(os.environ.get("ADJUDGE_DATABASE") or campaign.settings.store.database, campaign.folder)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise InputError("nobody has worked on this campaign yet: start it with `adjudge serve`", str(folder))
    engine = engine_of(url, read_only=True)
    try:
        with engine.begin() as connection:
            yield campaign, connection
    finally:
        engine.dispose()
