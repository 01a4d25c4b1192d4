import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.studio.record.items import Items, ItemSet


def test_items_are_numbered_in_their_order():
    """An item's number is its place; a gap is a fault."""
    items = Items()
    for n in range(1, 40):
        items.add(n, ("t", f"d{n}"))
    items.count([39, 39, 1], 1)
    items.lease([39], 1)
    assert items.ids["t", "d39"] == 39
    assert (items.judged[39], items.leased[39], items.judged[1]) == (2, 1, 1)
    with pytest.raises(ValueError, match="the id of the next item is 40, not 41"):
        items.add(41, ("t", "d41"))


def test_the_pool_is_kept_by_topic(crowd):
    """Only the pool's items are to be judged, each under its topic."""
    made = crowd("[qualification]\nrequired = false\n", topics=3, pool=4, jobs=0)
    items = made.store.ledger.items
    assert [{items.pairs[item] for item in ids} for ids in items.topic_items] == [
        {(f"t{t}", f"d{t}-{n}") for n in range(4)} for t in range(3)
    ]
    assert items.pooled.sum() == 12


@given(st.sets(st.integers(0, 200)), st.integers(0, 50))
def test_who_has_met_what(seen, size):
    """The bits say what a set would, for items that came later too."""
    met = ItemSet(size)
    for item in seen:
        met.add(item)
    assert np.flatnonzero(met.among(np.arange(300))).tolist() == sorted(seen)
    assert [item in met for item in range(300)] == [item in seen for item in range(300)]
