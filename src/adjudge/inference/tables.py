"""A judge's confusion matrix as columns of the table of judges."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.scale import Scale
from adjudge.inference.params import Params
from adjudge.kernels.centre import shares_between


def confusion_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return one column per cell of the judges' matrices: the chance of saying a label, given a truth."""
    return {
        f"p_{said}_if_{truth}": params.confusion[:, z, k]
        for z, truth in enumerate(labels)
        for k, said in enumerate(labels)
    }


# An item's expected value on an ordered scale, as columns of the table of labels.


def expected_value(posterior: Floats, scale: Scale) -> dict[str, Any]:
    """Return each item's expected value, and the two labels around it: 0.7 good + 0.3 very good."""
    value = np.array(scale.values)
    expected = posterior @ value
    return {"expected": expected, "between": [_mixed(scale, row) for row in shares_between(expected, value)]}


def _mixed(scale: Scale, share: Floats) -> str:
    """Return the labels with a share of at least .05, to one digit, or the one that has all of it."""
    shown = [(round(float(share[k]), 1), scale.names[k]) for k in np.flatnonzero(share)]
    if max(shown)[0] == 1.0:
        return max(shown)[1]
    (low, below), (_, above) = shown
    return f"{low:.1f} {below} + {1 - low:.1f} {above}"
