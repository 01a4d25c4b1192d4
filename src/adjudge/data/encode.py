"""Encode a table of judgments: names become integer codes, and everything that cannot be right is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.columns import EXPORT, find_columns, is_usual
from adjudge.data.judgments import Judgments, Origin, from_codes
from adjudge.data.panel import panel_columns
from adjudge.data.scale import Label, Labels, Scale, Values, given_scale, number_of, scale_of
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, quote, quoted
from adjudge.kernels.coding import Hashes, code

EXTEND = " (give --labels to extend the scale)"
EVERY_VALUE = " (--values must give every label a value, as bad=0,good=3)"
PIECE = 1 << 16  # names that are hashed at a time
SAMPLE = 100  # names that are looked at first, since they usually decide
CODED = ("item", "judge", "label", "topic")
APOSTROPHE = r"^'([=+\-@\t\r])"  # what an export to spreadsheets puts before a value that looks like a formula
PERSON = r"(?i)^(w|worker|judge|annotator|coder|rater|assessor|user|turker)[-_ ]?\d+$"


class Coded(NamedTuple):
    """A column as codes, numbered in the order of appearance."""

    code: Codes  # (N)
    names: pl.Series  # one per code
    first: Codes  # the row where each code first appears


def encode(
    source: Source,
    named: Mapping[str, str | None],
    labels: Labels | None = None,
    ordinal: bool = False,
    values: Values | None = None,
) -> Judgments:
    """Encode a table of judgments; what cannot be right is refused with its file and row.

    Parameters
    ----------
    source
        The columns of the table.
    named
        Role -> column, for columns with unusual names; None for the others.
    labels
        All labels of the scale, in order. By default those that occur, or the categories of an ordered column.
    ordinal
        Whether the order of the labels has a meaning.
    values
        The value of every label, which gives them an order.

    Returns
    -------
    Judgments
        Items, judges and labels as codes, sorted by item.
    """
    roles = find_columns(source.columns, named, source.name)
    source = without_undecided(source, roles["label"])
    refuse_swapped_columns(source, roles)
    columns = code_columns(source, {role: roles[role] for role in CODED if role in roles})
    item, judge, label = columns["item"], columns["judge"], columns["label"]
    if not {"item", "judge"} <= {role for role, column in named.items() if column}:
        _warn_of_swapped_values(source, item, judge)
    order = source.order(roles["label"]) if labels is None and values is None else None
    advice = EXTEND if values is None else EVERY_VALUE
    scale, to_scale = scale_codes(source, label, order or labels, ordinal or order is not None, advice, values)
    optional = _optional_columns(source, roles)
    if "topic" in columns:
        topic = columns["topic"]
        item = _split_topics(source, item, topic)
        optional |= {"topics": topic.names.alias("topic"), "topic": frozen(topic.code[item.first])}
    panel, facts = panel_columns(source, roles.values(), judge.code, judge.names)
    return from_codes(
        item.code,
        judge.code,
        np.take(to_scale, label.code, mode="clip"),  # codes are positions on it already: no need to check them
        items=item.names.alias("item"),
        judges=judge.names.alias("judge"),
        scale=scale,
        kind=source.kind,
        origin=Origin(source.name, source.format, source.encoding, source.compression, {**roles, **facts}),
        panel=panel,
        **optional,
    )


def _optional_columns(source: Source, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return the weights and times of judgments, if the table has them."""
    optional: dict[str, Any] = {}
    if "weight" in roles:
        optional["weight"] = _checked_weights(source, roles["weight"])
    if "time" in roles:
        optional["time"] = source.column(roles["time"]).alias("time")
    return optional


def without_undecided(source: Source, label: str) -> Source:
    """Return judgments that the studio exported without those whose label is empty because the judge could not tell.

    Other tables are returned unchanged. The apostrophe that exports put before a name like ``-1`` is removed.
    """
    if not {*EXPORT} <= {*source.columns}:
        return source
    labels = source.column(label).cast(pl.String)
    decided = (labels.is_not_null() & (labels.str.strip_chars() != "")).fill_null(False)
    rows = decided.arg_true()
    if len(rows) < len(labels):
        message = f"{source.name}: {len(labels) - len(rows):,} of {len(labels):,} judgments have no label because the "
        warnings.warn(f"{message}judge could not tell; they are left out", AdjudgeWarning, stacklevel=3)

    def column(name: str) -> pl.Series:
        series = source.column(name).filter(decided)
        return series.str.replace(APOSTROPHE, "$1") if series.dtype == pl.String else series

    return replace(source, column=column, row=lambda position: source.row(int(rows[position])))


