"""``adjudge monitor``: whether judges change, copy or stop looking, and how good their new work is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjudge.cli import options as o

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.diagnostics.times import UnreadableTimeError
    from adjudge.inference.result import Fit


FORMATS = ("csv", "jsonl")


@dataclass(frozen=True)
class Asked:
    """What sections are made from."""

    fit: Fit
    judgments: Judgments
    gold: Any
    new: str | None
    reading: o.Reading


@dataclass(frozen=True)
class Section:
    """A part of the answer: its title, what it needs, how it is found, and what people see of its table."""

    title: str
    missing: Callable[[Asked], str]  # why it cannot be shown, nothing if it can
    find: Callable[[Asked], Any]
    columns: tuple[str, ...]
    flag: str = "flagged"  # rows without are not shown to people; of all rows where it is empty


def _untimed(asked: Asked) -> str:
    """Say that there are no times."""
    from adjudge.diagnostics.times import NO_TIMES, time_problem

    return f"{NO_TIMES} (give --judgments and --time)" if time_problem(asked.judgments) == NO_TIMES else ""


def _drift(asked: Asked) -> Any:
    """Find changes."""
    from adjudge.diagnostics.drift import drift

    return drift(asked.fit, asked.judgments)


def _chart(asked: Asked) -> Any:
    """Find batches that are out of control."""
    from adjudge.diagnostics.control_chart import control_chart

    return control_chart(asked.fit, asked.judgments)


def _streaks(asked: Asked) -> Any:
    """Find streaks of one label."""
    from adjudge.diagnostics.streaks import streaks

    return streaks(asked.fit, asked.judgments)


def _pairs(asked: Asked) -> Any:
    """Find pairs who agree too much."""
    from adjudge.diagnostics.collusion import collusion

    return collusion(asked.fit, asked.judgments)


def _gold(asked: Asked) -> Any:
    """Hold judges against gold."""
    from adjudge.diagnostics.gold_accuracy import gold_accuracy

    return gold_accuracy(asked.judgments, asked.gold)


def _new(asked: Asked) -> Any:
    """Score new work."""
    from adjudge.diagnostics.new_work import new_work

    scale = asked.fit.scale
    return new_work(asked.fit, asked.reading.read(str(asked.new), labels=scale.labels, ordinal=scale.ordinal))


SECTIONS: Mapping[str, Section] = {
    "drift": Section(
        "Changes",
        _untimed,
        _drift,
        ("judge", "judgments", "p_changed", "time", "place", "place_low", "place_high", "before", "after"),
    ),
    "chart": Section(
        "Control charts",
        _untimed,
        _chart,
        ("judge", "batch", "since", "judgments", "right", "level", "low_3", "high_3", "flag"),
        flag="flag",
    ),
    "streaks": Section(
        "Streaks",
        _untimed,
        _streaks,
        ("judge", "judgments", "label", "streak", "since", "p", "p_own", "beyond_habit"),
    ),
    "collusion": Section(
        "Pairs",
        lambda asked: "",
        _pairs,
        ("judge", "other", "shared", "agreed", "expected", "wrong", "expected_wrong", "copied", "rate"),
    ),
    "gold": Section(
        "Gold",
        lambda asked: "" if asked.gold is not None else "no truth is known (give --gold)",
        _gold,
        ("judge", "period", "since", "judgments", "right", "quality", "low", "high"),
        flag="",
    ),
    "new": Section(
        "New work",
        lambda asked: "" if asked.new is not None else "there is none (give --new)",
        _new,
        ("judge", "judgments", "new", "believed", "quality", "low", "high", "z", "p", "flagged"),
        flag="",
    ),
}


@o.reads_judgments("labels", "ordinal", "repeats")
def monitor(
    fit: Annotated[str, typer.Argument(metavar="FIT", help="The folder that `adjudge fit --out` wrote.")],
    judgments: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="The judgments that it was fitted to, where they are not kept beside it."),
    ] = None,
    new: Annotated[
        str | None, typer.Option(metavar="TABLE", help="New judgments, to be scored by what the fit knows of judges.")
    ] = None,
    gold: o.Gold = None,
    show: Annotated[
        str | None, typer.Option(metavar="SECTION", help=f"One section alone: {', '.join(SECTIONS)}.")
    ] = None,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="FORMAT", help="Print the table of one section for machines: csv or jsonl.")
    ] = None,
    reading: o.Reading = o.USUAL,
    rows: o.Rows = 10,
) -> None:
    """Say which judges changed, copy, or say the same for too long, and how good their new work is.

    \b
    drift      change points: how likely, when, and how good she was before and after; needs times
    chart      batches of 25 judgments that are out of a judge's own limits; needs times
    streaks    one label for longer than the items explain; needs times
    collusion  pairs who agree more than judges do who err on their own
    gold       quality on items whose truth is known, period by period; needs --gold, or a fit with gold
    new        each judge's new work beside what the fit believes of her; needs --new

    A judge is held against what the others say of an item, her own votes left out. Of all who are named, at
    most one in twenty is expected to be named wrongly; of those who changed, one in ten.

    \b
    $ adjudge simulate drifting --size items=600 --size judges=15 --size labels=2 --out crowd/
    $ adjudge fit crowd/labels.csv --model dawid-skene --out fit/
    $ adjudge monitor fit/ --gold crowd/gold.csv --new crowd/labels.csv
    $ adjudge monitor fit/ --show drift --format csv
    """
    from adjudge.cli.output import kept_judgments
    from adjudge.diagnostics.times import UnreadableTimeError
    from adjudge.errors import UsageError, quoted
    from adjudge.inference.save import load

    if show is not None and show not in SECTIONS:
        raise UsageError(f"--show {show!r} is not one of {quoted(SECTIONS)}")
    if format is not None and format not in FORMATS:
        raise UsageError(f"format {format!r} is not one of {quoted(FORMATS)}")
    if format is not None and show is None:
        raise UsageError(f"--format needs one section: name it with --show, one of {quoted(SECTIONS)}")
    if [judgments, new, gold].count("-") > 1:
        raise UsageError("only one table can come from standard input")
    known = load(fit)
    asked = Asked(known, kept_judgments(fit, known, judgments, reading), _truths(known, gold), new, reading)
    try:
        if format is not None and show is not None:
            _print(asked, show, format)
        else:
            _show(asked, SECTIONS if show is None else {show: SECTIONS[show]}, rows)
    except UnreadableTimeError as error:
        raise _pointed(error, judgments, reading) from error


def _truths(fit: Fit, gold: str | None) -> Any:
    """Return the gold that is given, or the fit's own, None without any."""
    if gold is not None or fit.gold is None or not (fit.gold >= 0).any():
        return gold
    return {item: fit.scale.labels[k] for item, k in zip(fit.items.to_list(), fit.gold.tolist(), strict=True) if k >= 0}


