"""What is more than chance: bootstrap intervals, paired tests, and corrections for many tests at once.

Bootstrap intervals say how far each measure moves with other items of the same kind (Efron 1979). A draw takes as many
items as there are, with replacement, so it only changes how often each item counts: the confusion matrix and the mean
losses follow from that, and all measures from these. All models are scored on the same draws.

Paired tests say whether one model is better than another on the same items. Under the hypothesis that two models are
equally good, either could have given the other's answer, so the sign of each item's difference is a fair coin. For
right and wrong answers the p-value is exact (McNemar 1947); for losses it is estimated by random signs (Fisher's
randomisation).

Of many tests, some stand out by chance: ``holm`` and ``q_values`` correct for their number. If a model is only nearly
right, all tests are a little too large. If there are enough tests, the middle half of them therefore estimates the
centre and the spread of the null distribution (Efron 2004), as far as these are beyond doubt, and a test must stand out
from that. This never makes it easier to stand out than under the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.metrics import probabilities
from adjudge.metrics.labels import (
    F1,
    FRACTIONAL,
    ORDERED,
    PRECISION,
    RECALL,
    SPECIFICITY,
    Matrix,
    Measure,
    Scored,
    accuracy,
    indicator,
    macro,
    mcc,
    ratio,
)

DRAWS = 1_000
LEVEL = 0.95

OfMatrix: TypeAlias = Callable[[Matrix], float | None]
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
    """Return, for each model scored on the same items, the percentile interval of every measure that has a value.

    Parameters
    ----------
    models : sequence of Scored
        Truths and answers of each model.
    draws : int
        Bootstrap draws, the same for all models.
    level : float
        Coverage of the intervals.
    seed : int
        Seed of the draws.

    Returns
    -------
    list of dict
        For each model, the interval of each measure by its name.

    Examples
    --------
    >>> from adjudge.data.scale import Scale
    >>> truth = np.array([0, 1] * 50)
    >>> answer = np.where(np.arange(100) < 10, 1 - truth, truth)
    >>> intervals([Scored(truth, answer, None, Scale(("no", "yes")), 1, 1e-9, 0)])[0]["accuracy"]
    Interval(low=0.84, high=0.95, draws=1000, undefined=0)
    """
    check_draws(draws, level)
    sizes = {scored.truth.size for scored in models}
    if len(sizes) > 1:
        raise UsageError(f"models are scored on {' and '.join(map(str, sorted(sizes)))} items: give all the same")
    functions = [measures(scored) for scored in models]
    drawn = [[of(weight) for of in functions] for size in sizes for weight in resamples(size, draws, seed)]  # (R, M)
    totals = [of(np.ones(scored.truth.size)) for scored, of in zip(models, functions, strict=True)]
    return [_measure_intervals(total, [row[m] for row in drawn], level) for m, total in enumerate(totals)]


def check_draws(draws: int, level: float) -> None:
    """Refuse a number of draws below 1, and a level that is not between 0 and 1."""
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}: give 1 draw or more and a level between 0 and 1")


def percentile_interval(samples: Sequence[float | None], level: float) -> Interval | None:
    """Return the middle ``level`` of samples, None if no sample has a value.

    >>> percentile_interval([0.0, 1.0, 2.0, None], 0.5)
    Interval(low=0.5, high=1.5, draws=3, undefined=1)
    """
    defined = np.array([sample for sample in samples if sample is not None])
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), defined.size, len(samples) - defined.size)


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
        means = {name: ratio(part, items) for name, part in zip(loss, total[:L], strict=True)}
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
    squared = (indicator(scored.truth, len(scored.scale)) - p) ** 2  # (I, K)
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


def _with_values(of: Callable[[Matrix, Floats], float | None], value: Floats) -> OfMatrix:
    """Return a measure of ordered labels with their values filled in."""
    return lambda confusion: of(confusion, value)


def _nominal_functions(scored: Scored) -> Mapping[str, OfMatrix]:
    """Return the measures that ignore the order of labels."""
    k, rates = scored.positive, (PRECISION, RECALL, SPECIFICITY)
    if k is not None:
        binary = {measure.name: _of_label(measure, k) for measure in (*rates, F1)}
        return {"accuracy": accuracy, **binary, "macro_f1": _macro(F1), "mcc": mcc}
    means = {f"macro_{measure.name}": _macro(measure) for measure in (*rates, F1)}
    names = enumerate(scored.scale.names)
    each = {f"{measure.name}_{name}": _of_label(measure, z) for z, name in names for measure in (*rates, F1)}
    return {"accuracy": accuracy, **means, "mcc": mcc, **each}


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
    certain = indicator(scored.truth, len(scored.scale))
    return (certain[:, :, None] * scored.probability[:, None, :]).reshape(scored.truth.size, -1)


def _of_label(measure: Measure, k: int) -> OfMatrix:
    """Return a measure of one label."""
    return lambda confusion: measure.of(confusion, k)


def _macro(measure: Measure) -> OfMatrix:
    """Return the mean of a measure over the labels."""
    return lambda confusion: macro(confusion, measure.of)


def _mean_measures(means: Values, items: float, binary: bool) -> Values:
    """Return the measures of probabilities from the mean losses; SE and MSE need two labels."""
    mse = means.get("mse")
    if mse is None:
        return {}
    named = {"se": mse * items, "mse": mse} if binary else {}
    return {"log_loss": means["log_loss"], "brier": means["brier"], **named, "rmse": mse**0.5}


def _measure_intervals(total: Values, drawn: Sequence[Values], level: float) -> dict[str, Interval]:
    """Return the interval of each measure that has a value, both for all items and in some draw."""
    spans = {name: percentile_interval([values[name] for values in drawn], level) for name in total}
    return {name: span for name, span in spans.items() if span is not None and total[name] is not None}


TESTED = ("log_loss", "brier")  # losses that are tested; for ordered labels also the absolute error
CHUNK = 64  # draws at once
ROUNDING = 1e-12  # relative difference of sums of the same numbers in another order


class Paired(NamedTuple):
    """One model compared with another."""

    difference: float  # of the means; above 0, this model's is higher
    p: float
    adjusted: float  # p after Holm's correction


def mcnemar(first: Flags, second: Flags) -> float:
    """Return the exact two-sided p-value of two models' right answers (I): only items where they differ count.

    >>> round(mcnemar(np.array([True] * 8 + [False] * 2), np.array([False] * 8 + [True] * 2)), 4)
    0.1094
    """
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return min(1.0, 2 * _at_most(min(only_first, only_second), only_first + only_second))


def sign_flips(difference: Floats, *, draws: int = DRAWS, seed: int = 0) -> Floats:
    """Return the two-sided p-value of mean differences (I, C) of C pairs of models, under random signs of items.

    p = (1 + draws as far from 0 as the observed mean) / (1 + draws), so it is never 0 (Phipson & Smyth 2010).
    """
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    rng = np.random.default_rng(seed)
    enough = np.abs(difference.sum(axis=0)) - ROUNDING * np.abs(difference).sum(axis=0)  # (C)
    reached = np.zeros(difference.shape[1])
    for begin in range(0, draws, CHUNK):
        coin = rng.integers(2, size=(min(CHUNK, draws - begin), difference.shape[0]), dtype=np.int8)
        reached += (np.abs((2.0 * coin - 1) @ difference) >= enough).sum(axis=0)
    p: Floats = (1 + reached) / (1 + draws)
    return p


def holm(p: Floats) -> Floats:
    """Return p-values with Holm's correction: the smallest times their number, the next times one less, and so on.

    >>> holm(np.array([0.01, 0.02, 0.5]))
    array([0.03, 0.04, 0.5 ])
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, stepped)
    return adjusted


