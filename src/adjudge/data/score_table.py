"""Numeric judgments: who gave which item which score. A score is any finite number, such as 0 to 100."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.columns import find_columns, has_column
from adjudge.data.encode import code_columns
from adjudge.data.exports import judgment_source, to_judgments
from adjudge.data.formats import READERS, open_source
from adjudge.data.gold import gold_source
from adjudge.data.label_values import MISSING
from adjudge.data.rankings import find_roles, place_items, with_rows
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, InputError, quote, quoted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names

SCORE = ("score", "value")  # names of columns of scores, beside the usual names of labels
GOLD = ("gold", *SCORE)
NO_SCORE = ("", *(text.lower() for text in MISSING))  # in any case
NUMBERS = "scores are numbers, such as 72 or 0.5"
MOST = 1e100  # beyond this, squares overflow


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores: judgment n is by ``judge[n]`` about ``item[n]``."""

    items: Names  # (I) an item in two topics is two items
    topic: Codes  # (I), ascending
    topics: Names | None  # (T)
    judges: Names  # (J)
    item: Codes  # (N)
    judge: Codes  # (N)
    score: Floats  # (N)
    gold: Floats  # (I) known truths, nan if unknown
    kind: str = "polars"  # of the frames that are returned

    def __repr__(self) -> str:
        return f"ScoreTable({len(self.items):,} items, {len(self.judges):,} judges, {self.score.size:,} scores)"


def read_scores(
    data: Any,
    gold: Any = None,
    *,
    item: str | None = None,
    judge: str | None = None,
    score: str | None = None,
    topic: str | None = None,
    format: str | None = None,  # noqa: A002
) -> ScoreTable:
    """Read scores: a table with an item, a judge and a score in every row and, optionally, a topic.

    Parameters
    ----------
    data
        A path (``-`` is standard input) or a frame.
    gold
        Known truths: a path or a frame with item and score (and topic, if items have topics), or a mapping from item to
        score.
    item, judge, score, topic
        Names of columns, if they have other than the usual names. Usual names of scores are those of labels, and
        ``score`` and ``value``.
    format
        The format of the file, if its name and content do not show it.

    Examples
    --------
    >>> read_scores(pl.DataFrame({"item": ["a", "a"], "judge": ["x", "y"], "score": [70.0, 82.5]}))
    ScoreTable(1 items, 2 judges, 2 scores)
    """
    source, named = _score_source(data, format, {"item": item, "judge": judge, "label": score, "topic": topic})
    column = _score_column(source, named.pop("label"), SCORE)
    roles = find_roles(source, {**named, "label": column}, ("item", "judge", "label"), ("topic",))
    column = roles.pop("label")
    values, missing = _numbers(source, column)
    if missing.all():
        raise source.wrong(f"every score (column {quote(column)}) is empty")
    if missing.any():
        message = f"{source.name}: {missing.sum():,} of {missing.size:,} scores are empty; they are left out"
        warnings.warn(message, AdjudgeWarning, stacklevel=3)
        source = with_rows(source, np.flatnonzero(~missing))
    columns = code_columns(source, roles)
    placed = place_items(source, columns["item"].code[None], columns["item"].names, columns.get("topic"), None, named)
    table = ScoreTable(
        *placed[:3],
        judges=columns["judge"].names.alias("judge"),
        item=frozen(placed.code[0].astype(np.int64)),
        judge=frozen(columns["judge"].code.astype(np.int64)),
        score=frozen(values[~missing]),
        gold=frozen(np.full(len(placed.items), np.nan)),
        kind=source.kind,
    )
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return table
    return replace(table, gold=frozen(_gold_scores(table, gold)))


def _score_source(
    data: Any,
    format: str | None,  # noqa: A002
    named: Mapping[str, str | None],
) -> tuple[Source, dict[str, str | None]]:
    """Return a table of scores in any shape as one with a score per row, and the columns that the user named."""
    if format is None or format in READERS:
        source = open_source(data, format)
        names = [column.strip().lower() for column in source.columns]
        is_array = source.shape == "array"
        if not is_array and (named["label"] in source.columns or {*names} & {*SCORE} or has_column("label", names)):
            return source, dict(named)
        read = partial(to_judgments, source, named)
    else:
        read = partial(judgment_source, data, format, named)
    try:
        return read()
    except InputError as error:
        problem = error.problem.replace("--label", "--score").replace("label=", "score=")
        raise InputError(problem, error.source, error.row) from error


