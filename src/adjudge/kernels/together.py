"""How far judges err together: whether, on the same item, one judge's error makes another's likelier."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled


def together(block: Block, posterior: Floats, confusion: Floats) -> float:
    """Return the sum, over all pairs of judgments of an item, of the product of how far each is above expectation.

    A judgment is above expectation by whether it is right less the chance that its judge has of that, both as expected
    under the posterior (I, K) of its item's truth. Judges who err alone make products that cancel out.
    """
    right = np.ascontiguousarray(np.diagonal(confusion, axis1=1, axis2=2))  # (J, K)
    return float(_together(block.start, block.cell, block.weight, posterior, right))


@compiled
def _together(start: Codes, cell: Codes, weight: Floats, posterior: Floats, right: Floats) -> float:
    """Add up the products of pairs: half of the square of the sum less the sum of squares."""
    K = posterior.shape[1]
    total = 0.0
    for i in range(start.size - 1):
        above, squares = 0.0, 0.0
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            over = posterior[i, label]
            for k in range(K):
                over -= posterior[i, k] * right[j, k]
            if weight.size:
                over *= weight[n]
            above += over
            squares += over * over
        total += (above * above - squares) / 2
    return total
