"""A document as judges see it: untrusted, so it is reduced to its text and structure and served under a strict policy.

There are four layers of defence, none of which is trusted alone: the cleaning here (an allowlist), the headers of the
response (``document_headers``: nothing is fetched, nothing runs, nothing is sent), the sandboxed frame that shows the
document, and the page around it, whose frames show only the studio's own addresses.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from html.parser import HTMLParser

from nh3 import Cleaner

from adjudge.studio.records import Document

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --ground: #ffffff; --soft: #57606a; --mark: #ffe08a; --line: #d0d7de }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --ground: #0f141a; --soft: #9aa7b4; --mark: #7a5c00; --line: #3b444d }
}
body { margin: 0 auto; padding: 1rem; max-width: 46rem; font: 1rem/1.55 system-ui, sans-serif; color: var(--ink);
  background: var(--ground); overflow-wrap: anywhere }
p.text { white-space: pre-wrap; margin: 0 0 1em }
p.cut { color: var(--soft); border-top: 1px solid var(--line); padding-top: .5rem }
h1, h2, h3, h4, h5, h6 { line-height: 1.25; margin: 1.2em 0 .4em } h1 { font-size: 1.4rem } h2 { font-size: 1.2rem }
h3, h4, h5, h6 { font-size: 1rem }
pre { white-space: pre-wrap } img { max-width: 100%; height: auto } a { text-decoration: underline dotted }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { border: 1px solid var(--line);
  padding: .2rem .5rem; text-align: start; vertical-align: top }
blockquote { margin: 1em 0; padding-left: 1em; border-left: 3px solid var(--line) }
mark { background: var(--mark); color: inherit } mark:target { outline: 2px solid currentColor }
"""
STYLE_HASH = "sha256-" + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

MOST_BYTES = 2_000_000  # of a document, unless the campaign's settings say otherwise
MOST_IMAGE = 400_000  # characters of the data of one image
MOST_MARKS = 1_000
LONGEST_FIND, LONGEST_TITLE = 200, 1_000