def code_columns(source: Source, roles: Mapping[str, str]) -> dict[str, Coded]:
    """Encode the columns of some roles; an empty value is refused with its row.

    Parameters
    ----------
    source
        The columns of the table. They are coded in parallel, since hashing and coding release the GIL.
    roles
        Role -> column.

    Returns
    -------
    dict
        Role -> ``Coded``: the code of every row, and the names of the codes.
    """
    with ThreadPoolExecutor(2) as pool:
        coded = pool.map(lambda role: _code_column(source, role, roles[role]), roles)
        return dict(zip(roles, coded, strict=True))


def scale_codes(
    source: Source,
    label: Coded,
    labels: Labels | None,
    ordinal: bool,
    advice: str = EXTEND,
    values: Values | None = None,
) -> tuple[Scale, Codes]:
    """Return the scale of labels, and the position on it of each label that occurs.

    Parameters
    ----------
    source
        The table, for messages.
    label
        The column of labels as codes.
    labels
        All labels of the scale, in order; None for those that occur.
    ordinal
        Whether the order has a meaning.
    advice
        The end of the message about a label that is not on the scale.
    values
        The value of every label, which gives them an order.
    """
    names = label.names.to_list()
    given = labels is not None or values is not None
    if not given:
        _refuse_twins(source, label)
    scale = given_scale(labels, ordinal, names[0], values) if given else scale_of(names, ordinal)
    positions = scale.places(names)
    for value, row, position in zip(names, label.first, positions, strict=True):
        if position is None:
            raise source.wrong(f"label {quote(value)} is not one of {quoted(scale.names)}{advice}", int(row))
    return scale, np.array(positions, np.uint8 if len(scale) <= 256 else np.int32)


def _code_column(source: Source, role: str, column: str) -> Coded:
    """Return one column as codes."""
    series = source.column(column)
    if not len(series):
        raise source.wrong("holds no rows")
    _refuse_nested(source, role, column, series)
    coded = code_names(series)
    try:
        names = _plain(coded.names)
    except pl.exceptions.PolarsError as error:
        raise source.wrong(f"column {quote(column)} holds {series.dtype} values that are not text") from error
    coded = _rename(coded, names.str.strip_chars() if source.text else names)
    _refuse_empty(source, role, column, coded)
    return coded


def code_names(series: pl.Series) -> Coded:
    """Return names as codes, by hashing them; after a collision, which is rare, they are hashed again.

    >>> coded = code_names(pl.Series(["b", "a", "b"]))
    >>> coded.code.tolist(), coded.names.to_list(), coded.first.tolist()
    ([0, 1, 0], ['b', 'a'], [0, 1])
    """
    for seed in count(0, 2):
        result = code(_hashes(series, seed), len(series))
        if result is not None:
            codes, first = result
            return Coded(codes, _at(series, first), first)
    raise AssertionError("unreachable: there is always another seed")


def _hashes(series: pl.Series, seed: int) -> Iterator[tuple[Hashes, Hashes]]:
    """Yield two hashes of the names, in pieces that fit into the cache of the processor."""
    for chunk in series.get_chunks():
        for first in range(0, len(chunk), PIECE):
            names = chunk.slice(first, PIECE)
            yield names.hash(seed).to_numpy(), names.hash(seed + 1).to_numpy()


def _at(series: pl.Series, rows: Codes) -> pl.Series:
    """Return the values at ascending rows by a filter, which reads memory in order as a gather does not."""
    mask = np.zeros(len(series), bool)
    mask[rows] = True
    return series.filter(pl.Series(mask))


def _plain(names: pl.Series) -> pl.Series:
    """Return names as text, integers, floats or booleans: 1.0 is 1; categories and dates become text."""
    if names.dtype.is_decimal() and names.cast(pl.Float64).n_unique() < len(names):
        return names.cast(pl.String)  # more digits than a float has, as in ids from a database
    if names.dtype.is_decimal() or names.dtype.is_float():
        fractions = names.cast(pl.Float64)
        integers = fractions.cast(pl.Int64, strict=False)
        return integers if integers.cast(pl.Float64).eq_missing(fractions).all() else fractions
    if names.dtype in (pl.Boolean, pl.Null) or (
        names.dtype.is_integer() and names.dtype not in (pl.Int128, pl.UInt128)
    ):
        return names
    return names.cast(pl.String)


def _rename(coded: Coded, names: pl.Series) -> Coded:
    """Return a column with other names for its codes; codes whose names are now the same become one."""
    if names.dtype == coded.names.dtype and names.equals(coded.names):
        return coded
    again = code_names(names)
    return Coded(again.code[coded.code], again.names, coded.first[again.first])


