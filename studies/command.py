"""``python -m studies``: a paper's comparison, on all its sets, as a table and a figure."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from studies.outcome import Outcome


app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
WHOLE = 200  # characters of a cell: sentences are not cut


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which study; without it, all are listed.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Where the sets are, a folder with labels.csv and gold.csv each; by default data/ of the folder "
            "that ADJUDGE_SHARED names, or ../shared/data.",
        ),
    ] = None,
    sets: Annotated[
        str | None, typer.Option("--sets", metavar="A,B,C", help="Which sets; by default the study's own.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Write study_NAME.csv and the figure study_NAME.svg here; trec2011 adds its four figures and the "
            "run files of the track's task 2, calibration and rerank keep what is finished in cells/, and go on from "
            "there.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print the whole table for machines: csv, jsonl or parquet."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Draws of items, for the intervals and tests.")
    ] = 1_000,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="How often spectrum draws its crowds, and memory its splits; 100 if not said. Of rerank, 10.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", metavar="5,50", help="Numbers of items (spectrum), or of labels an item (memory)."),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    r"""Repeat a paper's comparison: many methods held against truths that are known.

    ordinal and vote compare models on sets: any folders with labels.csv and gold.csv, such as adjudge
    simulate writes. trec2011 does so for what gold may tell, in five folds. No method is told the truth of an
    item that it is scored on. Intervals are of 95 % of bootstrap draws of the items; p is of a method against
    the best of its set (exact McNemar test for accuracy, random signs for losses, with Holm's correction).

    spectrum draws crowds of three judges anew in each run, and shows how many items a model needs; memory
    splits the items of a set anew, and shows whether it helps to remember judges. Intervals are then of the
    means over runs. Both use all cores, and take minutes: begin with --runs 5. Ctrl-C keeps what is finished.

    rerank trains rankers on crowds' labels by the weights of paper 004, by posteriors and by soft labels, in five
    folds by question.

    calibration measures the probabilities of every model on every set that has gold: its own, those that are
    calibrated by judgments and, of three models, by gold in five folds. It uses all cores and takes a while. With
    --out, a study of rerank or calibration that was ended goes on where it was.

    \b
    $ python -m studies
    $ adjudge simulate ordinal --size items=200 --out crowds/a
    $ python -m studies ordinal --data crowds --sets a --draws 100 --out results
    $ python -m studies spectrum --runs 2 --sizes 5,50
    """
    from rich.console import Console

    from adjudge.cli.output import check_fit_folder, check_output
    from studies.outcome import Asked
    from studies.registry import known_study
    from studies.rerank.command import known

    if name is None:
        _list()
        return
    with Console(stderr=True).status("") as line:  # it is there on a screen only
        asked = Asked(data, o.label_list(sets), runs, _sizes(sizes), seed, draws, _cores(), line.update, out)
        chosen = known_study(name, asked, known(out))
        check_output(format, ())
        check_fit_folder(out, ())
        found = chosen.run(asked)
    _deliver(found, format)
    for warning in found.warnings():
        print(f"adjudge: warning: {warning}", file=sys.stderr)
    if out is not None:
        _write(found, name, out, quiet=format is not None)
    if found.interrupted:
        raise typer.Exit(130)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _list() -> None:
    """Print the studies."""
    from adjudge.cli.show import console, table
    from studies.registry import ALL
    from studies.rerank.command import known

    every = {**ALL, **known()}
    rows = [(name, one.title, one.paper) for name, one in every.items()]
    console().print(table("Studies", ("name", "what is compared", "paper"), rows))
    for name, one in every.items():
        console().print(f"\n{name}, {one.on}")


def _sizes(text: str | None) -> list[int] | None:
    """Return --sizes as numbers."""
    parts = o.label_list(text)
    if parts is None:
        return None
    if not parts or not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is not of the form 5,50,500")
    return [int(part) for part in parts]


def _deliver(found: Outcome, format: str | None) -> None:  # noqa: A002
    """Print the whole table for machines, or what people want to see of it."""
    from adjudge.cli.show import console, table
    from adjudge.data.write import frame, table_text

    if format is not None:
        sys.stdout.buffer.write(table_text(frame(found.columns()), format))
        sys.stdout.buffer.flush()
        return
    for n, shown in enumerate(found.tables()):
        if n:
            print()
        console().print(table(*shown, longest=WHOLE))


def _write(found: Outcome, name: str, out: str, quiet: bool) -> None:
    """Write the table, and then the rest: a figure may need what is not installed."""
    from adjudge.data.write import frame, table_text, write_whole

    def write(end: str, content: bytes) -> None:
        write_whole({f"study_{name}{end}": content}, out)
        if not quiet:
            print(f"wrote study_{name}{end} to {out}", flush=True)

    write(".csv", table_text(frame(found.columns()), "csv"))
    for end, make in found.files().items():
        write(end, make())
