"""The front page of several campaigns: signing in once, what each person sees and changes, what is kept apart."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx
import pyotp
import pytest

from adjudge.studio.access import hash_password
from adjudge.studio.desk import decisions
from adjudge.studio.record import schema
from adjudge.studio.site import open_site
from adjudge.studio.studio import reading_campaign
from adjudge.studio.web import site as web_site
from adjudge.studio.web.app import open_campaign
from adjudge.studio.web.operations import CAMPAIGN
from adjudge.studio.web.site import create_site
from adjudge.studio.work import people
from tests.studio.conftest import crowd_files

FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"
SECRET, OTHER = "kopfstein pflaster", "regenschirm gestell"
PEOPLE = (("lea", "lead"), ("rea", "reviewer"), ("ann", "judge"))


async def _nothing(folder):
    """Ask no other process for the consensus."""
    return True


class Sites:
    """Two campaigns in one process, elm and oak; lea, rea and ann are in both, bob with another password in oak."""

    def __init__(self, folder, settings=None):
        sizes = {"topics": 2, "jobs": 1, "monitoring": 0}
        more = settings or {}
        folders = [crowd_files(folder / name, FREE + more.get(name, ""), **sizes) for name in ("elm", "oak")]
        self.site = open_site(folders, open_campaign)
        hashed = hash_password(SECRET)
        for studio in self.site.studios.values():
            for name, role in PEOPLE:
                self.add(studio, name, role, hashed)
        self.add(self.site.studios["oak"], "bob", "judge", hash_password(OTHER))
        self.app = create_site(self.site)

    def add(self, studio, name, role, hashed):
        """Add a person, through an invitation."""
        number = studio.store.do(lambda ledger, now: people.invite(ledger, now, role))
        studio.store.do(lambda ledger, now: people.join(ledger, now, number, name, hashed))

    def client(self):
        """Return a browser."""
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://studio")

    async def signed_in(self, name="lea", password=SECRET):
        """Return a browser in which somebody has signed in on the front page."""
        client = self.client()
        answer = await client.post("/sign-in", data={"name": name, "password": password})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        return client

    def run(self, script):
        """Run a test's coroutine while all campaigns take commands."""

        async def running():
            async with self.app._lifespan(None):
                await script()

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, running()).result()


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """Return two campaigns in one process."""
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    monkeypatch.setattr("adjudge.studio.studio.refresh_consensus", _nothing)
    return Sites(tmp_path)


async def token_of(client, path="/"):
    """Return the CSRF token of a page."""
    return re.search(r'name="csrf" (?:value|content)="([^"]+)"', (await client.get(path)).text)[1]


def test_people_sign_in_once(sites):
    """At all campaigns that have the name and accept the password, each with a cookie of its own at its address."""

    async def script():
        client = await sites.signed_in()
        cookies = {(cookie.name, cookie.path) for cookie in client.cookies.jar}
        assert {("adjudge_session-c-elm", "/c/elm"), ("adjudge_session-c-oak", "/c/oak")} <= cookies
        assert ("adjudge_site", "/") in cookies
        for name in ("elm", "oak"):
            assert (await client.get(f"/c/{name}/desk")).status_code == 200
        bob = await sites.signed_in("bob", OTHER)
        assert (await bob.get("/c/oak/judge")).status_code == 200
        assert (await bob.get("/c/elm/judge")).status_code == 303

    sites.run(script)


def test_a_wrong_password_says_no_more_than_an_unknown_name(sites, monkeypatch):
    """Both are refused in the same words, after as many hashes as the name in most campaigns needs."""
    computed = []
    monkeypatch.setattr(web_site, "verify_password", lambda hashed, password: computed.append(hashed))

    async def script():
        async with sites.client() as client:
            answers = []
            for name in ("lea", "bob", "nobody"):
                answers.append(await client.post("/sign-in", data={"name": name, "password": "wrong"}))
            assert {answer.status_code for answer in answers} == {401}
            refused = {re.search('role="alert"[^>]*>([^<]*)', answer.text)[1] for answer in answers}
            assert refused == {"Name and password do not match. After too many attempts, wait a few minutes."}
            assert len(computed) == 0 + 1 + 2
            assert "adjudge_site" not in client.cookies
            assert 'name="password"' in (await client.get("/")).text

    sites.run(script)


