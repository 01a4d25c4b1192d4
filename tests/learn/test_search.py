"""Arrays from files that are not trusted.

Searching by BM25.
"""

import io
import json
import math
import random
import sys
import zipfile
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.data.runs import read_run, run_text
from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.learn.search import (
    FILES,
    HEADER,
    Index,
    Postings,
    Stored,
    best_passages,
    index_files,
    load_index,
    read_arrays,
    read_index,
)


def packed(save=np.savez, **arrays):
    """Return the bytes of an archive of arrays."""
    stored = io.BytesIO()
    save(stored, **arrays)
    return stored.getvalue()


def member(content, method=zipfile.ZIP_STORED):
    """Return an archive whose array ``a`` is of these bytes."""
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w", method) as archive:
        archive.writestr("a.npy", content)
    return stored.getvalue()


def claimed(shape, data=b"", descr="<i8"):
    """Return the bytes of an array that claims a shape."""
    stored = io.BytesIO()
    np.lib.format.write_array_header_1_0(stored, {"descr": descr, "fortran_order": False, "shape": shape})
    return stored.getvalue() + data


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_was_saved_is_read(save):
    """In the order asked for, with the types they had."""
    b, a = read_arrays(packed(save, a=np.arange(5), b=np.ones(3, np.float32)), ["b", "a"], 40)
    assert (a.tolist(), a.dtype, b.tolist(), b.dtype) == ([0, 1, 2, 3, 4], np.int64, [1, 1, 1], np.float32)
    assert read_arrays(packed(save, a=np.zeros(0)), ["a"], 0)[0].size == 0


WRONG = {  # made when asked for: an archive holds the time
    "nothing": lambda: b"",
    "cut off": lambda: b"PK\x03\x04 cut",
    "another name": lambda: packed(b=np.arange(5)),
    "two axes": lambda: packed(a=np.arange(5).reshape(5, 1)),
    "no axis": lambda: packed(a=np.array(5)),
    "text": lambda: packed(a=np.array(["x"])),
    "objects": lambda: packed(a=np.array([{}], object)),
    "too large": lambda: packed(a=np.arange(1000)),
    "much too large": lambda: packed(np.savez_compressed, a=np.zeros(10_000_000)),
    "no array": lambda: member(b""),
    "another version": lambda: member(b"\x93NUMPY\x02\x00"),
    "claims a petabyte": lambda: member(claimed((2**50,))),
    "claims less than nothing": lambda: member(claimed((-1,))),
    "claims what overflows": lambda: member(claimed((2**62,), descr="<f4")),
    "claims more than is there": lambda: member(claimed((2,), bytes(8))),
    "packed in another way": lambda: member(claimed((1,), bytes(8)), zipfile.ZIP_BZIP2),
    "a header without an end": lambda: member(b"\x93NUMPY\x01\x00\xff\xff{" + b"(" * 500),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_whole_is_refused(wrong):
    """Nothing, no such array, other shapes and kinds, more than is there, more than is expected."""
    with pytest.raises(ValueError, match="the arrays are damaged"):
        read_arrays(WRONG[wrong](), ["a"], 40)


def test_a_size_that_lies_takes_no_room():
    """An archive that says it unpacks to less than it does is cut off where it should end."""
    content = bytearray(packed(np.savez_compressed, a=np.zeros(50_000_000)))
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (168).to_bytes(4, "little")
    with pytest.raises(ValueError, match="the arrays are damaged"):
        read_arrays(bytes(content), ["a"], 40)
    assert HEADER < 10_000


def test_every_byte_of_the_numbers_is_under_a_checksum():
    """A bit that flips there is found."""
    content = packed(a=np.arange(5))
    where = content.index(np.arange(5).tobytes())
    for n in range(40):
        turned = bytearray(content)
        turned[where + n] ^= 1
        with pytest.raises(ValueError, match="the arrays are damaged"):
            read_arrays(bytes(turned), ["a"], 40)


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
    result = {}
    for name, text in texts.items():
        tf, total = Counter(text), 0.0
        for term in query.split():
            n = sum(term in other for other in texts.values())
            idf = math.log(1 + (len(texts) - n + 0.5) / (n + 0.5))
            total += idf * tf[term] / (tf[term] + k1 * (1 - b + b * len(text) / mean)) if tf[term] else 0
        result[name] = total
    return result


TEXT = st.lists(st.sampled_from(["xa", "xb", "xc", "xd", "xe"]), max_size=8).map(" ".join)


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT, st.floats(0, 3), st.floats(0, 1), st.integers(1, 10))
def test_scores_are_those_of_the_formula(texts, query, k1, b, depth):
    """Lucene's variant, in a fixed order, nothing at 0, and no deeper than asked."""
    passages = {f"d{n}": text for n, text in enumerate(texts)}
    run = Index(passages, k1, b).search({"q": query}, depth)
    exact = lucene(passages, query, k1, b) if any(texts) else dict.fromkeys(passages, 0.0)
    best = sorted((score for score in exact.values() if score > 0), reverse=True)[:depth]
    result = dict(run.table.select("document", "score").iter_rows())
    assert list(run.table["score"]) == pytest.approx(best, rel=1e-6)
    assert all(score == pytest.approx(exact[name], rel=1e-6) and score > 0 for name, score in result.items())


