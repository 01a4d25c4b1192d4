"""The pages of the desk, and exports and imports for people and programs."""

import asyncio
import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from adjudge.studio.access import Signer
from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk import imports
from adjudge.studio.desk import pages as log
from adjudge.studio.desk.exports import EXPORTS
from adjudge.studio.record.audit import find_faults
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import create_app
from adjudge.studio.web.render import DONE, NAVIGATION, PARTS
from adjudge.studio.web.security import COOKIE
from adjudge.studio.work import commands

PAGES = ("/desk", "/desk/live", "/desk/progress", "/desk/charts", "/desk/judges", "/desk/gold", "/desk/items")
PAGES += ("/desk/items/list.csv", "/desk/items/look", "/desk/items/ranks", "/desk/data", "/desk/audit")


class Site:
    """A studio that answers in this process."""

    def __init__(self, made):
        self.made, self.studio = made, Studio(made.campaign, made.store, Signer(b"k" * 32))
        self.app = create_app(self.studio)
        self.made.store.start()

    def ask(self, person, method, path, **more):
        """Return the answer to one request of somebody, with the page's word against forgery."""

        async def asking():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
                if person is not None:
                    epoch = self.studio.ledger.people[person].epoch
                    session = self.studio.signer.session(person, epoch, 12, self.studio.now())
                    client.cookies.set(COOKIE, session)
                    client.headers["x-csrf"] = self.studio.signer.csrf(session)
                return await client.request(method, path, **more)

        with ThreadPoolExecutor(1) as thread:  # a browser of other tests has a loop in this one
            return thread.submit(lambda: asyncio.run(asking())).result()

    def look(self, path, person=None):
        """Return a page as the lead sees it."""
        return self.ask(person or self.made.lead, "GET", path)

    def post(self, path, person=None, **form):
        """Send a form as the lead."""
        return self.ask(person or self.made.lead, "POST", path, data=form)


@pytest.fixture
def site(desk):
    """Return the small campaign, served; with a reviewer, and a contest of bob's."""
    desk.reviewer = desk.person("rex", "reviewer")
    gold = next(entry for entry in desk.returned.sets if entry.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "<b>it is right</b>")
    return Site(desk)


def test_every_page_is_for_the_desk_alone(site):
    """Leads and reviewers see it, judges are refused, strangers are asked to sign in."""
    pages = (*PAGES, f"/desk/judges/{site.made.ann}", "/desk/items/1", "/desk/documents/1")
    for path in pages:
        assert site.look(path).status_code == 200, path
        assert site.look(path, site.made.reviewer).status_code == 200, path
        assert site.look(path, site.made.ann).status_code == 403, path
        assert site.ask(None, "GET", path).headers["location"] == "/sign-in", path


def test_reviewers_rule_and_change_nothing_else(site):
    """Invitations, tokens, exports of people, standings and the campaign are the lead's."""
    rex = site.made.reviewer
    for path in ("/desk/people", "/desk/data/judgments", "/desk/data/task1", "/desk/data/everything", "/desk/prompts"):
        assert site.look(path, rex).status_code == 403, path
    posts = ("campaign", f"judges/{site.made.ann}/standing", "people/invite", "people/token", "people/token/1/revoke")
    work = (f"assignments/{site.made.open.id}/release", f"assignments/{site.made.returned.id}/approve")
    for path in (*posts, *work):
        assert site.post(f"/desk/{path}", rex, reason="x", standing="paused").status_code == 403, path
    assert site.ask(rex, "POST", "/desk/data", files={"file": b"x"}).status_code == 403
    assert "/desk/people" not in site.look("/desk", rex).text
    assert site.post("/desk/contests/1", rex, upheld="0").headers["location"] == "/desk/gold?done=rejected"


def test_forms_need_the_pages_word(site):
    """Without it, or with another session's, nothing is done."""
    form = {"standing": "excluded", "reason": "x", "csrf": "forged"}
    assert site.post(f"/desk/judges/{site.made.ann}/standing", **form).status_code == 403
    assert not site.studio.ledger.people[site.made.ann].excluded


