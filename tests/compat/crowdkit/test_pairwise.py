"""Preferences between two items."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad

from adjudge.compat.crowdkit import BradleyTerry, NoisyBradleyTerry
from adjudge.compat.crowdkit.pairwise import compare, noisy_loss

EMPTY = pd.DataFrame({"worker": [], "left": [], "right": [], "label": []})


def preferences(seed=0, items=6, answers=600):
    """Return preferences of four workers, of whom the last one always prefers the left item."""
    rng = np.random.default_rng(seed)
    theta, worker = np.linspace(-1.5, 1.5, items), rng.integers(4, size=answers)
    left = rng.integers(items, size=answers)
    right = (left + rng.integers(1, items, size=answers)) % items
    wins = (rng.random(answers) < 1 / (1 + np.exp(theta[right] - theta[left]))) | (worker == 3)
    return pd.DataFrame({"worker": worker, "left": left, "right": right, "label": np.where(wins, left, right)})


def test_two_items_have_the_closed_form():
    """The worths of two items are their shares of wins."""
    table = pd.DataFrame({"left": ["a"] * 4, "right": ["b"] * 4, "label": ["a", "a", "a", "b"]})
    assert BradleyTerry(100).fit_predict(table).to_dict() == pytest.approx({"a": 0.75, "b": 0.25})


def test_at_the_maximum_wins_are_as_expected():
    """The likelihood equations hold: an item wins as often as the worths predict."""
    table = preferences()
    ours = BradleyTerry(10_000, tol=1e-14).fit(table)
    worth = ours.scores_.to_numpy()
    left, right, sign, _ = compare(table)
    chance = worth[left] / (worth[left] + worth[right])
    expected = np.bincount(left, chance) + np.bincount(right, 1 - chance)
    np.testing.assert_allclose(expected, np.bincount(np.where(sign > 0, left, right)), rtol=1e-6)
    assert ours.loss_history_[-1] < 1e-14
    assert worth.sum() == pytest.approx(1)


def test_the_gradient_is_that_of_the_likelihood():
    """Numerical and written derivatives agree at a random point."""
    table = preferences(answers=80)
    comparisons, worker = compare(table), table["worker"].to_numpy()
    x = np.random.default_rng(1).normal(size=1 + 6 + 2 * 4)
    value, slope = (lambda x, n=n: noisy_loss(x, comparisons, worker, 4, 0.3)[n] for n in (0, 1))
    assert check_grad(value, slope, x) < 1e-5 * np.linalg.norm(slope(x))


def test_who_always_prefers_left_is_found_out():
    """Their skill is the lowest and their bias high; scores rise with the true worths."""
    ours = NoisyBradleyTerry().fit(preferences())
    assert np.corrcoef(ours.scores_, np.arange(6))[0, 1] > 0.85
    assert ours.skills_.idxmin() == 3
    assert ours.biases_[3] > 0.95
    assert (ours.scores_.name, ours.skills_.name, ours.biases_.name) == ("agg_score", "skill", "bias")


@pytest.mark.parametrize("aggregator", [BradleyTerry(5), NoisyBradleyTerry()])
def test_an_empty_table_has_no_scores(aggregator):
    """No preferences give empty results and no error."""
    assert len(aggregator.fit_predict(EMPTY)) == 0


@pytest.mark.parametrize("aggregator", [BradleyTerry(0), NoisyBradleyTerry(0)])
def test_without_a_step_all_items_are_equal(aggregator):
    """n_iter=0 gives the start."""
    assert aggregator.fit_predict(preferences()).nunique() == 1


def test_a_label_that_is_neither_item_is_refused():
    """The row and the three names are in the message."""
    table = pd.DataFrame({"left": ["a", "a"], "right": ["b", "b"], "label": ["a", "tie"]})
    with pytest.raises(ValueError, match=r"^row 2: label 'tie' is neither 'a' nor 'b'$"):
        BradleyTerry(1).fit(table)
