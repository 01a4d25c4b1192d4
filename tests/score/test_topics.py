"""The bootstrap over topics: exact by all resamples of two, and intervals that cover also where topics are few."""

import numpy as np
import pytest
from scipy import stats

from adjudge.score.topics import INTERVAL, topic_deviations, widening


def covered(topics: int, samples: int = 2_000, draws: int = 400) -> float:
    """Return how often the 90 % interval of normal values holds their mean, the same resamples for all samples."""
    rng = np.random.default_rng(topics)
    value = rng.standard_normal((topics, samples))
    low, high = value.mean(axis=0) + np.quantile(topic_deviations(value, draws, rng), INTERVAL, axis=0)
    return float(((low <= 0) & (high >= 0)).mean())


def test_two_topics_have_three_resamples() -> None:
    """Of 0 and 1 both once with chance 1/2, each twice with chance 1/4; one topic does not move."""
    apart = topic_deviations(np.array([[0.0], [1.0]]), 4_000, np.random.default_rng(1))[:, 0] / widening(2)
    assert np.unique(apart.round(9)).tolist() == [-0.5, 0, 0.5]
    assert apart.var() == pytest.approx(0.125, abs=0.02)
    assert not topic_deviations(np.array([[0.3, 1.0]]), 10, np.random.default_rng(1)).any()


@pytest.mark.parametrize("topics", [2, 5, 50])
def test_deviations_are_widened_as_students_t_asks(topics: int) -> None:
    """So that mean and reach are those of the t interval; with many topics nothing is left to widen."""
    t, z = stats.t.ppf(0.95, topics - 1), stats.norm.ppf(0.95)
    assert widening(topics) == pytest.approx((topics / (topics - 1)) ** 0.5 * t / z)
    assert widening(1) == 1
    assert widening(10**6) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("topics", "share"), [(3, 0.86), (5, 0.9), (10, 0.9), (50, 0.9)])
def test_intervals_cover_nine_in_ten(topics: int, share: float) -> None:
    """Of few normal topics as of many; without widening .61, .79, .84 and .89."""
    assert covered(topics) == pytest.approx(share, abs=0.025)