# Text, headings, lists, tables. Nothing that hides, asks, loads or moves, and no <mark>: marks are added here.
TAGS = frozenset(
    """
    a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup dd del dfn div dl dt em
    figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main ol p pre q rp rt ruby s samp section
    small span strong sub sup table tbody td tfoot th thead time tr u ul var wbr
    """.split()  # noqa: SIM905
)
# Elements that are removed with their content, which is not text of the document.
REMOVED = frozenset(
    """
    applet audio base canvas datalist embed frame frameset head iframe link math meta noembed noframes noscript object
    param script select style svg template textarea title video xmp
    """.split()  # noqa: SIM905
)
ATTRIBUTES = {"*": {"lang", "dir"}, "img": {"src", "alt"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+", re.ASCII)
# Elements that can be nested without limit: cleaning takes quadratic time in their depth.
MOST_NESTING = 20_000
NESTING = re.compile(r"<(?!(?:p|li|dt|dd|tr|td|th|br|hr|img|a|col)[\s/>])[a-z]", re.IGNORECASE)
TAG = re.compile(r"<[^<>]*>")
# Cleaning is also quadratic in the attributes of one tag. Whether a ">" ends a tag or belongs to a value depends on the
# text before it, so everything up to a ">" that follows no open quotation mark is counted as one tag.
MOST_ATTRIBUTES = 1_000
TAG_START = re.compile(r"</?[a-z]", re.IGNORECASE)
SEPARATORS = re.compile(r"[\s/\"']")  # every attribute follows one of these
OPEN_QUOTES = {mark: re.compile(rf"=\s*+{mark}[^{mark}]*+\Z") for mark in "\"'"}
IMAGE_DATA = re.compile(r"data:image/[a-z]{3,4};base64,[A-Za-z0-9+/=\s]+", re.ASCII)
CHARACTERS_PER_SEPARATOR = 24  # at least, in the data of an image; honest data have about 35
SMALL_NUMBER = re.compile(r"[1-9][0-9]?", re.ASCII)


def safe_document(
    document: Document, find: str = "", most_bytes: int = MOST_BYTES, language: str = "en"
) -> tuple[str, int]:
    """Return a document as a page without active content, and how often a phrase occurs in it.

    Parameters
    ----------
    document
        The document; HTML is reduced to the allowlist, plain text becomes paragraphs.
    find
        The phrase to look for; matches are marked with ``<mark id="m1">``, ``<mark id="m2">`` and so on.
    most_bytes
        The content is cut after so many bytes, and the page says so.
    language
        The language of the page.

    Examples
    --------
    >>> from adjudge.studio.records import Document
    >>> document = Document("d", "Oaks", "html", "<p onclick='x()'>An oak<script>x()</script>")
    >>> page, matches = safe_document(document, "oak")
    >>> page[page.index("<body>"):].strip(), matches
    ('<body><p>An <mark id="m1">oak</mark></p></body></html>', 1)
    """
    content, cut = _cut(document.content, most_bytes)
    body = _clean(content) if document.kind == "html" else _paragraphs(content)
    matches = 0
    if phrase := find.split():
        body, matches = _mark(body, phrase)
    notice = f'<p class="cut">The document is longer; only its first {most_bytes:,} bytes are shown.</p>' if cut else ""
    return PAGE.format(
        language=escape(language), title=escape(_cut(document.title, LONGEST_TITLE)[0]), body=body, notice=notice
    ), matches


PAGE = f"""<!doctype html>
<html lang="{{language}}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{{title}}</title><style>{STYLE.replace("{", "{{").replace("}", "}}")}</style></head>
<body>{{body}}{{notice}}</body></html>
"""


def document_headers(seconds: int = 3_600, framed_by: Iterable[str] = ()) -> dict[str, str]:
    """Return the headers of a document: it has its own origin and cannot fetch, run or send anything.

    Parameters
    ----------
    seconds
        For how long a browser may keep the document.
    framed_by
        The origins that show the judge's page itself in a frame, if a crowdsourcing platform does so: a document is
        blank unless every page around it is listed.
    """
    policy = [
        "sandbox",
        "default-src 'none'",
        f"style-src '{STYLE_HASH}'",
        "img-src data:",
        "form-action 'none'",
        "base-uri 'none'",
        " ".join(["frame-ancestors 'self'", *framed_by]),
    ]
    return {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": "; ".join(policy),
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": f"private, max-age={seconds}",
    }


def _cut(content: str, most: int) -> tuple[str, bool]:
    """Return at most ``most`` bytes of a text, without broken characters, and whether anything was cut off."""
    encoded = content.encode("utf-8", "replace")
    return encoded[:most].decode("utf-8", "ignore"), len(encoded) > most


def _paragraphs(text: str) -> str:
    """Return plain text as HTML paragraphs; blank lines separate them."""
    parts = re.split(r"\n[ \t]*(?:\n[ \t]*)+", text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))
    return "\n".join(f'<p class="text">{escape(part, quote=False)}</p>' for part in parts if part.strip())


def _attribute(tag: str, name: str, value: str) -> str | None:
    """Return the value of an allowed attribute, or None if the value is not allowed."""
    if name == "src":
        return value if len(value) <= MOST_IMAGE and IMAGE.fullmatch(value) else None
    if name in ("colspan", "rowspan"):
        return value if SMALL_NUMBER.fullmatch(value) else None
    return value


CLEANER = Cleaner(
    tags=set(TAGS),
    clean_content_tags=set(REMOVED),
    attributes=ATTRIBUTES,
    attribute_filter=_attribute,
    url_schemes={"data"},
    link_rel=None,
    strip_comments=True,
)


def _clean(markup: str) -> str:
    """Return HTML reduced to the allowlist; of markup that could take long to clean, only the text."""
    if len(NESTING.findall(markup)) > MOST_NESTING or _has_crowded_tag(IMAGE_DATA.sub(_drop_image_data, markup)):
        return _paragraphs(TAG.sub(" ", markup))
    return CLEANER.clean(markup)


def _has_crowded_tag(markup: str) -> bool:
    """Return whether one tag may have more attributes than real documents have."""
    separators, open_quotes = 0, set[str]()  # since the tag began; the quotation marks that may be open at a ">"
    for piece in markup.split(">"):
        if not open_quotes:
            begin = TAG_START.search(piece) if "<" in piece else None
            if begin is None:
                continue
            separators, piece = 0, piece[begin.start() :]
        separators += len(SEPARATORS.findall(piece))
        if separators > MOST_ATTRIBUTES:
            return True
        open_quotes = {
            mark
            for mark in OPEN_QUOTES
            if OPEN_QUOTES[mark].search(piece) or (mark in open_quotes and mark not in piece)
        }
    return False


def _drop_image_data(image: re.Match[str]) -> str:
    """Return an empty string for the data of an image, unless it is crafted to be read as many attributes."""
    return image[0] if len(SEPARATORS.findall(image[0])) * CHARACTERS_PER_SEPARATOR > len(image[0]) else ""


def _mark(body: str, words: Iterable[str]) -> tuple[str, int]:
    """Return a cleaned body with every match of a phrase marked, and their number; any white space separates words."""
    phrase = " ".join(words)[:LONGEST_FIND].split()
    marker = _Marker(re.compile(r"\s+".join(map(re.escape, phrase)), re.IGNORECASE))
    marker.feed(body)
    marker.close()
    return "".join(marker.parts), marker.matches


class _Marker(HTMLParser):
    """Copies cleaned HTML and marks matches in its text; tags are not searched."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        super().__init__(convert_charrefs=True)
        self.pattern, self.parts, self.matches = pattern, list[str](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Copy a tag."""
        self.parts.append(self.get_starttag_text() or "")

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag: str) -> None:
        """Copy an end tag."""
        self.parts.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        """Copy text, with its matches marked."""
        done = 0
        for match in self.pattern.finditer(data):
            if self.matches == MOST_MARKS:
                break
            self.matches += 1
            self.parts.append(escape(data[done : match.start()], quote=False))
            self.parts.append(f'<mark id="m{self.matches}">{escape(match[0], quote=False)}</mark>')
            done = match.end()
        self.parts.append(escape(data[done:], quote=False))
