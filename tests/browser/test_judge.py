"""The judge's way in a real browser, against the real studio: by keyboard, by mouse, without network, on a phone."""

import asyncio
import gzip
import json
import re
import threading
import time
from types import SimpleNamespace

import pytest

SETTINGS = """
[campaign]
name = "Trees"
instructions = "Read the topic first.\\n\\nThen judge."
contact = "lea@example.org"
[assignment]
sets = 2
[gate]
ndcg = 0.3
seconds = 0.2
[qualification]
jobs = 1
correct = 2
attempts = 2
[redundancy]
judgments = 90
[pay]
amount = 1.5
most_returns = 50
"""
GRADES = (2, 0, 1, 0, 1)
KINDS = {"pool": "d", "gold": "g", "gold 2": "h", "qualification": "q"}
SERIOUS = ("serious", "critical")


def campaign_files(folder):
    """Write a campaign whose titles tell the right answer: "Yes ..." or "No ..."."""
    topics, documents = [], []
    files = {
        "pool.csv": ["topic,document"],
        "gold.csv": ["topic,document,grade,reason"],
        "sets.csv": ["set,use,topic,document"],
    }
    for topic in ("oak", "elm", "ash"):
        about = {
            "description": f"All about {topic} trees.",
            "narrative": "Relevant is what a forester would read. " * 6,
        }
        topics.append({"topic": topic, "query": f"how old is an {topic}", **about})
        for kind, mark in KINDS.items():
            for n, grade in enumerate(GRADES):
                name = f"{topic}-{mark}{n}"
                title = f"{'Yes' if grade else 'No'} {name}, a rather long title of a document"
                text = f"The {topic} grows. " * 40 + "Its needle is rare."
                documents.append({"document": name, "title": title, "kind": "text", "content": text})
                if kind == "pool":
                    files["pool.csv"].append(f"{topic},{name}")
                else:
                    files["gold.csv"].append(f"{topic},{name},{grade},because it says so")
                    files["sets.csv"].append(f"{kind} {topic},{kind.split()[0]},{topic},{name}")
    files["topics.jsonl"] = [json.dumps(row) for row in topics]
    files["documents.jsonl"] = [json.dumps(row) for row in documents]
    files["campaign.toml"] = [SETTINGS]
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a studio that is being served, and what tests do with it."""
    import uvicorn

    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import create_app

    studio = open_studio(campaign_files(tmp_path_factory.mktemp("trees")))
    config = uvicorn.Config(create_app(studio), port=0, log_level="error", ws="none", loop="asyncio")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True)
    thread.start()
    until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield SimpleNamespace(studio=studio, url=f"http://127.0.0.1:{port}")
    server.should_exit = True
    thread.join(10)


def until(holds, pause=time.sleep):
    """Wait until something holds; where a browser has to go on meanwhile, it is told how to ``pause``."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        pause(0.02)


class Judge:
    """A judge with a browser."""

    count = 0

    def __init__(self, site, chromium, qualified=True, language="en", **options):
        Judge.count += 1
        self.site, self.name = site, f"judge {Judge.count}"
        self.person = site.studio.store.do(lambda ledger, now: added(ledger, now, self.name, qualified, language))
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.complaints, self.foreign = [], []
        self.sign_in()

    def sign_in(self):
        """Let the browser have a session."""
        from adjudge.studio.web.security import COOKIE

        studio = self.site.studio
        epoch = studio.ledger.people[self.person].epoch
        session = studio.signer.session(self.person, epoch, 12, studio.now())
        self.context.add_cookies([{"name": COOKIE, "value": session, "url": self.site.url}])

    def page(self, path="/judge"):
        """Open a page; what it complains about, or asks of others, is noted."""
        page = self.context.new_page()
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "request", lambda sent: self.foreign.append(sent.url) if not sent.url.startswith(self.site.url) else None
        )
        page.goto(self.site.url + path)
        return page

    def at_work(self):
        """Open the page, and begin."""
        page = self.page()
        page.click("[data-part=begin]")
        page.wait_for_selector(".ranked")
        return page

    def answers(self):
        """Return what the studio has of the set that the judge is at."""
        ledger = self.site.studio.ledger
        assignment = ledger.assignments[ledger.people[self.person].last]
        return assignment.sets[assignment.finished].answers


