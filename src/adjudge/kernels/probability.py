"""Sums of numbers of which only the logs are at hand."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled


def log_sums(rows: Floats) -> Floats:
    """Return log sum exp of every row (I, S) without overflow."""
    total = np.empty(rows.shape[0])
    _fill(rows, total)
    return total


@compiled
def log_sum(row: Floats) -> float:
    """Return log sum exp of one row, relative to its largest."""
    most = row.max()
    total = 0.0
    for s in range(row.size):
        total += np.exp(row[s] - most)
    return float(most + np.log(total))


@compiled
def normalise(logs: Floats) -> float:
    """Turn logs into shares of their total, in place; return the log of the total."""
    most, total = logs.max(), 0.0
    for k in range(logs.size):
        logs[k] = np.exp(logs[k] - most)
        total += logs[k]
    for k in range(logs.size):
        logs[k] /= total
    return float(most + np.log(total))


@compiled
def _fill(rows: Floats, total: Floats) -> None:
    """Fill in every row's."""
    for i in range(total.size):
        total[i] = log_sum(rows[i])


# Rows of probabilities.


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
