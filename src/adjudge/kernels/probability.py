"""Rows of probabilities and of log probabilities: normalised, and summed without overflow.

The kernels loop over numbers, because expressions of arrays take numba many times longer to compile.
"""

from __future__ import annotations

import math

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled, pays

ROOT_OF_HALF = int(np.sqrt(np.float64(0.5)).view(np.int64))  # its bits
LOG_2 = math.log(2)


def log_sums(rows: Floats) -> Floats:
    """Return log sum exp of every row (I, S) without overflow."""
    total = np.empty(rows.shape[0])
    _fill(rows, total)
    return total


@compiled
def log(x: float) -> float:
    """Return the natural logarithm of a positive number; the relative error is about 1e-15.

    Unlike a call of the C library, it becomes a part of the loop around it, and several numbers are computed at once.
    x is m 2^e with m between the root of 1/2 and that of 2, and log m = 2 artanh s, s = (m - 1) / (m + 1), as a series.
    """
    bits = np.float64(x).view(np.int64)
    e = np.int64(bits - ROOT_OF_HALF) >> 52
    m = np.int64(bits - (e << 52)).view(np.float64)
    s = (m - 1) / (m + 1)
    z = s * s
    rest = z * (1 / 9 + z * (1 / 11 + z * (1 / 13 + z * (1 / 15 + z / 17))))
    return float(e * LOG_2 + 2 * s * (1 + z * (1 / 3 + z * (1 / 5 + z * (1 / 7 + rest)))))


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
