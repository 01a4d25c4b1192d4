"""The studio under attack: every route by every role, forged requests, replayed invitations, names that are markup."""

import asyncio
import re

import httpx
import pytest
from fastapi.routing import APIRoute

from adjudge.studio.access import Signer
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import create_app
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work.people import invite

OPEN = {"/", "/sign-in", "/sign-out", "/join/{invitation}", "/register", "/crowd/prolific", "/crowd/mturk"}
OPEN |= {"/reset/{link}", "/sign-in/code", "/openid/start", "/openid/callback"}
OPEN |= {"/healthz", "/readyz", "/metrics"}  # for this machine; test_operations.py has the others
OPEN |= {"/api/openapi.json"}  # describes the API, and nothing of the campaign
BY_ADDRESS = {"/documents/{token}/{slot}", "/documents/{token}/{slot}/matches"}  # the address is the right to see it
LEADS = {  # what a reviewer may not
    "/desk/archive",
    "/desk/judges/{person}/standing",
    "/desk/assignments/{assignment}/release",
    "/desk/assignments/{assignment}/approve",
    "/desk/people",
    "/desk/people/invite",
    "/desk/people/invite-list",
    "/desk/people/invitations/{invitation}/withdraw",
    "/desk/people/{person}",
    "/desk/people/{person}/reset",
    "/desk/people/{person}/sessions/end",
    "/desk/people/{person}/second-factor/remove",
    "/desk/people/token",
    "/desk/people/token/{token}/revoke",
    "/desk/prompts",
}
LEAD_POSTS = {"/desk/campaign", "/desk/campaign/topics", "/desk/campaign/gold", "/desk/campaign/documents"}
LEAD_POSTS |= {"/desk/campaign/settings", "/desk/campaign/instructions", "/desk/campaign/history/files"}
LEAD_POSTS |= {"/desk/campaign/history/{number}/restore"}  # whose pages a reviewer may look at
MARKUP = "<img src=x onerror=alert(1)>\"'&"


class Site:
    """A studio that answers in this process."""

    def __init__(self, made):
        self.made = made
        self.studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
        self.app = create_app(self.studio)
        self.people = {role: made.person(f"{role} {MARKUP}", role) for role in ("judge", "reviewer", "lead")}
        self.invitations = [made.do(invite, "judge") for _ in range(2)]
        made.store.start()  # from now on the store is its writer's

    def client(self, role=None, csrf=True):
        """Return a browser of somebody of a role, or of nobody; with the page's word against forgery or without."""
        client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://studio")
        if role:
            epoch = self.studio.ledger.people[self.people[role]].epoch
            session = self.studio.signer.session(self.people[role], epoch, 12, self.studio.now())
            client.cookies.set(COOKIE, session)
            if csrf:
                client.headers["x-csrf"] = self.studio.signer.csrf(session)
        return client

    def ask(self, method, path, role=None, csrf=True, **more):
        """Ask once."""

        async def asked():
            async with self.client(role, csrf) as client:
                if role and csrf and method == "POST" and path.startswith("/desk"):
                    more.setdefault("data", {"csrf": client.headers["x-csrf"]})
                return await client.request(method, path, **more)

        return asyncio.run(asked())

    def routes(self):
        """Return every route of the application, as method, template, and an address of it."""
        for route in self._all(self.app.routes):
            for method in route.methods - {"HEAD"}:
                yield method, route.path, re.sub(r"\{[^}]*\}", "1", route.path)

    def _all(self, routes):
        """Return routes, those of included routers too."""
        for route in routes:
            if isinstance(route, APIRoute):
                yield route
            elif inner := getattr(route, "original_router", None):
                yield from self._all(inner.routes)


@pytest.fixture
def site(crowd):
    """Return a studio with one person of each role, whose names are markup."""
    return Site(crowd("[qualification]\nrequired = false\n"))


def test_strangers_get_nowhere(site):
    """Every route but the doors asks who it is; and there are routes at all."""
    result = [row for row in site.routes() if row[1] not in OPEN | BY_ADDRESS]
    assert len(result) > 30
    for method, template, path in result:
        answer = site.ask(method, path)
        assert answer.status_code in (401, 303, 422), (method, template, answer.status_code)
        assert answer.status_code != 303 or answer.headers["location"] == "/sign-in", template
        assert answer.status_code != 422 or method == "POST", template


