"""``adjudge campaign``: set up a campaign (new, check, gate), let people in (invite, reset), and manage its data."""

from __future__ import annotations

import shlex
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o
from adjudge.cli.help import command_group
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, UsageError, quote

if TYPE_CHECKING:
    from adjudge.studio.campaign import Campaign, Sources
    from adjudge.studio.gate_designer import Design
    from adjudge.studio.gate_error_rates import Thresholds
    from adjudge.studio.settings import Gate


DEPTH = 20  # documents of each run that are pooled
HEAD = ("worst", "best", "random", "all rel.", "all irr.", "85 % right", "95 % right")  # of the gate
STUDIO = (
    *("fastapi", "uvicorn", "jinja2", "multipart", "sqlalchemy"),
    *("argon2", "itsdangerous", "pyotp", "segno", "nh3", "pypdf"),
)
LOCAL = "http://127.0.0.1:8000"
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of the campaign.")]
Judge = Annotated[str, typer.Option("--judge", metavar="NAME", help="Name of the judge.")]
Url = Annotated[str, typer.Option(metavar="URL", help="Address under which judges reach the studio.")]

campaign = command_group(
    help="""Set up a campaign for the studio, a folder with topics, documents, gold and settings, and manage its data.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign check trial/
    """
)


@dataclass(frozen=True)
class SourceOptions:
    """The files that a campaign is made from."""

    topics: Annotated[
        str | None, typer.Option("--topics", metavar="FILE", help="Topics: TREC topics, CSV, TSV or JSON lines.")
    ] = None
    documents: Annotated[
        str | None,
        typer.Option(
            "--documents",
            metavar="PATH",
            help="Documents: a folder of .txt, .md, .html and .pdf files, a file of JSON lines, or TREC documents.",
        ),
    ] = None
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="FILE", help="Pairs to judge: a table of (topic, document), or qrels."),
    ] = None
    runs: Annotated[
        list[str] | None,
        typer.Option("--runs", metavar="FILE", help="Instead of a pool: a run of a system; repeatable."),
    ] = None
    depth: Annotated[int, typer.Option("--depth", help="With --runs: number of documents of each run to pool.")] = DEPTH
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", metavar="FILE", help="Known grades: a table of (topic, document, grade 0/1/2, reason), or qrels."
        ),
    ] = None

    def named(self) -> bool:
        """Whether any file is named."""
        return any((self.topics, self.documents, self.pool, self.runs, self.gold))

    def sources(self) -> Sources:
        """Return the files as the studio takes them."""
        from adjudge.studio.campaign import Sources

        if self.topics is None or self.documents is None:
            raise UsageError(
                "a campaign needs --topics and --documents (`adjudge campaign new trial/ --demo` needs neither)"
            )
        return Sources(
            Path(self.topics),
            Path(self.documents),
            None if self.pool is None else Path(self.pool),
            [Path(run) for run in self.runs or ()],
            None if self.gold is None else Path(self.gold),
            self.depth,
        )


SOURCES = SourceOptions()


@o.takes("options", SourceOptions, section=o.INPUT)
def new(
    folder: Folder,
    options: SourceOptions = SOURCES,
    name: Annotated[
        str | None, typer.Option("--name", metavar="TEXT", help="Name of the campaign; default: that of its folder.")
    ] = None,
    seed: o.Seed = 0,
    demo: Annotated[bool, typer.Option("--demo", help="Make the campaign that ships with the package.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files of a campaign; its judgments stay.")
    ] = False,
) -> None:
    """Make the folder of a campaign from topics, documents, pairs to judge, and gold.

    Without --pool and --runs, every document is judged for every topic. Gold becomes gold sets and qualification
    sets that judges can pass. All files can be edited afterwards; campaign.toml has every setting with a comment.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign new mine/ --topics trial/topics.jsonl --documents trial/documents.jsonl \
--gold trial/gold.csv
    $ adjudge campaign check mine/
    """
    from adjudge.studio.campaign import Created, new_campaign

    if demo and (options.named() or name is not None):
        raise UsageError("--demo has its own topics and documents: leave out --demo, or all other options")
    if demo:
        from adjudge.studio.demo import make_demo

        created = Created(make_demo(folder, force), ())
    else:
        created = new_campaign(folder, options.sources(), name=name, seed=seed, force=force)
    print(f"wrote {folder}")
    _show(created.campaign, created.notes)
    print(f"\nNext: check the settings in {Path(folder) / 'campaign.toml'}, then: adjudge serve {shlex.quote(folder)}")


