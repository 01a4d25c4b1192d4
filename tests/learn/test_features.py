"""All features at once, and the features of a run."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from adjudge.errors import InputError, UsageError
from adjudge.learn import features as room
from adjudge.learn.features import (
    FEATURES,
    GROUPS,
    SUFFIXES,
    FeatureTable,
    features,
    features_named,
    format_of,
    pair_features,
)

PAIRS = [
    ("Who had a little lamb?", "Mary had a little lamb."),
    ("Who had a little lamb?", "Its fleece was white as snow in 1830."),
    ("Where did it go?", "It went to school with Mary, near Boston."),
    ("Where did it go?", ""),
]
UNBOUNDED = {"tagged_names_new", "bm25", "question_length", "passage_length", "new_names", "new_numbers", "new_times"}
QUICK = [name for name, feature in FEATURES.items() if feature.group != "topics"]


def test_the_registry_is_whole():
    """Every feature has one line of description, and its name is not that of a group."""
    assert len(FEATURES) == 74
    assert all(feature.summary and "\n" not in feature.summary for feature in FEATURES.values())
    assert all(name.isidentifier() for name in FEATURES)
    assert not FEATURES.keys() & set(GROUPS)


def test_all_features_of_all_pairs():
    """A column for each, and no number missing."""
    result = pair_features(PAIRS)
    assert result.X.shape == (4, len(features_named()))
    assert np.isfinite(result.X).all()
    assert result.frame.columns == list(result.names)
    assert result["words_1_covered"][0] == pytest.approx(4 / 5)
    assert len(result) == 4
    assert not result.X.flags.writeable


TEXT = st.text(st.sampled_from("ab1 .,'?AÉ中\n-"), max_size=25)


@settings(max_examples=30)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=5))
def test_bounds(pairs):
    """Whatever the texts, from 0 to 1 but for scores and logarithms, and the same by one worker or by three."""
    result = pair_features(pairs, QUICK, workers=1)
    assert np.isfinite(result.X).all()
    assert (result.X >= 0).all()
    for name in set(QUICK) - UNBOUNDED:
        assert (result[name] <= 1 + 1e-12).all(), name
    assert np.array_equal(pair_features(pairs, QUICK, workers=3).X, result.X)


@given(TEXT, TEXT)
@settings(max_examples=30)
def test_what_is_symmetric(a, b):
    """Shares of both texts are the same either way round."""
    names = ["words_1_jaccard", "stems_2_jaccard", "tfidf_cosine", "idf_jaccard", "rouge_words"]
    other, back = (pair_features([pair], names, [a, b]).X for pair in ((a, b), (b, a)))
    assert other == pytest.approx(back)


@given(TEXT)
@settings(max_examples=30)
def test_a_text_covers_itself(text):
    """All of what it has."""
    result = pair_features(
        [(text, text)], ["words_1_covered", "words_1_jaccard", "subsequence_words", "substring_words"]
    )
    assert set(result.X[0]) <= {0.0, 1.0}
    assert len(set(result.X[0])) == 1


def test_workers_change_nothing():
    """Topic models too."""
    assert np.array_equal(pair_features(PAIRS, workers=1).X, pair_features(PAIRS, workers=2).X)


def test_a_pair_depends_on_its_question_alone():
    """With the same corpus, a pair's numbers are the same in any company of other questions."""
    corpus = [passage for _, passage in PAIRS]
    assert np.array_equal(pair_features(PAIRS, corpus=corpus).X[2:], pair_features(PAIRS[2:], corpus=corpus).X)


def test_the_corpus_may_be_anything_with_passages(tmp_path):
    """A list, a mapping, a frame or a file."""
    texts = ["a lamb", "snow"]
    (tmp_path / "c.tsv").write_text("d1\ta lamb\nd2\tsnow\n")
    frame = pl.DataFrame({"passage": ["d1", "d2"], "text": texts})
    expected = pair_features(PAIRS, ["bm25"], texts).X
    for corpus in (dict(enumerate(texts)), frame, tmp_path / "c.tsv", str(tmp_path / "c.tsv")):
        assert np.array_equal(pair_features(PAIRS, ["bm25"], corpus).X, expected)


class Counted:
    """How often features are computed."""

    def __init__(self, monkeypatch):
        self.names = []
        compute = room._compute
        monkeypatch.setattr(room, "_compute", lambda feature, pairs: self._count(feature) or compute(feature, pairs))

    def _count(self, feature):
        self.names.append(feature.name)


def test_the_cache(tmp_path, monkeypatch):
    """What is there is not computed again; what is changed is."""
    counted, names = Counted(monkeypatch), ["bm25", "closeness"]
    messages = []
    fresh = pair_features(PAIRS, names, cache=tmp_path / "kept", progress=lambda *said: messages.append(said))
    assert (sorted(counted.names), len(messages), messages[-1][:2]) == (names, 2, (2, 2))
    again = pair_features(PAIRS, names, cache=tmp_path / "kept", progress=lambda *said: messages.append(said))
    assert np.array_equal(again.X, fresh.X)
    assert (len(counted.names), len(messages)) == (2, 2)
    changed = [*PAIRS[:3], ("Where did it go?", "It went to school.")]
    other = pair_features(changed, names, cache=tmp_path / "kept")
    assert len(counted.names) == 4
    assert np.array_equal(other.X, pair_features(changed, names).X)


