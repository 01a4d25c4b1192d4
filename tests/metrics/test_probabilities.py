"""Log loss and squared errors, against scikit-learn and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.metrics.probabilities import (
    BOUND,
    Z,
    brier,
    by_count,
    by_width,
    calibration,
    expected_error,
    log_loss,
    mean_squared_error,
    predictions,
    root_mean_squared_error,
    squared_error,
    wilson,
)


def random_answers(seed: int, K: int) -> tuple[Codes, Floats]:
    """Return truths and probabilities of 50 items, of which every label has some."""
    rng = np.random.default_rng(seed)
    return np.r_[np.arange(K), rng.integers(K, size=50 - K)], rng.dirichlet(np.ones(K), 50)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_log_loss_and_brier_equal_those_of_scikit_learn(seed: int, K: int) -> None:
    """With a bound too small to matter both are the peer's, Brier as the sum over labels."""
    truth, p = random_answers(seed, K)
    assert log_loss(truth, p, 1e-12) == pytest.approx(metrics.log_loss(truth, p))
    assert brier(truth, p) == pytest.approx(metrics.brier_score_loss(truth, p, scale_by_half=False, labels=range(K)))


@pytest.mark.parametrize("seed", range(4))
def test_squared_errors_equal_those_of_scikit_learn(seed: int) -> None:
    """MSE of one column is the peer's binary Brier score, and half of ours over both labels."""
    truth, p = random_answers(seed, 2)
    mse = metrics.brier_score_loss(truth, p[:, 1])
    assert mean_squared_error(truth, p[:, 1]) == pytest.approx(mse)
    assert squared_error(truth, p[:, 1]) == pytest.approx(50 * mse)
    assert root_mean_squared_error(truth, p[:, 1]) == pytest.approx(metrics.root_mean_squared_error(truth, p[:, 1]))
    assert brier(truth, p) == pytest.approx(2 * mse)


def test_bound_keeps_a_confident_mistake_finite() -> None:
    """A probability of 0 for the truth costs -log of the bound, .001 unless said otherwise."""
    truth, p = np.array([1]), np.array([[1.0, 0.0]])
    assert pytest.approx(np.log(1000)) == log_loss(truth, p)
    assert log_loss(truth, p, 0.1) == pytest.approx(np.log(10))


def test_bound_takes_from_certainty_too() -> None:
    """A probability of 1 for the truth costs -log(1 - bound), not 0."""
    assert log_loss(np.array([0]), np.array([[1.0, 0.0]])) == pytest.approx(-np.log(1 - BOUND))


def test_squared_errors_by_hand() -> None:
    """Responses .5, 0 and 1 to outcomes 1, 0 and 0 miss by .5, 0 and 1."""
    outcome, response = np.array([1, 0, 0]), np.array([0.5, 0, 1])
    assert squared_error(outcome, response) == 1.25
    assert mean_squared_error(outcome, response) == pytest.approx(1.25 / 3)
    assert root_mean_squared_error(outcome, response) == pytest.approx((1.25 / 3) ** 0.5)


def test_outcomes_may_be_flags() -> None:
    """True counts as 1."""
    assert squared_error(np.array([True, False]), np.array([0.5, 0.5])) == 0.5


def test_nothing_answered_is_no_mean() -> None:
    """Over no items every mean is None and no warning is given."""
    none, p = np.empty(0, np.int64), np.empty((0, 2))
    assert [log_loss(none, p), brier(none, p), mean_squared_error(none, p[:, 0])] == [None] * 3
    assert root_mean_squared_error(none, p[:, 0]) is None


@given(st.integers(0, 99), st.permutations(range(50)), st.permutations(range(3)))
def test_order_of_items_and_names_of_labels_change_nothing(seed: int, items: list[int], labels: list[int]) -> None:
    """Losses are the same of permuted items, and of labels that are renamed."""
    truth, p = random_answers(seed, 3)
    position = np.argsort(labels)  # where each label has gone
    for loss in (log_loss, brier):
        assert loss(truth[items], p[items]) == pytest.approx(loss(truth, p))
        assert loss(position[truth], p[:, labels]) == pytest.approx(loss(truth, p))


