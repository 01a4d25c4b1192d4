"""How blocks are dealt to tasks and tallies are sent, and the engine of threads."""

import pickle
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from adjudge.engines.engine import FEWEST_TASKS, MOST_TASKS, PackedTally, Threads, block_ranges, sum_blocks
from adjudge.errors import InputError
from adjudge.kernels.block import Tally


def blocks(count, judges=100, labels=5):
    """Return what is asked of blocks to deal them."""
    return SimpleNamespace(parts=[None] * count, judges=range(judges), scale=range(labels))


@pytest.mark.parametrize("count", [1, 7, 1_024, 1_025, 5_000])
def test_every_block_is_in_one_run(count):
    """In order, and not in too many of them."""
    dealt = block_ranges(blocks(count))
    assert [number for run in dealt for number in run] == list(range(count))
    assert len(dealt) <= MOST_TASKS


def test_a_folder_that_a_worker_does_not_see_is_named():
    """In a sentence that tells what is missing."""
    with pytest.raises(InputError, match=r"/nowhere: is not a folder of blocks: manifest.json is missing"):
        sum_blocks(("/nowhere", None), range(1), lambda blocks, number, params: None, None)


def test_large_tallies_are_fewer():
    """A million judges' tables of five labels are 200 MB each."""
    assert len(block_ranges(blocks(5_000, judges=1_000_000))) <= FEWEST_TASKS
    assert len(block_ranges(blocks(50, judges=1_000_000))) == 50


def tally(judges, spoke):
    """Return the tally of a block in which some judges spoke."""
    label = np.zeros((judges, 3, 3))
    label[:spoke] = np.random.default_rng(0).random((spoke, 3, 3))
    return Tally(np.ones((1, 3)), label, -1.5)


@pytest.mark.parametrize("spoke", [0, 1, 400, 1_000])
def test_what_arrives_is_what_was_sent(spoke):
    """Whoever spoke."""
    sent = tally(1_000, spoke)
    arrived = pickle.loads(pickle.dumps(PackedTally(*sent)))
    assert type(arrived) is Tally
    assert (arrived.label == sent.label).all()
    assert (arrived.truth == sent.truth).all()
    assert arrived.evidence == sent.evidence


def test_rows_of_those_who_said_nothing_are_not_sent():
    """One in a hundred costs about a hundredth."""
    few, all_ = (len(pickle.dumps(PackedTally(*tally(10_000, spoke)))) for spoke in (100, 10_000))
    assert few < 0.02 * all_


def test_tallies_of_other_shapes_travel_too():
    """Of a model with a pass of its own, or of gold alone."""
    for label in (np.zeros((0, 0, 0)), np.arange(6.0).reshape(3, 2)):
        arrived = pickle.loads(pickle.dumps(PackedTally(np.ones((1, 2)), label, 0.0)))
        assert (arrived.label == label).all()


def counted(seen, blocks, number, params):
    """Count what a block has, and who is at it at the same time."""
    with seen["lock"]:
        seen["now"] += 1
        seen["most"] = max(seen["most"], seen["now"])
    block = blocks.block(number)
    tally = Tally(np.array([[block.topic.size, block.cell.size]], float), np.zeros((1, 1, 1)), params * number)
    with seen["lock"]:
        seen["now"] -= 1
    return tally


@pytest.fixture
def seen():
    """Return what is taken note of."""
    return {"lock": threading.Lock(), "now": 0, "most": 0}


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_all_blocks_are_added_once(shelf, seen, workers):
    """By no more threads than there are to be."""
    engine = Threads(workers)
    tally = engine.map_sum(shelf.blocks, partial(counted, seen), 2.0)
    engine.close()
    assert tally.truth.tolist() == [[shelf.blocks.items, len(shelf.blocks)]]
    assert tally.evidence == 2 * sum(range(len(shelf.blocks.parts)))
    assert seen["most"] <= workers


def test_a_step_that_fails_fails_the_pass_and_nothing_else(shelf, seen):
    """The engine goes on to serve."""

    def fails(blocks, number, params):
        if number == 2:
            raise ValueError("block 2")
        return counted(seen, blocks, number, params)

    engine = Threads(2)
    with pytest.raises(ValueError, match="block 2"):
        engine.map_sum(shelf.blocks, fails, 1.0)
    assert engine.map_sum(shelf.blocks, partial(counted, seen), 1.0).truth[0, 0] == shelf.blocks.items
    engine.close()


def test_another_process_needs_the_address_alone(shelf, seen):
    """From which blocks are opened where they are."""
    tally = sum_blocks(shelf.blocks.address, range(2), partial(counted, seen), 1.0)
    assert tally.truth[0, 0] == sum(part.items for part in shelf.blocks.parts[:2])
