"""The page of people over HTTP: links begin with the studio's address, whatever the Host header says."""

import re

import pytest

from adjudge.studio.work import people


@pytest.fixture
def site(file_site):
    """Return a studio with a lead and a judge, reached at an address of its own."""
    site = file_site()
    site.lea, site.ann = site.made.person("lea", "lead"), site.made.person("ann")
    site.studio.address = "https://judge.example"
    return site


def post(site, path, **data):
    """Send a form of the page of people as the lead."""
    return site.ask("POST", f"/desk/people{path}", site.lea, data=data)


def test_links_begin_with_the_studios_address(site):
    """A forged Host header is nowhere in them."""
    for path, data in (("/invite", {"role": "judge", "name": "", "days": "3"}), (f"/{site.ann}/reset", {})):
        page = site.ask("POST", f"/desk/people{path}", site.lea, data=data, headers={"host": "evil.example"}).text
        assert re.search(r'value="https://judge\.example/(join|reset)/', page)
        assert "evil.example" not in page


def test_a_list_gives_a_table_of_links_that_work(site):
    """One row per name, safe for spreadsheets; a bad list is refused and invites nobody."""
    answer = post(site, "/invite-list", role="judge", names="bob\n=cid\n", days="3")
    head, *rows = answer.text.splitlines()
    assert (head, len(rows)) == ("name,role,link,valid_until", 2)
    assert rows[1].startswith("'=cid,judge,https://judge.example/join/")
    link = rows[0].split(",")[2].removeprefix("https://judge.example")
    assert 'value="bob"' in site.ask("GET", link).text
    refused = post(site, "/invite-list", role="judge", names="ann\n", days="3")
    assert (refused.status_code, "has an account already" in refused.text) == (422, True)


def test_an_invitation_is_withdrawn(site):
    """Its link then says so, and the page too."""
    number = site.made.do(people.invite, "judge", "bob")
    assert f"/invitations/{number}/withdraw" in site.ask("GET", "/desk/people", site.lea).text
    assert post(site, f"/invitations/{number}/withdraw").headers["location"] == "/desk/people?done=withdrawn"
    link = f"/join/{site.studio.signer.invitation(number)}"
    assert (site.ask("GET", link).status_code, "was withdrawn" in site.ask("GET", link).text) == (410, True)
    assert ">withdrawn<" in site.ask("GET", "/desk/people", site.lea).text


def test_a_lead_gives_a_link_and_ends_sessions(site):
    """On the page of the account, which shows how somebody signs in."""
    page = site.ask("GET", f"/desk/people/{site.ann}", site.lea).text
    assert "not yet" in page
    link = re.search(r'value="https://judge.example(/reset/[^"]+)"', post(site, f"/{site.ann}/reset").text)[1]
    assert site.ask("POST", link, data={"password": "kopfstein pflaster"}).headers["location"] == "/judge"
    assert "None is open" not in site.ask("GET", f"/desk/people/{site.ann}", site.lea).text
    post(site, f"/{site.ann}/sessions/end")
    assert "None is open" in site.ask("GET", f"/desk/people/{site.ann}", site.lea).text
    assert site.ask("GET", "/desk/people/99", site.lea).status_code == 404


def test_accounts_are_searched(site):
    """By a part of the name."""
    page = site.ask("GET", "/desk/people", site.lea, params={"find": "LE"}).text
    assert (">lea</a>" in page, ">ann</a>" in page, "1 of 2" in page) == (True, False, True)
