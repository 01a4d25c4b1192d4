"""What each page of the desk shows."""

import json

import numpy as np
import pytest

from adjudge.studio.desk import pages as desk_shown
from adjudge.studio.desk.overview import live
from adjudge.studio.records import Refused
from adjudge.studio.work import commands


def test_judges_have_their_cards_beside_them(desk, reading):
    """Where the consensus has one."""
    (desk.folder / "consensus").mkdir()
    cards = {"labels": [], "judges": [{"person": desk.ann, "sentence": "Reliable."}], "drift": "Nobody changed."}
    cards["reliability"] = "on 3 items whose truth is known, ..."
    (desk.folder / "consensus" / "judges.json").write_text(json.dumps(cards))
    found = desk_shown.judges(reading, desk.campaign)
    assert found["cards"][desk.ann]["sentence"] == "Reliable."
    assert found["reliability"].startswith("on 3 items")
    assert desk_shown.judge(reading, desk.campaign, desk.ann)["card"]["sentence"] == "Reliable."
    assert desk_shown.judge(reading, desk.campaign, desk.bob)["card"] is None
    with pytest.raises(Refused, match="no such judge"):
        desk_shown.judge(reading, desk.campaign, 99)


def test_gold_says_what_upholding_would_do(desk):
    """Only of contests that wait, of assignments that were returned."""
    gold = next(one for one in desk.returned.sets if one.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "no")
    with desk.store.reading() as connection:
        found = desk_shown.gold(connection, desk.store.ledger)
    assert found["passing"] == {1: False}
    assert [row.name for row in found["gates"]] == [one.name for one in desk.campaign.sets if one.use == "gold"]


def test_items_wait_for_a_consensus(desk, reading):
    """The reasons are there either way; an item has a belief once it is judged."""
    found = desk_shown.items(reading, desk.campaign)
    assert not found["known"]
    assert [name for name, *_ in found["looks"]] == ["uncertain", "contested", "gold", "helpful"]
    item = desk.first.sets[0].items[0]
    assert desk_shown.item(reading, desk.store.ledger, item)["belief"] is None
    (desk.folder / "consensus").mkdir()
    np.save(desk.folder / "consensus" / "belief.npy", np.full(100, 0.75))
    shown = desk_shown.item(reading, desk.store.ledger, item)
    assert (shown["belief"], [one.judge for one in shown["said"]]) == (0.75, ["ann"])


def test_the_overview_is_json_for_programs(desk, reading):
    """Nothing in it but plain values, and no names of judges."""
    told = json.dumps(desk_shown.plain(live(reading, desk.store.ledger, desk.time[0])))
    assert json.loads(told)["settled"] == 0
    assert "ann" not in told
