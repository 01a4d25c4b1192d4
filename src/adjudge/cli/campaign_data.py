"""``adjudge campaign export | import | prompts | backup | verify | invite``: a campaign's data and people."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli import options as o
from adjudge.cli.campaign import Folder, warn_broken
from adjudge.cli.output import require_studio

Judge = Annotated[str, typer.Option("--judge", metavar="NAME", help="Name of the judge.")]
Url = Annotated[str, typer.Option(metavar="URL", help="Address under which judges reach the studio.")]
LOCAL = "http://127.0.0.1:8000"


def export_(
    folder: Folder,
    content: Annotated[
        str, typer.Option("--what", metavar="WHAT", help="judgments, qrels, uncertainty, task1, task2 or everything.")
    ] = "judgments",
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", rich_help_panel=o.OUTPUT, help="Write to this file; default: print."
        ),
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Do not protect CSV cells from being read as formulas.")] = False,
    pseudonyms: Annotated[bool, typer.Option("--pseudonyms", help="Replace the names of judges by numbers.")] = False,
    team: Annotated[str, typer.Option(metavar="NAME", help="Name of the team in a task 1 run.")] = "adjudge",
) -> None:
    """Export what a campaign has collected: judgments, qrels with or without uncertainty, TREC files, or everything.

    It can run while the studio runs. Qrels and the like come from a consensus of all judgments, which is fitted now if
    the studio has not done it. In CSV files, a cell that a spreadsheet would read as a formula gets a leading
    apostrophe, unless --raw is given. Passwords, tokens and the campaign's key are never exported.

    \b
    $ adjudge campaign export my-campaign --out judgments.csv
    $ adjudge campaign export my-campaign --what qrels --out qrels.txt
    $ adjudge campaign export my-campaign --what everything --pseudonyms --out all.zip
    """
    import sys
    import tempfile

    from adjudge.errors import UsageError

    require_studio()
    from adjudge.studio.desk.consensus_view import fresh_belief
    from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export, write_chunks
    from adjudge.studio.studio import reading_campaign

    if content == "everything" and out is None and sys.stdout.isatty():
        raise UsageError("a zip file cannot be shown in a terminal: give --out, or redirect it to a file or a pipe")
    believes = content in EXPORTS and EXPORTS[content].believes
    complete = believes and content != "everything"
    with tempfile.TemporaryFile() as file, reading_campaign(folder, complete) as (campaign, connection):
        broken = warn_broken(campaign, complete)
        belief = fresh_belief(connection, campaign) if believes and not broken else None
        export(connection, content, ExportOptions(campaign.folder, raw, pseudonyms, team, belief=belief), file)
        file.seek(0)
        write_chunks(file, out)
    if out is not None:
        print(f"wrote {EXPORTS[content].about.rstrip('.').lower()} to {out}")


def import_(
    folder: Folder,
    file: Annotated[str, typer.Argument(metavar="FILE", help="CSV or JSON lines; - reads standard input.")],
    judge: Judge = "",
) -> None:
    """Import judgments into a campaign: rows of (topic, document, judge, label), or answers to prompts.

    Rows can have rank, seconds and comment. Answers to prompts are JSON lines with id and answer, and need --judge;
    answers that cannot be read are listed, and the accuracy on hidden gold is printed. A file that contradicts the
    campaign is refused, with every row that does; importing the same file twice has no effect. The studio must not be
    running: while it runs, use the page Data of the desk.

    \b
    $ adjudge campaign import my-campaign elsewhere.csv
    $ adjudge campaign import my-campaign answers.jsonl --judge my-model
    """
    import sys
    from pathlib import Path

    from adjudge.errors import InputError

    require_studio()
    from adjudge.studio.desk.import_files import list_problems
    from adjudge.studio.desk.imports import import_file_offline
    from adjudge.studio.studio import open_studio

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    studio = open_studio(folder)
    try:
        result = import_file_offline(studio, content, file, judge)
    finally:
        studio.store.close()
    if result["problems"]:
        raise InputError(list_problems(result["problems"]), file)
    new = f"; new judges: {', '.join(result['judges'])}" if result["judges"] else ""
    print(f"{result['taken']:,} judgments imported, {result['skipped']:,} were imported before{new}")
    for problem in result["unread"]:
        print(f"not read: {problem}")
    if result["hidden_gold"]:
        right, of = result["hidden_gold"]["right"], result["hidden_gold"]["of"]
        print(f"{right} of {of} hidden gold right" + (f" ({right / of:.0%})" if of else ""))


def prompts(
    folder: Folder,
    judge: Judge,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", rich_help_panel=o.OUTPUT, help="Write to this file; default: print."
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of prompts.")] = None,
    gold_share: Annotated[
        float,
        typer.Option("--gold-share", min=0, max=0.9, metavar="SHARE", help="Share of hidden gold among the prompts."),
    ] = 0.2,
) -> None:
    """Write pending pairs as prompts for a program that acts as a judge, such as a language model.

    Each line is JSON with id, prompt and topic. Some are hidden gold, which cannot be recognised. Answer each with
    {"id": ..., "answer": "relevant"} and import the answers with `adjudge campaign import`. It can run while the studio
    runs.

    \b
    $ adjudge campaign prompts my-campaign --judge my-model --limit 500 --out prompts.jsonl
    $ adjudge campaign import my-campaign answers.jsonl --judge my-model
    """
    require_studio()
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


def backup(
    folder: Folder,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", rich_help_panel=o.OUTPUT, help="Zip file to write.")
    ],
) -> None:
    """Back up a campaign to one zip file: its files, and a snapshot of its database.

    It can run while the studio runs, with SQLite and with PostgreSQL. The unpacked backup is a campaign. It does not
    contain the key that signs sessions and invitations, so a lost backup gives nobody access.

    \b
    $ adjudge campaign backup my-campaign --out monday.zip
    $ unzip -d again monday.zip && adjudge campaign verify again
    """
    require_studio()
    from pathlib import Path

    from adjudge.studio.record import backup as backups
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(folder) as (loaded, connection):
        rows = backups.backup(connection, loaded, Path(out))
    print(f"wrote {out}: {rows:,} rows")


def verify(folder: Folder) -> None:
    """Verify that nothing in the record of a campaign was lost, duplicated or changed.

    Checks the checksums of the database, the hash chain of the audit log, the fingerprints of all accepted judgments,
    and that no item was judged twice by one person or more often than required. It can run while the studio runs. The
    exit code is 1 if anything is wrong.

    \b
    $ adjudge campaign verify my-campaign
    """
    require_studio()
    from adjudge.studio.record.audit import CHECKS
    from adjudge.studio.studio import reading_campaign

    faults = 0
    with reading_campaign(folder, complete=False) as (loaded, connection):
        warn_broken(loaded)
        for name, check in CHECKS.items():
            problems = list(check(connection, loaded))
            faults += len(problems)
            print(f"{'ok   ' if not problems else 'WRONG'}  {name}")
            for sentence in problems[:20]:
                print(f"         {sentence}")
            if len(problems) > 20:
                print(f"         and {len(problems) - 20:,} more")
    if faults:
        raise typer.Exit(1)


def invite(
    folder: Folder,
    role: Annotated[str, typer.Option(help="judge, reviewer or lead.")] = "judge",
    name: Annotated[str, typer.Option(help="Name of the person; they can choose another.")] = "",
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Number of links.")] = 1,
    url: Url = LOCAL,
) -> None:
    """Print invitation links, each of which can be used once. While the studio runs, its desk makes them.

    \b
    $ adjudge campaign invite my-campaign --count 20 --url https://judge.example.org
    """
    from adjudge.errors import UsageError, quote

    if role not in ("judge", "reviewer", "lead"):
        raise UsageError(f"--role {quote(role)} is not one of judge, reviewer, lead")
    require_studio()
    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import invitation_link

    studio = open_studio(folder)
    try:
        for _ in range(count):
            print(f"{url.rstrip('/')}{invitation_link(studio, role, name)}")
    finally:
        studio.store.close()
