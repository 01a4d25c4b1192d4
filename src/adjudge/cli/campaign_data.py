"""``adjudge campaign export|import|prompts``: judgments out of a campaign, and into it from elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli.campaign import Folder, warned
from adjudge.cli.output import studio_installed

Judge = Annotated[str, typer.Option("--judge", metavar="NAME", help="Whose judgments they are.")]


def export_(
    folder: Folder,
    what: Annotated[
        str, typer.Option(metavar="WHAT", help="judgments, qrels, uncertainty, task1, task2 or everything.")
    ] = "judgments",
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where it goes; by default, the screen.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Leave CSV cells as they are, for programs.")] = False,
    pseudonyms: Annotated[bool, typer.Option("--pseudonyms", help="Judges under numbers, not names.")] = False,
    team: Annotated[str, typer.Option(metavar="NAME", help="What a task 1 run calls the team.")] = "adjudge",
) -> None:
    """Write what a campaign has collected: judgments, qrels with or without uncertainty, TREC's files, or everything.

    It may run while the studio runs. Qrels and what is like them come from a consensus of all judgments there are,
    which is fitted now if the studio has not done it. In CSV files a cell that a spreadsheet would take for a
    formula begins with an apostrophe, unless --raw is given. Passwords, tokens and the campaign's key are never
    written.

    \b
    $ adjudge campaign export my-campaign --out judgments.csv
    $ adjudge campaign export my-campaign --what qrels --out qrels.txt
    $ adjudge campaign export my-campaign --what everything --pseudonyms --out all.zip
    """
    import sys
    import tempfile

    from adjudge.errors import UsageError

    studio_installed()
    from adjudge.studio.desk.consensus_view import fresh_belief
    from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export, write_chunks
    from adjudge.studio.studio import reading_campaign

    if what == "everything" and out is None and sys.stdout.isatty():
        raise UsageError("a zip file is not for a terminal: give --out, or send it to a file or a pipe")
    believes = what in EXPORTS and EXPORTS[what].believes
    whole = believes and what != "everything"
    with tempfile.TemporaryFile() as file, reading_campaign(folder, whole) as (campaign, connection):
        broken = warned(campaign, whole)
        belief = fresh_belief(connection, campaign) if believes and not broken else None
        export(connection, what, ExportOptions(campaign.folder, raw, pseudonyms, team, belief=belief), file)
        file.seek(0)
        write_chunks(file, out)
    if out is not None:
        print(f"wrote {EXPORTS[what].about.rstrip('.').lower()} to {out}")


def import_(
    folder: Folder,
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV or JSON lines; - reads standard input.")],
    judge: Judge = "",
) -> None:
    """Take judgments made elsewhere into a campaign: rows of (topic, document, judge, label), or answers to prompts.

    Rows may have rank, seconds and comment. Answers to prompts are JSON lines of id and answer, and need --judge;
    what cannot be read of them is listed, and how often the judge is right on hidden gold is said. A file that
    contradicts what is known is refused with every row that does; the same file twice is taken once. The studio
    must not be running: while it runs, use the page Data of the desk.

    \b
    $ adjudge campaign import my-campaign elsewhere.csv
    $ adjudge campaign import my-campaign answers.jsonl --judge my-model
    """
    import sys
    from pathlib import Path

    from adjudge.errors import InputError

    studio_installed()
    from adjudge.studio.desk.import_files import list_problems
    from adjudge.studio.desk.imports import import_file_offline
    from adjudge.studio.studio import open_studio

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    studio = open_studio(folder)
    try:
        taken = import_file_offline(studio, content, file, judge)
    finally:
        studio.store.close()
    if taken["problems"]:
        raise InputError(list_problems(taken["problems"]), file)
    new = f"; new judges: {', '.join(taken['judges'])}" if taken["judges"] else ""
    print(f"{taken['taken']:,} judgments taken, {taken['skipped']:,} were there already{new}")
    for problem in taken["unread"]:
        print(f"not read: {problem}")
    if taken["hidden_gold"]:
        right, of = taken["hidden_gold"]["right"], taken["hidden_gold"]["of"]
        print(f"{right} of {of} hidden gold right" + (f" ({right / of:.0%})" if of else ""))


def prompts(
    folder: Folder,
    judge: Judge,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Where they go; by default, the screen.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="At most so many.")] = None,
    gold_share: Annotated[
        float, typer.Option("--gold-share", min=0, max=0.9, metavar="SHARE", help="How much of them is hidden gold.")
    ] = 0.2,
) -> None:
    """Write pending pairs as prompts for a program, a language model for instance, that is to be a judge.

    Each line is JSON with id, prompt and topic. Among them is gold, which nothing in a line gives away.
    Answer each with {"id": ..., "answer": "relevant"} and take the answers in with `adjudge campaign import`. It may
    run while the studio runs.

    \b
    $ adjudge campaign prompts my-campaign --judge my-model --limit 500 --out prompts.jsonl
    $ adjudge campaign import my-campaign answers.jsonl --judge my-model
    """
    studio_installed()
    from adjudge.studio.desk.exports import write_chunks
    from adjudge.studio.desk.prompts import program_prompts
    from adjudge.studio.identity.access import Signer, load_key
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(folder) as (campaign, connection):
        signer = Signer(load_key(campaign.folder))
        lines = program_prompts(connection, campaign, signer, judge, limit, gold_share)
        written = write_chunks((line.encode() for line in lines), out)
    if out is not None:
        print(f"wrote {written:,} prompts to {out}")


# ``adjudge campaign backup|verify|invite``: keep a campaign safe, and let people in.

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

    from adjudge.studio.record import backup as backups
    from adjudge.studio.studio import reading_campaign

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
    from adjudge.studio.record.audit import CHECKS
    from adjudge.studio.studio import reading_campaign

    faults = 0
    with reading_campaign(folder, complete=False) as (loaded, connection):
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
    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import invitation_link

    studio = open_studio(folder)
    try:
        for _ in range(count):
            print(f"{url.rstrip('/')}{invitation_link(studio, role, name)}")
    finally:
        studio.store.close()
