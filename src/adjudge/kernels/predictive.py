"""How likely judgments are that were held back, given what is believed of their items and judges."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import count

TRUSTED = 3.0  # judgments' worth of everybody's rows in a judge's own


def counted_chances(block: Block, posterior: Floats, held: Block) -> Floats:
    """Return p(label | item, judge) of held judgments (N): truths as believed (I, Z), and judges as counted under them.

    A judge's row is shrunk to everybody's as if they had been seen in a few more judgments, so that no label is
    impossible and judges of whom little is known are average ones.
    """
    label = count(block, posterior).label  # (J, Z, K)
    everybody = label.sum(axis=0) + 1
    everybody /= everybody.sum(axis=1, keepdims=True)
    rows = (label + TRUSTED * everybody) / (label.sum(axis=2, keepdims=True) + TRUSTED)
    chance = np.empty(held.cell.size)
    _chances(held.start, held.cell, posterior, _by_cell(rows), chance)
    return chance


def _by_cell(rows: Floats) -> Floats:
    """Return matrices (J, Z, K) in the order of cells (J * K, Z)."""
    J, Z, K = rows.shape
    return np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(J * K, Z)


@compiled
def _chances(start: Codes, cell: Codes, posterior: Floats, rows: Floats, chance: Floats) -> None:
    """Fill in each judgment's chance, summed over the truths of its item."""
    for i in range(start.size - 1):
        for n in range(start[i], start[i + 1]):
            total = 0.0
            for z in range(posterior.shape[1]):
                total += posterior[i, z] * rows[cell[n], z]
            chance[n] = total
