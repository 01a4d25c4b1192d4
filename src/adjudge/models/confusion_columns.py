"""A judge's confusion matrix as columns of the table of judges."""

from __future__ import annotations

from adjudge.arrays import Floats
from adjudge.models.base import Params


def confusion_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return one column per cell of the judges' matrices: the chance of saying a label, given a truth."""
    return {
        f"p_{said}_if_{truth}": params.confusion[:, z, k]
        for z, truth in enumerate(labels)
        for k, said in enumerate(labels)
    }
