"""``adjudge campaign``: make a campaign's folder, and check it."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o
from adjudge.errors import AdjudgeWarning, UsageError

if TYPE_CHECKING:
    from adjudge.studio.campaign.campaign import Campaign
    from adjudge.studio.gates.designer import Design
    from adjudge.studio.gates.error_rates import Thresholds
    from adjudge.studio.settings import Gate


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
    from adjudge.errors import UsageError
    from adjudge.studio.campaign.create import Created, Sources, new_campaign

    given = (topics, documents, pool, gold, name, *(runs or ()))
    if demo and any(one is not None for one in given):
        raise UsageError("the demo has topics and documents of its own: leave out --demo, or all else")
    if demo:
        from adjudge.studio.demo import make_demo

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
    from adjudge.studio.campaign.campaign import load_campaign

    loaded = load_campaign(folder)
    _show(loaded, _since(loaded))
    print(f"\nNothing is wrong. Next: adjudge serve {shlex.quote(folder)}")


def _since(loaded: Campaign) -> tuple[str, ...]:
    """Return how the files have changed since work began, where it has and its database is a file that can be read."""
    if find_spec("sqlalchemy") is None or not (loaded.folder / loaded.settings.store.database).is_file():
        return ()
    from adjudge.studio.desk.overview import file_changes
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(loaded.folder) as (campaign, connection):
        return tuple(file_changes(connection, campaign))


def _show(made: Campaign, notes: tuple[str, ...] = ()) -> None:
    """Print a campaign in figures, and warn of what a lead should know."""
    from adjudge.studio.campaign.campaign import summary

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


# ``adjudge campaign gate``: whom the gate refuses and whom it takes, before anybody meets it.

HEAD = ("worst", "best", "random", "all rel.", "all irr.", "85 % right", "95 % right")


def gate(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The campaign's folder.")],
    compositions: Annotated[
        bool, typer.Option("--compositions", help="Every composition that a gold set can have, not the sets there are.")
    ] = False,
    solve: Annotated[
        float | None,
        typer.Option(
            "--solve", metavar="RATE", help="Find the highest thresholds that refuse no more than this share."
        ),
    ] = None,
    accuracy: Annotated[
        float, typer.Option(metavar="SHARE", help="With --solve: of judges who are right this often.")
    ] = 0.95,
) -> None:
    """Say of every gold set whom the gate takes and whom it refuses.

    Worst and best are the NDCG that strict ranks can reach. Random, all rel. and all irr. are how often it takes
    who tosses coins, who calls everything relevant, and who calls everything irrelevant; the last columns are how
    often it refuses a judge who is right about 85 or 95 % of documents. Nothing is estimated: every answer that
    can be given is looked at. A campaign with a set that nobody can pass is refused, with the reason.

    --solve turns it round: it keeps the binary threshold where it may, lowers it where it must, and sets NDCG as
    high as the wish allows, for every gold set at once.

    \b
    $ adjudge campaign new trial/ --demo
    $ adjudge campaign gate trial/
    $ adjudge campaign gate trial/ --compositions
    $ adjudge campaign gate trial/ --solve 0.05 --accuracy 0.95
    """
    from adjudge.studio.campaign.campaign import load_campaign
    from adjudge.studio.gates.designer import compositions as all_compositions
    from adjudge.studio.gates.designer import design, gate_table, solve_sets

    if solve is not None and compositions:
        raise UsageError("--solve is for the gold sets there are: leave out --compositions")
    campaign = load_campaign(folder)
    settings = campaign.settings
    if compositions:
        every = [
            (_shown(grades), design(grades, settings.gate))
            for grades in all_compositions(settings.assignment.documents)
        ]
        _campaign_gate_show(every, "composition", "compositions of a gold set", settings.gate)
        return
    sets = gate_table(campaign)
    if solve is not None:
        solved = solve_sets([row.grades for row in sets], solve, accuracy, settings.gate)
        _show_solved(solved, settings.gate, solve, accuracy, len(sets))
        return
    designs = [(f"{row.name} ({_shown(sorted(row.grades))})", row.design) for row in sets]
    _campaign_gate_show(designs, "gold set", "gold sets", settings.gate)
    for name, found in designs:
        for sentence in found.warnings:
            warnings.warn(f"{name}: {sentence}", AdjudgeWarning, stacklevel=2)


def _campaign_gate_show(designs: Sequence[tuple[str, Design]], head: str, what: str, asked: Gate) -> None:
    """Print what the gate does, a row each."""
    from adjudge.cli.show import console, table

    title = f"{len(designs)} {what}; binary >= {asked.binary:g}, NDCG >= {asked.ndcg:g} of the {asked.ndcg_of} ideal"
    rows = [(name, *_figures(design), "" if design.feasible else "nobody can pass") for name, design in designs]
    console().print(table(title, (head, *HEAD, ""), rows))


def _shown(grades: Sequence[int]) -> str:
    """Return grades as one reads them."""
    return " ".join(map(str, grades))


def _figures(found: Design) -> list[Any]:
    """Return the figures of a set, as people read them."""
    ndcg = [f"{score:.3f}" if score == score else "0/0" for score in (found.worst, found.best)]
    return [*ndcg, *_percent(found.false_accept), *_percent(found.false_refuse)]


def _percent(rates: Mapping[Any, float]) -> list[str]:
    """Return rates in percent."""
    return [f"{rate:.0%}" for rate in rates.values()]


def _show_solved(found: Thresholds, asked: Gate, wanted: float, accuracy: float, sets: int) -> None:
    """Print thresholds as campaign.toml writes them, and what they do."""
    print(
        f"For {sets} gold sets, judges who are right {accuracy:.0%} of the time, at most {wanted:.1%} of them refused:"
    )
    print(f'\n[gate]\nbinary = {found.binary:g}\nndcg = {found.ndcg:g}\nndcg_of = "{asked.ndcg_of}"\n')
    taken = ", ".join(f"{spammer} {rate:.0%}" for spammer, rate in found.false_accept.items())
    print(f"At worst it refuses {found.false_refuse:.1%} of these judges, and takes spammers: {taken}.")
