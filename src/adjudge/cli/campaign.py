"""``adjudge campaign``: make a campaign's folder, and check it."""

from __future__ import annotations

import shlex
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o
from adjudge.errors import AdjudgeWarning

if TYPE_CHECKING:
    from adjudge.collect.files.campaign import Campaign

DEPTH = 20
Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="The campaign's folder.")]

campaign = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@campaign.callback()
def about() -> None:
    """Make a campaign for the studio, and check it: a folder with topics, documents, gold and settings.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign check trial/
    """


@campaign.command(no_args_is_help=True)
def new(
    folder: Folder,
    topics: Annotated[
        str | None, typer.Option("--topics", metavar="FILE", help="TREC topics, CSV, TSV or JSON lines.")
    ] = None,
    documents: Annotated[
        str | None,
        typer.Option(
            "--documents",
            metavar="PATH",
            help="A folder of .txt, .md, .html and .pdf, a file of JSON lines, or TREC documents.",
        ),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option("--pool", metavar="FILE", help="What is judged: a table of (topic, document), or qrels."),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option("--runs", metavar="FILE", help="Instead of a pool, a run of a system; may be repeated."),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", metavar="FILE", help="What is known: a table of (topic, document, grade 0/1/2, reason), or qrels."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="TEXT", help="What the campaign is called; as its folder.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="How many documents of each run are pooled.")] = DEPTH,
    seed: o.Seed = 0,
    demo: Annotated[bool, typer.Option("--demo", help="The campaign that ships with the package.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a campaign's files; judgments already made are not touched.")
    ] = False,
) -> None:
    """Make a campaign's folder from topics, documents, what is to be judged, and what is known.

    Without --pool and --runs every document is judged for every topic. Gold becomes gold sets and qualification
    sets that judges can pass. All files may be edited afterwards; campaign.toml has every setting with a comment.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign new mine/ --topics trial/topics.jsonl --documents trial/documents.jsonl \
--gold trial/gold.csv
    $ adjudge campaign check mine/
    """
    from adjudge.collect.files.create import Created, Sources, new_campaign
    from adjudge.errors import UsageError

    given = (topics, documents, pool, gold, name, *(runs or ()))
    if demo and any(one is not None for one in given):
        raise UsageError("the demo has topics and documents of its own: leave out --demo, or all else")
    if demo:
        from adjudge.collect.files.demo import make_demo

        created = Created(make_demo(folder, force), ())
    elif topics is None or documents is None:
        raise UsageError(
            "a campaign needs --topics and --documents; `adjudge campaign new trial/ --demo` needs neither"
        )
    else:
        sources = Sources(
            Path(topics),
            Path(documents),
            None if pool is None else Path(pool),
            [Path(run) for run in runs or ()],
            None if gold is None else Path(gold),
            depth,
        )
        created = new_campaign(folder, sources, name=name, seed=seed, force=force)
    print(f"wrote {folder}")
    _show(created.campaign, created.notes)
    print(f"\nNext: look through {Path(folder) / 'campaign.toml'}, then: adjudge serve {shlex.quote(folder)}")


@campaign.command(no_args_is_help=True)
def check(folder: Folder) -> None:
    """Say what is in a campaign and how much work it is, or every problem that it has, with file and line.

    Once there is work, it also says what was judged and is gone from the files, and what is new in them.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign check trial/
    """
    from adjudge.collect.files.campaign import load_campaign

    loaded = load_campaign(folder)
    _show(loaded, _since(loaded))
    print(f"\nNothing is wrong. Next: adjudge serve {shlex.quote(folder)}")


def _since(loaded: Campaign) -> tuple[str, ...]:
    """Return how the files have changed since work began, where it has and its database is a file that can be read."""
    if find_spec("sqlalchemy") is None or not (loaded.folder / loaded.settings.store.database).is_file():
        return ()
    from adjudge.collect.desk.changed import changed
    from adjudge.collect.record.reading import reading_campaign

    with reading_campaign(loaded.folder) as (campaign, connection):
        return tuple(changed(connection, campaign))


def _show(made: Campaign, notes: tuple[str, ...] = ()) -> None:
    """Print a campaign in figures, and warn of what a lead should know."""
    from adjudge.collect.files.summary import summary

    for what, figures in summary(made):
        print(f"  {what:<20}{figures}")
    for sentence in (*notes, *made.warnings):
        warnings.warn(sentence, AdjudgeWarning, stacklevel=2)


def warned(loaded: Campaign, whole: bool = False) -> bool:
    """Return whether a campaign's files have problems, after warning of them; ``whole`` says that they cannot have."""
    broken = not whole and not loaded.topics
    for sentence in loaded.warnings if broken else ():
        warnings.warn(sentence, AdjudgeWarning, stacklevel=2)
    return broken
