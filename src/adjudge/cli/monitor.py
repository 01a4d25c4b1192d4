"""``adjudge monitor``: judges who change, copy others or repeat one label, and the quality of new work."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from adjudge.cli import options as o

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adjudge.diagnostics.monitor import Monitoring
    from adjudge.diagnostics.times import UnreadableTimeError


FORMATS = ("csv", "jsonl")


@dataclass(frozen=True)
class Section:
    """How a part of the result is shown."""

    title: str
    columns: tuple[str, ...]
    flag: str = "flagged"  # the column of the rows that are shown; all rows if empty


SECTIONS: Mapping[str, Section] = {
    "drift": Section(
        "Changes", ("judge", "judgments", "p_changed", "time", "place", "place_low", "place_high", "before", "after")
    ),
    "chart": Section(
        "Control charts",
        ("judge", "batch", "since", "judgments", "right", "level", "low_3", "high_3", "flag"),
        flag="flag",
    ),
    "streaks": Section("Streaks", ("judge", "judgments", "label", "streak", "since", "p", "p_own", "beyond_habit")),
    "collusion": Section(
        "Pairs", ("judge", "other", "shared", "agreed", "expected", "wrong", "expected_wrong", "copied", "rate")
    ),
    "gold": Section("Gold", ("judge", "period", "since", "judgments", "right", "quality", "low", "high"), flag=""),
    "new": Section(
        "New work", ("judge", "judgments", "new", "believed", "quality", "low", "high", "z", "p", "flagged"), flag=""
    ),
}


@o.reads_judgments("labels", "ordinal", "values", "repeats")
def monitor(
    fit: o.FitFolder,
    judgments: o.KeptTable = None,
    new: Annotated[
        str | None,
        o.input_option("--new", "TABLE", "New judgments, to compare with what the fit expects of their judges."),
    ] = None,
    gold: o.Gold = None,
    reading: o.Reading = o.READING,
    show: Annotated[
        str | None, o.output_option("--show", "SECTION", f"Only one section: {', '.join(SECTIONS)}.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, o.output_option("--format", "FORMAT", "With --show: print only the table, as csv or jsonl.")
    ] = None,
    rows: o.Rows = 10,
) -> None:
    """Find judges who changed, who copy others or who repeat one label, and score their new work.

    \b
    drift      change points: how likely, when, quality before and after
    chart      batches of 25 judgments outside the judge's control limits
    streaks    runs of one label that are longer than the items explain
    collusion  pairs of judges who agree more than independent judges do
    gold       quality on gold items, period by period
    new        new work compared with what the fit expects of the judge

    drift, chart and streaks need times; gold needs --gold, or a fit with gold; new needs --new. Each judge is compared
    with what the others say of an item, without their own judgments. Of all judges who are flagged, at most 5 % are
    expected to be flagged wrongly (of those with change points, 10 %).

    \b
    $ adjudge simulate drifting --size items=600 --size judges=15 --size labels=2 --out crowd/
    $ adjudge fit crowd/labels.csv --model dawid-skene --out fit/
    $ adjudge monitor fit/ --gold crowd/gold.csv --new crowd/labels.csv
    $ adjudge monitor fit/ --show drift --format csv
    """
    from adjudge.cli.output import check_output, kept_judgments, print_table
    from adjudge.diagnostics.monitor import monitor as run
    from adjudge.diagnostics.times import UnreadableTimeError
    from adjudge.errors import UsageError, not_one_of, quoted
    from adjudge.inference.save import load

    if show is not None and show not in SECTIONS:
        raise UsageError(not_one_of("--show", show, SECTIONS))
    check_output(format, (judgments, new, gold), FORMATS)
    if format is not None and show is None:
        raise UsageError(f"--format needs one section: name it with --show, one of {quoted(SECTIONS)}")
    saved = load(fit)
    table = kept_judgments(fit, saved, judgments, reading)
    new_table = None if new is None else reading.read_like(saved, new)
    parts = tuple(SECTIONS) if show is None else (show,)
    try:
        result = run(saved, table, gold=gold, new=new_table, parts=parts)
    except UnreadableTimeError as error:
        raise _with_row(error, judgments, reading) from error
    if format is None:
        _show(result, parts, rows)
        return
    if show not in result.parts:
        raise UsageError(f"--show {show}: not defined because {_reason(result, str(show))}")
    print_table(result.parts[str(show)].table, format)


def _reason(result: Monitoring, name: str) -> str:
    """Return why a part is missing, with the option to give."""
    from adjudge.diagnostics.times import NO_TIMES

    reason = result.reasons[name].replace("give gold", "give --gold").replace("give new", "give --new")
    return f"{reason} (give --judgments and --time)" if reason == NO_TIMES else reason


def _show(result: Monitoring, parts: tuple[str, ...], rows: int) -> None:
    """Print parts for people."""
    from adjudge.cli.output import console, table

    screen = console()
    for name in parts:
        section = SECTIONS[name]
        if name not in result.parts:
            screen.print(f"{section.title}: not shown because {_reason(result, name)}.\n", markup=False)
            continue
        part: Any = result.parts[name]
        screen.print(f"{section.title}: {part.sentence}", markup=False)
        flagged = [row for row in part.table.rows(named=True) if not section.flag or row[section.flag]]
        lines = [tuple(row[column] for column in section.columns) for row in flagged[:rows]]
        if lines:
            number = f"the first {len(lines):,} of {len(flagged):,}" if len(flagged) > len(lines) else f"{len(lines):,}"
            screen.print(table(f"{section.title} ({number})", section.columns, lines))
        screen.print()


def _with_row(error: UnreadableTimeError, table: str | None, reading: o.Reading) -> UnreadableTimeError:
    """Return the error with the row of the table, if the table can be read again."""
    from adjudge.data.columns import find_columns
    from adjudge.data.exports import judgment_source
    from adjudge.diagnostics.times import UnreadableTimeError
    from adjudge.errors import AdjudgeWarning

    if table is None or table == "-":
        return error
    names = {name: getattr(reading, name) for name in ("item", "judge", "label", "topic", "weight", "time")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # it was read before, with the same notes
        source, names = judgment_source(table, reading.input_format, names)
    column = source.column(find_columns(source.columns, names, source.name)["time"])
    row = [str("" if text is None else text).strip() for text in column.to_list()].index(str(error.text).strip())
    return UnreadableTimeError(error.text, "", source.row(row), source.name)
