"""Coding by hash and grouping by item, against dictionaries and numpy's sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.kernels.coding import code, grouped, starts

WORDS = st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=60)


def coded(key: np.ndarray, guard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and first rows of names that do not collide."""
    result = code([(key, guard)], key.size)
    assert result is not None
    return result


def hashes(values: object) -> np.ndarray:
    """Return values as hashes."""
    return np.array(values, np.uint64)


def spread(names: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of every name: the same for the same, another for another."""
    table = np.random.default_rng(seed).integers(0, 2**64, int(names.max()) + 1, np.uint64)
    return table[names]


def test_codes_count_in_order_of_appearance() -> None:
    """The first name is 0, the next new one 1, and each code knows its first row."""
    codes, first = coded(hashes([9, 9, 4, 9, 7, 4]), hashes([1, 1, 2, 1, 3, 2]))
    assert codes.tolist() == [0, 0, 1, 0, 2, 1]
    assert first.tolist() == [0, 2, 4]
    assert codes.dtype == first.dtype == np.int32


def test_no_names() -> None:
    """Nothing to code gives no codes."""
    codes, first = coded(hashes([]), hashes([]))
    assert (codes.size, first.size) == (0, 0)


def test_zero_is_a_hash_like_any_other() -> None:
    """A key or guard of 0 is not taken for an empty slot."""
    codes, first = coded(hashes([0, 5, 0, 5]), hashes([0, 0, 0, 0]))
    assert codes.tolist() == [0, 1, 0, 1]
    assert first.tolist() == [0, 1]


@pytest.mark.parametrize("between", [[], [3]])
def test_a_collision_is_noticed(between: list[int]) -> None:
    """Two names with one key and two guards are refused, side by side or apart."""
    high = 1 << 40
    keys, guards = [8, *between, 8], [high, *between, 2 * high]
    assert code([(hashes(keys), hashes(guards))], len(keys)) is None


def test_a_collision_is_noticed_after_the_table_grew() -> None:
    """A name moved to a larger table keeps its guard."""
    keys, guards = np.arange(100_001, dtype=np.uint64), np.arange(100_001, dtype=np.uint64) << np.uint64(40)
    keys[-1] = 0
    assert code([(keys, guards)], keys.size) is None
    guards[-1] = 0
    codes, _ = coded(keys, guards)
    assert codes[-1] == 0


@given(WORDS, st.integers(0, 60))
def test_pieces_are_coded_like_the_whole(words: list[tuple[int, bool]], cut: int) -> None:
    """Where hashes lie in several arrays makes no difference."""
    key = hashes([name for name, _ in words])
    result = code([(part, part) for part in (key[:cut], key[cut:])], key.size)
    assert result is not None
    complete = coded(key, key)
    assert [part.tolist() for part in result] == [part.tolist() for part in complete]


def test_more_names_than_the_first_table_holds() -> None:
    """300,000 names among 700,000 rows are coded as numpy codes them, through several larger tables."""
    names = np.random.default_rng(3).integers(0, 300_000, 700_000)
    codes, first = coded(spread(names, 1), spread(names, 2))
    _, where, inverse = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(where)
    assert np.array_equal(first, where[order])
    assert np.array_equal(np.argsort(order)[inverse], codes)


def test_keys_that_all_want_the_last_slot() -> None:
    """Names that crowd at the end of the table are found from its beginning on."""
    keys = np.arange(2_000, dtype=np.uint64) << np.uint64(40) | np.uint64((1 << 30) - 1)
    codes, first = coded(np.r_[keys, keys], np.zeros(4_000, np.uint64))
    assert np.array_equal(codes, np.r_[np.arange(2_000), np.arange(2_000)])
    assert np.array_equal(first, np.arange(2_000))


@given(WORDS)
def test_codes_are_those_of_a_dictionary(words: list[tuple[int, bool]]) -> None:
    """Any column is coded as a dictionary would, or refused where a key has two guards."""
    keys = [key for key, _ in words]
    guards = [(2 if odd else 1) << 33 for _, odd in words]
    result = code([(hashes(keys), hashes(guards))], len(keys))
    if len(set(words)) > len(set(keys)):
        assert result is None
    else:
        places: dict[int, int] = {}
        expected = [places.setdefault(key, len(places)) for key in keys]
        assert result is not None
        codes, first = result
        assert codes.tolist() == expected
        assert first.tolist() == [keys.index(key) for key in places]


def test_grouping_keeps_the_order_within_a_group() -> None:
    """Rows of a group stay in the order they had, and an empty group starts where it ends."""
    codes = np.array([3, 0, 3, 1, 0], np.int32)
    start, in_order = starts(codes, 5)
    assert start.tolist() == [0, 2, 3, 3, 5, 5]
    assert not in_order
    assert grouped(codes, start, np.array([10, 11, 12, 13, 14])).tolist() == [11, 14, 13, 10, 12]


@pytest.mark.parametrize("codes", [[], [0], [0, 0, 2, 2, 3]])
def test_codes_in_order_are_known_to_be(codes: list[int]) -> None:
    """Codes in order need no sorting."""
    start, in_order = starts(np.array(codes, np.int32), 4)
    assert in_order
    assert start.tolist() == [0, *np.cumsum(np.bincount(codes, minlength=4)).tolist()]


@given(st.lists(st.integers(0, 9), max_size=50))
def test_grouping_is_a_stable_sort(codes: list[int]) -> None:
    """The order is that of numpy's stable sort."""
    column = np.array(codes, np.int32)
    start, in_order = starts(column, 10)
    stable = np.argsort(column, kind="stable")
    assert np.array_equal(grouped(column, start, np.arange(column.size)), stable)
    assert in_order == bool((np.diff(column) >= 0).all())
    assert np.array_equal(np.diff(start), np.bincount(column, minlength=10))


@pytest.mark.parametrize("seed", range(5))
def test_numpy_and_kernels_agree(monkeypatch, seed):
    """Few names are coded, counted and moved in numpy, as the kernels do it; collisions are noticed."""
    rng, results = np.random.default_rng(seed), []
    key = rng.integers(0, 20, 100).astype(np.uint64)
    guard, column = key << np.uint64(40), rng.random(100)
    other = guard.copy()
    other[-1] += np.uint64(1 << 50)
    for kernels in (False, True):
        monkeypatch.setattr("adjudge.kernels.coding.pays", lambda kernel, work, answer=kernels: answer)
        codes, first = code([(key[:30], guard[:30]), (key[30:], guard[30:])], 100)
        start, in_order = starts(codes, first.size)
        assert code([(key, other)], 100) is None
        assert code([], 0)[0].size == 0
        assert starts(np.sort(codes), first.size)[1]
        assert not in_order
        results.append([codes, first, start, grouped(codes, start, column)])
    for numpy, kernel in zip(*results, strict=True):
        np.testing.assert_array_equal(numpy, kernel)
        assert numpy.dtype == kernel.dtype
