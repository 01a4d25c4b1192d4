"""Newton's method for the ranking SVM, without a pair being formed.

    min |w|^2 / 2 + c sum_ij f_ij max(0, 1 - w (x_i - x_j))^2

The loss is piecewise quadratic, so that Newton's steps, halved where they would overshoot, end after a few; where
features are many, conjugate gradients find each (Chapelle and Keerthi 2010). The optimum is that of liblinear on
difference vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.pair_hinge import Rows, curve, loss_and_pull

ENOUGH = 1e-4  # of the decrease that a step promises
HALVINGS = 40
FEW = 300  # features up to which the second derivative is formed


class Solved(NamedTuple):
    """Where the climb ended."""

    w: Floats  # (F)
    value: float  # of the objective
    steps: int
    gradient: float  # its norm, as a share of that at w = 0
    settled: bool


def solve(X: Floats, rows: Rows, c: float, *, tolerance: float = 1e-8, most: int = 200) -> Solved:
    """Return the minimum, for rows X (N, F) in the order of ``rows``."""
    w = np.zeros(X.shape[1])
    score = np.zeros(X.shape[0])
    loss, pull = loss_and_pull(rows, score)
    value, gradient = c * loss, -2 * c * (X.T @ pull)
    norm = first = float(np.linalg.norm(gradient))
    steps = 0
    while norm > tolerance * first and steps < most:
        step = _step(X, rows, c, score, gradient, min(0.1, norm / first) * norm)
        slope, ahead, t = float(gradient @ step), X @ step, 1.0
        for _ in range(HALVINGS):
            loss, pull = loss_and_pull(rows, score + t * ahead)
            reached = 0.5 * float((w + t * step) @ (w + t * step)) + c * loss
            if reached <= value + ENOUGH * t * slope:
                break
            t /= 2
        else:
            break  # as near as floating point goes
        w, score, value, steps = w + t * step, score + t * ahead, reached, steps + 1
        gradient = w - 2 * c * (X.T @ pull)
        norm = float(np.linalg.norm(gradient))
    share = norm / first if first else 0.0
    return Solved(w, value, steps, share, share <= max(tolerance, 1e-6))


def _step(X: Floats, rows: Rows, c: float, score: Floats, gradient: Floats, near: float) -> Floats:
    """Return Newton's step: solved outright where features are few, else to a residual of ``near``."""
    F = gradient.size
    if F <= FEW:
        bend = np.eye(F) + 2 * c * (X.T @ curve(rows, score, X))
        return np.asarray(np.linalg.solve(bend, -gradient), dtype=np.float64)

    def bent(v: Floats) -> Floats:
        """Return the second derivative times v."""
        moved: Floats = v + 2 * c * (X.T @ curve(rows, score, (X @ v)[:, None])[:, 0])
        return moved

    return conjugate(bent, -gradient, near)


def conjugate(bend: Callable[[Floats], Floats], goal: Floats, near: float) -> Floats:
    """Return x with bend(x) = goal, to a residual of ``near``: conjugate gradients (Hestenes and Stiefel 1952)."""
    x, left = np.zeros(goal.size), goal.copy()
    way, size = left.copy(), float(left @ left)
    for _ in range(2 * goal.size + 10):
        if size <= near**2:
            break
        bent = bend(way)
        far = size / float(way @ bent)
        x, left = x + far * way, left - far * bent
        size, before = float(left @ left), size
        way = left + (size / before) * way
    return x