def random_outcomes(seed: int, items: int = 400, bend: float = 1.0) -> tuple[Any, Any]:
    """Return outcomes and the probabilities said of them; these are true where ``bend`` is 1."""
    rng = np.random.default_rng(seed)
    p = rng.random(items)
    return (rng.random(items) < p**bend).astype(int), p


def test_a_curve_by_hand() -> None:
    """Four items in two bins of ten: said .15 and true in 1 of 2; said .9 and true in 2 of 2."""
    result = calibration(np.array([0, 1, 1, 1]), np.array([0.12, 0.18, 0.9, 0.9]))
    assert result.predicted == pytest.approx([0.15, 0.9])
    assert result.observed.tolist() == [0.5, 1]
    assert result.count.tolist() == [2, 2]
    assert result.ece == pytest.approx((0.35 + 0.1) / 2)
    assert repr(result) == "Calibration(4 items in 2 bins, ECE 0.2250)"


@pytest.mark.parametrize(("how", "strategy"), [("width", "uniform"), ("count", "quantile")])
@pytest.mark.parametrize("bins", [1, 5, 10])
def test_the_curve_is_that_of_scikit_learn(how: str, strategy: Any, bins: int) -> None:
    """Both kinds of bins have the peer's points; its quantile bins have the same number of items, without ties."""
    truth, p = random_outcomes(3)
    observed, predicted = calibration_curve(truth, p, n_bins=bins, strategy=strategy)
    result = calibration(truth, p, bins, how)
    if how == "width":
        assert result.observed == pytest.approx(observed)
        assert result.predicted == pytest.approx(predicted)
    assert result.observed == pytest.approx(observed, abs=0.02)  # an item on a quantile may be on either side of it
    assert result.predicted == pytest.approx(predicted, abs=0.02)


def test_bins_of_equal_width_include_their_lower_end() -> None:
    """Also where a multiple of .1 has no exact binary form; 1 is in the last."""
    p = np.array([0, 0.1, 0.3, 0.6, 0.7, 0.99, 1.0])
    assert by_width(p, 10).tolist() == [0, 1, 3, 6, 7, 9, 9]


def test_bins_of_equal_count_do_not_part_equal_probabilities() -> None:
    """Eight items in four bins are two each; six that are equal stay together, and bins in between are empty."""
    assert by_count(np.arange(8) / 8, 4).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert by_count(np.array([0, 0, 0, 0, 0, 0, 0.5, 0.6]), 4).tolist() == [0] * 6 + [3, 3]


@given(st.lists(st.integers(0, 10), min_size=1, max_size=30), st.sampled_from(["width", "count"]), st.integers(1, 12))
def test_every_item_is_in_one_bin(tenths: list[int], how: str, bins: int) -> None:
    """Counts sum to the items, points rise, shares lie in their intervals, and order is nothing."""
    p = np.array(tenths) / 10
    truth = np.arange(p.size) % 2
    result = calibration(truth, p, bins, how)
    assert result.count.sum() == p.size
    assert (result.count > 0).all()
    assert (np.diff(result.predicted) > 0).all()
    assert ((result.low <= result.observed + 1e-12) & (result.observed <= result.high + 1e-12)).all()
    turned = calibration(truth[::-1], p[::-1], bins, how)
    assert turned.ece == pytest.approx(result.ece)


def test_two_labels_speak_of_the_second() -> None:
    """A table of two columns is its last column, and one column is taken as it is."""
    truth, p = random_outcomes(1)
    both, first = calibration(truth, np.column_stack([1 - p, p])), calibration(truth, p)
    assert both.ece == first.ece
    assert both.sentence == first.sentence