def added(ledger, now, name, qualified, language):
    """Add a judge."""
    from adjudge.studio.access import hash_password
    from adjudge.studio.record import schema
    from adjudge.studio.record.store import Change
    from adjudge.studio.work.people import password_row, person_row

    row = {**person_row(ledger, now, name, "judge"), "language": language}
    rows = [(schema.people, row), (schema.passwords, password_row(ledger, now, row["id"], hash_password(PASSWORD)))]
    if qualified:
        number = ledger.next_id(schema.standings)
        standing = {"id": number, "at": now, "person": row["id"], "standing": "qualified", "reason": "", "by": None}
        rows.append((schema.standings, standing))
    return Change(rows, row["id"])


PASSWORD = "seven green trees"


@pytest.fixture
def judge(site, chromium):
    """Return a maker of judges; none of their pages may complain, or ask anybody but the studio."""
    collected = []

    def make(**options):
        collected.append(Judge(site, chromium, **options))
        return collected[-1]

    yield make
    for entry in collected:
        entry.context.close()
        assert [line for line in entry.complaints if "Failed to load resource" not in line] == []
        assert entry.foreign == []


def title(page):
    """Return the title of the open document."""
    return page.inner_text("[data-part=title]")


def saved(page):
    """Wait until the page says that all is saved."""
    page.wait_for_selector(".saved[data-state=saved]")


def seconds_shown(page, slot=0):
    """Return for how many seconds a document was open, as the page says."""
    return int(page.inner_text(f"[role=tab] >> nth={slot} >> .time").split()[0])


def message(page):
    """Return the live message."""
    return page.inner_text("[data-part=message-text]")


def order(page):
    """Return the documents' letters, best first."""
    return "".join(page.locator(".ranked .letter").all_inner_texts())


def read(page):
    """Wait until the open document was open for long enough, so that it is not judged too fast."""
    page.wait_for_selector("[role=tab][aria-selected=true]:not(.brief)")


def judge_set(page, wrong=False, documents=5):
    """Judge a set by keys, by what the titles tell or the other way round."""
    for _ in range(documents):
        before = title(page)
        read(page)
        page.keyboard.press("r" if ("Yes" in before) != wrong else "i")
    page.wait_for_selector("[data-part=message][data-kind=fine]")


def tab_to(page, selector, most=80):
    """Press Tab until something has the focus."""
    for _ in range(most):
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by Tab")


