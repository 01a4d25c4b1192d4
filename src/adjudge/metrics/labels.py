"""``scores``: labels and probabilities against gold, from a fit or a table.

Measures of labels are computed from the confusion matrix of truths (rows) and answers (columns). A measure that divides
by 0 is ``None``, which is neither 0 nor NaN. Measures of ordered labels also take the value of each label (K), and
depend on how far an answer is from the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.scale import Label, Scale, Values
from adjudge.data.show import NotebookView
from adjudge.data.trec import document_of
from adjudge.data.write import frame
from adjudge.errors import UsageError, in_words_of_caller, not_one_of, quote, quoted
from adjudge.kernels.truth import value_log_odds
from adjudge.metrics import probabilities
from adjudge.metrics.match_gold import PREFIX, Answers, match_gold, put_on_scale
from adjudge.metrics.probabilities import BOUND
from adjudge.metrics.ranking import LEVEL, check_level, parse_measures, topic_values

Matrix: TypeAlias = Codes | Floats
LabelMeasure: TypeAlias = Callable[[Matrix, int], float | None]


def counts(truth: Codes, answer: Codes, K: int) -> Codes:
    """Return how many items of each truth got each answer (K, K), from their codes (I).

    >>> counts(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2).tolist()
    [[1, 1], [0, 2]]
    """
    cell = truth.astype(np.intp) * K + answer  # wide codes: a small integer times K does not fit
    return np.bincount(cell, minlength=K * K).reshape(K, K)


def fractional(truth: Floats, answer: Floats) -> Floats:
    """Return the expected counts (K, K) when truths and answers (I, K) are probabilities (paper 000, section 9.3).

    An answer of .72 counts as .72 of a 1 and .28 of a 0; a known truth has a single 1 in its row.
    """
    return truth.T @ answer


def indicator(code: Codes, K: int) -> Floats:
    """Return labels as probabilities: 1 for each item's label and 0 elsewhere (I, K)."""
    return np.eye(K)[code]


def ratio(part: float, total: float) -> float | None:
    """Return part / total, ``None`` if the total is 0."""
    return float(part / total) if total else None


def accuracy(confusion: Matrix) -> float | None:
    """Return the share of items whose answer is their truth."""
    return ratio(np.trace(confusion), confusion.sum())


def precision(confusion: Matrix, label: int) -> float | None:
    """Return TP / (TP + FP): of the items answered with the label, the share that have it."""
    return ratio(confusion[label, label], confusion[:, label].sum())


def recall(confusion: Matrix, label: int) -> float | None:
    """Return TP / (TP + FN), also called sensitivity: of the items that have the label, the share answered so."""
    return ratio(confusion[label, label], confusion[label].sum())


def specificity(confusion: Matrix, label: int) -> float | None:
    """Return TN / (TN + FP): of the items that do not have the label, the share not answered so."""
    others = np.delete(confusion, label, axis=0)  # (K - 1, K)
    return ratio(np.delete(others, label, axis=1).sum(), others.sum())


def f1(confusion: Matrix, label: int) -> float | None:
    """Return 2 TP / (2 TP + FP + FN).

    This is the harmonic mean of precision and recall if both exist, and 0 if a label was never found.
    """
    return ratio(2 * confusion[label, label], confusion[label].sum() + confusion[:, label].sum())


def occurring(confusion: Matrix) -> Codes:
    """Return the labels that are the truth or the answer of some item."""
    return np.flatnonzero(confusion.sum(axis=0) + confusion.sum(axis=1))


def macro(confusion: Matrix, measure: LabelMeasure) -> float | None:
    """Return the plain mean of a measure over the labels that occur, ``None`` if one of them has no value.

    Leaving such a label out would reward never answering with a difficult one.
    """
    values = [measure(confusion, int(label)) for label in occurring(confusion)]
    defined = [value for value in values if value is not None]
    return ratio(sum(defined), len(defined)) if len(defined) == len(values) else None


