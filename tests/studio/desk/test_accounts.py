"""What a lead sees of accounts, and invitations from a list."""

import pytest

from adjudge.studio.desk import accounts
from adjudge.studio.records import Refused
from adjudge.studio.work import people


def test_accounts_are_listed_with_the_way_they_sign_in(file_crowd):
    """People of the desk first; platforms and programs have no password."""
    made = file_crowd()
    made.do(people.arrive, "prolific:abcd")
    made.do(people.join, made.do(people.invite, "judge"), "ann", "hash")
    made.person("lea", "lead")
    listed = accounts.list_accounts(made.store.ledger, 0.0)
    assert [(one.name, one.way) for one in listed] == [
        ("lea", "not yet"),
        ("ann", "password"),
        ("prolific:abcd", "prolific"),
    ]
    with pytest.raises(Refused, match="comes from a platform"):
        made.do(accounts.offer_reset, listed[2].id)
    with pytest.raises(Refused, match="no such person"):
        made.do(accounts.end_sessions, 99, listed[0].id)


def test_a_list_invites_everybody_or_nobody(file_crowd):
    """Lines are names; what cannot be invited is said."""
    made = file_crowd()
    lea = made.person("lea", "lead")
    invited = made.do(accounts.invite_list, lea, "judge", "ann\n\n  bob  lee \n", 7)
    assert invited == [("ann", 1), ("bob lee", 2)]
    with pytest.raises(Refused) as refused:
        made.do(accounts.invite_list, lea, "judge", "cid\nLEA\ncid\nmturk:x\n", 7)
    assert str(refused.value) == (
        "Nobody was invited. Name 2: 'LEA' has an account already. Name 3: 'cid' is in the list twice. "
        "Name 4: Names that begin with prolific: or mturk: are for people from elsewhere."
    )
    for role, names in (("lead", "x"), ("judge", ""), ("judge", "x\n" * 1_001)):
        with pytest.raises(Refused):
            made.do(accounts.invite_list, lea, role, names, 7)
    assert len(made.store.ledger.invitations) == 2