def test_the_whole_way_by_keyboard(site, judge):
    """Sign in, qualify, judge, be reviewed, submit: without a mouse."""
    session = judge(qualified=False)
    session.context.clear_cookies()
    page = session.page("/sign-in")
    page.wait_for_selector("#name:focus")  # a browser that has just begun gives it some frames after the load
    page.keyboard.type(session.name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    assert (page.input_value("#name"), page.input_value("#password")) == (session.name, PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-part=begin]")
    assert "at least 2" in page.inner_text("[data-part=rules] >> nth=1")
    tab_to(page, "[data-part=begin]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ranked")
    judge_set(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=You are qualified")
    tab_to(page, "[data-part=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Start an assignment")
    tab_to(page, "[data-part=begin]")
    page.keyboard.press("Enter")
    for at in (1, 2):
        page.wait_for_selector(f"text=Set {at} of 2")
        assert page.evaluate("document.activeElement.id") == "topic"
        judge_set(page)
        tab_to(page, "[data-part=next]")
        page.keyboard.press("Enter")
    page.wait_for_selector("text=Your assignment passed")
    assert page.evaluate("document.activeElement.textContent") == "Your assignment passed"
    tab_to(page, "[data-part=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-part=completion]:visible")
    assert re.fullmatch(r"[A-Z0-9]{4}(-[A-Z0-9]{4})+", page.inner_text("[data-part=code]"))
    assert len(site.studio.ledger.people[session.person].counted) == 5  # the gold set is no judgment of work
    assert page.evaluate("Object.keys(localStorage).filter(name => name.includes('/work/'))") == []


def test_the_whole_way_by_mouse(judge):
    """And wrongly: what was missed is named, a document is contested, and one may begin again."""
    page = judge().at_work()
    for _ in range(2):
        at = page.inner_text("[data-part=set]")
        for _ in range(5):
            read(page)
            right = "Yes" in title(page)
            page.click(f".choice:has([value={'irrelevant' if right else 'relevant'}])")
        page.click("[data-part=next]")
        page.wait_for_function(
            "at => document.querySelector('[data-part=set]').textContent !== at || "
            "document.querySelector('[data-part=criteria]')",
            arg=at,
        )
    page.wait_for_selector("text=Your assignment was returned")
    summary = page.inner_text("[data-part=summary]")
    assert "Relevance of documents with known answers: at least 85% needed" in summary
    assert "Time" not in summary
    card = page.locator(".mistake").first
    assert "because it says so" in card.inner_text()
    card.locator("text=Contest this").click()
    card.locator("text=Send to the lead").click()
    assert card.locator("textarea").get_attribute("aria-invalid") == "true"
    card.locator("textarea").fill("I have seen this tree.")
    card.locator("text=Send to the lead").click()
    card.locator("text=Contested.").wait_for()
    page.reload()
    page.wait_for_selector("text=Contested. >> visible=true")
    page.click("button:has-text('Start another assignment')")
    page.wait_for_selector("text=Set 1 of 2")


def test_a_judge_may_join_by_invitation(site, judge):
    """A short password is refused with a word on it, a good one is taken."""
    from adjudge.studio.work.people import invite

    session = judge()
    session.context.clear_cookies()
    offered = site.studio.store.do(lambda ledger, now: invite(ledger, now, "judge", "", 14, None))
    page = session.page(f"/join/{site.studio.signer.invitation(offered)}")
    page.fill("#name", "Zoë")
    page.eval_on_selector("#password", "field => field.removeAttribute('minlength')")
    page.fill("#password", "short")
    page.click("button.primary")
    assert page.get_attribute("#password", "aria-invalid") == "true"
    assert "password-error" in page.get_attribute("#password", "aria-describedby")
    assert grave(page) == []
    page.fill("#password", PASSWORD)
    page.click("button.primary")
    page.wait_for_selector("text=Start the qualification")


def test_the_message_names_the_two_documents(judge):
    """It cannot be skipped, but one key fixes it."""
    session = judge()
    page = session.at_work()
    for key in "rrirc":  # A to E
        read(page)
        page.keyboard.press(key)
    assert order(page) == "ABDEC"
    page.click("[role=tab] >> nth=2")
    page.keyboard.press("2")
    assert order(page) == "ACBDE"
    assert message(page) == "B is relevant but ranks below C, which is irrelevant. Move B above C."
    assert page.get_attribute("[data-part=next]", "aria-disabled") == "true"
    assert page.get_attribute("[data-part=next]", "aria-describedby") == "message-text"
    page.keyboard.press("Control+Enter")
    page.click("[data-part=next]", force=True)
    assert page.inner_text("[data-part=set]") == "Set 1 of 2"
    page.keyboard.press("x")
    assert order(page) == "ABCDE"
    assert message(page).startswith("D is relevant but ranks below C")
    page.click("button:has-text('Move D above C')")
    assert order(page) == "ABDCE"
    assert page.get_attribute("[data-part=next]", "aria-disabled") == "false"
    saved(page)
    until(lambda: [answer.rank for answer in session.answers()] == [1, 2, 4, 3, 5])


def test_answers_sort_themselves(judge):
    """To the end of the relevant or the start of the irrelevant; what was put by hand stays."""
    page = judge().at_work()
    for key, expected in zip("iirri", ("BCDEA", "CDEBA", "CDEBA", "CDEBA", "CDEBA"), strict=True):
        page.keyboard.press(key)
        assert order(page) == expected
    page.click("[role=tab] >> nth=2")
    page.click("[aria-label='Move C down']")
    assert order(page) == "DCEBA"
    page.keyboard.press("i")
    assert order(page) == "DCEBA"  # where C was put it stays: it does no harm there


def test_ranks_by_drag_buttons_arrows_and_digits(judge):
    """All lead to the same place, and the keyboard stays where it was."""
    page = judge().at_work()
    page.locator(".handle").first.drag_to(page.locator(".handle").nth(2))
    assert order(page) == "BCADE"
    page.click("[aria-label='Move E up']")
    assert order(page) == "BCAED"
    page.focus("[aria-label^='Move B:']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert order(page) == "CABED"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Move B:")
    page.keyboard.press("Alt+ArrowUp")  # A is open
    assert order(page) == "ACBED"
    page.keyboard.press("5")
    assert order(page) == "CBEDA"


def test_undo_and_redo(judge):
    """Of answers, ranks and comments, here and in the studio."""
    session = judge()
    page = session.at_work()
    page.keyboard.press("i")
    page.keyboard.press("k")
    page.fill("[data-part=comment]", "a dead tree")
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("1")
    assert order(page) == "ABCDE"
    page.keyboard.press("u")
    assert order(page) == "BCDEA"
    page.keyboard.press("Control+z")
    assert page.input_value("[data-part=comment]") == ""
    page.click("[data-part=undo]")
    assert page.locator("input[name=verdict]:checked").count() == 0
    assert page.get_attribute("[data-part=undo]", "aria-disabled") == "true"
    saved(page)
    until(lambda: not any(answer.decided for answer in session.answers()))
    for key in ("U", "Control+y", "Control+Shift+z"):
        page.keyboard.press(key)
    assert order(page) == "ABCDE"
    saved(page)
    until(lambda: (session.answers()[0].relevance, session.answers()[0].comment) == (0, "a dead tree"))


def test_offline_and_back(judge):
    """Nothing is lost, and the page says how it stands."""
    session = judge()
    page = session.at_work()
    session.context.set_offline(True)
    page.keyboard.press("r")
    page.keyboard.press("i")
    page.fill("[data-part=comment]", "under way")
    page.wait_for_selector(".saved[data-state=offline]")
    assert re.search(r"Offline: \d changes? stored here", page.inner_text(".saved"))
    assert not any(answer.decided for answer in session.answers())
    session.context.set_offline(False)
    saved(page)
    result = [(answer.relevance, answer.decided, answer.comment) for answer in session.answers()[:3]]
    assert result == [(1, True, ""), (0, True, ""), (None, False, "under way")]


def test_a_closed_tab_loses_nothing(judge):
    """What was kept when the tab was closed is sent when the page is opened again."""
    session = judge()
    page = session.at_work()
    session.context.set_offline(True)
    page.keyboard.press("c")
    page.wait_for_selector(".saved[data-state=offline]")
    page.close()
    session.context.set_offline(False)
    page = session.page()
    page.wait_for_selector("[role=tab][data-verdict=unsure]")
    assert session.answers()[0].decided


def test_finishing_waits_for_the_network(judge):
    """A set that is left while the network is gone is left when it is back."""
    session = judge()
    page = session.at_work()
    judge_set(page)
    saved(page)
    session.context.set_offline(True)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".saved[data-state=offline]")
    session.context.set_offline(False)
    page.wait_for_selector("text=Set 2 of 2")


def test_a_busy_studio_is_asked_again(judge):
    """After 503 the same change is sent once more, under the same key."""
    session = judge()
    page = session.at_work()
    keys, again = [], []

    def refuse_once(route):
        keys.append([answer["key"] for answer in route.request.post_data_json["answers"]])
        if len(keys) == 1:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"error": "busy", "code": "unsaved"})
        else:
            again.append(route)  # not before the page was seen to wait

    page.route("**/api/answers", refuse_once)
    page.keyboard.press("r")
    page.wait_for_selector(".saved[data-state=offline]")
    until(lambda: again, pause=lambda seconds: page.wait_for_timeout(1000 * seconds))
    again[0].continue_()
    saved(page)
    assert keys[0] == keys[1]
    assert session.answers()[0].relevance == 1


