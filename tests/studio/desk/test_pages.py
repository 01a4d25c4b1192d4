"""The values of the desk's pages."""

import json

import numpy as np
import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk import pages
from adjudge.studio.desk.overview import live
from adjudge.studio.desk.pages import list_audit_entries, list_invitations, list_tokens
from adjudge.studio.records import Refused
from adjudge.studio.work import commands, people

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_invitations_say_what_became_of_them(desk):
    """One used, one over, one open; newest first."""
    numbers = [desk.do(lead.invite, desk.lead, "judge", name, days) for name, days in (("", 9), ("old", 1), ("new", 9))]
    desk.do(people.join, numbers[0], "dora", "hash")
    with desk.store.reading() as connection:
        rows = list_invitations(connection)
    later = desk.time[0] + 2 * 86_400
    assert [(row.name, row.person, row.by, row.state(later)) for row in rows] == [
        ("new", None, "lea", "open"),
        ("old", None, "lea", "over"),
        ("", "dora", "lea", "used"),
    ]


def test_tokens_are_listed_without_their_hashes(desk):
    """With who made them and whether they are still valid."""
    for name in ("nightly", "weekly"):
        desk.do(lead.new_api_token, desk.lead, name, "read")
    desk.do(lead.revoke_token, desk.lead, 1)
    with desk.store.reading() as connection:
        rows = list_tokens(connection)
    assert [(row.name, row.scope, row.by, row.revoked is not None) for row in rows] == [
        ("weekly", "read", "lea", False),
        ("nightly", "read", "lea", True),
    ]
    assert not any("hash" in name for name in rows[0]._fields)


def test_the_audit_log_is_paged_and_searched(desk):
    """Newest first, before an entry, and by words in who, what or detail, whatever the size of their letters."""
    desk.do(lead.change_standing, desk.lead, desk.cid, "paused", "On Leave")
    with desk.store.reading() as connection:
        newest = list_audit_entries(connection)
        assert [row.id for row in newest] == sorted((row.id for row in newest), reverse=True)
        assert [row.id for row in list_audit_entries(connection, before=3)] == [2, 1]
        assert len(list_audit_entries(connection, most=2)) == 2
        (found,) = list_audit_entries(connection, find="on leave")
        assert list_audit_entries(connection, find="lea%") == []
    assert (found.who, found.action, found.detail["judge"]) == ("lea", "judge paused", "cid")


def test_judges_have_their_cards_beside_them(desk, reading):
    """Where the consensus has one."""
    (desk.folder / "consensus").mkdir()
    cards = {"labels": [], "judges": [{"person": desk.ann, "sentence": "Reliable."}], "drift": "Nobody file_changes."}
    cards["reliability"] = "on 3 items whose truth is known, ..."
    (desk.folder / "consensus" / "judges.json").write_text(json.dumps(cards))
    found = pages.judges(reading, desk.campaign)
    assert found["cards"][desk.ann]["sentence"] == "Reliable."
    assert found["reliability"].startswith("on 3 items")
    assert pages.judge(reading, desk.campaign, desk.ann)["card"]["sentence"] == "Reliable."
    assert pages.judge(reading, desk.campaign, desk.bob)["card"] is None
    with pytest.raises(Refused, match="no such judge"):
        pages.judge(reading, desk.campaign, 99)


def test_gold_says_what_upholding_would_do(desk):
    """Only of contests that wait, of assignments that were returned."""
    gold = next(one for one in desk.returned.sets if one.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "no")
    with desk.store.reading() as connection:
        found = pages.gold(connection, desk.store.ledger)
    assert found["passing"] == {1: False}
    assert [row.name for row in found["gates"]] == [one.name for one in desk.campaign.sets if one.use == "gold"]


def test_items_wait_for_a_consensus(desk, reading):
    """The reasons are there either way; an item has a belief once it is judged."""
    found = pages.items(reading, desk.campaign)
    assert not found["consensus"]
    assert [name for name, *_ in found["looks"]] == ["uncertain", "contested", "gold", "helpful"]
    item = desk.first.sets[0].items[0]
    assert pages.item(reading, desk.store.ledger, item)["belief"] is None
    (desk.folder / "consensus").mkdir()
    np.save(desk.folder / "consensus" / "belief.npy", np.full(100, 0.75))
    shown = pages.item(reading, desk.store.ledger, item)
    assert (shown["belief"], [one.judge for one in shown["judgments"]]) == (0.75, ["ann"])


def test_the_overview_is_json_for_programs(desk, reading):
    """Nothing in it but plain values, and no names of judges."""
    told = json.dumps(pages.live_json(live(reading, desk.store.ledger, desk.time[0])))
    assert json.loads(told)["settled"] == 0
    assert "ann" not in told
