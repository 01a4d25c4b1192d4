"""Gold told in folds: every item is answered by a fit that was told other items' truths, and not its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjudge.arrays import Codes
from adjudge.errors import UsageError
from studies.crowds import Crowd


def told_in_folds(crowd: Crowd, folds: int, seed: int) -> Iterator[tuple[Codes | None, Codes]]:
    """Yield the gold that is told (I), -1 where unknown, and which of the scored items are asked then.

    Without folds nothing is told, and all are asked at once.
    """
    M = crowd.truth.size
    if not folds:
        yield None, np.arange(M)
        return
    if not 2 <= folds <= M:
        raise UsageError(f"{M:,} items with gold do not make {folds} folds")
    fold = np.random.default_rng(seed).permutation(np.arange(M) % folds)
    for f in range(folds):
        gold = np.full(len(crowd.judgments.items), -1, np.int32)
        gold[crowd.place[fold != f]] = crowd.truth[fold != f]
        yield gold, np.flatnonzero(fold == f)
