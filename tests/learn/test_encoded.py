"""Pairs as numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adjudge.learn.encoded import Tokens, bag, encoded, grams, share, topic_codes

PAIRS = [("Whose lamb?", "Mary's lambs, the lambs"), ("Whose lamb?", "snow"), ("snow", "snow")]


def test_every_text_is_taken_apart_once():
    """Distinct texts, and which of them make a pair."""
    pairs = encoded(PAIRS)
    assert pairs.questions == ("Whose lamb?", "snow")
    assert pairs.passages == ("Mary's lambs, the lambs", "snow")
    assert (pairs.question.tolist(), pairs.passage.tolist(), len(pairs)) == ([0, 0, 1], [0, 1, 1], 3)
    assert pairs.corpus == pairs.passages


def test_units_share_their_terms():
    """Words, stems, and stems without stop words."""
    pairs = encoded(PAIRS, ["fleece"])
    assert pairs.words.question.length.tolist() == [2, 1]
    assert pairs.words.passage.length.tolist() == [4, 1]
    assert pairs.content.passage.length.tolist() == [3, 1]
    lamb = pairs.content.question.code[0]
    assert pairs.content.passage.code.tolist().count(lamb) == 2  # lambs are lamb
    assert pairs.content.corpus.length.tolist() == [1]
    assert pairs.content.size == 4


def test_bags_count():
    """Distinct terms in rising order, with how often they are there."""
    held = bag(Tokens(np.array([0, 3, 3, 4]), np.array([2, 0, 2, 1])), 3)
    assert (held.start.tolist(), held.code.tolist(), held.times.tolist()) == ([0, 2, 2, 3], [0, 2, 1], [1, 2, 1])
    assert held.total(np.array([1.0, 2.0, 4.0])).tolist() == [3, 0, 4]
    assert held.size.tolist() == [2, 0, 1]


WORDS = st.lists(st.sampled_from(["xa", "xb", "xc"]), max_size=7).map(" ".join)


@given(WORDS, WORDS, st.integers(1, 4))
def test_runs_of_words(question, passage, n):
    """As many are shared as sets of tuples say; none runs from one text into the next."""
    pairs = encoded([(question, passage), (passage, question)])
    left, right = grams(pairs.words, n)
    runs = [{tuple(text.split()[i : i + n]) for i in range(len(text.split()) - n + 1)} for text in (question, passage)]
    assert pairs.shared(left, right).tolist() == [len(runs[0] & runs[1])] * 2
    assert left.size[pairs.question].tolist() == [len(runs[0]), len(runs[1])]


def test_a_share_of_nothing_is_nothing():
    """No division by zero."""
    assert share(np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0])).tolist() == [0.5, 0, 0]


def test_topics():
    """By name where they are given, by question otherwise; numbered as they come."""
    assert encoded(PAIRS).topic.tolist() == [0, 0, 1]
    assert encoded(PAIRS, topics=["b", "a", "b"]).topic.tolist() == [0, 1, 0]
    assert topic_codes([]).tolist() == []
