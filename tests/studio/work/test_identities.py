"""People who come in from a provider: known again, by invitation or domain, never into somebody else's account."""

import pytest

from adjudge.studio.records import Refused
from adjudge.studio.work import people
from adjudge.studio.work.identities import come_in


def enter(made, subject, name="Ann", domain="", invitation=None):
    """Let an identity in."""
    return made.do(come_in, subject, name, domain, invitation, ("uni.example",))


def test_an_identity_is_one_person(file_crowd):
    """However its name and address change."""
    made = file_crowd()
    ann = enter(made, "a" * 64, domain="uni.example")
    assert enter(made, "a" * 64, "Other", "") == ann
    assert made.store.ledger.people[ann].name == "Ann"
    assert enter(made, "b" * 64, "ann", "uni.example") != ann


@pytest.mark.parametrize("domain", ["", "evil.example", "sub.uni.example"])
def test_strangers_need_an_invitation(file_crowd, domain):
    """A role comes from an invitation only, and each is used once."""
    made = file_crowd()
    with pytest.raises(Refused, match="ask a lead"):
        enter(made, "a" * 64, domain=domain)
    number = made.do(people.invite, "lead", "Lea", by=None)
    lead = made.store.ledger.people[enter(made, "a" * 64, domain=domain, invitation=number)]
    assert (lead.name, lead.role, lead.openid) == ("Lea", "lead", True)
    with pytest.raises(Refused, match="was used"):
        enter(made, "b" * 64, invitation=number)


@pytest.mark.parametrize("name", ["", "\u202e", "mturk:A1", "x" * 500])
def test_a_name_that_cannot_be_stored_is_replaced(file_crowd, name):
    """Somebody without a usable name is let in all the same."""
    made = file_crowd()
    names = [made.store.ledger.people[enter(made, letter * 64, name, "uni.example")].name for letter in "ab"]
    assert names[1] == f"{names[0]} 2"
