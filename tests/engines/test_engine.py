"""What engines share: how blocks are dealt to tasks."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from adjudge.engines.engine import FEWEST_TASKS, MOST_TASKS, Sent, runs, tally_of
from adjudge.errors import InputError
from adjudge.kernels.block import Tally


def blocks(count, judges=100, labels=5):
    """Return what is asked of blocks to deal them."""
    return SimpleNamespace(parts=[None] * count, judges=range(judges), scale=range(labels))


@pytest.mark.parametrize("count", [1, 7, 1_024, 1_025, 5_000])
def test_every_block_is_in_one_run(count):
    """In order, and not in too many of them."""
    dealt = runs(blocks(count))
    assert [number for run in dealt for number in run] == list(range(count))
    assert len(dealt) <= MOST_TASKS


def test_a_folder_that_a_worker_does_not_see_is_named():
    """In a sentence that tells what is missing."""
    with pytest.raises(InputError, match=r"/nowhere: is not a folder of blocks: manifest.json is missing"):
        tally_of(("/nowhere", None), range(1), lambda blocks, number, params: None, None)


def test_large_tallies_are_fewer():
    """A million judges' tables of five labels are 200 MB each."""
    assert len(runs(blocks(5_000, judges=1_000_000))) <= FEWEST_TASKS
    assert len(runs(blocks(50, judges=1_000_000))) == 50


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
