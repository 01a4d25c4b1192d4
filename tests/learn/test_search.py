"""Searching by BM25."""

import math
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.judgments.runs import read_run, run_text
from adjudge.learn.search import Index, load_index

PASSAGES = {
    "d1": "Mary had a little lamb",
    "d2": "its fleece was white as snow",
    "d3": "everywhere that Mary went the lamb was sure to go",
    "d4": "",
    "d5": "Mary had a little lamb",
}


def lucene(passages, query, k1=1.2, b=0.75):
    """Return every passage's score by the formula, term by term; words are set apart by blanks."""
    texts = {name: text.split() for name, text in passages.items()}
    mean = sum(map(len, texts.values())) / len(texts)
    found = {}
    for name, text in texts.items():
        tf, total = Counter(text), 0.0
        for term in query.split():
            n = sum(term in other for other in texts.values())
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            total += idf * tf[term] / (tf[term] + k1 * (1 - b + b * len(text) / mean)) if tf[term] else 0
        found[name] = total
    return found


TEXT = st.lists(st.sampled_from(["xa", "xb", "xc", "xd", "xe"]), max_size=8).map(" ".join)


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT, st.floats(0, 3), st.floats(0, 1), st.integers(1, 10))
def test_scores_are_those_of_the_formula(texts, query, k1, b, depth):
    """Lucene's variant, in a fixed order, nothing at 0, and no deeper than asked."""
    passages = {f"d{n}": text for n, text in enumerate(texts)}
    run = Index(passages, k1, b).search({"q": query}, depth)
    exact = lucene(passages, query, k1, b) if any(texts) else dict.fromkeys(passages, 0.0)
    best = sorted((score for score in exact.values() if score > 0), reverse=True)[:depth]
    found = dict(run.table.select("document", "score").iter_rows())
    assert list(run.table["score"]) == pytest.approx(best, rel=1e-6)
    assert all(score == pytest.approx(exact[name], rel=1e-6) and score > 0 for name, score in found.items())


@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.floats(0, 3), st.floats(0, 1), st.integers(1, 14))
def test_the_order_is_that_of_a_full_sort(texts, query, k1, b, depth):
    """Best first, of equals the last name first, nothing at 0, whatever the depth; the run says the same as best."""
    passages = {f"d{n}": text for n, text in enumerate(texts)}  # d10 before d2
    exact = lucene(passages, query, k1, b) if any(texts) else dict.fromkeys(passages, 0.0)
    distinct = sorted(set(exact.values()))
    assume(all(high - low > 1e-5 * high for low, high in pairwise(distinct)))  # 32-bit floats tell them apart
    wanted = sorted((name for name in passages if exact[name] > 0), key=lambda name: (exact[name], name), reverse=True)
    index = Index(passages, k1, b)
    assert index.search({"q": query}, depth).ranked.get("q", []) == wanted[:depth]
    assert [name for name, _ in index.best(query, depth)] == wanted[:depth]


def test_ties_are_ordered_as_trec_eval_does():
    """The last name first, also where the depth cuts a tie; equal to what reading the run gives."""
    run = Index(PASSAGES).search({"q": "little lamb"}, depth=10)
    assert run.ranked == {"q": ["d5", "d1", "d3"]}
    assert Index(PASSAGES).search({"q": "little lamb"}, depth=1).ranked == {"q": ["d5"]}
    again = read_run({"q": dict(run.table.select("document", "score").iter_rows())})
    assert again.table.equals(run.table)


def test_the_order_of_passages_changes_nothing():
    """Names decide, not places."""
    turned = dict(reversed(PASSAGES.items()))
    assert Index(turned).search({"q": "mary lamb"}).table.equals(Index(PASSAGES).search({"q": "mary lamb"}).table)


def test_many_ties_at_the_cut(tmp_path):
    """Among a thousand passages that are alike, the last names are taken."""
    run = Index({f"d{n:04}": "lamb" for n in range(1000)} | {"e": "wolf"}).search({"q": "lamb"}, 3)
    assert run.ranked == {"q": ["d0999", "d0998", "d0997"]}


def test_queries_that_find_nothing_are_not_in_the_run():
    """Words nobody wrote, stop words alone, nothing at all."""
    queries = {"a": "wolf", "b": "who was that?", "c": "", "d": "snow"}
    run = Index(PASSAGES).search(queries)
    assert run.ranked == {"d": ["d2"]}
    assert Index(PASSAGES).search({"a": "wolf"}).table.columns == ["topic", "document", "score"]
    assert Index({"a": "", "b": "the"}).search(queries).ranked == {}


def test_stems_and_stop_words_can_be_left_alone():
    """Lambs are no lamb then, and ``the`` can be searched."""
    assert Index(PASSAGES).search({"q": "lambs"}).ranked["q"] == ["d5", "d1", "d3"]
    assert Index(PASSAGES, stem=False).search({"q": "lambs"}).ranked == {}
    assert Index(PASSAGES, stop=False).search({"q": "the"}).ranked == {"q": ["d3"]}


