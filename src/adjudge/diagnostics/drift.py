"""Does a judge change over time? Change points with their uncertainty.

Of each judgment it is asked what the other judges say: q_n(z), the chance of each truth with her own votes left out. In
a stretch of her series in which she has the matrix theta, her labels have the chance prod_n sum_z q_n(z) theta[z, y_n].
Theta is not known: with two labels all pairs of sensitivity and specificity on a grid are averaged over, so that a
judge who becomes lenient is found though her accuracy stays; with more labels all accuracies, her errors spread as in
the whole series. Before anything is seen, a stretch is like another judge of this crowd: logits are normal around those
of the crowd's mean judge. Sums along the series give every stretch its chance, and so every number and place of
changes: none, one or two, exactly but for the grid (two changes are tried at some places only). A change lies where
time goes on: what is between two judgments of the same time is not known.

A change says that her labels began to differ from what the others make of the items. That may be she; it may be that
she was given other items, on which all judges err more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.others import seen_by
from adjudge.diagnostics.times import WITHOUT, series, steps, times_of
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


FEWEST = 20  # judgments below which a series says nothing of changes
SHORTEST = 5  # judgments between two changes, and before the first and after the last
BELIEVED = (0.75, 0.2, 0.05)  # chances of no change, one and two, before anything is seen
SPREAD, ALIKE = 0.8, 0.7  # of logits in a crowd: their standard deviation, and how two of a judge go together
NODES = 18  # of the grid, each way, with two labels; twice as many where there is one accuracy
PLACES = 32  # at which two changes are tried
INTERVAL = (0.05, 0.95)
LEVEL = 0.1  # expected share of judges who did not change among those who are said to have
TINY = 1e-300  # stands for zero where a logarithm is taken


class Quality(NamedTuple):
    """How often a judge is right in a stretch of her series: expected, and the ends of a 90 % interval."""

    mean: float
    low: float
    high: float


class Change(NamedTuple):
    """What a series says of changes; places count judgments from the beginning of the series."""

    probability: tuple[float, float, float]  # of no change, one, two
    place: int  # the first judgment after the change: the median of what is possible; of two, of the larger
    low: int  # the ends of its 90 % interval
    high: int
    before: Quality  # in the stretch that ends there
    after: Quality  # in the stretch that begins there

    @property
    def changed(self) -> float:
        """The chance that there was any change."""
        return 1 - self.probability[0]


@dataclass(frozen=True, eq=False)
class Drift(NotebookView):
    """Which judges changed, when, and by how much."""

    judges: Names  # (J)
    judged: Codes  # (J)
    changes: tuple[Change | None, ...]  # (J), None where there are too few judgments, or nearly all have one time
    flagged: Flags  # (J) said to have changed
    time: tuple[str | None, ...]  # (J) of the first judgment after the change
    level: float = LEVEL
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Drift({self.judged.size:,} judges, {self.flagged.sum():,} changed)"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        told = np.array([change is not None for change in self.changes], bool)
        short = self.judged < FEWEST
        few, at_once = int((~told & short).sum()), int((~told & ~short).sum())
        if not told.any():
            once = f"the judgments of {at_once:,} (nearly) all have one time" + ", the others have too few" * (few > 0)
            why = once if at_once else f"none has {FEWEST} judgments"
            return f"Whether judges changed cannot be told: {why}."
        unsaid = f"; of {few:,} with fewer than {FEWEST} judgments nothing is said" * (few > 0)
        unsaid += f"; of {at_once:,} whose judgments (nearly) all have one time nothing can be said" * (at_once > 0)
        names = [str(self.judges[int(j)]) for j in np.flatnonzero(self.flagged)]
        if not names:
            return f"No judge is found to have changed, of {told.sum():,}{unsaid}."
        shown = ", ".join(map(quote, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        return (
            f"{len(names):,} of {told.sum():,} judges changed: {shown} (about {self.level:.0%} of those named are "
            f"expected to be named wrongly){unsaid}."
        )

    @property
    def table(self) -> Any:
        """Return a frame with a row a judge, those most likely to have changed first."""
        order = sorted(range(len(self.changes)), key=lambda j: -(c.changed if (c := self.changes[j]) else -1.0))
        return frame({name: [column[j] for j in order] for name, column in self._columns().items()}, self.kind)

    def _columns(self) -> dict[str, list[Any]]:
        """Return named columns (J), nothing where nothing is known."""
        found = self.changes
        columns: dict[str, list[Any]] = {
            "judge": self.judges.to_list(),
            "judgments": self.judged.tolist(),
            "p_changed": [None if c is None else c.changed for c in found],
            "changes": [None if c is None else int(np.argmax(c.probability)) for c in found],
            "flagged": self.flagged.tolist(),
            "time": list(self.time),
        }
        for name in ("place", "low", "high"):
            key = name if name == "place" else f"place_{name}"
            columns[key] = [None if c is None else getattr(c, name) for c in found]
        for side in ("before", "after"):
            for name in Quality._fields:
                key = side if name == "mean" else f"{side}_{name}"
                columns[key] = [None if c is None else getattr(getattr(c, side), name) for c in found]
        return columns


def drift(fit: Fit, judgments: Judgments, *, level: float = LEVEL, order: Any = None) -> Drift:
    """Find judges who changed, in the order of the judgments' times or in an ``order`` (N) that is given.

    Those are named whose chances of no change are together smallest, as many as keep the expected share of judges
    named wrongly at a ``level`` (Müller et al. 2004).
    """
    if not 0 < level < 1:
        raise UsageError(f"level {level!r} is not between 0 and 1")
    times = times_of(judgments, order)
    if times is None:
        raise UsageError(f"drift is not defined because {WITHOUT}: name their column (time=...) or give an order")
    seen = seen_by(fit, judgments)
    others, J, crowd = seen.others(), len(fit.judge_names), seen.confusion.mean(axis=0)
    row, start = series(seen.judge, times, J)
    changes: list[Change | None] = []
    moments: list[str | None] = []
    for j in range(J):
        own = row[start[j] : start[j + 1]]
        place = _places(times.value[own]) if own.size >= FEWEST else np.empty(0, np.int64)
        found = None
        if place.size:
            grid = Grid.of(seen.confusion[j], crowd, others[own])
            found = change_points(others[own], seen.block.label[own], grid, place)
        changes.append(found)
        moments.append(None if found is None else times.shown(int(own[found.place])))
    flagged = _named(np.array([1.0 if c is None else c.probability[0] for c in changes]), level)
    return Drift(fit.judge_names, fit.judged, tuple(changes), flagged, tuple(moments), level, judgments.kind)


class Grid(NamedTuple):
    """The matrices that a stretch may have."""

    matrix: Floats  # (G, K, K)
    right: Floats  # (G) how often each is right
    weight: Floats  # (G) the log of how likely each is before anything is seen

    @classmethod
    def of(cls, confusion: Floats, crowd: Floats, others: Floats) -> Grid:
        """Return the grid for a judge with such errors (K, K) in such a crowd (K, K), on items with such truths."""
        K = confusion.shape[0]
        mean = _logit(np.clip(np.diagonal(crowd), 0.05, 0.95))
        if K == 2:
            node = (np.arange(NODES) + 0.5) / NODES
            specificity, sensitivity = (side.ravel() for side in np.meshgrid(node, node, indexing="ij"))
            matrix = np.stack([_row(specificity), _row(sensitivity)[:, ::-1]], axis=1)
            a, b = _logit(specificity) - mean[0], _logit(sensitivity) - mean[1]
            away = (a * a - 2 * ALIKE * a * b + b * b) / (1 - ALIKE**2)
            width = specificity * (1 - specificity) * sensitivity * (1 - sensitivity)
        else:
            node = (np.arange(2 * NODES) + 0.5) / (2 * NODES)
            wrong = np.where(np.eye(K, dtype=bool), 0.0, confusion)
            wrong /= wrong.sum(axis=1, keepdims=True)
            matrix = node[:, None, None] * np.eye(K) + (1 - node)[:, None, None] * wrong
            away, width = np.square(_logit(node) - mean.mean()), node * (1 - node)
        weight = -away / (2 * SPREAD**2) - np.log(width)
        right = np.einsum("k,gkk->g", others.mean(axis=0), matrix)
        return cls(matrix, right, weight - logsumexp(weight))

    def along(self, others: Floats, label: Codes) -> Floats:
        """Return the log chance of the first labels of a series, none to all, at each node (n + 1, G)."""
        chance = np.einsum("nz,gzn->ng", others, self.matrix[:, :, label], optimize=True)
        return np.vstack([np.zeros(self.right.size), np.log(np.maximum(chance, TINY)).cumsum(axis=0)])

    def chance(self, logs: Floats) -> Floats:
        """Return the log chance of stretches, averaged over nodes (..., G)."""
        total = logs + self.weight
        most = total.max(axis=-1, keepdims=True)
        return np.asarray(np.log(np.exp(total - most).sum(axis=-1)) + most[..., 0])

    def quality(self, logs: Floats) -> Quality:
        """Return how often she is right in a stretch, from the log chance of its labels at each node (G)."""
        weight = np.exp(logs + self.weight - (logs + self.weight).max())
        weight /= weight.sum()
        order = np.argsort(self.right, kind="stable")
        middle = weight[order].cumsum() - weight[order] / 2  # of each node's share
        low, high = np.interp(INTERVAL, middle, self.right[order])
        return Quality(float(weight @ self.right), float(low), float(high))


def change_points(others: Floats, label: Codes, grid: Grid, place: Codes | None = None) -> Change:
    """Return what a series says of changes, at any ``place`` or at these: p(truth | others) (n, K) and labels (n)."""
    run, n = grid.along(others, label), label.size
    place = _places(np.arange(float(n))) if place is None else place
    one = grid.chance(run[place]) + grid.chance(run[-1] - run[place])
    pairs, two = _two_changes(run, place, grid)
    found = np.array([float(grid.chance(run[-1])), _mean(one), _mean(two)])
    weight = np.log(BELIEVED) + found
    none, once, twice = np.exp(weight - logsumexp(weight)).tolist()
    first, last, (low, at, high) = 0, n, _ends(place, one)
    if twice > once:
        first, last, (low, at, high) = _larger(run, pairs, two, grid)
    before, after = grid.quality(run[at] - run[first]), grid.quality(run[last] - run[at])
    return Change((none, once, twice), at, low, high, before, after)


def _places(time: Floats) -> Codes:
    """Return where a series with these times may change: where time goes on, with enough before and after."""
    place = steps(time)
    return place[(place >= SHORTEST) & (place <= time.size - SHORTEST)]


def _row(right: Floats) -> Floats:
    """Return rows of a matrix: right, and wrong (G, 2)."""
    return np.stack([right, 1 - right], axis=1)


def _logit(share: Floats) -> Floats:
    """Return the log odds of a share."""
    return np.asarray(np.log(share / (1 - share)))


def _mean(logs: Floats) -> float:
    """Return the log of the mean chance, -inf of none."""
    return float(logsumexp(logs) - np.log(logs.size)) if logs.size else -np.inf


def _two_changes(run: Floats, place: Codes, grid: Grid) -> tuple[Codes, Floats]:
    """Return pairs of places (P, 2) of two changes, and the log chance of each."""
    some = place[np.unique(np.linspace(0, place.size - 1, min(PLACES, place.size)).round().astype(int))]
    first, second = np.triu_indices(some.size, 1)
    apart = some[second] - some[first] >= SHORTEST
    first, second = first[apart], second[apart]
    ends = grid.chance(run[some])[first] + grid.chance(run[-1] - run[some])[second]
    middle = grid.chance(run[some[second]] - run[some[first]]) if first.size else np.empty(0)
    return np.stack([some[first], some[second]], axis=1), ends + middle


def _larger(run: Floats, pairs: Codes, two: Floats, grid: Grid) -> tuple[int, int, tuple[int, int, int]]:
    """Return the stretch around the larger of two changes, and where that is."""
    first, second = (int(end) for end in pairs[np.argmax(two)])
    cuts = (0, first, second, run.shape[0] - 1)
    level = [grid.quality(run[b] - run[a]).mean for a, b in pairwise(cuts)]
    which = int(abs(level[2] - level[1]) > abs(level[1] - level[0]))
    places = np.unique(pairs[:, which])
    logs = np.array([logsumexp(two[pairs[:, which] == one]) for one in places])
    low, at, high = _ends(places, logs)
    inside = places[(places > cuts[which]) & (places < cuts[which + 2])]
    at = int(inside[np.argmin(np.abs(inside - at))])  # within the stretch, wherever its median is
    return cuts[which], cuts[which + 2], (min(low, at), at, max(high, at))


def _ends(place: Codes, logs: Floats) -> tuple[int, int, int]:
    """Return the low end of the 90 % interval of a place, its median, and the high end."""
    share = np.exp(logs - logsumexp(logs)).cumsum()
    low, middle, high = place[np.minimum(np.searchsorted(share, (INTERVAL[0], 0.5, INTERVAL[1])), place.size - 1)]
    return int(low), int(middle), int(high)


def _named(unchanged: Floats, level: float) -> Flags:
    """Return who is said to have changed: as many as keep the mean chance that they did not at a level."""
    order = np.argsort(unchanged, kind="stable")
    wrongly = unchanged[order].cumsum() / np.arange(1, order.size + 1)
    flagged = np.zeros(order.size, bool)
    flagged[order[: int((wrongly <= level).sum())]] = True
    return flagged
