"""Signing in over HTTP: who is let in, who has to wait, and what the pages say."""

import re

import pytest

from adjudge.studio.access import DEFAULT_RATES
from adjudge.studio.attempts import RATES
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import people

RIGHT = "correct horse battery"
GERMAN = {"accept-language": "de-AT,de;q=0.9,en;q=0.5"}
OPEN = "[access]\nregistration = true\n"


def invited(site, **more):
    """Return the link of a new invitation."""
    return f"/join/{site.studio.signer.invitation(site.made.do(people.invite, 'judge', **more))}"


def told(answer):
    """Return what a page complains of."""
    return re.findall(r'role="alert"[^>]*>([^<]+)<', answer.text)


def test_a_name_has_one_bucket_however_it_is_typed(file_site, monkeypatch):
    """Blanks, capitals and wide letters give no more tries at one account than it has."""
    site = file_site()
    site.made.person("lea")
    monkeypatch.setattr("adjudge.studio.web.routes_sign_in.verify_password", lambda hashed, password: False)
    typed = ("lea", " lea", "lea  ", "LEA", "\uff4cea", "\u3000lea\t")

    async def way():
        async with site.client() as client:
            form = {"password": "wrong horse battery"}
            tries = [{**form, "name": typed[n % len(typed)]} for n in range(RATES["account"][0] + 1)]
            return [(await client.post("/sign-in", data=one)).status_code for one in tries]

    answers = site.run(way())
    assert set(answers[:-1]) == {401}
    assert answers[-1] == 429


