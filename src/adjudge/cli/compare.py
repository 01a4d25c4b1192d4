"""``adjudge compare``: several models on the same judgments, in one table."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.metrics.compare import Compared, Comparison


SHOWN = ("accuracy", "macro_f1")  # measures that people see with their intervals
TINY = 0.0005  # p below which three digits show nothing


@o.reads_judgments()
def compare(
    judgments: o.Table,
    models: Annotated[
        str | None,
        typer.Option(
            "--models", "-m", metavar="A,B,C", help="Which models; by default all that can take these judgments."
        ),
    ] = None,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="TABLE", help="A table of (item, label) to score by; no model is told of it."),
    ] = None,
    gold_format: o.GoldFormat = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Write the whole table here: .csv, .jsonl or .parquet."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option("--format", metavar="FORMAT", help="Print the whole table for machines: csv, jsonl or parquet."),
    ] = None,
    reading: o.Reading = o.USUAL,
    folds: Annotated[
        int, typer.Option(min=2, metavar="NUMBER", help="Parts of the judgments, each held out once.")
    ] = 5,
    draws: Annotated[
        int, typer.Option(min=1, metavar="NUMBER", help="Draws of items, for the intervals and tests of scores.")
    ] = 1_000,
    seed: o.Seed = 0,
) -> None:
    """Fit several models and show them side by side, best first.

    Held-out is the mean log likelihood of judgments that a model did not see. With --gold: scores with
    95 % intervals (bootstrap over items), and p of each model's accuracy against the best one's (exact
    McNemar test, corrected for the number of models by Holm's method).

    \b
    $ adjudge simulate liu-wang --size items=200 --out crowd/
    $ adjudge compare crowd/labels.csv --gold crowd/truth.csv --models majority,dawid-skene
    $ adjudge compare crowd/labels.csv --models majority,dawid-skene --format csv
    """
    from rich.console import Console

    from adjudge.metrics.compare import compare as run
    from adjudge.metrics.compare import truths

    _refuse_late_surprises(out, format, (judgments, gold))
    table, known = reading.read(judgments), None
    if gold is not None:
        known = truths(gold, table, item=reading.item, label=reading.label, format=gold_format)
    with Console(stderr=True).status("") as line:  # it is there on a screen only
        names = o.label_list(models)
        found = run(table, names, known, seed=seed, folds=folds, draws=draws, progress=line.update)
    _deliver(found, out, format)
    for warning in _warnings(found, whole=out is not None or format is not None):
        print(f"adjudge: warning: {warning}", file=sys.stderr)
    if found.interrupted:
        raise typer.Exit(130)


def _refuse_late_surprises(out: str | None, format: str | None, inputs: tuple[str, str | None]) -> None:  # noqa: A002
    """Refuse, before any work is done, what could only go wrong after it."""
    from adjudge.cli.output import refuse_late_surprises
    from adjudge.data.write import FORMATS
    from adjudge.errors import UsageError, quoted

    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    refuse_late_surprises(None, format, inputs)
    if out is not None and _suffix(out) not in FORMATS:
        raise UsageError(f"--out {out} ends in none of {quoted(f'.{name}' for name in FORMATS)}")
    if out is not None and os.path.realpath(out) in {os.path.realpath(path) for path in inputs if path}:
        raise UsageError(f"--out {out} would write over what is read here: name another file")


def _suffix(path: str) -> str:
    """Return how a file's name ends, without the point."""
    return os.path.splitext(path)[1][1:]


def _deliver(found: Comparison, out: str | None, format: str | None) -> None:  # noqa: A002
    """Write the table to a file, print it for machines, or show it to people."""
    from adjudge.data.write import frame, table_text, write_file

    if out is not None:
        write_file(table_text(frame(found.columns()), _suffix(out)), out)
    if format is not None:
        sys.stdout.buffer.write(table_text(frame(found.columns()), format))
        sys.stdout.buffer.flush()
        return
    _show(found)
    if out is not None:
        print(f"wrote {out}")


def _show(found: Comparison) -> None:
    """Print the models, where they agree, and which is best."""
    from adjudge.cli.show import console, table

    screen, first = console(), found.models[found.best]
    head = ["model", "held-out", "+-", "as vote", "seconds"]
    scored = ""
    if first.scores is not None:
        head += [*(f"{measure}, 95 %" for measure in SHOWN), "log_loss", "p"]
        missing = f"; {first.scores.missing:,} gold items that nobody judged" if first.scores.missing else ""
        scored = f", scored on {first.scores.items:,}{missing}"
    title = f"Models on {len(first.fit.items):,} items{scored}; best first"
    screen.print(table(title, head, [(name, *_row(model)) for name, model in found.models.items()]))
    names = [f"{n} {name}" for n, name in enumerate(found.models, 1)]
    if max(map(len, names)) + 5 * len(names) <= screen.width:  # a column is two blanks and three digits
        percent = (100 * found.agreement).round().astype(int).tolist()
        rows = [(name, *row) for name, row in zip(names, percent, strict=True)]
        numbers = [str(n) for n in range(1, len(names) + 1)]
        screen.print()
        screen.print(table("Items with the same label, in percent", ("", *numbers), rows))
    print()
    print(*_verdict(found), sep="\n")


def _row(model: Compared) -> list[Any]:
    """Return what people see of one model."""
    row: list[Any] = [model.held_out.mean, model.held_out.error, model.vote_agreement, model.seconds]
    if model.scores is not None:
        row += [_with_interval(model, measure) for measure in SHOWN]
        p = model.tests["accuracy"].adjusted if model.tests else None
        row += [model.scores.values["log_loss"], "<.001" if p is not None and p < TINY else p]
    return row


def _with_interval(model: Compared, measure: str) -> str | None:
    """Return a value with its interval, such as 0.933 .923-.945."""
    value = None if model.scores is None else model.scores.values[measure]
    span = model.intervals.get(measure)
    if value is None or span is None:
        return None
    return " ".join([f"{value:.3f}", "-".join(f"{end:.3f}".removeprefix("0") for end in span[:2])])


def _verdict(found: Comparison) -> list[str]:
    """Return which model is best, by what, which are not told apart from it, and which refuse the judgments."""
    others = list(found.models)[1:]
    test = "exact McNemar test with Holm's correction, p < 0.05" if found.scored else "by more than two standard errors"
    apart = f"all others are told apart from it ({test})"
    if found.alike:
        names = ", ".join(found.alike)
        apart = f"{apart} except {names}" if len(found.alike) < len(others) else f"none is told apart from it ({test})"
    verdict = f"{found.best} is best by {found.criterion}; {apart}" if others else f"{found.best} is the only model"
    together: dict[str, list[str]] = {}
    for name, reason in found.left_out.items():
        together.setdefault(reason.removeprefix(f"model '{name}' "), []).append(name)
    taken = [] if found.choice is None else [f"--model auto takes {found.choice.model}: {found.choice.reason}"]
    return [verdict, *taken, *(f"left out: {', '.join(names)}: {reason}" for reason, names in together.items())]


def _warnings(found: Comparison, whole: bool) -> list[str]:
    """Return what the reader of the table must know, and with the whole table, of which values draws are left out."""
    models = found.models.items()
    said = [f"{name} has not converged: {model.fit.stopped}" for name, model in models if not model.fit.converged]
    spans = [(f"{measure} of {name}", span) for name, model in models for measure, span in model.intervals.items()]
    partial = [f"{what} is {span.note}" for what, span in spans if span.undefined and whole]
    if partial:
        more = f" (and {len(partial) - 1} more such)" if len(partial) > 1 else ""
        said.append(partial[0] + more)
    if found.interrupted:
        said.append(f"interrupted; finished and compared: {', '.join(found.models)}")
    return said