def clone(
    folder: Folder,
    target: Annotated[str, typer.Argument(metavar="NEW", help="Folder of the new campaign.")],
    name: Annotated[
        str | None, typer.Option("--name", metavar="TEXT", help="Name of the clone; default: that of its folder.")
    ] = None,
    lead: Annotated[
        str, typer.Option("--lead", metavar="NAME", help="Lead of the campaign who also leads the clone.")
    ] = "",
) -> None:
    """Copy the settings, topics, documents, gold and sets of a campaign to a new folder, without its people and work.

    The clone has a key and a database of its own. With --lead, a lead of the campaign becomes the lead of the clone and
    signs in with the same password. Both audit logs note it. The studio must not be running; several campaigns that
    one studio serves are cloned on its front page.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign clone trial/ second/ --name "Second round"
    """
    require_studio()
    from adjudge.studio.clone import clone_campaign
    from adjudge.studio.studio import open_studio

    studio = open_studio(folder)
    try:
        number = studio.ledger.named.get(lead.casefold())
        if lead and (number is None or studio.ledger.people[number].role != "lead"):
            raise UsageError(f"--lead {quote(lead)} is not a lead of this campaign")
        created = clone_campaign(studio, target, name=name, lead=number)
    finally:
        studio.store.close()
    print(f"wrote {target}")
    _show(created.campaign, created.notes)


def archive(
    folder: Folder,
    reopen: Annotated[bool, typer.Option("--reopen", help="Open an archived campaign again.")] = False,
) -> None:
    """Archive a campaign: it can be read and exported, and nobody joins it, works on it or decides in it.

    Judges must have no open work. Nothing is deleted, and --reopen undoes it. The studio must not be running; while it
    runs, its desk archives and reopens.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign archive trial/
    $ adjudge campaign archive trial/ --reopen
    """
    require_studio()
    from adjudge.studio.desk.decisions import archive_campaign
    from adjudge.studio.studio import open_studio

    studio = open_studio(folder)
    try:
        studio.store.do(lambda ledger, now: archive_campaign(ledger, now, None, not reopen))
    finally:
        studio.store.close()
    print(f"{folder} is {'open again' if reopen else 'archived'}")


def check(folder: Folder) -> None:
    """Print what a campaign contains and how much work it is, or all its problems with file and line.

    If there are judgments, it also says what was judged but is no longer in the files, and what is new in them.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign check trial/
    """
    from adjudge.studio.campaign import load_campaign

    loaded = load_campaign(folder)
    _show(loaded, _changes(loaded))
    print(f"\nNo problems. Next: adjudge serve {shlex.quote(folder)}")


def _changes(loaded: Campaign) -> tuple[str, ...]:
    """Return how the files have changed since judging began; nothing if there is no database file to read."""
    if find_spec("sqlalchemy") is None or not (loaded.folder / loaded.settings.store.database).is_file():
        return ()
    from adjudge.studio.desk.overview import file_changes
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(loaded.folder) as (campaign, connection):
        return tuple(file_changes(connection, campaign))


def _show(loaded: Campaign, notes: tuple[str, ...] = ()) -> None:
    """Print a campaign in figures, with warnings for the lead."""
    from adjudge.studio.campaign import summary

    for name, figures in summary(loaded):
        print(f"  {name:<20}{figures}")
    for sentence in (*notes, *loaded.warnings):
        warnings.warn(sentence, AdjudgeWarning, stacklevel=2)


def warn_broken(loaded: Campaign, complete: bool = False) -> bool:
    """Warn of problems in a campaign's files, and return whether there are any; a ``complete`` one has none."""
    broken = not complete and not loaded.topics
    for sentence in loaded.warnings if broken else ():
        warnings.warn(sentence, AdjudgeWarning, stacklevel=2)
    return broken


