import pytest

from adjudge.studio.record import schema as s
from adjudge.studio.records import Refused
from adjudge.studio.work import people as p


def test_an_invitation_is_used_once(file_crowd):
    """Who joins has the role that was offered; the second to come is told so."""
    created = file_crowd()
    number = created.do(p.invite, "reviewer", "Rea")
    person = created.do(p.join, number, "Rea", "hash")
    assert created.store.ledger.people[person].role == "reviewer"
    with pytest.raises(Refused, match="was used"):
        created.do(p.join, number, "Eve", "hash")


def test_invitations_run_out(file_crowd):
    """After its days an invitation is no longer good."""
    created = file_crowd()
    number = created.do(p.invite, "judge", days=14)
    created.time[0] += 15 * 86_400
    with pytest.raises(Refused, match="has run out"):
        created.do(p.join, number, "ann", "hash")


@pytest.mark.parametrize("number", [None, 77])
def test_forged_invitations_are_none(file_crowd, number):
    """A number that nobody was given opens nothing."""
    with pytest.raises(Refused, match="not an invitation of ours"):
        file_crowd().do(p.join, number, "ann", "hash")


def test_a_name_is_one_persons(file_crowd):
    """However it is written, a name is taken once."""
    created = file_crowd()
    created.do(p.join, created.do(p.invite, "judge"), "Ann", "hash")
    with pytest.raises(Refused, match="is taken"):
        created.do(p.join, created.do(p.invite, "judge"), "aNN", "hash")


@pytest.mark.parametrize(("typed", "kept"), [("  Ann   Lee ", "Ann Lee"), ("\uff21nn", "Ann")])
def test_names_are_kept_plain(typed, kept):
    """Blanks and look-alikes do not make another person."""
    assert p.clean_name(typed) == kept


@pytest.mark.parametrize("typed", ["Ann Lee", " ann   LEE ", "\uff21nn\u3000Lee", "ann\tlee"])
def test_a_person_is_known_however_the_name_is_typed(file_crowd, typed):
    """What a name is looked up and counted by is one, of all the ways to type it."""
    created = file_crowd()
    person = created.do(p.join, created.do(p.invite, "judge"), p.clean_name("Ann Lee"), "hash")
    assert created.store.ledger.named[p.name_key(typed)] == person


@pytest.mark.parametrize("typed", ["", "   ", "x" * 101, "a\u202eb", "a\x00b"])
def test_names_that_cannot_be_read_are_refused(typed):
    """A name can be printed, and is neither empty nor endless."""
    with pytest.raises(Refused, match="1 to 100 characters"):
        p.clean_name(typed)


@pytest.mark.parametrize("typed", ["mturk:A1B2", "Prolific:x"])
def test_names_from_elsewhere_are_reserved(typed):
    """Nobody takes the name under which a crowd's worker will come."""
    with pytest.raises(Refused, match="people from elsewhere"):
        p.clean_name(typed)


def test_registering_is_off_unless_the_campaign_says_so(file_crowd):
    """Uninvited people come in only where the settings let them."""
    with pytest.raises(Refused, match="by invitation only"):
        file_crowd().do(p.register, "eve", "hash")
    created = file_crowd("[access]\nregistration = true\n")
    assert created.store.ledger.people[created.do(p.register, "eve", "hash")].role == "judge"


def test_a_crowds_people_are_known_again(file_crowd):
    """The same worker is the same person."""
    created = file_crowd()
    assert created.do(p.arrive, "prolific:abcd") == created.do(p.arrive, "prolific:abcd")
    assert len(created.store.ledger.people) == 1


def test_a_new_password_ends_old_sessions(file_crowd):
    """Sessions begun before it carry an older epoch."""
    created = file_crowd()
    person = created.do(p.join, created.do(p.invite, "judge"), "ann", "hash")
    before = created.store.ledger.people[person].epoch
    with pytest.raises(Refused, match="changed in the meantime"):
        created.do(p.change_password, person, "other", "the hash of an earlier password")
    created.do(p.change_password, person, "other", "hash")
    after = created.store.ledger.people[person]
    assert (after.password, after.epoch) == ("other", before + 1)


def test_what_people_do_is_on_the_record(file_crowd):
    """Inviting and joining are entries of the audit log."""
    created = file_crowd()
    created.do(p.join, created.do(p.invite, "judge"), "ann", "hash")
    with created.store.reading() as connection:
        deeds = [row.what for row in connection.execute(s.audit.select().order_by(s.audit.c.id))]
    assert deeds == ["campaign identified", "items added", "invited", "joined"]


def test_a_withdrawn_invitation_admits_nobody(file_crowd):
    """An open one can be withdrawn, a used one cannot."""
    created = file_crowd()
    lea = created.person("lea", "lead")
    number, used = created.do(p.invite, "judge"), created.do(p.invite, "judge")
    created.do(p.join, used, "ann", "hash")
    created.do(p.withdraw, number, lea)
    with pytest.raises(Refused, match="was withdrawn"):
        created.do(p.join, number, "bob", "hash")
    with pytest.raises(Refused, match="was used"):
        created.do(p.withdraw, used, lea)


def test_nobody_has_two_links(file_crowd):
    """Another invitation of a name, alone or on a list, withdraws the open one; those without a name stay."""
    created = file_crowd()
    lea = created.person("lea", "lead")
    first = created.do(p.invite, "judge", "Bob Lee", by=lea)
    nameless = [created.do(p.invite, "judge", by=lea) for _ in range(2)]
    second = created.do(p.invite, "judge", " bob  LEE", by=lea)
    third, _ = created.do(p.invite_all, "judge", ["bob lee", "cid"], 3, lea)
    for number in (first, second):
        with pytest.raises(Refused, match="was withdrawn"):
            p.open_invitation(created.store.ledger, created.time[0], number)
    for number in (*nameless, third):
        assert p.open_invitation(created.store.ledger, created.time[0], number)["id"] == number


def test_the_command_line_has_one_open_invitation_of_a_lead(file_crowd):
    """A new one withdraws those before it, and no invitation of anybody else."""
    created = file_crowd()
    lea = created.person("lea", "lead")
    by_lea, judge, first = (
        created.do(p.invite, "lead", by=lea),
        created.do(p.invite, "judge"),
        created.do(p.invite, "lead"),
    )
    second = created.do(p.invite, "lead")
    assert created.store.ledger.withdrawn == {first}
    for number in (by_lea, judge, second):
        p.open_invitation(created.store.ledger, created.time[0], number)
