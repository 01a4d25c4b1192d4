"""Axis letters and array aliases, one meaning everywhere.

I items, J judges, T topics, Z truths, K labels, N judgments. Truths and labels are the same names in
most models, but not in all (a Gaussian model has truths on a grid), so they keep letters of their own.
An array is singular and indexed by its axis: ``judge[n]`` is the judge of judgment n.
"""

from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.integer[Any]]
Flags: TypeAlias = NDArray[np.bool_]


def row_sums(table: Floats) -> Floats:
    """Return the sum of every row, column by column: numpy is slow to reduce rows of a few numbers."""
    total: Floats = reduce(np.add, table.T)
    return total


def row_maxima(table: Floats) -> Floats:
    """Return the largest number of every row, column by column like ``row_sums``."""
    most: Floats = reduce(np.maximum, table.T)
    return most


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: records that cross rooms are never changed."""
    view = array.view()
    view.flags.writeable = False
    return view
