"""Elements of a page."""

from adjudge.report.html import Markup, element, joined, sortable_head


def test_texts_are_escaped_and_markup_is_not():
    """Whoever wrote a text, it stays one."""
    inner = element("b", "<i>&")
    assert inner == "<b>&lt;i&gt;&amp;</b>"
    assert element("p", inner, "<", 3, None) == "<p><b>&lt;i&gt;&amp;</b>&lt;3</p>"
    assert isinstance(joined("a", inner), Markup)


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
