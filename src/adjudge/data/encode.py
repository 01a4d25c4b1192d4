"""Encode a table of judgments: names become integer codes, and everything that cannot be right is refused."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.columns import EXPORT, find_columns, is_usual
from adjudge.data.judgments import ABSTENTIONS, Judgments, Origin, from_codes
from adjudge.data.label_values import (
    confidence_note,
    label_values,
    left_out_note,
    odd_labels,
    odd_names,
    spelling_key,
    spellings,
)
from adjudge.data.panel import panel_columns
from adjudge.data.scale import Label, Labels, Scale, Values, given_scale, scale_of
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


class LabelOptions(NamedTuple):
    """How the values in the column of labels are read."""

    missing: Sequence[str] | None = None  # texts that mean that there is no label; None for the usual ones
    abstain: Sequence[str] | None = None  # texts that mean that the judge could not tell
    keep_case: bool = False  # whether Yes and yes are different labels


AS_USUAL = LabelOptions()


def encode(
    source: Source,
    named: Mapping[str, str | None],
    labels: Labels | None = None,
    ordinal: bool = False,
    values: Values | None = None,
    label_options: LabelOptions = AS_USUAL,
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
    label_options
        Which labels are missing values and abstentions, and whether case matters.

    Returns
    -------
    Judgments
        Items, judges and labels as codes, sorted by item.
    """
    roles = find_columns(source.columns, named, source.name)
    source = without_undecided(source, roles["label"])
    refuse_swapped_columns(source, roles)
    order = source.order(roles["label"]) if labels is None and values is None else None
    declared_labels = _labels_of(order or labels, values)
    source, columns, left_out = _labelled(source, roles, declared_labels, label_options)
    item, judge, label = columns["item"], columns["judge"], columns["label"]
    if not {"item", "judge"} <= {role for role, column in named.items() if column}:
        _warn_of_swapped_values(source, item, judge)
    advice = EXTEND if values is None else EVERY_VALUE
    is_ordinal = ordinal or order is not None
    scale, to_scale = scale_codes(source, label, order or labels, is_ordinal, advice, values, label_options.keep_case)
    notes = odd_labels(scale.labels, scale.ordinal) if not declared_labels else []
    if not isinstance(labels, Scale):  # as those of a fit, whose judgments are read again
        notes += [odd_names(item.names, "item"), odd_names(judge.names, "judge")]
        notes += [confidence_note(source.columns, roles)]
    for note in filter(None, notes):
        warnings.warn(f"{source.name}: {note}", AdjudgeWarning, stacklevel=3)
    optional = _optional_columns(source, roles)
    if "topic" in columns:
        topic = columns["topic"]
        item = _split_topics(source, item, topic)
        optional |= {"topics": topic.names.alias("topic"), "topic": frozen(topic.code[item.first])}
    panel, facts = panel_columns(source, roles.values(), judge.code, judge.names)
    used = {**roles, **facts, **{role: column for role, column in source.used.items() if role in roles}}
    return from_codes(
        item.code,
        judge.code,
        np.take(to_scale, label.code, mode="clip"),  # codes are positions on it already: no need to check them
        items=item.names.alias("item"),
        judges=judge.names.alias("judge"),
        scale=scale,
        kind=source.kind,
        origin=Origin(
            source.name,
            source.format,
            source.encoding,
            source.compression,
            used,
            source.shape,
            left_out.missing,
            () if declared_labels else spellings(label.names.to_list(), label_options.keep_case).notes,
            tuple(name for name in source.columns if name not in used.values()) if not source.used else (),
        ),
        panel=panel,
        abstained=_saved_abstentions(source, judge) if left_out.abstentions is None else left_out.by_judge(judge.names),
        **optional,
    )


class _LeftOut(NamedTuple):
    """The judgments that have no label."""

    missing: int = 0
    judges: pl.Series | None = None  # the judges of all rows, by name
    abstentions: Codes | None = None  # how often each of them abstained

    def by_judge(self, judges: pl.Series) -> Codes | None:
        """Return how often each judge abstained (J), None if no label was declared an abstention."""
        if self.judges is None or self.abstentions is None:
            return None
        counts = dict(zip(self.judges.to_list(), self.abstentions.tolist(), strict=True))
        return frozen(np.array([counts.get(name, 0) for name in judges.to_list()], np.int64))


def _saved_abstentions(source: Source, judge: Coded) -> Codes | None:
    """Return how often each judge abstained, from a table of judgments that adjudge has written; else None."""
    if ABSTENTIONS not in source.columns:
        return None
    counts = source.column(ABSTENTIONS).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    return frozen(counts[judge.first].astype(np.int64))


def _labels_of(labels: Labels | None, values: Values | None) -> list[object]:
    """Return the labels that a user gave, none if they gave none."""
    if isinstance(labels, Scale):
        return [*labels.labels]
    return [*(values or ()), *(labels if labels is not None and not isinstance(labels, str) else ())]


