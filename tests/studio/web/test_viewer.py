import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import NamedTuple

import pytest

from adjudge.studio.web import viewer
from adjudge.studio.web.viewer import document_headers, safe_document

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="


class Document(NamedTuple):
    """A document as a campaign has it."""

    name: str
    title: str
    kind: str
    content: str


def shown(content, kind="html", find="", **more):
    """Return the body of a document as it is shown."""
    page, _ = safe_document(Document("d", "a title", kind, content), find, **more)
    return re.search("<body>(.*)</body>", page, re.DOTALL)[1]


def test_text_is_escaped_and_keeps_its_paragraphs():
    """Markup in a text is text; blank lines part paragraphs, lines stay."""
    assert shown("one <b>\ntwo & so\n \n\nthree", "text") == (
        '<p class="text">one &lt;b&gt;\ntwo &amp; so</p>\n<p class="text">three</p>'
    )


def test_an_unknown_kind_is_text():
    """Only what says that it is HTML is read as HTML."""
    assert shown("<b>x</b>", "pdf") == '<p class="text">&lt;b&gt;x&lt;/b&gt;</p>'


def test_the_shape_of_html_stays():
    """Headings, lists, tables, emphasis."""
    stored = '<h2>A</h2><ul><li>b <em>c</em></li></ul><table><tbody><tr><td colspan="2">d</td></tr></tbody></table>'
    assert shown(stored) == stored


@pytest.mark.parametrize(
    ("hostile", "left"),
    [
        ("a<script>x()</script>b", "ab"),
        ("<img src=x onerror=x()>", "<img>"),
        ("<p style='background:url(//x)' class=cut id=m1 onclick=x()>a</p>", "<p>a</p>"),
        ("<a href='javascript:x()' ping=//x target=_top>a</a>", "<a>a</a>"),
        ("<a href='https://example.org/'>a</a>", "<a>a</a>"),
        ("<svg onload=x()><a href=//x>b</a></svg>c", "c"),
        ("<math><mtext><img src=//x></mtext></math>c", "c"),
        ("<iframe src=//x></iframe><object data=//x></object><embed src=//x>c", "c"),
        ("<form action=//x><input autofocus onfocus=x()><button formaction=//x>b</button></form>", "b"),
        ("<meta http-equiv=refresh content='0;url=//x'><base href=//x><link rel=prefetch href=//x>c", "c"),
        ("<style>@import '//x'</style><title>t</title>c", "c"),
        ("<!-- a --><!--[if IE]><script>x()</script><![endif]-->c", "c"),
        ("<video poster=//x src=//x>v</video><audio src=//x>a</audio>c", "c"),
        ("<table background=//x><tr><td background=//x colspan=9999 rowspan=-1>c", None),
        ("<mark id=m1>c</mark>", "c"),
        ("<template><img src=//x></template><noscript><img src=//x></noscript>c", "c"),
    ],
)
def test_nothing_that_acts_is_left(hostile, left):
    """What shows, hides, asks, loads or moves anything is gone, and with it what is no text."""
    cleaned = shown(hostile)
    assert left is None or cleaned == left
    assert "//x" not in cleaned
    assert "x()" not in cleaned


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        (PIXEL, True),
        (PIXEL.replace("gif", "svg+xml"), False),
        (PIXEL.replace("image/gif", "text/html"), False),
        ("data:image/gif,GIF89a", False),
        ("https://example.org/x.gif", False),
        ("//example.org/x.gif", False),
        ("x.gif", False),
        (f"data:image/png;base64,{'A' * viewer.MOST_IMAGE}", False),
    ],
)
def test_images_are_small_and_brought_along(source, kept):
    """Of an image that is not, its words stay."""
    cleaned = shown(f'<img alt="a cat" src="{source}">')
    assert 'alt="a cat"' in cleaned
    assert ("src=" in cleaned) is kept


def test_a_title_is_plain_text():
    """It cannot leave its element."""
    page, _ = safe_document(Document("d", "</title><script>x()</script>", "text", "a"))
    assert "<title>&lt;/title&gt;&lt;script&gt;x()&lt;/script&gt;</title>" in page
    page, _ = safe_document(Document("d", "{body} {0} %s", "text", "a {title}"))
    assert "<title>{body} {0} %s</title>" in page
    assert "a {title}" in page


def test_matches_are_marked_in_text_only():
    """Whatever their case; never in a tag, in an attribute, or in the middle of an entity."""
    page, matches = safe_document(Document("d", "t", "html", '<p lang="am">Am I &amp; I am</p><img alt="am">'), "AM")
    assert matches == 2
    assert '<p lang="am"><mark id="m1">Am</mark> I &amp; I <mark id="m2">am</mark></p><img alt="am">' in page


@pytest.mark.parametrize(
    ("find", "matches"),
    [
        ("", 0),
        ("  ", 0),
        ("a & b", 1),
        ("amp", 0),
        ("<i>", 1),
        ("&lt;", 0),
        ("b c", 1),
        ("B\tC", 1),
        (".", 0),
        ("(", 0),
    ],
)
def test_what_is_searched_is_what_is_read(find, matches):
    """Entities are the characters they stand for, white space is white space, nothing is a pattern."""
    assert safe_document(Document("d", "t", "html", "<p>a &amp; b\n c &lt;i&gt;</p>"), find)[1] == matches
    assert safe_document(Document("d", "t", "text", "a & b\n c <i>"), find)[1] == matches


