"""``scores``: answers held against gold, from a fit or a table to named measures with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.scale import Label, Scale
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, quote, quoted
from adjudge.metrics import confusion as matrix
from adjudge.metrics import probabilities as curve
from adjudge.metrics import probabilities as losses
from adjudge.metrics.answers import PREFIX, Answers, matched, ordered
from adjudge.metrics.confusion import Matrix, ratio
from adjudge.metrics.probabilities import BOUND

# Scores of labels in an order: how far an answer is from the truth, not only whether it is another label.
#
# Read off the matrix of counts, truths in its rows and answers in its columns, with what each label is worth (K). A
# measure that divides by 0 is ``None``.


def mean_absolute_error(confusion: Matrix, value: Floats) -> float | None:
    """Return MAE, the mean of |value of the answer - value of the truth|."""
    return ratio(float((confusion * np.abs(_steps(value))).sum()), float(confusion.sum()))


def root_mean_squared_error(confusion: Matrix, value: Floats) -> float | None:
    """Return RMSE, the root of the mean squared distance: one that is far off weighs more than many that are near."""
    mean = ratio(float((confusion * _steps(value) ** 2).sum()), float(confusion.sum()))
    return None if mean is None else mean**0.5


def quadratic_kappa(confusion: Matrix, value: Floats) -> float | None:
    """Return Cohen's kappa with squared distances as weights (Cohen 1968).

    It is 1 - the mean squared distance / the same if truths and answers were paired at random: 1 for answers that are
    all right, 0 for those that know nothing. Where all truths and answers are one label, there is nothing to divide by.
    """
    distance, truths, answers = _steps(value) ** 2, confusion.sum(axis=1), confusion.sum(axis=0)  # (K, K), (K), (K)
    at_random = float(truths @ distance @ answers)
    disagreement = ratio(float((confusion * distance).sum()) * float(confusion.sum()), at_random)
    return None if disagreement is None else 1 - disagreement


def _steps(value: Floats) -> Floats:
    """Return how far each answer is above each truth (K, K)."""
    return value[None, :] - value[:, None]


class Measure(NamedTuple):
    """A measure of one label, and what is the case when it has no value."""

    name: str
    of: matrix.LabelMeasure
    empty: str


PRECISION = Measure("precision", matrix.precision, "nothing was answered {}")
RECALL = Measure("recall", matrix.recall, "no scored item is {} in the gold")
SPECIFICITY = Measure("specificity", matrix.specificity, "every scored item is {} in the gold")
F1 = Measure("f1", matrix.f1, "{} is neither truth nor answer of a scored item")
FRACTIONAL = (PRECISION, RECALL, SPECIFICITY)
SQUARED: Mapping[str, Callable[[losses.Outcomes, Floats], float | None]] = {
    "se": losses.squared_error,
    "mse": losses.mean_squared_error,
    "rmse": losses.root_mean_squared_error,
}
ORDERED: Mapping[str, Callable[[matrix.Matrix, Floats], float | None]] = {  # of labels in an order
    "mae": mean_absolute_error,
    "label_rmse": root_mean_squared_error,
    "quadratic_kappa": quadratic_kappa,
}
EVERY = ("log_loss", "brier", "ece")  # measure of probabilities; with more than two labels, also:
MANY = ("rmse",)
BINARY = (*SQUARED, *(f"fractional_{measure.name}" for measure in FRACTIONAL))


class Row(NamedTuple):
    """One line of the result: a measure, its value, and what must be said with it."""

    measure: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Scores(NotebookView):
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
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        missing = f", {self.missing:,} missing" if self.missing else ""
        shown = [f"{measure} {value:.4f}" for measure, value in self.values.items() if value is not None]
        return f"Scores({self.items:,} items{missing}: {', '.join(shown[:4])})"

    @property
    def rows(self) -> list[Row]:
        """One row per measure: its name, its value, and its note or the reason why it has no value."""
        notes = {**self.notes, **self.reasons}
        return [Row(measure, value, notes.get(measure, "")) for measure, value in self.values.items()]

    @property
    def table(self) -> Any:
        """A table with one row per measure: measure, value, note."""
        rows = self.rows
        return frame({name: [getattr(row, name) for row in rows] for name in Row._fields}, self.kind)


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

    def response(self, probability: Floats) -> curve.Response:
        """Return what is held to come true: the positive label or, of more than two, the most likely one (I)."""
        k = self.positive
        return (
            curve.response(self.truth, probability) if k is None else curve.Response(self.truth == k, probability[:, k])
        )


def scores(
    answers: Any,
    gold: Any,
    *,
    positive: Label | None = None,
    bound: float = BOUND,
    item: str | None = None,
    label: str | None = None,
    labels: Sequence[Label] | None = None,
    ordinal: bool = False,
) -> Scores:
    """Hold answers against gold.

    ``answers`` is a fit, the folder of a saved one, or a table (path, frame, mapping) with the columns item and
    label and, for log loss and squared errors, ``p_<label>``. ``gold`` is a table too. ``item`` and ``label`` name
    columns whose names are not usual, in whichever of the tables has them. With two labels, precision and recall
    speak of the last one unless ``positive`` names the other. ``labels`` are all there are, in order; ``ordinal`` says
    that their order, or that of numbers, means something, which a fit of labels in an order knows.
    """
    if not 0 < bound < 0.5:
        raise UsageError(f"bound {bound} is not a number above 0 and below 0.5")
    found = matched(answers, gold, {"item": item, "label": label})
    given, truth, place, missing = ordered(found, labels, ordinal)
    scored = _scored(given, truth, place, _positive(given.scale, positive), bound)
    return _scores(scored, missing, given.kind)


def _positive(scale: Scale, chosen: Label | None) -> int | None:
    """Return the place of the positive label: the one chosen or the last of two, none of more."""
    if chosen is None:
        return len(scale) - 1 if len(scale) <= 2 else None
    place = scale.places([chosen])[0]
    if place is None:
        raise UsageError(f"positive {quote(chosen)} is not one of {quoted(scale.names)}")
    if len(scale) > 2:
        raise UsageError(f"positive is for two labels; of {quoted(scale.names)} each has measures of its own")
    return place


def _scored(given: Answers, truth: Codes, place: Codes, positive: int | None, bound: float) -> Scored:
    """Return truths and answers side by side."""
    probability = None if given.probability is None else given.probability[place]
    known = 0 if given.told is None else int((given.told[place] >= 0).sum())
    return Scored(truth, given.label[place], probability, given.scale, positive, bound, known)


def _scores(scored: Scored, missing: int, kind: str) -> Scores:
    """Return the record that everyone reads."""
    confusion, fractional, labels = scored.confusion, scored.fractional, scored.scale.labels
    rows = [*_label_rows(scored, confusion), *_ordered_rows(scored, confusion)]
    rows += [*_probability_rows(scored, fractional), *_each_label(scored, confusion)]
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
        kind=kind,
    )


def _label_rows(scored: Scored, confusion: Codes) -> list[Row]:
    """Return what is said of the answers as a whole."""
    names, k = scored.scale.names, scored.positive
    told = f"the fit had been told {scored.known:,} of the {scored.truth.size:,} truths" if scored.known else ""
    if k is None:
        rows = [_macro(confusion, names, measure) for measure in (PRECISION, RECALL, SPECIFICITY)]
    else:
        rows = _of_label(confusion, k, names[k], (PRECISION, RECALL, SPECIFICITY, F1), f"of {quote(names[k])}")
    mcc = _row("mcc", matrix.mcc(confusion), _one_sided(confusion, names))
    return [Row("accuracy", matrix.accuracy(confusion), told), *rows, _macro(confusion, names, F1), mcc]


def _ordered_rows(scored: Scored, confusion: Codes) -> list[Row]:
    """Return how far answers are from truths, where the labels have an order."""
    if not scored.scale.ordinal:
        return []
    value, names = np.array(scored.scale.values), scored.scale.names
    same = SPECIFICITY.empty.format(quote(names[int(confusion.sum(axis=1).argmax())]))
    notes = {"quadratic_kappa": "1 without errors, 0 as by chance"}
    return [
        _row(measure, of(confusion, value), f"{same} and was answered so", notes.get(measure, "of the labels' values"))
        for measure, of in ORDERED.items()
    ]


def _each_label(scored: Scored, confusion: Codes) -> list[Row]:
    """Return the measures of every label, where there are more than two."""
    rows: list[Row] = []
    for k, name in enumerate(scored.scale.names if scored.positive is None else ()):
        own = _of_label(confusion, k, name, (PRECISION, RECALL, SPECIFICITY, F1))
        rows += [row._replace(measure=f"{row.measure}_{name}") for row in own]
    return rows


def _of_label(confusion: matrix.Matrix, k: int, name: str, measures: Sequence[Measure], note: str = "") -> list[Row]:
    """Return measures of one label."""
    return [
        _row(measure.name, measure.of(confusion, k), measure.empty.format(quote(name)), note) for measure in measures
    ]


def _macro(confusion: Codes, names: Sequence[str], measure: Measure) -> Row:
    """Return the mean of a measure over labels; those that do not occur are left out, and named."""
    occurring = matrix.occurring(confusion).tolist()
    empty = [measure.empty.format(quote(names[k])) for k in occurring if measure.of(confusion, k) is None]
    absent = [name for k, name in enumerate(names) if k not in occurring]
    note = f"without {quoted(absent)}, neither truth nor answer of a scored item" if absent else ""
    return _row(f"macro_{measure.name}", matrix.macro(confusion, measure.of), " and ".join(empty), note)


def _one_sided(confusion: Codes, names: Sequence[str]) -> str:
    """Return which side shows one label only, and has no correlation with anything."""
    truths, answers = confusion.sum(axis=1), confusion.sum(axis=0)  # (K)
    if np.count_nonzero(truths) < 2:
        return SPECIFICITY.empty.format(quote(names[int(truths.argmax())]))
    return f"every scored item was answered {quote(names[int(answers.argmax())])}"


def _probability_rows(scored: Scored, fractional: Floats | None) -> list[Row]:
    """Return the measures of probabilities, without values where there are no probabilities."""
    p, k, bound = scored.probability, scored.positive, scored.bound
    if p is None or fractional is None:
        return _without_probabilities(scored)
    rows = [
        Row("log_loss", losses.log_loss(scored.truth, p, bound), f"probabilities kept {bound:g} away from 0 and 1"),
        Row("brier", losses.brier(scored.truth, p), "summed over the labels"),
        _calibration_row(scored, p),
    ]
    if k is not None:
        return rows + _binary_rows(scored.truth == k, p[:, k], fractional, k, scored.scale.names[k])
    error = losses.root_mean_squared_error(matrix.indicator(scored.truth, len(scored.scale)), p)
    return [*rows, Row("rmse", error, "over the probabilities of all labels")]


def _calibration_row(scored: Scored, probability: Floats) -> Row:
    """Return the distance between what is said and what is so, averaged over bins."""
    given, k = scored.response(probability), scored.positive
    error = curve.expected_error(given, curve.by_width(given.probability, curve.BINS))
    what = "the likeliest label" if k is None else quote(scored.scale.names[k])
    return _row("ece", error, curve.EMPTY, f"of {what}, {curve.BINS} bins of equal width")


def _binary_rows(outcome: Flags, response: Floats, fractional: Floats, k: int, name: str) -> list[Row]:
    """Return the measures of the probability of the positive label (I)."""
    note = f"of the probability of {quote(name)}"
    squared = [Row(measure, of(outcome, response), note) for measure, of in SQUARED.items()]
    parts = _of_label(fractional, k, name, FRACTIONAL, f"of {quote(name)}, answers counted in fractions")
    return squared + [row._replace(measure=f"fractional_{row.measure}") for row in parts]


def _without_probabilities(scored: Scored) -> list[Row]:
    """Return the names of those measures, and what they would need."""
    names = (*EVERY, *(MANY if scored.positive is None else BINARY))
    columns = quoted(PREFIX + name for name in scored.scale.names)
    return [_row(name, None, f"the answers hold no probabilities (columns {columns})") for name in names]


def _row(name: str, value: float | None, empty: str, note: str = "") -> Row:
    """Return a line whose note is the reason when there is no value."""
    return Row(name, value, f"not defined because {empty}" if value is None else note)