def _labelled(
    source: Source, roles: Mapping[str, str], declared_labels: Sequence[object], label_options: LabelOptions
) -> tuple[Source, dict[str, Coded], _LeftOut]:
    """Return the rows that have a label, their columns as codes, and what was left out."""
    coded = {role: roles[role] for role in CODED if role in roles}
    columns = _code_columns(source, coded)
    label, judge = columns["label"], columns["judge"]
    values = label_values(label.names, label_options.missing, label_options.abstain, declared_labels)
    left_out = values.left_out
    abstains = label_options.abstain is not None
    if label_options.abstain and not values.abstention.any():
        message = f"{source.name}: no judgment has the label {quoted(label_options.abstain)} of --abstain"
        warnings.warn(message, AdjudgeWarning, stacklevel=4)
    if not left_out.any():
        _refuse_empty_names(source, roles, columns)
        zeros = np.zeros(len(judge.names), np.int64) if abstains else None
        return source, columns, _LeftOut(0, judge.names, zeros)
    if left_out.all():
        problem = "every label is missing" if values.missing.all() else "no judgment has a label: all are abstentions"
        raise source.wrong(f"{problem} (column {quote(roles['label'])})", int(label.first[0]))
    with_label = ~left_out[label.code]
    rows = np.flatnonzero(with_label)
    labelled = filtered(source, pl.Series(with_label), rows)
    remaining = _code_columns(labelled, coded)
    _refuse_empty_names(labelled, roles, remaining)
    lost = [_number_of_names(columns[role]) - len(remaining[role].names) for role in ("item", "judge")]
    count = np.bincount(label.code, minlength=len(label.names))
    if values.missing.any() or any(lost):  # abstentions that the user declared need no note
        note = left_out_note(label.names, values, count, *lost)
        warnings.warn(f"{source.name}: {note}", AdjudgeWarning, stacklevel=4)
    abstained = np.bincount(judge.code[values.abstention[label.code]], minlength=len(judge.names)) if abstains else None
    return labelled, remaining, _LeftOut(int(count[values.missing].sum()), judge.names, abstained)


def _number_of_names(coded: Coded) -> int:
    """Return the number of names that are not empty."""
    return len(coded.names) - int(_is_empty(coded.names).sum())


def filtered(source: Source, keep: pl.Series, rows: Codes) -> Source:
    """Return only some rows of a source; messages keep their numbers."""
    return replace(
        source,
        column=lambda name: source.column(name).filter(keep),
        row=lambda position: source.row(int(rows[position])),
    )


def without_missing(
    source: Source, label: str, label_options: LabelOptions, declared_labels: Sequence[object]
) -> tuple[Source, int]:
    """Return the rows of a batch that have a label, and how many have none; see ``encode``."""
    series = source.column(label)
    _refuse_nested(source, "label", label, series)
    values = code_names(series)
    left_out = label_values(
        _plain(values.names), label_options.missing, label_options.abstain, declared_labels
    ).left_out
    if not left_out.any():
        return source, 0
    with_label = ~left_out[values.code]
    return filtered(source, pl.Series(with_label), np.flatnonzero(with_label)), int((~with_label).sum())


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
    columns = _code_columns(source, roles)
    _refuse_empty_names(source, roles, columns)
    return columns


def _code_columns(source: Source, roles: Mapping[str, str]) -> dict[str, Coded]:
    """Encode the columns of some roles, with null and empty values as names of their own."""
    with ThreadPoolExecutor(2) as pool:
        coded = pool.map(lambda role: _code_column(source, role, roles[role]), roles)
        return dict(zip(roles, coded, strict=True))


def _refuse_empty_names(source: Source, roles: Mapping[str, str], columns: Mapping[str, Coded]) -> None:
    """Refuse a missing or empty name in any column."""
    for role, coded in columns.items():
        _refuse_empty(source, role, roles[role], coded)


def scale_codes(
    source: Source,
    label: Coded,
    labels: Labels | None,
    ordinal: bool,
    advice: str = EXTEND,
    values: Values | None = None,
    keep_case: bool = False,
) -> tuple[Scale, Codes]:
    """Return the scale of labels, and the position on it of each label that occurs.

    Spellings of a label, such as ``Yes`` and ``yes``, have one position, with a note.

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
    keep_case
        Whether labels in different case are different labels.
    """
    names = label.names.to_list()
    has_scale = labels is not None or values is not None
    spelled = spellings(names, keep_case)
    note = ""
    if has_scale:
        scale = given_scale(labels, ordinal, names[0], values)
        positions, others = _places(scale, names, keep_case)
        note = "; ".join(f"{quote(name)} is read as the label {quote(scale.names[k])}" for name, k in others)
    else:
        scale = scale_of(dict.fromkeys(spelled.label), ordinal)
        positions = scale.places(spelled.label)
        note = "; ".join(spelled.notes)
    if note:
        same_case = spellings(names, keep_case=True).merged == spelled.merged and not has_scale
        advice_case = "" if same_case else " (--keep-case keeps labels in different case apart)"
        warnings.warn(f"{source.name}: {note}{advice_case}", AdjudgeWarning, stacklevel=3)
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
    return _rename(coded, names.str.strip_chars() if source.text and names.dtype == pl.String else names)


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
    missing = _is_empty(coded.names)
    if missing.any():
        position = int(coded.first[missing.to_numpy()].min())
        raise source.wrong(f"the {role} (column {quote(column)}) is empty", position)


def _is_empty(names: pl.Series) -> pl.Series:
    """Return which names are null, empty or NaN."""
    empty = names.is_null()
    if names.dtype == pl.String:
        empty |= (names == "").fill_null(True)
    elif names.dtype.is_float():
        empty |= names.is_nan().fill_null(True)
    return empty


def _places(scale: Scale, names: Sequence[Label], keep_case: bool) -> tuple[list[int | None], list[tuple[Label, int]]]:
    """Return the positions of labels on a scale that was given, and the labels that have another spelling there."""
    positions, others = scale.places(names), list[tuple[Label, int]]()
    if None in positions:
        keys = [spelling_key(name, keep_case) for name in scale.labels]
        by_spelling = {key: k for k, key in enumerate(keys) if keys.count(key) == 1}
        for n, name in enumerate(names):
            if positions[n] is None and (position := by_spelling.get(spelling_key(name, keep_case))) is not None:
                positions[n] = position
                others.append((name, position))
    return positions, others


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
            f"{quoted(judge.names.head(2))} do not; if the columns are swapped, name both with --item and --judge"
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
