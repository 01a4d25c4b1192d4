"""What is scored: a consensus or any table of answers, matched to the gold item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.columns import EXPORTED_LABELS, find_columns
from adjudge.data.encode import Coded, code_columns, scale_codes
from adjudge.data.gold import GOLD, UNKNOWN, as_judged, as_labels, gold_source, gold_table, split_topics, warn_of_grades
from adjudge.data.judgments import places
from adjudge.data.scale import Label, Scale, given_scale, scale_of
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.inference.save import load

if TYPE_CHECKING:
    from adjudge.data.judgments import Names
    from adjudge.data.source import Source


ROLES = ("item", "label")
PREFIX = "p_"  # of the columns that hold probabilities
OFF_ONE = 1e-3 + 1e-9  # how far an item's probabilities may be from 1 together; .5 and .499 pass


class Answers(NamedTuple):
    """What is scored: one label an item and, where there are some, the probabilities of all labels."""

    items: Names  # (I)
    scale: Scale  # K
    label: Codes  # (I)
    probability: Floats | None = None  # (I, K)
    told: Codes | None = None  # (I) the gold a fit was given, -1 where none
    kind: str = "polars"  # of the frames to give back


class Matched(NamedTuple):
    """Answers beside the truths of the items that have both."""

    answers: Answers
    truth: Codes  # (M) of the items that have gold and an answer
    place: Codes  # (M) of those items among the answers
    missing: int  # items that have gold and no answer


def matched(answers: Any, gold: Any, named: Mapping[str, str | None]) -> Matched:
    """Return answers (a fit, a saved one's folder, a table) and gold (a table), matched by item."""
    fit = _fit_of(answers)
    source = _source(gold, "gold")
    table = _source(answers, "answers") if fit is None else None
    roles = _gold_roles(source, _meant(source, named, table))
    if table is None:
        source, _ = as_judged(source, roles["item"], [(fit.items, fit.topic)], fit.topics)
        source = as_labels(source, roles["label"], fit.scale)
    else:
        table, source = _matched_tables(table, source, roles, named)
    seen = code_columns(source, {"label": roles["label"]})["label"]
    if roles["label"] == GOLD:
        seen = _without_unknown(source, seen)
    if table is None:
        given = _from_fit(fit, source, seen)
    else:
        given = _from_table(table, _meant(table, named, source), source, seen)
    items, truth = gold_table(source, given.scale, item=roles["item"], label=roles["label"])
    place = _places(source, items, given)  # (I) of the gold items among the answers
    return Matched(given, truth[place >= 0], place[place >= 0], int((place < 0).sum()))


def ordered(found: Matched, labels: Sequence[Label] | None, ordinal: bool) -> Matched:
    """Return the same on a scale that is given, in order, or whose numeric order is said to mean something."""
    given, old = found.answers, found.answers.scale
    if labels is None and (old.ordinal or not ordinal):
        return found
    order = scale_of(old.labels, ordinal).labels if labels is None else labels
    new = given_scale(order, ordinal or old.ordinal, old.labels[0])
    place = new.places(old.labels)
    strange = [label for label, k in zip(old.labels, place, strict=True) if k is None]
    if strange:
        raise UsageError(f"labels {quoted(new.names)} lack {quoted(strange)}: name all that answers and gold hold")
    to = np.array([*place, -1], np.int64)  # what is not known stays -1
    probability = None if given.probability is None else np.zeros((len(given.items), len(new)))
    if probability is not None:
        probability[:, to[:-1]] = given.probability
    told = None if given.told is None else to[given.told]
    answers = given._replace(scale=new, label=to[given.label], probability=probability, told=told)
    return found._replace(answers=answers, truth=to[found.truth])


def _fit_of(answers: Any) -> Any:
    """Return the fit that answers are or that their folder holds, None for a table."""
    if isinstance(answers, str | PathLike):
        return load(Path(answers)) if Path(answers).is_dir() else None
    return answers if isinstance(answers, Fit) else None


def _source(data: Any, name: str) -> Source:
    """Return a table as a source; what has no file name is called by its part."""
    source = gold_source(data)
    return source if isinstance(data, str | PathLike) else replace(source, name=name)


def _matched_tables(
    table: Source, source: Source, roles: Mapping[str, str], named: Mapping[str, str | None]
) -> tuple[Source, Source]:
    """Return answers and gold with the same names for items of topics, and gold grades as the labels of the answers."""
    columns = find_columns(table.columns, _meant(table, named, source), table.name, needed=ROLES)
    table, answered, topics = split_topics(table, columns["item"])
    source, _ = as_judged(source, roles["item"], [answered], topics)
    probable = [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]
    if {*EXPORTED_LABELS} <= {*table.columns} or table.format == "trec-task2-run":  # binary by definition
        probable = ["0", "1"]
    if probable:
        return table, as_labels(source, roles["label"], Scale(tuple(probable)))
    warn_of_grades(source, roles["label"], table.column(columns["label"]))
    return table, source


def _meant(source: Source, named: Mapping[str, str | None], other: Source | None) -> dict[str, str | None]:
    """Return the columns named for this table: one that only the other table has is named for that."""
    away = set(other.columns) - set(source.columns) if other is not None else set()
    return {role: None if column in away else column for role, column in named.items()}


def _gold_roles(source: Source, named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns that hold items and truths; a column called gold holds truths."""
    label = named["label"] or (GOLD if GOLD in source.columns else None)
    return find_columns(source.columns, {**named, "label": label}, source.name, needed=ROLES)


def _without_unknown(source: Source, seen: Coded) -> Coded:
    """Return the truths without the one that stands for not known."""
    known = (seen.names.cast(pl.String) != UNKNOWN).to_numpy()
    if not known.any():
        raise source.wrong(f"every truth is {UNKNOWN}, which means unknown")
    return Coded(seen.code, seen.names.filter(pl.Series(known)), seen.first[known])


def _from_fit(fit: Any, source: Source, seen: Coded) -> Answers:
    """Return the consensus of a fit, refusing gold that is not on its scale."""
    for value, position, place in zip(seen.names, seen.first, fit.scale.places(seen.names), strict=True):
        if place is None:
            what = f"label {quote(value)} is not on the scale of the fit: {quoted(fit.scale.names)}"
            raise source.wrong(what, int(position))
    return Answers(fit.items, fit.scale, fit.label, fit.posterior, getattr(fit, "gold", None), fit.kind)


def _from_table(table: Source, named: Mapping[str, str | None], source: Source, seen: Coded) -> Answers:
    """Return the answers of a table; its scale is of its own labels and the gold's."""
    columns = code_columns(table, find_columns(table.columns, named, table.name, needed=ROLES))
    item, label = columns["item"], columns["label"]
    _refuse_second_answers(table, item)
    probable = [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]
    own = Scale(tuple(probable)) if probable else scale_codes(table, label, None, ordinal=False)[0]
    _refuse_improbable(table, label, own)
    truths = scale_codes(source, seen, None, ordinal=False)[0].labels
    more = [value for value, k in zip(truths, own.places(truths), strict=True) if k is None]
    scale, to_scale = scale_codes(table, label, scale_of([*own.labels, *more]).labels, ordinal=False)
    probability = _probability(table, probable, scale) if probable else None
    return Answers(item.names, scale, to_scale[label.code], probability, kind=table.kind)


def _refuse_second_answers(table: Source, item: Coded) -> None:
    """Refuse an item that is answered twice: a table of judgments is not yet one of answers."""
    before = item.first[item.code]  # (N) the row where each row's item came first
    again = np.flatnonzero(before != np.arange(before.size))
    if again.size:
        n = int(again[0])
        name, row = item.names[int(item.code[n])], table.row(int(before[n]))
        raise table.wrong(f"item {quote(name)} was answered in row {row} already: give one answer an item", n)


def _refuse_improbable(table: Source, label: Coded, probable: Scale) -> None:
    """Refuse an answer that has no column among the probabilities."""
    for value, position, place in zip(label.names, label.first, probable.places(label.names), strict=True):
        if place is None:
            columns = quoted(PREFIX + name for name in probable.names)
            what = f"label {quote(value)} has no column {quote(f'{PREFIX}{value}')} beside {columns}"
            raise table.wrong(what, int(position))


def _probability(table: Source, probable: Sequence[str], scale: Scale) -> Floats:
    """Return the columns of probabilities (I, K), refusing what is none; labels without a column have 0."""
    columns = [_column(table, PREFIX + name) for name in probable]
    probability = np.zeros((columns[0].size, len(scale)))
    probability[:, np.array(scale.places(probable), np.intp)] = np.column_stack(columns)
    total = probability.sum(axis=1)  # (I)
    off = np.flatnonzero(np.abs(total - 1) > OFF_ONE)
    if off.size:
        n, names = int(off[0]), quoted(PREFIX + name for name in probable)
        raise table.wrong(f"the probabilities {names} sum to {total[n]:.6g}, not 1", n)
    return probability


def _column(table: Source, name: str) -> Floats:
    """Return one column of probabilities (I)."""
    given = table.column(name)
    plain = given.str.strip_chars() if given.dtype == pl.String else given
    values: Floats = plain.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        n = int(wrong[0])
        what = "is empty" if given[n] is None else f"{quote(given[n])} is not a number from 0 to 1"
        raise table.wrong(f"{name} {what}", n)
    return values


def _places(source: Source, items: Coded, given: Answers) -> Codes:
    """Return where each gold item stands among the answers, -1 where it does not, refusing all to be strangers."""
    place = places(items.names, given.items)
    if (place < 0).all():
        what = f"item {quote(items.names[0])} is not among the answered items, such as {quote(given.items[0])}"
        raise source.wrong(f"{what}; nor is any other of the {len(items.names):,} gold items", int(items.first[0]))
    return place
