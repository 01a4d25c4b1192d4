"""The words of an HTML page, as somebody reads them: blocks on lines of their own, nothing of head, script or style."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SILENT = {"head", "title", "script", "style", "template", "noscript"}  # elements whose text nobody reads
INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark"),
    *("q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
}  # elements within a line; all others begin a new one
CELLS = {"td", "th"}


def words_of(page: str) -> str:
    """Return the words of a page."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader(HTMLParser):
    """Gathers the pieces of text of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.silent: list[str] = []  # the elements that are open of those that nobody reads

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, or something that nobody reads."""
        if tag == "body":
            self.silent.clear()  # the end of the head may be left out
        if tag in SILENT:
            self.silent.append(tag)
        self._part(tag)

    def handle_endtag(self, tag: str) -> None:
        """End a line, or what nobody reads."""
        if tag in self.silent:
            del self.silent[self.silent.index(tag) :]
        self._part(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take ``<br/>`` for a new line."""
        self._part(tag)

    def handle_data(self, data: str) -> None:
        """Keep text that is read; its own line ends are blanks."""
        if not self.silent:
            self.pieces.append(re.sub(r"\s+", " ", data))

    def _part(self, tag: str) -> None:
        """Set apart what stands on either side of a tag."""
        if tag not in INLINE:
            self.pieces.append(" " if tag in CELLS else "\n")
