"""One's own account over HTTP: password, sessions, and the link that sets a new password."""

import re

from adjudge.studio.attempts import RATES
from adjudge.studio.desk import accounts
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import people

OLD, NEW = "correct horse battery", "kopfstein pflaster"
FIREFOX = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}


def joined(site, name="ann", role="judge"):
    """Add somebody with a password, and return their id."""
    from adjudge.studio.access import hash_password

    return site.made.do(people.join, site.made.do(people.invite, role), name, hash_password(OLD))


async def sign_in(client, name="ann", password=OLD):
    """Sign in, and keep the page's word for the forms that follow."""
    answer = await client.post("/sign-in", data={"name": name, "password": password})
    page = await client.get("/account")
    if found := re.search(r'name="csrf" content="([^"]+)"', page.text):
        client.headers["x-csrf"] = found[1]
    return answer


def test_a_copied_cookie_is_worthless_after_signing_out(file_site):
    """Signing out ends the session on the server."""
    site = file_site()
    joined(site)

    async def way():
        async with site.client() as client, site.client() as thief:
            await sign_in(client)
            thief.cookies.set(COOKIE, client.cookies[COOKIE])
            assert (await thief.get("/account")).status_code == 200
            assert (await client.post("/sign-out")).status_code == 303
            assert (await thief.get("/account")).status_code == 303
            assert (await thief.get("/api/state")).status_code == 401

    site.run(way())


def test_a_page_that_carries_its_session_can_be_signed_out(file_site):
    """A platform's worker, whose page sends the session as a token."""
    site = file_site('[prolific]\nenabled = true\nstudies = ["5f0000000000000000000001"]\n')
    params = {"PROLIFIC_PID": "5f00000000000000000000aa", "STUDY_ID": "5f0000000000000000000001"}
    text = site.ask("GET", "/crowd/prolific", params={**params, "SESSION_ID": "5f00000000000000000000bb"}).text
    session = re.search('name="session" content="([^"]+)"', text)[1]
    bearer = {"authorization": f"Bearer {session}"}
    assert site.ask("GET", "/api/state", headers=bearer).status_code == 200
    assert site.ask("GET", "/account", headers=bearer).status_code == 403
    assert site.ask("POST", "/sign-out", headers=bearer).status_code == 303
    assert site.ask("GET", "/api/state", headers=bearer).status_code == 401


def test_a_new_password_needs_the_old_one(file_site):
    """Then this browser goes on, all others are signed out, and the old password is none."""
    site = file_site()
    joined(site)

    async def way():
        async with site.client() as client, site.client() as other:
            await sign_in(client)
            await sign_in(other)
            for current, password, complaint in (
                ("wrong horse battery", NEW, "This is not your current password."),
                (OLD, "short", "The password has 5 characters; use at least 10."),
            ):
                answer = await client.post("/account/password", data={"current": current, "password": password})
                assert (answer.status_code, complaint in answer.text) == (422, True)
            answer = await client.post("/account/password", data={"current": OLD, "password": NEW})
            assert answer.headers["location"] == "/account?done=password"
            assert "The password was changed" in (await client.get("/account?done=password")).text
            assert (await other.get("/account")).headers["location"] == "/sign-in"
            assert (await sign_in(other)).status_code == 401
            assert (await sign_in(other, password=NEW)).status_code == 303

    site.run(way())


def test_somebody_who_found_an_open_browser_cannot_guess_the_password(file_site, monkeypatch):
    """Wrong ones are counted."""
    site = file_site()
    ann = joined(site)
    monkeypatch.setattr("adjudge.studio.web.routes_account.verify_password", lambda hashed, password: False)
    form = {"current": "x", "password": NEW}
    codes = [site.ask("POST", "/account/password", ann, data=form).status_code for _ in range(RATES["session"][0] + 1)]
    assert codes == [422] * RATES["session"][0] + [429]


def test_sessions_are_listed_and_ended(file_site):
    """By family of browser and time; one alone, or all the others."""
    site = file_site()
    joined(site)

    async def way():
        async with site.client() as client, site.client(headers=FIREFOX) as second, site.client() as third:
            for one in (client, second, third):
                await sign_in(one)
            page = (await client.get("/account")).text
            assert page.count('/end"><input') == 3  # two other sessions, and all others
            number = re.search(r"Firefox.*?/account/sessions/(\d+)/end", page, re.DOTALL)[1]
            await client.post(f"/account/sessions/{number}/end")
            assert [(await one.get("/account")).status_code for one in (client, second, third)] == [200, 303, 200]
            await client.post("/account/sessions/end")
            assert [(await one.get("/account")).status_code for one in (client, third)] == [200, 303]
            assert (await client.post("/account/sessions/99/end")).status_code == 403  # the word of the old session

    site.run(way())


