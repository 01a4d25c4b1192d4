"""Words, stems and stop words."""

import difflib
import sys
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import MissingExtra
from adjudge.learn.text import (
    STOP,
    Stems,
    Tokens,
    bag,
    encode_pairs,
    first,
    grams,
    inner,
    share,
    subsequence,
    substring,
    terms,
    topic_codes,
    window,
    words,
)


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


PAIRS = [("Whose lamb?", "Mary's lambs, the lambs"), ("Whose lamb?", "snow"), ("snow", "snow")]


def test_every_text_is_taken_apart_once():
    """Distinct texts, and which of them make a pair."""
    pairs = encode_pairs(PAIRS)
    assert pairs.questions == ("Whose lamb?", "snow")
    assert pairs.passages == ("Mary's lambs, the lambs", "snow")
    assert (pairs.question.tolist(), pairs.passage.tolist(), len(pairs)) == ([0, 0, 1], [0, 1, 1], 3)
    assert pairs.corpus == pairs.passages


def test_units_share_their_terms():
    """Words, stems, and stems without stop words."""
    pairs = encode_pairs(PAIRS, ["fleece"])
    assert pairs.words.question.length.tolist() == [2, 1]
    assert pairs.words.passage.length.tolist() == [4, 1]
    assert pairs.content.passage.length.tolist() == [3, 1]
    lamb = pairs.content.question.code[0]
    assert pairs.content.passage.code.tolist().count(lamb) == 2  # lambs are lamb
    assert pairs.content.corpus.length.tolist() == [1]
    assert pairs.content.size == 4


def test_bags_count():
    """Distinct terms in rising order, with how often they are there."""
    stored = bag(Tokens(np.array([0, 3, 3, 4]), np.array([2, 0, 2, 1])), 3)
    assert (stored.start.tolist(), stored.code.tolist(), stored.times.tolist()) == ([0, 2, 2, 3], [0, 2, 1], [1, 2, 1])
    assert stored.total(np.array([1.0, 2.0, 4.0])).tolist() == [3, 0, 4]
    assert stored.size.tolist() == [2, 0, 1]


WORDS = st.lists(st.sampled_from(["xa", "xb", "xc"]), max_size=7).map(" ".join)


@given(WORDS, WORDS, st.integers(1, 4))
def test_runs_of_words(question, passage, n):
    """As many are shared as sets of tuples say; none runs from one text into the next."""
    pairs = encode_pairs([(question, passage), (passage, question)])
    left, right = grams(pairs.words, n)
    runs = [{tuple(text.split()[i : i + n]) for i in range(len(text.split()) - n + 1)} for text in (question, passage)]
    assert pairs.shared(left, right).tolist() == [len(runs[0] & runs[1])] * 2
    assert left.size[pairs.question].tolist() == [len(runs[0]), len(runs[1])]


def test_a_share_of_nothing_is_nothing():
    """No division by zero."""
    assert share(np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0])).tolist() == [0.5, 0, 0]


def test_topics():
    """By name where they are given, by question otherwise; numbered as they come."""
    assert encode_pairs(PAIRS).topic.tolist() == [0, 0, 1]
    assert encode_pairs(PAIRS, topics=["b", "a", "b"]).topic.tolist() == [0, 1, 0]
    assert topic_codes([]).tolist() == []


TEXT = st.lists(st.integers(0, 4), max_size=8)
ONE = np.zeros(1, np.int64)


def sides(*texts):
    """Return texts as starts and codes, one each."""
    return [array for text in texts for array in (np.array([0, len(text)]), np.array(text, np.int64))]


@given(TEXT, TEXT)
def test_the_longest_common_subsequence(a, b):
    """Held against the recursion that defines it."""

    @lru_cache(None)
    def longest(i, j):
        if i == len(a) or j == len(b):
            return 0
        return 1 + longest(i + 1, j + 1) if a[i] == b[j] else max(longest(i + 1, j), longest(i, j + 1))

    assert subsequence(*sides(a, b), ONE, ONE)[0] == longest(0, 0)


@given(TEXT, TEXT)
def test_the_longest_common_run(a, b):
    """Held against the standard library's matcher."""
    expected = difflib.SequenceMatcher(None, a, b, autojunk=False).find_longest_match().size
    assert substring(*sides(a, b), ONE, ONE)[0] == expected


@given(TEXT, TEXT)
def test_the_least_stretch(a, b):
    """Held against all stretches there are; and where the first term of the set stands."""
    a = sorted(set(a))
    stored, least = window(*sides(a, b), ONE, ONE)
    both = set(a) & set(b)
    spans = [j - i for i in range(len(b)) for j in range(i + 1, len(b) + 1) if both <= set(b[i:j])]
    assert (stored[0], least[0]) == (len(both), min(spans) if both else 0)
    assert first(*sides(a, b), ONE, ONE)[0] == next((j for j, term in enumerate(b) if term in a), len(b))


@given(st.dictionaries(st.integers(0, 6), st.floats(0, 2)), st.dictionaries(st.integers(0, 6), st.floats(0, 2)))
def test_the_inner_product(a, b):
    """Terms of both, weight times weight."""
    left, right = (
        (np.array([0, len(side)]), np.array(sorted(side), np.int64), np.array([side[k] for k in sorted(side)], float))
        for side in (a, b)
    )
    assert inner(*left, *right, ONE, ONE)[0] == pytest.approx(sum(a[key] * b[key] for key in a.keys() & b.keys()))


def test_many_pairs_at_once():
    """Each pair names its texts."""
    start, code = np.array([0, 2, 3]), np.array([1, 2, 9])
    left, right = np.array([0, 1, 0]), np.array([0, 1, 1])
    assert subsequence(start, code, start, code, left, right).tolist() == [2, 1, 0]