async def set_up_factor(client):
    """Set up a second factor at elm as a browser does, and return the recovery codes."""
    text = (await client.get("/c/elm/account/second-factor")).text
    app = pyotp.TOTP(re.search(r"<code>([A-Z2-7]{32})</code>", text)[1])
    form = {"signed": re.search(r'name="signed" value="([^"]+)"', text)[1], "password": SECRET, "code": app.now()}
    form["csrf"] = re.search(r'name="csrf" value="([^"]+)"', text)[1]
    done = await client.post("/c/elm/account/second-factor", data=form)
    return re.findall(r"<code>([A-Z2-7-]{19})</code>", done.text)


def test_the_front_page_is_no_way_around_a_second_factor(sites):
    """A campaign that asks for a code gives no session; with the code, at its own page, the front page has it too."""

    async def script():
        recovery = await set_up_factor(await sites.signed_in())
        client = await sites.signed_in()
        assert (await client.get("/c/elm/desk")).headers["location"] == "/c/elm/sign-in"
        text = (await client.get("/")).text
        assert "These campaigns ask for more than the password." in text
        assert ('id="campaign-elm"' in text, 'id="campaign-oak"' in text) == (False, True)
        form = {"csrf": await token_of(client), "archived": "1", "folder": "new"}
        for action in ("archive", "clone"):
            assert (await client.post(f"/campaigns/elm/{action}", data=form)).status_code == 401
        page = await client.post("/c/elm/sign-in", data={"name": "lea", "password": SECRET})
        step = re.search(r'name="step" value="([^"]+)"', page.text)[1]
        await client.post("/c/elm/sign-in/code", data={"step": step, "code": recovery[0]})
        await client.get("/c/elm/desk")
        text = (await client.get("/")).text
        assert ('id="campaign-elm"' in text, "ask for more" in text) == (True, False)

    sites.run(script)


def test_a_required_second_factor_comes_first(tmp_path, monkeypatch):
    """A lead without one sees and changes nothing of the campaign on the front page; a judge needs none."""
    monkeypatch.setattr("adjudge.studio.studio.refresh_consensus", _nothing)
    sites = Sites(tmp_path, {"elm": '[access]\nsecond_factor = "required"\n'})

    async def script():
        client = await sites.signed_in()
        text = (await client.get("/")).text
        assert ('id="campaign-elm"' in text, "ask for more" in text) == (False, True)
        form = {"csrf": await token_of(client), "archived": "1", "folder": "new"}
        for action in ("archive", "clone"):
            assert (await client.post(f"/campaigns/elm/{action}", data=form)).status_code == 401
        assert 'id="campaign-elm"' in (await (await sites.signed_in("ann")).get("/")).text

    sites.run(script)


def test_each_person_sees_what_their_role_allows(sites):
    """A lead sees people, progress and buttons; a reviewer progress; a judge whether there is work."""

    async def script():
        lead = (await (await sites.signed_in()).get("/")).text
        assert lead.count("/archive") == lead.count("/clone") == 2
        assert re.search(r'<th scope="row">bob</th><td>\N{EN DASH}</td><td>judge</td>', lead)
        assert "bob" not in (await (await sites.signed_in()).get("/?find=an")).text
        reviewer = (await (await sites.signed_in("rea")).get("/")).text
        assert "0 of " in reviewer
        judge = (await (await sites.signed_in("ann")).get("/")).text
        assert judge.count("There is work for you.") == 2
        for text in (reviewer, judge):
            assert "/archive" not in text
            assert "bob" not in text
        assert "0 of " not in judge

    sites.run(script)