def mcc(confusion: Matrix) -> float | None:
    """Return the correlation of truth and answer: Matthews' for two labels, Gorodkin's R_K for more."""
    truths, answers = confusion.sum(axis=1), confusion.sum(axis=0)  # (K)
    if np.count_nonzero(truths) < 2 or np.count_nonzero(answers) < 2:
        return None
    total = confusion.sum()
    covariance = total * np.trace(confusion) - truths @ answers
    return float(covariance / np.sqrt(total**2 - truths @ truths) / np.sqrt(total**2 - answers @ answers))


def mean_absolute_error(confusion: Matrix, value: Floats) -> float | None:
    """Return MAE, the mean of |value of the answer - value of the truth|."""
    return ratio(float((confusion * np.abs(_steps(value))).sum()), float(confusion.sum()))


def root_mean_squared_error(confusion: Matrix, value: Floats) -> float | None:
    """Return RMSE, the root of the mean squared distance, in which large errors count most."""
    mean = ratio(float((confusion * _steps(value) ** 2).sum()), float(confusion.sum()))
    return None if mean is None else mean**0.5


def quadratic_kappa(confusion: Matrix, value: Floats) -> float | None:
    """Return Cohen's kappa with squared distances as weights (Cohen 1968).

    It is 1 - the mean squared distance / its value if truths and answers were paired at random: 1 is perfect, 0 is
    chance. It is not defined if all truths and answers are one label.
    """
    distance, truths, answers = _steps(value) ** 2, confusion.sum(axis=1), confusion.sum(axis=0)  # (K, K), (K), (K)
    by_chance = float(truths @ distance @ answers)
    disagreement = ratio(float((confusion * distance).sum()) * float(confusion.sum()), by_chance)
    return None if disagreement is None else 1 - disagreement


def _steps(value: Floats) -> Floats:
    """Return how far each answer is above each truth (K, K)."""
    return value[None, :] - value[:, None]


class Measure(NamedTuple):
    """A measure of one label, and the reason if it has no value."""

    name: str
    of: LabelMeasure
    empty: str


PRECISION = Measure("precision", precision, "nothing was answered {}")
RECALL = Measure("recall", recall, "no scored item is {} in the gold")
SPECIFICITY = Measure("specificity", specificity, "every scored item is {} in the gold")
F1 = Measure("f1", f1, "{} is neither truth nor answer of a scored item")
FRACTIONAL = (PRECISION, RECALL, SPECIFICITY)
SQUARED: Mapping[str, Callable[[probabilities.Outcomes, Floats], float | None]] = {
    "se": probabilities.squared_error,
    "mse": probabilities.mean_squared_error,
    "rmse": probabilities.root_mean_squared_error,
}
ORDERED: Mapping[str, Callable[[Matrix, Floats], float | None]] = {  # for ordered labels
    "mae": mean_absolute_error,
    "label_rmse": root_mean_squared_error,
    "quadratic_kappa": quadratic_kappa,
}
EXPECTED_VALUES = ("expected_mae", "expected_rmse", "rank_correlation")  # measures of expected values
RANKING = parse_measures("MAP,nDCG")  # of items in their topics
PROBABILITY = ("log_loss", "brier", "ece")  # measures of probabilities; with more than two labels, also:
MULTICLASS = ("rmse",)
BINARY = (*SQUARED, *(f"fractional_{measure.name}" for measure in FRACTIONAL))


class Row(NamedTuple):
    """One measure: its value, and a note."""

    measure: str
    value: float | None
    note: str = ""


