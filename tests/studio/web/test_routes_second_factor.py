"""The second factor over HTTP: set up with a code, then asked for at every sign-in."""

import re

import pyotp
import pytest

from adjudge.studio.access import hash_password
from adjudge.studio.attempts import RATES
from adjudge.studio.record.store import Clock
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import people

PASSWORD = "correct horse battery"


@pytest.fixture
def site(file_site):
    """Return a maker of studios with a lead who has a password."""

    def make(settings=""):
        site = file_site(settings)
        hashed = hash_password(PASSWORD)
        site.lea = site.made.do(people.join, site.made.do(people.invite, "lead"), "lea", hashed)
        return site

    return make


async def set_up(client):
    """Set the second factor up as a browser does, and return the app and the recovery codes."""
    text = (await client.get("/account/second-factor")).text
    app = pyotp.TOTP(re.search(r"<code>([A-Z2-7]{32})</code>", text)[1])
    form = {"signed": re.search(r'name="signed" value="([^"]+)"', text)[1], "password": PASSWORD}
    for wrong in ({"code": "000000"}, {"code": "1", "password": "wrong horse battery"}, {"signed": "forged"}):
        assert (await client.post("/account/second-factor", data={**form, "code": "0", **wrong})).status_code == 422
    form["code"] = app.at(2_000_000_000)  # the studio's clock in tests
    done = await client.post("/account/second-factor", data=form)
    return app, re.findall(r"<code>([A-Z2-7-]{19})</code>", done.text)


async def first_step(client):
    """Give the right password, and return the proof that the next form carries."""
    answer = await client.post("/sign-in", data={"name": "lea", "password": PASSWORD})
    assert (answer.status_code, COOKIE in answer.cookies) == (200, False)
    return re.search(r'name="step" value="([^"]+)"', answer.text)[1]


def test_signing_in_needs_a_code_that_is_valid_once(site):
    """After the password; a recovery code does as well, once."""
    site = site()

    async def way():
        async with site.client(site.lea) as client, site.client() as other:
            app, recovery = await set_up(client)
            assert len(recovery) == 10
            assert "Recovery codes that are left: 10" in (await client.get("/account/second-factor")).text
            site.made.time[0] += 30
            code = app.at(int(site.made.time[0]))
            for text, status in (("000000", 401), (code, 303), (code, 401), (recovery[0], 303), (recovery[0], 401)):
                other.cookies.clear()
                answer = await other.post("/sign-in/code", data={"step": await first_step(other), "code": text})
                assert (answer.status_code, COOKIE in answer.cookies) == (status, status == 303), text

    site.run(way())


def test_the_code_alone_is_not_enough(site):
    """A forged, foreign or old proof of the password sends back to the form."""
    site = site()

    async def way():
        async with site.client(site.lea) as client, site.client() as other:
            app, _ = await set_up(client)
            proof = await first_step(other)
            site.made.time[0] += 400
            code = app.at(int(site.made.time[0]))
            for step in ("", "forged", proof, site.studio.signer.session(site.lea, 1, 12, 2e9)):
                answer = await other.post("/sign-in/code", data={"step": step, "code": code})
                assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")

    site.run(way())


def test_codes_are_not_guessed(site):
    """Ten wrong ones, then one must wait, though the password is right each time."""
    site = site()

    async def way():
        async with site.client(site.lea) as client, site.client() as other:
            await set_up(client)
            proof = await first_step(other)
            form = {"step": proof, "code": "123456"}
            return [(await other.post("/sign-in/code", data=form)).status_code for _ in range(RATES["code"][0] + 1)]

    assert site.run(way()) == [401] * RATES["code"][0] + [429]


def test_the_password_without_the_code_is_a_failure(site, monkeypatch):
    """Whoever has the password alone cannot let the studio check it without end; with the code it is none."""
    site = site()
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", lambda *_: True)
    most = RATES["account"][0]

    async def way():
        async with site.client(site.lea) as client:
            app, _ = await set_up(client)
            for _ in range(most + 10):
                site.made.time[0] += 30
                async with site.client() as other:
                    form = {"step": await first_step(other), "code": app.at(int(site.made.time[0]))}
                    assert (await other.post("/sign-in/code", data=form)).status_code == 303
            async with site.client() as other:
                form = {"name": "lea", "password": PASSWORD}
                return [(await other.post("/sign-in", data=form)).status_code for _ in range(most + 1)]

    assert site.run(way()) == [200] * most + [429]


def test_codes_follow_the_clock_of_the_machine(site):
    """The studio's own clock does not jump when that of the machine is set right, and apps agree with the latter."""
    site, wall = site(), [2e9]
    site.made.store.clock = Clock(wall=lambda: wall[0], steady=lambda: 0.0)
    wall[0] += 3_600

    async def way():
        async with site.client(site.lea) as client, site.client() as other:
            text = (await client.get("/account/second-factor")).text
            app = pyotp.TOTP(re.search(r"<code>([A-Z2-7]{32})</code>", text)[1])
            signed = re.search(r'name="signed" value="([^"]+)"', text)[1]
            form = {"signed": signed, "password": PASSWORD, "code": app.at(int(wall[0]))}
            assert (await client.post("/account/second-factor", data=form)).status_code == 200
            wall[0] += 30
            form = {"step": await first_step(other), "code": app.at(int(wall[0]))}
            assert (await other.post("/sign-in/code", data=form)).status_code == 303

    site.run(way())


def test_a_campaign_may_require_it_of_its_desk(site):
    """Leads and reviewers then reach nothing but their account until they have one."""
    site = site('[access]\nsecond_factor = "required"\n')

    async def way():
        async with site.client(site.lea) as client:
            for path in ("/desk", "/desk/people", "/desk/data/judgments"):
                assert (await client.get(path)).headers["location"] == "/account/second-factor"
            assert "requires a second factor" in (await client.get("/account/second-factor")).text
            await set_up(client)
            assert (await client.get("/desk")).status_code == 200

    site.run(way())


def test_a_lead_removes_the_factor_of_another(site):
    """Who then signs in by the password alone; one's own needs the password."""
    site = site()
    rex = site.made.person("rex", "lead")

    async def way():
        async with site.client(site.lea) as client, site.client(rex) as other:
            await set_up(client)
            wrong = await client.post("/account/second-factor/remove", data={"password": "wrong horse battery"})
            assert wrong.status_code == 422
            assert "and a second factor" in (await other.get(f"/desk/people/{site.lea}")).text
            csrf = {"csrf": other.headers["x-csrf"]}
            own = await client.post(f"/desk/people/{site.lea}/second-factor/remove")
            assert (own.status_code, "on the page of your account" in own.text) == (409, True)
            answer = await other.post(f"/desk/people/{site.lea}/second-factor/remove", data=csrf)
            assert answer.headers["location"] == f"/desk/people/{site.lea}?done=factor"
            signed_in = await other.post("/sign-in", data={"name": "lea", "password": PASSWORD})
            assert signed_in.status_code == 303

    site.run(way())


def test_judges_have_none(site):
    """Nor do people without a password."""
    site = site()
    assert site.ask("GET", "/account/second-factor", site.made.person("ann")).status_code == 403
    assert site.ask("GET", "/account/second-factor", site.made.person("rea", "reviewer")).status_code == 403
