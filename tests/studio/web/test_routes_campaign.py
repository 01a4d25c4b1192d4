"""The pages on which a lead changes the campaign, and a reviewer looks at it."""

import re

import pytest

from adjudge.studio.desk.settings_form import field_text, value_of
from adjudge.studio.settings import SETTINGS
from adjudge.studio.web.render import DONE

BASE = "/desk/campaign"
PAGES = ("", "/instructions", "/topics", "/gold", "/documents", "/history", "/history/1")


@pytest.fixture
def site(file_site):
    """Return a served campaign with a lead and a reviewer."""
    made = file_site(topics=2, jobs=0)
    made.lead, made.reviewer = made.made.person("lea", "lead"), made.made.person("rex", "reviewer")
    return made


def look(site, path, person=None):
    """Return a page as the lead sees it."""
    return site.ask("GET", BASE + path, person or site.lead)


def send(site, path, *files, person=None, **form):
    """Send a form as the lead, based on the present revisions of some files."""
    base = {f"base-{file}": site.studio.ledger.files[file] for file in files}
    return site.ask("POST", BASE + path, person or site.lead, data={**base, **form})


def fields(page):
    """Return the fields that a confirmation would send again."""
    texts = re.findall(r'<textarea name="([^"]+)" hidden>\n([^<]*)</textarea>', page)
    return dict(texts) | dict(re.findall(r'<input type="hidden" name="(confirmed)" value="([^"]+)">', page))


def test_reviewers_look_and_change_nothing(site):
    """Their pages have no buttons that save; what they send is refused."""
    for path in PAGES:
        page = look(site, path, site.reviewer)
        assert page.status_code == 200, path
        assert "Only a lead changes a campaign" in page.text, path
        assert "Check the change" not in page.text, path
        assert look(site, path).status_code == 200, path
    for path in (
        "/settings",
        "/instructions",
        "/topics",
        "/gold",
        "/documents",
        "/history/files",
        "/history/1/restore",
    ):
        assert send(site, path, person=site.reviewer).status_code == 403, path


def test_settings_are_shown_with_limits_and_defaults(site):
    """Each field with its meaning."""
    page = look(site, "").text
    assert 'id="gate.binary" name="gate.binary" value="0.85"' in page
    assert "The lowest binary score on gold that passes; 0 turns it off. A number from 0 to 1; default 0.85." in page
    assert "<option selected>printed</option>" in page
    assert "Stop the studio, and change this in campaign.toml." in page


def test_a_setting_is_changed_in_two_steps(site):
    """The first says what changes and what that means; the second saves it."""
    settings = site.studio.campaign.settings
    shown = {setting.name: field_text(value_of(settings, setting)) for setting in SETTINGS}
    first = send(site, "/settings", "campaign.toml", **{**shown, "gate.binary": "0.8"})
    assert first.status_code == 200
    assert re.findall(r"<li>([^<]*-&gt;[^<]*)</li>", first.text) == ["gate.binary: 0.85 -&gt; 0.8"]
    assert "Open assignments are graded by the gate under which their judge began." in first.text
    assert site.studio.campaign.settings.gate.binary == 0.85
    second = send(site, "/settings", **fields(first.text))
    assert (second.status_code, second.headers["location"]) == (303, f"{BASE}?done=saved")
    assert site.studio.campaign.settings.gate.binary == 0.8
    assert DONE["saved"] in look(site, "?done=saved").text
    history = look(site, "/history").text
    assert "gate.binary: 0.85 -&gt; 0.8" in history
    number = re.search(r"/history/(\d+)", history[history.index("gate.binary: 0.85") :])[1]
    page = look(site, f"/history/{number}").text
    assert "+ binary = 0.8" in page
    assert "The studio works with this revision." in page


def test_errors_stand_beside_their_fields(site):
    """And what was sent stays in the form."""
    answer = send(site, "/settings", "campaign.toml", **{"gate.binary": "<b>", "gate.ndcg": "0.5"})
    assert answer.status_code == 422
    assert 'id="gate.binary-error">gate.binary is &#39;&lt;b&gt;&#39;, expected a number from 0 to 1</p>' in answer.text
    assert 'value="&lt;b&gt;"' in answer.text
    assert 'value="0.5"' in answer.text
    problems = send(site, "/settings", "campaign.toml", **{"assignment.documents": "4"})
    assert problems.status_code == 422
    assert "expected 4 (assignment.documents)" in problems.text


