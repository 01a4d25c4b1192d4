"""Which documents decide; whole evaluations are held to every assignment of labels in test_systems."""

import numpy as np
import pytest

from adjudge.score.deciding import SAME, Deciding, _above, _moves, weight


def test_documents_that_move_the_chance_come_first():
    """Of those that do not, the ones that are uncertain and swing the difference."""
    found = [
        Deciding("t", name, True, chance, 1, 2, effect, moves)
        for name, chance, effect, moves in (
            ("sure", 0.99, 0.5, 0.0),
            ("open", 0.5, 0.3, 0.0),
            ("decides", 0.6, 0.1, 0.2),
        )
    ]
    assert [one.document for one in sorted(found, key=weight)] == ["decides", "open", "sure"]


def test_a_label_that_settles_a_coin_moves_it_by_half():
    """The difference is 1 or -1 by a document's label alone: knowing it takes the chance from 1/2 to 0 or 1."""
    difference = np.tile([1.0, -1.0], 50)
    shift = np.stack([-1.0 - difference, 1.0 - difference, np.zeros(100)])[None]  # (Q, K + 1, S)
    chance = np.array([[0.5, 0.5]])
    assert _moves(shift, chance, np.array([False]), difference).tolist() == [0.5]
    nothing = np.zeros((1, 3, 100))
    assert _moves(nothing, chance, np.array([False]), difference).tolist() == [0.0]


def test_rounding_moves_nothing():
    """What is left of sums that should be 0 is told as 0."""
    difference = np.full(100, 1e-3)
    moved = _moves(np.full((1, 3, 100), SAME / 10), np.array([[0.3, 0.7]]), np.array([False]), difference)
    assert moved.tolist() == [0.0]


def test_the_chance_of_a_normal_difference():
    """Above 0 by its mean and variance; without variance by its sign, and a half at 0."""
    assert _above(np.array([0.0, 1.6448536]), np.array([1.0, 1.0])).tolist() == pytest.approx([0.5, 0.95])
    assert _above(np.array([1.0, -1.0, 0.0]), np.array(0.0)).tolist() == [1.0, 0.0, 0.5]
