"""Kendall's tau, against scipy's."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from adjudge.kernels.kendall import tau_b


@pytest.mark.parametrize("seed", range(5))
def test_one_ranking_as_scipy_has_it(seed: int) -> None:
    """With ties on both sides."""
    rng = np.random.default_rng(seed)
    level, rank = np.sort(rng.integers(0, 5, 12)), rng.integers(0, 6, 12)
    found = tau_b(np.array([0, 12]), np.zeros(1, int), np.arange(12), level, rank, 1)
    assert found[0] == pytest.approx(kendalltau(level, rank).statistic)


def test_rankings_of_a_judge_are_taken_together() -> None:
    """Three pairs right and one wrong; a judge who tells nothing apart has none."""
    start, judge = np.array([0, 3, 5, 7]), np.array([0, 0, 1])
    item, level = np.array([0, 1, 2, 4, 3, 0, 1]), np.array([0, 1, 2, 0, 1, 0, 0])
    found = tau_b(start, judge, item, level, np.array([1, 2, 3, 1, 2]), 2)
    assert found[0] == 0.5
    assert np.isnan(found[1])