def test_a_reload_keeps_everything(judge):
    """Answers, ranks, comment and time; another machine has them as well."""
    session = judge()
    page = session.at_work()
    page.keyboard.press("r")
    page.keyboard.press("i")
    page.fill("[data-part=comment]", "half done")
    until(lambda: seconds_shown(page, 2) >= 2)
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("j")
    saved(page)
    before = order(page)
    page.reload()
    page.wait_for_selector("[role=tab][data-verdict=relevant]")
    assert order(page) == before
    assert page.inner_text("[role=tab] >> nth=2 >> .time") != "0 s"
    assert page.inner_text("[data-part=judged]") == "2 of 5 judged"
    session.context.clear_cookies()
    page.close()
    session.sign_in()
    other = session.context.browser.new_context(storage_state={"cookies": session.context.cookies(), "origins": []})
    elsewhere = other.new_page()
    elsewhere.goto(session.site.url + "/judge")
    elsewhere.wait_for_selector("[role=tab][data-verdict=relevant]")
    assert order(elsewhere) == before
    elsewhere.keyboard.press("j")
    elsewhere.keyboard.press("k")
    assert elsewhere.input_value("[data-part=comment]") == "half done"
    other.close()


def test_a_session_that_ends_loses_nothing(judge):
    """The page asks to sign in again, keeps what it has, and sends it afterwards."""
    session = judge()
    page = session.at_work()
    session.context.clear_cookies()
    page.keyboard.press("r")
    page.wait_for_selector("#signed-out-dialog[open]")
    assert not session.answers()[0].decided
    session.sign_in()
    page.goto(session.site.url + "/judge")
    page.wait_for_selector("[role=tab][data-verdict=relevant]")
    assert session.answers()[0].decided