def _print(asked: Asked, name: str, format: str) -> None:  # noqa: A002
    """Print one section's table for machines."""
    from adjudge.data.write import table_text
    from adjudge.errors import UsageError

    reason = SECTIONS[name].missing(asked)
    if reason:
        raise UsageError(f"--show {name}: not defined because {reason}")
    sys.stdout.buffer.write(table_text(SECTIONS[name].find(asked).table, format))
    sys.stdout.buffer.flush()


def _show(asked: Asked, sections: Mapping[str, Section], rows: int) -> None:
    """Print sections for people."""
    from adjudge.cli.show import console, table
    from adjudge.errors import UsageError
    from adjudge.inference.fitted import as_fitted

    as_fitted(asked.fit, asked.judgments)  # others are refused before anything is said
    screen = console()
    for section in sections.values():
        reason, found = section.missing(asked), None
        try:
            found = None if reason else section.find(asked)
        except UsageError as error:  # the others may be told all the same
            reason = str(error)
        if found is None:
            screen.print(f"{section.title}: not shown because {reason}.\n", markup=False)
            continue
        screen.print(f"{section.title}: {found.sentence}", markup=False)
        whole = found.table.rows(named=True)
        named = [row for row in whole if not section.flag or row[section.flag]]
        lines = [tuple(row[name] for name in section.columns) for row in named[:rows]]
        if lines:
            first = f"the first {len(lines):,} of {len(named):,}" if len(named) > len(lines) else "all that stand out"
            screen.print(table(f"{section.title}, {first}", section.columns, lines))
        screen.print()


def _pointed(error: UnreadableTimeError, table: str | None, reading: o.Reading) -> UnreadableTimeError:
    """Return the error with the row of the table, where there is one that can be read again."""
    from adjudge.data.columns import find_columns
    from adjudge.data.formats import open_source
    from adjudge.diagnostics.times import UnreadableTimeError

    if table is None or table == "-":
        return error
    source = open_source(table, reading.input_format)
    chosen = {name: getattr(reading, name) for name in ("item", "judge", "label", "topic", "weight", "time")}
    column = source.column(find_columns(source.columns, chosen, source.name)["time"])
    place = [str("" if text is None else text).strip() for text in column.to_list()].index(str(error.text).strip())
    return UnreadableTimeError(error.text, "", source.row(place), source.name)