def _refuse_nested(source: Source, role: str, column: str, series: pl.Series) -> None:
    """Refuse a column whose values are lists or records."""
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise source.wrong(f"column {quote(column)} holds lists, records or objects, not one {role} per row")


def _refuse_empty(source: Source, role: str, column: str, coded: Coded) -> None:
    """Refuse a missing or empty name."""
    missing = coded.names.is_null()
    if coded.names.dtype == pl.String:
        missing |= (coded.names == "").fill_null(True)
    elif coded.names.dtype.is_float():
        missing |= coded.names.is_nan().fill_null(True)
    if missing.any():
        position = int(coded.first[missing.to_numpy()].min())
        raise source.wrong(f"the {role} (column {quote(column)}) is empty", position)


def _refuse_twins(source: Source, label: Coded) -> None:
    """Refuse a number that is written in two ways, such as 1 and 1.0, which would be two labels."""
    written: dict[float, Label] = {}
    for value, position in zip(label.names, label.first, strict=True):
        number = number_of(value)
        if number is not None and written.setdefault(number, value) != value:
            problem = f"label {quote(value)} is {quote(written[number])} written in another way"
            raise source.wrong(f"{problem}: write them alike, or give both with --labels", int(position))


def refuse_swapped_columns(source: Source, roles: Mapping[str, str]) -> None:
    """Refuse a column of workers that is named as the item while a column of items is named as the judge."""
    if is_usual(roles["item"], "judge") and is_usual(roles["judge"], "item"):
        raise source.wrong(
            f"item and judge look swapped: column {quote(roles['item'])} was named as the item "
            f"and {quote(roles['judge'])} as the judge"
        )


def _warn_of_swapped_values(source: Source, item: Coded, judge: Coded) -> None:
    """Warn of item ids that look like people (w01, worker7) while judge ids do not.

    The names of the columns decide. The numbers of items and judges say nothing: in a monitoring set, many judges
    label few items. Naming both columns skips this check.
    """
    if _people(item.names.head(SAMPLE)).all() and _people(item.names).all() and not _people(judge.names).any():
        message = (
            f"{source.name}: items such as {quoted(item.names.head(2))} look like judges, and judges such as "
            f"{quoted(judge.names.head(2))} do not; if the columns are swapped, name both: --item and --judge, or "
            "item= and judge= of adjudge.read"
        )
        warnings.warn(message, AdjudgeWarning, stacklevel=2)


def _people(names: pl.Series) -> pl.Series:
    """Return which names look like those of people."""
    return names.cast(pl.String).str.contains(PERSON)


def _split_topics(source: Source, item: Coded, topic: Coded) -> Coded:
    """Return the items; if one is in several topics, an item per item and topic, called ``topic_item``."""
    elsewhere = np.flatnonzero(topic.code != topic.code[item.first][item.code])
    if not elsewhere.size:
        return item
    n = int(elsewhere[0])
    name = f"{topic.names[int(topic.code[n])]}_{item.names[int(item.code[n])]}"
    where = f"{source.name}, row {source.row(n)}"
    message = f"{where}: an item is in several topics, so items are called topic_item, such as {quote(name)}"
    warnings.warn(message, AdjudgeWarning, stacklevel=2)
    pair = code_names(pl.Series(item.code.astype(np.int64) * len(topic.names) + topic.code))
    parts = {"topic": topic.names.gather(topic.code[pair.first]), "item": item.names.gather(item.code[pair.first])}
    return pair._replace(names=pl.DataFrame(parts).select(pl.format("{}_{}", "topic", "item")).to_series())


def _checked_weights(source: Source, column: str) -> Floats:
    """Return the weight of each judgment; weights with which no judgment counts are refused."""
    values = weights_of(source, column)
    with np.errstate(over="ignore"):
        refuse_no_weight(source, column, float(values.sum()))
    return values


def weights_of(source: Source, column: str) -> Floats:
    """Return the weight of each judgment; what is not a number of at least 0 is refused."""
    series = source.column(column)
    _refuse_nested(source, "weight", column, series)
    if not series.dtype.is_numeric():
        series = series.cast(pl.String).str.strip_chars()
    values: Floats = series.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        n = int(bad[0])
        if series[n] in (None, "") or series[n] != series[n]:
            raise source.wrong(f"the weight (column {quote(column)}) is empty", n)
        raise source.wrong(f"weight {quote(series[n])} is not a finite number of at least 0", n)
    return values


def refuse_no_weight(source: Source, column: str, total: float) -> None:
    """Refuse weights with which no judgment counts."""
    if total == 0 or not np.isfinite(total):
        raise source.wrong(f"the weights (column {quote(column)}) sum to {total:g}: no judgment would count")
