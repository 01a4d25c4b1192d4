"""The loops. ``climb`` repeats a step until the evidence settles, and leaps where it can.

Plain EM may need hundreds of steps where a few directions converge slowly. The climb therefore takes two
steps, extrapolates along them (SQUAREM: Varadhan & Roland 2008, scheme 3) and keeps the leap only if the
evidence rose by it, so that the history never falls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.models.base import Params

Step: TypeAlias = Callable[[Params], tuple[Params, float]]
Progress: TypeAlias = Callable[[int, float], None]

GROW = 4.0  # how fast the longest leap grows and shrinks
WARM_UP = 6  # plain steps before the first leap: far from a summit, a leap may land on another slope


class Rules(NamedTuple):
    """When a climb ends."""

    rise: float  # stop when a step raises the evidence by less than this
    cap: int  # passes over the judgments
    accelerate: bool = True


class Climb(NamedTuple):
    """Where a climb ended, and why."""

    params: Params
    evidence: tuple[float, ...]  # before each step that was kept
    passes: int
    stopped: str


def climb(step: Step, start: Params, rules: Rules, progress: Progress | None = None) -> Climb:
    """Repeat ``step`` from ``start`` until the evidence settles; Ctrl-C ends it with what it has.

    ``step`` returns the next params and the log evidence of those it was given.
    """
    here, reach, history = start, 1.0, list[float]()
    walk = _Walk(step, rules.cap, progress)
    try:
        while True:
            first = here
            here, low = walk(first)
            second = here
            here, high = walk(second)
            history += [low, high]
            if high - low < rules.rise:
                return Climb(here, tuple(history), walk.passes, "converged")
            if rules.accelerate and walk.passes >= WARM_UP:
                leap, length = _leap(first, second, here, reach)
                landed, evidence = walk(leap)
                if evidence >= high:
                    here, reach = landed, reach * (GROW if length == reach else 1)
                    history.append(evidence)
                else:
                    reach = max(1.0, reach / GROW)
    except KeyboardInterrupt:
        stopped = "interrupted"
    except _CapReached:
        stopped = f"stopped at the cap of {rules.cap:,} passes"
    return Climb(here, tuple(history), walk.passes, stopped)


class _CapReached(Exception):
    """No pass over the judgments is left."""


class _Walk:
    """A step that counts itself, reports, and ends at the cap."""

    def __init__(self, step: Step, cap: int, progress: Progress | None) -> None:
        self.step, self.cap, self.progress, self.passes = step, cap, progress, 0

    def __call__(self, params: Params) -> tuple[Params, float]:
        if self.passes >= self.cap:
            raise _CapReached
        after, evidence = self.step(params)
        self.passes += 1
        if self.progress is not None:
            self.progress(self.passes, evidence)
        return after, evidence


def _leap(first: Params, second: Params, third: Params, reach: float) -> tuple[Params, float]:
    """Return the extrapolation of three params, and its length in steps, at most ``reach``.

    Rows that sum to one still do on the line through them; what falls below zero is cut off.
    """
    step = [b - a for a, b in zip(first[:2], second[:2], strict=True)]
    bend = [c - b - s for b, c, s in zip(second[:2], third[:2], step, strict=True)]
    size = np.sqrt(sum(float(np.square(b).sum()) for b in bend))
    length = np.sqrt(sum(float(np.square(s).sum()) for s in step)) / size if size > 0 else 1.0
    length = max(1.0, min(reach, float(length)))
    moved = (_rows(a + 2 * length * s + length**2 * b) for a, s, b in zip(first[:2], step, bend, strict=True))
    return Params(*moved, third.population), length


def _rows(values: Floats) -> Floats:
    """Return values as rows of probabilities."""
    positive = np.maximum(values, 0.0)
    return positive / positive.sum(axis=-1, keepdims=True)
