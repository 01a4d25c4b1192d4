"""Who asks: sessions, the page's word, roles, tokens; and who asks too often."""

import pytest

from adjudge.studio.desk import commands as desk
from adjudge.studio.identity.access import Signer
from adjudge.studio.web.sessions import COOKIE
from adjudge.studio.work import people


@pytest.fixture
def place(file_site):
    """Return a studio with a judge, a lead, and a token that may only read."""
    place = file_site()
    place.ann, place.lea = place.made.person("ann"), place.made.person("lea", "lead")
    place.token = place.made.do(desk.new_api_token, place.lea, "reader", "read")
    return place


def state(place, session, bearer=False):
    """Return how the judge's page is answered with a session, as a cookie or a bearer's."""
    headers = {"authorization": f"Bearer {session}"} if bearer else {"cookie": f"{COOKIE}={session}"}
    return place.ask("GET", "/api/state", headers=headers).status_code


@pytest.mark.parametrize("bearer", [False, True])
def test_a_session_holds_until_it_is_over(place, bearer):
    """Whether a cookie carries it or a page; one that is over, forged, or of nobody is none."""
    now = place.studio.now()
    signer = place.studio.signer
    assert state(place, signer.session(place.ann, 0, 1, now), bearer) == 200
    for session in (
        signer.session(place.ann, 0, 1, now - 3_700),
        signer.session(place.ann, 1, 1, now),
        signer.session(99, 0, 1, now),
        Signer(b"x" * 32).session(place.ann, 0, 1, now),
        signer.invitation(place.ann),
        "nonsense",
        "",
    ):
        assert state(place, session, bearer) == 401, session


def test_a_new_password_ends_sessions(place):
    """Those begun before it, at once."""
    session = place.studio.signer.session(place.ann, 0, 12, place.studio.now())
    assert place.made.store.ledger.people[place.ann].epoch == 0
    place.made.do(people.change_password, place.ann, "hash")
    assert state(place, session) == 401


def test_a_change_needs_the_word_of_this_session(place):
    """None, another session's, or a form's field in its place: refused; a bearer needs none."""
    signer, now = place.studio.signer, place.studio.now()
    session, other = (signer.session(place.ann, 0, 12, now) for _ in range(2))
    cookie = {"cookie": f"{COOKIE}={session}"}
    for word in ({}, {"x-csrf": ""}, {"x-csrf": signer.csrf(other)}):
        answer = place.ask("POST", "/api/assignment", json={}, headers={**cookie, **word})
        assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    for allowed in ({**cookie, "x-csrf": signer.csrf(session)}, {"authorization": f"bearer {session}"}):
        assert place.ask("POST", "/api/assignment", json={}, headers=allowed).status_code == 200


def test_a_role_that_may_not_is_told_so(place):
    """By its name."""
    answer = place.ask("POST", "/api/assignment", place.lea, json={})
    assert (answer.status_code, answer.json()["error"]) == (403, "A lead may not do this.")


def test_who_asks_too_often_is_told_how_long_to_wait(place, monkeypatch):
    """The header says it to programs, the sentence to people; others are not held up."""
    monkeypatch.setitem(place.studio.limits._rates, "judge", (2, 60.0))
    assert [place.ask("GET", "/api/state", place.ann).status_code for _ in range(2)] == [200, 200]
    answer = place.ask("GET", "/api/state", place.ann)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "30")
    assert answer.json()["error"] == "Too many requests. Try again in 30 s."


def test_a_token_is_for_its_scope(place):
    """Reading is not exporting; a session is no token."""
    session = place.studio.signer.session(place.lea, 0, 12, place.studio.now())
    for text, path, status in (
        (place.token, "/api/live", 200),
        (place.token, "/api/export/judgments", 403),
        (session, "/api/live", 401),
        ("adj_nothing", "/api/live", 401),
    ):
        answer = place.ask("GET", path, headers={"authorization": f"Bearer {text}"})
        assert answer.status_code == status, (text[:4], path)
