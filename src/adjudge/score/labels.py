"""``score``: answers held against gold, from a fit or a table to named measures with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.errors import UsageError, quoted
from adjudge.judgments.columns import find_columns
from adjudge.judgments.encode import Coded, code_columns, scale_codes
from adjudge.judgments.gold import UNKNOWN, gold_source, gold_table, places
from adjudge.judgments.scale import Label, Scale, scale_of
from adjudge.models.saved import load
from adjudge.score import confusion as matrix
from adjudge.score import probabilities as losses
from adjudge.score.probabilities import BOUND

if TYPE_CHECKING:
    from adjudge.judgments.source import Source
    from adjudge.judgments.table import Names

ROLES = ("item", "label")
PREFIX = "p_"  # of the columns that hold probabilities
OFF_ONE = 1e-3 + 1e-9  # how far the probabilities of an item may be from 1 together: .333, .333, .333 pass


class Measure(NamedTuple):
    """A measure of one label, and what is the case when it has no value."""

    name: str
    of: matrix.LabelMeasure
    empty: str


PRECISION = Measure("precision", matrix.precision, "nothing was answered '{}'")
RECALL = Measure("recall", matrix.recall, "no scored item is '{}' in the gold")
SPECIFICITY = Measure("specificity", matrix.specificity, "every scored item is '{}' in the gold")
F1 = Measure("f1", matrix.f1, "'{}' is neither truth nor answer of a scored item")
FRACTIONAL = (PRECISION, RECALL, SPECIFICITY)
SQUARED: Mapping[str, Callable[[losses.Outcomes, Floats], float | None]] = {
    "se": losses.squared_error,
    "mse": losses.mean_squared_error,
    "rmse": losses.root_mean_squared_error,
}
EVERY = ("log_loss", "brier")  # measure of probabilities; where one label is positive, also:
BINARY = (*SQUARED, *(f"fractional_{measure.name}" for measure in FRACTIONAL))


class Row(NamedTuple):
    """One line of the result: a measure, its value, and what must be said with it."""

    measure: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Scores:
    """How good answers are; a measure that is not defined has the value ``None`` and a reason."""

    items: int  # that have gold and an answer
    missing: int  # that have gold and no answer
    labels: tuple[Label, ...]  # (K)
    positive: Label | None  # the label that precision and recall speak of; None with more than two labels
    bound: float  # log loss keeps probabilities within this and 1 minus this
    confusion: Codes  # (K, K) items by truth and answer
    fractional: Floats | None  # (K, K) the same, an answer counted in its fractions
    values: Mapping[str, float | None]  # by measure, accuracy first
    reasons: Mapping[str, str]  # why a measure has no value
    notes: Mapping[str, str]  # what must be said with a value
    known: int = 0  # scored items whose truth the fit had been told

    def __repr__(self) -> str:
        missing = f", {self.missing:,} missing" if self.missing else ""
        shown = [f"{measure} {value:.4f}" for measure, value in self.values.items() if value is not None]
        return f"Scores({self.items:,} items{missing}: {', '.join(shown[:4])})"

    def table(self) -> list[Row]:
        """Return a row for each measure: its name, its value, and its note or reason."""
        said = {**self.notes, **self.reasons}
        return [Row(measure, value, said.get(measure, "")) for measure, value in self.values.items()]


class Answers(NamedTuple):
    """What is scored: one label an item and, where there are some, the probabilities of all labels."""

    items: Names  # (I)
    scale: Scale  # K
    label: Codes  # (I)
    probability: Floats | None = None  # (I, K)
    told: Codes | None = None  # (I) the gold a fit was given, -1 where none


class Scored(NamedTuple):
    """Truths and answers of the items that have both."""

    truth: Codes  # (I)
    answer: Codes  # (I)
    probability: Floats | None  # (I, K)
    scale: Scale
    positive: int | None  # the place of the positive label on the scale
    bound: float
    known: int

    @property
    def confusion(self) -> Codes:
        """Items by truth and answer (K, K)."""
        return matrix.counts(self.truth, self.answer, len(self.scale))

    @property
    def fractional(self) -> Floats | None:
        """Items by truth and answer, an answer counted in its fractions (K, K)."""
        if self.probability is None:
            return None
        return matrix.fractional(matrix.indicator(self.truth, len(self.scale)), self.probability)


def score(
    answers: Any,
    gold: Any,
    *,
    positive: Label | None = None,
    bound: float = BOUND,
    item: str | None = None,
    label: str | None = None,
) -> Scores:
    """Hold answers against gold.

    ``answers`` is a fit, the folder of a saved one, or a table (path, frame, mapping) with the columns item and
    label and, for log loss and squared errors, ``p_<label>``. ``gold`` is a table too. ``item`` and ``label`` name
    columns whose names are not usual, in whichever of the tables has them. With two labels, precision and recall
    speak of the last one unless ``positive`` names the other.
    """
    if not 0 < bound < 0.5:
        raise UsageError(f"bound {bound} is not a number above 0 and below 0.5")
    fit, named = _fit_of(answers), {"item": item, "label": label}
    source = _source(gold, "gold")
    table = _source(answers, "answers") if fit is None else None
    roles = _gold_roles(source, _meant(source, named, table))
    seen = code_columns(source, {"label": roles["label"]})["label"]
    if table is None:
        given = _from_fit(fit, source, seen)
    else:
        given = _from_table(table, _meant(table, named, source), source, seen)
    items, truth = gold_table(source, given.scale, item=roles["item"], label=roles["label"])
    place = _places(source, items, given)  # (I) of the gold items among the answers
    scored = _scored(given, truth[place >= 0], place[place >= 0], _positive(given.scale, positive), bound)
    return _scores(scored, int((place < 0).sum()))


def _fit_of(answers: Any) -> Any:
    """Return the fit that answers are or that their folder holds, None for a table."""
    if isinstance(answers, str | Path):
        return load(answers) if Path(answers).is_dir() else None
    return answers if isinstance(getattr(answers, "scale", None), Scale) else None


def _source(data: Any, name: str) -> Source:
    """Return a table as a source; what has no file name is called by its part."""
    source = gold_source(data)
    return source if isinstance(data, str | Path) else replace(source, name=name)


def _meant(source: Source, named: Mapping[str, str | None], other: Source | None) -> dict[str, str | None]:
    """Return the columns named for this table: one that only the other table has is named for that."""
    away = set(other.columns) - set(source.columns) if other is not None else set()
    return {role: None if column in away else column for role, column in named.items()}


def _gold_roles(source: Source, named: Mapping[str, str | None]) -> dict[str, str]:
    """Return the columns that hold items and truths; a column called gold holds truths."""
    label = named["label"] or ("gold" if "gold" in source.columns else None)
    return find_columns(source.columns, {**named, "label": label}, source.name, needed=ROLES)


def _from_fit(fit: Any, source: Source, seen: Coded) -> Answers:
    """Return the consensus of a fit, refusing gold that is not on its scale."""
    for label, position in zip(seen.names, seen.first, strict=True):
        if str(label) not in (*fit.scale.names, UNKNOWN):
            expected = f"label '{label}' is not on the scale of the fit: {quoted(fit.scale.names)}"
            raise source.wrong(expected, int(position))
    return Answers(fit.items, fit.scale, fit.label, fit.posterior, getattr(fit, "gold", None))


def _from_table(table: Source, named: Mapping[str, str | None], source: Source, seen: Coded) -> Answers:
    """Return the answers of a table; its scale is of its own labels and the gold's."""
    roles = find_columns(table.columns, named, table.name, needed=ROLES)
    columns = code_columns(table, {role: roles[role] for role in ROLES})
    item, label = columns["item"], columns["label"]
    _refuse_second_answers(table, item)
    probable = [name.removeprefix(PREFIX) for name in table.columns if name.startswith(PREFIX)]
    _refuse_improbable(table, label, probable)
    _refuse_other_spellings(source, seen, [*probable, *map(str, label.names)])
    truths = [value for value in seen.names if str(value) != UNKNOWN]
    # one label a name, in the table's own type where it has one: 1 and not "1"
    scale = scale_of({str(value): value for value in (*probable, *truths, *label.names)}.values())
    _, to_scale = scale_codes(table, label, scale.labels, scale.ordinal)
    probability = _probability(table, probable, scale) if probable else None
    return Answers(item.names, scale, to_scale[label.code], probability)


