"""Decisions on what was read from the tables."""

import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.gold import past_of, seen_in, still
from adjudge.studio.record import schema
from adjudge.studio.records import Refused


def test_what_was_read_holds_until_its_tables_grow(desk):
    """Other tables do not matter."""
    with desk.store.reading() as connection:
        seen = seen_in(connection, schema.standings, schema.rulings)
    desk.work(desk.ann)
    still(desk.store.ledger, seen)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    with pytest.raises(Refused, match="try again"):
        still(desk.store.ledger, seen)


def test_the_past_says_who_stopped_a_judge(desk):
    """Nobody yet; the lead; the studio itself, after three returns."""
    with desk.store.reading() as connection:
        assert past_of(connection, desk.ann)[:2] == ("new", False)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    for _ in range(2):
        desk.work(desk.bob, seconds=3.0)
    with desk.store.reading() as connection:
        assert past_of(connection, desk.ann)[:2] == ("new", False)
        assert past_of(connection, desk.bob)[:2] == ("new", True)