def test_people_without_a_password_cost_as_much_as_others(file_site, monkeypatch):
    """Somebody from a crowd, somebody with a password and nobody: each is verified once, and none comes in."""
    site = file_site()
    site.made.person("crowd")
    link = invited(site)
    calls = []

    def verify(hashed, password):
        calls.append(hashed)
        return False

    async def way():
        async with site.client() as client:
            await client.post(link, data={"name": "ann", "password": RIGHT})
        monkeypatch.setattr("adjudge.studio.access.PasswordHasher.verify", lambda self, *two: verify(*two))
        async with site.client() as client:
            for name in ("ann", "crowd", "nobody"):
                answer = await client.post("/sign-in", data={"name": name, "password": RIGHT})
                assert answer.status_code == 401

    site.run(way())
    assert [hashed.startswith("$argon2id$") for hashed in calls] == [True] * 3


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ({"name": "eve", "password": "kurz"}, "Das Passwort hat 4 Zeichen; nehmen Sie mindestens 10."),
        ({"name": "eve", "password": "x" * 290}, "Das Passwort hat 290 Zeichen; nehmen Sie höchstens 256."),
        (
            {"name": "rosa luxemburg", "password": "rosa luxemburg"},
            "Das Passwort ist fast derselbe Text wie der Name; bitte nehmen Sie ein anderes.",
        ),
        (
            {"name": "eve", "password": "qwertzuiop"},
            "Das Passwort ist zu leicht zu erraten; bitte nehmen Sie ein anderes.",
        ),
        ({"name": "Ann ", "password": RIGHT}, "Der Name Ann ist vergeben: Bitte wählen Sie einen anderen."),
        ({"name": "a\x01b", "password": RIGHT}, "Ein Name hat 1 bis 100 druckbare Zeichen."),
        (
            {"name": "mturk:A1", "password": RIGHT},
            "Namen, die mit prolific: oder mturk: beginnen, sind für Gutachter von diesen Plattformen reserviert.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_the_readers_language(file_site, form, complaint):
    """At the field it is about, and nobody is made known."""
    site = file_site()
    site.made.person("ann")
    answer = site.ask("POST", invited(site), data=form, headers=GERMAN)
    assert answer.status_code == 422
    assert told(answer) == [complaint]
    assert len(site.studio.ledger.people) == 1


def test_invitations_that_are_none_are_told_in_the_readers_language(file_site):
    """Used, run out, or never given; in German and in English."""
    site = file_site()
    used, over = invited(site), invited(site, days=-1)
    assert site.ask("POST", used, data={"name": "ann", "password": RIGHT}).status_code == 303
    for link, status, german, english in (
        (
            used,
            410,
            "Diese Einladung ist schon verwendet",
            "This invitation was already used. Sign in, or ask for a new one.",
        ),
        (over, 410, "Diese Einladung ist abgelaufen", "This invitation has expired. Ask for a new one."),
        (
            "/join/forged",
            404,
            "Dieser Einladungslink ist ungültig: Bitten Sie um einen neuen.",
            "This invitation link is not valid. Ask for a new one.",
        ),
    ):
        for method in ("GET", "POST"):
            answer = site.ask(method, link, headers=GERMAN)
            assert (answer.status_code, german in answer.text) == (status, True)
            assert english in site.ask(method, link).text


def test_registering_where_it_is_allowed(file_site):
    """The sign-in page shows the way, and who took it is a judge with a session."""
    site = file_site(OPEN)

    async def way():
        async with site.client() as client:
            assert "/register" in (await client.get("/sign-in")).text
            assert (await client.get("/register")).status_code == 200
            answer = await client.post("/register", data={"name": "eve", "password": RIGHT})
            assert (answer.headers["location"], COOKIE in client.cookies) == ("/judge", True)
            assert (await client.get("/")).headers["location"] == "/judge"

    site.run(way())
    assert site.studio.ledger.people[site.studio.ledger.named["eve"]].role == "judge"


def test_where_it_is_not_allowed_that_is_said(file_site):
    """In the reader's language, on the page and by the form."""
    site = file_site()
    for method in ("GET", "POST"):
        answer = site.ask(method, "/register", data={"name": "eve", "password": RIGHT}, headers=GERMAN)
        assert "nur auf Einladung" in answer.text


def test_people_are_sent_where_they_work(file_site):
    """Judges to their page, those of the desk to the desk, strangers to the door."""
    site = file_site()
    ann, lea = site.made.person("ann"), site.made.person("lea", "lead")
    for person, position in ((ann, "/judge"), (lea, "/desk"), (None, "/sign-in")):
        assert site.ask("GET", "/", person).headers["location"] == position
    assert site.ask("GET", "/judge", lea).status_code == 403


def test_errors_are_pages_with_a_heading_and_a_title(file_site):
    """They say what happened and where to go on, in the reader's language."""
    site = file_site()
    lea = site.made.person("lea", "lead")
    missing = site.ask("GET", "/nothing-here").text
    assert "<title>Not found · " in missing
    assert "There is no page at this address. Check it, or continue from the start page." in missing
    assert "Not Found" not in missing
    refused = site.ask("GET", "/judge", lea, headers=GERMAN).text
    assert "<h1>Das steht Ihnen nicht offen</h1>" in refused
    assert "Sie sind als lea angemeldet und beurteilen in dieser Kampagne nicht." in refused


def test_pages_have_titles_of_their_own(file_site):
    """So that open tabs can be told apart."""
    site = file_site()
    lea, link = site.made.person("lea", "lead"), invited(site)
    pages = {"/sign-in": (None, "Sign in"), link: (None, "You are invited"), "/account": (lea, "Your account")}
    for path, (person, name) in pages.items():
        assert f"<title>{name} · " in site.ask("GET", path, person).text, path


def test_an_invitation_says_whose_session_it_ends(file_site):
    """Somebody who is signed in learns how to keep both sessions; nobody else sees the sentence."""
    site = file_site()
    lea, link = site.made.person("lea", "lead"), invited(site)
    assert "You are signed in here as lea." in site.ask("GET", link, lea).text
    assert "private window" not in site.ask("GET", link).text


def test_signing_out_needs_the_pages_word(file_site):
    """Another site cannot sign anybody out; the page can."""
    site = file_site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            word = client.headers.pop("x-csrf")
            assert (await client.post("/sign-out")).status_code == 403
            answer = await client.post("/sign-out", data={"csrf": word})
            assert answer.headers["location"] == "/sign-in"
            assert re.match(f'{COOKIE}="";.*Max-Age=0', answer.headers["set-cookie"])

    site.run(way())


def test_an_old_hash_is_made_anew_at_the_next_sign_in(file_site):
    """And the session that begins with it holds."""
    from argon2 import PasswordHasher

    site = file_site()
    old = PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1).hash(RIGHT)
    ann = site.made.do(people.join, site.made.do(people.invite, "judge"), "ann", old)

    async def way():
        async with site.client() as client:
            await client.post("/sign-in", data={"name": "ann", "password": RIGHT})
            assert (await client.get("/judge")).status_code == 200

    site.run(way())
    assert "m=19456,t=3" in site.studio.ledger.people[ann].password


def test_crowds_are_let_in_at_a_rate(file_site):
    """Prolific's people come in by their link, as often as one address may ask."""
    site = file_site(OPEN + '[prolific]\nenabled = true\nstudies = ["5f0000000000000000000001"]\n')
    requested = {"PROLIFIC_PID": "5f00000000000000000000aa", "STUDY_ID": "5f0000000000000000000001"}
    requested["SESSION_ID"] = "5f00000000000000000000bb"

    async def way():
        async with site.client() as client:
            return [
                (await client.get("/crowd/prolific", params=requested)) for _ in range(DEFAULT_RATES["crowd"][0] + 1)
            ]

    *let_in, last = site.run(way())
    assert {answer.status_code for answer in let_in} == {200}
    assert 'name="session"' in let_in[0].text
    assert (last.status_code, int(last.headers["retry-after"]) >= 1) == (429, True)
    assert len(site.studio.ledger.people) == 1
