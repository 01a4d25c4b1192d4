"""Lengths."""

import math
import sys

import numpy as np
import pytest

from adjudge.errors import MissingExtra
from adjudge.learn import similarity as topics_model
from adjudge.learn.features import pair_features
from adjudge.learn.search import Index
from adjudge.learn.similarity import K1, B


def test_lengths():
    """Counted on fingers."""
    result = pair_features([("who came", "the lamb and Mary"), ("", "")], "length")
    assert result.names == ("question_length", "passage_length", "length_ratio", "content_share")
    expected = [[math.log(3), math.log(5), 2 / 6, 2 / 4], [0, 0, 0, 0]]
    np.testing.assert_allclose(result.X, expected, rtol=1e-15)  # the last bit is the processor's


PASSAGES = {
    "d1": "Mary had a little lamb",
    "d2": "its fleece was white as snow and the lamb",
    "d3": "Mary had a little lamb",
    "d4": "snow",
    "d5": "",
}
QUERIES = {"q1": "the little lamb, a lamb", "q2": "white snow", "q3": "wolf"}


def test_the_score_is_that_of_a_search():
    """The same passages as corpus: the same number for every pair; and 0 if nothing is found."""
    pairs = [(query, passage) for query in QUERIES.values() for passage in PASSAGES.values()]
    score = pair_features(pairs, ["bm25"], PASSAGES)["bm25"].reshape(3, 5)
    run = Index(PASSAGES, K1, B).search(QUERIES)
    result = {(topic, document): value for topic, document, value in run.table.iter_rows()}
    expected = [[result.get((topic, document), 0.0) for document in PASSAGES] for topic in QUERIES]
    assert score == pytest.approx(np.array(expected), rel=1e-6)


def test_share_and_rank_are_within_the_question():
    """Equal scores share the better rank, whatever the order of pairs."""
    pairs = [(QUERIES["q1"], passage) for passage in PASSAGES.values()] + [(QUERIES["q2"], "snow")]
    result = pair_features(pairs, "okapi", PASSAGES)
    assert result["bm25_rank"].tolist() == [1, 1 / 3, 1, 1 / 4, 1 / 4, 1]
    assert result["bm25_share"][[0, 2, 3, 5]].tolist() == [1, 1, 0, 1]
    turned = pair_features(pairs[::-1], "okapi", PASSAGES)
    assert np.array_equal(turned.X[::-1], result.X)


def test_topics_that_ask_the_same_are_ranked_apart():
    """Share and rank are among the topic's own pairs, also where another topic has the same question."""
    question = "little lamb"
    pairs = [(question, PASSAGES[name]) for name in ("d1", "d4", "d2", "d4")]
    apart = pair_features(pairs, "okapi", PASSAGES, topics=["q1", "q1", "q2", "q2"])
    assert apart["bm25_rank"].tolist() == [1, 1 / 2, 1, 1 / 2]
    assert apart["bm25_share"].tolist() == [1, 0, 1, 0]
    alone = [pair_features(pairs[part], "okapi", PASSAGES).X for part in (slice(2), slice(2, 4))]
    assert np.array_equal(apart.X, np.vstack(alone))
    together = pair_features(pairs, "okapi", PASSAGES)
    assert together["bm25_rank"].tolist() == [1, 1 / 3, 1 / 2, 1 / 3]


def test_topics_change_nothing_where_every_topic_has_its_question():
    """Whatever the topics are called, and in any order of pairs."""
    pairs = [(query, passage) for passage in PASSAGES.values() for query in QUERIES.values()]
    named = pair_features(pairs, "okapi", PASSAGES, topics=[hash(query) for query, _ in pairs])
    assert np.array_equal(named.X, pair_features(pairs, "okapi", PASSAGES).X)


QUESTION = "Who had a little lamb"
PASSAGE = "Mary had a little lamb and a little dog"
CORPUS = [PASSAGE, "a dog", "the snow", "the lamb"]


def value(name, question=QUESTION, passage=PASSAGE):
    """Return one feature of one pair."""
    return pair_features([(question, passage)], [name], CORPUS, workers=1)[name][0]


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


SEQUENCE_QUESTION = "what did the little lamb follow"


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
    assert pair_features([(SEQUENCE_QUESTION, passage)], [name])[name][0] == pytest.approx(wanted)


SHEEP = ["the lamb and its fleece", "fleece of a sheep", "sheep and lamb graze", "a lamb follows the sheep"]
ROADS = ["cars on the road", "the road and its traffic", "traffic of cars and lorries", "lorries on a road"]


@pytest.mark.parametrize("name", ["latent_cosine", "topic_overlap"])
def test_what_is_about_the_same_is_close(name, monkeypatch):
    """Lamb and fleece share no word with the question, and their company; the same numbers every time."""
    for size in ("TOPICS", "DIMENSIONS"):
        monkeypatch.setattr(topics_model, size, 2)
    pairs = [("sheep grazing", "fleece of lamb"), ("sheep grazing", "traffic of lorries")]
    corpus = 10 * (SHEEP + ROADS)
    result = pair_features(pairs, [name], corpus)[name]
    assert result[0] > result[1] + 0.1
    assert np.array_equal(pair_features(pairs, [name], corpus)[name], result)


def test_a_text_is_its_own_neighbour():
    """The cosine with itself is 1."""
    assert pair_features([("the lamb", "a lamb")], ["latent_cosine"], SHEEP + ROADS).X[0, 0] == pytest.approx(1)


@pytest.mark.parametrize("corpus", [[], [""], ["lamb"], ["lamb", "lamb"], ["lamb", "snow"]])
def test_a_corpus_too_small_to_learn_from(corpus):
    """Numbers all the same, none missing."""
    result = pair_features([("lamb", "snow"), ("", ""), ("lamb", "lamb")], "topics", corpus)
    assert np.isfinite(result.X).all()


def test_a_large_corpus_is_sampled(monkeypatch):
    """Evenly, so that the same texts are taken every time."""
    monkeypatch.setattr(topics_model, "MOST", 4)
    result = pair_features([("sheep", "fleece"), ("sheep", "road")], "topics", SHEEP * 3)
    assert np.isfinite(result.X).all()


def test_a_missing_library_is_said(monkeypatch):
    """With the line to type."""
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"a topic model needs 'adjudge\[learn\]'"):
        pair_features([("lamb", "lamb")], ["latent_cosine"], SHEEP)
