"""``plan``: how many items a monitoring set needs, so that intervals of judges are narrow enough.

A judge's share of right labels on items whose truth is known has a Beta posterior (``gold_accuracy``), and so has every
cell of their confusion matrix, p(label | truth), on the items of that truth. The width of its 90 % interval depends on
the number n of ratings that count and on how many of them show the label, X ~ Binomial(n, rate). ``mean_width`` is the
exact mean over X. For a cell, only the items of its truth count, and only those that the judge labels: of I items, a
Binomial(I, share * coverage) number. There are enough of them with a probability of .9.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from adjudge.arrays import Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.gold_accuracy import share_interval
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit

ENOUGH = 0.9  # probability that a monitoring set has enough items of a truth
ACCURACY, LABELS = 0.8, 2  # of a judge about whom nothing is known
FAR = 9.0  # standard deviations beyond which a binomial number has no weight
MOST = 10**9  # items of a plan


class PlanRow(NamedTuple):
    """What it takes for an interval of one rate of a judge."""

    measure: str  # accuracy, or confusion
    truth: str | None
    said: str | None
    rate: float  # that is expected
    share: float  # of the items that count: those of the truth
    ratings: int  # of a judge that count
    items: int | None  # of the monitoring set; None if no number is enough
    width: float  # mean width of the interval with these ratings


@dataclass(frozen=True)
class Plan(NotebookView):
    """The size of a monitoring set: a row for a judge's accuracy, and one for every cell of their confusion matrix."""

    rows: tuple[PlanRow, ...] = field(repr=False)
    judges: int
    coverage: float
    width: float | None  # that was asked for
    items: int | None  # that were given
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        first = self.rows[0]
        if self.width is None:
            return f"Plan({self.items:,} items: the interval of accuracy is {first.width:.2f} wide)"
        return f"Plan(intervals {self.width:g} wide: {first.items:,} items for accuracy)"

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def sentence(self) -> str:
        """What the plan says, in words."""
        first, cells = self.rows[0], self.rows[1:]
        if self.width is None:
            widest = max(cells, key=lambda row: row.width)
            return (
                f"With {self.items:,} items, the 90 % interval of a judge's accuracy is {first.width:.2f} wide on "
                f"average, and that of a cell of the confusion matrix at most {widest.width:.2f} ({_cell(widest)})."
            )
        text = (
            f"For a 90 % interval of a judge's accuracy that is {self.width:g} wide on average, a monitoring set needs "
            f"{first.items:,} items with known labels: {self._ratings(first)}."
        )
        impossible = next((row for row in cells if row.items is None), None)
        if impossible is not None:
            return f"{text} No number of items is enough for {_cell(impossible)}, because that label never occurs."
        most = max(cells, key=lambda row: row.items or 0)
        return f"{text} For every cell of the confusion matrix it needs {most.items:,} ({_cell(most)})."

    def _ratings(self, row: PlanRow) -> str:
        """Return the ratings that a set takes, in words."""
        each = int(np.ceil((row.items or 0) * self.coverage))
        return f"{each:,} ratings of a judge" + (
            f", {each * self.judges:,} of {self.judges:,} judges" * (self.judges > 1)
        )

    @property
    def table(self) -> Any:
        """A table with one row per rate."""
        columns = {name: [getattr(row, name) for row in self.rows] for name in PlanRow._fields}
        return frame(columns, self.kind)


