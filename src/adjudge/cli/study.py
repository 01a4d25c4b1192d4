"""``adjudge study``: a paper's comparison, on all its sets, as a table and a figure."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.report.studies import Found, Result

TINY = 0.0005  # p below which three digits show nothing


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
        typer.Option("--out", "-o", metavar="FOLDER", help="Write study_NAME.csv and the figure study_NAME.svg here."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print the whole table for machines: csv, jsonl or parquet."),
    ] = None,
    draws: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Draws of items, for the intervals and tests.")
    ] = 1_000,
    seed: o.Seed = 0,
) -> None:
    """Hold many methods against gold on many sets, as a paper does.

    No method is told the gold. Intervals are of 95 % of bootstrap draws of the items; p is of a method
    against the best of its set (exact McNemar test for accuracy, random signs for losses, with Holm's
    correction). A set is any folder with labels.csv and gold.csv, such as adjudge simulate writes.

    \b
    $ adjudge study
    $ adjudge simulate ordinal --size items=200 --out crowds/a
    $ adjudge study ordinal --data crowds --sets a --draws 100 --out results
    """
    from rich.console import Console

    from adjudge.report.crowds import data_folder
    from adjudge.report.studies import run, study_named

    if name is None:
        _list()
        return
    chosen = study_named(name)
    _refuse_late_surprises(out, format)
    with Console(stderr=True).status("") as line:  # it is there on a screen only
        found = run(chosen, data_folder(data), o.label_list(sets), seed=seed, draws=draws, progress=line.update)
    _deliver(found, format)
    for warning in _warnings(found):
        print(f"adjudge: warning: {warning}", file=sys.stderr)
    if out is not None:
        _write(found, out, quiet=format is not None)
    if found.interrupted:
        raise typer.Exit(130)


def _list() -> None:
    """Print the studies."""
    from adjudge.cli.show import console, table
    from adjudge.report.studies import STUDIES

    rows = [(known.name, known.title, known.paper) for known in STUDIES.values()]
    console().print(table("Studies", ("name", "what is compared", "paper"), rows))
    for known in STUDIES.values():
        console().print(f"\nsets of {known.name}: {', '.join(known.sets)}")


def _refuse_late_surprises(out: str | None, format: str | None) -> None:  # noqa: A002
    """Refuse, before any work is done, what could only go wrong after it."""
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.errors import UsageError, quoted
    from adjudge.judgments.write import FORMATS

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(out, format, ())


def _deliver(found: Found, format: str | None) -> None:  # noqa: A002
    """Print the whole table for machines, or what people want to see of it."""
    from adjudge.judgments.write import frame, table_text

    if format is not None:
        sys.stdout.buffer.write(table_text(frame(found.columns()), format))
        sys.stdout.buffer.flush()
        return
    for n, (name, results) in enumerate(found.by_set().items()):
        _show(found, name, results, first=n == 0)


def _write(found: Found, out: str, quiet: bool) -> None:
    """Write the table, and then the figure: that one may need what is not installed."""
    from adjudge.judgments.write import frame, table_text, write_whole
    from adjudge.report.figures import svg

    name = f"study_{found.study.name}"
    write_whole({f"{name}.csv": table_text(frame(found.columns()), "csv")}, out)
    if not quiet:
        print(f"wrote {name}.csv to {out}", flush=True)
    write_whole({f"{name}.svg": svg(found).encode()}, out)
    if not quiet:
        print(f"wrote {name}.svg to {out}")


def _show(found: Found, name: str, results: list[Result], first: bool) -> None:
    """Print one set's methods, best first."""
    from adjudge.cli.show import console, table

    shown = found.study.shown
    tested = [measure for measure in found.tested if results[0].scored is not None]  # means are not
    head = ["method", *shown, *(f"p {measure}" for measure in tested)]
    ranked = sorted(results, key=lambda result: -(result.values["accuracy"] or 0))
    rows = [
        [r.method, *(_spanned(r, measure) for measure in shown), *(_p(r, measure) for measure in tested)]
        for r in ranked
    ]
    if not first:
        print()
    console().print(
        table(f"{name}: {results[0].items:,} items with gold, most accurate first; intervals of 95 %", head, rows)
    )


def _spanned(result: Result, measure: str) -> str | None:
    """Return a value with its interval, such as 0.933 .923-.945."""
    value, span = result.values[measure], result.span(measure)
    if value is None or span is None:
        return None
    return " ".join([f"{value:.3f}", "-".join(f"{end:.3f}".removeprefix("0") for end in span[:2])])


def _p(result: Result, measure: str) -> Any:
    """Return a p value as people read it; the best has none."""
    p = result.p.get(measure)
    return "<.001" if p is not None and p < TINY else p


def _warnings(found: Found) -> list[str]:
    """Return what the reader of the table must know."""
    from adjudge.models.record import UNSETTLED

    said = [
        f"{result.method} has not converged on {result.set}: {result.stopped}"
        for result in found.results
        if result.stopped.startswith(UNSETTLED)
    ]
    said += [f"left out: {what}: {reason}" for what, reason in found.left_out.items()]
    if found.interrupted:
        sets = [name for name, results in found.by_set().items() if results[0].scored is not None]
        said.append(f"interrupted; finished: {', '.join(sets)}")
    return said
