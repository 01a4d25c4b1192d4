"""Rows of probabilities and of log probabilities: normalised, and summed without overflow.

The kernels loop over numbers, because expressions of arrays take numba many times longer to compile.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled, pays


def log_sums(rows: Floats) -> Floats:
    """Return log sum exp of every row (I, S) without overflow."""
    total = np.empty(rows.shape[0])
    _fill(rows, total)
    return total


@compiled
def log_sum(row: Floats) -> float:
    """Return log sum exp of one row."""
    most, total = row[0], 0.0
    for s in range(1, row.size):
        most = max(most, row[s])
    for s in range(row.size):
        total += np.exp(row[s] - most)
    return float(most + np.log(total))


@compiled
def normalise(logs: Floats) -> float:
    """Turn logs into shares of their total, in place; return the log of the total."""
    most, total = logs[0], 0.0
    for k in range(1, logs.size):
        most = max(most, logs[k])
    for k in range(logs.size):
        logs[k] = np.exp(logs[k] - most)
        total += logs[k]
    for k in range(logs.size):
        logs[k] /= total
    return float(most + np.log(total))


@compiled
def _fill(rows: Floats, total: Floats) -> None:
    """Fill in the log sum exp of every row."""
    for i in range(total.size):
        total[i] = log_sum(rows[i])


def normalise_rows(counts: Floats, otherwise: Floats) -> Floats:
    """Return rows divided by their sums.

    Parameters
    ----------
    counts
        Counts of any shape; a row is along the last axis.
    otherwise
        The rows that replace rows of zeros, which have no observation.

    Returns
    -------
    Floats
        Rows that sum to one.
    """
    total = counts.sum(axis=-1, keepdims=True)
    rows: Floats = np.divide(counts, total, out=np.array(otherwise), where=total > 0)
    return rows


def normalise_matrices(counts: Floats, otherwise: Floats) -> Floats:
    """Return the same as ``normalise_rows`` for the matrices of many judges (J, Z, K), in one pass."""
    J, Z, K = counts.shape
    rows = np.empty((J, K, Z)).transpose(0, 2, 1)  # the order in memory that the next pass reads
    if not pays(_divide_by_sums, counts.size):
        total = np.zeros((J, Z))
        for k in range(K):  # the order of the kernel
            total += counts[:, :, k]
        return (
            np.divide(counts, total[:, :, None], out=rows) if (total > 0).all() else normalise_rows(counts, otherwise)
        )
    return rows if _divide_by_sums(counts, rows) else normalise_rows(counts, otherwise)


@compiled
def _divide_by_sums(counts: Floats, rows: Floats) -> bool:
    """Divide every row by its sum; return False if a row was empty."""
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