def _refuse_second_answers(table: Source, item: Coded) -> None:
    """Refuse an item that is answered twice: a table of judgments is not yet one of answers."""
    before = item.first[item.code]  # (N) the row where each row's item came first
    again = np.flatnonzero(before != np.arange(before.size))
    if again.size:
        n = int(again[0])
        name, row = item.names[int(item.code[n])], table.row(int(before[n]))
        raise table.wrong(f"item '{name}' was answered in row {row} already: give one answer an item", n)


def _refuse_improbable(table: Source, label: Coded, probable: Sequence[str]) -> None:
    """Refuse an answer that has no column among the probabilities."""
    for value, position in zip(label.names, label.first, strict=True):
        if probable and str(value) not in probable:
            columns = quoted(PREFIX + name for name in probable)
            raise table.wrong(f"label '{value}' has no column '{PREFIX}{value}' beside {columns}", int(position))


def _refuse_other_spellings(source: Source, seen: Coded, names: Sequence[str]) -> None:
    """Refuse gold that writes 1.0 where the answers write 1: as two labels, every answer would be wrong."""
    numbers = pl.Series(names, dtype=pl.String).cast(pl.Float64, strict=False)
    spelled = dict(zip(numbers, names, strict=True))
    gold = seen.names.cast(pl.String)
    for name, number, position in zip(gold, gold.cast(pl.Float64, strict=False), seen.first, strict=True):
        if number is not None and name not in names and number in spelled:
            what = f"label '{name}' is '{spelled[number]}' in the answers: write it the same way"
            raise source.wrong(what, int(position))


