"""Columns of names to columns of codes, with every check a table deserves on the way in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.columns import EXPORT, find_columns, is_usual
from adjudge.data.judgments import Judgments, Origin, from_codes
from adjudge.data.scale import Label, Scale, given_scale, number_of, scale_of
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, quote, quoted
from adjudge.kernels.coding import Hashes, code

EXTEND = " (give --labels to extend the scale)"
PIECE = 1 << 16  # names hashed at a time
SEEN = 100  # names that tell, mostly, whether the others need to be read
CODED = ("item", "judge", "label", "topic")
APOSTROPHE = r"^'([=+\-@\t\r])"  # what an export to spreadsheets puts before a value that looks like a formula
PERSON = r"(?i)^(w|worker|judge|annotator|coder|rater|assessor|user|turker)[-_ ]?\d+$"


class Coded(NamedTuple):
    """A column as codes, numbered in the order of appearance."""

    code: Codes  # (N)
    names: pl.Series  # one a code
    first: Codes  # the row where each code first appears


def encode(
    source: Source, named: Mapping[str, str | None], labels: Sequence[Label] | None = None, ordinal: bool = False
) -> Judgments:
    """Return the judgments of a source, refusing with file and row what cannot be right."""
    roles = find_columns(source.columns, named, source.name)
    source = without_undecided(source, roles["label"])
    refuse_swapped_columns(source, roles)
    columns = code_columns(source, {role: roles[role] for role in CODED if role in roles})
    item, judge, label = columns["item"], columns["judge"], columns["label"]
    if not (named.get("item") and named.get("judge")):
        _refuse_swapped_values(source, item, judge)
    order = source.order(roles["label"]) if labels is None else None
    scale, to_scale = scale_codes(source, label, order or labels, ordinal or order is not None)
    topic = columns.get("topic")
    if topic is not None:
        item = _apart(source, item, topic)
    return from_codes(
        item.code,
        judge.code,
        np.take(to_scale, label.code, mode="clip"),  # codes are places on it already: no need to check them
        items=item.names.alias("item"),
        judges=judge.names.alias("judge"),
        scale=scale,
        topics=None if topic is None else topic.names.alias("topic"),
        topic=None if topic is None else frozen(topic.code[item.first]),
        weight=_counting(source, roles["weight"]) if "weight" in roles else None,
        time=source.column(roles["time"]).alias("time") if "time" in roles else None,
        kind=source.kind,
        origin=Origin(source.name, source.format, source.encoding, source.compression, roles),
    )


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
    """Return role -> codes; columns are coded side by side, since hashing and coding leave the GIL."""
    with ThreadPoolExecutor(2) as pool:
        coded = pool.map(lambda role: _code_column(source, role, roles[role]), roles)
        return dict(zip(roles, coded, strict=True))


def scale_codes(
    source: Source, label: Coded, labels: Sequence[Label] | None, ordinal: bool, advice: str = EXTEND
) -> tuple[Scale, Codes]:
    """Return the scale, and the place on it of each label seen; ``advice`` is for a label that has none."""
    seen = label.names.to_list()
    if labels is None:
        _refuse_twins(source, label)
    scale = scale_of(seen, ordinal) if labels is None else given_scale(labels, ordinal, seen[0])
    place = scale.places(seen)
    for value, position, k in zip(seen, label.first, place, strict=True):
        if k is None:
            raise source.wrong(f"label {quote(value)} is not one of {quoted(scale.names)}{advice}", int(position))
    return scale, np.array(place, np.uint8 if len(scale) <= 256 else np.int32)


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
    coded = _renamed(coded, names.str.strip_chars() if source.text else names)
    _refuse_empty(source, role, column, coded)
    return coded


def code_names(series: pl.Series) -> Coded:
    """Return codes found by hash; in the rare case of a collision, hash again."""
    for seed in count(0, 2):
        found = code(_hashes(series, seed), len(series))
        if found is not None:
            codes, first = found
            return Coded(codes, _at(series, first), first)
    raise AssertionError("unreachable: seeds do not end")


def _hashes(series: pl.Series, seed: int) -> Iterator[tuple[Hashes, Hashes]]:
    """Yield the two hashes of the names, in pieces small enough to stay in the processor's cache."""
    for chunk in series.get_chunks():
        for first in range(0, len(chunk), PIECE):
            names = chunk.slice(first, PIECE)
            yield names.hash(seed).to_numpy(), names.hash(seed + 1).to_numpy()


def _at(series: pl.Series, rows: Codes) -> pl.Series:
    """Return the values at ascending rows: a filter, which touches memory in order, where a gather jumps."""
    wanted = np.zeros(len(series), bool)
    wanted[rows] = True
    return series.filter(pl.Series(wanted))


