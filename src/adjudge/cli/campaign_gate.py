"""``adjudge campaign gate``: whom the gate refuses and whom it takes, before anybody meets it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.errors import AdjudgeWarning, UsageError

if TYPE_CHECKING:
    from adjudge.collect.gate.designer import Design
    from adjudge.collect.gate.thresholds import Thresholds
    from adjudge.collect.settings import Gate

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
    from adjudge.collect.files.campaign import load_campaign
    from adjudge.collect.gate.designer import compositions as all_compositions
    from adjudge.collect.gate.designer import design, gate_table, solve_sets

    if solve is not None and compositions:
        raise UsageError("--solve is for the gold sets there are: leave out --compositions")
    campaign = load_campaign(folder)
    settings = campaign.settings
    if compositions:
        every = [
            (_shown(grades), design(grades, settings.gate))
            for grades in all_compositions(settings.assignment.documents)
        ]
        _show(every, "composition", "compositions of a gold set", settings.gate)
        return
    sets = gate_table(campaign)
    if solve is not None:
        solved = solve_sets([row.grades for row in sets], solve, accuracy, settings.gate)
        _show_solved(solved, settings.gate, solve, accuracy, len(sets))
        return
    designs = [(f"{row.name} ({_shown(sorted(row.grades))})", row.design) for row in sets]
    _show(designs, "gold set", "gold sets", settings.gate)
    for name, found in designs:
        for sentence in found.warnings:
            warnings.warn(f"{name}: {sentence}", AdjudgeWarning, stacklevel=2)


def _show(designs: Sequence[tuple[str, Design]], head: str, what: str, asked: Gate) -> None:
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
