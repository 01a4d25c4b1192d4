"""Judges on the page."""

import re

import pytest

import adjudge
from adjudge.reports import judge_section as section
from adjudge.reports.case import build_case
from adjudge.reports.judge_section import Markup, element, join, sortable_head


@pytest.fixture(scope="module")
def case():
    """Return the case of a crowd of three labels."""
    judgments = adjudge.simulate("dawid-skene", seed=2, items=100, judges=8, labels=3, per_item=5).judgments
    return build_case(adjudge.fit(judgments, "dawid-skene"), judgments)


def test_every_judge_has_a_row_and_a_card(case):
    """The row links to the card."""
    text = section.judge_section(case)
    for place, card in enumerate(case.cards):
        assert f'<a href="#judge-{place}">{card.judge}</a>' in text
        assert f'id="judge-{place}"' in text
    assert text.count("<article") == 8


def test_of_very_many_judges_the_busiest_have_a_card(case, monkeypatch):
    """And the page says so."""
    monkeypatch.setattr(section, "MOST_CARDS", 3)
    text = section.judge_section(case)
    assert text.count("<article") == 3
    assert "The 3 busiest of 8 judges have a card." in text
    busiest = sorted(range(8), key=lambda j: -case.cards[j].judgments)[:3]
    assert {int(place) for place in re.findall(r'id="judge-(\d+)"', text)} == set(busiest)


def test_what_is_not_defined_says_why(case):
    """Sensitivity of three labels, and times that were not given."""
    told = dict(section.lines(case.cards[0], case.fit.scale.names))
    assert told["sensitivity"] == "not defined because it needs two labels, and there are 3"
    assert told["time per judgment"].startswith("not defined because")
    assert re.fullmatch(r"0\.\d\d \(0\.\d\d to [01]\.\d\d\)", told["chance of being right"])


def test_texts_are_escaped_and_markup_is_not():
    """Whoever wrote a text, it stays one."""
    inner = element("b", "<i>&")
    assert inner == "<b>&lt;i&gt;&amp;</b>"
    assert element("p", inner, "<", 3, None) == "<p><b>&lt;i&gt;&amp;</b>&lt;3</p>"
    assert isinstance(join("a", inner), Markup)


def test_attributes_are_escaped_and_named_as_in_html():
    """Quotes cannot end one; what is false is not there."""
    made = element("td", class_="x", data_value=0.5, title='"><script>', hidden=False, tabindex=None)
    assert made == '<td class="x" data-value="0.5" title="&quot;&gt;&lt;script&gt;"></td>'
    assert element("input", disabled=True, name="n") == '<input disabled name="n">'


def test_a_head_is_a_button():
    """So that a keyboard can sort."""
    assert sortable_head("bits", number=True) == (
        '<th class="number" scope="col"><button type="button">bits</button></th>'
    )
