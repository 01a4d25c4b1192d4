"""Answers matched to gold item by item: a fit, a saved fit, or any table of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.columns import EXPORTED_LABELS, find_columns, has_column, topic_column
from adjudge.data.encode import Coded, code_columns, scale_codes
from adjudge.data.gold import GOLD, UNKNOWN, as_judged, as_labels, gold_source, gold_table, split_topics, warn_of_grades
from adjudge.data.judgments import places
from adjudge.data.scale import Label, Scale, Values, given_scale, number_of, scale_of
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.inference.save import load
from adjudge.kernels.truth import ROUNDING

if TYPE_CHECKING:
    from adjudge.data.judgments import Names
    from adjudge.data.source import Source
    from adjudge.inference.calibration import Calibration


ROLES = ("item", "label")
PREFIX = "p_"  # of the columns that hold probabilities
EXPECTED = "expected"  # the column that holds expected values
TASK2_RUN = "trec-task2-run"  # the format with a probability of label 1, and a rank
TOLERANCE = 1e-3 + 1e-9  # of the sum of an item's probabilities; .5 and .499 pass


class Answers(NamedTuple):
    """One label per item and, if there are any, the probabilities of all labels."""

    items: Names  # (I)
    scale: Scale  # K
    label: Codes  # (I)
    probability: Floats | None = None  # (I, K)
    gold: Codes | None = None  # (I) the gold that a fit used, -1 if none
    kind: str = "polars"  # of the frames to give back
    calibration: Calibration | None = None  # of a fit
    expected: Floats | None = None  # (I) expected values, if a table has them
    unlabelled: bool = False  # whether a table has expected values and no labels
    topics: Names | None = None  # (T)
    topic: Codes | None = None  # (I), -1 if an item has none
    rank: Floats | None = None  # (I) the rank of each item in its topic, if a table has it


class Matched(NamedTuple):
    """Answers, and the truths of the items that have both."""

    answers: Answers
    truth: Codes  # (M) of the items that have gold and an answer
    row: Codes  # (M) of these items among the answers
    missing: int  # items that have gold and no answer


def match_gold(answers: Any, gold: Any, named: Mapping[str, str | None]) -> Matched:
    """Return answers (a fit, the folder of a saved one, a table) and gold (a table), matched by item."""
    fit = _fit_of(answers)
    source = _source(gold, "gold")
    table = _source(answers, "answers") if fit is None else None
    roles = _gold_roles(source, _own_columns(source, named, table))
    if table is None:
        source, _ = as_judged(source, roles["item"], [(fit.items, fit.topic)], fit.topics)
        source = as_labels(source, roles["label"], fit.scale)
    else:
        table, source = _matched_tables(table, source, roles, named)
    labels = code_columns(source, {"label": roles["label"]})["label"]
    if roles["label"] == GOLD:
        labels = _without_unknown(source, labels)
    if table is None:
        rows = _from_fit(fit, source, labels)
    else:
        rows = _from_table(table, _own_columns(table, named, source), source, labels)
    items, truth = gold_table(source, rows.scale, item=roles["item"], label=roles["label"])
    index = _answer_index(source, items, rows)  # (I) of the gold items among the answers
    return Matched(rows, truth[index >= 0], index[index >= 0], int((index < 0).sum()))


def put_on_scale(
    matched: Matched, labels: Sequence[Label] | None, ordinal: bool, values: Values | None = None
) -> Matched:
    """Return the same on a scale with these labels, in order, or with these values, or on an ordinal scale.

    Labels of a table with expected values are ordered if they are numbers. A table that has no labels gets those that
    are nearest to its expected values.
    """
    answers = matched.answers
    numbers = answers.expected is not None and all(number_of(label) is not None for label in answers.scale.labels)
    matched = _rescaled(matched, labels, ordinal or answers.unlabelled or numbers, values)
    answers = matched.answers
    if answers.expected is not None and answers.scale.ordinal and (values is None or answers.probability is None):
        _refuse_outside(answers, answers.expected)
    if answers.expected is None or not answers.unlabelled:
        return matched
    return matched._replace(answers=answers._replace(label=nearest_label(answers.expected, answers.scale)))


def nearest_label(point: Floats, scale: Scale) -> Codes:
    """Return the code of the label whose value is nearest to each point (I); halves are rounded up."""
    value = np.array(scale.values)
    return np.searchsorted((value[1:] + value[:-1]) / 2, point + ROUNDING, side="right")


def _refuse_outside(answers: Answers, expected: Floats) -> None:
    """Refuse an expected value that is beyond the values of all labels: it is on another scale."""
    low, high = min(answers.scale.values), max(answers.scale.values)
    outside = np.flatnonzero((expected < low - TOLERANCE) | (expected > high + TOLERANCE))
    if outside.size:
        n = int(outside[0])
        message = f"the expected value {expected[n]:g} of item {quote(answers.items[n])} is not between {low:g} and "
        advice = "name all labels with --labels, or give their values with --values"
        raise UsageError(f"{message}{high:g}, the values of the labels: {advice}")


def _rescaled(matched: Matched, labels: Sequence[Label] | None, ordinal: bool, values: Values | None) -> Matched:
    """Return the same on a scale with these labels or values, or on an ordinal scale of the same labels."""
    answers, old = matched.answers, matched.answers.scale
    if labels is None and values is None and (old.ordinal or not ordinal):
        return matched
    order = scale_of(old.labels, ordinal).labels if labels is None and values is None else labels
    new = given_scale(order, ordinal or old.ordinal, old.labels[0], old.given_values if values is None else values)
    codes = new.places(old.labels)
    unknown = [label for label, k in zip(old.labels, codes, strict=True) if k is None]
    if unknown:
        raise UsageError(f"labels {quoted(new.names)} lack {quoted(unknown)}: name all labels of answers and gold")
    to = np.array([*codes, -1], np.int64)  # -1 stays -1
    return matched._replace(answers=_recoded(answers, new, to), truth=to[matched.truth])


def _recoded(answers: Answers, scale: Scale, to: Codes) -> Answers:
    """Return answers on another scale, whose label ``to[k]`` is the label k of theirs."""
    probability = None if answers.probability is None else np.zeros((len(answers.items), len(scale)))
    if probability is not None:
        probability[:, to[:-1]] = answers.probability
    gold = None if answers.gold is None else to[answers.gold]
    return answers._replace(scale=scale, label=to[answers.label], probability=probability, gold=gold)


def _fit_of(answers: Any) -> Any:
    """Return the fit that is given or saved in a folder, None for a table."""
    if isinstance(answers, str | PathLike):
        return load(Path(answers)) if Path(answers).is_dir() else None
    return answers if isinstance(answers, Fit) else None


def _source(data: Any, name: str) -> Source:
    """Return a table as a source; a table without a file name is called ``name``."""
    source = gold_source(data)
    return source if isinstance(data, str | PathLike) else replace(source, name=name)


def _matched_tables(
    table: Source, source: Source, roles: Mapping[str, str], named: Mapping[str, str | None]
) -> tuple[Source, Source]:
    """Return answers and gold with the same names for items of topics, and gold grades as the labels of the answers."""
    columns = _answer_roles(table, _own_columns(table, named, source))
    table, answered, topics = split_topics(table, columns["item"])
    source, _ = as_judged(source, roles["item"], [answered], topics)
    probable = [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]
    if {*EXPORTED_LABELS} <= {*table.columns} or table.format == TASK2_RUN:  # binary by definition
        probable = ["0", "1"]
    if probable or "label" not in columns:
        return table, as_labels(source, roles["label"], Scale(tuple(probable))) if probable else source
    warn_of_grades(source, roles["label"], table.column(columns["label"]))
    return table, source


def _own_columns(source: Source, named: Mapping[str, str | None], other: Source | None) -> dict[str, str | None]:
    """Return the columns named for this table; a column that only the other table has is named for that."""
    away = set(other.columns) - set(source.columns) if other is not None else set()
    return {role: None if column in away else column for role, column in named.items()}


def _gold_roles(source: Source, named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns of items and truths; a column called gold holds truths."""
    label = named["label"] or (GOLD if GOLD in source.columns else None)
    return find_columns(source.columns, {**named, "label": label}, source.name, needed=ROLES)