@dataclass(frozen=True, eq=False)
class Scores(NotebookView):
    """How good answers are; a measure that is not defined has the value ``None`` and a reason."""

    items: int  # with gold and an answer
    missing: int  # with gold and no answer
    labels: tuple[Label, ...]  # (K)
    positive: Label | None  # the label of precision and recall; None with more than two labels
    bound: float  # log loss keeps probabilities within this and 1 minus this
    confusion: Codes  # (K, K) items by truth and answer
    fractional: Floats | None  # (K, K) the same, with answers counted by their probabilities
    values: Mapping[str, float | None]  # by measure, accuracy first
    reasons: Mapping[str, str]  # why a measure has no value
    notes: Mapping[str, str]  # notes on values
    used: int = 0  # scored items whose truth the fit used
    kind: str = field(default="polars", repr=False)  # of the frames to give back
    warning: str = ""  # that the truths contradict the share of right labels that a fit expects

    def __repr__(self) -> str:
        missing = f", {self.missing:,} missing" if self.missing else ""
        values = [f"{measure} {value:.4f}" for measure, value in self.values.items() if value is not None]
        return f"Scores({self.items:,} items{missing}: {', '.join(values[:4])})"

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


class Ranked(NamedTuple):
    """The scored items that have a topic, and what ranks them in it."""

    score: Floats  # (D)
    topic: Codes  # (D)
    documents: Sequence[str]  # (D)
    item: Codes  # (D) index among the scored items
    level: float  # the value from which a label is relevant


class Scored(NamedTuple):
    """Truths and answers of the scored items."""

    truth: Codes  # (I)
    answer: Codes  # (I)
    probability: Floats | None  # (I, K)
    scale: Scale
    positive: int | None  # the index of the positive label on the scale
    bound: float
    used: int  # truths that the fit used
    expected: Floats | None = None  # (I) expected values
    ranked: Ranked | None = None

    @property
    def confusion(self) -> Codes:
        """Items by truth and answer (K, K)."""
        return counts(self.truth, self.answer, len(self.scale))

    @property
    def fractional(self) -> Floats | None:
        """Items by truth and answer, with answers counted by their probabilities (K, K)."""
        if self.probability is None:
            return None
        return fractional(indicator(self.truth, len(self.scale)), self.probability)

    def prediction(self, probability: Floats) -> probabilities.Prediction:
        """Return outcome and probability (I) of the positive label or, with more than two, of the most likely one."""
        k = self.positive
        if k is None:
            return probabilities.predictions(self.truth, probability)
        return probabilities.Prediction(self.truth == k, probability[:, k])


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
    values: Values | None = None,
    level: float = LEVEL,
) -> Scores:
    """Score answers against gold.

    Labels are always scored, probabilities, expected values and ranks in topics if the answers have them.

    Parameters
    ----------
    answers : Fit, path, frame or mapping
        A fit, the folder of a saved one, or a table with the columns item and label and, for more measures,
        ``p_<label>`` (probabilities), ``expected`` (expected values on an ordered scale) and topic. A task 2 run of
        TREC has all of this. A table with expected values needs no labels: the nearest ones are scored.
    gold : path, frame or mapping
        A table with the columns item and label.
    positive : label, optional
        With two labels, the one that precision and recall are about. Default: the last.
    bound : float
        Log loss keeps probabilities this far away from 0 and 1.
    item, label : str, optional
        The names of these columns, in whichever table has them.
    labels : sequence of labels, optional
        All labels, in order.
    ordinal : bool
        Whether the labels are ordered; a fit knows this.
    values : mapping, optional
        The value of every label, such as ``{"bad": 0, "good": 3}``: labels are ordered by their values. A fit knows
        its own.
    level : float
        The value from which a label of more than two is relevant, for the ranking of items in topics.

    Returns
    -------
    Scores

    Examples
    --------
    >>> scores({"d1": "yes", "d2": "no"}, {"d1": "yes", "d2": "yes"}).values["recall"]
    0.5
    """
    if not 0 < bound < 0.5:
        raise UsageError(f"bound {bound} is not a number above 0 and below 0.5")
    columns = {"item": item, "label": label}
    matched = put_on_scale(match_gold(answers, gold, columns), labels, ordinal, values)
    scale = matched.answers.scale
    scored = _scored(matched.answers, matched.truth, matched.row, _positive(scale, positive), bound)
    expected = _expected(matched.answers, has_values=values is not None)
    scored = scored._replace(
        expected=None if expected is None else expected[matched.row],
        ranked=rank_items(matched.answers, matched.row, scored.positive, check_level(level)),
    )
    warning = _contradiction(matched.answers, matched.truth, matched.row)
    return replace(_scores(scored, matched.missing, matched.answers.kind), warning=warning)