def test_an_assignment_that_is_over_is_told(site, judge):
    """And what is kept of it here is forgotten."""
    from adjudge.studio.work.commands import release

    session = judge()
    page = session.at_work()
    ledger = site.studio.ledger
    token = ledger.assignments[ledger.people[session.person].last].token
    site.studio.store.do(lambda ledger, now: release(ledger, now, session.person, token))
    page.keyboard.press("r")
    page.wait_for_selector("text=This assignment is over")
    assert page.evaluate("Object.keys(localStorage).filter(name => name.includes('/work/'))") == []
    page.click("[data-part=action]")
    page.wait_for_selector("[data-part=begin]")


def test_two_windows_do_not_disturb_each_other(judge):
    """A set that was finished in one window leads the other on as well."""
    session = judge()
    first = session.at_work()
    second = session.page()
    second.wait_for_selector(".ranked")
    first.bring_to_front()
    judge_set(first)
    first.keyboard.press("Control+Enter")
    first.wait_for_selector("text=Set 2 of 2")
    second.bring_to_front()
    second.keyboard.press("r")
    second.wait_for_selector("text=Set 2 of 2")
    assert "another window" in second.inner_text("#toast")
    assert not any(answer.decided for answer in session.answers())


def test_an_assignment_can_be_given_up(judge):
    """After a question, by the menu."""
    page = judge().at_work()
    page.click(".menu summary")
    page.click("[data-part=release]")
    page.click("text=Keep it")
    assert page.locator(".ranked").count() == 5
    page.click(".menu summary")
    page.click("[data-part=release]")
    page.click("#release-dialog [value=yes]")
    page.wait_for_selector("[data-part=begin]")


def test_words_are_found_in_the_document(judge):
    """Marked, counted, gone through; documents cannot run anything."""
    page = judge().at_work()
    page.keyboard.press("/")
    page.keyboard.type("grows")
    page.wait_for_selector("text=1 of 40")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=2 of 40")
    page.keyboard.press("Escape")
    page.keyboard.press("N")
    page.keyboard.press("N")
    page.wait_for_selector("text=40 of 40")
    assert page.get_attribute(".frame.open", "sandbox") == ""
    frame = page.locator(".frame.open").content_frame
    frame.locator("mark").first.wait_for()
    assert frame.locator("mark").count() == 40
    page.fill("[data-part=find]", "no such word")
    page.wait_for_selector("text=No match")


def test_the_document_zooms(judge):
    """By keys and buttons, and the size is kept."""
    page = judge().at_work()
    page.keyboard.press("+")
    page.click("[data-part=larger]")
    assert page.inner_text("[data-part=zoom]") == "125%"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.frame.open')).transform")
        == "matrix(1.25, 0, 0, 1.25, 0, 0)"
    )
    page.keyboard.press("0")
    assert page.inner_text("[data-part=zoom]") == "100%"


def test_letters_can_be_switched_off(judge):
    """They are keys only while nobody types, and only if the judge wants them to be."""
    page = judge().at_work()
    page.focus("[data-part=comment]")
    page.keyboard.type("rich")
    assert page.locator("input[name=verdict]:checked").count() == 0
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    page.uncheck("[name=letters]")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    assert page.locator("input[name=verdict]:checked").count() == 0
    page.reload()
    page.wait_for_selector(".ranked")
    page.keyboard.press("?")
    assert not page.is_checked("[name=letters]")
    page.check("[name=letters]")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.wait_for_selector("[role=tab][data-verdict=relevant]")


