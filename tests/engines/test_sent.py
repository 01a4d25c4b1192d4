"""Tallies that travel: the same on arrival, and smaller on the way where few judges spoke."""

import pickle

import numpy as np
import pytest

from adjudge.engines.sent import Sent
from adjudge.kernels.block import Tally


def tally(judges, spoke):
    """Return the tally of a block in which some judges spoke."""
    label = np.zeros((judges, 3, 3))
    label[:spoke] = np.random.default_rng(0).random((spoke, 3, 3))
    return Tally(np.ones((1, 3)), label, -1.5)


@pytest.mark.parametrize("spoke", [0, 1, 400, 1_000])
def test_what_arrives_is_what_was_sent(spoke):
    """Whoever spoke."""
    sent = tally(1_000, spoke)
    arrived = pickle.loads(pickle.dumps(Sent(*sent)))
    assert type(arrived) is Tally
    assert (arrived.label == sent.label).all()
    assert (arrived.truth == sent.truth).all()
    assert arrived.evidence == sent.evidence


def test_rows_of_those_who_said_nothing_are_not_sent():
    """One in a hundred costs about a hundredth."""
    few, all_ = (len(pickle.dumps(Sent(*tally(10_000, spoke)))) for spoke in (100, 10_000))
    assert few < 0.02 * all_


def test_tallies_of_other_shapes_travel_too():
    """Of a model with a pass of its own, or of gold alone."""
    for label in (np.zeros((0, 0, 0)), np.arange(6.0).reshape(3, 2)):
        arrived = pickle.loads(pickle.dumps(Sent(np.ones((1, 2)), label, 0.0)))
        assert (arrived.label == label).all()