def _contradiction(answers: Answers, truth: Codes, row: Codes) -> str:
    """Return a warning if the truths that a fit did not use contradict the share of right labels that it expects."""
    if answers.calibration is None:
        return ""
    unused = np.ones(row.size, bool) if answers.gold is None else answers.gold[row] < 0
    right = answers.label[row][unused] == truth[unused]
    return answers.calibration.contradicted(int(right.sum()), int(unused.sum()))


def _positive(scale: Scale, chosen: Label | None) -> int | None:
    """Return the index of the positive label: the chosen one or the last of two, None with more than two."""
    if chosen is None:
        return len(scale) - 1 if len(scale) <= 2 else None
    index = scale.places([chosen])[0]
    if index is None:
        raise UsageError(not_one_of("positive", chosen, scale.names))
    if len(scale) > 2:
        raise UsageError(
            f"positive needs exactly two labels, but there are {len(scale)} ({quoted(scale.names)}); "
            "every label has its own scores instead"
        )
    return index


def _scored(answers: Answers, truth: Codes, index: Codes, positive: int | None, bound: float) -> Scored:
    """Return truths and answers of the scored items."""
    probability = None if answers.probability is None else answers.probability[index]
    used = 0 if answers.gold is None else int((answers.gold[index] >= 0).sum())
    return Scored(truth, answers.label[index], probability, answers.scale, positive, bound, used)


def _expected(answers: Answers, has_values: bool) -> Floats | None:
    """Return the expected values of answers on an ordered scale (I); None if they have none.

    Those of a table are used, unless its labels have values (``has_values``) and it has their probabilities.
    """
    if answers.expected is not None and (answers.probability is None or not has_values):
        return answers.expected
    if answers.probability is None or not answers.scale.ordinal:
        return None
    expected: Floats = answers.probability @ np.array(answers.scale.values)
    return expected


def rank_items(answers: Answers, index: Codes, positive: int | None, level: float = LEVEL) -> Ranked | None:
    """Return what ranks the items at ``index`` in their topics; None without topics, or without anything to rank by."""
    if answers.topic is None or answers.topics is None:
        return None
    if answers.rank is not None:
        score = -answers.rank[index]
    elif answers.probability is not None and (positive is not None or answers.scale.ordinal):
        value = np.array(answers.scale.values if positive is None else np.arange(len(answers.scale)) == positive)
        score = value_log_odds(answers.probability[index], value.astype(float))
    elif answers.expected is not None and answers.scale.ordinal:
        score = answers.expected[index]
    else:
        return None
    item = np.flatnonzero(answers.topic[index] >= 0)
    topic = answers.topic[index][item]
    names = zip(answers.items.gather(index[item]).to_list(), answers.topics.gather(topic).to_list(), strict=True)
    return Ranked(score[item], topic, [document_of(*name) for name in names], item, level)


def _scores(scored: Scored, missing: int, kind: str) -> Scores:
    """Return the scores as the public record."""
    confusion, fractional, labels = scored.confusion, scored.fractional, scored.scale.labels
    rows = [*_label_rows(scored, confusion), *_ordered_rows(scored, confusion), *_expected_rows(scored)]
    rows += ranking_rows(scored)
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
        used=scored.used,
        kind=kind,
    )