def gate(
    folder: Folder,
    compositions: Annotated[
        bool,
        typer.Option(
            "--compositions", help="Show every possible composition of a gold set, not the gold sets of the campaign."
        ),
    ] = False,
    solve: Annotated[
        float | None,
        typer.Option(
            "--solve", metavar="RATE", help="Find the highest thresholds that refuse at most this share of judges."
        ),
    ] = None,
    accuracy: Annotated[
        float, typer.Option(metavar="SHARE", help="With --solve: how often these judges are right.")
    ] = 0.95,
) -> None:
    """Print for every gold set which judges the gate accepts and which it refuses.

    worst and best are the NDCG that a ranking without ties can reach. random, all rel. and all irr. are how often the
    gate accepts a judge who answers at random, who calls everything relevant, and who calls everything irrelevant; the
    last columns are how often it refuses a judge who is right about 85 or 95 % of documents. The rates are exact: every
    possible answer is enumerated. A gold set that nobody can pass is an error.

    --solve finds thresholds instead: it keeps the binary threshold if possible, lowers it if necessary, and sets NDCG
    as high as the given rate allows, for all gold sets together.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign gate trial/
    $ adjudge campaign gate trial/ --compositions
    $ adjudge campaign gate trial/ --solve 0.05 --accuracy 0.95
    """
    from adjudge.studio.campaign import load_campaign
    from adjudge.studio.gate_designer import compositions as all_compositions
    from adjudge.studio.gate_designer import design, gate_table, solve_sets

    if solve is not None and compositions:
        raise UsageError("--solve works on the gold sets of the campaign: leave out --compositions")
    campaign = load_campaign(folder)
    settings = campaign.settings
    if compositions:
        grades = all_compositions(settings.assignment.documents)
        every = [(_grades(each), design(each, settings.gate)) for each in grades]
        _show_gate(every, "composition", "compositions of a gold set", settings.gate)
        return
    sets = gate_table(campaign)
    if solve is not None:
        solved = solve_sets([row.grades for row in sets], solve, accuracy, settings.gate)
        _show_solved(solved, settings.gate, solve, accuracy, len(sets))
        return
    designs = [(f"{row.name} ({_grades(sorted(row.grades))})", row.design) for row in sets]
    _show_gate(designs, "gold set", "gold sets", settings.gate)
    _warn_of_sets(designs)


def _warn_of_sets(designs: Sequence[tuple[str, Design]]) -> None:
    """Warn of gold sets that the gate cannot judge well."""
    for name, each in designs:
        for sentence in each.warnings:
            warnings.warn(f"{name}: {sentence}", AdjudgeWarning, stacklevel=3)


def _show_gate(designs: Sequence[tuple[str, Design]], head: str, plural: str, gate: Gate) -> None:
    """Print whom the gate accepts and refuses, one design per row."""
    from adjudge.cli.output import console, table

    title = f"{len(designs)} {plural}; binary >= {gate.binary:g}, NDCG >= {gate.ndcg:g} of the {gate.ndcg_of} ideal"
    rows = [(name, *_figures(design), "" if design.feasible else "nobody can pass") for name, design in designs]
    console().print(table(title, (head, *HEAD, ""), rows))


def _grades(grades: Sequence[int]) -> str:
    """Return grades as text."""
    return " ".join(map(str, grades))


def _figures(design: Design) -> list[Any]:
    """Return the figures of a gold set as text."""
    ndcg = [f"{score:.3f}" if score == score else "0/0" for score in (design.worst, design.best)]
    return [*ndcg, *_percent(design.false_accept), *_percent(design.false_refuse)]


def _percent(rates: Mapping[Any, float]) -> list[str]:
    """Return rates in percent."""
    return [f"{rate:.0%}" for rate in rates.values()]