def test_strangers_get_nowhere(sites):
    """Every route of the front page but those for everybody asks who it is."""
    everybody = {"/", "/sign-in", "/sign-out", "/healthz", "/readyz", "/metrics"}

    async def script():
        asked = [(route.methods, route.path) for route in web_site.router.routes if route.path not in everybody]
        assert len(asked) == 6
        async with sites.client() as client:
            for methods, template in asked:
                path = template.replace("{name}", "elm").replace("{rest:path}", "desk")
                answer = await client.request("GET" if "GET" in methods else "POST", path)
                inside = path.startswith("/c/") and answer.headers["location"] in ("/c/elm/", "/c/elm/sign-in")
                assert answer.status_code == 401 or inside, template

    sites.run(script)


def test_a_limit_of_a_campaign_does_not_tell_who_exists(sites, monkeypatch):
    """A name that a campaign limits is refused like an unknown one, after as many hashes."""
    computed = []
    monkeypatch.setattr(web_site, "verify_password", lambda hashed, password: computed.append(hashed))

    async def limited(scope, receive, send):
        await send({"type": "http.response.start", "status": 429, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    async def script():
        for name, served in sites.app.campaigns.items():
            app = type("App", (), {"state": served.app.state, "__call__": staticmethod(limited)})()
            sites.app.campaigns[name] = served._replace(app=app)
        async with sites.client() as client:
            known, unknown = [
                await client.post("/sign-in", data={"name": name, "password": SECRET}) for name in ("lea", "eve")
            ]
        assert (known.status_code, known.text.replace("lea", "eve")) == (401, unknown.text)
        assert len(computed) == 4

    sites.run(script)


def test_only_leads_change_campaigns_and_only_from_their_page(sites):
    """Reviewers, judges, strangers, other campaigns' leads and forged forms change nothing."""

    async def script():
        for name, status in (("rea", 403), ("ann", 403)):
            client = await sites.signed_in(name)
            form = {"csrf": await token_of(client), "archived": "1", "folder": "new"}
            for action in ("archive", "clone"):
                assert (await client.post(f"/campaigns/elm/{action}", data=form)).status_code == status
        client = await sites.signed_in()
        inside = await token_of(client, "/c/elm/desk")
        for csrf in ("", "x", inside):
            assert (
                await client.post("/campaigns/elm/archive", data={"csrf": csrf, "archived": "1"})
            ).status_code == 403
        cross = {"Sec-Fetch-Site": "cross-site"}
        assert (await client.post("/campaigns/elm/archive", headers=cross)).status_code == 403
        form = {"csrf": await token_of(client), "archived": "1"}
        assert (await client.post("/campaigns/nothing/archive", data=form)).status_code == 401
        async with sites.client() as stranger:
            assert (await stranger.post("/campaigns/elm/archive", data=form)).status_code == 401
        assert not any(studio.ledger.archived for studio in sites.site.studios.values())

    sites.run(script)


def test_a_lead_archives_and_reopens(sites):
    """The state is shown to everybody, and judges find no work."""

    async def script():
        client = await sites.signed_in()
        form = {"csrf": await token_of(client)}
        done = await client.post("/campaigns/elm/archive", data={**form, "archived": "1"})
        assert done.headers["location"] == "/?done=archived"
        judge = await sites.signed_in("ann")
        text = (await judge.get("/")).text
        assert ("archived" in text, text.count("There is work for you.")) == (True, 1)
        state = (await judge.get("/c/elm/api/state")).json()
        assert state["stage"] == "archived"
        await client.post("/campaigns/elm/archive", data={**form, "archived": "0"})
        assert (await judge.get("/")).text.count("There is work for you.") == 2

    sites.run(script)


def test_a_lead_clones_a_campaign_that_is_served_at_once(sites):
    """The lead is signed in to it, both audit logs say so, and names that are used or odd are refused."""

    async def script():
        client = await sites.signed_in()
        form = {"csrf": await token_of(client)}
        for folder, status in (("oak", 422), ("my trial", 422), ("../x", 422), ("", 422)):
            answer = await client.post("/campaigns/elm/clone", data={**form, "folder": folder})
            assert answer.status_code == status, folder
        done = await client.post("/campaigns/elm/clone", data={**form, "folder": "ash", "title": "Ash"})
        assert (done.status_code, done.headers["location"]) == (303, "/?done=cloned")
        assert "Ash" in (await client.get("/c/ash/desk")).text
        assert "Ash" in (await client.get("/")).text
        again = await sites.signed_in()
        assert (await again.get("/c/ash/desk")).status_code == 200
        assert [person.name for person in sites.site.studios["ash"].ledger.people.values()] == ["lea"]

    sites.run(script)
    for name, detail in (("elm", '{"to": "ash"}'), ("ash", '{"from": "elm"}')):
        with reading_campaign(sites.site.folder / name) as (_, connection):
            rows = connection.execute(schema.audit.select().where(schema.audit.c.what == "campaign cloned")).all()
            assert [(row.who, row.detail) for row in rows] == [("lea", detail)]


def test_a_lead_without_a_password_does_not_clone(sites):
    """They came through an OpenID Connect provider, which the clone would not know: nobody could sign in to it."""
    ledger = sites.site.studios["elm"].ledger

    async def script():
        client = await sites.signed_in()
        form = {"csrf": await token_of(client), "folder": "ash"}
        ledger.people[ledger.named["lea"]].password = ""
        refused = await client.post("/campaigns/elm/clone", data=form)
        assert (refused.status_code, "You have no password at this campaign" in refused.text) == (409, True)
        assert not (sites.site.folder / "ash").exists()

    sites.run(script)


TOPICS = b"topic,query\ntea,how to make tea\n"
DOCUMENTS = [("pot.txt", b"Use a pot of hot water."), ("leaf.txt", b"Leaves are better than bags.")]


def new_files(**more):
    """Return the files of a new campaign, as a browser sends them."""
    files = {"topics": [("topics.csv", TOPICS)], "documents": DOCUMENTS, **more}
    return [(field, upload) for field, uploads in files.items() for upload in uploads]


def test_a_lead_creates_a_campaign_of_files_that_is_served_at_once(sites):
    """Of topics and documents alone, or with pairs and gold; the lead is signed in, and the audit log says so."""

    async def script():
        client = await sites.signed_in()
        form = {"csrf": await token_of(client), "folder": "ash", "title": "Ash"}
        done = await client.post("/new-campaign", data=form, files=new_files())
        assert (done.status_code, done.headers["location"]) == (303, "/?done=created"), done.text
        assert "Ash" in (await client.get("/c/ash/desk")).text
        ash = sites.site.studios["ash"]
        assert set(ash.campaign.pool) == {("tea", "pot"), ("tea", "leaf")}
        gold = [("gold.csv", b"topic,document,grade,reason\ntea,pot,1,pots are good\n")]
        pairs = [("gold.csv", b"topic,document\ntea,leaf\n")]
        form = {**form, "folder": "yew"}
        assert (await client.post("/new-campaign", data=form, files=new_files(pairs=pairs, gold=gold))).is_redirect
        yew = sites.site.studios["yew"].campaign
        assert (set(yew.pool), yew.gold["tea", "pot"].grade) == ({("tea", "leaf")}, 1)
        again = await sites.signed_in()
        assert (await again.get("/c/ash/desk")).status_code == 200

    sites.run(script)
    with reading_campaign(sites.site.folder / "ash") as (_, connection):
        rows = connection.execute(schema.audit.select().where(schema.audit.c.what == "campaign created")).all()
        assert [(row.who, row.detail) for row in rows] == [("lea", "{}")]


def test_a_new_campaign_with_problems_is_not_written(sites):
    """Each problem has the name of the file and the line; a folder that is used or odd is refused."""
    wrong = [("gold.csv", b"topic,document,grade\ntea,pot,7\n")]

    async def script():
        client = await sites.signed_in()
        form = {"csrf": await token_of(client), "folder": "ash"}
        answer = await client.post("/new-campaign", data=form, files=new_files(gold=wrong))
        assert answer.status_code == 422
        assert "gold.csv, line 2" in answer.text
        assert "/tmp" not in answer.text
        for more, words in (
            ({"documents": []}, "A campaign needs a file of topics and one of documents."),
            ({"documents": [DOCUMENTS[0], DOCUMENTS[0]]}, "Two files are called &#39;pot.txt&#39;"),
            ({"topics": [("topics.csv", b"a,b\n1,2\n")]}, "topics.csv"),
        ):
            answer = await client.post("/new-campaign", data=form, files=new_files(**more))
            assert (answer.status_code, words in answer.text) == (422, True), answer.text
        for folder in ("oak", "../x", ""):
            answer = await client.post("/new-campaign", data={**form, "folder": folder}, files=new_files())
            assert answer.status_code == 422
        assert not (sites.site.folder / "ash").exists()

    sites.run(script)


def test_only_leads_create_campaigns(sites):
    """Judges, reviewers, strangers and forged forms do not, and of a stranger no file is read."""

    async def script():
        for name in ("rea", "ann"):
            client = await sites.signed_in(name)
            form = {"csrf": await token_of(client), "folder": "ash"}
            assert (await client.post("/new-campaign", data=form, files=new_files())).status_code == 401
        client = await sites.signed_in()
        assert "/new-campaign" in (await client.get("/")).text
        form = {"csrf": "x", "folder": "ash"}
        assert (await client.post("/new-campaign", data=form, files=new_files())).status_code == 403
        many = [("pages.txt", b"x" * 20_000)]
        async with sites.client() as stranger:
            answer = await stranger.post("/new-campaign", data=form, files=new_files(documents=many))
            assert (answer.status_code, answer.json()["code"]) == (401, "sign in")
        large = [("pages.txt", b"x" * 2_000_000)]
        answer = await client.post("/campaigns/elm/clone", data=form, files=new_files(documents=large))
        assert answer.status_code == 413

    sites.run(script)


def test_what_belongs_to_one_campaign_is_worthless_in_another(sites):
    """A session, its CSRF token, an invitation, an API token and the address of a document."""
    elm, oak = sites.site.studios["elm"], sites.site.studios["oak"]
    number = elm.store.do(lambda ledger, now: people.invite(ledger, now, "reviewer"))
    for studio in (elm, oak):  # so that the numbers of people and invitations are the same in both
        studio.store.do(lambda ledger, now: people.invite(ledger, now, "reviewer"))
    lead = elm.ledger.named["lea"]
    api_token = elm.store.do(lambda ledger, now: decisions.new_api_token(ledger, now, lead, "all", "read export"))

    async def script():
        client = await sites.signed_in()
        session = next(cookie.value for cookie in client.cookies.jar if cookie.path == "/c/elm")
        async with sites.client() as thief:
            for headers in (
                {"cookie": f"adjudge_session-c-oak={session}; adjudge_session={session}; adjudge_site={session}"},
                {"cookie": f"adjudge_session-c-elm={session}"},
            ):
                assert (await thief.get("/c/oak/desk", headers=headers)).status_code == 303
                assert 'name="password"' in (await thief.get("/", headers=headers)).text
            bearer = {"authorization": f"Bearer {session}"}
            assert (await thief.get("/c/oak/api/state", headers=bearer)).status_code == 401
            link = f"/join/{elm.signer.invitation(number)}"
            assert (await thief.get(f"/c/elm{link}")).status_code == 200
            assert (await thief.get(f"/c/oak{link}")).status_code == 404
            form = {"name": "eve", "password": OTHER}
            assert (await thief.post(f"/c/oak{link}", data=form)).status_code == 404
            bearer = {"authorization": f"Bearer {api_token}"}
            assert (await thief.get("/c/elm/api/live", headers=bearer)).status_code == 200
            assert (await thief.get("/c/oak/api/live", headers=bearer)).status_code == 401
        csrf = await token_of(client, "/c/elm/desk")
        assert (await client.post("/c/oak/desk/campaign", data={"csrf": csrf, "paused": "1"})).status_code == 403
        judge = await sites.signed_in("ann")
        headers = {"x-csrf": await token_of(judge, "/c/elm/judge")}
        body = (await judge.post("/c/elm/api/assignment", json={}, headers=headers)).json()
        document = body["set"]["documents"][0]["url"]
        assert (await judge.get(f"/c/elm{document}")).status_code == 200
        assert (await judge.get(f"/c/oak{document}")).status_code == 404
        assert (await judge.get(document)).status_code == 404
        answer = {"set": body["set"]["token"], "answers": []}
        assert (await judge.post("/c/oak/api/finish", json=answer, headers=headers)).status_code == 403

    sites.run(script)
    assert "eve" not in oak.ledger.named


def test_who_is_signed_in_joins_another_campaign_without_a_new_password(sites):
    """Under the same name, once per invitation, and never as a lead; strangers and forged forms do not."""
    elm = sites.site.studios["elm"]
    numbers = [elm.store.do(lambda ledger, now, r=role: people.invite(ledger, now, r)) for role in ("judge", "lead")]

    async def script():
        links = [elm.signer.invitation(number) for number in numbers]
        bob = await sites.signed_in("bob", OTHER)
        page = (await bob.get(f"/c/elm/join/{links[0]}")).text
        assert "Join as bob" in page
        assert "Join as" not in (await bob.get(f"/c/elm/join/{links[1]}")).text
        form = {"csrf": await token_of(bob), "campaign": "/c/elm", "invitation": links[0]}
        async with sites.client() as stranger:
            assert "Join as" not in (await stranger.get(f"/c/elm/join/{links[0]}")).text
            assert (await stranger.post("/join", data=form)).status_code == 401
        assert (await bob.post("/join", data={**form, "csrf": "x"})).status_code == 403
        assert (await bob.post("/join", data={**form, "campaign": "/c/oak"})).status_code == 404
        assert (await bob.post("/join", data={**form, "invitation": links[1]})).status_code == 403
        assert (await bob.post("/join", data=form)).headers["location"] == "/"
        assert (await bob.get("/c/elm/judge")).status_code == 200
        assert (await bob.get("/")).text.count("There is work for you.") == 2
        assert (await bob.post("/join", data=form)).status_code == 410
        again = await sites.signed_in("bob", OTHER)
        assert (await again.get("/c/elm/judge")).status_code == 200

    sites.run(script)


def test_signing_out_ends_all_sessions(sites):
    """The visit, and the session at every campaign."""

    async def script():
        client = await sites.signed_in()
        assert (await client.post("/sign-out", data={"csrf": "x"})).status_code == 403
        await client.post("/sign-out", data={"csrf": await token_of(client)})
        assert all(cookie.name.endswith("_browser") for cookie in client.cookies.jar)
        assert not any(studio.ledger.people[1].sessions for studio in sites.site.studios.values())
        assert 'name="password"' in (await client.get("/")).text
        for name in ("elm", "oak"):
            assert (await client.get(f"/c/{name}/desk")).headers["location"] == f"/c/{name}/sign-in"

    sites.run(script)


def test_a_campaign_that_cannot_be_served_is_named_to_leads(sites):
    """Its address says that it is not available; judges and strangers are told no reason."""
    sites.site.problems["ash"] = "gold.csv, line 3: the grade is 7"

    async def script():
        assert "gold.csv, line 3" in (await (await sites.signed_in()).get("/")).text
        assert "gold.csv" not in (await (await sites.signed_in("ann")).get("/")).text
        async with sites.client() as client:
            for path in ("/c/ash", "/c/ash/", "/c/ash/desk"):
                hindered = await client.get(path)
                assert (hindered.status_code, "gold.csv" in hindered.text) == (503, False)
            assert (await client.get("/c/nothing/desk")).status_code == 404
            assert (await client.get("/c/elm")).headers["location"] == "/c/elm/"

    sites.run(script)


def test_operators_see_all_campaigns(sites):
    """One page of metrics with the campaign as a label, for this machine; ready if every campaign is."""

    async def script():
        transport = httpx.ASGITransport(sites.app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            text = (await client.get("/metrics")).text
            assert 'adjudge_people{campaign="elm"} 3.0' in text
            assert 'adjudge_people{campaign="oak"} 4.0' in text
            assert text.count("\nprocess_resident_memory_bytes ") == 1
            assert text.count("# HELP adjudge_people ") == 1
            assert (await client.get("/readyz")).json() == {"status": "ready"}
            assert (await client.get("/healthz")).json() == {"status": "alive"}
            sites.site.studios["oak"].stopping = True
            unready = await client.get("/readyz")
            expected = {"status": "not ready", "reason": "The studio is stopping.", "campaign": "oak"}
            assert (unready.status_code, unready.json()) == (503, expected)
        transport = httpx.ASGITransport(sites.app, client=("9.9.9.9", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            assert (await client.get("/metrics")).status_code == 401
            assert "campaign" not in (await client.get("/readyz")).json()

    sites.run(script)


def test_strangers_send_short_forms_only(sites):
    """What they send is not held in memory; announced or in pieces."""

    async def pieces():
        for _ in range(20):
            yield b"a" * 1_000

    async def script():
        async with sites.client() as client:
            kind = {"content-type": "application/x-www-form-urlencoded"}
            announced = await client.post("/sign-in", content=b"name=" + b"a" * 20_000, headers=kind)
            assert (announced.status_code, announced.json()["code"]) == (401, "sign in")
            assert (await client.post("/sign-in", content=pieces(), headers=kind)).status_code == 413

    sites.run(script)


def test_no_redirect_believes_the_host_header(sites):
    """Not even to an address without the slash at its end."""

    async def script():
        async with sites.client() as client:
            for path in ("/sign-in/", "/campaigns/elm/clone/", "/join/"):
                answer = await client.post(path, headers={"host": "evil.example"})
                assert (answer.status_code, "location" in answer.headers) == (404, False)

    sites.run(script)


def test_cookies_of_a_site_with_tls_are_sent_over_tls_only(sites):
    """That of the front page, and those of the campaigns."""
    sites.app.set_address("127.0.0.1", 80, "https://judge.example")

    async def script():
        async with sites.client() as client:
            answer = await client.post("/sign-in", data={"name": "lea", "password": SECRET})
            assert ["Secure" in cookie for cookie in answer.headers.get_list("set-cookie")] == [True] * 5

    sites.run(script)


def test_many_attempts_are_slowed_down(sites):
    """From one address, for names that no campaign has too."""

    async def script():
        async with sites.client() as client:
            form = {"name": "nobody", "password": "x"}
            answers = [await client.post("/sign-in", data=form) for _ in range(3)]
            assert {answer.status_code for answer in answers} == {401}
            sites.app.limits._buckets["sign-in"].clear()
            sites.app.limits._rates["sign-in"] = (1, 600.0)
            assert (await client.post("/sign-in", data=form)).status_code == 401
            limited = await client.post("/sign-in", data=form)
            assert (limited.status_code, limited.headers["retry-after"]) == (429, "60")

    sites.run(script)


def test_a_campaign_whose_folder_is_gone_hides_no_other(sites):
    """The page of metrics has all campaigns, and those that could not be opened are counted."""
    sites.site.problems["ash"] = "gold.csv, line 3: the grade is 7"
    folder = sites.site.studios["oak"].campaign.folder

    async def script():
        folder.rename(folder.with_name("gone"))
        transport = httpx.ASGITransport(sites.app, client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            text = (await client.get("/metrics")).text
            assert 'adjudge_database_bytes{campaign="oak"} NaN' in text
            assert re.search(r'adjudge_database_bytes{campaign="elm"} \d', text)
            assert "\nadjudge_unserved_campaigns 1.0\n" in text
            unready = (await client.get("/readyz")).json()
            assert unready["campaign"] == "oak"
            assert unready["reason"] == "The campaign's folder cannot be used: No such file or directory."
            assert (await client.head("/healthz")).status_code == 200
        folder.with_name("gone").rename(folder)

    sites.run(script)


def test_programs_get_errors_in_the_shape_of_the_api(sites):
    """Also at addresses that no campaign has, for any method that the API has."""
    sites.site.problems["ash"] = "gold.csv, line 3: the grade is 7"

    async def script():
        async with sites.client() as client:
            for method, path, status, code in (
                ("GET", "/api/v1/judgments", 404, "http"),
                ("GET", "/c/nothing/api/v1/judgments", 404, "campaign_unknown"),
                ("POST", "/c/nothing/api/v1/judgments", 404, "campaign_unknown"),
                ("POST", "/c/ash/api/v1/judgments", 503, "campaign_hindered"),
                ("PUT", "/c/nothing/api/v1/judgments", 405, "http"),
            ):
                answer = await client.request(method, path)
                assert (answer.status_code, answer.json()["code"]) == (status, code), path
                assert ("retry-after" in answer.headers) == (status == 503)
            assert (await client.put("/sign-in")).headers["allow"] == "GET, POST"

    sites.run(script)


def test_a_fault_of_the_front_page_is_logged_and_answered(sites, monkeypatch, caplog):
    """As a page with the headers of all pages, and the id under which the log has the traceback."""

    def boom(_):
        raise RuntimeError("a fault")

    monkeypatch.setattr(web_site, "is_local", boom)

    async def script():
        transport = httpx.ASGITransport(sites.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            answer = await client.get("/metrics", headers={"X-Request-ID": "abc-1234.x"})
        assert (answer.status_code, answer.headers["x-request-id"]) == (500, "abc-1234.x")
        assert "Something went wrong in the studio." in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")

    sites.run(script)
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.event == {"request_id": "abc-1234.x"}


def test_warnings_of_jobs_name_their_campaign(sites):
    """Each job of a campaign, and each request, writes to the log under its name."""
    named = {}

    async def note(studio):
        named[studio.campaign.folder.name] = CAMPAIGN.get()

    for studio in sites.site.studios.values():
        studio.jobs.append(partial(note, studio))

    async def script():
        await asyncio.sleep(0.05)
        assert CAMPAIGN.get() == ""

    sites.run(script)
    assert named == {"elm": "elm", "oak": "oak"}


def test_files_that_were_changed_outside_are_not_cloned(sites):
    """A lead decides about them first: the clone has what the campaign works with."""

    async def script():
        client = await sites.signed_in()
        path = sites.site.studios["elm"].campaign.folder / "topics.jsonl"
        path.write_text(path.read_text().replace("query 1", "other"))
        form = {"csrf": await token_of(client), "folder": "ash"}
        refused = await client.post("/campaigns/elm/clone", data=form)
        assert refused.status_code == 409
        assert "was changed outside of the studio" in refused.text
        assert not (sites.site.folder / "ash").exists()

    sites.run(script)