def test_a_save_that_comes_too_late_shows_what_has_changed(site):
    """The second of two editors sees the change of the first."""
    form = {"base-campaign.toml": site.studio.ledger.files["campaign.toml"], "confirmed": "1"}
    assert send(site, "/settings", **form, **{"gate.binary": "0.8"}).status_code == 303
    late = send(site, "/settings", **form, **{"gate.binary": "0.7"})
    assert late.status_code == 409
    assert "campaign.toml was changed while you were editing it" in late.text
    assert "binary = 0.8" in late.text
    assert site.studio.campaign.settings.gate.binary == 0.8


def test_instructions_have_a_preview(site):
    """In paragraphs, escaped, before anything is saved."""
    form = {"campaign.instructions": "Read <b>slowly</b>.\r\n\r\nThen judge."}
    page = send(site, "/instructions", "campaign.toml", preview="1", **form).text
    assert "<p>Read &lt;b&gt;slowly&lt;/b&gt;.</p>" in page
    assert "<p>Then judge.</p>" in page
    first = send(site, "/instructions", "campaign.toml", **form)
    assert "campaign.instructions: 0 -&gt; 32 characters" in first.text
    assert (
        send(
            site,
            "/instructions",
            confirmed="1",
            **form,
            **{"base-campaign.toml": site.studio.ledger.files["campaign.toml"]},
        ).status_code
        == 303
    )
    assert site.studio.campaign.settings.campaign.instructions == "Read <b>slowly</b>.\n\nThen judge."


def test_topics_are_found_changed_and_added(site):
    """Judges see the new text; a topic without a query is refused with its line."""
    assert 'value="query 1"' in look(site, "/topics?topic=t1&find=query").text
    form = {"topic": "t1", "query": "other words", "new": "0", "confirmed": "1"}
    assert send(site, "/topics", "topics.jsonl", **form).headers["location"] == f"{BASE}/topics?done=saved"
    assert site.studio.campaign.topics["t1"].query == "other words"
    added = send(site, "/topics", "topics.jsonl", topic="t/9 & more", query="new", new="1", confirmed="1")
    assert added.status_code == 303
    assert "topic=t/9%20%26%20more" in look(site, "/topics?find=more").text
    broken = send(site, "/topics", "topics.jsonl", topic="t8", query="", new="1")
    assert broken.status_code == 422
    assert "topics.jsonl, line 4: topic &#39;t8&#39; has no query" in broken.text


def test_gold_is_changed_with_its_sets(site):
    """Gold that a set needs is removed with the set, after both were said."""
    pair = next(iter(site.studio.campaign.gold))
    page = look(site, f"/gold?topic={pair[0]}&document={pair[1]}").text
    assert f'value="{pair[1]}"' in page
    form = {"topic": pair[0], "document": pair[1]}
    first = send(site, "/gold", "gold.csv", "sets.csv", remove="1", **form)
    assert "1 set of sets.csv cannot be used any more and will be left out" in first.text
    assert "gold-0-0: of its 5 documents, 4 have a grade" in first.text
    assert fields(first.text)["confirmed"] == "2"
    assert send(site, "/gold", "gold.csv", "sets.csv", remove="1", confirmed="1", **form).status_code == 200
    assert send(site, "/gold", **fields(first.text)).status_code == 303
    assert pair not in site.studio.campaign.gold
    assert "gold-0-0" not in {part.name for part in site.studio.campaign.sets}
    assert send(site, "/gold", "gold.csv", grade="7", **form).status_code == 422


def test_documents_are_added_by_upload(site):
    """Names of files are only names; problems come with the line, and nothing is added then."""
    more = b'{"document": "new", "title": "New", "kind": "text", "content": "words"}\n'
    files = {"documents": ("../../evil.jsonl", more), "pairs": ("pairs.csv", b"topic,document\nt0,new\n")}
    answer = site.ask("POST", f"{BASE}/documents", site.lead, files=files)
    assert answer.status_code == 200, answer.text
    assert "document &#39;new&#39; of topic &#39;t0&#39; is to be judged" in answer.text
    assert ("t0", "new") in site.studio.campaign.pool
    again = site.ask("POST", f"{BASE}/documents", site.lead, files=files)
    assert again.status_code == 422
    assert "evil.jsonl, line 1: document &#39;new&#39; is there twice: rename one" in again.text
    assert "/tmp" not in again.text
    assert send(site, "/documents").status_code == 422