@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.floats(0, 3), st.floats(0, 1), st.integers(1, 14))
def test_the_order_is_that_of_a_full_sort(texts, query, k1, b, depth):
    """Best first, of equals the last name first, nothing at 0, whatever the depth; the run says the same as best."""
    passages = {f"d{n}": text for n, text in enumerate(texts)}  # d10 before d2
    exact = lucene(passages, query, k1, b) if any(texts) else dict.fromkeys(passages, 0.0)
    distinct = sorted(set(exact.values()))
    assume(all(high - low > 1e-5 * high for low, high in pairwise(distinct)))  # 32-bit floats tell them apart
    expected = sorted(
        (name for name in passages if exact[name] > 0), key=lambda name: (exact[name], name), reverse=True
    )
    index = Index(passages, k1, b)
    assert index.search({"q": query}, depth).ranked.get("q", []) == expected[:depth]
    assert [name for name, _ in index.best(query, depth)] == expected[:depth]


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
    messages = []
    index = Index(PASSAGES, progress=lambda done, of: messages.append((done, of)))
    index.search({"q": "lamb"}, progress=lambda done, of: messages.append((done, of)))
    assert messages == [(0, 5), (5, 5), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Index(PASSAGES, k1=-1), "k1 -1 is not a number of at least 0"),
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


INDEX_FILE_PASSAGES = {
    "d1": "Mary had a little lamb",
    "d2": "fleece white as snow",
    "d3": "Mary and the lamb",
    "d4": "",
}
QUERIES = {"q1": "little lamb", "q2": "whose fleece is white?", "q3": "Mary"}
SOUND = Stored(
    1.2,
    0.75,
    True,
    True,
    ["d1", "d2", "d3"],
    ["lamb", "snow"],
    Postings(np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), np.array([0.5, 0.5, 1], np.float32)),
)


def written(stored, folder):
    """Write an index as it is, sound or not."""
    folder.mkdir(exist_ok=True)
    for name, content in index_files(stored).items():
        (folder / name).write_bytes(content)
    return folder


def test_what_was_written_is_read(tmp_path):
    """Every part."""
    again = read_index(written(SOUND, tmp_path))
    assert again[:-1] == SOUND[:-1]
    assert all(np.array_equal(posting, other) for posting, other in zip(again.postings, SOUND.postings, strict=True))
    nothing = SOUND._replace(terms=[], postings=Index({"a": ""}).postings)
    assert read_index(written(nothing, tmp_path)).terms == []


def whole(*numbers, kind=np.int32):
    """Return numbers as an array."""
    return np.array(numbers, kind)


