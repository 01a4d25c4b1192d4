"""Whether judges err together: on the same item, one judge's error makes another's likelier than the model has it.

Two sums over pairs of judgments of an item. Of judges who err alone, given the truth, both are 0 on average. Truths may
be finer than labels: ``side`` (S) says which label each stands for.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled


def together(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return the sum over pairs of the product of how far each judgment is above expectation.

    A judgment is above expectation by whether it is right less the chance that its judge has of that, both as expected
    under the posterior (I, S) of its item's truth; ``confusion`` is (J, S, K). Pairs are of different judges.
    """
    S = posterior.shape[1]
    right = np.ascontiguousarray(confusion[:, np.arange(S), side])  # (J, S)
    hers = np.zeros(block.judges)
    return float(_together(block.start, block.cell, block.weight, posterior, right, side, block.labels, hers))


def alike(block: Block, posterior: Floats, confusion: Floats) -> float:
    """Return by how much more pairs of judgments are equal than expected under the posterior (I, S): also wrong ones.

    A judgment counts once here, whatever its weight.
    """
    return float(_alike(block.start, block.cell, posterior, np.ascontiguousarray(confusion)))


@compiled
def _together(
    start: Codes, cell: Codes, weight: Floats, posterior: Floats, right: Floats, side: Codes, K: int, hers: Floats
) -> float:
    """Add up the products of pairs: half of the square of the sum less the squares of each judge's own sum."""
    total, hit = 0.0, np.empty(K)
    for i in range(start.size - 1):
        above, squares = 0.0, 0.0
        hit[:] = 0.0
        for s in range(side.size):
            hit[side[s]] += posterior[i, s]
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            over = hit[label]
            for s in range(side.size):
                over -= posterior[i, s] * right[j, s]
            if weight.size:
                over *= weight[n]
            above += over
            hers[j] += over
        for n in range(start[i], start[i + 1]):
            j = cell[n] // K
            squares += hers[j] * hers[j]
            hers[j] = 0.0
        total += (above * above - squares) / 2
    return total


@compiled
def _alike(start: Codes, cell: Codes, posterior: Floats, rows: Floats) -> float:
    """Add up the pairs of equal labels, less those that are expected."""
    _, S, K = rows.shape
    total, given, chance, squares = 0.0, np.empty(K), np.empty((S, K)), np.empty(S)
    for i in range(start.size - 1):
        given[:] = 0.0
        chance[:] = 0.0
        squares[:] = 0.0
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            given[label] += 1.0
            for s in range(S):  # a judge's rows lie together
                for k in range(K):
                    chance[s, k] += rows[j, s, k]
                    squares[s] += rows[j, s, k] ** 2
        for k in range(K):
            total += given[k] * (given[k] - 1) / 2
        for s in range(S):
            expected = -squares[s]
            for k in range(K):
                expected += chance[s, k] ** 2
            total -= posterior[i, s] * expected / 2
    return total
