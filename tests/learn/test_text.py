"""Words, stems and stop words."""

import sys

import pytest

from adjudge.errors import MissingExtra
from adjudge.learn.text import STOP, Stems, terms, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1,050 isn't 6-fold", ["1050", "isn't", "6", "fold"]),
        ("It\u2019s 3.14, or so.", ["it's", "3.14", "or", "so"]),
        ("snake_case Ünïcode", ["snake", "case", "ünïcode"]),
        ("ﬁne", ["fine"]),
        (" -- ", []),
        ("", []),
    ],
)
def test_words(text, found):
    """Small letters, numbers whole, apostrophes inside words."""
    assert words(text) == found


def test_terms_are_stems_without_stop_words():
    """As a search has them."""
    assert terms("The lambs were running", Stems()) == ["lamb", "run"]
    assert terms("The lambs were running", None) == ["lambs", "running"]
    assert terms("The lambs", None, stop=False) == ["the", "lambs"]


def test_question_words_are_stop_words():
    """They say what kind of answer is asked for, and nothing of what it is about."""
    assert {"who", "what", "when", "where", "why", "how", "which"} <= STOP


def test_a_missing_stemmer_is_said(monkeypatch):
    """With the line to type."""
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(MissingExtra, match=r"stemming needs 'adjudge\[learn\]', which is not installed: pip install"):
        Stems()