def _plain(names: pl.Series) -> pl.Series:
    """Return names as text, integers, fractions or booleans: 1.0 is 1, a category its text, a date its text."""
    if names.dtype.is_decimal() and names.cast(pl.Float64).n_unique() < len(names):
        return names.cast(pl.String)  # more digits than a float tells apart, as in ids from a database
    if names.dtype.is_decimal() or names.dtype.is_float():
        fractions = names.cast(pl.Float64)
        whole = fractions.cast(pl.Int64, strict=False)
        return whole if whole.cast(pl.Float64).eq_missing(fractions).all() else fractions
    if names.dtype in (pl.Boolean, pl.Null) or (
        names.dtype.is_integer() and names.dtype not in (pl.Int128, pl.UInt128)
    ):
        return names
    return names.cast(pl.String)


def _renamed(coded: Coded, names: pl.Series) -> Coded:
    """Return the same column with other names for its codes; codes whose names are now the same become one."""
    if names.dtype == coded.names.dtype and names.equals(coded.names):
        return coded
    again = code_names(names)
    return Coded(again.code[coded.code], again.names, coded.first[again.first])


def _refuse_nested(source: Source, role: str, column: str, series: pl.Series) -> None:
    """Refuse a column whose rows are no single values."""
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise source.wrong(f"column {quote(column)} holds lists, records or objects, not one {role} a row")


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
    """Refuse one number written in two ways, such as 1 and 1.0, which would pass for two labels."""
    written: dict[float, Label] = {}
    for value, position in zip(label.names, label.first, strict=True):
        number = number_of(value)
        if number is not None and written.setdefault(number, value) != value:
            what = f"label {quote(value)} is {quote(written[number])} written in another way"
            raise source.wrong(f"{what}: write them alike, or give both with --labels", int(position))


def refuse_swapped_columns(source: Source, roles: Mapping[str, str]) -> None:
    """Refuse --item worker --judge item."""
    if is_usual(roles["item"], "judge") and is_usual(roles["judge"], "item"):
        raise source.wrong(
            f"item and judge look swapped: column {quote(roles['item'])} was named as the item "
            f"and {quote(roles['judge'])} as the judge"
        )


def _refuse_swapped_values(source: Source, item: Coded, judge: Coded) -> None:
    """Refuse a table whose item column holds judges.

    A sign is item ids that read like people (w01, worker7) beside judge ids that do not; another is far
    fewer items than judges with many judgments on each, unless nearly everybody judged everything. Naming
    both columns overrules either.
    """
    people = _people(item.names.head(SEEN)).all() and _people(item.names).all() and not _people(judge.names).any()
    rows, items, judges = item.code.size, len(item.names), len(judge.names)
    few = items > 1 and judges > 3 * items and rows >= 30 and 10 * items <= rows <= items * judges / 2
    if people or few:
        raise source.wrong(
            f"item and judge look swapped: {items:,} items such as {quoted(item.names.head(2))} and {judges:,} judges "
            f"such as {quoted(judge.names.head(2))}; if they are right, name both: --item and --judge, or "
            "item= and judge= of adjudge.read"
        )


def _people(names: pl.Series) -> pl.Series:
    """Return which names read like those of people."""
    return names.cast(pl.String).str.contains(PERSON)


def _apart(source: Source, item: Coded, topic: Coded) -> Coded:
    """Return the items; where one is in several topics, as one an item and topic, called ``topic_item``."""
    other = np.flatnonzero(topic.code != topic.code[item.first][item.code])
    if not other.size:
        return item
    n = int(other[0])
    name = f"{topic.names[int(topic.code[n])]}_{item.names[int(item.code[n])]}"
    what = (
        f"{source.name}, row {source.row(n)}: an item is in several topics, so items are called such as {quote(name)}"
    )
    warnings.warn(what, AdjudgeWarning, stacklevel=2)
    pair = code_names(pl.Series(item.code.astype(np.int64) * len(topic.names) + topic.code))
    parts = {"topic": topic.names.gather(topic.code[pair.first]), "item": item.names.gather(item.code[pair.first])}
    return pair._replace(names=pl.DataFrame(parts).select(pl.format("{}_{}", "topic", "item")).to_series())


def _counting(source: Source, column: str) -> Floats:
    """Return how often each judgment counts; refuse weights under which none would."""
    values = weights_of(source, column)
    with np.errstate(over="ignore"):
        refuse_no_weight(source, column, float(values.sum()))
    return values


def weights_of(source: Source, column: str) -> Floats:
    """Return how often each judgment counts, refusing what is not a number of at least 0."""
    given = source.column(column)
    _refuse_nested(source, "weight", column, given)
    if not given.dtype.is_numeric():
        given = given.cast(pl.String).str.strip_chars()
    values: Floats = given.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if bad.size:
        n = int(bad[0])
        if given[n] in (None, "") or given[n] != given[n]:
            raise source.wrong(f"the weight (column {quote(column)}) is empty", n)
        raise source.wrong(f"weight {quote(given[n])} is not a finite number of at least 0", n)
    return values


def refuse_no_weight(source: Source, column: str, total: float) -> None:
    """Refuse weights under which no judgment would count."""
    if total == 0 or not np.isfinite(total):
        raise source.wrong(f"the weights (column {quote(column)}) sum to {total:g}: no judgment would count")
