"""``adjudge compare``: several models fitted to the same judgments, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.metrics.compare import Compared, Comparison


MEASURES = ("accuracy", "macro_f1")  # shown with their intervals
TINY = 0.0005  # p below which three digits show zero


@o.reads_judgments()
def compare(
    judgments: o.Table,
    gold: Annotated[
        str | None,
        o.input_option("--gold", "TABLE", "Table of (item, label) to score the models with; the models do not see it."),
    ] = None,
    gold_format: o.GoldFormat = None,
    judges: o.Judges = None,
    reading: o.Reading = o.READING,
    models: Annotated[
        str | None, typer.Option("--models", "-m", metavar="A,B,C", help="Models to compare; default: all that apply.")
    ] = None,
    folds: Annotated[
        int, typer.Option(min=2, metavar="NUMBER", help="Number of cross-validation folds of the judgments.")
    ] = 5,
    draws: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", help="With --gold: number of bootstrap samples for intervals and tests."),
    ] = 1_000,
    seed: o.Seed = 0,
    out: o.TableFile = None,
    format: o.TableFormat = None,  # noqa: A002
) -> None:
    """Fit several models to the same judgments and compare them, best first.

    held-out is the mean log-likelihood of judgments that were not used to fit the model. --gold adds scores with 95 %
    bootstrap intervals over items, and p of the difference in accuracy to the best model (exact McNemar test with
    Holm's correction for the number of models).

    \b
    $ adjudge simulate liu-wang --size items=200 --out crowd/
    $ adjudge compare crowd/labels.csv --gold crowd/truth.csv --models majority,dawid-skene
    $ adjudge compare crowd/labels.csv --models majority,dawid-skene --format csv
    """
    from rich.console import Console

    from adjudge.cli.output import check_output, table_format, warn
    from adjudge.metrics.compare import compare as run
    from adjudge.metrics.compare import truths

    check_output(format, (judgments, gold, judges))
    out_format = table_format(out, (judgments, gold, judges))
    table, truth = reading.read(judgments, judges=judges), None
    if gold is not None:
        truth = truths(gold, table, item=reading.item, label=reading.label, format=gold_format)
    with Console(stderr=True).status("") as status:  # visible in a terminal only
        names = o.label_list(models)
        result = run(table, names, truth, seed=seed, folds=folds, draws=draws, progress=status.update)
    _deliver(result, out, out_format, format)
    for warning in _warnings(result, full_table=out is not None or format is not None):
        warn(warning)
    if result.interrupted:
        raise typer.Exit(130)


def _deliver(result: Comparison, out: str | None, out_format: str, format: str | None) -> None:  # noqa: A002
    """Write the full table to a file, and print it for programs or show it to people."""
    from adjudge.cli.output import print_table, write_table

    if out is not None:
        write_table(result.columns(), out, out_format)
    if format is not None:
        print_table(result.columns(), format)
        return
    _show(result)
    if out is not None:
        print(f"wrote {out}")


def _show(result: Comparison) -> None:
    """Print the models, how often they agree, and which is best."""
    from adjudge.cli.output import console, table

    screen, first = console(), result.models[result.best]
    head = ["model", "held-out", "+-", "as vote", "seconds"]
    scored = ""
    if first.scores is not None:
        head += [*(f"{measure}, 95 %" for measure in MEASURES), "log_loss", "p"]
        missing = f"; {first.scores.missing:,} gold items that nobody judged" if first.scores.missing else ""
        scored = f", scored on {first.scores.items:,}{missing}"
    title = f"Models on {len(first.fit.items):,} items{scored}; best first"
    screen.print(table(title, head, [(name, *_row(model)) for name, model in result.models.items()]))
    names = [f"{n} {name}" for n, name in enumerate(result.models, 1)]
    if max(map(len, names)) + 5 * len(names) <= screen.width:  # a column has two blanks and three digits
        percent = (100 * result.agreement).round().astype(int).tolist()
        rows = [(name, *row) for name, row in zip(names, percent, strict=True)]
        numbers = [str(n) for n in range(1, len(names) + 1)]
        screen.print()
        screen.print(table("Items with the same label, in percent", ("", *numbers), rows))
    print()
    print(*verdict_lines(result), sep="\n")


def _row(model: Compared) -> list[Any]:
    """Return the cells of one model."""
    row: list[Any] = [model.held_out.mean, model.held_out.error, model.vote_agreement, model.seconds]
    if model.scores is not None:
        row += [_with_interval(model, measure) for measure in MEASURES]
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


def verdict_lines(result: Comparison) -> list[str]:
    """Return which model is best, which others are significantly worse, and which could not be fitted."""
    others = list(result.models)[1:]
    exact = "exact McNemar test with Holm's correction, p < 0.05"
    test = exact if result.scored else "by more than two standard errors"
    worse = f"all others are significantly worse ({test})"
    if result.alike:
        significant = [name for name in others if name not in result.alike]
        names = ", ".join(significant) or "no other"
        worse = f"{names} {'are' if len(significant) > 1 else 'is'} significantly worse ({test})"
    verdict = f"{result.best} is best by {result.criterion}; {worse}" if others else f"{result.best} is the only model"
    reasons: dict[str, list[str]] = {}
    for name, reason in result.left_out.items():
        reasons.setdefault(reason.removeprefix(f"model '{name}' "), []).append(name)
    choice = [] if result.choice is None else [f"--model auto chooses {result.choice.model}: {result.choice.reason}"]
    return [verdict, *choice, *(f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items())]


def _warnings(result: Comparison, full_table: bool) -> list[str]:
    """Return warnings of models, and for the full table of intervals that leave out samples."""
    models = result.models.items()
    texts = [f"{name} has not converged: {model.fit.stopped}" for name, model in models if not model.fit.converged]
    partial = _partial_intervals(result) if full_table else []
    if partial:
        more = f" (and {len(partial) - 1} more such)" if len(partial) > 1 else ""
        texts.append(partial[0] + more)
    if result.interrupted:
        texts.append(f"interrupted; only these models were compared: {', '.join(result.models)}")
    return texts


def _partial_intervals(result: Comparison) -> list[str]:
    """Return a note for each interval that leaves out samples in which the measure is not defined."""
    models = result.models.items()
    spans = [(f"{measure} of {name}", span) for name, model in models for measure, span in model.intervals.items()]
    return [f"{name} is {span.note}" for name, span in spans if span.undefined]
