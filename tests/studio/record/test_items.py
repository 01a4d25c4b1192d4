"""The items of a campaign, and what one more judgment tells about them."""

from dataclasses import dataclass
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.studio.record.items import (
    Items,
    ItemSet,
    expected_information,
    judgments_saved,
    settled_items,
    update_belief,
)

CHANCE = st.floats(0, 1)


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
    created = crowd("[qualification]\nrequired = false\n", topics=3, pool=4, jobs=0)
    items = created.store.ledger.items
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


@dataclass(frozen=True)
class Redundancy:
    """The usual settings."""

    judgments: int = 3
    adaptive: bool = True
    target: float = 0.95
    least: int = 2
    most: int = 5


def bits(chances):
    """Return the entropy of a few chances."""
    return -sum(p * log2(p) for p in chances if p > 0)


@given(st.lists(CHANCE, min_size=1, max_size=5), CHANCE, CHANCE)
def test_information_is_that_of_brute_force(belief, right_0, right_1):
    """The entropy now, less the entropy after each answer, weighed by how likely that answer is."""
    confusion = np.array([[right_0, 1 - right_0], [1 - right_1, right_1]])
    for p, result in zip(belief, expected_information(np.array(belief), confusion), strict=True):
        after = 0.0
        for answer in (0, 1):
            chance = (1 - p) * confusion[0, answer] + p * confusion[1, answer]
            q = update_belief(p, answer, confusion)
            after += chance * bits([q, 1 - q])
        assert result == pytest.approx(bits([p, 1 - p]) - after, abs=1e-9)
        assert 0 <= result <= 1 + 1e-12


def test_a_perfect_judge_tells_all_and_a_blind_one_nothing():
    """One bit of an even chance; none of what is certain."""
    belief = np.array([0.5, 0.0, 1.0])
    assert expected_information(belief, np.eye(2)).tolist() == [1, 0, 0]
    assert expected_information(belief, np.full((2, 2), 0.5)).tolist() == [0, 0, 0]


def test_revision_is_bayes_rule():
    """A judge right nine times in ten turns an even chance into .9, either way."""
    confusion = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert update_belief(0.5, 1, confusion) == pytest.approx(0.8 / 0.9)
    assert update_belief(0.5, 0, confusion) == pytest.approx(0.2 / 1.1)


def test_what_cannot_have_been_said_teaches_nothing():
    """0/0 leaves the belief where it was."""
    assert update_belief(1.0, 0, np.eye(2)) == 1.0


def test_without_adaption_the_number_of_judgments_decides():
    """However sure the label is."""
    done = settled_items(np.array([0.99, 0.5, 0.5]), np.array([2, 3, 4]), Redundancy(adaptive=False))
    assert done.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("belief", "judged", "done"),
    [
        (0.99, 1, False),  # sure, but by one judgment
        (0.99, 2, True),
        (0.01, 2, True),  # sure that it is not relevant
        (0.95, 2, True),
        (0.94, 4, False),
        (0.5, 5, True),  # as often as an item is judged at all
    ],
)
def test_adaptive_redundancy_stops_when_it_is_sure_or_has_asked_enough(belief, judged, done):
    """By P(label), either way, and the number of judgments."""
    assert settled_items(np.array([belief]), np.array([judged]), Redundancy()).tolist() == [done]


def test_what_is_saved_is_counted_against_a_fixed_number():
    """Settled items only; those that took more judgments count against it."""
    judged, done = np.array([2, 2, 5, 1]), np.array([True, True, True, False])
    assert judgments_saved(judged, done, Redundancy()) == 1 + 1 - 2
    assert judgments_saved(judged, np.array([True, True, False, False]), Redundancy()) == 2
