"""What a study measures, against computations written out item by item."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, f1_score, log_loss, precision_score, recall_score, roc_auc_score

from adjudge.data.scale import Scale
from adjudge.metrics.labels import Scored
from adjudge.metrics.significance import intervals, resamples
from studies.measures import (
    area,
    binary_measures,
    closest,
    distances,
    drawn,
    duel,
    expected,
    interval,
    log_odds,
    ordinal_measures,
    rounded,
)

GRADES = Scale(("1", "2", "3"), ordinal=True)
YES_NO = Scale(("no", "yes"))


def scored(truth, answer, probability, scale=GRADES):
    """Return answers beside truths."""
    positive = 1 if len(scale) == 2 else None
    return Scored(np.array(truth), np.array(answer), np.array(probability, dtype=float), scale, positive, 1e-3, 0)


@pytest.fixture
def two_methods():
    """Return two methods on three items whose truths are 1, 3 and 2."""
    first = scored([0, 2, 1], [0, 2, 2], [[1, 0, 0], [0, 0.5, 0.5], [0, 0.4, 0.6]])
    second = scored([0, 2, 1], [0, 1, 1], [[1, 0, 0], [0, 1, 0], [0.25, 0.5, 0.25]])
    return first, second


def test_expected_values(two_methods):
    """Sums of values by their probabilities; a label without probabilities is certain."""
    assert expected(two_methods[0]).tolist() == pytest.approx([1, 2.5, 2.6])
    assert expected(two_methods[0]._replace(probability=None)).tolist() == [1, 3, 3]


def test_halves_are_rounded_up():
    """Also where a half comes out a little low, and on a scale with gaps."""
    value = np.array([1.0, 2.0, 3.0])
    assert rounded(np.array([1, 1.49, 1.5, 1.5 - 1e-12, 2.51, 3]), value).tolist() == [0, 0, 1, 1, 2, 2]
    assert rounded(np.array([2.9, 3.0, 9.0]), np.array([1.0, 5.0, 7.0])).tolist() == [0, 1, 2]


def test_shares_of_the_closest():
    """Ties are shared, or count whole for each."""
    distance = np.array([[0, 0, 0.5], [0.3, 0.1, 0.2], [1, 1 + 1e-12, 1]])
    assert closest(distance).tolist() == [[0.5, 0.5, 0], [0, 1, 0], pytest.approx([1 / 3] * 3)]
    assert closest(distance, shared=False).tolist() == [[1, 1, 0], [0, 1, 0], [1, 1, 1]]


def test_a_duel_has_no_winner_where_both_are_as_close():
    """Wins and losses alone are counted."""
    assert duel(np.array([0, 1, 1, 0.5]), np.array([0, 0, 2, 1.5])) == (2, 1)


def test_ordinal_measures_by_hand(two_methods):
    """Three items, two methods, every measure written out."""
    first, second = (of(np.ones(3)) for of in ordinal_measures(two_methods))
    assert first == pytest.approx(
        {
            "accuracy": 2 / 3,
            "rounded_accuracy": 2 / 3,  # 2.5 is rounded to 3, 2.6 as well
            "mae": (0 + 0.5 + 0.6) / 3,
            "rounded_mae": 1 / 3,
            "label_mae": 1 / 3,
            "rmse": sqrt((0.25 + 0.36) / 3),
            "rounded_rmse": sqrt(1 / 3),
            "label_rmse": sqrt(1 / 3),
            "closest": (0.5 + 1 + 0) / 3,
            "rounded_closest": (0.5 + 1 + 0) / 3,
        }
    )
    assert second["closest"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert second["mae"] == pytest.approx((0 + 1 + 0) / 3)
    assert {kind: [d.tolist() for d in far] for kind, far in distances(two_methods).items()} == {
        "expected": [pytest.approx([0, 0.5, 0.6]), [0, 1, 0]],
        "rounded": [[0, 0, 1], [0, 1, 0]],
        "label": [[0, 0, 1], [0, 1, 0]],
    }


def test_an_item_drawn_twice_counts_twice(two_methods):
    """Weights are how often an item is there."""
    (first, _) = (of(np.array([2.0, 0.0, 1.0])) for of in ordinal_measures(two_methods))
    assert first["accuracy"] == pytest.approx(2 / 3)
    assert first["mae"] == pytest.approx(0.6 / 3)
    assert first["rmse"] == pytest.approx(sqrt(0.36 / 3))


def pairs(score, positive, weight):
    """Return the area under the ROC curve by looking at every pair."""
    won = total = 0.0
    for (a, yes, v), (b, other, w) in product(zip(score, positive, weight, strict=True), repeat=2):
        if yes and not other:
            won, total = won + v * w * ((a > b) + 0.5 * (a == b)), total + v * w
    return won / total


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_all_pairs_and_of_scikit_learn(seed):
    """With ties, and with items that count more than once."""
    rng = np.random.default_rng(seed)
    score, positive = rng.integers(6, size=40) / 5, rng.random(40) < 0.4
    weight = rng.integers(3, size=40).astype(float)
    of = area(score, positive)
    assert of(np.ones(40)) == pytest.approx(roc_auc_score(positive, score))
    assert of(weight) == pytest.approx(roc_auc_score(positive, score, sample_weight=weight))
    assert of(weight) == pytest.approx(pairs(score, positive, weight))


def test_no_area_without_both_kinds():
    """Nothing can be said where all items are of one kind."""
    assert area(np.arange(3.0), np.ones(3, dtype=bool))(np.ones(3)) is None


def test_log_odds_tell_apart_what_floats_cannot():
    """1 - 1e-18 and 1 - 1e-20 are both 1, and their odds are not the same."""
    odds = log_odds(np.array([[1e-18, 1.0], [1e-20, 1.0], [0.5, 0.5], [1.0, 0.0]]), 1)
    assert odds[1] > odds[0] > odds[2] > odds[3]
    assert odds[0] == pytest.approx(18 * log(10))


def test_binary_measures_are_those_of_scikit_learn():
    """Measures of labels, log loss within its bound, RMSE and the area."""
    rng = np.random.default_rng(1)
    p, truth = rng.uniform(0.01, 0.99, 60), rng.integers(2, size=60)
    answers = scored(truth, (p > 0.5).astype(int), np.column_stack([1 - p, p]), YES_NO)
    (of,) = binary_measures([answers])
    assert of(np.ones(60)) == pytest.approx(
        {
            "accuracy": np.mean((p > 0.5) == truth),
            "recall": recall_score(truth, p > 0.5),
            "precision": precision_score(truth, p > 0.5),
            "specificity": recall_score(truth, p > 0.5, pos_label=0),
            "f1": f1_score(truth, p > 0.5),
            "log_loss": log_loss(truth, p),
            "rmse": np.sqrt(brier_score_loss(truth, p)),
            "auc": roc_auc_score(truth, p),
        }
    )


def test_intervals_are_those_of_scores():
    """The draws are the same as elsewhere, so accuracy, F1 and log loss have the same intervals."""
    rng = np.random.default_rng(2)
    p, truth = rng.uniform(0.01, 0.99, 50), rng.integers(2, size=50)
    answers = scored(truth, (p > 0.5).astype(int), np.column_stack([1 - p, p]), YES_NO)
    (result,) = drawn(binary_measures([answers]), 50, 80, 3)
    (reference,) = intervals([answers], draws=80, seed=3)
    for measure in ("accuracy", "f1", "log_loss"):
        assert interval(result[measure]) == pytest.approx(reference[measure])
    weights = list(resamples(50, 80, 3))
    assert result["auc"].tolist() == pytest.approx([pairs(p, truth == 1, weight) for weight in weights])


def test_draws_without_a_value_are_left_out_of_the_interval():
    """And counted; without any value there is no interval."""
    assert interval(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0, 2, 1)
    assert interval(np.array([np.nan])) is None
