"""Costly numbers are computed once, until the record changes."""

import asyncio

import pytest

from adjudge.studio.kept import Kept, state_key
from adjudge.studio.work import commands


@pytest.fixture
def counted():
    """Return a value that counts how often it was computed, and a way to ask for it."""
    kept, computed = Kept(), []

    async def compute():
        computed.append(len(computed) + 1)
        return computed[-1]

    def ask(key, now, **limits):
        return asyncio.run(Kept.value(kept, "n", key, now, compute, **limits))

    ask.kept = kept
    return ask


def test_a_value_is_computed_again_when_its_key_changes(counted):
    """And only then."""
    assert [counted("a", 0.0), counted("a", 9.0), counted("b", 9.0), counted("b", 10.0)] == [1, 1, 2, 2]


def test_a_value_is_not_computed_too_often_or_too_rarely(counted):
    """It is kept for the least time although the key changed, and not beyond the longest although it did not."""
    assert [counted("a", 0.0, least=2.0), counted("b", 1.0, least=2.0), counted("b", 2.0, least=2.0)] == [1, 1, 2]
    assert [counted("b", 16.0, most=15.0), counted("b", 17.0, most=15.0)] == [2, 3]


def test_a_value_can_be_forgotten(counted):
    """It is computed when it is needed next."""
    assert counted("a", 0.0) == 1
    counted.kept.forget("n")
    assert counted("a", 0.0) == 2


def test_requests_at_once_compute_once():
    """The others wait for the first."""
    kept, computed = Kept(), []

    async def compute():
        await asyncio.sleep(0)
        computed.append(1)
        return len(computed)

    async def both():
        return await asyncio.gather(*(kept.value("n", "a", 0.0, compute) for _ in range(3)))

    assert asyncio.run(both()) == [1, 1, 1]


def test_the_state_changes_with_every_row_and_every_consensus(desk):
    """A contest is one; a new summary is the other."""
    before = state_key(desk.store.ledger)
    assert state_key(desk.store.ledger) == before
    gold = next(entry for entry in desk.returned.sets if entry.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "no")
    after = state_key(desk.store.ledger)
    assert after != before
    (desk.folder / "consensus").mkdir()
    (desk.folder / "consensus" / "summary.json").write_text("{}")
    assert state_key(desk.store.ledger) != after