def _show_solved(solved: Thresholds, gate: Gate, rate: float, accuracy: float, sets: int) -> None:
    """Print thresholds as they stand in campaign.toml, and their error rates."""
    print(f"For {sets} gold sets, judges who are right {accuracy:.0%} of the time, at most {rate:.1%} of them refused:")
    print(f'\n[gate]\nbinary = {solved.binary:g}\nndcg = {solved.ndcg:g}\nndcg_of = "{gate.ndcg_of}"\n')
    accepted = ", ".join(f"{spammer} {share:.0%}" for spammer, share in solved.false_accept.items())
    print(f"At worst it refuses {solved.false_refuse:.1%} of these judges, and accepts spammers: {accepted}.")


def require_studio() -> None:
    """Raise an error with the line to type if the studio's packages are not installed."""
    if not all(find_spec(name) for name in STUDIO):
        raise MissingExtra("'adjudge[studio]'", "the studio")


def export_(
    folder: Folder,
    content: Annotated[
        str,
        typer.Option("--what", metavar="WHAT", help="judgments, qrels, uncertainty, task1, task2, run or everything."),
    ] = "judgments",
    out: Annotated[str | None, o.out_option("FILE", "Write to this file; default: print.")] = None,
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
    require_studio()
    from adjudge.studio.consensus import fresh_belief, fresh_grades
    from adjudge.studio.desk.exports import EXPORTS, ExportOptions, export, write_chunks
    from adjudge.studio.studio import reading_campaign

    if content == "everything" and out is None and sys.stdout.isatty():
        raise UsageError("a zip file cannot be shown in a terminal: give --out, or redirect it to a file or a pipe")
    believes = content in EXPORTS and EXPORTS[content].believes
    complete = believes and content != "everything"
    with tempfile.TemporaryFile() as file, reading_campaign(folder, complete) as (campaign, connection):
        broken = warn_broken(campaign, complete)
        belief = fresh_belief(connection, campaign) if believes and not broken else None
        grades = None if belief is None else fresh_grades(connection, campaign)
        options = ExportOptions(campaign.folder, raw, pseudonyms, team, belief=belief, grades=grades)
        export(connection, content, options, file)
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
    require_studio()
    from adjudge.studio.desk.imports import import_file_offline, list_problems
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
    out: Annotated[str | None, o.out_option("FILE", "Write to this file; default: print.")] = None,
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
    from adjudge.studio.access import Signer, load_key
    from adjudge.studio.desk.exports import write_chunks
    from adjudge.studio.desk.prompts import program_prompts
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(folder) as (campaign, connection):
        signer = Signer(load_key(campaign.folder))
        lines = program_prompts(connection, campaign, signer, judge, limit, gold_share)
        written = write_chunks((line.encode() for line in lines), out)
    if out is not None:
        print(f"wrote {written:,} prompts to {out}")


def backup(
    folder: Folder,
    out: Annotated[str, o.out_option("FILE", "Zip file to write.")],
    drill: Annotated[
        bool, typer.Option("--drill", help="Restore it to a temporary folder, and compare it with the record.")
    ] = False,
) -> None:
    """Back up a campaign to one zip file: its files, and a snapshot of its database.

    It can run while the studio runs, with SQLite and with PostgreSQL. It does not contain the key that signs sessions
    and invitations, so a lost backup gives nobody access. `adjudge campaign restore` makes a campaign of it again.

    \b
    $ adjudge campaign backup my-campaign --out monday.zip
    $ adjudge campaign restore monday.zip again
    """
    require_studio()
    from adjudge.studio import backups
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(folder) as (loaded, connection):
        rows = backups.back_up(connection, loaded, Path(out))
    print(f"wrote {out}: {rows:,} rows")
    if drill:
        done = backups.drill(Path(folder), Path(out))
        print(f"restored to a temporary folder and compared with the record: nothing is wrong, {done.seconds:.1f} s")
        print(f"head   {done.backup.seal.hash} (entry {done.backup.seal.entry}); {done.later} entries came since")


def restore(
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="Zip file of `adjudge campaign backup`.")],
    folder: Annotated[str | None, typer.Argument(metavar="FOLDER", help="New folder of the campaign.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Only check that the backup can be restored.")] = False,
    erase: Annotated[
        str, typer.Option("--erase", metavar="NAME", help="Leave out who this person is; their judgments stay.")
    ] = "",
    comments: Annotated[bool, typer.Option("--comments", help="With --erase: leave out their comments too.")] = False,
) -> None:
    """Restore a campaign from a backup to a new folder, after all checks of `adjudge campaign verify`.

    The database becomes the one that the settings name, a file in the folder or PostgreSQL, or that of
    ADJUDGE_DATABASE. Nothing is overwritten: a folder with files and a database with a record are refused. Sessions and
    open invitations end, because the key is not in a backup. The audit log says that the record was restored.

    With --erase, the record is written again without the identity of a person: their name becomes a pseudonym such as
    judge-7, and their password and ids on crowd platforms are left out. The new audit log begins with the head of the
    old one. Then delete the old folder or database, and all backups that have the name.

    \b
    $ adjudge campaign restore monday.zip again
    $ adjudge campaign restore monday.zip --check
    $ adjudge campaign restore monday.zip without-ann --erase ann
    """
    require_studio()
    from adjudge.studio import backups

    if check == (folder is not None):
        raise UsageError("name the new folder, or give --check without a folder")
    if (check and erase) or (comments and not erase):
        raise UsageError("--erase needs a new folder, and --comments needs --erase")
    if folder is None:
        done = backups.check(Path(backup))
    else:
        done = backups.restore(Path(backup), Path(folder), erase, comments)
    rows = f"{sum(done.rows.values()):,} rows, " if done.rows else ""
    print(f"{'can be restored' if folder is None else f'restored to {folder}'}: {rows}made {done.created}")
    print(f"head   {done.seal.hash or 'unknown'} (entry {done.seal.entry} of the audit log)")