def test_a_word_that_a_query_repeats_counts_twice():
    """As in the formula."""
    once, twice = (Index(PASSAGES).search({"q": text}).table["score"][0] for text in ("snow", "snow snow"))
    assert twice == pytest.approx(2 * once)


def test_topics_are_in_order_and_the_run_can_be_written():
    """What is written is read again as it was."""
    run = Index(PASSAGES).search({str(n): "lamb" for n in range(11)}, name="first")
    assert run.table["topic"].to_list() == [t for t in sorted(map(str, range(11))) for _ in range(3)]
    assert run_text(run).startswith("0 Q0 d5 1 0.")
    assert run_text(run).splitlines()[0].endswith(" first")


def test_blocks_of_queries_change_nothing(monkeypatch):
    """One query at a time, or all in one block."""
    queries = {f"q{n}": word for n, word in enumerate(["lamb", "snow", "Mary", "wolf", "little"])}
    index = Index(PASSAGES)
    together = index.search(queries).table
    monkeypatch.setattr("adjudge.learn.search.CELLS", 1)
    assert index.search(queries).table.equals(together)


def test_one_query_at_a_time():
    """The same passages and scores as in a run."""
    index = Index(PASSAGES)
    run = index.search({"q": "little lamb"}, 2)
    assert index.best("little lamb", 2) == list(run.table.select("document", "score").iter_rows())
    assert index.best("wolf") == index.best("") == []
    with pytest.raises(UsageError, match="depth 0 is not 1 or more"):
        index.best("lamb", 0)


def test_saved_and_loaded(tmp_path):
    """The same run, from JSON and arrays, without pickle."""
    index = Index(PASSAGES, 0.9, 0.4, stop=False)
    index.save(tmp_path / "index")
    again = load_index(tmp_path / "index")
    assert repr(again) == repr(index) == "Index(5 passages, 18 terms, k1=0.9, b=0.4)"
    assert again.search({"q": "the lambs"}).table.equals(index.search({"q": "the lambs"}).table)
    assert np.load(tmp_path / "index/postings.npz", allow_pickle=False)["weight"].dtype == np.float32


def test_an_index_that_is_none(tmp_path):
    """Not there, cut off, or of another version."""
    with pytest.raises(InputError, match=r"holds no index: there is no index.json"):
        load_index(tmp_path)
    Index(PASSAGES).save(tmp_path)
    listed = (tmp_path / "index.json").read_text()
    (tmp_path / "index.json").write_text(listed.replace('"format": 2', '"format": 1'))
    with pytest.raises(InputError, match="of another version of adjudge: make it again"):
        load_index(tmp_path)
    (tmp_path / "index.json").write_text(listed.replace('"d1", ', ""))
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)
    (tmp_path / "index.json").write_text(listed)
    for content in (b"PK", b"PK\x03\x04 cut", b""):
        (tmp_path / "postings.npz").write_bytes(content)
        with pytest.raises(InputError, match="damaged"):
            load_index(tmp_path)


def test_a_run_deeper_than_there_are_passages():
    """All that are found, and no more."""
    assert Index(PASSAGES).search({"q": "lamb"}, 10**12).ranked == {"q": ["d5", "d1", "d3"]}
    assert len(Index(PASSAGES).best("lamb", 10**12)) == 3


@pytest.mark.parametrize("text", ["lamb\x00wolf", "lamb\u2028wolf", "lamb\x1c\x85wolf", "\ufefflamb \U0001f600 wolf"])
def test_signs_that_are_no_words_part_words(text):
    """Whatever they are."""
    assert Index({"d1": text}).search({"a": "lamb", "b": "wolf"}).ranked == {"a": ["d1"], "b": ["d1"]}


def test_progress_is_told():
    """From nothing to all, of passages and of queries."""
    told = []
    index = Index(PASSAGES, progress=lambda done, of: told.append((done, of)))
    index.search({"q": "lamb"}, progress=lambda done, of: told.append((done, of)))
    assert told == [(0, 5), (5, 5), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Index(PASSAGES, k1=-1), "k1 -1 is not a number from 0 on"),
        (lambda: Index(PASSAGES, b=2), "b 2 is not a number from 0 to 1"),
        (lambda: Index(PASSAGES).search({"q": "a"}, 0), "depth 0 is not 1 or more"),
    ],
)
def test_what_is_out_of_range(call, said):
    """Said before any work."""
    with pytest.raises(UsageError, match=said):
        call()


def test_a_missing_library_is_said(monkeypatch):
    """With the line to type."""
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtra, match=r"searching needs 'adjudge\[learn\]'"):
        Index(PASSAGES)
