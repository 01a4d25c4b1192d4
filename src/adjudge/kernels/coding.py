"""Encode names as integers and sort judgments by item, in linear time and without touching strings.

Names arrive as pairs of independent 64-bit hashes. The first is the key of a hash table, the second guards against
collisions: two names with the same key and different guards are noticed, and the caller hashes again with other seeds.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes
from adjudge.kernels.compiled import compiled, pays, prefetch

Hashes = NDArray[np.uint64]
AHEAD = 32  # rows between prefetching a memory location and using it


def code(pieces: Iterable[tuple[Hashes, Hashes]], total: int) -> tuple[Codes, Codes] | None:
    """Return the code of each name (N) and the row where each code first appears, in that order.

    Keys and guards come in pieces, with ``total`` names in all. The result is None if two names share a key.
    """
    if not pays(_code, total):
        return _code_in_numpy(list(pieces))
    codes, first = np.empty(total, np.int32), np.empty(total, np.int32)
    table, row, distinct = np.zeros(1 << 13, np.uint64), 0, 0
    for key, guard in pieces:
        done = 0
        while done < key.size:
            done, distinct = _code(key, guard, table, codes[row : row + key.size], first, row, done, distinct)
            if distinct < 0:
                return None
            table = _refill(table, np.zeros(4 * table.size, np.uint64)) if done < key.size else table
        row += key.size
    return codes, first[:distinct].copy()


def _code_in_numpy(pieces: list[tuple[Hashes, Hashes]]) -> tuple[Codes, Codes] | None:
    """Return the same as ``code``, by sorting."""
    empty = np.empty(0, np.uint64)
    key, guard = (np.concatenate([empty, *column]) for column in (zip(*pieces, strict=True) if pieces else ((), ())))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)  # the groups in the order of their keys
    if ((guard ^ guard[first][group]) >> np.uint64(32)).any():
        return None
    order = np.argsort(first)  # in the order of their first rows
    code = np.empty(order.size, np.int32)
    code[order] = np.arange(order.size)
    return code[group], first[order].astype(np.int32)


def starts(code: Codes, groups: int) -> tuple[Codes, bool]:
    """Return where each group starts once sorted (I + 1), and whether the codes are sorted already."""
    start = np.zeros(groups + 1, np.int64)
    if not pays(_count, code.size + groups):
        np.cumsum(np.bincount(code, minlength=groups), out=start[1:])
        return start, bool((code[1:] >= code[:-1]).all())
    return start, bool(_count(code, start))


def grouped(code: Codes, start: Codes, column: NDArray[Any]) -> NDArray[Any]:
    """Return a column in the order of its groups; within a group the order stays."""
    if not pays(_move, code.size):
        return column[np.argsort(code, kind="stable")]
    moved = np.empty_like(column)
    small = np.int32 if code.size < 1 << 31 else np.int64  # half the memory to access at random
    _move(code, start[:-1].astype(small), column, moved)
    return moved


@compiled
def _code(
    key: Any, guard: Any, table: Any, codes: Any, first: Any, row: int, done: int, distinct: int
) -> tuple[int, int]:
    """Code a piece from row ``done`` until the table is half full; return the next row and the number of codes.

    A slot is two adjacent words, so that one memory access is enough: the key, and the upper half of the guard with
    code + 1 below it (0 is an empty slot). Tables are allocated by numpy, in huge pages.
    """
    step, half, mask = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(table.size - 2)
    for n in range(done, key.size):
        if n > 0 and key[n] == key[n - 1] and guard[n] == guard[n - 1]:
            codes[n] = codes[n - 1]  # the same name as in the row before, as in a file sorted by item
            continue
        prefetch(table, (key[min(n + AHEAD, key.size - 1)] << step) & mask)
        slot = (key[n] << step) & mask
        while table[slot + step] != 0 and table[slot] != key[n]:
            slot = (slot + step + step) & mask
        if table[slot + step] == 0:
            if 4 * distinct > table.size:
                return n, distinct
            table[slot], table[slot + step] = key[n], (guard[n] & ~half) | np.uint64(distinct + 1)
            first[distinct] = row + n
            distinct += 1
        elif (table[slot + step] ^ guard[n]) & ~half:
            return n, -1
        codes[n] = np.int64(table[slot + step] & half) - 1
    return key.size, distinct


@compiled
def _refill(old: Any, table: Any) -> Any:
    """Move every slot into a larger, empty table, and return that."""
    step, mask = np.uint64(1), np.uint64(table.size - 2)
    for s in range(0, old.size, 2):
        if old[s + 1] != 0:
            slot = (old[s] << step) & mask
            while table[slot + step] != 0:
                slot = (slot + step + step) & mask
            table[slot], table[slot + step] = old[s], old[s + 1]
    return table


@compiled
def _count(code: Any, start: Any) -> bool:
    """Fill in where groups start; return True if the codes are sorted."""
    in_order = True
    for n in range(code.size):
        start[code[n] + 1] += 1
        in_order = in_order and (n == 0 or code[n] >= code[n - 1])
    for i in range(1, start.size):
        start[i] += start[i - 1]
    return in_order


@compiled
def _move(code: Any, position: Any, column: Any, moved: Any) -> None:
    """Move every value to the next free position of its group."""
    for n in range(code.size):
        prefetch(position, code[min(n + AHEAD, code.size - 1)])
        moved[position[code[n]]] = column[n]
        position[code[n]] += 1