@pytest.mark.parametrize(
    "postings",
    [
        {"start": np.array([0, 3])},
        {"start": np.array([0, 2, 3, 3])},
        {"start": np.zeros(0, np.int64)},
        {"start": np.array([1, 2, 3])},
        {"start": np.array([0, 2, 2])},
        {"start": np.array([0, 2, 4])},
        {"start": np.array([0, 4, 3])},
        {"start": np.array([0, -1, 3])},
        {"start": np.array([0, 2**62, 3])},
        {"start": whole(0, 2, 3)},
        {"start": np.array([0.0, 2, 3])},
        {"start": np.array([[0, 2, 3]])},
        {"passage": whole(0, 3, 1)},
        {"passage": whole(0, -1, 1)},
        {"passage": whole(0, 2**31 - 1, 1)},
        {"passage": whole(0, -(2**31), 1)},
        {"passage": whole(2, 0, 1)},
        {"passage": whole(2, 2, 1)},
        {"passage": whole(0, 2)},
        {"passage": np.array([0, 2, 1])},
        {"passage": whole(0, 2, 1, kind=">i4")},
        {"weight": whole(0.5, 0.5, kind=np.float32)},
        {"weight": whole(0.5, 0.5, 1, kind=np.float64)},
        {"weight": whole(0.5, np.nan, 1, kind=np.float32)},
        {"weight": whole(0.5, np.inf, 1, kind=np.float32)},
        {"weight": whole(0.5, -0.5, 1, kind=np.float32)},
        {"weight": whole(0.5, 3e38, 1, kind=np.float32)},
        {"weight": np.array([0.5, 0.5, None])},
    ],
)
def test_postings_that_searching_could_not_rely_on(tmp_path, postings):
    """Types, shapes, places, order and numbers, each wrong by itself under a digest that is right."""
    stored = SOUND._replace(postings=SOUND.postings._replace(**postings))
    with pytest.raises(InputError, match="the index is damaged: make it again"):
        load_index(written(stored, tmp_path))


@pytest.mark.parametrize(
    "part",
    [
        {"k1": "1"},
        {"k1": -1.0},
        {"k1": float("nan")},
        {"k1": float("inf")},
        {"k1": True},
        {"b": 1.5},
        {"b": None},
        {"stem": 1},
        {"stop": "yes"},
        {"passages": []},
        {"passages": ["d1", "d2"]},
        {"passages": ["d1", "d2", "d2"]},
        {"passages": ["d2", "d1", "d3"]},
        {"passages": ["d1", "d2", 3]},
        {"passages": ["d1", "d2", "d 3"]},
        {"passages": ["", "d1", "d2"]},
        {"passages": ["d1", "d2", "d\x00"]},
        {"passages": {"d1": 0, "d2": 1, "d3": 2}},
        {"passages": "abc"},
        {"passages": None},
        {"terms": ["lamb"]},
        {"terms": ["lamb", "lamb"]},
        {"terms": ["lamb", ["snow"]]},
        {"terms": 2},
    ],
)
def test_settings_and_names_that_no_index_has(tmp_path, part):
    """Out of range, of other kinds, twice, in another order."""
    with pytest.raises(InputError, match="the index is damaged: make it again"):
        load_index(written(SOUND._replace(**part), tmp_path))


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"5", b"{}", b"null", b'{"format": 2}', b"[" * 100_000, b'"\xff"', b'{"format": [], "text": {}}'],
)
def test_lists_that_are_none(tmp_path, content):
    """No JSON, or of another shape."""
    (written(SOUND, tmp_path) / FILES[0]).write_bytes(content)
    with pytest.raises(InputError, match=r"the index is (damaged|of another version of adjudge): make it again"):
        load_index(tmp_path)


def test_a_letter_that_changed_is_found(tmp_path):
    """Also where the index would still make sense."""
    folder = written(SOUND, tmp_path) / FILES[0]
    folder.write_text(folder.read_text().replace('"snow"', '"know"'))
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)


def test_halves_of_two_indexes(tmp_path):
    """As a copy that was interrupted leaves them."""
    other = Index({name: text.replace("Mary", "Jane") for name, text in INDEX_FILE_PASSAGES.items()})
    Index(INDEX_FILE_PASSAGES).save(tmp_path / "one")
    other.save(tmp_path / "two")
    (tmp_path / "two" / FILES[0]).rename(tmp_path / "one" / FILES[0])
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path / "one")


def test_names_with_half_a_sign(tmp_path):
    """JSON can write what UTF-8 cannot."""
    half = SOUND._replace(passages=["d1", "d2", "d\ud800"])
    about = {"format": 2, "text": 1, **half._asdict()}
    del about["postings"]
    folder = written(SOUND, tmp_path) / FILES[0]
    folder.write_text(json.dumps(about))
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)


