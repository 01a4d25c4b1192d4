"""Which of several tied labels an item gets.

A random one is drawn by the seed and the item's name: it does not depend on the order of rows, on other items, or on
the engine.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Names
from adjudge.inference.components import most_likely
from adjudge.inference.options import Options


def settled(posterior: Floats, items: Names, options: Options) -> Codes:
    """Return each item's most likely truth (I); if several tie, a random one or the first."""
    best = most_likely(posterior)
    label: Codes = best.argmax(axis=1).astype(np.int32)
    tied = np.flatnonzero(best.sum(axis=1) > 1)
    if options.ties == "random" and tied.size:
        which = lots(items.gather(tied), options.seed) % best[tied].sum(axis=1)
        label[tied] = (best[tied].cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return label


def lots(items: Names, seed: int) -> NDArray[np.int64]:
    """Return a random number for every name (I), at least 0."""
    key = seed.to_bytes(-(-seed.bit_length() // 8) or 1, "little")[:64]
    drawn = b"".join(blake2b(name.encode(), digest_size=8, key=key).digest() for name in items.cast(str))
    return np.frombuffer(drawn, "<i8") & np.iinfo(np.int64).max
