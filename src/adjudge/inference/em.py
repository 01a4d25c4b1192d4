"""The loops: ``climb`` until the evidence settles, ``settle`` until nothing changes, ``go_round`` a number of times.

Plain EM may need hundreds of steps where a few directions converge slowly. The climb therefore takes two
steps, extrapolates along them (SQUAREM: Varadhan & Roland 2008, scheme 3) and keeps the leap only if the
evidence rose by it, so that the history never falls. Leaps are made in the logarithms of probabilities:
on the probabilities themselves a leap ends outside the simplex, and what is cut off to zero never comes
back, which left real data sets on a lower summit than plain EM reaches.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.params import Params
from adjudge.kernels.block import Tally

Step: TypeAlias = Callable[[Params], tuple[Params, float]]
Progress: TypeAlias = Callable[[int, float], None]

GROW = 4.0  # how fast the longest leap grows and shrinks
CALM = 1e-2  # rise a judgment below which leaps begin: on a steep slope they may land on another one
QUIET = 0.1  # of the tolerance, over a whole cycle: a leap that gained little says more than a step that did
CIRCLE = "went round in a circle"
TINY = 1e-300  # stands for zero where a logarithm is taken; zeros stay zeros


class Rules(NamedTuple):
    """When a climb ends."""

    judgments: float  # how many there are, each as often as it counts
    tolerance: float  # stop when a step raises the evidence by less than this a judgment
    cap: int  # passes over the judgments
    accelerate: bool = True


class Here(NamedTuple):
    """Where a climb is between two cycles: all it needs to go on from there."""

    params: Params
    before: float = -np.inf  # the evidence a cycle ago
    reach: float = 1.0  # of the longest leap, in steps
    history: tuple[float, ...] = ()
    passes: int = 0
    seen: tuple[str, ...] = ()  # digests of the params of earlier passes, where a circle is looked for


Keep: TypeAlias = Callable[[Here], None]


class Climb(NamedTuple):
    """Where a climb ended, and why."""

    params: Params
    evidence: tuple[float, ...]  # before each step that was kept
    passes: int
    stopped: str


def climb(
    step: Step, start: Params | Here, rules: Rules, progress: Progress | None = None, keep: Keep | None = None
) -> Climb:
    """Repeat ``step`` from ``start`` until the evidence settles; Ctrl-C ends it with what it has.

    ``step`` returns the next params and the log evidence of those it was given. ``keep`` is told where the climb is
    before each cycle; begun there, it goes on as it would have.
    """
    here, before, reach, past, passes, _ = _here(start)
    history, walk = [*past], _Walk(step, rules.cap, progress, passes)
    scale = max(1.0, rules.judgments)
    rise, calm = rules.tolerance * scale * (QUIET if rules.accelerate else 1), CALM * scale
    try:
        while True:
            if keep is not None:
                keep(Here(here, before, reach, tuple(history), walk.passes))
            first = Params(*map(np.ascontiguousarray, here))  # as read back: sums hang on how numbers lie, by a bit
            second, low = walk(first)
            history.append(low)
            here = second  # kept, should the next pass be the one that is interrupted
            here, high = walk(second)
            history.append(high)
            if high - low < rise and (high - before < rise or not rules.accelerate):
                return Climb(here, tuple(history), walk.passes, "converged")
            if rules.accelerate and high - low < calm:
                leap, length = _leap(first, second, here, reach)
                landed, evidence = walk(leap)
                if evidence >= high:
                    here, reach = landed, reach * (GROW if length == reach else 1)
                    history.append(evidence)
                else:
                    reach = max(1.0, reach / GROW)
            before = high
    except KeyboardInterrupt:
        stopped = "interrupted"
    except _CapReachedError:
        stopped = f"stopped at the cap of {rules.cap:,} passes"
    return Climb(here, tuple(history), walk.passes, stopped)


def settle(
    step: Step, start: Params | Here, rules: Rules, progress: Progress | None = None, keep: Keep | None = None
) -> Climb:
    """Repeat ``step`` from ``start`` until nothing changes: hard assignments do so exactly, or go round in a circle.

    A circle is noticed when params come back that were there before, and said.
    """
    begin = _here(start)
    here, walk = begin.params, _Walk(step, rules.cap, progress, begin.passes)
    seen = {mark: n for n, mark in enumerate(begin.seen, 1)}  # mark: the pass that it was after
    try:
        while True:
            if keep is not None:
                keep(Here(here, passes=walk.passes, seen=tuple(seen)))
            after, _ = walk(here)
            mark = _mark(after)
            if mark in seen:
                round_trip = walk.passes - seen[mark]
                stopped = "converged" if round_trip == 1 else f"{CIRCLE} of {round_trip} passes"
                return Climb(after, (), walk.passes, stopped)
            here, seen[mark] = after, walk.passes
    except KeyboardInterrupt:
        stopped = "interrupted"
    except _CapReachedError:
        stopped = f"stopped at the cap of {rules.cap:,} passes"
    return Climb(here, (), walk.passes, stopped)


def go_round(
    step: Step, start: Params | Here, rounds: int, progress: Progress | None = None, keep: Keep | None = None
) -> Climb:
    """Repeat ``step`` as often as the method says; Ctrl-C ends it with what it has."""
    begin = _here(start)
    here, walk = begin.params, _Walk(step, rounds, progress, begin.passes)
    try:
        for _ in range(begin.passes, rounds):
            here, _ = walk(here)
            if keep is not None:
                keep(Here(here, passes=walk.passes))
    except KeyboardInterrupt:
        return Climb(here, (), walk.passes, "interrupted")
    return Climb(here, (), rounds, f"went {rounds} rounds" if rounds else "counted once")


class _CapReachedError(Exception):
    """No pass over the judgments is left."""


class _Walk:
    """A step that counts itself, reports, and ends at the cap."""

    def __init__(self, step: Step, cap: int, progress: Progress | None, passes: int) -> None:
        self.step, self.cap, self.progress, self.passes = step, cap, progress, passes

    def __call__(self, params: Params) -> tuple[Params, float]:
        if self.passes >= self.cap:
            raise _CapReachedError
        after, evidence = self.step(params)
        self.passes += 1
        if self.progress is not None:
            self.progress(self.passes, evidence)
        return after, evidence


def _here(start: Params | Here) -> Here:
    """Return where a climb begins."""
    return start if isinstance(start, Here) else Here(start)


def _mark(params: Params) -> str:
    """Return what tells params from all others."""
    digest = blake2b(digest_size=16)
    for array in (params.confusion, params.prevalence, params.skill):
        digest.update(array.tobytes())
    return digest.hexdigest()


def _leap(first: Params, second: Params, third: Params, reach: float) -> tuple[Params, float]:
    """Return the extrapolation of three params, and its length in steps, from 1 to ``reach``."""
    place = [_place(point) for point in (first, second, third)]
    step = [b - a for a, b in zip(place[0], place[1], strict=True)]
    bend = [c - b - s for b, c, s in zip(place[1], place[2], step, strict=True)]
    size = _size(bend, third)
    length = max(1.0, min(reach, _size(step, third) / size)) if size > 0 else 1.0
    prevalence, rest = (a + 2 * length * s + length**2 * b for a, s, b in zip(place[0], step, bend, strict=True))
    moved = third._replace(prevalence=_rows(prevalence, third.prevalence))
    if third.skill.size:
        return moved._replace(skill=rest), length
    return moved._replace(confusion=_rows(rest, third.confusion)), length


def _place(params: Params) -> tuple[Floats, Floats]:
    """Return where params are: the logs of prevalence, and skills or, where there are none, the logs of confusion."""
    rest = params.skill if params.skill.size else np.log(np.maximum(params.confusion, TINY))
    return np.log(np.maximum(params.prevalence, TINY)), rest


def _size(change: list[Floats], params: Params) -> float:
    """Return the size of a change, that of a logarithm weighed by its probability."""
    weights = (params.prevalence, 1.0 if params.skill.size else params.confusion)
    return float(np.sqrt(sum((p * np.square(c)).sum() for c, p in zip(change, weights, strict=True))))


def _rows(logs: Floats, known: Floats) -> Floats:
    """Return logarithms as rows of probabilities; what is known to be zero stays zero."""
    values = np.where(known > 0, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
    total = values.sum(axis=-1, keepdims=True)
    return np.where(total > 0, values / np.maximum(total, TINY), known)


# The last steps to a summit that is near: Anderson mixing of EM (Anderson 1965; Walker & Ni 2011).
#
# A climb that begins far away is careful: it leaps now and then, and by little. Near a summit EM is as good as linear,
# F(s) - s falls along a straight path, and what several steps have shown of it says where it ends. The steps mixed here
# are tallies, which every model's ``estimate`` takes: a mixture of tallies is a tally.

Look: TypeAlias = Callable[[Params], Tally]  # a pass over all judgments, with the log prior in its evidence
Estimated: TypeAlias = Callable[[Tally], Params]

DEPTH = 6  # steps that are mixed
FAR = 40  # passes after which the summit was not near
LAST = 3  # falls of the rise that are looked at
MARGIN = 0.5  # of the tolerance: what may be left to climb where it ends


class Near(NamedTuple):
    """Where the steps ended."""

    tally: Tally  # of the last pass, at the params before it
    evidence: tuple[float, ...]  # of the passes that rose
    passes: int
    stopped: str  # "" where the summit was not near


def approach(look: Look, estimate: Estimated, begin: Tally, rules: Rules, progress: Progress | None = None) -> Near:
    """Repeat EM from a tally, mixed, until less than the tolerance is left to climb; Ctrl-C ends it with what it has.

    What is left is foretold from the last rises, as of a geometric series.
    """
    enough = MARGIN * rules.tolerance * max(1.0, rules.judgments)
    said, shown, best, history = begin, list[tuple[Floats, Floats]](), begin, list[float]()
    rises, passes = list[float](), 0
    try:
        for passes in range(1, min(FAR, rules.cap) + 1):
            seen = look(estimate(said))
            if progress is not None:
                progress(passes, seen.evidence)
            rise = seen.evidence - history[-1] if history else np.inf
            if rise < 0:  # mixed too boldly: on from the best by a plain step
                said, shown, rises = best, [], [np.inf]
                continue
            best = seen
            history.append(seen.evidence)
            rises.append(rise)
            if _left(rises) <= enough:
                return Near(best, tuple(history), passes, "converged")
            shown = [*shown[-DEPTH:], (_flat(said), _flat(seen))]
            said = _mixed(shown, seen)
    except KeyboardInterrupt:
        return Near(best, tuple(history), passes, "interrupted")
    return Near(best, tuple(history), passes, "")


def _left(rises: list[float]) -> float:
    """Return how much is left to climb, by the slowest of the last falls of the rise; a lucky one says little."""
    last = rises[-LAST - 1 :]
    if len(last) < 2 or last[-1] <= 0:
        return last[-1] if len(last) > 1 else np.inf
    rate = max(after / before for before, after in pairwise(last))
    return max(last[-1], last[-1] * rate / (1 - rate)) if rate < 1 else np.inf


def _mixed(shown: list[tuple[Floats, Floats]], last: Tally) -> Tally:
    """Return the mixture of steps whose change is least, each cell weighed by how well it is known."""
    if len(shown) == 1:
        return last
    said, seen = (np.array(each) for each in zip(*shown, strict=True))  # (steps, cells)
    change = (seen - said) / np.sqrt(np.maximum(np.abs(seen[-1]), 1.0))
    apart = change[:-1] - change[-1]
    # by einsum: threads of BLAS would spin beside those of the passes, for a few numbers
    alike, aim = np.einsum("ac,bc->ab", apart, apart), np.einsum("ac,c->a", apart, -change[-1])
    shares = np.linalg.lstsq(alike, aim, rcond=1e-12)[0]
    mixed = seen[-1] + np.einsum("a,ac->c", shares, seen[:-1] - seen[-1])
    mixed = np.where((mixed > 0) | (seen[-1] <= 0), mixed, seen[-1])  # no cell is mixed out of its bounds
    size = last.truth.size
    return last._replace(truth=mixed[:size].reshape(last.truth.shape), label=mixed[size:].reshape(last.label.shape))


def _flat(tally: Tally) -> Floats:
    """Return all cells of a tally in one row."""
    return np.concatenate([tally.truth.ravel(), tally.label.ravel()])