def against(best: Scored, others: Sequence[Scored], *, draws: int = DRAWS, seed: int = 0) -> list[dict[str, Paired]]:
    """Return, for each of the other models, its tests against the best by measure, with Holm's correction."""
    right = best.answer == best.truth
    exact = np.array([mcnemar(other.answer == other.truth, right) for other in others])
    gain = [float(np.mean(other.answer == other.truth) - right.mean()) for other in others]
    tests = {"accuracy": _corrected(gain, exact)}
    base, rest = _losses(best), [_losses(other) for other in others]
    for measure in base if others else ():
        difference = np.column_stack([losses[measure] - base[measure] for losses in rest])  # (I, C)
        tests[measure] = _corrected(difference.mean(axis=0), sign_flips(difference, draws=draws, seed=seed))
    return [{measure: pairs[n] for measure, pairs in tests.items()} for n in range(len(others))]


def _corrected(difference: Sequence[float] | Floats, p: Floats) -> list[Paired]:
    """Return differences with their p-values, before and after the correction."""
    return [Paired(*map(float, row)) for row in zip(difference, p, holm(p), strict=True)]


def _losses(scored: Scored) -> dict[str, Floats]:
    """Return the tested losses of every item (I)."""
    losses = {measure: loss for measure, loss in item_losses(scored).items() if measure in TESTED}
    if scored.scale.ordinal:
        value = np.array(scored.scale.values)
        losses["absolute_error"] = np.abs(value[scored.answer] - value[scored.truth])
    return losses


