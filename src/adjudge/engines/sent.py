"""Tallies on their way: a worker's blocks know only some of a million judges, and only their rows are sent."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Tally

SHARE = 0.5  # of the judges that have rows, up to which the others are left out


class Sent(Tally):
    """A tally that travels without the rows of judges who said nothing."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.label.ndim < 2 or not self.label.size:
            return Tally, tuple(self)
        spoke = np.flatnonzero(np.any(self.label.reshape(self.label.shape[0], -1), axis=1))
        if spoke.size > SHARE * self.label.shape[0]:
            return Tally, tuple(self)
        rows = np.ascontiguousarray(self.label[spoke])
        return arrived, (self.truth, spoke.astype(np.int32), rows, self.label.shape[0], self.evidence)


def arrived(truth: Floats, spoke: Codes, rows: Floats, judges: int, evidence: float) -> Tally:
    """Return the tally as it was before it was sent."""
    label = np.zeros((judges, *rows.shape[1:]))
    label[spoke] = rows
    return Tally(truth, label, evidence)