def _label_rows(scored: Scored, confusion: Codes) -> list[Row]:
    """Return the measures of all labels together."""
    names, k = scored.scale.names, scored.positive
    note = f"the fit used {scored.used:,} of the {scored.truth.size:,} truths as gold" if scored.used else ""
    if k is None:
        rows = [_macro(confusion, names, measure) for measure in (PRECISION, RECALL, SPECIFICITY)]
    else:
        rows = _label_scores(confusion, k, names[k], (PRECISION, RECALL, SPECIFICITY, F1), f"of {quote(names[k])}")
    correlation = _row("mcc", mcc(confusion), _one_sided(confusion, names))
    return [Row("accuracy", accuracy(confusion), note), *rows, _macro(confusion, names, F1), correlation]


def _ordered_rows(scored: Scored, confusion: Codes) -> list[Row]:
    """Return the measures of ordered labels; none if the labels have no order."""
    if not scored.scale.ordinal:
        return []
    value, names = np.array(scored.scale.values), scored.scale.names
    same = SPECIFICITY.empty.format(quote(names[int(confusion.sum(axis=1).argmax())]))
    notes = {"quadratic_kappa": "1 is perfect, 0 is chance"}
    return [
        _row(measure, of(confusion, value), f"{same} and was answered so", notes.get(measure, "of the labels' values"))
        for measure, of in ORDERED.items()
    ]


def rank_correlation(first: Floats, second: Floats) -> float | None:
    """Return Spearman's rank correlation of two values of each item (I); equal values share their mean rank."""
    ranks = [_mean_ranks(values) for values in (first, second)]
    if any(np.ptp(rank) == 0 for rank in ranks if rank.size) or first.size < 2:
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _mean_ranks(values: Floats) -> Floats:
    """Return the rank of each value (I), and the mean rank of equal ones."""
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(count) - (count - 1) / 2)[code]
    return ranks


def _expected_rows(scored: Scored) -> list[Row]:
    """Return the measures of expected values; none without them."""
    if scored.expected is None:
        return []
    if not scored.scale.ordinal:
        empty = in_words_of_caller("the labels have no order: give it with --labels and --ordinal, or --values")
        return [_row(name, None, empty) for name in EXPECTED_VALUES]
    value = np.array(scored.scale.values)[scored.truth]  # (I)
    off = scored.expected - value
    same = "all expected values, or all truths, are the same"
    note = "of the expected values"
    return [
        Row("expected_mae", float(np.abs(off).mean()), note),
        Row("expected_rmse", float(np.sqrt((off**2).mean())), note),
        _row("rank_correlation", rank_correlation(scored.expected, value), same, f"Spearman's, {note}"),
    ]


def ranking_rows(scored: Scored) -> list[Row]:
    """Return MAP and nDCG of the scored items in their topics, as trec_eval -J; none if nothing ranks them."""
    ranked = scored.ranked
    if ranked is None or not ranked.item.size:
        return []
    k, truth = scored.positive, scored.truth[ranked.item]
    grade = np.array(scored.scale.values)[truth] if k is None else (truth == k).astype(float)
    level = ranked.level if k is None else 1.0
    value, barren = topic_values(ranked.score, grade, ranked.topic, ranked.documents, RANKING, level)
    note = f"mean over {value.shape[1]:,} topics; only items with gold are ranked, as in trec_eval -J"
    if barren:
        note += f"; {barren:,} topics without a relevant one count as 0"
    mean_ap, gain = (
        Row(measure.name.lower(), float(of.mean()), note) for measure, of in zip(RANKING, value, strict=True)
    )
    if k is None and min(scored.scale.values) >= level:
        empty = in_words_of_caller(
            f"every label is worth {level:g} or more, so that everything is relevant: give --level"
        )
        mean_ap = _row(mean_ap.measure, None, empty)
    return [mean_ap, gain]


def _each_label(scored: Scored, confusion: Codes) -> list[Row]:
    """Return the measures of every label if there are more than two."""
    rows: list[Row] = []
    for k, name in enumerate(scored.scale.names if scored.positive is None else ()):
        scores = _label_scores(confusion, k, name, (PRECISION, RECALL, SPECIFICITY, F1))
        rows += [row._replace(measure=f"{row.measure}_{name}") for row in scores]
    return rows


