"""Gold in folds: every item is scored with a fit that knew the truths of other items only."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjudge.arrays import Codes
from adjudge.errors import UsageError
from studies.crowds import Crowd


def gold_folds(crowd: Crowd, folds: int, seed: int) -> Iterator[tuple[Codes | None, Codes]]:
    """Yield gold for a fit (I), -1 if unknown, and the index of the items that are scored with this fit.

    Without folds there is no gold, and one fit scores all items.
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
        gold[crowd.item[fold != f]] = crowd.truth[fold != f]
        yield gold, np.flatnonzero(fold == f)
