"""How people come in: by invitation, by registration, from a platform."""

import pytest

from adjudge.studio.record import schema as s
from adjudge.studio.records import Refused
from adjudge.studio.settings import Mturk, Prolific, Settings
from adjudge.studio.work import people as p
from adjudge.studio.work.people import (
    Arrival,
    Preview,
    completion_return,
    format_arrival,
    mturk_arrival,
    mturk_form,
    parse_arrival,
    prolific_arrival,
    prolific_return_url,
)

PROLIFIC = Prolific(enabled=True, studies=("5fstudy", "60study"), completion_code="C1ABC")
MTURK = Mturk(enabled=True)
CAME = {"PROLIFIC_PID": "5f1cworker", "STUDY_ID": "5fstudy", "SESSION_ID": "61session"}
TURKED = {
    "assignmentId": "3ASSIGN",
    "hitId": "3HIT",
    "workerId": "A1WORKER",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


def test_an_invitation_is_used_once(file_crowd):
    """Who joins has the role that was offered; the second to come is told so."""
    made = file_crowd()
    number = made.do(p.invite, "reviewer", "Rea")
    person = made.do(p.join, number, "Rea", "hash")
    assert made.store.ledger.people[person].role == "reviewer"
    with pytest.raises(Refused, match="was used"):
        made.do(p.join, number, "Eve", "hash")


def test_invitations_run_out(file_crowd):
    """After its days an invitation is no longer good."""
    made = file_crowd()
    number = made.do(p.invite, "judge", days=14)
    made.time[0] += 15 * 86_400
    with pytest.raises(Refused, match="has run out"):
        made.do(p.join, number, "ann", "hash")


@pytest.mark.parametrize("number", [None, 77])
def test_forged_invitations_are_none(file_crowd, number):
    """A number that nobody was given opens nothing."""
    with pytest.raises(Refused, match="not an invitation of ours"):
        file_crowd().do(p.join, number, "ann", "hash")


def test_a_name_is_one_persons(file_crowd):
    """However it is written, a name is taken once."""
    made = file_crowd()
    made.do(p.join, made.do(p.invite, "judge"), "Ann", "hash")
    with pytest.raises(Refused, match="is taken"):
        made.do(p.join, made.do(p.invite, "judge"), "aNN", "hash")


@pytest.mark.parametrize(("typed", "kept"), [("  Ann   Lee ", "Ann Lee"), ("\uff21nn", "Ann")])
def test_names_are_kept_plain(typed, kept):
    """Blanks and look-alikes do not make another person."""
    assert p.clean_name(typed) == kept


@pytest.mark.parametrize("typed", ["Ann Lee", " ann   LEE ", "\uff21nn\u3000Lee", "ann\tlee"])
def test_a_person_is_known_however_the_name_is_typed(file_crowd, typed):
    """What a name is looked up and counted by is one, of all the ways to type it."""
    made = file_crowd()
    person = made.do(p.join, made.do(p.invite, "judge"), p.clean_name("Ann Lee"), "hash")
    assert made.store.ledger.named[p.name_key(typed)] == person


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
    made = file_crowd("[access]\nregistration = true\n")
    assert made.store.ledger.people[made.do(p.register, "eve", "hash")].role == "judge"


def test_a_crowds_people_are_known_again(file_crowd):
    """The same worker is the same person."""
    made = file_crowd()
    assert made.do(p.arrive, "prolific:abcd") == made.do(p.arrive, "prolific:abcd")
    assert len(made.store.ledger.people) == 1


def test_a_new_password_ends_old_sessions(file_crowd):
    """Sessions begun before it carry an older epoch."""
    made = file_crowd()
    person = made.do(p.join, made.do(p.invite, "judge"), "ann", "hash")
    before = made.store.ledger.people[person].epoch
    made.do(p.change_password, person, "other")
    after = made.store.ledger.people[person]
    assert (after.password, after.epoch) == ("other", before + 1)


def test_what_people_do_is_on_the_record(file_crowd):
    """Inviting and joining are entries of the audit log."""
    made = file_crowd()
    made.do(p.join, made.do(p.invite, "judge"), "ann", "hash")
    with made.store.reading() as connection:
        deeds = [row.what for row in connection.execute(s.audit.select().order_by(s.audit.c.id))]
    assert deeds == ["items added", "invited", "joined"]


def test_prolific_says_who_comes():
    """And for which study, in which session."""
    assert prolific_arrival(CAME, PROLIFIC) == Arrival("prolific:5f1cworker", "prolific", "61session", "5fstudy")


@pytest.mark.parametrize("name", list(CAME))
@pytest.mark.parametrize("text", ["", "abc", "a" * 65, "a b c d", "../../x", "5f1c\n", "<b>bold", "äöüß", "{{%X%}}"])
def test_malformed_ids_are_refused(name, text):
    """Letters and digits of a bounded length, nothing else, and the parameter is named where it is one of a shape."""
    with pytest.raises(Refused) as refused:
        prolific_arrival({**CAME, name: text}, PROLIFIC)
    assert refused.value.status == 422
    assert str(refused.value) == f"{name} is missing or malformed, expected 4 to 64 letters and digits."
    assert text.strip() == "" or text not in str(refused.value)


def test_nobody_comes_where_nobody_is_expected():
    """Crowds are off by default, and a study must be listed."""
    with pytest.raises(Refused, match="does not accept judges from Prolific"):
        prolific_arrival(CAME, Prolific(studies=("5fstudy",)))
    with pytest.raises(Refused, match=r"add it to prolific\.studies"):
        prolific_arrival({**CAME, "STUDY_ID": "otherstudy"}, PROLIFIC)
    with pytest.raises(Refused, match="This study does not belong to the campaign"):
        prolific_arrival(CAME, Prolific(enabled=True, studies=("60study",)))
    with pytest.raises(Refused, match="does not accept judges from Mechanical Turk"):
        mturk_arrival(TURKED, Mturk())


def test_the_way_back_to_prolific():
    """With the study's code or, where it has none, the assignment's own; other parameters of the address stay."""
    assert prolific_return_url("ABCD-EFGH", PROLIFIC) == "https://app.prolific.com/submissions/complete?cc=C1ABC"
    own = Prolific(completion_url="https://crowd.example/done?x=1")
    assert prolific_return_url("ABCD-EFGH", own) == "https://crowd.example/done?x=1&cc=ABCD-EFGH"
    assert prolific_return_url("a&b=c", own).endswith("&cc=a%26b%3Dc")


def test_mturk_says_who_comes():
    """For which assignment, and where the form will go."""
    came = mturk_arrival(TURKED, MTURK)
    assert came == Arrival("mturk:A1WORKER", "mturk", "3ASSIGN", "3HIT", "https://workersandbox.mturk.com")


def test_a_preview_is_nobody():
    """Even if a worker is named with it."""
    preview = {**TURKED, "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}
    assert mturk_arrival(preview, MTURK) == Preview("3HIT")
    assert mturk_arrival({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, MTURK) == Preview("")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://www.mturk.com",
        "https://www.mturk.com.evil.example",
        "https://evil.example/www.mturk.com",
        "https://evilwww.mturk.com",
        "https://www.mturk.com@evil.example",
        "https://www.mturk.com:pass@evil.example",
        "https://www.mturk.com:8443",
        "https://www.mturk.com/path",
        "https://www.mturk.com?x",
        "https://www.mturk.com#x",
        "https://www.mturk.com\\@evil.example",
        "https://www.mturk.com\n",
        " https://www.mturk.com",
        "//www.mturk.com",
        "javascript:alert(1)//https://www.mturk.com",
    ],
)
def test_forms_go_to_listed_hosts_only(address):
    """Exactly those: no suffix, no user, no port, no path."""
    with pytest.raises(Refused, match="turkSubmitTo is not one of the hosts"):
        mturk_arrival({**TURKED, "turkSubmitTo": address}, MTURK)


def test_a_final_slash_is_no_path():
    """Platforms write their address with one or without."""
    assert (
        mturk_arrival({**TURKED, "turkSubmitTo": "https://www.mturk.com/"}, MTURK).submit_to == "https://www.mturk.com"
    )


def test_the_form_that_ends_an_assignment():
    """Carries the assignment's id and the code, which no other field can replace."""
    form = mturk_form(mturk_arrival(TURKED, MTURK), "ABCD", MTURK, {"code": "forged", "more": "1"})
    assert form["url"] == "https://workersandbox.mturk.com/mturk/externalSubmit"
    assert form["fields"] == {"more": "1", "assignmentId": "3ASSIGN", "code": "ABCD"}
    with pytest.raises(Refused):
        mturk_form(mturk_arrival(TURKED, MTURK), "ABCD", Mturk(enabled=True, submit_hosts=("www.mturk.com",)))


def test_what_is_kept_with_an_assignment_finds_the_way_back():
    """For either crowd; a judge of our own goes nowhere."""
    settings = Settings(prolific=PROLIFIC, mturk=MTURK)
    came = prolific_arrival(CAME, PROLIFIC)
    assert parse_arrival(format_arrival(came)) == came
    assert completion_return(format_arrival(came), "ABCD", settings) == {
        "back": prolific_return_url("ABCD", PROLIFIC),
        "post": None,
    }
    turked = mturk_arrival(TURKED, MTURK)
    assert completion_return(format_arrival(turked), "ABCD", settings) == {
        "back": "",
        "post": mturk_form(turked, "ABCD", MTURK),
    }
    for kept in ("", "nonsense", "[1]", '{"x":1}'):
        assert completion_return(kept, "ABCD", settings) == {"back": "", "post": None}


def test_a_binding_fits_a_session():
    """The longest ids there may be still make a session that can be read."""
    from adjudge.studio.access import Signer

    longest = {**TURKED, "workerId": "W" * 64, "assignmentId": "A" * 64, "hitId": "H" * 64}
    bound = format_arrival(mturk_arrival(longest, MTURK))
    signer = Signer(bytes(32))
    assert signer.read_session(signer.session(10**9, 10**6, 12, 1.8e9, bound), 1.8e9).bound == bound