def _label_scores(confusion: Matrix, k: int, name: str, measures: Sequence[Measure], note: str = "") -> list[Row]:
    """Return measures of one label."""
    return [
        _row(measure.name, measure.of(confusion, k), measure.empty.format(quote(name)), note) for measure in measures
    ]


def _macro(confusion: Codes, names: Sequence[str], measure: Measure) -> Row:
    """Return the mean of a measure over labels; labels that do not occur are left out and named."""
    present = occurring(confusion).tolist()
    empty = [measure.empty.format(quote(names[k])) for k in present if measure.of(confusion, k) is None]
    absent = [name for k, name in enumerate(names) if k not in present]
    note = f"without {quoted(absent)}, neither truth nor answer of a scored item" if absent else ""
    return _row(f"macro_{measure.name}", macro(confusion, measure.of), " and ".join(empty), note)


def _one_sided(confusion: Codes, names: Sequence[str]) -> str:
    """Return the reason why the correlation is not defined: truths or answers have a single label."""
    truths, answers = confusion.sum(axis=1), confusion.sum(axis=0)  # (K)
    if np.count_nonzero(truths) < 2:
        return SPECIFICITY.empty.format(quote(names[int(truths.argmax())]))
    return f"every scored item was answered {quote(names[int(answers.argmax())])}"


def _probability_rows(scored: Scored, fractional: Floats | None) -> list[Row]:
    """Return the measures of probabilities, without values if there are no probabilities."""
    p, k, bound = scored.probability, scored.positive, scored.bound
    if p is None or fractional is None:
        return _without_probabilities(scored)
    rows = [
        Row(
            "log_loss",
            probabilities.log_loss(scored.truth, p, bound),
            f"probabilities kept {bound:g} away from 0 and 1",
        ),
        Row("brier", probabilities.brier(scored.truth, p), "summed over the labels"),
        _calibration_row(scored, p),
    ]
    if k is not None:
        return rows + _binary_rows(scored.truth == k, p[:, k], fractional, k, scored.scale.names[k])
    error = probabilities.root_mean_squared_error(indicator(scored.truth, len(scored.scale)), p)
    return [*rows, Row("rmse", error, "over the probabilities of all labels")]


def _calibration_row(scored: Scored, probability: Floats) -> Row:
    """Return the expected calibration error."""
    prediction, k = scored.prediction(probability), scored.positive
    bins = probabilities.by_width(prediction.probability, probabilities.BINS)
    error = probabilities.expected_error(prediction, bins)
    name = "the most likely label" if k is None else quote(scored.scale.names[k])
    return _row("ece", error, probabilities.EMPTY, f"of {name}, {probabilities.BINS} bins of equal width")


def _binary_rows(outcome: Flags, response: Floats, fractional: Floats, k: int, name: str) -> list[Row]:
    """Return the measures of the probability of the positive label (I)."""
    note = f"of the probability of {quote(name)}"
    squared = [Row(measure, of(outcome, response), note) for measure, of in SQUARED.items()]
    parts = _label_scores(fractional, k, name, FRACTIONAL, f"of {quote(name)}, answers counted by their probabilities")
    return squared + [row._replace(measure=f"fractional_{row.measure}") for row in parts]


def _without_probabilities(scored: Scored) -> list[Row]:
    """Return the same measures without values, and what they need."""
    names = (*PROBABILITY, *(MULTICLASS if scored.positive is None else BINARY))
    columns = quoted(PREFIX + name for name in scored.scale.names)
    return [_row(name, None, f"the answers have no probabilities (columns {columns})") for name in names]


def _row(name: str, value: float | None, empty: str, note: str = "") -> Row:
    """Return a measure whose note is the reason if it has no value."""
    return Row(name, value, f"not defined because {empty}" if value is None else note)
