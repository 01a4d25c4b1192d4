"""The loops of EM: ``maximise`` until the evidence converges, ``settle`` until nothing changes, ``repeat`` n times.

Plain EM may need hundreds of steps where a few directions converge slowly. ``maximise`` therefore takes two steps,
extrapolates along them (SQUAREM: Varadhan & Roland 2008, scheme 3) and keeps the extrapolation only if the evidence
rose, so that the history never falls. It extrapolates the logarithms of probabilities: the probabilities themselves
would leave the simplex, and a probability that is cut off at zero never comes back, which left real data sets at a
lower optimum than plain EM reaches.

``approach`` is for a start near the optimum, as after an update: Anderson mixing of EM (Anderson 1965; Walker & Ni
2011). Near an optimum EM is close to linear, so several steps tell where it ends. What is mixed are tallies, which
every model's ``estimate`` takes: a mixture of tallies is a tally.
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

GROW = 4.0  # factor by which the longest extrapolation grows and shrinks
CALM = 1e-2  # rise per judgment below which SQUAREM begins: from further away it may reach another optimum
QUIET = 0.1  # share of the tolerance that a whole cycle of SQUAREM must gain to go on
CIRCLE = "went round in a circle"
TINY = 1e-300  # stands for zero where a logarithm is taken; zeros stay zeros


class Rules(NamedTuple):
    """When EM ends."""

    judgments: float  # their total weight
    tolerance: float  # stop when a step raises the evidence per judgment by less than this
    cap: int  # largest number of passes over the judgments
    accelerate: bool = True

    @property
    def rise(self) -> float:
        """The rise of the evidence below which EM has converged."""
        return self.tolerance * max(1.0, self.judgments) * (QUIET if self.accelerate else 1)


class EmState(NamedTuple):
    """The state of EM between two cycles: all that is needed to continue from there."""

    params: Params
    before: float = -np.inf  # the evidence one cycle earlier
    reach: float = 1.0  # length of the longest extrapolation, in steps
    history: tuple[float, ...] = ()
    passes: int = 0
    visited: tuple[str, ...] = ()  # digests of the params of earlier passes, by which ``settle`` finds a cycle


Keep: TypeAlias = Callable[[EmState], None]


class EmResult(NamedTuple):
    """Where EM ended, and why."""

    params: Params
    evidence: tuple[float, ...]  # before each step that was kept
    passes: int
    stopped: str


def maximise(
    step: Step, start: Params | EmState, rules: Rules, progress: Progress | None = None, keep: Keep | None = None
) -> EmResult:
    """Repeat ``step`` from ``start`` until the evidence converges; Ctrl-C ends it with the params reached so far.

    ``step`` returns the next params and the log evidence of its argument. ``keep`` receives the state before each
    cycle; started from that state, EM continues as if it had not been interrupted.
    """
    params, before, reach, past, passes, _ = _first_state(start)
    history, walk = [*past], _Walk(step, rules.cap, progress, passes)
    rise, calm = rules.rise, CALM * max(1.0, rules.judgments)
    try:
        while True:
            if keep is not None:
                keep(EmState(params, before, reach, tuple(history), walk.passes))
            first = Params(*map(np.ascontiguousarray, params))  # C order, so that sums are bit-identical after a reload
            second, low = walk(first)
            history.append(low)
            params = second  # the result, if the next pass is interrupted
            params, high = walk(second)
            history.append(high)
            if high - low < rise and (high - before < rise or not rules.accelerate):
                return EmResult(params, tuple(history), walk.passes, "converged")
            if rules.accelerate and high - low < calm:
                params, reach, gained = _leap(walk, (first, second, params), high, reach)
                history += gained
            before = high
    except KeyboardInterrupt:
        stopped = "interrupted"
    except _CapReachedError:
        stopped = f"stopped at the cap of {rules.cap:,} passes"
    return EmResult(params, tuple(history), walk.passes, stopped)


def _leap(
    walk: _Walk, points: tuple[Params, Params, Params], high: float, reach: float
) -> tuple[Params, float, list[float]]:
    """Extrapolate along three params, and keep the extrapolation if its evidence is not below ``high``.

    Return the params to continue from, the next ``reach``, and the evidence if the extrapolation was kept.
    """
    extrapolated, length = _extrapolate(*points, reach)
    landed, evidence = walk(extrapolated)
    if evidence >= high:
        return landed, reach * (GROW if length == reach else 1), [evidence]
    return points[-1], max(1.0, reach / GROW), []


def settle(
    step: Step, start: Params | EmState, rules: Rules, progress: Progress | None = None, keep: Keep | None = None
) -> EmResult:
    """Repeat ``step`` from ``start`` until nothing changes: hard assignments reach that exactly, or end in a cycle.

    A cycle is found when params occur a second time; ``stopped`` says so.
    """
    begin = _first_state(start)
    params, walk = begin.params, _Walk(step, rules.cap, progress, begin.passes)
    visited = {mark: n for n, mark in enumerate(begin.visited, 1)}  # digest: the number of the pass
    try:
        while True:
            if keep is not None:
                keep(EmState(params, passes=walk.passes, visited=tuple(visited)))
            after, _ = walk(params)
            mark = _mark(after)
            if mark in visited:
                round_trip = walk.passes - visited[mark]
                stopped = "converged" if round_trip == 1 else f"{CIRCLE} of {round_trip} passes"
                return EmResult(after, (), walk.passes, stopped)
            params, visited[mark] = after, walk.passes
    except KeyboardInterrupt:
        stopped = "interrupted"
    except _CapReachedError:
        stopped = f"stopped at the cap of {rules.cap:,} passes"
    return EmResult(params, (), walk.passes, stopped)


def repeat(
    step: Step, start: Params | EmState, rounds: int, progress: Progress | None = None, keep: Keep | None = None
) -> EmResult:
    """Repeat ``step`` ``rounds`` times; Ctrl-C ends it with the params reached so far."""
    begin = _first_state(start)
    params, walk = begin.params, _Walk(step, rounds, progress, begin.passes)
    try:
        for _ in range(begin.passes, rounds):
            params, _ = walk(params)
            if keep is not None:
                keep(EmState(params, passes=walk.passes))
    except KeyboardInterrupt:
        return EmResult(params, (), walk.passes, "interrupted")
    return EmResult(params, (), rounds, "finished" if rounds else "counted once")


class _CapReachedError(Exception):
    """No pass over the judgments is left."""


class _Walk:
    """A step that counts passes, reports progress, and ends at the cap."""

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


def _first_state(start: Params | EmState) -> EmState:
    """Return the state at which EM starts."""
    return start if isinstance(start, EmState) else EmState(start)


def _mark(params: Params) -> str:
    """Return a digest of params."""
    digest = blake2b(digest_size=16)
    for array in (params.confusion, params.prevalence, params.skill):
        digest.update(array.tobytes())
    return digest.hexdigest()


def _extrapolate(first: Params, second: Params, third: Params, reach: float) -> tuple[Params, float]:
    """Return the extrapolation of three params, and its length in steps, from 1 to ``reach``."""
    points = [_coordinates(point) for point in (first, second, third)]
    step = [b - a for a, b in zip(points[0], points[1], strict=True)]
    bend = [c - b - s for b, c, s in zip(points[1], points[2], step, strict=True)]
    size = _size(bend, third)
    length = max(1.0, min(reach, _size(step, third) / size)) if size > 0 else 1.0
    prevalence, rest = (a + 2 * length * s + length**2 * b for a, s, b in zip(points[0], step, bend, strict=True))
    moved = third._replace(prevalence=_rows(prevalence, third.prevalence))
    if third.skill.size:
        return moved._replace(skill=rest), length
    return moved._replace(confusion=_rows(rest, third.confusion)), length


def _coordinates(params: Params) -> tuple[Floats, Floats]:
    """Return what is extrapolated: the logs of prevalence, and skills or, without any, the logs of confusion."""
    rest = params.skill if params.skill.size else np.log(np.maximum(params.confusion, TINY))
    return np.log(np.maximum(params.prevalence, TINY)), rest


def _size(change: list[Floats], params: Params) -> float:
    """Return the norm of a change; the change of a logarithm is weighed by its probability."""
    weights = (params.prevalence, 1.0 if params.skill.size else params.confusion)
    return float(np.sqrt(sum((p * np.square(c)).sum() for c, p in zip(change, weights, strict=True))))


def _rows(logs: Floats, support: Floats) -> Floats:
    """Return logarithms as rows of probabilities; zeros of ``support`` stay zeros."""
    values = np.where(support > 0, np.exp(logs - logs.max(axis=-1, keepdims=True)), 0.0)
    total = values.sum(axis=-1, keepdims=True)
    return np.where(total > 0, values / np.maximum(total, TINY), support)


Look: TypeAlias = Callable[[Params], Tally]  # a pass over all judgments; its evidence includes the log prior
Estimated: TypeAlias = Callable[[Tally], Params]

DEPTH = 6  # steps that are mixed
FAR = 40  # passes after which the optimum counts as not near
LAST = 3  # ratios of successive gains that are looked at
MARGIN = 0.5  # share of the tolerance that may be left to gain at the end


class Near(NamedTuple):
    """Where ``approach`` ended."""

    tally: Tally  # of the last pass, at the params before it
    evidence: tuple[float, ...]  # of the passes that gained
    passes: int
    stopped: str  # "" if the optimum was not near


def approach(look: Look, estimate: Estimated, begin: Tally, rules: Rules, progress: Progress | None = None) -> Near:
    """Repeat EM from a tally, with Anderson mixing, until less than the tolerance is left to gain.

    What is left is predicted from the last gains as the rest of a geometric series. Ctrl-C ends it with the best tally.
    """
    enough = MARGIN * rules.tolerance * max(1.0, rules.judgments)
    guess, steps, best, history = begin, list[tuple[Floats, Floats]](), begin, list[float]()
    rises, passes = list[float](), 0
    try:
        for passes in range(1, min(FAR, rules.cap) + 1):
            tally = look(estimate(guess))
            if progress is not None:
                progress(passes, tally.evidence)
            rise = tally.evidence - history[-1] if history else np.inf
            if rise < 0:  # the mixture went too far: continue with a plain step from the best tally
                guess, steps, rises = best, [], [np.inf]
                continue
            best = tally
            history.append(tally.evidence)
            rises.append(rise)
            if _left(rises) <= enough:
                return Near(best, tuple(history), passes, "converged")
            steps = [*steps[-DEPTH:], (_flat(guess), _flat(tally))]
            guess = _mixed(steps, tally)
    except KeyboardInterrupt:
        return Near(best, tuple(history), passes, "interrupted")
    return Near(best, tuple(history), passes, "")


def _left(rises: list[float]) -> float:
    """Return how much is left to gain, by the slowest of the last ratios of gains."""
    last = rises[-LAST - 1 :]
    if len(last) < 2 or last[-1] <= 0:
        return last[-1] if len(last) > 1 else np.inf
    rate = max(after / before for before, after in pairwise(last))
    return max(last[-1], last[-1] * rate / (1 - rate)) if rate < 1 else np.inf


def _mixed(steps: list[tuple[Floats, Floats]], last: Tally) -> Tally:
    """Return the mixture of steps with the least change; a cell is weighed by the precision of its count."""
    if len(steps) == 1:
        return last
    guesses, tallies = (np.array(each) for each in zip(*steps, strict=True))  # (steps, cells)
    change = (tallies - guesses) / np.sqrt(np.maximum(np.abs(tallies[-1]), 1.0))
    apart = change[:-1] - change[-1]
    # einsum, because the threads of BLAS would compete with those of the passes
    alike, aim = np.einsum("ac,bc->ab", apart, apart), np.einsum("ac,c->a", apart, -change[-1])
    shares = np.linalg.lstsq(alike, aim, rcond=1e-12)[0]
    mixed = tallies[-1] + np.einsum("a,ac->c", shares, tallies[:-1] - tallies[-1])
    mixed = np.where((mixed > 0) | (tallies[-1] <= 0), mixed, tallies[-1])  # no count becomes negative
    size = last.truth.size
    return last._replace(truth=mixed[:size].reshape(last.truth.shape), label=mixed[size:].reshape(last.label.shape))


def _flat(tally: Tally) -> Floats:
    """Return all cells of a tally in one row."""
    return np.concatenate([tally.truth.ravel(), tally.label.ravel()])
