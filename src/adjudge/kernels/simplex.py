"""Rows of probabilities."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled


def normal(counts: Floats, otherwise: Floats) -> Floats:
    """Return rows divided by their sums; a row of zeros, which nobody met, becomes ``otherwise``."""
    total = counts.sum(axis=-1, keepdims=True)
    rows: Floats = np.divide(counts, total, out=np.array(otherwise), where=total > 0)
    return rows


def normal_matrices(counts: Floats, otherwise: Floats) -> Floats:
    """Return the same for the matrices of many judges (J, Z, K), in one pass."""
    J, Z, K = counts.shape
    rows = np.empty((J, K, Z)).transpose(0, 2, 1)  # the order in memory that the next pass reads
    return rows if _normal(counts, rows) else normal(counts, otherwise)


@compiled
def _normal(counts: Floats, rows: Floats) -> bool:
    """Divide every row by its sum; False when one was empty."""
    J, Z, K = counts.shape
    for j in range(J):
        for z in range(Z):
            total = 0.0
            for k in range(K):
                total += counts[j, z, k]
            if total <= 0:
                return False
            for k in range(K):
                rows[j, z, k] = counts[j, z, k] / total
    return True