def test_a_link_sets_a_new_password_once(file_site):
    """In the person's language; the person is signed in, and the link is used."""
    site = file_site()
    ann = joined(site)
    link = f"/reset/{site.studio.signer.reset(ann, site.made.do(accounts.offer_reset, ann))}"

    async def way():
        async with site.client() as client:
            assert 'value="ann" readonly' in (await client.get(link)).text
            assert "at least 10" in (await client.post(link, data={"password": "short"})).text
            answer = await client.post(link, data={"password": NEW})
            assert (answer.headers["location"], COOKIE in client.cookies) == ("/judge", True)
            assert (await client.post(link, data={"password": OLD})).status_code == 410
            german = await client.get("/reset/forged", headers={"accept-language": "de"})
            assert (german.status_code, "Dieser Link ist ungültig" in german.text) == (404, True)

    site.run(way())
    assert len(site.studio.ledger.people) == 1


def test_a_class_signs_in_behind_one_address(file_site, monkeypatch):
    """A hundred people one after another, though each mistypes once."""
    site = file_site()
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", lambda hashed, password: password == OLD)
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.needs_rehash", lambda hashed: False)
    for n in range(100):
        site.made.person(f"p{n}")

    async def way():
        async with site.client() as client:
            return [
                (await client.post("/sign-in", data={"name": f"p{n}", "password": password})).status_code
                for n in range(100)
                for password in ("typo", OLD)
            ]

    assert site.run(way()) == [401, 303] * 100


def test_strangers_cannot_lock_somebody_out_of_their_browser(file_site, monkeypatch):
    """The browser in which she signed in before is let in at once, another one has to wait."""
    site = file_site()
    joined(site, "lea", "lead")

    async def way():
        async with site.client() as mine, site.client() as stranger:
            await sign_in(mine, "lea")
            await mine.post("/sign-out")
            monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", lambda *_: False)
            while (await sign_in(stranger, "lea", "guess")).status_code != 429:
                pass
            monkeypatch.undo()
            assert (await sign_in(stranger, "lea")).status_code == 429
            assert (await sign_in(mine, "lea")).status_code == 303

    site.run(way())


def test_a_link_works_however_many_forged_ones_come_from_its_address(file_site):
    """One person in a class cannot keep the others from joining, or from setting a password."""
    site = file_site()
    ann = joined(site)
    reset = f"/reset/{site.studio.signer.reset(ann, site.made.do(accounts.offer_reset, ann))}"
    join = f"/join/{site.studio.signer.invitation(site.made.do(people.invite, 'judge'))}"

    async def way():
        async with site.client() as client:
            for forged in ("/reset/forged", "/join/forged"):
                codes = [(await client.post(forged)).status_code for _ in range(RATES["link"][0] + 1)]
                assert (codes[0], codes[-1]) == (404 if "reset" in forged else 429, 429)
            assert (await client.post(reset, data={"password": NEW})).status_code == 303
            assert (await client.post(join, data={"name": "bob", "password": NEW})).status_code == 303

    site.run(way())


def test_one_person_cannot_begin_sessions_without_end(file_site, monkeypatch):
    """Each one is stored; who goes on is refused before the password is checked, and then waits like a guesser."""
    site, checked = file_site(), []
    joined(site)
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", lambda *_: checked.append(1) or True)
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.needs_rehash", lambda hashed: False)

    async def way():
        async with site.client() as client:
            return [(await sign_in(client)).status_code for _ in range(RATES["sessions"][0] + 20)]

    assert site.run(way()) == [303] * RATES["sessions"][0] + [429] * 20
    assert len(checked) == RATES["sessions"][0] + RATES["known browser"][0]


def test_a_password_that_was_changed_while_it_was_checked_is_wrong(file_site, monkeypatch):
    """Otherwise the old password would begin a session that the new one does not end."""
    site = file_site()
    ann = joined(site)

    def slow(hashed, password):
        site.studio.ledger.people[ann].password = "the hash of a new password"
        return True

    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", slow)
    assert site.ask("POST", "/sign-in", data={"name": "ann", "password": OLD}).status_code == 401


def test_cookies_are_sent_over_tls_only_if_the_address_has_it(file_site):
    """Also behind a proxy that --proxies does not name, which the studio reaches without TLS."""
    site = file_site()
    joined(site)
    for address, secure in (("http://judge.example", False), ("https://judge.example", True)):
        site.studio.address = address
        answer = site.ask("POST", "/sign-in", data={"name": "ann", "password": OLD})
        cookies = answer.headers.get_list("set-cookie")
        assert [("Secure" in cookie, "HttpOnly" in cookie) for cookie in cookies] == [(secure, True)] * 2


def test_pages_of_accounts_know_their_host(file_site):
    """With --url they are served under its host only; the rest of the studio does not care."""
    site = file_site()
    lea = site.made.person("lea", "lead")
    site.studio.address, site.studio.hosts = "https://judge.example", ("judge.example",)
    evil = {"host": "evil.example"}
    assert site.ask("GET", "/desk/people", lea, headers=evil).status_code == 421
    assert site.ask("GET", "/account", lea, headers=evil).status_code == 421
    assert site.ask("GET", "/desk/people", lea, headers={"host": "Judge.example"}).status_code == 200
    assert site.ask("GET", "/desk", lea, headers=evil).status_code == 200
