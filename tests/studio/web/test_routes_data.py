"""Exports, imports and prompts over HTTP."""

import asyncio
import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk import imports
from adjudge.studio.desk import pages as log
from adjudge.studio.desk.exports import EXPORTS
from adjudge.studio.identity.access import Signer
from adjudge.studio.record.audit import find_faults
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import create_app
from adjudge.studio.web.sessions import COOKIE


class Site:
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
def site(desk):
    """Return the small campaign, served."""
    return Site(desk)


def test_exports_are_files(site):
    """With a name and a length; what needs a consensus says so, what is unknown is not found."""
    answer = site.ask("GET", "/desk/data/judgments")
    assert answer.headers["content-disposition"] == 'attachment; filename="judgments.csv"'
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert answer.text.count("\n") == 13
    assert "'=1+1" in answer.text
    assert "'=1+1" not in site.ask("GET", "/desk/data/judgments?raw=1").text
    assert "ann" not in site.ask("GET", "/desk/data/judgments?pseudonyms=1").text
    assert zipfile.ZipFile(io.BytesIO(site.ask("GET", "/desk/data/everything").content)).testzip() is None
    assert "no consensus yet" in site.ask("GET", "/desk/data/qrels").text
    assert site.ask("GET", "/desk/data/nothing").status_code == 404


def test_programs_export_raw(site):
    """By their token, without apostrophes."""
    answer = site.ask("GET", "/api/export/judgments", program=True)
    assert answer.status_code == 200
    assert "'=1+1" not in answer.text
    assert site.ask("GET", "/api/export/qrels", program=True).json()["code"] == "export"


def test_the_page_offers_all_there_is(site):
    """A link for every export."""
    page = site.ask("GET", "/desk/data").text
    assert set(re.findall(r'href="/desk/data/(\w+)"', page)) == set(EXPORTS)


def test_judgments_are_imported_by_the_page(site):
    """What was taken is said; problems are listed, and nothing is taken then."""
    content = b"topic,document,judge,label\noak,oak-0,zoe,1\n"
    assert "1 judgments imported from a.csv" in site.upload(content).text
    assert "0 judgments imported from a.csv</strong>, 1 were already there" in site.upload(content).text
    refused = site.upload(b"topic,document,judge,label\noak,oak-0,zoe,0\n").text
    assert "line 2: &#39;zoe&#39; has already judged it relevant" in refused
    broken = site.upload(b"topic,document,judge,label\noak,oak-0,zoe,<b>\n")
    assert broken.status_code == 422
    assert "the label is &#39;&lt;b&gt;&#39;, expected relevant or irrelevant" in broken.text


def test_a_program_goes_the_whole_way(site):
    """Prompts from the page, answers back by the API, and the accuracy on hidden gold is told."""
    lines = site.ask("GET", "/desk/prompts?judge=my-model&limit=10&gold=20").text.splitlines()
    assert len(lines) == 10
    answers = "\n".join(json.dumps({"id": json.loads(line)["id"], "answer": "relevant"}) for line in lines)
    told = site.ask("POST", "/api/import?judge=my-model&name=run-1", program=True, content=answers.encode()).json()
    assert (told["taken"], told["judges"], told["name"]) == (10, ["my-model"], "run-1")
    assert told["hidden_gold"]["of"] == 2
    again = site.upload(answers.encode(), "my-model").text
    assert "10 were already there" in again
    assert re.search(r"Accuracy on hidden gold: \d of 2", again)
    assert "program</span>" in site.ask("GET", "/desk/judges").text


def test_programs_are_told_what_is_wrong(site):
    """As JSON, with every problem."""
    answer = site.ask("POST", "/api/import", program=True, content=b"topic,document,judge,label\noak,x,zoe,1\n").json()
    assert answer["problems"] == ["line 2: topic 'oak' with document 'x' is not in this campaign"]
    answer = site.ask("POST", "/api/import", program=True, content=b"")
    assert (answer.status_code, answer.json()["code"]) == (422, "import")


@pytest.mark.parametrize(
    "asked", ["gold=100", "gold=150", "gold=%C2%B2", "gold=-1", "limit=%C2%B2", "limit=0", "gold="]
)
def test_numbers_that_are_none_are_refused_in_words(site, asked):
    """Not with a fault of ours."""
    answer = site.ask("GET", f"/desk/prompts?judge=x&{asked}")
    assert answer.status_code == 422
    assert ", expected a whole number from " in answer.text


def test_large_files_come_in_batches(site, monkeypatch):
    """Each batch is a command of its own; a problem in the last one is found before the first is taken."""
    monkeypatch.setattr(imports, "BATCH", 2)
    rows = "".join(f"oak,oak-{n},zoe,1\n" for n in (0, 1, 2, 2, 3))
    bad = site.ask(
        "POST", "/api/import", program=True, content=f"topic,document,judge,label\n{rows}oak,x,zoe,1\n".encode()
    )
    assert (bad.json()["taken"], len(bad.json()["problems"])) == (0, 1)
    assert "zoe" not in site.studio.ledger.named
    for taken, skipped in ((4, 1), (0, 5)):
        content = f"topic,document,judge,label\n{rows}".encode()
        told = site.ask("POST", "/api/import", program=True, content=content).json()
        assert (told["taken"], told["skipped"], told["problems"]) == (taken, skipped, [])
    with site.studio.store.reading() as connection:
        entries = [one for one in log.list_audit_entries(connection) if one.action == "judgments imported"]
        assert find_faults(connection, site.studio.campaign) == []
    assert [(one.who, one.detail["taken"]) for one in entries] == [("API token all", n) for n in (1, 1, 2)]
