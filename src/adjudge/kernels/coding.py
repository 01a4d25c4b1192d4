"""Names to integers, and judgments into the order of their items: linear, with no string touched.

Names arrive as pairs of independent 64-bit hashes. The first finds the code, the second guards it: two
names that share the first but not the second are noticed (the caller hashes again with other seeds).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes
from adjudge.kernels.compiled import compiled, prefetch

Hashes = NDArray[np.uint64]
AHEAD = 32  # rows between asking for a place in memory and using it


def code(pieces: Iterable[tuple[Hashes, Hashes]], total: int) -> tuple[Codes, Codes] | None:
    """Return the code of each name (N) and the row where each code first appears, in that order.

    Keys and guards come piece by piece, ``total`` in all. None when two different names share a key.
    """
    codes, first = np.empty(total, np.int32), np.empty(total, np.int32)
    table, row, found = np.zeros(1 << 13, np.uint64), 0, 0
    for key, guard in pieces:
        done = 0
        while done < key.size:
            done, found = _code(key, guard, table, codes[row : row + key.size], first, row, done, found)
            if found < 0:
                return None
            table = _refill(table, np.zeros(4 * table.size, np.uint64)) if done < key.size else table
        row += key.size
    return codes, first[:found].copy()


def starts(code: Codes, groups: int) -> tuple[Codes, bool]:
    """Return where each group starts once sorted (I + 1), and whether the codes are sorted already."""
    start = np.zeros(groups + 1, np.int64)
    return start, bool(_count(code, start))


def grouped(code: Codes, start: Codes, column: NDArray[Any]) -> NDArray[Any]:
    """Return a column in the order of its groups; within a group the order stays."""
    moved = np.empty_like(column)
    small = np.int32 if code.size < 1 << 31 else np.int64  # half the memory to jump about in
    _move(code, start[:-1].astype(small), column, moved)
    return moved


@compiled
def _code(key: Any, guard: Any, table: Any, codes: Any, first: Any, row: int, done: int, found: int) -> tuple[int, int]:
    """Code a piece from ``done`` on until the table is half full; returns how far it came and how many it found.

    A slot is two words side by side, so that one trip to memory answers: the key, and the upper half of
    the guard with code + 1 below it (0 is an empty slot). Tables are made by numpy, in huge pages.
    """
    one, half, mask = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(table.size - 2)
    for n in range(done, key.size):
        if n > 0 and key[n] == key[n - 1] and guard[n] == guard[n - 1]:
            codes[n] = codes[n - 1]  # a run of one name, as in a file sorted by item
            continue
        prefetch(table, (key[min(n + AHEAD, key.size - 1)] << one) & mask)
        slot = (key[n] << one) & mask
        while table[slot + one] != 0 and table[slot] != key[n]:
            slot = (slot + one + one) & mask
        if table[slot + one] == 0:
            if 4 * found > table.size:
                return n, found
            table[slot], table[slot + one] = key[n], (guard[n] & ~half) | np.uint64(found + 1)
            first[found] = row + n
            found += 1
        elif (table[slot + one] ^ guard[n]) & ~half:
            return n, -1
        codes[n] = np.int64(table[slot + one] & half) - 1
    return key.size, found


@compiled
def _refill(old: Any, table: Any) -> Any:
    """Move every slot into a larger, empty table, and return that."""
    one, mask = np.uint64(1), np.uint64(table.size - 2)
    for s in range(0, old.size, 2):
        if old[s + 1] != 0:
            slot = (old[s] << one) & mask
            while table[slot + one] != 0:
                slot = (slot + one + one) & mask
            table[slot], table[slot + one] = old[s], old[s + 1]
    return table


@compiled
def _count(code: Any, start: Any) -> bool:
    """Fill in where groups start; True when the codes never fall."""
    in_order = True
    for n in range(code.size):
        start[code[n] + 1] += 1
        in_order = in_order and (n == 0 or code[n] >= code[n - 1])
    for i in range(1, start.size):
        start[i] += start[i - 1]
    return in_order


@compiled
def _move(code: Any, place: Any, column: Any, moved: Any) -> None:
    """Put every value where its group's next one goes."""
    for n in range(code.size):
        prefetch(place, code[min(n + AHEAD, code.size - 1)])
        moved[place[code[n]]] = column[n]
        place[code[n]] += 1