def _probability(table: Source, probable: Sequence[str], scale: Scale) -> Floats:
    """Return the columns of probabilities (I, K), refusing what is none; labels without a column have 0."""
    probability = np.zeros((len(table.column(PREFIX + probable[0])), len(scale)))
    for name in probable:
        probability[:, scale.names.index(name)] = _column(table, PREFIX + name)
    total = probability.sum(axis=1)  # (I)
    off = np.flatnonzero(np.abs(total - 1) > OFF_ONE)
    if off.size:
        n = int(off[0])
        columns = quoted(PREFIX + name for name in probable)
        raise table.wrong(f"the probabilities {columns} sum to {total[n]:.6g}, not 1", n)
    return probability


def _column(table: Source, name: str) -> Floats:
    """Return one column of probabilities (I)."""
    given = table.column(name)
    plain = given.str.strip_chars() if given.dtype == pl.String else given
    values = plain.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if wrong.size:
        n = int(wrong[0])
        what = "is empty" if given[n] is None else f"'{given[n]}' is not a number from 0 to 1"
        raise table.wrong(f"{name} {what}", n)
    return values


def _places(source: Source, items: Coded, given: Answers) -> Codes:
    """Return where each gold item stands among the answers, -1 where it does not, refusing all to be strangers."""
    if not len(items.names):
        raise source.wrong("no item has a truth that is known")
    place = places(items.names, given.items)
    if (place < 0).all():
        example = f"item '{items.names[0]}' is not among the answered items, such as '{given.items[0]}'"
        raise source.wrong(f"{example}; nor is any other of the {len(items.names):,} gold items", int(items.first[0]))
    return place


def _positive(scale: Scale, chosen: Label | None) -> int | None:
    """Return the place of the positive label: the one chosen or the last of two, none of more."""
    if chosen is None:
        return len(scale) - 1 if len(scale) <= 2 else None
    if str(chosen) not in scale.names:
        raise UsageError(f"positive '{chosen}' is not one of {quoted(scale.names)}")
    if len(scale) > 2:
        raise UsageError(f"positive is for two labels; of {quoted(scale.names)} each has measures of its own")
    return scale.names.index(str(chosen))


def _scored(given: Answers, truth: Codes, place: Codes, positive: int | None, bound: float) -> Scored:
    """Return truths and answers side by side."""
    probability = None if given.probability is None else given.probability[place]
    known = 0 if given.told is None else int((given.told[place] >= 0).sum())
    return Scored(truth, given.label[place], probability, given.scale, positive, bound, known)


def _scores(scored: Scored, missing: int) -> Scores:
    """Return the record that everyone reads."""
    confusion, fractional, labels = scored.confusion, scored.fractional, scored.scale.labels
    rows = [*_label_rows(scored, confusion), *_probability_rows(scored, fractional), *_each_label(scored, confusion)]
    return Scores(
        items=int(scored.truth.size),
        missing=missing,
        labels=labels,
        positive=None if scored.positive is None else labels[scored.positive],
        bound=scored.bound,
        confusion=frozen(confusion),
        fractional=None if fractional is None else frozen(fractional),
        values={row.measure: row.value for row in rows},
        reasons={row.measure: row.note for row in rows if row.value is None},
        notes={row.measure: row.note for row in rows if row.value is not None and row.note},
        known=scored.known,
    )


