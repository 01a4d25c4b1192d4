"""Newton's method, against a general minimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from adjudge.kernels.pair_hinge import loss_and_pull
from adjudge.learn import newton
from adjudge.learn.newton import conjugate, solve
from adjudge.learn.pairs import paired


@pytest.mark.parametrize("few", [0, 300])
def test_the_minimum_is_that_of_a_general_minimiser(few, monkeypatch):
    """Of the objective as printed, for pairs with weights, whether features are few or many."""
    monkeypatch.setattr(newton, "FEW", few)
    rng = np.random.default_rng(2)
    X, y, g, f = rng.normal(size=(80, 5)), rng.integers(0, 2, 80), rng.integers(0, 6, 80), rng.random(80)
    found = paired(y, g, f)
    own = X[found.order]
    solved = solve(own, found.rows, 0.7)
    other = minimize(lambda w: w @ w / 2 + 0.7 * loss_and_pull(found.rows, own @ w)[0], np.zeros(5), tol=1e-12)
    assert solved.w == pytest.approx(other.x, abs=1e-5)
    assert solved.value <= other.fun + 1e-10
    assert solved.settled
    assert solved.gradient < 1e-8


def test_a_cap_is_told():
    """Too few steps are not enough, and the record says so."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 5)), rng.integers(0, 2, 80)
    found = paired(y)
    assert not solve(X[found.order], found.rows, 10.0, most=0).settled


def test_features_without_differences_need_no_step():
    """The gradient is 0 from the beginning."""
    solved = solve(np.ones((3, 2)), paired([0, 1, 0]).rows, 1.0)
    assert (solved.w.tolist(), solved.steps, solved.settled) == ([0, 0], 0, True)


def test_conjugate_gradients_solve_linear_equations():
    """Of a symmetric positive matrix."""
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    matrix, goal = root @ root.T + np.eye(6), rng.normal(size=6)
    assert conjugate(lambda v: matrix @ v, goal, 1e-10) == pytest.approx(np.linalg.solve(matrix, goal))