def test_more_labels_speak_of_the_most_likely() -> None:
    """Said .5 and right in one of two items, said .8 and right."""
    p = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.1, 0.1, 0.8]])
    result = calibration(np.array([0, 2, 2]), p)
    assert result.predicted == pytest.approx([0.5, 0.8])
    assert result.observed.tolist() == [0.5, 1]
    assert result.ece == pytest.approx(0.2 / 3)
    assert (result.confidence, result.right) == pytest.approx((0.6, 2 / 3))
    assert predictions(np.array([0, 2, 2]), p).outcome.tolist() == [True, False, True]


def test_true_probabilities_have_hardly_an_error() -> None:
    """Outcomes drawn from what is said of them: ECE is what chance leaves, and points lie in their intervals."""
    truth, p = random_outcomes(0, 200_000)
    result = calibration(truth, p)
    assert result.ece is not None
    assert result.ece < 0.005
    assert result.sentence.endswith("of 200,000 items: calibrated")


def test_bent_probabilities_have_the_error_they_must() -> None:
    """Where p is said and p^2 is true the mean distance is the integral of p - p^2, a sixth."""
    assert calibration(*random_outcomes(0, 200_000, bend=2.0)).ece == pytest.approx(1 / 6, abs=0.005)


def test_weights_count_items_more_often() -> None:
    """Twice the weight is the item twice, and no weight at all is no error at all."""
    truth, p = random_outcomes(2, 50)
    times = np.arange(50) % 3
    position = by_width(p, 10)
    again = calibration(np.repeat(truth, times), np.repeat(p, times))
    assert expected_error(predictions(truth, p), position, times.astype(float)) == pytest.approx(again.ece)
    assert expected_error(predictions(truth, p), position, np.zeros(50)) is None


@pytest.mark.parametrize(
    ("said", "right", "verdict"),
    [
        (0.9, 82, "over-confident"),
        (0.7, 90, "under-confident"),
        (0.8, 80, "too few items to say whether it is calibrated"),
        (0.99, 99, "calibrated"),
    ],
)
def test_the_sentence_says_how_sure_the_answers_are(said: float, right: int, verdict: str) -> None:
    """Beside how often they are right; of two labels the likelier counts, whichever it is."""
    truth = np.arange(100) < right
    sentence = f"predicts {100 * said:.0f} % and is right in {right} % of 100 items: {verdict}"
    assert calibration(truth, np.full(100, said)).sentence == sentence
    assert calibration(~truth, np.full(100, 1 - said)).sentence == sentence


def test_few_items_show_nothing() -> None:
    """4 of 5 right at 94 % is what chance does, and so would be much that is not as it should be."""
    result = calibration(np.arange(5) < 4, np.full(5, 0.94))
    answer = "predicts 94 % and is right in 80 % of 5 items: too few items to say whether it is calibrated"
    assert result.sentence == answer


def test_errors_that_cancel_are_said() -> None:
    """Said 99 % and 90 % came true, said 60 % and 69 % did: the means agree, the bins do not."""
    truth, p = np.r_[np.arange(1_000) < 900, np.arange(1_000) < 690], np.repeat([0.99, 0.6], 1_000)
    result = calibration(truth, p)
    assert result.ece == pytest.approx(0.09)
    answer = "predicts 80 % and is right in 80 % of 2,000 items: calibrated on average, but "
    assert result.sentence == f"{answer}over-confident at 99 %, where 90 % have the outcome"
    assert calibration(~truth, 1 - p).sentence == f"{answer}over-confident at 1 %, where 10 % have the outcome"
    more = np.column_stack([p, (1 - p) / 2, (1 - p) / 2])
    assert calibration(np.where(truth, 0, 1), more).sentence == result.sentence


