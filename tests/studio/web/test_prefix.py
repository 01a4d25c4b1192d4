"""A campaign that is served below a path: every link, form, redirect, script and cookie stays below it."""

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from adjudge.studio.web.app import create_app
from adjudge.studio.web.bundle import judge_script
from adjudge.studio.work.people import invite

ROOT = "/c/trial"
ADDRESS = re.compile(r"<[^>]*?\s(?:href|src|action|data-live)=\"(?!otpauth:|data:)([^\"#?][^\"]*)\"")
RIGHT = {"name": "Ann", "password": "correct horse battery"}


@pytest.fixture
def prefixed(file_site):
    """Return a studio below a path: mounted in another application, as a server of several campaigns does it."""
    site = file_site()
    site.inner = create_app(site.studio, ROOT)
    site.app = Starlette(routes=[Mount(ROOT, site.inner)])
    return site


async def crawl(client, start):
    """Follow every link of every page from an address on, and return the addresses with their responses."""
    responses, waiting = {}, [start]
    while waiting:
        address = waiting.pop()
        if address.partition("?")[0] in {other.partition("?")[0] for other in responses}:
            continue  # filters of one table have many addresses
        responses[address] = response = await client.get(address)
        if response.is_redirect:
            waiting.append(response.headers["location"])
        elif "text/html" in response.headers["content-type"]:
            waiting += [found.replace("&amp;", "&") for found in ADDRESS.findall(response.text)]
        assert len(responses) < 300
    return responses


async def signed_in(site, role):
    """Return a client who joined with an invitation, through the pages."""
    client = site.client()
    link = ROOT + f"/join/{site.studio.signer.invitation(await site.studio.do(invite, role))}"
    joined = await client.post(link, data={**RIGHT, "name": f"{role}-{len(site.studio.ledger.people)}"})
    assert joined.status_code == 303
    assert joined.headers["location"] in (f"{ROOT}/judge", f"{ROOT}/desk")
    return client


@pytest.mark.parametrize("role", ["judge", "reviewer", "lead"])
def test_every_link_of_every_page_stays_below_the_path(prefixed, role):
    """And leads to something that is there, for each role; forms of other methods are only looked at."""

    async def way():
        client = await signed_in(prefixed, "judge")
        await client.post(f"{ROOT}/api/assignment", json={}, headers={"x-csrf": await page_csrf(client)})
        client = await signed_in(prefixed, role)
        responses = await crawl(client, f"{ROOT}/")
        assert len(responses) > {"judge": 6, "reviewer": 15, "lead": 25}[role]
        for address, response in responses.items():
            assert address.startswith(f"{ROOT}/"), address
            assert response.status_code in (200, 303, 405, 409, 422), (
                address
            )  # forms without their fields, no export yet

    prefixed.run(way())


async def page_csrf(client):
    """Return the CSRF token of the judge's page."""
    return re.search(r'name="csrf" content="([^"]+)"', (await client.get(f"{ROOT}/judge")).text)[1]


def test_a_judge_works_below_the_path(prefixed):
    """Their documents are served there, with the headers of documents; scripts learn the path from the page."""

    async def way():
        client = await signed_in(prefixed, "judge")
        page = await client.get(f"{ROOT}/judge")
        assert f'data-root="{ROOT}"' in page.text
        assert page.headers["cache-control"] == "no-store"
        headers = {"x-csrf": await page_csrf(client)}
        body = (await client.post(f"{ROOT}/api/assignment", json={}, headers=headers)).json()
        document = await client.get(ROOT + body["set"]["documents"][0]["url"])
        assert document.headers["content-security-policy"].startswith("sandbox")
        assert document.headers["cache-control"] == "private, max-age=3600"
        for name in (f"/{judge_script().path}", "/studio.css"):
            served = await client.get(f"{ROOT}/static{name}")
            assert (served.status_code, "no-store" in served.headers.get("cache-control", "")) == (200, False)
        missing = await client.get(f"{ROOT}/static/nothing.js")
        assert (missing.status_code, f'href="{ROOT}/"' in missing.text) == (404, True)

    prefixed.run(way())


def test_scripts_are_answered_in_json_below_the_path(prefixed):
    """A refusal under /api is JSON, and one of a page redirects to the form to sign in."""
    refused = prefixed.ask("GET", f"{ROOT}/api/state")
    assert (refused.status_code, refused.json()["code"]) == (401, "sign in")
    page = prefixed.ask("GET", f"{ROOT}/desk")
    assert (page.status_code, page.headers["location"]) == (303, f"{ROOT}/sign-in")


def test_the_cookie_belongs_to_the_path(prefixed):
    """Its name and its path are the campaign's, so that no other campaign receives or hides it; signing out ends it."""

    async def way():
        client = await signed_in(prefixed, "lead")
        cookies = {(cookie.name, cookie.path) for cookie in client.cookies.jar}
        assert cookies == {("adjudge_session-c-trial", ROOT), ("adjudge_session-c-trial_browser", ROOT)}
        csrf = re.search(r'name="csrf" value="([^"]+)"', (await client.get(f"{ROOT}/desk")).text)[1]
        ended = await client.post(f"{ROOT}/sign-out", data={"csrf": csrf})
        assert ended.headers["location"] == f"{ROOT}/sign-in"
        assert [cookie.name for cookie in client.cookies.jar] == ["adjudge_session-c-trial_browser"]

    prefixed.run(way())


def test_upload_limits_hold_below_the_path(prefixed):
    """Tables may be large where they are uploaded, and nothing else may."""
    content = b"x" * 1_100_000

    async def send():
        client = await signed_in(prefixed, "lead")
        assert (await client.post(f"{ROOT}/api/answers", content=content)).status_code == 413

    prefixed.run(send())
    assert prefixed.ask("POST", f"{ROOT}/api/import", content=content).status_code == 401


def test_links_to_be_sent_have_the_path(prefixed):
    """The invitation that the desk shows works as it is printed."""

    async def way():
        client = await signed_in(prefixed, "lead")
        csrf = re.search(r'name="csrf" value="([^"]+)"', (await client.get(f"{ROOT}/desk")).text)[1]
        page = await client.post(f"{ROOT}/desk/people/invite", data={"csrf": csrf, "role": "judge", "days": "7"})
        link = re.search(rf"{ROOT}/join/[\w.-]+", page.text)[0]
        assert (await client.get(link)).status_code == 200

    prefixed.run(way())


def test_a_proxy_may_keep_or_remove_the_path(file_site):
    """The application answers a request with the path and one without it, and writes links with it in both cases."""
    site = file_site()
    site.app = create_app(site.studio, "/judging")
    for path in ("/judging/sign-in", "/sign-in"):
        page = site.ask("GET", path)
        assert (page.status_code, 'action="/judging/sign-in"' in page.text) == (200, True)
