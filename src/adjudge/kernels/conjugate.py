"""Rows of probabilities drawn from their Dirichlet posteriors."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.compiled import compiled


def dirichlet_rows(pseudo: Floats, rng: np.random.Generator) -> Floats:
    """Return rows drawn from Dirichlet(pseudo), along the last axis of an array of any shape."""
    rows = np.empty(pseudo.shape)
    _draw(np.ascontiguousarray(pseudo).reshape(-1, pseudo.shape[-1]), rng, rows.reshape(-1, pseudo.shape[-1]))
    return rows


@compiled
def _draw(pseudo: Floats, rng: np.random.Generator, rows: Floats) -> None:
    """Divide gamma draws by their sum; where all underflow, all goes to one label, drawn by its share."""
    R, K = pseudo.shape
    for r in range(R):
        total = 0.0
        for k in range(K):
            rows[r, k] = rng.standard_gamma(pseudo[r, k])
            total += rows[r, k]
        if total > 0:
            for k in range(K):
                rows[r, k] /= total
        else:
            place, k = rng.random() * pseudo[r].sum(), 0
            while k < K - 1 and place >= pseudo[r, k]:
                place -= pseudo[r, k]
                k += 1
            rows[r, k] = 1.0