def _without_unknown(source: Source, labels: Coded) -> Coded:
    """Return the truths without the one that means unknown."""
    truths = (labels.names.cast(pl.String) != UNKNOWN).to_numpy()
    if not truths.any():
        raise source.wrong(f"every truth is {UNKNOWN}, which means unknown")
    return Coded(labels.code, labels.names.filter(pl.Series(truths)), labels.first[truths])


def _from_fit(fit: Any, source: Source, labels: Coded) -> Answers:
    """Return the consensus of a fit; refuse gold that is not on its scale."""
    for value, position, code in zip(labels.names, labels.first, fit.scale.places(labels.names), strict=True):
        if code is None:
            message = f"label {quote(value)} is not on the scale of the fit: {quoted(fit.scale.names)}"
            raise source.wrong(message, int(position))
    gold = getattr(fit, "gold", None)
    answers = Answers(fit.items, fit.scale, fit.label, fit.posterior, gold, fit.kind, fit.calibration)
    return answers._replace(topics=fit.topics, topic=fit.topic)


def _answer_roles(table: Source, named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns of items and labels; a table with expected values needs no labels."""
    unlabelled = EXPECTED in table.columns and named["label"] is None and not has_column("label", table.columns)
    return find_columns(table.columns, named, table.name, needed=ROLES[:1] if unlabelled else ROLES)


def _from_table(table: Source, named: Mapping[str, str | None], source: Source, labels: Coded) -> Answers:
    """Return the answers of a table, on a scale of its labels and those of gold."""
    roles = _answer_roles(table, named)
    columns = code_columns(table, roles)
    item = columns["item"]
    _refuse_second_answers(table, item)
    more = _other_columns(table, roles)
    truths = scale_codes(source, labels, None, ordinal=False, keep_case=True)[0].labels
    if "label" not in columns:
        code = np.zeros(len(item.names), np.int64)
        return Answers(item.names, scale_of(truths), code, kind=table.kind, unlabelled=True, **more)
    label = columns["label"]
    if table.format == TASK2_RUN:
        probable, parts = ["0", "1"], _relevance(table)
    else:
        probable = [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]
        parts = [_numbers(table, PREFIX + name, share=True) for name in probable]
    answered = Scale(tuple(probable)) if probable else scale_codes(table, label, None, ordinal=False, keep_case=True)[0]
    _refuse_improbable(table, label, answered)
    unanswered = [value for value, k in zip(truths, answered.places(truths), strict=True) if k is None]
    labels_of_both = scale_of([*answered.labels, *unanswered]).labels
    scale, to_scale = scale_codes(table, label, labels_of_both, ordinal=False, keep_case=True)
    probability = _probability(table, probable, parts, scale) if probable else None
    return Answers(item.names, scale, to_scale[label.code], probability, kind=table.kind, **more)


def _relevance(table: Source) -> list[Floats]:
    """Return the probabilities of 0 and of 1 in a task 2 run, (I) each."""
    relevance = table.column("probability").cast(pl.Float64).to_numpy()
    return [1 - relevance, relevance]


def _other_columns(table: Source, roles: Mapping[str, str]) -> dict[str, Any]:
    """Return expected values, topics and ranks of a table of answers, if it has them."""
    more: dict[str, Any] = {}
    if EXPECTED in table.columns and EXPECTED not in roles.values():
        more["expected"] = _numbers(table, EXPECTED)
    topic = topic_column([name for name in table.columns if name not in roles.values()])
    if topic is not None:
        names = table.column(topic).cast(pl.String)
        more["topics"] = names.drop_nulls().unique(maintain_order=True)
        more["topic"] = places(names, more["topics"])
    if table.format == TASK2_RUN:
        more["rank"] = _numbers(table, "rank")
    return more


def _refuse_second_answers(table: Source, item: Coded) -> None:
    """Refuse an item with two answers: this may be a table of judgments."""
    before = item.first[item.code]  # (N) the row where each row's item came first
    again = np.flatnonzero(before != np.arange(before.size))
    if again.size:
        n = int(again[0])
        name, row = item.names[int(item.code[n])], table.row(int(before[n]))
        raise table.wrong(f"item {quote(name)} already has an answer in row {row}: give one answer per item", n)


def _refuse_improbable(table: Source, label: Coded, probable: Scale) -> None:
    """Refuse an answer that has no column among the probabilities."""
    for value, position, code in zip(label.names, label.first, probable.places(label.names), strict=True):
        if code is None:
            columns = quoted(PREFIX + name for name in probable.names)
            message = f"label {quote(value)} has no column {quote(f'{PREFIX}{value}')} beside {columns}"
            raise table.wrong(message, int(position))


def _probability(table: Source, probable: Sequence[str], columns: Sequence[Floats], scale: Scale) -> Floats:
    """Return the columns of probabilities (I, K); labels without a column have 0."""
    probability = np.zeros((columns[0].size, len(scale)))
    probability[:, np.array(scale.places(probable), np.intp)] = np.column_stack(columns)
    total = probability.sum(axis=1)  # (I)
    off = np.flatnonzero(np.abs(total - 1) > TOLERANCE)
    if off.size:
        n, names = int(off[0]), quoted(PREFIX + name for name in probable)
        raise table.wrong(f"the probabilities {names} sum to {total[n]:.6g}, not 1", n)
    return probability


def _numbers(table: Source, name: str, share: bool = False) -> Floats:
    """Return a column of finite numbers (I), or of shares: numbers from 0 to 1."""
    column = table.column(name)
    plain = column.str.strip_chars() if column.dtype == pl.String else column
    values: Floats = plain.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    usable = (values >= 0) & (values <= 1) if share else np.isfinite(values)
    wrong = np.flatnonzero(~usable)
    if wrong.size:
        n, kind = int(wrong[0]), "a number from 0 to 1" if share else "a number"
        problem = "is empty" if column[n] is None else f"{quote(column[n])} is not {kind}"
        raise table.wrong(f"{name} {problem}", n)
    return values


def _answer_index(source: Source, items: Coded, answers: Answers) -> Codes:
    """Return the index of each gold item among the answers, -1 if it has none; refuse gold without any answer."""
    index = places(items.names, answers.items)
    if (index < 0).all():
        first = f"item {quote(items.names[0])} is not among the answered items, such as {quote(answers.items[0])}"
        raise source.wrong(f"{first}; nor is any other of the {len(items.names):,} gold items", int(items.first[0]))
    return index
