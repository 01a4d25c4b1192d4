"""Threads over blocks on disk."""

import threading
from functools import partial

import numpy as np
import pytest

from adjudge.engines.engine import tally_of
from adjudge.engines.threads import Threads
from adjudge.kernels.block import Tally


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
    tally = tally_of(shelf.blocks.address, range(2), partial(counted, seen), 1.0)
    assert tally.truth[0, 0] == sum(part.items for part in shelf.blocks.parts[:2])
