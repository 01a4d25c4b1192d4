"""Sums of numbers of which only the logs are at hand."""

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
