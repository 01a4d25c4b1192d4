"""Random bits by place: what an item draws follows from a key and the item's place alone.

So the draws are the same whoever makes them, and in whatever parts: a counter is put through Philox (Salmon, Moraes,
Dror & Shaw 2011), and any part of its stream can be had without the parts before.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = NDArray[np.uint64]  # (2)

PIECE = 8  # items that one step of the counter serves: four words of 64 bits, two items a word


def new_key(rng: np.random.Generator) -> Key:
    """Return a key for a sweep, from the chain's own stream."""
    key: Key = rng.bit_generator.random_raw(2)
    return key


def chances(key: Key, first: int, many: int) -> NDArray[np.uint32]:
    """Return random 32 bits for each of ``many`` items from place ``first`` on.

    All at once: one by one in a compiled loop they cost many times as much.
    """
    step, skipped = divmod(first, PIECE)
    raw: NDArray[np.uint64] = np.random.Philox(key=key, counter=step).random_raw(-(-(skipped + many) // 2))
    return raw.view(np.uint32)[skipped : skipped + many]