def verify(
    folder: Folder,
    noted: Annotated[
        str, typer.Option("--head", metavar="HASH", help="A head that was noted down: the record must contain it.")
    ] = "",
) -> None:
    """Verify that nothing in the record of a campaign was lost, duplicated or changed.

    Checks the seal and the checksums of the database, the hash chain of the audit log, the hashes of all rows and of
    all accepted judgments, and that no item was judged twice by one person or more often than required. It prints the
    head of the record: note it down elsewhere, and compare it later with --head. It can run while the studio runs. The
    exit code is 1 if anything is wrong.

    \b
    $ adjudge campaign verify my-campaign
    $ adjudge campaign verify my-campaign --head 5f0c7e1b92d4
    """
    require_studio()
    from adjudge.studio.record.audit import CHECKS
    from adjudge.studio.record.damage import problems_of
    from adjudge.studio.record.seal import compare_head, read_head
    from adjudge.studio.studio import reading_campaign

    faults = 0
    with reading_campaign(folder, complete=False) as (loaded, connection):
        warn_broken(loaded)
        for name, check in CHECKS.items():
            faults += _show_problems(name, problems_of(check, connection, loaded))
        if noted:
            contained, sentence = compare_head(connection, noted)
            faults += _show_problems("the head that was noted down", [] if contained else [sentence])
            print(f"         {sentence}" * contained)
        entry, hash_ = read_head(connection)
        print(f"head   {hash_ or 'none'} (entry {entry} of the audit log)")
    if faults:
        raise typer.Exit(1)


def history(
    folder: Folder,
    revision: Annotated[
        int | None, typer.Option("--revision", min=1, metavar="N", help="Show the differences of one revision.")
    ] = None,
) -> None:
    """List the changes of a campaign's files: when, who, which files, and what has changed.

    The studio records the files when it starts and at every change, at the desk or outside of it. It can run while the
    studio runs.

    \b
    $ adjudge campaign history my-campaign
    $ adjudge campaign history my-campaign --revision 7
    """
    require_studio()
    from adjudge.studio.desk.differences import revision_differences
    from adjudge.studio.record.revisions import list_changes
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(folder, complete=False) as (loaded, connection):
        warn_broken(loaded)
        if revision is not None:
            for line in revision_differences(connection, revision):
                print(f"{line.sign} {line.text}")
            return
        for change in reversed(list_changes(connection, most=sys.maxsize >> 1)):
            at = datetime.fromtimestamp(change.at, UTC).strftime("%Y-%m-%d %H:%M")
            files = ", ".join(f"{part.file} (revision {part.id})" for part in change.revisions)
            print(f"{at}  {change.by or 'studio'}: {files}")
            for sentence in change.note.splitlines():
                print(f"    {sentence}")