def test_the_overview_says_how_it_goes(site):
    """Progress, pay, what waits for a ruling; the live part alone is no whole page."""
    page = site.look("/desk").text
    assert "8 of 24 judgments" in page
    assert "3.00 <small>USD</small>" in page
    assert "1 contested gold label</a> waits for your decision" in page
    live = site.look("/desk/live").text
    assert "8 of 24 judgments" in live
    assert "<html" not in live


def test_a_campaign_without_judges_says_what_to_do(site, file_site):
    """The overview leads to the invitations until somebody can judge."""
    assert "Nobody can judge yet." not in site.look("/desk").text
    empty = file_site()
    page = empty.ask("GET", "/desk", empty.made.person("lea", "lead")).text
    assert 'Nobody can judge yet. <a href="/desk/people">Invite judges</a> to start.' in page


def test_a_refresh_sends_what_has_changed(site):
    """Nothing at first; after a pause the notice alone."""
    versions = re.findall(r'data-version="(\w+)"', site.look("/desk").text)
    have = ".".join(versions)
    assert len(versions) == len(PARTS)
    assert site.look(f"/desk/live?have={have}").text == ""
    site.post("/desk/campaign", paused="1")
    changed = site.look(f"/desk/live?have={have}").text
    assert re.findall(r'id="live-(\w+)"', changed) == ["notices"]


def test_items_are_filtered_by_the_address(site):
    """As a page, with links that keep the filter, and as a file; a filter that cannot be read is refused in words."""
    page = site.look("/desk/items?topic=oak&gold=no&sort=-judgments").text
    assert "1 to 6 of 6 items" in page
    assert "oak-0" in page
    assert "elm-0" not in page
    assert "/desk/items/list.csv?topic=oak&amp;gold=no&amp;sort=-judgments" in page
    answer = site.look("/desk/items/list.csv?topic=oak&gold=no&sort=-judgments")
    assert answer.headers["content-disposition"] == 'attachment; filename="items.csv"'
    assert answer.text.startswith("topic,document,state,label,")
    assert answer.text.count("\n") == 7
    refused = site.look("/desk/items?low=many")
    assert refused.status_code == 422
    assert "low is &#39;many&#39;, expected a number from 0 to 100." in refused.text


def test_the_campaign_is_paused_and_goes_on(site):
    """By a button, and the page says so."""
    done = site.post("/desk/campaign", paused="1")
    assert done.headers["location"] == "/desk?done=paused"
    assert (
        "The campaign is paused: judges finish their open assignments and cannot start new ones."
        in site.look("/desk").text
    )
    assert DONE["paused"] in site.look("/desk?done=paused").text
    site.post("/desk/campaign", paused="0")
    assert site.studio.ledger.switches["paused"] == "0"


def test_the_campaign_is_archived_and_reopened(site):
    """By a button of leads, once nobody has open work; every page of the desk says so, and exports stay."""
    assert site.post("/desk/archive", archived="1").status_code == 409
    site.post(f"/desk/assignments/{site.made.open.id}/release")
    assert site.post("/desk/archive", archived="1").headers["location"] == "/desk?done=archived"
    assert "it can be read and exported, and nothing is added to it" in site.look("/desk").text
    assert '<span class="chip warn">archived</span>' in site.look("/desk/judges").text
    assert site.look("/desk/data/judgments").status_code == 200
    assert site.post("/desk/people/invite", role="judge", days="7").status_code == 409
    assert site.post("/desk/archive", archived="0").headers["location"] == "/desk?done=reopened"
    assert '<span class="chip warn">archived</span>' not in site.look("/desk/judges").text


def test_only_known_words_are_echoed(site):
    """A link cannot make the desk say what it likes."""
    assert "hacked" not in site.look("/desk?done=hacked").text


def test_a_judge_is_excluded_with_a_reason(site):
    """Without one it is refused in words; with one the page shows it."""
    path = f"/desk/judges/{site.made.cid}"
    assert (
        "Please give a reason: the judge sees it" in site.post(f"{path}/standing", standing="excluded", reason="").text
    )
    assert site.post(f"{path}/standing", standing="excluded", reason="<i>copies</i>").status_code == 303
    page = site.look(path).text
    assert "&lt;i&gt;copies&lt;/i&gt;" in page
    assert "Reinstate" in page
    assert site.look("/desk/judges/999").status_code == 404


