"""``adjudge campaign backup|verify|invite``: keep a campaign safe, and let people in."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli.campaign import Folder, warned
from adjudge.cli.extras import studio_installed

Url = Annotated[str, typer.Option(metavar="URL", help="The address under which judges reach the studio.")]
LOCAL = "http://127.0.0.1:8000"


def backup(
    folder: Folder,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The zip file to write.")],
) -> None:
    """Write a campaign to one zip file: its files, and its database as it is at this moment.

    It may be taken while the studio runs, from SQLite and from PostgreSQL. Unpacked, it is a campaign again. The key
    that signs sessions and invitations is left out, so a backup that is lost lets nobody in.

    \b
    $ adjudge campaign backup my-campaign --out monday.zip
    $ unzip -d again monday.zip && adjudge campaign verify again
    """
    studio_installed()
    from pathlib import Path

    from adjudge.collect.record import backup as backups
    from adjudge.collect.record.reading import reading_campaign

    with reading_campaign(folder) as (loaded, connection):
        rows = backups.backup(connection, loaded, Path(out))
    print(f"wrote {out}: {rows:,} rows")


def verify(folder: Folder) -> None:
    """Check that a campaign's record is whole: nothing lost, doubled or changed.

    Looks at the database's own checksums, at the hash chain of the audit log, at the fingerprints of all accepted
    judgments, and for items that were judged twice by one person or more often than asked for. It may run while
    the studio runs. The exit code is 1 if anything is wrong.

    \b
    $ adjudge campaign verify my-campaign
    """
    studio_installed()
    from adjudge.collect.record.reading import reading_campaign
    from adjudge.collect.record.verify import CHECKS

    faults = 0
    with reading_campaign(folder, whole=False) as (loaded, connection):
        warned(loaded)
        for name, check in CHECKS.items():
            found = list(check(connection, loaded))
            faults += len(found)
            print(f"{'ok   ' if not found else 'WRONG'}  {name}")
            for sentence in found[:20]:
                print(f"         {sentence}")
            if len(found) > 20:
                print(f"         and {len(found) - 20:,} more")
    if faults:
        raise typer.Exit(1)


def invite(
    folder: Folder,
    role: Annotated[str, typer.Option(help="judge, reviewer or lead.")] = "judge",
    name: Annotated[str, typer.Option(help="Whom it is for; they may choose another name.")] = "",
    count: Annotated[int, typer.Option(min=1, max=1_000, help="How many links.")] = 1,
    url: Url = LOCAL,
) -> None:
    """Print links by which people come in, each to be used once. While the studio runs, its desk makes them.

    \b
    $ adjudge campaign invite my-campaign --count 20 --url https://judge.example.org
    """
    from adjudge.errors import UsageError, quote

    if role not in ("judge", "reviewer", "lead"):
        raise UsageError(f"--role {quote(role)} is not one of judge, reviewer, lead")
    studio_installed()
    from adjudge.collect.studio import open_studio
    from adjudge.collect.web.serve import invitation_link

    studio = open_studio(folder)
    try:
        for _ in range(count):
            print(f"{url.rstrip('/')}{invitation_link(studio, role, name)}")
    finally:
        studio.store.close()