@pytest.mark.parametrize(
    "change",
    [
        lambda pairs: (pairs[::-1], None),
        lambda pairs: ([(question + " ", passage) for question, passage in pairs], None),
        lambda pairs: ([(question + passage[:1], passage[1:]) for question, passage in pairs], None),
        lambda pairs: (pairs, ["snow"]),
        lambda pairs: (pairs, []),
    ],
)
def test_other_texts_have_another_place(tmp_path, monkeypatch, change):
    """Also where the same letters stand on the other side, or in another order, or beside another corpus."""
    counted = Counted(monkeypatch)
    pair_features(PAIRS, ["bm25"], cache=tmp_path)
    pairs, corpus = change(PAIRS)
    pair_features(pairs, ["bm25"], corpus, cache=tmp_path)
    assert len(counted.names) == 2


def test_a_new_version_is_computed_again(tmp_path, monkeypatch):
    """Of the feature, or of a library that it uses."""
    counted = Counted(monkeypatch)
    pair_features(PAIRS, ["bm25"], cache=tmp_path)
    monkeypatch.setattr(room, "FEATURES", {"bm25": FEATURES["bm25"]._replace(version=2)})
    pair_features(PAIRS, ["bm25"], cache=tmp_path)
    monkeypatch.setattr(room, "_version", lambda package: "99")
    pair_features(PAIRS, ["bm25"], cache=tmp_path)
    assert len(counted.names) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no zip"])
def test_a_damaged_file_of_the_cache_is_not_trusted(tmp_path, content):
    """It is computed again and written over."""
    expected = pair_features(PAIRS, ["bm25"], cache=tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert np.array_equal(pair_features(PAIRS, ["bm25"], cache=tmp_path).X, expected.X)
    with np.load(file, allow_pickle=False) as stored:
        assert np.array_equal(stored["value"], expected["bm25"])


def test_names_and_groups():
    """In the order asked for, each once; a group stands for its features."""
    assert pair_features(PAIRS, "okapi, closeness,bm25_rank").names == ("bm25", "bm25_share", "bm25_rank", "closeness")
    assert pair_features(PAIRS, ["closeness", "bm25_rank"]).names == ("closeness", "bm25_rank")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: pair_features(PAIRS, ["bm52"]),
            r"there is no feature or group 'bm52'; features are words_1_covered, .*negation_agrees",
        ),
        (lambda: pair_features(PAIRS, []), "no feature is named; features are words_1_covered"),
        (lambda: pair_features([("a", "b", "c")]), r"pair 0 is .*, expected the texts of a question and a passage"),
        (lambda: pair_features([("a", "b"), "ab"]), "pair 1 is 'ab', expected the texts"),
        (lambda: pair_features([("a", None)]), "pair 0 is"),
        (lambda: pair_features(PAIRS, workers=0), "workers 0 is not 1 or more"),
        (lambda: FeatureTable(("a",), np.zeros((1, 1)))["b"], "there is no feature 'b' here: there are a"),
    ],
)
def test_what_is_wrong_is_said(call, said):
    """With what there is instead."""
    with pytest.raises(UsageError, match=said):
        call()


def test_no_pairs():
    """An empty table with its columns."""
    assert pair_features([]).X.shape == (0, len(features_named()))


def test_the_page_lists_every_feature(tmp_path, monkeypatch):
    """Written from the registry; and its example runs."""
    page = (Path(__file__).parents[2] / "docs/how-to/features.md").read_text(encoding="utf8")
    assert all(f"| `{name}` |" in page for name in FEATURES)
    monkeypatch.chdir(tmp_path)
    reference = {}
    exec(page.split("```python\n")[1].split("```")[0], reference)
    assert reference["table"].X.shape == (2, len(features_named(["overlap", "okapi"])))


def test_a_topic_for_every_pair():
    """No more and no fewer."""
    with pytest.raises(UsageError, match="1 topics are given for 4 pairs, expected one for each"):
        pair_features(PAIRS, ["bm25"], topics=["q1"])


def test_topics_of_distinct_questions_find_what_is_cached(tmp_path, monkeypatch):
    """Where every topic has its question, names of topics change neither numbers nor their place."""
    counted = Counted(monkeypatch)
    plain = pair_features(PAIRS, "okapi", cache=tmp_path)
    named = pair_features(PAIRS, "okapi", cache=tmp_path, topics=["a", "a", "b", "b"])
    assert np.array_equal(plain.X, named.X)
    assert len(counted.names) == 3
    pair_features(PAIRS, "okapi", cache=tmp_path, topics=["a", "b", "c", "d"])
    assert len(counted.names) == 6


