"""The application over HTTP, and the server that runs it."""

import re
import socket
import threading
import urllib.request

import pytest
from sqlalchemy.exc import OperationalError

from adjudge.errors import InputError
from adjudge.studio.desk.decisions import new_api_token
from adjudge.studio.studio import open_studio
from adjudge.studio.web import app
from adjudge.studio.web.security import COOKIE

FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"


def said(studio, token, right=True):
    """Return right answers to a set, as a page sends them."""
    from adjudge.studio.work.grading import gold_grades

    first = studio.ledger.set_of[token]
    reference = gold_grades(studio.ledger, first)
    relevance = [1 if grade is None else int((grade > 0) == right) for grade in reference]
    order = sorted(range(len(reference)), key=lambda slot: (-relevance[slot], -(reference[slot] or 0)))
    return [
        {"key": f"{token[:8]}{slot}", "slot": slot, "relevance": relevance[slot], "told": True}
        | {"rank": order.index(slot) + 1, "seconds": 7.0, "comment": ""}
        for slot in range(len(reference))
    ]


async def whole_way(site, client, right=True):
    """Work through an assignment, and return its review."""
    body = (await client.post("/api/assignment", json={})).json()
    while "review" not in body:
        token = body["set"]["token"]
        answer = await client.post("/api/finish", json={"set": token, "answers": said(site.studio, token, right)})
        body = answer.json()
    return body["review"]


def test_the_whole_way(site):
    """A judge works through an assignment, reviews it, and has a code."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            state = (await client.get("/api/state")).json()
            assert (state["stage"], state["assignment"]) == ("work", None)
            review = await whole_way(site, client)
            assert review["passed"]
            assert review["mistakes"] == []
            state = (await client.get("/api/state")).json()
            assert state["stage"] == "review"
            done = (await client.post("/api/submit", json={"assignment": review["token"]})).json()
            assert done["code"]
            assert (await client.get("/api/state")).json()["stage"] == "work"

    site.run(way())


def test_mistakes_are_shown_after_the_end(site):
    """Who was wrong on gold sees the right answer and the reason, and may contest it."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            review = await whole_way(site, client, right=False)
            assert not review["passed"]
            assert len(review["mistakes"]) == 5
            first = review["mistakes"][0]
            assert first["yours"] != first["right"]
            assert first["reason"].startswith("because")
            answer = await client.post(
                "/api/contest", json={"set": first["set"], "slot": first["slot"], "comment": "no"}
            )
            assert answer.json() == {"contested": True}
            again = (await client.get(f"/api/review/{review['token']}")).json()
            assert sum(row["contested"] for row in again["mistakes"]) == 1
            refused = await client.post("/api/submit", json={"assignment": review["token"]})
            assert refused.status_code == 409

    site.run(way())


def test_review_before_the_end_is_refused(site):
    """Gold is not to be had while an assignment is open."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            token = (await client.post("/api/assignment", json={})).json()["token"]
            answer = await client.get(f"/api/review/{token}")
            assert answer.status_code == 410
            assert answer.json()["code"] == "over"

    site.run(way())


def test_incompatible_answers_are_named(site):
    """A set whose ranks contradict its relevance is not left; the two documents are named by their slots."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            token = (await client.post("/api/assignment", json={})).json()["set"]["token"]
            answers = said(site.studio, token)
            for answer, relevance, rank in zip(answers, (0, 1, 1, 1, 1), (1, 2, 3, 4, 5), strict=True):
                answer |= {"relevance": relevance, "rank": rank}
            refused = await client.post("/api/finish", json={"set": token, "answers": answers})
            assert refused.status_code == 409
            assert {"kind": "order", "slots": [1, 0]} in refused.json()["problems"]
            saved = (await client.post("/api/answers", json={"set": token, "answers": answers})).json()
            assert saved["problems"] == refused.json()["problems"]

    site.run(way())


def test_documents_are_served_alone(site):
    """A document is a page of its own that can do nothing, with matches marked."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            url = (await client.post("/api/assignment", json={})).json()["set"]["documents"][0]["url"]
            displayed = await client.get(url, params={"find": "words"})
            assert displayed.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
            assert '<mark id="m1">words</mark>' in displayed.text
            assert (await client.get(f"{url}/matches", params={"find": "words"})).json() == {"matches": 1}
            assert (await client.get("/documents/nothing/0")).status_code == 404
            assert (await client.get(url.rsplit("/", 1)[0] + "/9")).status_code == 404

    site.run(way())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "set: Field required"),
        ({"set": "x", "answers": [{"slot": "a"}]}, "answers.0"),
        ({"set": "x", "more": 1}, "more"),
        ({"set": "x", "answers": 3}, "answers"),
    ],
)
def test_what_is_malformed_is_said(site, body, told):
    """A body that is not what it should be is refused, with the place."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            answer = await client.post("/api/answers", json=body)
            assert answer.status_code == 422
            assert told in answer.json()["error"]

    site.run(way())


