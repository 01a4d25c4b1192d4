"""Bootstrap intervals of scores: how far each measure moves with other items of the same kind (Efron 1979).

A draw takes as many items as there are, with replacement, so it only changes how often each item counts: the confusion
matrix and the mean losses follow from that, and all measures from these. All models are scored on the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import UsageError
from adjudge.metrics import label_measures as matrix
from adjudge.metrics import probabilities
from adjudge.metrics.labels import F1, FRACTIONAL, ORDERED, PRECISION, RECALL, SPECIFICITY, Measure, Scored

DRAWS = 1_000
LEVEL = 0.95

OfMatrix: TypeAlias = Callable[[matrix.Matrix], float | None]
Values: TypeAlias = dict[str, float | None]


class Interval(NamedTuple):
    """The percentile interval of a measure."""

    low: float
    high: float
    draws: int  # in which the measure has a value
    undefined: int = 0  # draws without a value, which are left out

    @property
    def note(self) -> str:
        """A note on draws without a value, or an empty text."""
        total = self.draws + self.undefined
        return f"not defined in {self.undefined:,} of {total:,} draws, which are left out" if self.undefined else ""


def intervals(
    models: Sequence[Scored], *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> list[dict[str, Interval]]:
    """Return, for each model scored on the same items, the percentile interval of every measure that has a value."""
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}: give 1 draw or more and a level between 0 and 1")
    sizes = {scored.truth.size for scored in models}
    if len(sizes) > 1:
        raise UsageError(f"models are scored on {' and '.join(map(str, sorted(sizes)))} items: give all the same")
    functions = [measures(scored) for scored in models]
    samples: list[list[Values]] = [[] for _ in models]  # (M, R)
    for size in sizes:
        for weight in resamples(size, draws, seed):
            for of, values in zip(functions, samples, strict=True):
                values.append(of(weight))
    totals = [of(np.ones(scored.truth.size)) for scored, of in zip(models, functions, strict=True)]
    return [
        {measure: _interval(values, measure, level) for measure in _defined(total, values)}
        for total, values in zip(totals, samples, strict=True)
    ]


def resamples(items: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each item is drawn (I), once per draw."""
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        yield np.bincount(rng.integers(items, size=items), minlength=items).astype(np.float64)


def measures(scored: Scored) -> Callable[[Floats], Values]:
    """Return a function from how often each item counts (I) to the value of every measure of ``Scores``."""
    K, loss = len(scored.scale), item_losses(scored)
    L = len(loss)
    cell = scored.truth.astype(np.intp) * K + scored.answer  # (I)
    sums = np.column_stack([*loss.values(), _parts(scored)])  # (I, L) or, with fractions, (I, L + K * K)
    by_label, fractions, by_bin = _label_functions(scored), _fractional_functions(scored), _bin_functions(scored)

    def evaluate(weight: Floats) -> Values:
        confusion = np.bincount(cell, weight, K * K).reshape(K, K)
        values: Values = {measure: of(confusion) for measure, of in by_label.items()}
        total, items = weight @ sums, float(weight.sum())
        means = {name: matrix.ratio(part, items) for name, part in zip(loss, total[:L], strict=True)}
        values |= _mean_measures(means, items, scored.positive is not None)
        values |= {measure: of(weight) for measure, of in by_bin.items()}
        return values | {measure: of(total[L:].reshape(K, K)) for measure, of in fractions.items()}

    return evaluate


def item_losses(scored: Scored) -> dict[str, Floats]:
    """Return the losses of every item (I), by the measure that is their mean; empty without probabilities."""
    p, k = scored.probability, scored.positive
    if p is None:
        return {}
    of_truth = np.clip(p[np.arange(scored.truth.size), scored.truth], scored.bound, 1 - scored.bound)
    squared = (matrix.indicator(scored.truth, len(scored.scale)) - p) ** 2  # (I, K)
    mse = squared.mean(axis=1) if k is None else squared[:, k]
    return {"log_loss": -np.log(of_truth), "brier": squared.sum(axis=1), "mse": mse}


def _bin_functions(scored: Scored) -> Mapping[str, Callable[[Floats], float | None]]:
    """Return the measures that are computed from bins of probabilities.

    Chance adds to the distance in each bin, and a draw adds more, so the ECE of draws is higher on average.
    """
    if scored.probability is None:
        return {}
    prediction = scored.prediction(scored.probability)
    bins = probabilities.by_width(prediction.probability, probabilities.BINS)  # (I)
    return {"ece": lambda weight: probabilities.expected_error(prediction, bins, weight)}


def _label_functions(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return the measures that are computed from the confusion matrix."""
    value = np.array(scored.scale.values)
    ordered = {name: _with_values(of, value) for name, of in ORDERED.items() if scored.scale.ordinal}
    return {**_nominal_functions(scored), **ordered}


def _with_values(of: Callable[[matrix.Matrix, Floats], float | None], value: Floats) -> OfMatrix:
    """Return a measure of ordered labels with their values filled in."""
    return lambda confusion: of(confusion, value)


def _nominal_functions(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return the measures that ignore the order of labels."""
    k, rates = scored.positive, (PRECISION, RECALL, SPECIFICITY)
    if k is not None:
        binary = {measure.name: _of_label(measure, k) for measure in (*rates, F1)}
        return {"accuracy": matrix.accuracy, **binary, "macro_f1": _macro(F1), "mcc": matrix.mcc}
    means = {f"macro_{measure.name}": _macro(measure) for measure in (*rates, F1)}
    names = enumerate(scored.scale.names)
    each = {f"{measure.name}_{name}": _of_label(measure, z) for z, name in names for measure in (*rates, F1)}
    return {"accuracy": matrix.accuracy, **means, "mcc": matrix.mcc, **each}


def _fractional_functions(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return the measures of fractional counts, which need two labels."""
    k = scored.positive
    if k is None or scored.probability is None:
        return {}
    return {f"fractional_{measure.name}": _of_label(measure, k) for measure in FRACTIONAL}


def _parts(scored: Scored) -> Floats:
    """Return each item's part in the matrix of fractional counts (I, K * K), or (I, 0) if there is none."""
    if scored.probability is None or scored.positive is None:
        return np.empty((scored.truth.size, 0))
    certain = matrix.indicator(scored.truth, len(scored.scale))
    return (certain[:, :, None] * scored.probability[:, None, :]).reshape(scored.truth.size, -1)


def _of_label(measure: Measure, k: int) -> OfMatrix:
    """Return a measure of one label."""
    return lambda confusion: measure.of(confusion, k)


def _macro(measure: Measure) -> OfMatrix:
    """Return the mean of a measure over the labels."""
    return lambda confusion: matrix.macro(confusion, measure.of)


def _mean_measures(means: Values, items: float, binary: bool) -> Values:
    """Return the measures of probabilities from the mean losses; SE and MSE need two labels."""
    mse = means.get("mse")
    if mse is None:
        return {}
    named = {"se": mse * items, "mse": mse} if binary else {}
    return {"log_loss": means["log_loss"], "brier": means["brier"], **named, "rmse": mse**0.5}


def _defined(total: Values, values: Sequence[Values]) -> list[str]:
    """Return the measures that have a value, both for all items and in some draw."""
    return [m for m, value in total.items() if value is not None and any(drawn[m] is not None for drawn in values)]


def _interval(values: Sequence[Values], measure: str, level: float) -> Interval:
    """Return the percentile interval of a measure."""
    sample = np.array([value for row in values if (value := row[measure]) is not None])
    low, high = np.quantile(sample, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), sample.size, len(values) - sample.size)
