"""Bootstrap intervals: how far each measure moves when other items of the same kind are scored (Efron 1979).

A draw takes as many items as there are, with replacement, so all it changes is how often an item counts: the matrix of
counts and the means of the losses follow from that, and every measure from them. Models are scored on the same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import UsageError
from adjudge.metrics import confusion as matrix
from adjudge.metrics import probabilities as curve
from adjudge.metrics.labels import F1, FRACTIONAL, ORDERED, PRECISION, RECALL, SPECIFICITY, Measure, Scored

DRAWS = 1_000
LEVEL = 0.95

OfMatrix: TypeAlias = Callable[[matrix.Matrix], float | None]
Values: TypeAlias = dict[str, float | None]


class Interval(NamedTuple):
    """Where a measure lies in most draws."""

    low: float
    high: float
    draws: int  # in which the measure has a value
    undefined: int = 0  # draws in which it has none, and which are left out

    @property
    def note(self) -> str:
        """What must be said with the interval."""
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
    measured = [measures(scored) for scored in models]
    found: list[list[Values]] = [[] for _ in models]  # (M, R)
    for size in sizes:
        for weight in resamples(size, draws, seed):
            for of, values in zip(measured, found, strict=True):
                values.append(of(weight))
    wholes = [of(np.ones(scored.truth.size)) for scored, of in zip(models, measured, strict=True)]
    return [
        {measure: _interval(values, measure, level) for measure in _defined(whole, values)}
        for whole, values in zip(wholes, found, strict=True)
    ]


def resamples(items: int, draws: int, seed: int) -> Iterator[Floats]:
    """Yield how often each item is drawn (I), once a draw."""
    rng = np.random.default_rng(seed)
    for _ in range(draws):
        yield np.bincount(rng.integers(items, size=items), minlength=items).astype(np.float64)


def measures(scored: Scored) -> Callable[[Floats], Values]:
    """Return a function from how often each item counts (I) to the value of every measure of ``Scores``."""
    K, loss = len(scored.scale), item_losses(scored)
    L = len(loss)
    cell = scored.truth.astype(np.intp) * K + scored.answer  # (I)
    sums = np.column_stack([*loss.values(), _parts(scored)])  # (I, L) or, with fractions, (I, L + K * K)
    by_label, fractions, calibrated = _of_labels(scored), _of_fractions(scored), _of_bins(scored)

    def measured(weight: Floats) -> Values:
        confusion = np.bincount(cell, weight, K * K).reshape(K, K)
        values: Values = {measure: of(confusion) for measure, of in by_label.items()}
        total, items = weight @ sums, float(weight.sum())
        means = {name: matrix.ratio(part, items) for name, part in zip(loss, total[:L], strict=True)}
        values |= _of_means(means, items, scored.positive is not None)
        values |= {measure: of(weight) for measure, of in calibrated.items()}
        return values | {measure: of(total[L:].reshape(K, K)) for measure, of in fractions.items()}

    return measured


def item_losses(scored: Scored) -> dict[str, Floats]:
    """Return the losses of every item (I), by the measure that is their mean; none without probabilities."""
    p, k = scored.probability, scored.positive
    if p is None:
        return {}
    of_truth = np.clip(p[np.arange(scored.truth.size), scored.truth], scored.bound, 1 - scored.bound)
    squared = (matrix.indicator(scored.truth, len(scored.scale)) - p) ** 2  # (I, K)
    mse = squared.mean(axis=1) if k is None else squared[:, k]
    return {"log_loss": -np.log(of_truth), "brier": squared.sum(axis=1), "mse": mse}


def _of_bins(scored: Scored) -> Mapping[str, Callable[[Floats], float | None]]:
    """Return what is read off the bins of probabilities.

    What chance does to a bin is a distance, too, and a draw adds its own: its ECE is higher on average.
    """
    if scored.probability is None:
        return {}
    given = scored.response(scored.probability)
    place = curve.by_width(given.probability, curve.BINS)  # (I)
    return {"ece": lambda weight: curve.expected_error(given, place, weight)}


def _of_labels(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return what is read off the matrix of counts, by measure."""
    value = np.array(scored.scale.values)
    ordered = {name: _of_values(of, value) for name, of in ORDERED.items() if scored.scale.ordinal}
    return {**_of_names(scored), **ordered}


def _of_values(of: Callable[[matrix.Matrix, Floats], float | None], value: Floats) -> OfMatrix:
    """Return a measure of labels that are worth something."""
    return lambda confusion: of(confusion, value)


def _of_names(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return the same of labels without an order."""
    k, rates = scored.positive, (PRECISION, RECALL, SPECIFICITY)
    if k is not None:
        own = {measure.name: _of_label(measure, k) for measure in (*rates, F1)}
        return {"accuracy": matrix.accuracy, **own, "macro_f1": _macro(F1), "mcc": matrix.mcc}
    means = {f"macro_{measure.name}": _macro(measure) for measure in (*rates, F1)}
    names = enumerate(scored.scale.names)
    each = {f"{measure.name}_{name}": _of_label(measure, z) for z, name in names for measure in (*rates, F1)}
    return {"accuracy": matrix.accuracy, **means, "mcc": matrix.mcc, **each}


def _of_fractions(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return what is read off the matrix of fractional counts, which two labels have."""
    k = scored.positive
    if k is None or scored.probability is None:
        return {}
    return {f"fractional_{measure.name}": _of_label(measure, k) for measure in FRACTIONAL}


def _parts(scored: Scored) -> Floats:
    """Return each item's part in the matrix of fractional counts (I, K * K), nothing (I, 0) where there is none."""
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


def _of_means(means: Values, items: float, binary: bool) -> Values:
    """Return the measures of probabilities from the mean losses; sums and plain means are of two labels."""
    mse = means.get("mse")
    if mse is None:
        return {}
    named = {"se": mse * items, "mse": mse} if binary else {}
    return {"log_loss": means["log_loss"], "brier": means["brier"], **named, "rmse": mse**0.5}


def _defined(whole: Values, values: Sequence[Values]) -> list[str]:
    """Return the measures that have a value, of the items themselves and of some draw."""
    return [m for m, value in whole.items() if value is not None and any(drawn[m] is not None for drawn in values)]


def _interval(values: Sequence[Values], measure: str, level: float) -> Interval:
    """Return the interval that leaves out as many draws below as above."""
    drawn = np.array([value for row in values if (value := row[measure]) is not None])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), drawn.size, len(values) - drawn.size)