@pytest.mark.parametrize("role", ["judge", "reviewer"])
def test_roles_stay_in_their_rooms(site, role):
    """Judges never reach the desk; reviewers reach neither the judges' side nor what is the lead's."""
    for method, template, path in site.routes():
        desk = template.startswith("/desk")
        posts = LEAD_POSTS if method == "POST" else set()
        barred = desk if role == "judge" else template in LEADS | posts or template == "/judge"
        if barred:
            answer = site.ask(method, path, role)
            assert answer.status_code in (403, 422), (method, template, answer.status_code)


def test_no_change_without_the_pages_word(site):
    """Every desk route that changes something refuses a cookie alone, and one with another session's word."""
    changing = [
        row for row in site.routes() if row[0] == "POST" and row[1].startswith("/desk") and "data" not in row[1]
    ]
    assert len(changing) > 6
    for method, template, path in changing:
        assert site.ask(method, path, "lead", csrf=False).status_code == 403, template
        wrong = {"csrf": site.studio.signer.csrf("another session")}
        assert site.ask(method, path, "lead", csrf=False, data=wrong).status_code == 403, template
    assert site.ask("POST", "/desk/data", "lead", csrf=False, files={"file": b"x"}).status_code == 403
    assert site.ask("POST", "/api/assignment", "judge", csrf=False, json={}).status_code == 403


def test_other_sites_are_refused_at_the_doors_too(site):
    """Nobody can be signed in by another site's form."""
    for path in ("/sign-in", "/register", "/join/x"):
        assert site.ask("POST", path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_programs_need_a_token_and_its_scope(site):
    """A session, or a judge's, is none."""
    for path in ("/api/export/judgments", "/api/live", "/api/v1/judgments", "/api/v1/people", "/api/v1/events"):
        assert site.ask("GET", path, "lead").status_code == 401
        assert site.ask("GET", path, headers={"Authorization": "Bearer adj_forged"}).status_code == 401


def test_an_invitation_is_for_once(site):
    """Replayed or forged it lets nobody in, and it gives no other role than its own."""
    link = f"/join/{site.studio.signer.invitation(site.invitations[0])}"
    result = {"name": "eve", "password": "kopfstein pflaster", "role": "lead"}
    first = site.ask("POST", link, data=result)
    assert (first.status_code, first.headers["location"]) == (303, "/judge")
    assert "HttpOnly" in first.headers["set-cookie"]
    assert site.ask("POST", link, data={**result, "name": "eve two"}).status_code in (410, 422)
    assert "eve two" not in site.studio.ledger.named
    assert site.ask("GET", "/join/1").status_code == 404
    assert site.ask("GET", f"/join/{site.studio.signer.prompt_id(1)}").status_code == 404


def test_a_session_brought_along_is_not_kept(site):
    """Who signs in has a new session, whatever cookie was planted before."""
    link = f"/join/{site.studio.signer.invitation(site.invitations[0])}"
    planted = site.studio.signer.session(site.people["judge"], 0, 12, site.studio.now())
    result = {"name": "eve", "password": "kopfstein pflaster"}
    answer = site.ask("POST", link, data=result, headers={"Cookie": f"{COOKIE}={planted}"})
    assert planted not in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "path", ["/documents/../../key/0", "/documents/%2e%2e%2fkey/0", "/documents/x/-1", "/documents/x/0"]
)
def test_documents_are_found_by_marks_only(site, path):
    """No path leads out, and what is unknown tells nothing."""
    assert site.ask("GET", f"/documents/{path}").status_code in (404, 422)
    assert site.ask("GET", "/static/..%2f..%2faccess.py").status_code == 404


def test_names_that_are_markup_are_text(site):
    """On every page that shows them."""
    observed = 0
    for method, template, path in site.routes():
        if method == "GET" and template.startswith("/desk") and "{" not in template:
            text = site.ask("GET", path, "lead").text
            assert "<img src=x" not in text, template
            observed += "&lt;img src=x" in text
    assert observed >= 2
    assert "<img src=x" not in site.ask("POST", "/sign-in", data={"name": MARKUP, "password": "x"}).text


def test_large_bodies_are_refused(site):
    """Whoever sends them."""
    assert site.ask("POST", "/api/answers", "judge", content=b"x" * 1_100_000).status_code == 413


def test_nothing_says_which_sets_are_gold(site):
    """No word of grades, uses or names of sets before the end."""
    result = site.ask("POST", "/api/assignment", "judge", json={})
    assert result.status_code == 200
    keys = set(re.findall(r'"(\w+)":', result.text))
    assert not keys & {"use", "name", "grade", "gold", "reason", "right", "document", "item", "id"}
    assert "gold" not in result.text