def _score_column(source: Source, chosen: str | None, names: tuple[str, ...]) -> str | None:
    """Return the column of scores; None if it has a usual name of labels."""
    if chosen is not None:
        return chosen
    candidates = [column for column in source.columns if column.strip().lower() in names]
    if len(candidates) > 1 or (candidates and candidates[0] != "gold" and has_column("label", source.columns)):
        labels = [column for column in source.columns if has_column("label", [column])]
        every = quoted([*candidates, *labels])
        raise source.wrong(f"{every} could each be the score: choose one with --score")
    if not candidates and not has_column("label", source.columns):
        problem = f"no column for the score (columns: {quoted(source.columns)}); usual names are score, value, rating"
        raise source.wrong(f"{problem} and label, or name it with --score")
    return candidates[0] if candidates else None


def _numbers(source: Source, column: str) -> tuple[Floats, Flags]:
    """Return the numbers of a column (N), and which are missing; anything else is refused with its row."""
    series = source.column(column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise source.wrong(f"column {quote(column)} holds lists, records or objects, not one score per row")
    if series.dtype == pl.Boolean:
        raise source.wrong(f"column {quote(column)} holds true and false: {NUMBERS}; adjudge fit is for labels")
    if series.dtype.is_numeric():
        values = series.cast(pl.Float64).fill_null(np.nan).to_numpy()
        missing = np.isnan(values)
    else:
        series = series.cast(pl.String).str.strip_chars()
        missing = series.str.to_lowercase().is_in(NO_SCORE).fill_null(True).to_numpy()
        values = series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~missing & ~(np.abs(values) <= MOST))
    if bad.size:
        n = int(bad[0])
        comma = " with a point before decimals" if "," in str(series[n]) else ""
        raise source.wrong(f"score {quote(series[n])} is not a finite number: {NUMBERS}{comma}", n)
    return values, missing


def _gold_scores(table: ScoreTable, gold: Any) -> Floats:
    """Return the known truth of every item (I), nan if it is unknown."""
    source = gold_source(gold)
    column = _score_column(source, None, GOLD)
    topics = table.topics is not None
    chosen = {"label": column}
    roles = find_columns(source.columns, chosen, source.name, needed=("item", "label", *(["topic"] if topics else [])))
    values, missing = _numbers(source, roles["label"])
    rows = np.flatnonzero(~missing)
    if not rows.size:
        raise source.wrong("every truth is empty")
    keys = code_columns(with_rows(source, rows), {role: roles[role] for role in roles if role != "label"})
    text = {role: coded.names.cast(pl.String).gather(coded.code) for role, coded in keys.items()}
    gold_scores = pl.DataFrame({**text, "score": values[rows], "row": rows})
    by = list(text)
    _refuse_second_truths(source, gold_scores, by)
    judged = pl.DataFrame({"item": table.items.cast(pl.String), "place": np.arange(len(table.items))})
    if table.topics is not None:
        judged = judged.with_columns(topic=table.topics.cast(pl.String).gather(table.topic))
    matched = judged.join(gold_scores.unique(by, keep="first", maintain_order=True), on=by)
    others = gold_scores.join(judged, on=by, how="anti").unique(by, keep="first", maintain_order=True)
    if not matched.height:
        problem = f"none of the {others.height:,} gold items was judged: this one is {quote(others['item'][0])}"
        raise source.wrong(f"{problem}, and judged items are such as {quote(table.items[0])}", int(others["row"][0]))
    if others.height:
        where = f"{source.name}, row {source.row(int(others['row'][0]))}"
        message = f"{where}: nobody judged gold item {quote(others['item'][0])}"
        warnings.warn(f"{message} ({others.height:,} such, left out)", AdjudgeWarning, stacklevel=4)
    truths = np.full(len(table.items), np.nan)
    truths[matched["place"].to_numpy()] = matched["score"].to_numpy()
    return truths


def _refuse_second_truths(source: Source, gold_scores: pl.DataFrame, by: list[str]) -> None:
    """Refuse an item that has another true score in an earlier row."""
    first = pl.col("score", "row").first().over(by).name.prefix("first_")
    other = gold_scores.with_columns(first).filter(pl.col("score") != pl.col("first_score"))
    if other.height:
        row = other.row(0, named=True)
        problem = f"item {quote(row['item'])} has the truth {row['score']:g} here and {row['first_score']:g}"
        raise source.wrong(f"{problem} in row {source.row(row['first_row'])}: keep one of them", row["row"])
