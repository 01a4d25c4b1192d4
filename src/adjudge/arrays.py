"""Axis letters and array aliases, one meaning everywhere.

I items, J judges, T topics, Z truths, K labels, N judgments. Truths and labels are the same names in
most models, but not in all (a Gaussian model has truths on a grid), so they keep letters of their own.
An array is singular and indexed by its axis: ``judge[n]`` is the judge of judgment n.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.integer[Any]]
Flags: TypeAlias = NDArray[np.bool_]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: records that cross rooms are never changed."""
    view = array.view()
    view.flags.writeable = False
    return view