def test_radio_buttons_do_not_lead_away(judge):
    """Arrow keys choose among the answers of one document; what is open stays open."""
    page = judge().at_work()
    page.focus("[value=relevant]")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    assert title(page).startswith("A")
    assert page.is_checked("[value=irrelevant]")


def test_time_counts_only_while_somebody_is_there(judge):
    """Half a minute after the last sign the clock stands still, and goes on with the next."""
    session = judge()
    page = session.context.new_page()
    page.clock.install()
    page.goto(session.site.url + "/judge")
    page.click("[data-part=begin]")
    page.wait_for_selector(".ranked")
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 60)  # from here on time is ours, however slow the machine
    before = seconds_shown(page)
    page.mouse.move(5, 300)  # not over the document, where reading is believed for longer
    page.clock.run_for(90_000)
    stood = seconds_shown(page)
    assert before + 29 <= stood <= before + 31
    page.keyboard.press("Shift")
    page.clock.run_for(10_000)
    assert stood + 9 <= seconds_shown(page) <= stood + 11


@pytest.fixture
def strict(site, monkeypatch):
    """Let the time gate need some seconds per document."""
    ledger = site.studio.ledger
    settings = ledger.campaign.settings
    gate = settings.gate.model_copy(update={"seconds": 5.0})
    monkeypatch.setattr(ledger, "settings_at", lambda time: settings.model_copy(update={"gate": gate}))
    return ledger


@pytest.mark.parametrize(("language", "word"), [("en", "Everything is judged"), ("de", "Alles ist beurteilt")])
def test_the_time_gate_holds_the_next_set(judge, strict, language, word):
    """Who is fast sees at once what is missing, with a countdown, and goes on when it is over: nothing is returned."""
    session = judge(language=language)
    page = session.at_work()
    for _ in range(5):
        page.keyboard.press("r" if "Yes" in title(page) else "i")
    waiting = lambda seconds: page.wait_for_timeout(1000 * seconds)  # noqa: E731
    until(lambda: message(page).startswith(word), pause=waiting)
    assert page.get_attribute("[data-part=next]", "aria-disabled") == "true"
    assert re.search(r" in \d+ s", page.inner_text("[data-part=next-text]"))
    assert word in page.inner_text("#announcer")
    page.keyboard.press("Control+Enter")  # opens a document that needs time, if the open one does not
    left = page.inner_text("[data-part=next-text]")
    page.evaluate(
        "() => { window.said = 0; new MutationObserver(() => { window.said += 1; })"
        ".observe(document.getElementById('announcer'), {childList: true, characterData: true, subtree: true}); }"
    )
    until(lambda: page.inner_text("[data-part=next-text]") != left, pause=waiting)
    assert page.evaluate("window.said") == 0  # the countdown is seen and not heard
    while page.get_attribute("[data-part=next]", "aria-disabled") == "true":
        page.keyboard.press("Control+Enter")  # opens the next document that needs time
        read(page)
    page.keyboard.press("Control+Enter")
    until(lambda: page.inner_text("[data-part=set]").startswith(("Set 2", "Satz 2")), pause=waiting)
    (assignment,) = [one for one in strict.assignments.values() if one.person == session.person]
    assert assignment.finished == 1
    assert min(answer.seconds for answer in assignment.sets[0].answers) >= 5


def test_the_studio_counts_and_the_page_agrees(judge, strict):
    """Where the page counted more than the studio's clock allows, it counts down again."""
    session = judge()
    page = session.at_work()
    for _ in range(5):
        page.keyboard.press("r" if "Yes" in title(page) else "i")
    body = {"error": "", "code": "brief", "problems": [{"kind": "brief", "slots": [2]}], "missing": [0, 0, 2, 0, 0]}
    page.route("**/api/finish", lambda route: route.fulfill(status=409, json=body), times=1)
    while page.get_attribute("[data-part=next]", "aria-disabled") == "true":
        page.keyboard.press("Control+Enter")
        read(page)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#tab-2.brief[aria-selected=true]")
    assert message(page).startswith("Everything is judged. Read C for 2")


def test_the_next_documents_are_there_before_they_are_wanted(judge):
    """While a set is judged, the documents of the one after are loaded."""
    page = judge().at_work()
    until(lambda: page.locator("iframe.frame").count() == 10)


