"""Overlap, worked out by hand."""

import math

import pytest

from adjudge.learn.features import features

QUESTION = "Who had a little lamb"
PASSAGE = "Mary had a little lamb and a little dog"
CORPUS = [PASSAGE, "a dog", "the snow", "the lamb"]


def value(name, question=QUESTION, passage=PASSAGE):
    """Return one feature of one pair."""
    return features([(question, passage)], [name], CORPUS, workers=1)[name][0]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("words_1_covered", 4 / 5),
        ("words_1_jaccard", 4 / 8),  # who had a little lamb | mary had a little lamb and dog
        ("words_2_covered", 3 / 4),
        ("words_2_jaccard", 3 / 8),  # four and seven, three of them shared
        ("words_3_covered", 2 / 3),
        ("words_4_covered", 1 / 2),
        ("words_4_jaccard", 1 / 7),
        ("stems_1_covered", 4 / 5),
        ("content_covered", 1.0),  # little, lamb
        ("content_jaccard", 2 / 4),  # and mary, dog
    ],
)
def test_runs(name, wanted):
    """Counted on fingers."""
    assert value(name) == pytest.approx(wanted)


def test_stems_find_what_words_do_not():
    """Lambs are lamb."""
    assert value("words_1_covered", "lambs", "a lamb") == 0
    assert value("stems_1_covered", "lambs", "a lamb") == 1


def test_rare_words_count_more():
    """Of two content stems, the passage has the one that half of the corpus has."""
    lamb, little = (math.log1p((4 - n + 0.5) / (n + 0.5)) for n in (2, 1))
    dog = lamb
    assert value("idf_covered", QUESTION, "the lamb") == pytest.approx(lamb / (lamb + little))
    assert value("idf_jaccard", QUESTION, "lamb dog") == pytest.approx(lamb / (lamb + little + dog))
    size = math.hypot(lamb, little)
    assert value("tfidf_cosine", QUESTION, "lamb") == pytest.approx(lamb / size)
    twice = math.hypot((1 + math.log(2)) * lamb, dog)
    assert value("tfidf_cosine", QUESTION, "lamb lamb dog") == pytest.approx(
        (1 + math.log(2)) * lamb * lamb / size / twice
    )
    assert value("rarest_found", QUESTION, "the lamb") == 0
    assert value("rarest_found", QUESTION, "little") == 1


@pytest.mark.parametrize("name", ["words_1_covered", "words_2_jaccard", "idf_covered", "tfidf_cosine", "rarest_found"])
def test_texts_without_words(name):
    """Share nothing with anything."""
    for question, passage in (("", ""), ("?", PASSAGE), (QUESTION, "")):
        assert value(name, question, passage) == 0