def test_errors_that_cancel_between_two_labels_are_said() -> None:
    """Equally sure of both labels, right in 99 % of one and 81 % of the other; also if no item of a bin is right."""
    truth, p = np.r_[np.arange(500) < 495, np.arange(500) < 95], np.repeat([0.9, 0.1], 500)
    assert calibration(truth, p).sentence.endswith("but under-confident at 90 %, where 99 % have the outcome")
    some = calibration(np.r_[np.zeros(40), np.arange(60) < 56], np.repeat([0.4, 0.75], [40, 60]))
    assert some.sentence.endswith("items: under-confident")
    none = calibration(np.r_[np.zeros(40), np.arange(60) < 33], np.repeat([0.4, 0.75], [40, 60]))
    assert none.sentence.endswith("items: under-confident at 40 %, where 0 % have the outcome")


def test_true_probabilities_are_seldom_blamed() -> None:
    """Where outcomes are drawn from what is said, about one in ten or fewer sentences find fault, for each way."""
    verdicts = [calibration(*random_outcomes(seed, 1_000)).sentence for seed in range(200)]
    fault = [
        sum(case in verdict for verdict in verdicts) / 200
        for case in (" but ", ": over-confident", ": under-confident")
    ]
    assert fault[0] <= 0.15
    assert fault[1] + fault[2] <= 0.15
    assert sum(verdict.endswith(": calibrated") for verdict in verdicts) >= 150


def test_an_even_chance_is_half_right() -> None:
    """Neither label is the likelier one."""
    result = calibration(np.array([1, 1, 1]), np.full(3, 0.5))
    assert (result.confidence, result.right) == (0.5, 0.5)


def test_wilson_is_the_known_interval() -> None:
    """8 of 10 by SciPy's binomial test, and ends that stay within 0 and 1."""
    reference = stats.binomtest(8, 10).proportion_ci(0.9, method="wilson")
    low, high = wilson(np.array([0.8]), np.array([10]))
    assert (low[0], high[0]) == pytest.approx((reference.low, reference.high))
    assert pytest.approx(stats.norm.ppf(0.95)) == Z
    low, high = wilson(np.array([0.0, 1.0]), np.array([5, 5]))
    assert (low[0], high[1]) == pytest.approx((0, 1))
    assert low[0] >= 0
    assert high[1] <= 1


def test_intervals_cover_nine_in_ten() -> None:
    """Of shares drawn from what was said, about 90 in 100 intervals hold what was said."""
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        result = calibration(rng.random(60) < 0.7, np.full(60, 0.7))
        covered += bool(result.low[0] <= 0.7 <= result.high[0])
    assert 0.86 <= covered / 400 <= 0.94


@pytest.mark.parametrize("shape", [(0,), (0, 2), (0, 3)])
def test_no_items_have_no_curve(shape: tuple[int, ...]) -> None:
    """The error is not defined, with the reason in the sentence."""
    result = calibration(np.empty(0, int), np.empty(shape))
    assert (result.ece, result.confidence, result.right, result.count.size) == (None, None, None, 0)
    assert result.sentence == "not defined because no item has both a truth and a probability"
    assert repr(result) == "Calibration(0 items in 0 bins)"


def test_the_record_cannot_be_changed() -> None:
    """It is frozen and so are its arrays."""
    result = calibration(*random_outcomes(0))
    with pytest.raises(AttributeError):
        result.ece = 0.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        result.observed[0] = 1


def test_what_is_no_curve_is_refused() -> None:
    """No bins, an unknown kind of them, and what is not a probability."""
    truth, p = random_outcomes(0, 5)
    with pytest.raises(UsageError, match=r"^bins 0 is not 1 or more$"):
        calibration(truth, p, 0)
    with pytest.raises(UsageError, match=r"^how 'depth' is not one of 'width', 'count'$"):
        calibration(truth, p, how="depth")
    for wrong in (1.5, -0.1, float("nan")):
        with pytest.raises(UsageError, match=rf"^probability {wrong:g} is not a number from 0 to 1$"):
            calibration(truth, np.r_[p[:4], wrong])
