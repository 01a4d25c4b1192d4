"""What engines share: how blocks are dealt to tasks."""

from types import SimpleNamespace

import pytest

from adjudge.engines.engine import FEWEST_TASKS, MOST_TASKS, runs, tally_of
from adjudge.errors import InputError


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
