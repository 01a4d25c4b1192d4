"""An index on disk, and what may be wrong with it."""

import json
import random

import numpy as np
import pytest

from adjudge.errors import InputError
from adjudge.learn.index_file import FILES, Postings, Stored, index_files, read_index
from adjudge.learn.search import Index, load_index

PASSAGES = {"d1": "Mary had a little lamb", "d2": "fleece white as snow", "d3": "Mary and the lamb", "d4": ""}
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
    assert all(np.array_equal(one, other) for one, other in zip(again.postings, SOUND.postings, strict=True))
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
    place = written(SOUND, tmp_path) / FILES[0]
    place.write_text(place.read_text().replace('"snow"', '"know"'))
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path)


def test_halves_of_two_indexes(tmp_path):
    """As a copy that was interrupted leaves them."""
    other = Index({name: text.replace("Mary", "Jane") for name, text in PASSAGES.items()})
    Index(PASSAGES).save(tmp_path / "one")
    other.save(tmp_path / "two")
    (tmp_path / "two" / FILES[0]).rename(tmp_path / "one" / FILES[0])
    with pytest.raises(InputError, match="damaged"):
        load_index(tmp_path / "one")


def test_names_with_half_a_sign(tmp_path):
    """JSON can write what UTF-8 cannot."""
    half = SOUND._replace(passages=["d1", "d2", "d\ud800"])
    about = {"format": 2, "text": 1, **half._asdict()}
    del about["postings"]
    place = written(SOUND, tmp_path) / FILES[0]
    place.write_text(json.dumps(about))
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
    index = Index(PASSAGES)
    index.save(tmp_path)
    content = (tmp_path / name).read_bytes()
    wanted = index.search(QUERIES).table
    refused = 0
    for seed in range(400):
        (tmp_path / name).write_bytes(damaged(content, random.Random(seed)))
        try:
            again = load_index(tmp_path)
        except InputError:
            refused += 1
        else:
            assert again.search(QUERIES).table.equals(wanted)
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
    kept = 0
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
        kept += 1
        found = index.search({"a": "lamb snow", "b": "snow", "c": "lamb lamb"}, 3).table
        assert found["score"].is_between(0, 10, closed="right").all()
        assert found["document"].is_in(SOUND.passages).all()
    assert 10 < kept < 290


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
