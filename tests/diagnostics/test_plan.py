"""The size of a monitoring set, against formulas and simulated judges."""

import numpy as np
import pytest
from scipy.stats import beta

import adjudge
from adjudge.diagnostics.gold_accuracy import share_interval
from adjudge.diagnostics.plan import ENOUGH, mean_width, plan
from adjudge.errors import UsageError


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("ratings", [0, 1, 7, 60])
def test_mean_width_by_enumeration(ratings, rate):
    """The mean over every number of right labels, with intervals from scipy's Beta quantiles."""
    total = 0.0
    for right in range(ratings + 1):
        chance = binomial_chance(ratings, right, rate)
        low, high = beta.ppf([0.05, 0.95], right + 0.5, ratings - right + 0.5)
        share = right / ratings if ratings else 0.0
        total += chance * (max(high, share) - min(low, share))
    assert mean_width(ratings, rate) == pytest.approx(total, abs=1e-9)


def binomial_chance(n: int, x: int, p: float) -> float:
    """Return the probability of x right labels of n, by its formula."""
    from math import comb

    return comb(n, x) * p**x * (1 - p) ** (n - x)


@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_many_ratings_have_the_normal_width(rate):
    """2 * 1.645 standard errors."""
    assert mean_width(200_000, rate) == pytest.approx(2 * 1.6449 * np.sqrt(rate * (1 - rate) / 200_000), rel=1e-3)


@pytest.mark.parametrize("width", [0.4, 0.2, 0.1])
def test_ratings_are_enough_and_not_too_many(width):
    """With these ratings intervals are narrow enough on average, with one fewer they are not."""
    for row in plan(width, accuracy=0.7, labels=3).rows:
        assert row.width == mean_width(row.ratings, row.rate) <= width
        assert row.ratings == 1 or mean_width(row.ratings - 1, row.rate) > width


def test_simulated_judges_have_intervals_of_the_planned_width():
    """Accuracy and a cell of the matrix, on monitoring sets that are drawn by the prevalence of labels."""
    rng = np.random.default_rng(0)
    shares, matrix = np.array([0.6, 0.3, 0.1]), np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
    accuracy = float(shares @ np.diagonal(matrix))
    rows = plan(0.25, fit_of(shares, matrix), coverage=0.8).rows
    assert rows[0].rate == pytest.approx(accuracy)
    for row in (rows[0], rows[2], rows[5], rows[9]):  # accuracy, and a cell of each truth
        k, y = (None, None) if row.truth is None else (int(row.truth), int(row.said))
        widths, enough = [], []
        for _ in range(3_000):
            truth = rng.choice(3, size=row.items, p=shares)[rng.random(row.items) < 0.8]  # the items that they label
            chance = matrix.cumsum(axis=1)[truth]
            said = (rng.random(truth.size)[:, None] > chance).sum(axis=1)
            counts = np.ones(truth.size, bool) if k is None else truth == k
            shown = (said == truth if k is None else said == y)[counts]
            low, high = share_interval(np.array([shown.sum()]), np.array([counts.sum()]))
            widths.append(float(high[0] - low[0]))
            enough.append(counts.sum() >= row.ratings)
        assert np.mean(enough) > ENOUGH - 0.02
        assert np.mean(widths) < 0.25
        assert np.mean(widths) > 0.17  # not far too many items either


def fit_of(shares: np.ndarray, matrix: np.ndarray) -> adjudge.Fit:
    """Return a fit with this prevalence and this typical judge."""
    from dataclasses import replace

    fit = adjudge.fit(
        adjudge.simulate("dawid-skene", items=60, labels=3, per_item=3, judges=5).judgments, "dawid-skene"
    )
    return replace(fit, params=fit.params._replace(prevalence=shares[None], population=matrix))


def test_items_give_widths():
    """The other way round: the ratings of a plan give at most its width."""
    for row, again in zip(plan(0.3, labels=3).rows, plan(items=500, labels=3).rows, strict=True):
        assert (row.rate, row.share) == (again.rate, again.share)
        assert (again.width <= 0.3) == (row.items <= 500)
        assert again.items == 500


def test_what_a_plan_says():
    """Items and ratings for accuracy and for the hardest cell; the widths of given items."""
    result = plan(0.2, accuracy=0.8, labels=5, judges=148)
    assert repr(result) == "Plan(intervals 0.2 wide: 41 items for accuracy)"
    assert result.sentence == (
        "For a 90 % interval of a judge's accuracy that is 0.2 wide on average, a monitoring set needs 41 items with "
        "known labels: 41 ratings of a judge, 6,068 of 148 judges. For every cell of the confusion matrix it needs 243 "
        "('1' called '1')."
    )
    assert result.table.columns == ["measure", "truth", "said", "rate", "share", "ratings", "items", "width"]
    assert len(result) == len(result.table) == 26
    given = plan(items=48, accuracy=0.7, labels=5)
    assert repr(given) == "Plan(48 items: the interval of accuracy is 0.21 wide)"
    assert given.sentence == (
        "With 48 items, the 90 % interval of a judge's accuracy is 0.21 wide on average, and that of a cell of the "
        "confusion matrix at most 0.50 ('1' called '1')."
    )


def test_a_label_that_never_occurs():
    """No monitoring set has items of it."""
    result = plan(0.2, fit_of(np.array([0.5, 0.5, 0.0]), np.eye(3) * 0.7 + 0.1))
    assert [row.items for row in result.rows[-3:]] == [None] * 3
    assert result.sentence.endswith("No number of items is enough for '2' called '0', because that label never occurs.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "a plan needs either the width of intervals or the number of items: give one of them"),
        (
            {"width": 0.2, "items": 9},
            "a plan needs either the width of intervals or the number of items: give one of them",
        ),
        ({"width": 0.0}, "width 0.0 is not a number between 0 and 1"),
        ({"width": 1e-8}, "width 1e-08 takes more than 1,000,000,000 ratings of a judge: give a larger one"),
        ({"items": 0}, "items 0 is not a whole number of at least 1"),
        ({"items": 9, "judges": 0}, "judges 0 is not a whole number of at least 1"),
        ({"items": 9, "coverage": 0.0}, "coverage 0.0 is not a share above 0 and up to 1"),
        ({"items": 9, "accuracy": 1.0}, "accuracy 1.0 is not a number between 0 and 1"),
        ({"items": 9, "labels": 1}, "labels 1 is not a whole number of at least 2"),
    ],
)
def test_what_cannot_be_planned(arguments, message):
    """Numbers that make no sense are refused."""
    with pytest.raises(UsageError) as error:
        plan(**arguments)
    assert str(error.value) == message


def test_a_fit_has_its_own_accuracy():
    """Accuracy and labels are for plans without a fit."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene")
    with pytest.raises(UsageError) as error:
        plan(0.2, fit, accuracy=0.9)
    assert str(error.value) == "accuracy and labels are for a plan without a fit, which has both: leave them out"
    assert plan(0.2, fit).rows[0].rate == pytest.approx(
        float(fit.params.prevalence[0] @ np.diagonal(fit.params.population))
    )
