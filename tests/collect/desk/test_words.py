"""The words of an HTML page."""

import pytest

from adjudge.collect.desk.words import words_of


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<h1>brake page 1</h1><p>brake</p><p>rim pad</p>", "brake page 1\n\nbrake\n\nrim pad"),
        ("<ul><li>one<li>two</ul>", "one\ntwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<table><tr><td>rim</td><td>pad</td></tr></table>", "rim pad"),
        ("an <b>o</b>ak\n  tree &amp; elm", "an oak tree & elm"),
        ("<head><title>T</title><style>p{}</style></head><body>x<script>evil()</script></body>", "x"),
        ("<html><head><title>T</title><body><p>no end of head", "no end of head"),
        ("<!-- hidden --><p>seen", "seen"),
        ("no tags, 1 < 2", "no tags, 1 < 2"),
        ("", ""),
    ],
)
def test_pages_are_read_as_people_read_them(page, words):
    """Blocks apart, words of a line together, nothing of head, scripts and comments."""
    assert words_of(page) == words
