"""``adjudge panel``: what a panel of judges is worth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.diagnostics.panel import PanelAnalysis


PARTS = {  # option -> part
    "effective": "effective",
    "families": "families",
    "values": "values",
    "prompts": "prompts",
    "positions": "positions",
    "stand-in": "stand_in",
}
TITLES = {
    "effective": "Effective number of judges",
    "families": "Families",
    "values": "Values of judges",
    "prompts": "Prompts",
    "positions": "Positions",
    "stand_in": "Machines in place of a person",
}


@o.reads_judgments("weight", "time")
def panel(
    judgments: o.Table,
    judges: o.Judges = None,
    gold: o.Gold = None,
    gold_format: o.GoldFormat = None,
    reading: o.Reading = o.READING,
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="How much worse than a person a machine may be and still stand in for them [0.2 for experts, else "
            "0.1].",
        ),
    ] = None,
    seed: o.Seed = 0,
    show: Annotated[str | None, o.output_option("--show", "PART", f"Only one part: {', '.join(PARTS)}.")] = None,
    out: Annotated[
        str | None,
        o.out_option("FILE", "Write a page (.html), or the picture of the families (.svg or .png), to this file."),
    ] = None,
    format: Annotated[  # noqa: A002
        str | None,
        o.output_option("--format", "FORMAT", "With --show: print only the table, as csv, jsonl or parquet."),
    ] = None,
    rows: o.Rows = 10,
) -> None:
    """Say what a panel of people and machines is worth, and which of its judges.

    \b
    effective  how many independent judges the panel is worth
    families   how much errors go together within and between families
    values     what the consensus loses without each judge, and whom to leave out
    prompts    what the prompt of a model changes
    positions  what the order of two options changes
    stand-in   whether a machine may stand in for a person

    --judges says which judges are people, experts or machines, and of which family, model and prompt. With --gold,
    errors are measured; without it they are estimated from agreement, and nobody can be left out. Intervals are 90 %
    intervals.

    \b
    $ adjudge simulate panel --out crowd/
    $ adjudge panel crowd/labels.csv --judges crowd/judges.csv
    $ adjudge panel crowd/labels.csv --judges crowd/judges.csv --gold crowd/truth.csv --out panel.html
    $ adjudge panel crowd/labels.csv --judges crowd/judges.csv --show values --format csv
    """
    from adjudge.cli.output import StepProgress, check_file, check_output, print_table
    from adjudge.data.gold import read_gold
    from adjudge.diagnostics.panel import panel as analyse
    from adjudge.errors import UsageError, not_one_of, quoted

    if show is not None and show not in PARTS:
        raise UsageError(not_one_of("--show", show, PARTS))
    check_output(format, (judgments, judges, gold))
    if format is not None and show is None:
        raise UsageError(f"--format needs one part: name it with --show, one of {quoted(PARTS)}")
    check_file(out, (judgments, judges, gold))
    ending = _ending(out)
    table, truth = reading.read(judgments, judges=judges), None
    if gold is not None:
        table, truth = read_gold(gold, table, item=reading.item, label=reading.label, format=gold_format)
    with StepProgress() as progress:
        result = analyse(table, truth, epsilon=epsilon, seed=seed, progress=progress)
    if format is not None and show is not None:
        part = PARTS[show]
        if part in result.reasons:
            raise UsageError(f"--show {show}: not defined because {_advice(result.reasons[part])}")
        print_table(result.columns(part), format)
    else:
        _show(result, [PARTS[show]] if show is not None else list(PARTS.values()), rows)
    if out is not None:
        _write(result, out, ending)


def _ending(out: str | None) -> str:
    """Return the ending of the file to write; refuse another than those that can be written."""
    from adjudge.errors import UsageError, quoted
    from adjudge.reports.figure_panel import FORMATS

    ending = "" if out is None else os.path.splitext(out)[1].removeprefix(".").lower()
    if out is not None and ending not in FORMATS:
        raise UsageError(f"--out {out} must end in one of {quoted(f'.{name}' for name in FORMATS)}")
    return ending


def _advice(reason: str) -> str:
    """Return a reason with the options to give in place of the arguments."""
    return reason.replace("give judges", "give --judges").replace("give gold", "give --gold")


def _show(result: PanelAnalysis, parts: list[str], rows: int) -> None:
    """Print parts for people."""
    from adjudge.cli.output import console, table

    screen = console()
    for part in parts:
        screen.print(f"{TITLES[part]}: {_advice(result.sentences[part])}", markup=False)
        if part not in result.reasons and part != "effective":  # its sentence has all numbers
            columns, lines = _lines(result, part)
            count = f"the first {rows:,} of {len(lines):,}" if len(lines) > rows else f"{len(lines):,}"
            screen.print(table(f"{TITLES[part]} ({count})", columns, lines[:rows]))
        screen.print()
    for text in (result.level, result.sampled):
        if text:
            screen.print(_advice(text), markup=False)


def _lines(result: PanelAnalysis, part: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the head and the rows of the table of a part; families are a matrix if there are few of them."""
    families = result.families
    if part == "families" and families is not None and len(families.families) <= 8:
        head = ["family", "judges", *families.families]
        cells = [[None if value != value else float(value) for value in row] for row in families.matrix]
        names = zip(families.families, families.sizes.tolist(), cells, strict=True)
        return head, [(name, size, *row) for name, size, row in names]
    columns = result.columns(part)
    if part == "families":
        order = sorted(range(len(columns["value"])), key=lambda n: -columns["value"][n])
        columns = {name: [values[n] for n in order] for name, values in columns.items()}
    return [name.replace("_", " ") for name in columns], list(zip(*columns.values(), strict=True))


def _write(result: PanelAnalysis, out: str, ending: str) -> None:
    """Write the page or the picture."""
    from adjudge.data.write import write_file
    from adjudge.reports.figure_panel import panel_file

    write_file(panel_file(result, ending, os.path.splitext(os.path.basename(out))[0]), out)
    print(f"wrote {out}")