def test_names_of_uploads_are_only_names(site):
    """Two files with the same name are two files, and odd or long names are no fault."""
    more = b'{"document": "new", "title": "New", "kind": "text", "content": "words"}\n'
    files = {"documents": ("data.jsonl", more), "pairs": ("data.jsonl", b'{"topic": "t0", "document": "new"}\n')}
    answer = site.ask("POST", f"{BASE}/documents", site.lead, files=files)
    assert answer.status_code == 200, answer.text
    assert ("t0", "new") in site.studio.campaign.pool
    for name in ("..", "...", "\N{CJK UNIFIED IDEOGRAPH-4E00}" * 200 + ".jsonl"):
        answer = site.ask("POST", f"{BASE}/documents", site.lead, files={"documents": (name, more)})
        assert answer.status_code == 422, name
        assert site.made.folder.parent.name not in answer.text


def test_files_changed_outside_are_shown_and_used(site):
    """Every page of the desk says so; the history says what they would change."""
    path = site.made.folder / "campaign.toml"
    path.write_text(path.read_text().replace("seconds = 0", "seconds = 4"))
    page = look(site, "/history").text
    assert "Changed outside of the studio: campaign.toml" in page
    assert "gate.seconds: 0.0 -&gt; 4.0" in page
    assert "campaign.toml was changed outside of the studio" in look(site, "").text
    assert send(site, "/history/files").headers["location"] == f"{BASE}/history?done=saved"
    assert site.studio.campaign.settings.gate.seconds == 4.0
    path.write_text("[gate")
    page = look(site, "/history")
    assert "campaign.toml, line 1: is not TOML" in page.text
    number = re.search(r"/history/(\d+)/restore", page.text)[1]
    assert send(site, f"/history/{number}/restore", "campaign.toml", confirmed="1").status_code == 303
    assert site.studio.campaign.settings.gate.seconds == 4.0
    assert "seconds = 4" in path.read_text()


def test_an_earlier_revision_is_restored_as_a_new_one(site):
    """After a confirmation; the hash of documents alone cannot be restored."""
    first = {row: number for number, row in enumerate(sorted(site.studio.ledger.files), 1)}
    assert len(first) == 6
    before = (site.made.folder / "topics.jsonl").read_bytes()
    send(site, "/topics", "topics.jsonl", topic="t1", query="other", new="0", confirmed="1")
    history = look(site, "/history").text
    number = next(n for n in re.findall(r"/history/(\d+)\">topics.jsonl", history)[1:])
    assert (
        f'name="base-topics.jsonl" value="{site.studio.ledger.files["topics.jsonl"]}"'
        in look(site, f"/history/{number}").text
    )
    page = send(site, f"/history/{number}/restore", "topics.jsonl").text
    assert "topic &#39;t1&#39;: query changed" in page
    saved = send(site, f"/history/{number}/restore", **fields(page))
    assert saved.headers["location"] == f"{BASE}/history?done=saved"
    assert (site.made.folder / "topics.jsonl").read_bytes() == before
    assert "an earlier revision" in look(site, "/history").text
    documents = re.search(r"/history/(\d+)\">documents.jsonl", history)[1]
    assert send(site, f"/history/{documents}/restore").status_code == 404
    assert look(site, "/history/999").status_code == 404


def test_a_revision_is_not_restored_over_what_others_have_changed_since(site):
    """A change that comes between the page that says what would change and its confirmation is shown, and stays."""
    form = {"topic": "t1", "new": "0", "confirmed": "1"}
    send(site, "/topics", "topics.jsonl", query="first", **form)
    number = re.findall(r"/history/(\d+)\">topics.jsonl", look(site, "/history").text)[-1]
    page = send(site, f"/history/{number}/restore", "topics.jsonl").text
    send(site, "/topics", "topics.jsonl", query="second", **form)
    late = send(site, f"/history/{number}/restore", **fields(page))
    assert late.status_code == 409
    assert "topics.jsonl was changed while you were editing it" in late.text
    assert site.studio.campaign.topics["t1"].query == "second"


def test_hosts_of_a_platform_hold_at_once(site):
    """The page that it shows in a frame allows them from the next request on."""
    assert "worker.mturk.com" not in site.ask("GET", "/crowd/mturk").headers["content-security-policy"]
    form = {"mturk.enabled": "true", "confirmed": "1"}
    assert send(site, "/settings", "campaign.toml", **form).status_code == 303
    assert "worker.mturk.com" in site.ask("GET", "/crowd/mturk").headers["content-security-policy"]


def test_limits_hold_at_once(site):
    """Of the requests of one person."""
    form = {"limits.requests_per_minute": "60", "confirmed": "1"}
    assert send(site, "/settings", "campaign.toml", **form).status_code == 303
    answers = [look(site, "/instructions").status_code for _ in range(70)]
    assert answers.count(429) > 5
