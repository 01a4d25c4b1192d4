"""Invitations, tokens and the audit log, as the desk shows them."""

import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.pages import api_tokens, entries, invited
from adjudge.studio.work import people

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_invitations_say_what_became_of_them(desk):
    """One used, one over, one open; newest first."""
    numbers = [desk.do(lead.invite, desk.lead, "judge", name, days) for name, days in (("", 9), ("old", 1), ("new", 9))]
    desk.do(people.join, numbers[0], "dora", "hash")
    with desk.store.reading() as connection:
        rows = invited(connection)
    later = desk.time[0] + 2 * 86_400
    assert [(row.name, row.person, row.by, row.state(later)) for row in rows] == [
        ("new", None, "lea", "open"),
        ("old", None, "lea", "over"),
        ("", "dora", "lea", "used"),
    ]


def test_tokens_are_listed_without_their_hashes(desk):
    """With who made them and whether they still hold."""
    for name in ("nightly", "weekly"):
        desk.do(lead.new_api_token, desk.lead, name, "read")
    desk.do(lead.revoke_token, desk.lead, 1)
    with desk.store.reading() as connection:
        rows = api_tokens(connection)
    assert [(row.name, row.scope, row.by, row.revoked is not None) for row in rows] == [
        ("weekly", "read", "lea", False),
        ("nightly", "read", "lea", True),
    ]
    assert not any("hash" in name for name in rows[0]._fields)


def test_the_audit_log_is_paged_and_searched(desk):
    """Newest first, before an entry, and by words in who, what or detail, whatever the size of their letters."""
    desk.do(lead.change_standing, desk.lead, desk.cid, "paused", "On Leave")
    with desk.store.reading() as connection:
        newest = entries(connection)
        assert [row.id for row in newest] == sorted((row.id for row in newest), reverse=True)
        assert [row.id for row in entries(connection, before=3)] == [2, 1]
        assert len(entries(connection, most=2)) == 2
        (found,) = entries(connection, find="on leave")
        assert entries(connection, find="lea%") == []
    assert (found.who, found.what, found.detail["judge"]) == ("lea", "judge paused", "cid")