def test_marks_are_bounded():
    """A letter that is everywhere does not make a page of marks, and text after the last mark is kept."""
    page, matches = safe_document(Document("d", "t", "text", "a" * 5_000 + "z"), "a")
    assert matches == viewer.MOST_MARKS
    assert page.count("<mark") == viewer.MOST_MARKS
    assert "z</p>" in page


class Found(HTMLParser):
    """Collects the text of a page's body, and its tags without marks."""

    def __init__(self):
        super().__init__()
        self.text, self.tags = "", []

    def handle_data(self, data):
        """Collect text."""
        self.text += data

    def handle_starttag(self, tag, attrs):
        """Collect a tag."""
        if tag != "mark":
            self.tags.append((tag, attrs))


def test_searching_changes_nothing_else():
    """With marks or without, text and tags are the same."""
    content = '<div dir="rtl"><p>one &lt;two&gt; &amp;amp; <b>three</b></p><hr><br><pre>\n\n x</pre></div>'
    plain, searched = Found(), Found()
    plain.feed(shown(content))
    searched.feed(shown(content, find="o"))
    assert searched.text == plain.text
    assert searched.tags == plain.tags


def test_long_documents_are_cut_with_a_notice():
    """Between characters, and what is left is closed."""
    body = shown("<b>" + "ä" * 100, most_bytes=52)
    assert body == f'<b>{"ä" * 24}</b><p class="cut">The document is longer; only its first 52 bytes are shown.</p>'
    assert "is longer" not in shown("ä" * 26, most_bytes=52)


def test_broken_characters_do_no_harm():
    """Half a surrogate pair or a null byte is shown as something, or not at all."""
    page, _ = safe_document(Document("d", "\ud800", "text", "a\ud800b\0c"))
    page.encode("utf-8")
    page, _ = safe_document(Document("d", "t", "html", "a\ud800b\0c"), "\ud800")
    page.encode("utf-8")


def test_the_policy_allows_the_page_its_own_style_and_nothing_else():
    """The hash is that of the style in the page, byte by byte."""
    page, _ = safe_document(Document("d", "t", "text", "a"))
    style = re.search("<style>(.*)</style>", page, re.DOTALL)[1]
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    headers = document_headers()
    assert headers["Content-Security-Policy"] == (
        f"sandbox; default-src 'none'; style-src 'sha256-{hashed}'; img-src data:; form-action 'none'; "
        "base-uri 'none'; frame-ancestors 'self'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "private, max-age=3600"


def test_a_document_may_be_shown_in_the_frame_of_a_crowds_platform():
    """Its page is around ours, so it must be named."""
    policy = document_headers(framed_by=["https://www.mturk.com"])["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'self' https://www.mturk.com")


def test_of_bottomless_nesting_the_text_is_shown():
    """Cleaning it would take minutes; long documents whose elements end are cleaned as ever."""
    assert shown("<div>" * 30_000 + "words <script>") == '<p class="text">' + " " * 30_000 + "words  </p>"
    assert shown("<p>a <a href=x>b</a><br>" * 30_000).count("<p>") == 30_000


MANY = " ".join(f"a{number}" for number in range(1_500))


@pytest.mark.parametrize(
    "crowded",
    [
        f"<p {MANY}>one</p>",
        f"<p>one</p {MANY}>",
        f"<p {MANY.replace(' ', '=1 ')}>one</p>",
        f"<p {MANY.replace(' ', '/')}>one</p>",
        f"<p {MANY.replace(' ', '=&quot;').replace('&quot;', chr(34) * 2)}>one</p>",
        f"<p x='>' {MANY}>one</p>",
        f"<p {MANY[:4000]} x='>' {MANY[4000:]}>one</p>",
        f"<!-- <a x=' --><p y='>' {MANY}>one</p>",
        f"<p x='='data:image/png;base64,{MANY.replace(' ', '/')}>one</p>",
    ],
)
def test_of_tags_with_countless_attributes_the_text_is_shown(crowded, monkeypatch):
    """Cleaning them would take a time that grows with the square of their number, wherever they are hidden."""
    monkeypatch.setattr(viewer, "CLEANER", None)
    assert "one" in shown(crowded)


@pytest.mark.parametrize(
    "honest",
    [
        f"<pre>{MANY}</pre>",
        f"<p>{MANY} <b>x</b> {MANY}</p>",
        f"<p>1 &lt; 2 &gt; 1 {MANY}</p>",
        "".join(f"<p>{number} words, <i>for</i> {number} readers</p>" for number in range(1_500)),
        f"<p>it is <img></p><p>{MANY}</p>",
    ],
)
def test_long_texts_keep_their_shape(honest):
    """What is much, but not in one tag, is no reason to take the shape from a document."""
    assert shown(honest) == honest


def test_large_images_are_no_attributes():
    """The data of an image has slashes and line breaks, and is one value for all that."""
    data = base64.encodebytes(bytes(number * number % 251 for number in range(200_000))).decode()
    assert shown(f'<p title="a > b">x<img src="data:image/png;base64,{data}"></p>').startswith("<p>x<img src=")