def test_assignments_are_taken_back_and_approved(site):
    """From the judge's page; what is over or not there is refused."""
    created = site.made
    done = site.post(f"/desk/assignments/{created.open.id}/release")
    assert done.headers["location"] == f"/desk/judges/{created.cid}?done=reassigned"
    assert site.post(f"/desk/assignments/{created.open.id}/release").status_code == 409
    done = site.post(f"/desk/assignments/{created.returned.id}/approve")
    assert done.headers["location"] == f"/desk/judges/{created.bob}?done=approved"
    assert site.post(f"/desk/assignments/{created.returned.id}/approve").status_code == 409
    assert site.post("/desk/assignments/999/approve").status_code == 404


def test_contests_are_shown_escaped_and_ruled_on(site):
    """With what the judge said, what gold says, and what upholding would do."""
    page = site.look("/desk/gold").text
    assert "&lt;b&gt;it is right&lt;/b&gt;" in page
    assert "without this document it would still be returned" in page
    assert site.post("/desk/contests/1", upheld="1", reason="a slip").headers["location"] == "/desk/gold?done=upheld"
    assert "a slip" in site.look("/desk/gold").text
    assert site.post("/desk/contests/1", upheld="1").status_code == 409
    assert site.post("/desk/contests/99", upheld="1").status_code == 404


def test_documents_are_shown_as_judges_see_them(site):
    """Sandboxed, with the item's page around them; what is not there is not found."""
    answer = site.look("/desk/documents/1")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    assert '<iframe sandbox title="' in site.look("/desk/items/1").text
    for path in ("/desk/documents/0", "/desk/documents/999", "/desk/items/999"):
        assert site.look(path).status_code == 404


def test_invitations_make_links_that_work(site):
    """The link is shown once, and opens the door; a bad one is refused in words."""
    page = site.post("/desk/people/invite", role="reviewer", name="dora", days="3").text
    link = re.search(r'value="(/join/[^"]+)"', page)[1]
    assert site.ask(None, "GET", link).status_code == 200
    assert link not in site.look("/desk/people").text
    assert site.post("/desk/people/invite", role="judge", name="ann", days="3").status_code == 409
    assert site.post("/desk/people/invite", role="judge", name="x", days="many").status_code == 422


def test_tokens_open_the_api_until_they_are_revoked(site):
    """For their scope alone; the text is shown once."""
    page = site.post("/desk/people/token", name="nightly", scope=["read"]).text
    token = re.search(r'value="(adj_[^"]+)"', page)[1]
    bearer = {"Authorization": f"Bearer {token}"}
    body = site.ask(None, "GET", "/api/live", headers=bearer).json()
    assert (body["judged"], body["needed"], body["pay"]["earned"]) == (8, 24, 3.0)
    assert site.ask(None, "GET", "/api/export/judgments", headers=bearer).status_code == 403
    assert token not in site.look("/desk/people").text
    assert site.post("/desk/people/token/1/revoke").headers["location"] == "/desk/people?done=revoked"
    assert site.ask(None, "GET", "/api/live", headers=bearer).status_code == 401
    assert site.ask(None, "GET", "/api/live").status_code == 401


def test_the_audit_log_is_searched(site):
    """By words, newest first; every way of the bar is a page."""
    assert "gold contested" in site.look("/desk/audit?find=contested").text
    assert "assignment taken" not in site.look("/desk/audit?find=contested").text
    for path, _, _ in NAVIGATION:
        assert site.look(path).status_code == 200


def test_the_audit_log_is_short_of_hashes_and_of_nothing(site):
    """Twelve characters of a fingerprint, the whole of it on pointing; the head in full; what is empty is not named."""
    page = site.look("/desk/audit").text
    assert re.search(r'<code title="([0-9a-f]{12})[0-9a-f]{52}">\1</code>', page)
    assert re.findall(r">[^<]*[0-9a-f]{64}", page) == [
        f">{re.search('[0-9a-f]{64}(?=</code>. Note it down)', page)[0]}"
    ]
    assert not re.search(r"\w: (;|</td>)", page)
    assert "failed: binary time" in page


