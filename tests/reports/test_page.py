"""The page, as a file: what a browser makes of it is tested in tests/browser."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import polars as pl
import pytest

import adjudge
from adjudge.reports import page as pages
from adjudge.reports.case import build_case
from adjudge.reports.gallery import FIGURES
from adjudge.reports.page import SECTIONS, Markup, document, element, join, sortable_head

VOID = {"meta", "input"}


class Nested(HTMLParser):
    """Holds that every element is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attributes):
        """Open an element."""
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        """Close the last one that was opened."""
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(relevance):
    """Return the page of a sampled fit."""
    return document(build_case(relevance.fits["gold apart"], relevance.crowd.judgments), "A <title>")


def test_it_is_well_formed_and_every_name_is_unique(page):
    """Elements nest, and links have one place to go to."""
    reader = Nested()
    reader.feed(page)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    assert set(SECTIONS) - {"watch"} <= set(reader.ids)
    targets = set(re.findall(r'href="#([^"]+)"', page))
    assert targets <= set(reader.ids)


def test_all_figures_are_there_or_say_why(page):
    """None is blank."""
    missing = re.search(r"Not shown: (.*?)</p>", page)[1]
    for figure in FIGURES:
        assert (f'id="figure-{figure.name}"' in page) != (f"{figure.heading} (" in missing)


def test_nothing_is_fetched_and_only_its_own_script_runs(page):
    """No address of anything elsewhere; the policy knows the script by what it holds."""
    assert not re.search(r'(src|href)="(?!#)', page.replace("xmlns:xlink", ""))
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.replace("&#x27;", "'")
    assert "A &lt;title&gt;" in page


def test_names_of_judges_items_and_labels_are_texts():
    """A judge who is called a script is not run."""
    rows = {
        "item": ["<b>a</b>", "b", "b"],
        "judge": ["<script>alert(1)</script>", "y&z", "x"],
        "label": ['"u"', "v", "v"],
    }
    judgments = adjudge.read(pl.DataFrame(rows))
    text = document(build_case(adjudge.fit(judgments, "dawid-skene"), judgments))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>a</b>" not in text


@pytest.mark.parametrize(
    "rows",
    [
        {"item": ["a", "b"], "judge": ["x", "y"], "label": ["u", "u"]},
        {"item": ["a"], "judge": ["x"], "label": ["u"]},
        {"item": ["a", "b", "b"], "judge": ["x", "y", "x"], "label": ["u", "v", "v"], "topic": [1, 1, 1]},
    ],
)
def test_poor_crowds_have_a_page_too(rows):
    """One label, one judgment, one topic: no nan, no crash."""
    judgments = adjudge.read(pl.DataFrame(rows))
    for model in ("majority", "dawid-skene"):
        text = document(build_case(adjudge.fit(judgments, model), judgments))
        assert "nan" not in re.findall(r"[a-z]+", re.sub(r"<script>.*</script>", "", text.lower(), flags=re.DOTALL))


def test_what_takes_long_is_told(relevance):
    """Each figure by name."""
    messages = []
    document(build_case(relevance.fits["unsupervised"], relevance.crowd.judgments), progress=messages.append)
    assert "drawing votes" in messages


def test_times_and_an_earlier_fit_fill_what_is_to_be_watched():
    """Changes and new work are told where they can be, and why not where they cannot."""
    judgments = adjudge.simulate("drifting", seed=1, judges=12, items=300).judgments
    fit = adjudge.fit(judgments, "dawid-skene")
    result = document(build_case(fit, judgments, earlier=fit))
    watched = result[result.index('id="watch"') : result.index('id="guidelines"')]
    assert "Judges who changed" in watched
    assert "earlier fit expects" in watched
    bare = document(build_case(fit, replace(judgments, time=None)))
    missing = re.search(r"Not shown: (.*?)</p>", bare)[1]
    assert "Judges who changed (the judgments have no times)" in missing
    assert "New work (there is no earlier fit)" in missing


def test_hostile_labels_and_topics_stay_texts_in_figures_too():
    """Nothing that anybody wrote becomes an element or ends an attribute."""
    bad = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    rows = {"item": [f"{bad}i", "b", "b", "c"], "judge": [f"{bad}j", "y", "x", "y"], "label": [bad, "v", "v", bad]}
    judgments = adjudge.read(pl.DataFrame(rows | {"topic": [f"{bad}t", "t", "t", "t"]}))
    timed = replace(judgments, time=pl.Series(range(4)))
    text = document(build_case(adjudge.fit(judgments, "dawid-skene"), timed), bad)
    assert text.count("<script>") == 1
    assert "<img" not in text


@pytest.fixture(scope="module")
def case():
    """Return the case of a crowd of three labels."""
    judgments = adjudge.simulate("dawid-skene", seed=2, items=100, judges=8, labels=3, per_item=5).judgments
    return build_case(adjudge.fit(judgments, "dawid-skene"), judgments)


def test_every_judge_has_a_row_and_a_card(case):
    """The row links to the card."""
    text = pages.judge_section(case)
    for position, card in enumerate(case.cards):
        assert f'<a href="#judge-{position}">{card.judge}</a>' in text
        assert f'id="judge-{position}"' in text
    assert text.count("<article") == 8


def test_of_very_many_judges_the_busiest_have_a_card(case, monkeypatch):
    """And the page says so."""
    monkeypatch.setattr(pages, "MOST_CARDS", 3)
    text = pages.judge_section(case)
    assert text.count("<article") == 3
    assert "The 3 busiest of 8 judges have a card." in text
    busiest = sorted(range(8), key=lambda j: -case.cards[j].judgments)[:3]
    assert {int(position) for position in re.findall(r'id="judge-(\d+)"', text)} == set(busiest)


def test_what_is_not_defined_says_why(case):
    """Sensitivity of three labels, and times that were not given."""
    message = dict(pages.card_lines(case.cards[0], case.fit.scale.names))
    assert message["sensitivity"] == "not defined because it needs two labels, and there are 3"
    assert message["time per judgment"].startswith("not defined because")
    assert re.fullmatch(r"0\.\d\d \(0\.\d\d to [01]\.\d\d\)", message["chance of being right"])


def test_texts_are_escaped_and_markup_is_not():
    """Whoever wrote a text, it stays one."""
    inner = element("b", "<i>&")
    assert inner == "<b>&lt;i&gt;&amp;</b>"
    assert element("p", inner, "<", 3, None) == "<p><b>&lt;i&gt;&amp;</b>&lt;3</p>"
    assert isinstance(join("a", inner), Markup)


def test_attributes_are_escaped_and_named_as_in_html():
    """Quotes cannot end one; what is false is not there."""
    created = element("td", class_="x", data_value=0.5, title='"><script>', hidden=False, tabindex=None)
    assert created == '<td class="x" data-value="0.5" title="&quot;&gt;&lt;script&gt;"></td>'
    assert element("input", disabled=True, name="n") == '<input disabled name="n">'


def test_a_head_is_a_button():
    """So that a keyboard can sort."""
    assert sortable_head("bits", number=True) == (
        '<th class="number" scope="col"><button type="button">bits</button></th>'
    )
