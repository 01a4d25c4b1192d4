"""Order, worked out by hand."""

import pytest

from adjudge.learn.features import features

QUESTION = "what did the little lamb follow"


@pytest.mark.parametrize(
    ("name", "passage", "wanted"),
    [
        ("subsequence_words", "the little white lamb", 3 / 6),
        ("subsequence_words", "lamb little the", 1 / 6),
        ("subsequence_stems", "a little lamb that follows", 3 / 6),
        ("substring_words", "the little white lamb", 2 / 6),
        ("substring_stems", "the little lambs followed", 4 / 6),
        ("rouge_words", "the little white lamb", 2 * 3 / (6 + 4)),
        ("closeness", "little lamb", 2 / 3 * 2 / 2),
        ("closeness", "little old white lamb, little black dog", 2 / 3 * 2 / 2),  # little comes again after the lamb
        ("closeness", "little old white lamb", 2 / 3 * 2 / 4),
        ("closeness", "nothing", 0),
        ("first_match", "old white little lamb", 1 - 2 / 4),
        ("first_match", "nothing", 0),
        ("first_match", "", 0),
        ("rouge_words", "", 0),
    ],
)
def test_order(name, passage, wanted):
    """Counted on fingers."""
    assert features([(QUESTION, passage)], [name])[name][0] == pytest.approx(wanted)
