"""``python -m studies``: run a study of a paper, and print and write its tables and figures."""

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
LONGEST = 200  # characters of a cell, so that sentences are not cut


@app.command()
def study(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Name of a study. Without it, all studies are listed.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Folder of the sets, which are folders with labels.csv and gold.csv. Default: data/ in the "
            "folder that ADJUDGE_SHARED names, or ../shared/data.",
        ),
    ] = None,
    sets: Annotated[
        str | None, typer.Option("--sets", metavar="A,B,C", help="Names of sets. Default: those of the study.")
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Write study_NAME.csv and the figure study_NAME.svg to this folder. ordinal also writes its curves, "
            "trec2011 its four figures and run files. calibration and rerank store finished parts in cells/ and "
            "continue from there.",
        ),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print all results in this format: csv, jsonl or parquet."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Bootstrap draws of items, for intervals and tests.")
    ] = 1_000,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Simulated crowds of spectrum, splits of memory (default 100), draws of the curves of ordinal, or "
            "runs of rerank (default 10).",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", metavar="5,50", help="Numbers of items (spectrum), or of labels per item (memory)."),
    ] = None,
    seed: o.Seed = 0,
) -> None:
    r"""Run a study of a paper: compare many methods on data with known truth.

    ordinal and vote compare models on sets: folders with labels.csv and gold.csv, such as adjudge simulate
    writes. trec2011 compares uses of gold, in five folds. No method knows the truth of an item that it is scored
    on. Intervals are 95 % bootstrap intervals over items; p compares a method with the best of its set (exact
    McNemar test for accuracy, sign flips for losses, with Holm's correction).

    Without --sets, ordinal also draws curves by the number of judgments and by the number of labels, and compares types
    of task.

    spectrum simulates crowds of three judges in each run, and shows how many items a model needs. memory splits
    the items of a set at random in each run, and shows whether it helps to remember judges. Their intervals are
    those of means over runs. Both use all cores and take minutes: try --runs 5 first. Ctrl-C keeps what is
    finished.

    rerank trains rankers on labels of crowds, with the weights of paper 004, posteriors and soft labels, in five
    folds by question.

    calibration scores the probabilities of every model on every set with gold: uncalibrated, calibrated by
    judgments and, for three models, by gold in five folds. It uses all cores and takes long. With --out, an
    interrupted study of rerank or calibration continues where it stopped.

    \b
    $ python -m studies
    $ adjudge simulate ordinal --size items=200 --out crowds/a
    $ python -m studies ordinal --data crowds --sets a --draws 100 --out results
    $ python -m studies spectrum --runs 2 --sizes 5,50
    """
    from rich.console import Console

    from adjudge.cli.output import check_fit_folder, check_output
    from studies.outcome import StudyOptions
    from studies.registry import find_study

    if name is None:
        _list()
        return
    with Console(stderr=True).status("") as line:  # only shown in a terminal
        options = StudyOptions(data, o.label_list(sets), runs, _sizes(sizes), seed, draws, _cores(), line.update, out)
        chosen = find_study(name, options)
        check_output(format, ())
        check_fit_folder(out, ())
        outcome = chosen.run(options)
    _deliver(outcome, format)
    for warning in outcome.warnings():
        print(f"adjudge: warning: {warning}", file=sys.stderr)
    if out is not None:
        _write(outcome, name, out, quiet=format is not None)
    if outcome.interrupted:
        raise typer.Exit(130)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _list() -> None:
    """Print a list of the studies."""
    from adjudge.cli.output import console, table
    from studies.registry import ALL

    rows = [(name, entry.title, entry.paper) for name, entry in ALL.items()]
    console().print(table("Studies", ("name", "comparison", "paper"), rows))
    for name, entry in ALL.items():
        console().print(f"\n{name}, {entry.on}")


def _sizes(text: str | None) -> list[int] | None:
    """Return --sizes as numbers."""
    parts = o.label_list(text)
    if parts is None:
        return None
    if not parts or not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"{text!r} is not of the form 5,50,500")
    return [int(part) for part in parts]


def _deliver(outcome: Outcome, format: str | None) -> None:  # noqa: A002
    """Print all results in a format, or the tables."""
    from adjudge.cli.output import console, table
    from adjudge.data.write import frame, table_text

    if format is not None:
        sys.stdout.buffer.write(table_text(frame(outcome.columns()), format))
        sys.stdout.buffer.flush()
        return
    for n, content in enumerate(outcome.tables()):
        if n:
            print()
        console().print(table(*content, longest=LONGEST))


def _write(outcome: Outcome, name: str, out: str, quiet: bool) -> None:
    """Write the results, and then the other files, since a figure needs an extra."""
    from adjudge.data.write import frame, table_text, write_whole

    def write(end: str, content: bytes) -> None:
        write_whole({f"study_{name}{end}": content}, out)
        if not quiet:
            print(f"wrote study_{name}{end} to {out}", flush=True)

    write(".csv", table_text(frame(outcome.columns()), "csv"))
    for end, make in outcome.files().items():
        write(end, make())