def test_names_are_never_markup(fresh_desk):
    """A judge whose name is a script is shown as text on every page."""
    fresh_desk.lead = fresh_desk.person("lea", "lead")
    who = fresh_desk.person("<script>alert(1)</script>")
    fresh_desk.work(who)
    site = Site(fresh_desk)
    for path in ("/desk", "/desk/judges", f"/desk/judges/{who}", "/desk/audit"):
        page = site.look(path).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page
    fresh_desk.store.close()


def test_numbers_beyond_every_row_are_refused_in_words(site):
    """A page asked for with any number is a page or a refusal, never a fault."""
    for number in (2**31, 2**63, 2**64, "9" * 5_000, "%C2%B2"):
        for path in ("judges/{}", "items/{}", "documents/{}", "audit?before={}"):
            assert site.look(f"/desk/{path.format(number)}").status_code in (404, 422), path
        for path in ("judges/{}/standing", "assignments/{}/approve", "assignments/{}/release", "contests/{}"):
            answer = site.post(f"/desk/{path.format(number)}", standing="reinstated", upheld="1")
            assert answer.status_code in (404, 422), path
        assert site.post(f"/desk/people/token/{number}/revoke").status_code in (404, 422)
    assert site.post("/desk/people/invite", role="judge", name="x", days="\u00b2").status_code == 422


def test_two_leads_who_approve_at_once_approve_once(site):
    """One of them is told that it is done; the judge is paid once, also when the ledger has forgotten the work."""
    created, path = site.made, f"/desk/assignments/{site.made.returned.id}/approve"
    with ThreadPoolExecutor(2) as both:
        answers = sorted(entry.status_code for entry in both.map(lambda _: site.post(path), range(2)))
    assert answers == [303, 409]
    assert site.studio.ledger.people[created.bob].passed == 1


def test_a_judge_is_reinstated_as_they_were(site):
    """By the button of their page."""
    path = f"/desk/judges/{site.made.cid}"
    site.post(f"{path}/standing", standing="paused", reason="wait")
    assert site.post(f"{path}/standing", standing="reinstated").status_code == 303
    assert site.studio.ledger.people[site.made.cid].standing == "new"


class DataSite:
    """The small campaign, served in this process, with a lead who is signed in and a token for programs."""

    def __init__(self, made):
        self.studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
        self.app = create_app(self.studio)
        self.token = made.do(lead.new_api_token, made.lead, "all", "read export import")
        self.session = self.studio.signer.session(made.lead, 0, 12, self.studio.now())
        made.store.start()

    def ask(self, method, path, program=False, **more):
        """Return the answer to one request of the lead, or of a program."""

        async def asking():
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
                if program:
                    client.headers["authorization"] = f"Bearer {self.token}"
                else:
                    client.cookies.set(COOKIE, self.session)
                    client.headers["x-csrf"] = self.studio.signer.csrf(self.session)
                return await client.request(method, path, **more)

        with ThreadPoolExecutor(1) as thread:  # a browser of other tests has a loop in this one
            return thread.submit(lambda: asyncio.run(asking())).result()

    def upload(self, content, judge=""):
        """Send a file by the form of the page."""
        name = "a.jsonl" if content.startswith(b"{") else "a.csv"
        return self.ask("POST", "/desk/data", files={"file": (name, content)}, data={"judge": judge})


@pytest.fixture
def data_site(desk):
    """Return the small campaign, served."""
    return DataSite(desk)


def test_exports_are_files(data_site):
    """With a name and a length; what needs a consensus says so, what is unknown is not found."""
    answer = data_site.ask("GET", "/desk/data/judgments")
    assert answer.headers["content-disposition"] == 'attachment; filename="judgments.csv"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.text.count("\n") == 13
    assert "'=1+1" in answer.text
    assert "'=1+1" not in data_site.ask("GET", "/desk/data/judgments?raw=1").text
    assert "ann" not in data_site.ask("GET", "/desk/data/judgments?pseudonyms=1").text
    assert zipfile.ZipFile(io.BytesIO(data_site.ask("GET", "/desk/data/everything").content)).testzip() is None
    assert "no consensus yet" in data_site.ask("GET", "/desk/data/qrels").text
    assert data_site.ask("GET", "/desk/data/nothing").status_code == 404