def test_strangers_are_sent_away(site):
    """Without a session there is nothing; with one, but without the page's word, nothing changes."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client() as nobody:
            assert (await nobody.get("/api/state")).status_code == 401
            assert (await nobody.get("/judge")).headers["location"] == "/sign-in"
        async with site.client(ann) as client:
            del client.headers["x-csrf"]
            assert (await client.get("/api/state")).status_code == 200
            answer = await client.post("/api/assignment", json={})
            assert (answer.status_code, answer.json()["code"]) == (403, "csrf")

    site.run(way())


def test_leads_do_not_judge(site):
    """Who sees gold does not judge."""
    site = site()
    lea = site.made.person("lea", "lead")

    async def way():
        async with site.client(lea) as client:
            assert (await client.post("/api/assignment", json={})).status_code == 403

    site.run(way())


def test_joining_and_signing_in(site):
    """An invitation is used once; name and password then open the door, wrong ones do not."""
    from adjudge.studio.work.people import invite

    site = site()
    number = site.made.do(invite, "judge", "Ann")
    link = f"/join/{site.studio.signer.invitation(number)}"
    right = {"name": "Ann", "password": "correct horse battery"}

    async def way():
        async with site.client() as client:
            assert "Ann" in (await client.get(link)).text
            weak = await client.post(link, data={"name": "Ann", "password": "short"})
            assert (weak.status_code, COOKIE in client.cookies) == (422, False)
            joined = await client.post(link, data=right)
            assert (joined.status_code, joined.headers["location"]) == (303, "/judge")
            assert (await client.get("/judge")).status_code == 200
        async with site.client() as other:
            assert (await other.post(link, data=right)).status_code == 410
            wrong = await other.post("/sign-in", data={**right, "password": "wrong horse battery"})
            assert wrong.status_code == 401
            assert (await other.post("/sign-in", data=right)).headers["location"] == "/judge"
            assert "HttpOnly" in (await other.post("/sign-in", data=right)).headers["set-cookie"]
            assert (await other.get("/join/forged")).status_code == 404

    site.run(way())


def test_static_files_are_compressed_and_pages_with_secrets_are_not(site):
    """Scripts and styles come small; a page that carries a session's word does not say its length in that way."""
    site = site()
    ann = site.made.person("ann")

    async def way():
        async with site.client(ann) as client:
            assert (await client.get("/static/studio.css")).headers["content-encoding"] == "gzip"
            assert "content-encoding" not in (await client.get("/judge")).headers

    site.run(way())


def test_a_second_task_of_a_worker_does_not_get_at_the_first(site):
    """Who comes under a worker's id with another assignment sees and changes nothing of the first."""
    site = site(FREE + "[mturk]\nenabled = true\n")

    async def way():
        sessions = []
        async with site.client() as client:
            for assignment in ("3ASSIGN1", "3ASSIGN2"):
                requested = {"assignmentId": assignment, "hitId": "3HIT", "workerId": "A1WORKER"}
                requested["turkSubmitTo"] = "https://workersandbox.mturk.com"
                page = await client.get("/crowd/mturk", params=requested)
                sessions.append(re.search(r'name="session" content="([^"]+)"', page.text)[1])
                assert "workersandbox.mturk.com" in page.headers["content-security-policy"]
            first, second = ({"authorization": f"Bearer {session}"} for session in sessions)
            content = (await client.post("/api/assignment", json={}, headers=first)).json()
            for method, path in (("post", "/api/assignment"), ("get", "/api/state")):
                body = {"json": {}} if method == "post" else {}
                refused = await getattr(client, method)(path, headers=second, **body)
                assert (refused.status_code, refused.json()["code"]) == (409, "elsewhere")
            displayed = await client.get(content["set"]["documents"][0]["url"])
            assert "https://workersandbox.mturk.com" in displayed.headers["content-security-policy"]
            await client.post("/api/release", json={"assignment": content["token"]}, headers=first)
            again = await client.post("/api/assignment", json={}, headers=second)
            assert again.json()["token"] != content["token"]

    site.run(way())


def test_registration_is_off(site):
    """Nobody comes in uninvited, unless the campaign says so."""
    site = site()

    async def way():
        async with site.client() as client:
            form = {"name": "eve", "password": "correct horse battery"}
            assert (await client.get("/register")).status_code == 403
            assert (await client.post("/register", data=form)).status_code == 422
            assert "eve" not in site.studio.ledger.named

    site.run(way())