def _at_most(heads: int, tosses: int) -> float:
    """Return the chance of at most this many heads of a fair coin."""
    log_factorial = np.r_[0.0, np.cumsum(np.log(np.arange(1, tosses + 1)))]
    head = np.arange(heads + 1)
    ways = log_factorial[tosses] - log_factorial[head] - log_factorial[tosses - head]
    return float(np.exp(ways - tosses * np.log(2)).sum())


CONTROLS = ("bh", "by")
ENOUGH = 20  # tests from which the null distribution is estimated
QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution
SURE = 1.645  # standard errors that leave little doubt
MEDIAN_ERROR, SPREAD_ERROR = 1.253, 1.167  # standard errors of a median and of a spread by quartiles, times sqrt(n)
SMALLEST = 1e-300  # p-values below this are treated as equal


def check_rate(level: float) -> None:
    """Refuse an expected share of false alarms that is not between 0 and 1."""
    if not 0 < level < 1:
        raise UsageError(f"level {level!r} is not between 0 and 1")


def q_values(p: Floats, control: str = "bh") -> Floats:
    """Return, for each test, the smallest false discovery rate at which it is a discovery.

    Benjamini and Hochberg (1995) need tests that are independent or positively dependent. Benjamini and Yekutieli
    (2001) need neither, at the price of a factor of 1 + 1/2 + ... + 1/m.

    >>> q_values(np.array([0.01, 0.02, 0.5]))
    array([0.03, 0.03, 0.5 ])
    """
    m = p.size
    order = np.argsort(p, kind="stable")
    factor = np.sum(1 / np.arange(1, m + 1)) if control == "by" else 1.0
    rising = factor * m * p[order] / np.arange(1, m + 1)
    rate = np.empty(m)
    rate[order] = np.minimum(np.minimum.accumulate(rising[::-1])[::-1], 1.0)
    return rate


def empirical_null(p: Floats) -> tuple[Floats, float, float]:
    """Return p-values under the estimated null distribution, and its centre and spread: 0 and 1 under the model."""
    if p.size < ENOUGH:
        return p, 0.0, 1.0
    z = -ndtri(np.clip(p, SMALLEST, 1 - 1e-15))
    low, middle, high = np.quantile(z, (0.25, 0.5, 0.75))
    doubt = SURE / np.sqrt(p.size)
    spread = max(float(high - low) / QUARTILES * (1 - SPREAD_ERROR * doubt), 1.0)
    centre = max(float(middle) - MEDIAN_ERROR * doubt * spread, 0.0)
    return ndtr((centre - z) / spread), centre, spread