def test_a_folder_that_cannot_be_read(tmp_path):
    """Said as it is: the index need not be made again."""
    (tmp_path / FILES[0]).mkdir()
    with pytest.raises(InputError, match="the index cannot be read: Is a directory"):
        load_index(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_any_damage_is_refused_or_without_effect(tmp_path, name):
    """Bits flipped, bytes put in, taken out or cut off: an error of ours, or the very same index."""
    index = Index(INDEX_FILE_PASSAGES)
    index.save(tmp_path)
    content = (tmp_path / name).read_bytes()
    table = index.search(QUERIES).table
    refused = 0
    for seed in range(400):
        (tmp_path / name).write_bytes(damaged(content, random.Random(seed)))
        try:
            again = load_index(tmp_path)
        except InputError:
            refused += 1
        else:
            assert again.search(QUERIES).table.equals(table)
            assert repr(again) == repr(index)
    assert refused > 200


def damaged(content, rng):
    """Return bytes with one thing wrong."""
    at = rng.randrange(len(content))
    how = rng.randrange(6)
    if how == 0:
        return content[:at]
    if how == 1:
        return content[:at] + rng.randbytes(rng.randint(1, 9)) + content[at:]
    if how == 2:
        return content[:at] + content[at + rng.randint(1, 9) :]
    turned = bytearray(content)
    for _ in range(how if how < 5 else 1):
        turned[at] ^= 1 << rng.randrange(8)
        at = rng.randrange(len(content))
    return bytes(turned)


def test_damage_under_a_digest_that_was_made_again(tmp_path):
    """Postings of any numbers at all: an error of ours, or an index that can be searched for every term."""
    remaining = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        parts = {name: np.array(part) for name, part in SOUND.postings._asdict().items()}
        name = rng.choice(list(parts))
        values = rng.choice([-(2**31), -3, -1, 0, 0.5, 1, 2, 3, 4, 2**31 - 1], rng.integers(1, 3))
        parts[name][rng.integers(0, 3, values.size)] = values
        stored = SOUND._replace(postings=Postings(**parts), stem=False)
        try:
            index = load_index(written(stored, tmp_path))
        except InputError:
            continue
        remaining += 1
        table = index.search({"a": "lamb snow", "b": "snow", "c": "lamb lamb"}, 3).table
        assert table["score"].is_between(0, 10, closed="right").all()
        assert table["document"].is_in(SOUND.passages).all()
    assert 10 < remaining < 290


def test_no_code_is_run_from_an_index(tmp_path):
    """Arrays of objects are refused, not unpickled."""
    ran = []

    class Trap:
        def __reduce__(self):
            return ran.append, (1,)

    written(SOUND, tmp_path)
    np.savez(tmp_path / FILES[1], **SOUND.postings._replace(start=np.array([Trap()]))._asdict())
    ran.clear()
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)
    assert ran == []


def test_an_archive_that_would_unpack_to_more_than_there_is(tmp_path):
    """What is saved is not compressed, and nothing larger than the file is read."""
    written(SOUND, tmp_path)
    np.savez_compressed(tmp_path / FILES[1], start=np.zeros(20_000_000, np.int64))
    assert (tmp_path / FILES[1]).stat().st_size < 1_000_000
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_the_best_are_those_of_a_full_sort(seed, depth):
    """Scores of few values, so that ties are common; the later passage comes first."""
    rng = np.random.default_rng(seed)
    passages, terms = int(rng.integers(1, 12)), int(rng.integers(1, 6))
    weight = rng.integers(0, 3, (terms, passages)) / 4  # 0: not there
    term, passage = np.nonzero(weight)
    start = np.searchsorted(term, np.arange(terms + 1))
    lengths = rng.integers(0, 4, 5)
    query, requested = np.cumsum([0, *lengths]), rng.integers(0, terms, lengths.sum())
    values = weight[term, passage].astype(np.float32)
    count, result, value = best_passages(start, passage.astype(np.int32), values, passages, query, requested, depth)
    for q in range(lengths.size):
        score = weight[requested[query[q] : query[q + 1]]].sum(axis=0)
        order = [d for d in sorted(range(passages), key=lambda d: (-score[d], -d)) if score[d] > 0][:depth]
        assert result[q, : count[q]].tolist() == order
        assert value[q, : count[q]].tolist() == score[order].tolist()