def test_a_corpus_of_something_else():
    """Not made into text in silence."""
    with pytest.raises(UsageError, match="text 1 of the corpus is 'None', expected text"):
        pair_features(PAIRS, ["bm25"], ["a", None])


def test_a_cache_that_cannot_be(tmp_path):
    """A file where the folder should be."""
    (tmp_path / "kept").write_text("")
    with pytest.raises(InputError, match="kept: the cache cannot be written: File exists"):
        pair_features(PAIRS, ["bm25"], cache=tmp_path / "kept")


def test_a_cache_of_something_else(tmp_path):
    """Numbers that claim more room than there is, or of another kind, are computed again."""
    expected = pair_features(PAIRS, ["bm25"], cache=tmp_path).X
    (stored,) = tmp_path.iterdir()
    for value in (np.zeros(10_000_000), np.zeros(4, int), np.array(["a"] * 4), np.full(4, np.nan)):
        np.savez_compressed(stored, value=value)
        assert np.array_equal(pair_features(PAIRS, ["bm25"], cache=tmp_path).X, expected)


PASSAGES = {"d1": "Mary had a little lamb", "d2": "white as snow", "d3": "a dog"}
QUERIES = {"q1": "Whose lamb?", "q2": "What is white?", "q3": "not asked"}
RUN = {"q1": {"d1": 2.0, "d3": 1.0}, "q2": {"d2": 3.0, "d1": 1.0}}
NAMES = ["bm25", "content_covered"]


def test_pairs_are_those_of_the_run():
    """Best first, with the numbers of their texts, all passages being the corpus."""
    result = features(RUN, PASSAGES, QUERIES, NAMES)
    assert list(zip(result.topics, result.documents, strict=True)) == [
        ("q1", "d1"),
        ("q1", "d3"),
        ("q2", "d2"),
        ("q2", "d1"),
    ]
    pairs = [(QUERIES[t], PASSAGES[d]) for t, d in zip(result.topics, result.documents, strict=True)]
    assert np.array_equal(result.features.X, pair_features(pairs, NAMES, PASSAGES).X)
    assert result.label is None
    assert result.table.columns == ["topic", "document", *NAMES]


def test_labels_are_grades():
    """0 where nobody judged."""
    result = features(RUN, PASSAGES, QUERIES, NAMES, grades={"q1": {"d1": 2}, "q9": {"d1": 1}})
    assert result.table["label"].to_list() == [2, 0, 0, 0]


def test_svm_light_is_read_by_others():
    """scikit-learn reads labels, numbers and queries as they are."""
    result = features(RUN, PASSAGES, QUERIES, NAMES, grades={"q2": {"d2": 1}})
    content = result.content("svm")
    assert content.startswith(b"# 1 bm25\n# 2 content_covered\n0 qid:1 1:")
    assert content.splitlines()[-1].endswith(b"# q2 d1")
    X, y, qid = load_svmlight_file(io.BytesIO(content), query_id=True)
    assert np.array_equal(X.toarray(), result.features.X)
    assert (y.tolist(), qid.tolist()) == ([0, 0, 1, 0], [1, 1, 2, 2])


def test_tables(tmp_path):
    """The frame, in every format there is."""
    result = features(RUN, PASSAGES, QUERIES, NAMES)
    assert result.content("csv").startswith(b"topic,document,bm25,content_covered\nq1,d1,")
    assert pl.read_parquet(io.BytesIO(result.content("parquet"))).equals(result.table)
    assert result.content("jsonl").startswith(b'{"topic":"q1","document":"d1","bm25":')
    with pytest.raises(UsageError, match="format 'xls' is not one of 'svm', 'csv', 'jsonl', 'parquet'"):
        result.content("xls")


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
        features(run, PASSAGES, QUERIES, NAMES)


def test_two_topics_with_the_same_question():
    """Each is described as if it were alone, with a cache or without."""
    queries, run = {"q1": "white lamb", "q2": "white lamb"}, {"q1": {"d1": 2.0, "d3": 1.0}, "q2": {"d2": 1.0}}
    result = features(run, PASSAGES, queries, "okapi")
    alone = [features({topic: run[topic]}, PASSAGES, queries, "okapi").features.X for topic in run]
    assert np.array_equal(result.features.X, np.vstack(alone))
    assert result.features["bm25_rank"].tolist() == [1, 1 / 2, 1]


def test_what_is_cached_is_of_the_same_topics(tmp_path):
    """The same pairs under other topics are other numbers."""
    run = {"q1": {"d1": 2.0}, "q2": {"d2": 1.0}}
    first = features(run, PASSAGES, {"q1": "white lamb", "q2": "white lamb"}, "okapi", cache=tmp_path)
    pairs = [("white lamb", PASSAGES[name]) for name in ("d1", "d2")]
    assert sorted(pair_features(pairs, "okapi", PASSAGES, cache=tmp_path)["bm25_rank"]) != [1, 1]
    assert first.features["bm25_rank"].tolist() == [1, 1]
