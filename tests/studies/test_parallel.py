"""Calls in processes give what calls in one give, in order."""

from multiprocessing import active_children

import pytest

from studies.parallel import parallel_map


@pytest.mark.parametrize("workers", [1, 2])
def test_calls_come_back_in_order(workers):
    """With one process as with two."""
    with parallel_map(workers) as each:
        assert list(each(abs, [-3, 2, -1])) == [3, 2, 1]


def test_an_interrupt_goes_through():
    """And the processes are gone."""

    def work():
        with parallel_map(2) as each:
            for _ in each(abs, range(1_000)):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not active_children()