def test_programs_export_raw(data_site):
    """By their token, without apostrophes."""
    answer = data_site.ask("GET", "/api/export/judgments", program=True)
    assert answer.status_code == 200
    assert "'=1+1" not in answer.text
    assert data_site.ask("GET", "/api/export/qrels", program=True).json()["code"] == "export"


def test_the_page_offers_all_there_is(data_site):
    """A link for every export."""
    page = data_site.ask("GET", "/desk/data").text
    assert set(re.findall(r'href="/desk/data/(\w+)"', page)) == set(EXPORTS)


def test_judgments_are_imported_by_the_page(data_site):
    """What was taken is said; problems are listed, and nothing is taken then."""
    content = b"topic,document,judge,label\noak,oak-0,zoe,1\n"
    assert "1 judgments imported from a.csv" in data_site.upload(content).text
    assert "0 judgments imported from a.csv</strong>, 1 were already there" in data_site.upload(content).text
    refused = data_site.upload(b"topic,document,judge,label\noak,oak-0,zoe,0\n").text
    assert "line 2: &#39;zoe&#39; has already judged it relevant" in refused
    broken = data_site.upload(b"topic,document,judge,label\noak,oak-0,zoe,<b>\n")
    assert broken.status_code == 422
    assert "the label is &#39;&lt;b&gt;&#39;, expected relevant or irrelevant" in broken.text


def test_a_program_goes_the_whole_way(data_site):
    """Prompts from the page, answers back by the API, and the accuracy on hidden gold is told."""
    lines = data_site.ask("GET", "/desk/prompts?judge=my-model&limit=10&gold=20").text.splitlines()
    assert len(lines) == 10
    answers = "\n".join(json.dumps({"id": json.loads(line)["id"], "answer": "relevant"}) for line in lines)
    body = data_site.ask("POST", "/api/import?judge=my-model&name=run-1", program=True, content=answers.encode()).json()
    assert (body["taken"], body["judges"], body["name"]) == (10, ["my-model"], "run-1")
    assert body["hidden_gold"]["of"] == 2
    again = data_site.upload(answers.encode(), "my-model").text
    assert "10 were already there" in again
    assert re.search(r"Accuracy on hidden gold: \d of 2", again)
    assert "program</span>" in data_site.ask("GET", "/desk/judges").text


def test_programs_are_told_what_is_wrong(data_site):
    """As JSON, with every problem."""
    answer = data_site.ask(
        "POST", "/api/import", program=True, content=b"topic,document,judge,label\noak,x,zoe,1\n"
    ).json()
    assert answer["problems"] == ["line 2: topic 'oak' with document 'x' is not in this campaign"]
    answer = data_site.ask("POST", "/api/import", program=True, content=b"")
    assert (answer.status_code, answer.json()["code"]) == (422, "import")


@pytest.mark.parametrize(
    "asked", ["gold=100", "gold=150", "gold=%C2%B2", "gold=-1", "limit=%C2%B2", "limit=0", "gold="]
)
def test_numbers_that_are_none_are_refused_in_words(data_site, asked):
    """Not with a fault of ours."""
    answer = data_site.ask("GET", f"/desk/prompts?judge=x&{asked}")
    assert answer.status_code == 422
    assert ", expected a whole number from " in answer.text


def test_large_files_come_in_batches(data_site, monkeypatch):
    """Each batch is a command of its own; a problem in the last one is found before the first is taken."""
    monkeypatch.setattr(imports, "BATCH", 2)
    rows = "".join(f"oak,oak-{n},zoe,1\n" for n in (0, 1, 2, 2, 3))
    bad = data_site.ask(
        "POST", "/api/import", program=True, content=f"topic,document,judge,label\n{rows}oak,x,zoe,1\n".encode()
    )
    assert (bad.json()["taken"], len(bad.json()["problems"])) == (0, 1)
    assert "zoe" not in data_site.studio.ledger.named
    for used, skipped in ((4, 1), (0, 5)):
        content = f"topic,document,judge,label\n{rows}".encode()
        body = data_site.ask("POST", "/api/import", program=True, content=content).json()
        assert (body["taken"], body["skipped"], body["problems"]) == (used, skipped, [])
    with data_site.studio.store.reading() as connection:
        entries = [
            list_audit_entry
            for list_audit_entry in log.list_audit_entries(connection)
            if list_audit_entry.action == "judgments imported"
        ]
        assert find_faults(connection, data_site.studio.campaign) == []
    assert [(list_audit_entry.who, list_audit_entry.detail["taken"]) for list_audit_entry in entries] == [
        ("API token all", n) for n in (1, 1, 2)
    ]


