"""What models of worths share: the optimisation and its standard errors, on a likelihood with known answers."""

import numpy as np
import pytest

from adjudge.models.ranking import worth
from adjudge.models.ranking.worth import Worths, maximise, standard_errors


def bowl(at: Worths) -> tuple[float, Worths]:
    """Return the log likelihood of one normal observation (3, 1) of differences from the mean."""
    away = np.array([3.0, 1.0]) - at.theta
    away -= away.mean()
    return float(-(away @ away) / 2), Worths(away, np.zeros(1), np.empty(0))


def test_the_prior_meets_the_data_half_way() -> None:
    """With spread 1, differences are halved, and what has no spread stays."""
    begin = Worths(np.zeros(2), np.zeros(1), np.empty(0))
    result, value, stopped = maximise(bowl, begin, Worths(np.ones(2), np.zeros(1), np.empty(0)))
    assert result.theta == pytest.approx([0.5, -0.5], abs=1e-6)
    assert result.log_gamma.tolist() == [0]
    assert value == pytest.approx(-0.25)
    assert stopped.startswith("converged after ")


def test_errors_are_against_the_mean() -> None:
    """Each of two differs from their mean with variance 1/2 / (1 + 1 / spread^2)."""
    at = Worths(np.zeros(2), np.zeros(1), np.empty(0))
    assert standard_errors(bowl, at, np.zeros(2, int), 2.0) == pytest.approx([np.sqrt(0.5 / 1.25)] * 2)


def test_large_topics_have_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a size they are not computed."""
    monkeypatch.setattr(worth, "LARGEST", 1)
    at = Worths(np.zeros(2), np.zeros(1), np.empty(0))
    assert np.isnan(standard_errors(bowl, at, np.zeros(2, int), 1.0)).all()
    assert np.isfinite(standard_errors(bowl, at, np.arange(2), 1.0)).all()


def test_a_climb_may_be_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It then says so."""
    monkeypatch.setattr(worth, "STEPS", 0)
    begin = Worths(np.zeros(2), np.zeros(1), np.empty(0))
    assert maximise(bowl, begin, Worths(np.ones(2), np.zeros(1), np.empty(0)))[2] == "stopped at the cap of 0 steps"