def _show_problems(name: str, problems: Sequence[str]) -> int:
    """Print a check with its problems, and return how many there are."""
    print(f"{'ok   ' if not problems else 'WRONG'}  {name}")
    for sentence in problems[:20]:
        print(f"         {sentence}")
    if len(problems) > 20:
        print(f"         and {len(problems) - 20:,} more")
    return len(problems)


def reseal(folder: Folder) -> None:
    """Accept the record of a campaign as it is now, although it does not fit the seal; the audit log says so.

    The studio refuses a database whose end was cut off, that was replaced by an older one, or that belongs to another
    campaign. If that is what you want, for example because you put back an old file on purpose, this seals the record
    again. What is wrong is printed, and stays in the audit log. The studio must not be running.

    \b
    $ adjudge campaign reseal my-campaign
    """
    require_studio()
    from adjudge.studio.studio import open_studio

    studio = open_studio(folder, accept="accepted from the command line")
    studio.store.close()
    print(*studio.store.notes, sep="\n")


def invite(
    folder: Folder,
    role: Annotated[str, typer.Option(help="judge, reviewer or lead.")] = "judge",
    name: Annotated[str, typer.Option(help="Name of the person; they can choose another.")] = "",
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Number of links; 1 for a lead.")] = 1,
    url: Url = LOCAL,
) -> None:
    """Print invitation links, each of which can be used once. While the studio runs, its desk makes them.

    A new invitation of a lead withdraws the open ones that the command line made before.

    \b
    $ adjudge campaign invite my-campaign --count 20 --url https://judge.example.org
    """
    if role not in ("judge", "reviewer", "lead"):
        raise UsageError(f"--role {quote(role)} is not one of judge, reviewer, lead")
    if role == "lead" and count > 1:
        raise UsageError(f"--count is {count}, but the command line invites one lead at a time: leave it out")
    require_studio()
    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import invitation_link

    studio = open_studio(folder)
    try:
        for _ in range(count):
            print(f"{url.rstrip('/')}{invitation_link(studio, role, name)}")
    finally:
        studio.store.close()


def webhooks(
    folder: Folder,
    test: Annotated[bool, typer.Option("--test", help="Send a signed test event to each address.")] = False,
    secret: Annotated[
        bool, typer.Option("--secret", help="Print the secret that receivers verify signatures with.")
    ] = False,
) -> None:
    """Print the addresses that events of a campaign are sent to, and test them.

    Addresses are in the section [webhooks] of campaign.toml. It can run while the studio runs. The exit code is 1 if an
    address did not acknowledge the test.

    \b
    $ adjudge campaign webhooks my-campaign --test
    """
    require_studio()
    from adjudge.studio.access import Signer, load_key
    from adjudge.studio.campaign import load_campaign
    from adjudge.studio.webhooks import secret_text, send_test, signing_secret

    loaded = load_campaign(folder)
    key = signing_secret(Signer(load_key(loaded.folder)).webhook_secret())
    if secret:
        print(secret_text(key))
    elif not loaded.settings.webhooks.urls:
        print("no addresses: write them to urls in the section [webhooks] of campaign.toml")
    answers = {url: send_test(url, key, loaded.settings) if test else "" for url in loaded.settings.webhooks.urls}
    for url, problem in answers.items():
        print(f"{url}: {problem or 'acknowledged'}" if test else url)
    if any(answers.values()):
        raise typer.Exit(1)


def reset(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the person.")],
    second_factor: Annotated[
        bool, typer.Option("--second-factor", help="Remove the person's second factor as well.")
    ] = False,
    url: Url = LOCAL,
) -> None:
    """Print a link by which a person sets a new password. It can be used once, and for a day.

    The person keeps their role and their judgments. While the studio runs, its desk makes such links.

    \b
    $ adjudge campaign reset my-campaign lea --url https://judge.example.org
    """
    require_studio()
    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import reset_link

    studio = open_studio(folder)
    try:
        print(f"{url.rstrip('/')}{reset_link(studio, name, second_factor)}")
    finally:
        studio.store.close()
