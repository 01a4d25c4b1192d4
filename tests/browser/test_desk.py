"""The lead's desk in a real browser: by keyboard, on a phone, in the dark, and as assistive technology finds it."""

import threading

import pytest
import uvicorn

PASSWORD = "twelve green oaks"
LISTS = ("/judges", "/gold", "/items", "/items?split=yes", "/items/look", "/items/ranks", "/items/1", "/people")
PAGES = tuple(f"/desk{path}" for path in ("", "/progress", "/charts", *LISTS, "/data", "/audit"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return the address of the demo with judges at work, and a lead called Lea."""
    from adjudge.studio.access import hash_password
    from adjudge.studio.demo import make_demo, simulate_demo
    from adjudge.studio.refresh_consensus import refresh
    from adjudge.studio.studio import open_studio
    from adjudge.studio.web.app import create_app, set_address
    from adjudge.studio.work.people import invite, join

    folder = tmp_path_factory.mktemp("desk") / "demo"
    make_demo(folder)
    simulate_demo(folder)
    refresh(folder)
    studio = open_studio(folder)
    number = studio.store.do(lambda ledger, now: invite(ledger, now, "lead"))
    studio.store.do(lambda ledger, now: join(ledger, now, number, "Lea", hash_password(PASSWORD)))
    server = uvicorn.Server(uvicorn.Config(create_app(studio), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    set_address(studio, "127.0.0.1", port, None)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def opened(chromium, served):
    """Return a way to open a page of the desk as the lead; a console that complains fails the test."""
    contexts, complaints = [], []

    def open_page(path, **how):
        context = chromium.new_context(**how)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{served}/sign-in")
        page.fill("#name", "Lea")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_url("**/desk")
        page.on("console", lambda told: complaints.append(told.text) if told.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened, served, scheme):
    """No violation of any impact, on any page, in either scheme."""
    from axe_playwright_python.sync_playwright import Axe

    page = opened("/desk/judges", color_scheme=scheme)
    judge = page.get_attribute("#judges tbody a", "href")
    for path in (*PAGES, judge):
        page.goto(served + path)
        page.evaluate("Promise.allSettled(document.getAnimations().map(one => one.finished))")  # colours have arrived
        result = Axe().run(page).response["violations"]
        assert [(entry["id"], entry["nodes"][0]["html"]) for entry in result] == [], path


def test_nothing_is_wider_than_a_phone(opened, served):
    """At 360 pixels no page scrolls sideways; tables do so in boxes of their own."""
    page = opened("/desk/judges", viewport={"width": 360, "height": 740})
    judge = page.get_attribute("#judges tbody a", "href")
    for path in (*PAGES, judge, "/desk/campaign", "/account"):
        page.goto(served + path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360, path


SEEN = (
    "all => all.every(link => { const b = link.getBoundingClientRect(); return b.left >= 0 && b.right <= innerWidth; })"
)
FITS = "box => box.scrollWidth <= box.clientWidth"


def test_a_phone_shows_every_section_and_the_whole_picture(opened, served):
    """No link of the navigation is outside of the screen, and judgments over time need no scrolling."""
    page = opened("/desk/people", viewport={"width": 360, "height": 740})
    assert page.locator(".bar nav a").evaluate_all(SEEN)
    page.goto(served + "/desk")
    assert page.locator(".picture .scroll").first.evaluate(FITS)


def test_tables_fit_a_desktop(opened, served):
    """The tables of judges, of items and of one item's judgments have no column outside of their boxes."""
    page = opened("/desk/judges", viewport={"width": 1280, "height": 800})
    assert page.get_by_role("group", name="Judges", exact=True).evaluate(FITS)
    page.goto(served + "/desk/items")
    assert page.get_by_role("group", name="Items", exact=True).evaluate(FITS)
    page.locator("td.text", has_text="relevant").first.locator("xpath=../th/a").click()
    assert page.get_by_role("group", name="Judgments", exact=True).evaluate(FITS)


def test_judges_are_sorted_and_searched(opened):
    """By a heading, which says how; by words, which leave what fits. The address can be shared, without scripts too."""
    page = opened("/desk/judges", java_script_enabled=False)
    heading = page.locator("thead th", has_text="Judgments").first
    heading.get_by_role("link").press("Enter")
    page.wait_for_url("**?sort=-judgments")
    assert heading.get_attribute("aria-sort") == "descending"
    column = [int(text.replace(",", "")) for text in page.locator("#judges tbody tr td:nth-child(3)").all_inner_texts()]
    assert column == sorted(column, reverse=True)
    heading.get_by_role("link").press("Enter")
    page.wait_for_url("**?sort=judgments")
    assert heading.get_attribute("aria-sort") == "ascending"
    page.get_by_role("searchbox").fill("igor")
    page.keyboard.press("Enter")
    page.wait_for_url("**find=igor**sort=judgments")
    assert page.locator("#judges tbody tr").count() == 1


def test_items_are_filtered_without_scripts(opened):
    """By the fields of the form; what was chosen stays chosen, and the file is the same list."""
    page = opened("/desk/items", java_script_enabled=False)
    total = page.locator(".pager").inner_text()
    page.locator("summary", has_text="Filters").click()
    page.select_option("#split", "yes")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**split=yes**")
    assert page.locator(".pager").inner_text() != total
    assert page.input_value("#split") == "yes"
    assert "split=yes" in page.get_by_role("link", name="Download as CSV").get_attribute("href")


def test_pictures_have_numbers_beside_them(opened):
    """Each picture has a label, and a table that is opened by keyboard."""
    page = opened("/desk/charts")
    pictures = page.locator("main svg[role=img]")
    assert pictures.count() == 4
    assert all(picture.get_attribute("aria-label") for picture in pictures.all())
    page.locator("summary").first.press("Enter")
    assert page.locator("details[open] tbody tr").count() > 2


def test_a_judge_is_excluded_by_keyboard_alone(opened):
    """From the table to the card, a reason, Enter; and back again."""
    page = opened("/desk/judges")
    page.locator("#judges tbody a").last.press("Enter")
    page.wait_for_url("**/desk/judges/*")
    page.locator("summary", has_text="Exclude").press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("answers at random")
    page.keyboard.press("Enter")
    page.wait_for_url("**?done=standing")
    assert page.locator(".chip", has_text="excluded").count() == 1
    assert "answers at random" in page.inner_text("main")
    page.get_by_role("button", name="Reinstate").press("Enter")
    page.locator(".chip", has_text="excluded").wait_for(state="detached")


def test_the_overview_refreshes_itself(opened, served):
    """A campaign paused elsewhere is shown as paused without a reload, and where the focus was it stays."""
    page, other = opened("/desk"), opened("/desk")
    page.locator("#live a").first.focus()
    other.get_by_role("button", name="Pause the campaign").click()
    other.wait_for_url("**?done=paused")
    page.locator("#live .notice.warn").wait_for(timeout=60_000)
    assert page.evaluate("document.activeElement.tagName") == "A"
    other.goto(f"{served}/desk")
    other.get_by_role("button", name="Resume the campaign").click()
    other.wait_for_url("**?done=resumed")


def test_an_invitation_opens_the_door(opened, chromium):
    """The link that the desk makes leads a newcomer to the judge's page."""
    page = opened("/desk/people")
    page.fill("#name", "Nils")
    page.get_by_role("button", name="Create a link").click()
    link = page.input_value("#made")
    newcomer = chromium.new_context().new_page()
    newcomer.goto(link)
    newcomer.fill("#password", "seven brown owls")
    newcomer.keyboard.press("Enter")
    newcomer.wait_for_url("**/judge")
    newcomer.context.close()


def test_documents_are_seen_in_their_frame(opened):
    """The item's page shows its document, made safe, in a sandbox."""
    page = opened("/desk/items/1")
    frame = page.frame_locator("iframe[sandbox]")
    assert len(frame.locator("body").inner_text()) > 20


def test_without_scripts_all_is_there(opened):
    """Numbers, tables and forms work by themselves."""
    page = opened("/desk/judges", java_script_enabled=False)
    assert page.locator("#judges tbody tr").count() > 5
    page.locator("nav a", has_text="Overview").click()
    assert "judgments" in page.inner_text("#live")
