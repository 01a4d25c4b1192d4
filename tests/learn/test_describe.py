"""The features of a run."""

import io

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_svmlight_file

from adjudge.errors import InputError, UsageError
from adjudge.learn.describe import SUFFIXES, describe, format_of
from adjudge.learn.features import features

PASSAGES = {"d1": "Mary had a little lamb", "d2": "white as snow", "d3": "a dog"}
QUERIES = {"q1": "Whose lamb?", "q2": "What is white?", "q3": "not asked"}
RUN = {"q1": {"d1": 2.0, "d3": 1.0}, "q2": {"d2": 3.0, "d1": 1.0}}
NAMES = ["bm25", "content_covered"]


def test_pairs_are_those_of_the_run():
    """Best first, with the numbers of their texts, all passages being the corpus."""
    found = describe(RUN, PASSAGES, QUERIES, NAMES)
    assert list(zip(found.topics, found.documents, strict=True)) == [
        ("q1", "d1"),
        ("q1", "d3"),
        ("q2", "d2"),
        ("q2", "d1"),
    ]
    pairs = [(QUERIES[t], PASSAGES[d]) for t, d in zip(found.topics, found.documents, strict=True)]
    assert np.array_equal(found.features.X, features(pairs, NAMES, PASSAGES).X)
    assert found.label is None
    assert found.frame.columns == ["topic", "document", *NAMES]


def test_labels_are_grades():
    """0 where nobody judged."""
    found = describe(RUN, PASSAGES, QUERIES, NAMES, grades={"q1": {"d1": 2}, "q9": {"d1": 1}})
    assert found.frame["label"].to_list() == [2, 0, 0, 0]


def test_svm_light_is_read_by_others():
    """scikit-learn reads labels, numbers and queries as they are."""
    found = describe(RUN, PASSAGES, QUERIES, NAMES, grades={"q2": {"d2": 1}})
    content = found.content("svm")
    assert content.startswith(b"# 1 bm25\n# 2 content_covered\n0 qid:1 1:")
    assert content.splitlines()[-1].endswith(b"# q2 d1")
    X, y, qid = load_svmlight_file(io.BytesIO(content), query_id=True)
    assert np.array_equal(X.toarray(), found.features.X)
    assert (y.tolist(), qid.tolist()) == ([0, 0, 1, 0], [1, 1, 2, 2])


def test_tables(tmp_path):
    """The frame, in every format there is."""
    found = describe(RUN, PASSAGES, QUERIES, NAMES)
    assert found.content("csv").startswith(b"topic,document,bm25,content_covered\nq1,d1,")
    assert pl.read_parquet(io.BytesIO(found.content("parquet"))).equals(found.frame)
    assert found.content("jsonl").startswith(b'{"topic":"q1","document":"d1","bm25":')
    with pytest.raises(UsageError, match="format 'xls' is not one of 'svm', 'csv', 'jsonl', 'parquet'"):
        found.content("xls")


def test_formats_by_name():
    """What ends a file's name."""
    assert {format_of(f"a{ending}") for ending in SUFFIXES} == {"svm", "csv", "jsonl", "parquet"}
    with pytest.raises(UsageError, match=r"a.xls has no known suffix: use one of .svm, .svmlight"):
        format_of("a.xls")


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ({"q7": {"d1": 1.0}}, r"run: topic 'q7' is not a query of the 3 given, which has 'q1'"),
        ({"q1": {"d7": 1.0}}, r"run: document 'd7' is not a passage of the 3 given, which has 'd1'"),
    ],
)
def test_strangers(run, said):
    """A run of other queries or passages."""
    with pytest.raises(InputError, match=said):
        describe(run, PASSAGES, QUERIES, NAMES)


def test_two_topics_with_the_same_question():
    """Each is described as if it were alone, with a cache or without."""
    queries, run = {"q1": "white lamb", "q2": "white lamb"}, {"q1": {"d1": 2.0, "d3": 1.0}, "q2": {"d2": 1.0}}
    found = describe(run, PASSAGES, queries, "okapi")
    alone = [describe({topic: run[topic]}, PASSAGES, queries, "okapi").features.X for topic in run]
    assert np.array_equal(found.features.X, np.vstack(alone))
    assert found.features["bm25_rank"].tolist() == [1, 1 / 2, 1]


def test_what_is_cached_is_of_the_same_topics(tmp_path):
    """The same pairs under other topics are other numbers."""
    run = {"q1": {"d1": 2.0}, "q2": {"d2": 1.0}}
    one = describe(run, PASSAGES, {"q1": "white lamb", "q2": "white lamb"}, "okapi", cache=tmp_path)
    pairs = [("white lamb", PASSAGES[name]) for name in ("d1", "d2")]
    assert sorted(features(pairs, "okapi", PASSAGES, cache=tmp_path)["bm25_rank"]) != [1, 1]
    assert one.features["bm25_rank"].tolist() == [1, 1]
