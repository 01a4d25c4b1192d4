"""``adjudge campaign export|import|prompts``: judgments out of a campaign, and into it from elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from adjudge.cli.campaign import Folder, warned
from adjudge.cli.extras import studio_installed

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
    from adjudge.collect.desk.deliver import deliver
    from adjudge.collect.desk.exports import EXPORTS, Wanted, export
    from adjudge.collect.desk.fresh import fresh_belief
    from adjudge.collect.record.reading import reading_campaign

    if what == "everything" and out is None and sys.stdout.isatty():
        raise UsageError("a zip file is not for a terminal: give --out, or send it to a file or a pipe")
    believes = what in EXPORTS and EXPORTS[what].believes
    whole = believes and what != "everything"
    with tempfile.TemporaryFile() as file, reading_campaign(folder, whole) as (campaign, connection):
        broken = warned(campaign, whole)
        belief = fresh_belief(connection, campaign) if believes and not broken else None
        export(connection, what, Wanted(campaign.folder, raw, pseudonyms, team, belief=belief), file)
        file.seek(0)
        deliver(file, out)
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
    from adjudge.collect.desk.imports import told
    from adjudge.collect.desk.taking import take_in_alone
    from adjudge.collect.studio import open_studio

    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file) from error
    studio = open_studio(folder)
    try:
        taken = take_in_alone(studio, content, file, judge)
    finally:
        studio.store.close()
    if taken["problems"]:
        raise InputError(told(taken["problems"]), file)
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
    from adjudge.collect.desk.deliver import deliver
    from adjudge.collect.desk.taking import program_prompts
    from adjudge.collect.entry.access import Seal, key_of
    from adjudge.collect.record.reading import reading_campaign

    with reading_campaign(folder) as (campaign, connection):
        seal = Seal(key_of(campaign.folder))
        lines = program_prompts(connection, campaign, seal, judge, limit, gold_share)
        written = deliver((line.encode() for line in lines), out)
    if out is not None:
        print(f"wrote {written:,} prompts to {out}")
