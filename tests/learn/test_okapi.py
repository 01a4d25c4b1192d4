"""BM25 as a feature."""

import numpy as np
import pytest

from adjudge.learn.features import features
from adjudge.learn.okapi import K1, B
from adjudge.learn.search import Index

PASSAGES = {
    "d1": "Mary had a little lamb",
    "d2": "its fleece was white as snow and the lamb",
    "d3": "Mary had a little lamb",
    "d4": "snow",
    "d5": "",
}
QUERIES = {"q1": "the little lamb, a lamb", "q2": "white snow", "q3": "wolf"}


def test_the_score_is_that_of_a_search():
    """The same passages as corpus: the same number, pair by pair; and 0 where nothing is found."""
    pairs = [(query, passage) for query in QUERIES.values() for passage in PASSAGES.values()]
    score = features(pairs, ["bm25"], PASSAGES)["bm25"].reshape(3, 5)
    run = Index(PASSAGES, K1, B).search(QUERIES)
    found = {(topic, document): value for topic, document, value in run.table.iter_rows()}
    wanted = [[found.get((topic, document), 0.0) for document in PASSAGES] for topic in QUERIES]
    assert score == pytest.approx(np.array(wanted), rel=1e-6)


def test_share_and_rank_are_within_the_question():
    """Equal scores share the better rank, whatever the order of pairs."""
    pairs = [(QUERIES["q1"], passage) for passage in PASSAGES.values()] + [(QUERIES["q2"], "snow")]
    found = features(pairs, "okapi", PASSAGES)
    assert found["bm25_rank"].tolist() == [1, 1 / 3, 1, 1 / 4, 1 / 4, 1]
    assert found["bm25_share"][[0, 2, 3, 5]].tolist() == [1, 1, 0, 1]
    turned = features(pairs[::-1], "okapi", PASSAGES)
    assert np.array_equal(turned.X[::-1], found.X)


def test_topics_that_ask_the_same_are_ranked_apart():
    """Share and rank are among the topic's own pairs, also where another topic has the same question."""
    question = "little lamb"
    pairs = [(question, PASSAGES[name]) for name in ("d1", "d4", "d2", "d4")]
    apart = features(pairs, "okapi", PASSAGES, topics=["q1", "q1", "q2", "q2"])
    assert apart["bm25_rank"].tolist() == [1, 1 / 2, 1, 1 / 2]
    assert apart["bm25_share"].tolist() == [1, 0, 1, 0]
    alone = [features(pairs[part], "okapi", PASSAGES).X for part in (slice(2), slice(2, 4))]
    assert np.array_equal(apart.X, np.vstack(alone))
    together = features(pairs, "okapi", PASSAGES)
    assert together["bm25_rank"].tolist() == [1, 1 / 3, 1 / 2, 1 / 3]


def test_topics_change_nothing_where_every_topic_has_its_question():
    """Whatever the topics are called, and in any order of pairs."""
    pairs = [(query, passage) for passage in PASSAGES.values() for query in QUERIES.values()]
    named = features(pairs, "okapi", PASSAGES, topics=[hash(query) for query, _ in pairs])
    assert np.array_equal(named.X, features(pairs, "okapi", PASSAGES).X)
