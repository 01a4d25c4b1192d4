"""Judges from crowdsourcing platforms: who arrives, and how the code gets back."""

import pytest

from adjudge.studio.platforms import (
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
from adjudge.studio.records import Refused
from adjudge.studio.settings import Mturk, Prolific, Settings

PROLIFIC = Prolific(enabled=True, studies=("5fstudy", "60study"), completion_code="C1ABC")
MTURK = Mturk(enabled=True)
CAME = {"PROLIFIC_PID": "5f1cworker", "STUDY_ID": "5fstudy", "SESSION_ID": "61session"}
TURKED = {
    "assignmentId": "3ASSIGN",
    "hitId": "3HIT",
    "workerId": "A1WORKER",
    "turkSubmitTo": "https://workersandbox.mturk.com",
}


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
    for stored in ("", "nonsense", "[1]", '{"x":1}'):
        assert completion_return(stored, "ABCD", settings) == {"back": "", "post": None}


def test_a_binding_fits_a_session():
    """The longest ids there may be still make a session that can be read."""
    from adjudge.studio.access import Signer

    longest = {**TURKED, "workerId": "W" * 64, "assignmentId": "A" * 64, "hitId": "H" * 64}
    bound = format_arrival(mturk_arrival(longest, MTURK))
    signer = Signer(bytes(32))
    assert signer.read_session(signer.session(10**9, 10**6, 12, 1.8e9, bound), 1.8e9).bound == bound