ANSWERS = b"topic,document,judge,label\noak,oak-0,dan,1\n"


class Unread:
    """A body of a request that notes how much of it was read."""

    def __init__(self, size=50_000_000):
        self.size, self.read = size, 0

    async def __aiter__(self):
        while self.read < self.size:
            self.read += 100_000
            yield bytes(100_000)


def upload_raw(site, path, headers, body):
    """Send a body in parts, and return the status and how much of it the studio took."""
    parts, statuses = body.__aiter__(), []

    async def receive():
        try:
            return {"type": "http.request", "body": await anext(parts), "more_body": True}
        except StopAsyncIteration:
            return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        statuses.append(message.get("status"))

    pairs = [(name.encode(), value.encode()) for name, value in {"host": "studio", **headers}.items()]
    scope = {"type": "http", "method": "POST", "path": path.partition("?")[0], "headers": pairs, "scheme": "http"}
    scope |= {"query_string": path.partition("?")[2].encode(), "http_version": "1.1", "client": ("192.0.2.1", 1)}
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(site.app(scope, receive, send))).result()
    return statuses[0], body.read


@pytest.mark.parametrize("length", [{"content-length": "50000000"}, {"transfer-encoding": "chunked"}])
def test_uploads_of_strangers_are_not_read(data_site, length):
    """Without a session, with a forged one, or without the token of the page, nothing is stored or held."""
    form = {"content-type": "multipart/form-data; boundary=x", **length}
    cookie = {"cookie": f"{COOKIE}={data_site.session}"}
    for path, headers, statuses in (
        ("/desk/data", form, (401, 303)),
        ("/desk/data", {**form, "cookie": f"{COOKIE}=forged"}, (401, 303)),
        ("/desk/data", {**form, **cookie}, (403,)),
        ("/desk/data?csrf=wrong", {**form, **cookie}, (403,)),
        ("/api/import", length, (401,)),
        ("/api/import", {**length, "authorization": "Bearer adj_forged"}, (401,)),
        ("/api/import", {**length, **cookie}, (401,)),
        ("/sign-in", {**length, "content-type": "application/x-www-form-urlencoded"}, (401, 413)),
        ("/api/answers", {**length, "content-type": "application/json"}, (401, 413)),
    ):
        status, read = upload_raw(data_site, path, headers, Unread())
        assert status in statuses, path
        assert read <= 100_000, path


def test_the_form_for_files_has_its_token_in_its_address(data_site):
    """The token can be checked before the file is read; a browser without scripts sends it."""
    page = data_site.ask("GET", "/desk/data").text
    address = re.search(r'action="(/desk/data\?csrf=[^"]+)"', page)[1]
    answer = data_site.ask("POST", address, headers={"x-csrf": ""}, files={"file": ("a.csv", ANSWERS)})
    assert answer.status_code == 200
    assert "1 judgments imported from a.csv" in answer.text


def test_few_files_are_imported_at_the_same_time(data_site):
    """The next one waits; a failed upload does not count for ever."""
    for _ in range(5):
        assert data_site.ask("POST", "/desk/data", data={"judge": "x"}).status_code == 422
    data_site.app.state.uploads = 2
    refused = data_site.upload(ANSWERS)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert "Other files are being imported. Try again in a minute." in refused.text
    assert data_site.ask("POST", "/api/import", program=True, content=ANSWERS).status_code == 429
    data_site.app.state.uploads = 0
    assert data_site.upload(ANSWERS).status_code == 200
    assert data_site.app.state.uploads == 0
