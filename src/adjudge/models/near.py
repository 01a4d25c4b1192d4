"""The last steps to a summit that is near: Anderson mixing of EM (Anderson 1965; Walker & Ni 2011).

A climb that begins far away is careful: it leaps now and then, and by little. Near a summit EM is as good as linear,
F(s) - s falls along a straight path, and what several steps have shown of it says where it ends. The steps mixed here
are tallies, which every model's ``estimate`` takes: a mixture of tallies is a tally.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Tally
from adjudge.models.base import Params
from adjudge.models.drive import Progress, Rules

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