def plan(
    width: float | None = None,
    fit: Fit | str | PathLike[str] | None = None,
    *,
    items: int | None = None,
    accuracy: float | None = None,
    labels: int | None = None,
    coverage: float = 1.0,
    judges: int = 1,
) -> Plan:
    """Return how many items of known truth give intervals of a width, or which widths a number of items gives.

    Parameters
    ----------
    width
        The mean width of 90 % intervals, between 0 and 1. Give this, or ``items``.
    fit
        A fit of earlier work, or its folder: the prevalence of labels and the confusions of its typical judge are
        expected again. Without one, labels are equally frequent, and so are the errors of a judge.
    items
        The number of items of a monitoring set, of which the widths are asked for.
    accuracy, labels
        The expected accuracy of a judge (.8) and the number of labels (2), without a fit.
    coverage
        The share of the monitoring set that each judge labels.
    judges
        The number of judges, for the number of ratings in all.

    Returns
    -------
    Plan
        A row for the accuracy, and one for each cell of the confusion matrix.

    Examples
    --------
    >>> plan(0.2, accuracy=0.8, labels=5, judges=148)
    Plan(intervals 0.2 wide: 41 items for accuracy)
    >>> plan(items=48, accuracy=0.8)
    Plan(48 items: the interval of accuracy is 0.18 wide)
    """
    if (width is None) == (items is None):
        raise UsageError("a plan needs either the width of intervals or the number of items: give one of them")
    if width is not None and not 0 < width < 1:
        raise UsageError(f"width {width!r} is not a number between 0 and 1")
    if not 0 < coverage <= 1:
        raise UsageError(f"coverage {coverage!r} is not a share above 0 and up to 1")
    for name, number in (("items", items), ("judges", judges)):
        if number is not None and number < 1:
            raise UsageError(f"{name} {number} is not a whole number of at least 1")
    names, share, matrix, kind = _expected(fit, accuracy, labels)
    rates: list[tuple[str, str | None, str | None, float, float]]
    rates = [("accuracy", None, None, float(share @ np.diagonal(matrix)), 1.0)]
    rates += [
        ("confusion", truth, label, float(matrix[k, y]), float(share[k]))
        for k, truth in enumerate(names)
        for y, label in enumerate(names)
    ]
    sized = _sized_by_width if width is not None else _sized_by_items
    aim = width if width is not None else float(items or 0)
    rows = tuple(PlanRow(*rate, *sized(aim, rate[3], rate[4] * coverage)) for rate in rates)
    return Plan(rows, judges, coverage, width, items, kind)


def mean_width(ratings: int, rate: float) -> float:
    """Return the mean width of the 90 % interval of a rate, over all that this number of ratings may show.

    >>> round(mean_width(100, 0.8), 3)
    0.13
    """
    spread = FAR * np.sqrt(ratings * rate * (1 - rate)) + FAR
    successes = np.arange(max(0, int(ratings * rate - spread)), min(ratings, int(np.ceil(ratings * rate + spread))) + 1)
    low, high = share_interval(successes, np.full(successes.size, ratings))
    return float(binom.pmf(successes, ratings, rate) @ (high - low))


def _expected(
    fit: Fit | str | PathLike[str] | None, accuracy: float | None, labels: int | None
) -> tuple[tuple[str, ...], Floats, Floats, str]:
    """Return the names of labels, how frequent they are (K), the matrix of a typical judge (K, K), and the frames."""
    if fit is not None:
        if accuracy is not None or labels is not None:
            raise UsageError("accuracy and labels are for a plan without a fit, which has both: leave them out")
        saved = read_fit(fit)
        return saved.scale.names, saved.params.label_prevalence, saved.params.population, saved.kind
    right, K = ACCURACY if accuracy is None else accuracy, LABELS if labels is None else labels
    if not 0 < right < 1:
        raise UsageError(f"accuracy {right!r} is not a number between 0 and 1")
    if K < 2:
        raise UsageError(f"labels {K} is not a whole number of at least 2")
    matrix = np.where(np.eye(K, dtype=bool), right, (1 - right) / (K - 1))
    return tuple(str(k + 1) for k in range(K)), np.full(K, 1 / K), matrix, "polars"


def _sized_by_width(width: float, rate: float, share: float) -> tuple[int, int | None, float]:
    """Return the ratings and the items for intervals of a width, and the width with these ratings."""
    ratings = _least(lambda n: mean_width(n, rate) <= width)
    if ratings is None:
        raise UsageError(f"width {width:g} takes more than {MOST:,} ratings of a judge: give a larger one")
    items = _least(lambda n: binom.sf(ratings - 1, n, share) >= ENOUGH, ratings) if share > 0 else None
    return ratings, items, mean_width(ratings, rate)


def _sized_by_items(items: float, rate: float, share: float) -> tuple[int, int | None, float]:
    """Return the ratings that count with a probability of .9, the items, and the width with these ratings."""
    ratings = int(binom.ppf(1 - ENOUGH, int(items), share))
    return ratings, int(items), mean_width(ratings, rate)


def _least(enough: Any, first: int = 1) -> int | None:
    """Return the least number from ``first`` on that is enough, None if it is beyond ``MOST``; more is enough, too."""
    high = first
    while not enough(high):
        if high > MOST:
            return None
        high *= 2
    low = max(first - 1, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _cell(row: PlanRow) -> str:
    """Return a cell in words."""
    return f"{quote(row.truth)} called {quote(row.said)}"
