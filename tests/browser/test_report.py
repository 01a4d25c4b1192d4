"""The report in a real browser: nothing is fetched, nothing fails, figures are drawn, tables sort and are searched."""

from dataclasses import replace

import polars as pl
import pytest

import adjudge
from adjudge.reports.case import build_case
from adjudge.reports.gallery import FIGURES
from adjudge.reports.page import document

WIDTHS = {"desktop": 1_200, "phone": 360}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Return the page of a crowd with topics and gold, on disk."""
    sizes = {"topics": 5, "items": 200, "judges": 30, "judgments": 1_500, "gold": 40}
    crowd = adjudge.simulate("carpenter", 3, **sizes)
    fit = adjudge.fit(crowd.judgments, "hierarchical", crowd.gold, run=adjudge.Run(3, 500, 500), seed=1)
    path = tmp_path_factory.mktemp("report") / "report.html"
    timed = replace(crowd.judgments, time=pl.Series(range(len(crowd.judgments))))
    path.write_text(document(build_case(fit, timed, crowd.truths)), encoding="utf-8")
    return path


@pytest.fixture(params=[("desktop", "light"), ("phone", "dark")], ids=lambda pair: "-".join(pair))
def page(request, chromium, file):
    """Return the opened page, and what it asked for and complained about; none of either is to be."""
    size, scheme = request.param
    context = chromium.new_context(viewport={"width": WIDTHS[size], "height": 800}, color_scheme=scheme)
    opened, requests, complaints = context.new_page(), [], []
    opened.on("request", lambda sent: requests.append(sent.url))
    opened.on("console", lambda said: complaints.append(said.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(file.as_uri())
    yield opened
    assert requests == [file.as_uri()]
    assert complaints == []
    context.close()


def test_every_figure_is_drawn_and_seen(page):
    """With marks in it and some size; the page itself is never wider than the window."""
    for figure in FIGURES:
        picture = page.locator(f"#figure-{figure.name} svg")
        assert picture.count() == 1
        box = picture.bounding_box()
        assert box["width"] > 100
        assert box["height"] > 100
        assert picture.locator("path, text").count() > 10
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_judges_are_sorted_by_a_click(page):
    """By number, falling first and then rising; a keyboard does it too."""
    head = page.locator("#gallery th button", has_text="judgments")
    read = "rows => rows.map(row => Number(row.cells[1].dataset.value))"
    head.click()
    falling = page.locator("#gallery tbody tr").evaluate_all(read)
    assert falling == sorted(falling, reverse=True)
    assert page.locator("#gallery th[aria-sort=descending]").count() == 1
    head.press("Enter")
    rising = page.locator("#gallery tbody tr").evaluate_all(read)
    assert rising == sorted(rising)


def test_judges_are_searched(page):
    """By any word of a row; how many are left is told."""
    name = page.locator("#gallery tbody tr").first.locator("td").first.inner_text()
    page.fill("#search", name.upper())
    displayed = page.locator("#gallery tbody tr:visible")
    assert 1 <= displayed.count() < 30
    assert page.locator("#matches").inner_text() == f"{displayed.count()} of 30"
    page.fill("#search", "no such judge")
    assert page.locator("#matches").inner_text() == "0 of 30"


def test_a_name_opens_the_card(page):
    """And no other card is open."""
    assert page.locator(".card:visible").count() == 0
    link = page.locator("#gallery tbody tr a").nth(3)
    name = link.inner_text()
    link.click()
    assert page.locator(".card:visible").count() == 1
    assert name in page.locator(".card:visible h3").inner_text()


def test_it_prints(page):
    """On paper all judges are there, and nothing to press."""
    page.emulate_media(media="print")
    assert page.locator("#gallery tbody tr:visible").count() == 30
    assert not page.locator("#search").is_visible()
    page.emulate_media(media="screen")


def test_words_can_be_read_in_light_and_dark(page):
    """The contrast of text and ground is that of WCAG's AA."""
    colours = page.evaluate(
        """() => { const s = getComputedStyle(document.body);
        const soft = getComputedStyle(document.querySelector("figcaption")).color;
        return [s.color, soft, s.backgroundColor]; }"""
    )
    ink, soft, ground = (luminance(colour) for colour in colours)
    for words in (ink, soft):
        lighter, darker = max(words, ground), min(words, ground)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def luminance(colour):
    """Return the relative luminance of an rgb(...) colour, as WCAG defines it."""
    parts = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