def _label_rows(scored: Scored, confusion: Codes) -> list[Row]:
    """Return what is said of the answers as a whole."""
    names, k = scored.scale.names, scored.positive
    told = f"the fit had been told {scored.known:,} of the {scored.truth.size:,} truths" if scored.known else ""
    if k is None:
        rows = [_macro(confusion, names, PRECISION), _macro(confusion, names, RECALL)]
    else:
        rows = _of_label(confusion, k, names[k], (PRECISION, RECALL, SPECIFICITY, F1), f"of '{names[k]}'")
    mcc = _row("mcc", matrix.mcc(confusion), _one_sided(confusion, names))
    return [Row("accuracy", matrix.accuracy(confusion), told), *rows, _macro(confusion, names, F1), mcc]


def _each_label(scored: Scored, confusion: Codes) -> list[Row]:
    """Return the measures of every label, where there are more than two."""
    rows: list[Row] = []
    for k, name in enumerate(scored.scale.names if scored.positive is None else ()):
        own = _of_label(confusion, k, name, (PRECISION, RECALL, F1))
        rows += [row._replace(measure=f"{row.measure}_{name}") for row in own]
    return rows


def _of_label(confusion: matrix.Matrix, k: int, name: str, measures: Sequence[Measure], note: str = "") -> list[Row]:
    """Return measures of one label."""
    return [_row(measure.name, measure.of(confusion, k), measure.empty.format(name), note) for measure in measures]


def _macro(confusion: Codes, names: Sequence[str], measure: Measure) -> Row:
    """Return the mean of a measure over labels; those that do not occur are left out, and named."""
    occurring = matrix.occurring(confusion).tolist()
    empty = [measure.empty.format(names[k]) for k in occurring if measure.of(confusion, k) is None]
    absent = [name for k, name in enumerate(names) if k not in occurring]
    note = f"without {quoted(absent)}, neither truth nor answer of a scored item" if absent else ""
    return _row(f"macro_{measure.name}", matrix.macro(confusion, measure.of), " and ".join(empty), note)


def _one_sided(confusion: Codes, names: Sequence[str]) -> str:
    """Return which side shows one label only, and has no correlation with anything."""
    truths, answers = confusion.sum(axis=1), confusion.sum(axis=0)  # (K)
    if np.count_nonzero(truths) < 2:
        return SPECIFICITY.empty.format(names[int(truths.argmax())])
    return f"every scored item was answered '{names[int(answers.argmax())]}'"


def _probability_rows(scored: Scored, fractional: Floats | None) -> list[Row]:
    """Return the measures of probabilities, without values where there are no probabilities."""
    p, k, bound = scored.probability, scored.positive, scored.bound
    if p is None or fractional is None:
        return _without_probabilities(scored)
    rows = [
        Row("log_loss", losses.log_loss(scored.truth, p, bound), f"probabilities kept {bound:g} away from 0 and 1"),
        Row("brier", losses.brier(scored.truth, p), "summed over the labels"),
    ]
    if k is not None:
        rows += _binary_rows(scored.truth == k, p[:, k], fractional, k, scored.scale.names[k])
    return rows


def _binary_rows(outcome: Flags, response: Floats, fractional: Floats, k: int, name: str) -> list[Row]:
    """Return the measures of the probability of the positive label (I)."""
    note = f"of the probability of '{name}'"
    squared = [Row(measure, of(outcome, response), note) for measure, of in SQUARED.items()]
    parts = _of_label(fractional, k, name, FRACTIONAL, f"of '{name}', answers counted in fractions")
    return squared + [row._replace(measure=f"fractional_{row.measure}") for row in parts]


def _without_probabilities(scored: Scored) -> list[Row]:
    """Return the names of those measures, and what they would need."""
    names = EVERY if scored.positive is None else (*EVERY, *BINARY)
    columns = quoted(PREFIX + name for name in scored.scale.names)
    return [_row(name, None, f"the answers hold no probabilities (columns {columns})") for name in names]


def _row(name: str, value: float | None, empty: str, note: str = "") -> Row:
    """Return a line whose note is the reason when there is no value."""
    return Row(name, value, f"not defined because {empty}" if value is None else note)