def test_what_cannot_be_saved_is_not_acknowledged(site):
    """While the database is held by another process the answer is 503; afterwards work goes on."""
    import sqlite3

    site = site()
    ann = site.made.person("ann")
    if site.made.store.url.get_backend_name() != "sqlite":
        return  # PostgreSQL has no lock on the whole

    async def way():
        async with site.client(ann) as client:
            token = (await client.post("/api/assignment", json={})).json()["set"]["token"]
            answers = said(site.studio, token)[:1]
            other = sqlite3.connect(site.made.folder / "studio.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            refused = await client.post("/api/answers", json={"set": token, "answers": answers})
            assert refused.status_code == 503
            assert "locked" in refused.json()["error"]
            assert refused.headers["retry-after"] == "1"
            other.execute("ROLLBACK")
            other.close()
            saved = await client.post("/api/answers", json={"set": token, "answers": answers})
            assert saved.json()["saved"] == [answers[0]["key"]]

    site.run(way())


# Serving


def test_ready_is_told_the_port_and_requests_are_answered(desk_folder, monkeypatch):
    """Port 0 takes a free one; the server stops when it is told to."""
    studio = open_studio(desk_folder)
    started, answers, servers = threading.Event(), [], []

    class Recorded(app._Server):
        def __init__(self, *args):
            super().__init__(*args)
            servers.append(self)

    monkeypatch.setattr(app, "_Server", Recorded)
    monkeypatch.setattr("adjudge.studio.studio.refresh_consensus", _nothing)

    def ready(port):
        answers.append(port)
        started.set()

    thread = threading.Thread(target=app.serve, args=(studio, "127.0.0.1", 0, None, ready))
    thread.start()
    try:
        assert started.wait(20)
        with urllib.request.urlopen(f"http://127.0.0.1:{answers[0]}/sign-in") as page:
            assert page.status == 200
            assert "server" not in page.headers
    finally:
        servers[0].should_exit = True
        thread.join(20)
    assert not thread.is_alive()


async def _nothing(folder):
    """Ask no other process for the consensus."""


def test_an_invitation_link_is_good_once_for_its_role(file_site):
    """It opens the page that offers the role, and it lasts as long as the campaign says."""
    site = file_site("[access]\ninvitation_days = 3\n")
    link = app.invitation_link(site.studio, "reviewer", "Rea")
    row = next(iter(site.studio.ledger.invitations.values()))
    assert (row["role"], row["name"], row["expires"] - row["at"]) == ("reviewer", "Rea", 3 * 86_400)
    assert "reviewer" in site.ask("GET", link).text


def test_whether_somebody_leads(file_site):
    """Judges and reviewers do not."""
    site = file_site()
    site.made.person("rea", "reviewer")
    assert not app.has_lead(site.studio)
    site.made.person("lea", "lead")
    assert app.has_lead(site.studio)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_taken_port_is_refused(host):
    """In both families of addresses; a free one is not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        used = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip("needs IPv6")
    with used, pytest.raises(InputError, match=r"in use \(choose another port=\)"):
        app.check_port(host, used.getsockname()[1])
    app.check_port(host, 0)


def test_a_database_that_is_none_is_said(desk_folder):
    """With the campaign's folder, and what the database says."""
    (desk_folder / "studio.db").write_bytes(b"this is no database, but long enough to be taken for one" * 20)
    with pytest.raises(InputError, match=r"studio\.db: the database is damaged \(file is not a database\)"):
        app.open_campaign(str(desk_folder))


def test_a_database_that_cannot_be_read_is_said(file_site, monkeypatch):
    """Programs and people are told to try again, and nothing is a fault; for example, PostgreSQL restarts."""
    site = file_site()
    lead = site.made.person("lea", "lead")
    token = site.made.do(new_api_token, lead, "nightly", "export")

    def raise_on_read():
        raise OperationalError("SELECT", {}, Exception("the connection is closed"))

    monkeypatch.setattr(site.studio.store, "reading", raise_on_read)
    answer = site.ask("GET", "/api/v1/judgments", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json()["code"] == "hindered"
    assert answer.json()["error"].startswith("The record cannot be read: ")
    page = site.ask("GET", "/desk/campaign/history", lead)
    assert (page.status_code, page.headers["retry-after"]) == (503, "5")


def test_a_wrong_method_is_answered_with_those_that_there_are(file_site):
    """In the header Allow, of all routes with the path."""
    site = file_site()
    assert site.ask("PUT", "/api/v1/judgments").headers["allow"] == "GET, POST"
    assert site.ask("DELETE", "/healthz").headers["allow"] == "GET, HEAD"


PAGES = (
    "",
    "/live",
    "/charts",
    "/judges",
    "/gold",
    "/items",
    "/audit",
    "/data",
    "/data/judgments",
    "/people",
    "/history",
)


@pytest.mark.parametrize("spoil", ["head", "pages"])
def test_a_record_that_is_damaged_under_a_running_studio_is_said(file_site, caplog, spoil):
    """Every page of the desk answers, with a sentence if it cannot read the record, and the log has no traceback."""
    place = file_site()
    lead = place.made.person("lea", "lead")
    place.made.through(place.made.person("ann"))
    place.made.store.checkpoint()
    database = place.made.folder / "studio.db"
    for path in PAGES:
        assert place.ask("GET", f"/desk{path}", lead).status_code in (200, 404), path
    with database.open("rb+") as file:
        file.seek(0 if spoil == "head" else 4096)
        file.write(b"damage" * (16 if spoil == "head" else (database.stat().st_size - 4096) // 6))
    answers = [place.ask("GET", f"/desk{path}", lead) for path in PAGES]
    hindered = [answer for answer in answers if answer.status_code == 503]
    assert {answer.status_code for answer in answers} <= {200, 404, 503}
    assert len(hindered) >= 3
    assert all("The record cannot be read: the database is damaged" in answer.text for answer in hindered)
    assert not [record for record in caplog.records if record.exc_info]