def views(one):
    """Go through every view that a judge sees."""
    page = one.page()
    page.wait_for_selector("[data-part=begin]")
    yield "home", page
    page.click("[data-part=begin]")
    page.wait_for_selector(".ranked")
    page.wait_for_selector(".frame.open")
    page.keyboard.press("r")
    page.keyboard.press("i")
    page.keyboard.press("k")
    page.keyboard.press("1")
    page.wait_for_selector("[data-part=fix]:visible")
    saved(page)
    yield "work", page
    page.keyboard.press("?")
    yield "help", page
    page.keyboard.press("Escape")
    page.click(".menu summary")
    yield "menu", page
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    for _ in range(2):
        for slot in range(5):
            page.click(f"[role=tab] >> nth={slot}")
            read(page)
            page.keyboard.press("i")
        while page.locator("[data-part=fix]").is_visible():
            page.keyboard.press("x")
        at = page.inner_text("[data-part=set]")
        page.keyboard.press("Control+Enter")
        page.wait_for_function(
            "at => document.querySelector('[data-part=set]').textContent !== at || "
            "document.querySelector('[data-part=criteria]')",
            arg=at,
        )
    page.wait_for_selector("[data-part=criteria] tr")
    page.locator(".mistake summary").last.click()
    yield "review", page
    exclude(one)
    page.reload()
    page.wait_for_selector("[data-part=text] p")
    yield "excluded", page
    one.context.clear_cookies()
    page.goto(one.site.url + "/sign-in")
    page.fill("#name", "nobody")
    page.fill("#password", "wrong password")
    page.click("button.primary")
    page.wait_for_selector("[role=alert]")
    yield "sign-in", page


def exclude(one):
    """End a judge's part in the campaign."""
    from adjudge.studio.record import schema
    from adjudge.studio.record.store import Change

    def command(ledger, now):
        number = ledger.next_id(schema.standings)
        row = {"id": number, "at": now, "person": one.person, "standing": "excluded", "reason": "copied", "by": None}
        return Change([(schema.standings, row)])

    one.site.studio.store.do(command)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_phone_never_scrolls_sideways(judge, language):
    """At 360 pixels, in every view and both languages; what can be pressed is large enough."""
    session = judge(language=language, viewport={"width": 360, "height": 740}, has_touch=True, locale=language)
    for name, page in views(session):
        assert page.get_attribute("html", "lang") == language
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
        small = page.evaluate(
            """() => [...document.querySelectorAll("button, summary, a, input, select, textarea")]
            .filter(one => one.checkVisibility({ visibilityProperty: true }) && !one.closest("dialog:not([open])"))
            .filter(one => !one.matches(".skip, label input"))
            .map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
            .filter(([, box]) => box.width < 24 || box.height < 24).map(([what]) => what)"""
        )
        assert small == [], name


def test_a_phone_keeps_the_answer_in_sight(judge):
    """The buttons are on the screen while a document is read, wherever it is scrolled to."""
    page = judge(viewport={"width": 390, "height": 740}, has_touch=True).at_work()
    buttons = page.locator("[data-part=verdict]")
    inside = "one => { const b = one.getBoundingClientRect(); return b.top >= 0 && b.bottom <= innerHeight; }"
    assert buttons.evaluate(inside)
    page.evaluate("scrollBy(0, 200)")
    assert buttons.evaluate(inside)


def grave(page):
    """Return what axe holds to be serious in a page."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("Promise.allSettled(document.getAnimations().map(one => one.finished))")  # colours have arrived
    result = Axe().run(page).response["violations"]
    return [(rule["id"], node["html"]) for rule in result if rule["impact"] in SERIOUS for node in rule["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(judge, scheme):
    """In every view, light and dark."""
    for name, page in views(judge(color_scheme=scheme)):
        assert grave(page) == [], name


def test_the_page_weighs_little(judge):
    """All that a judge's browser loads before the first document is far less than 100 kB, compressed."""
    session = judge()
    page, weights = session.context.new_page(), {}

    def weigh(response):
        if "/documents/" not in response.url and response.request.method == "GET":
            weights[response.url] = len(gzip.compress(response.body()))

    got = []
    page.on("response", lambda response: got.append(response))
    page.goto(session.site.url + "/judge")
    page.click("[data-part=begin]")
    page.wait_for_selector(".ranked")
    for response in got:
        weigh(response)
    assert len(weights) < 15  # one script
    assert sum(weights.values()) < 60_000
