"""The likelihood of preferences: three outcomes that sum to one, and slopes that are differences."""

import numpy as np
import pytest

from adjudge.arrays import Floats
from adjudge.kernels.davidson import log_likelihood


def test_outcomes_are_all_there_is() -> None:
    """Left, right and tie sum to 1, in the proportions of Davidson's paper."""
    theta, arrays = np.log([3.0, 2.0]), (np.ones(1, int), np.zeros(1, int))
    first, second = np.zeros(1, int), np.ones(1, int)

    def p(better: Floats, worse: Floats, tie: bool) -> float:
        said = (better, worse, arrays[0], np.array([tie]), arrays[1])
        return float(np.exp(log_likelihood(*said, theta, np.zeros(1), 0.0, np.log(0.5))[0]))

    left, right, tie = p(first, second, False), p(second, first, False), p(first, second, True)
    assert left + right + tie == pytest.approx(1)
    assert (left / right, tie / np.sqrt(left * right)) == pytest.approx((1.5, 0.5))


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_slopes_are_differences(ties: float) -> None:
    """In log worths, log reliabilities, the place and, where there are ties, nu."""
    rng = np.random.default_rng(0)
    better, worse = np.array([rng.permutation(5)[:2] for _ in range(40)]).T
    side, judge, tie = rng.choice([-1, 1], 40), rng.integers(0, 3, 40), rng.random(40) < ties
    x = rng.normal(size=10)
    x[9] = x[9] if ties else -np.inf

    def value(x: Floats) -> float:
        return log_likelihood(better, worse, side, tie, judge, x[:5], x[5:8], x[8], x[9])[0]

    slope = np.r_[*log_likelihood(better, worse, side, tie, judge, x[:5], x[5:8], x[8], x[9])[1]]
    nudges = 1e-5 * np.eye(10)[: 10 if ties else 9]
    differences = [(value(x + nudge) - value(x - nudge)) / 2e-5 for nudge in nudges]
    assert slope[: len(differences)] == pytest.approx(differences, abs=1e-7)
    assert ties or slope[9] == 0
