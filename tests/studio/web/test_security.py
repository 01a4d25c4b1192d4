"""Security headers, requests that are refused, and who sends a request."""

import asyncio

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel

from adjudge.studio.access import Signer
from adjudge.studio.desk import decisions as desk
from adjudge.studio.web.security import COOKIE, Headers, frame_origins, page_policy
from adjudge.studio.work import people

HOSTS = ["www.mturk.com", "workersandbox.mturk.com"]


class Word(BaseModel):
    """A body of JSON."""

    word: str


@pytest.fixture
def app():
    """Return a small application behind the middleware."""
    app = FastAPI()

    @app.get("/{path:path}")
    async def page(path: str):
        headers = {"Content-Security-Policy": "sandbox"} if path.startswith("documents") else {}
        return HTMLResponse("<p>page", headers={"Cache-Control": "private, max-age=9", **headers})

    @app.post("/json")
    async def posted(word: Word):
        return {"letters": len(word.word)}

    @app.post("/import")
    async def taken(request: Request):
        return {"bytes": len(await request.body())}

    app.add_middleware(Headers, mturk_hosts=lambda: HOSTS, most_bytes=1_000, path_limits={"/import": 5_000})
    return app


@pytest.fixture
def ask(app):
    """Return a function that asks the application."""

    def ask(method, path, scheme="http", **more):
        async def asked():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url=f"{scheme}://studio") as client:
                return await client.request(method, path, **more)

        return asyncio.run(asked())

    return ask


def test_pages_run_our_own_only_and_are_kept_by_nobody(ask):
    """The policy of the contract, word by word."""
    headers = ask("GET", "/desk").headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "strict-transport-security" not in headers


def test_over_tls_browsers_stay_with_it(ask):
    """For a year."""
    assert ask("GET", "/desk", "https").headers["strict-transport-security"] == "max-age=31536000"


def test_documents_keep_their_own_policy(ask):
    """And may be kept by the browser, as static files may."""
    headers = ask("GET", "/documents/x/0").headers
    assert headers["content-security-policy"] == "sandbox"
    assert headers["cache-control"] == "private, max-age=9"
    assert "x-frame-options" not in headers
    assert ask("GET", "/static/judge.js").headers["cache-control"] == "private, max-age=9"


def test_a_crowds_page_may_be_framed_and_sent_by_its_platform_only(ask):
    """No other page is; and without hosts that one is not, either."""
    headers = ask("GET", "/crowd/mturk?assignmentId=x").headers
    policy = headers["content-security-policy"]
    assert "form-action 'self' https://www.mturk.com https://workersandbox.mturk.com;" in policy
    framed = "frame-ancestors https://www.mturk.com https://workersandbox.mturk.com https://worker.mturk.com"
    assert policy.endswith(framed)
    assert "x-frame-options" not in headers
    assert "mturk" not in ask("GET", "/crowd/mturk/more").headers["content-security-policy"]
    assert page_policy(frame_origins([])).endswith("frame-ancestors 'none'")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://studio"}, 403),
        ({"Origin": "http://studio"}, 200),
        ({"Origin": "https://STUDIO"}, 200),
        ({"Origin": "http://studio.evil.example"}, 403),
        ({"Origin": "http://studio:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer x"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Authorization": "Basic bGVhOng="}, 403),
    ],
)
def test_other_sites_change_nothing(ask, sent, status):
    """By a cookie, that is: who shows a token was not sent by a browser on its own."""
    answer = ask("POST", "/json", json={"word": "abc"}, headers=sent)
    assert answer.status_code == status
    assert "content-security-policy" in answer.headers


def test_other_sites_may_link_here(ask):
    """Reading is no change."""
    assert ask("GET", "/desk", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


def test_a_body_that_says_it_is_too_large_is_not_read(ask):
    """With what can be sent, and the headers of every answer."""
    answer = ask("POST", "/json", json={"word": "a" * 1_000})
    assert answer.status_code == 413
    assert answer.json() == {
        "error": "This is too large: at most 1,000 bytes can be sent at once.",
        "code": "too large",
    }
    assert answer.headers["cache-control"] == "no-store"
    assert ask("POST", "/json", json={"word": "a" * 900}).json() == {"letters": 900}


@pytest.mark.parametrize("path", ["/json", "/import"])
def test_a_body_in_pieces_is_counted(ask, path):
    """However the application reads it, and whatever it makes of a body that breaks off."""

    async def pieces():
        yield b'{"word": "'
        for _ in range(60):
            yield b"a" * 100
        yield b'"}'

    assert ask("POST", path, content=pieces(), headers={"Content-Type": "application/json"}).status_code == 413


def test_some_paths_take_more(ask):
    """Where whole files are sent."""
    assert ask("POST", "/import", content=b"a" * 4_000).json() == {"bytes": 4_000}
    assert ask("POST", "/import", content=b"a" * 6_000).status_code == 413


def test_what_is_not_http_passes():
    """The application's beginning and end are its own."""
    calls = []

    async def inner(scope, receive, send):
        calls.append(scope["type"])

    asyncio.run(Headers(inner)({"type": "lifespan"}, None, None))
    assert calls == ["lifespan"]


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
    place.made.do(people.change_password, place.ann, "hash", "")
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
    monkeypatch.setitem(place.studio.limits._rates, "person", (2, 60.0))
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
