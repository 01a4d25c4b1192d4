"""``drift``: whether judges change over time, as change points with their uncertainty.

For each judgment n, the other judges give the truth the chances q_n(z). In a segment of a judge's series with the
confusion matrix theta, the labels have the likelihood prod_n sum_z q_n(z) theta[z, y_n]. Theta is unknown: with two
labels it is averaged over a grid of sensitivity and specificity, so that a judge who becomes lenient is found even if
their accuracy stays the same; with more labels it is averaged over a grid of accuracies, with errors spread as in the
whole series. The prior of a segment is that of another judge of this crowd: logits are normal around those of the mean
judge. Cumulative sums along the series give the likelihood of every segment, and so of every number and position of
changes: none, one or two, exact up to the grid (two changes are tried at some positions only). A change lies where the
time increases, because judgments of the same time have no order.

A change says that the labels of a judge began to differ from what the other judges say about the items. The reason may
be the judge; it may also be that they were given other items, on which all judges make more errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.leave_out import leave_out
from adjudge.diagnostics.sentences import some_names
from adjudge.diagnostics.times import NO_TIMES, judge_series, judgment_times, time_steps
from adjudge.errors import UsageError
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted
from adjudge.metrics.significance import check_rate

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


FEWEST = 20  # judgments below which changes cannot be detected
SHORTEST = 5  # judgments in a segment, at least
PRIOR = (0.75, 0.2, 0.05)  # prior chances of no change, one and two
SPREAD, CORRELATION = 0.8, 0.7  # of logits in a crowd: their standard deviation, and the correlation of a judge's two
NODES = 18  # of the grid in each direction, with two labels; twice as many for a single accuracy
POSITIONS = 32  # at which two changes are tried
INTERVAL = (0.05, 0.95)
LEVEL = 0.1  # expected share of false alarms among the judges who are flagged
TINY = 1e-300  # stands for zero in a logarithm
COLUMNS = {  # of the table after the first ones, and the fields of a change that they hold
    "place": "position",
    "place_low": "low",
    "place_high": "high",
    "before": "before.mean",
    "before_low": "before.low",
    "before_high": "before.high",
    "after": "after.mean",
    "after_low": "after.low",
    "after_high": "after.high",
}


class Quality(NamedTuple):
    """How often a judge is right in a segment of their series: expected, and the ends of a 90 % interval."""

    mean: float
    low: float
    high: float


class Change(NamedTuple):
    """The change points of a series; a position counts the judgments of the series from 0."""

    probability: tuple[float, float, float]  # of no change, one, two
    position: int  # the first judgment after the change, the posterior median; of two changes, after the larger
    low: int  # the ends of its 90 % interval
    high: int
    before: Quality  # in the segment that ends there
    after: Quality  # in the segment that begins there

    @property
    def changed(self) -> float:
        """The chance of at least one change."""
        return 1 - self.probability[0]

    @property
    def number(self) -> int:
        """The most likely number of changes."""
        return int(np.argmax(self.probability))


@dataclass(frozen=True, eq=False)
class Drift(NotebookView):
    """Which judges changed, when, and by how much."""

    judges: Names  # (J)
    judged: Codes  # (J)
    changes: tuple[Change | None, ...]  # (J) None if there are too few judgments, or nearly all have one time
    flagged: Flags  # (J) judges who changed
    time: tuple[str | None, ...]  # (J) of the first judgment after the change
    level: float = LEVEL
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Drift({self.judged.size:,} judges, {self.flagged.sum():,} changed)"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        tested = np.array([change is not None for change in self.changes], bool)
        short = self.judged < FEWEST
        few, single_time = int((~tested & short).sum()), int((~tested & ~short).sum())
        if not tested.any():
            reason = f"no judge has {FEWEST} judgments"
            if single_time:
                reason = f"{_judges(single_time)} made nearly all of their judgments at one time"
                reason += ", and the others have too few judgments" if few else ""
            return f"Changes cannot be detected: {reason}."
        note = f"; {_judges(few)} with fewer than {FEWEST} judgments cannot be tested" if few else ""
        if single_time:
            note += f"; {_judges(single_time)} with nearly all judgments at one time cannot be tested"
        names = [str(self.judges[int(j)]) for j in np.flatnonzero(self.flagged)]
        if not names:
            return f"None of {_judges(int(tested.sum()))} changed{note}."
        return (
            f"{len(names):,} of {_judges(int(tested.sum()))} changed: {some_names(names)} (about {self.level:.0%} of "
            f"these are expected to be false alarms){note}."
        )

    @property
    def table(self) -> Any:
        """A table with one row per judge, those most likely to have changed first."""
        changed = self._column("changed")
        order = sorted(range(len(changed)), key=lambda j: 1.0 if changed[j] is None else -changed[j])
        columns: dict[str, list[Any]] = {
            "judge": self.judges.to_list(),
            "judgments": self.judged.tolist(),
            "p_changed": changed,
            "changes": self._column("number"),
            "flagged": self.flagged.tolist(),
            "time": list(self.time),
            **{name: self._column(path) for name, path in COLUMNS.items()},
        }
        return frame({name: [column[j] for j in order] for name, column in columns.items()}, self.kind)

    def _column(self, path: str) -> list[Any]:
        """Return a field of each judge's change, such as ``before.mean``, None for judges without one."""
        field_of = attrgetter(path)
        return [None if change is None else field_of(change) for change in self.changes]


def drift(fit: Fit | str | PathLike[str], judgments: Any = None, *, level: float = LEVEL, order: Any = None) -> Drift:
    """Find judges who changed.

    Flagged are the judges with the smallest chances of no change, as many as keep the expected share of false alarms at
    the level (Müller et al. 2004).

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from, with times. Default: those kept with the fit.
    level : float
        Expected share of false alarms among the flagged judges.
    order : array, optional
        The order of the judgments (N), instead of their times.

    Returns
    -------
    Drift

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "dawid-skene")
    >>> drift(fit, judgments, order=range(len(judgments)))
    Drift(5 judges, 0 changed)

    """
    check_rate(level)
    fit, judgments = read_fitted(fit, judgments)
    times = judgment_times(judgments, order)
    if times is None:
        raise UsageError(f"drift is not defined because {NO_TIMES}: name their column (time=...) or give an order")
    left = leave_out(fit, judgments)
    others, J, crowd = left.posterior(), len(fit.judge_names), left.confusion.mean(axis=0)
    row, start = judge_series(left.judge, times, J)
    changes: list[Change | None] = []
    moments: list[str | None] = []
    for j in range(J):
        rows = row[start[j] : start[j + 1]]
        positions = _change_positions(times.value[rows]) if rows.size >= FEWEST else np.empty(0, np.int64)
        change = None
        if positions.size:
            grid = Grid.of(left.confusion[j], crowd, others[rows])
            change = change_points(others[rows], left.block.label[rows], grid, positions)
        changes.append(change)
        moments.append(None if change is None else times.text(int(rows[change.position])))
    flagged = _flag(np.array([1.0 if c is None else c.probability[0] for c in changes]), level)
    return Drift(fit.judge_names, fit.judged, tuple(changes), flagged, tuple(moments), level, judgments.kind)


class Grid(NamedTuple):
    """The confusion matrices that a segment may have."""

    matrix: Floats  # (G, K, K)
    right: Floats  # (G) how often each is right
    weight: Floats  # (G) log prior probability of each

    @classmethod
    def of(cls, confusion: Floats, crowd: Floats, others: Floats) -> Grid:
        """Return the grid of a judge with this matrix (K, K) in a crowd with this mean matrix (K, K)."""
        K = confusion.shape[0]
        mean = _logit(np.clip(np.diagonal(crowd), 0.05, 0.95))
        if K == 2:
            node = (np.arange(NODES) + 0.5) / NODES
            specificity, sensitivity = (side.ravel() for side in np.meshgrid(node, node, indexing="ij"))
            matrix = np.stack([_row(specificity), _row(sensitivity)[:, ::-1]], axis=1)
            a, b = _logit(specificity) - mean[0], _logit(sensitivity) - mean[1]
            away = (a * a - 2 * CORRELATION * a * b + b * b) / (1 - CORRELATION**2)
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
        """Return the cumulative log-likelihood of the labels of a series at each node (n + 1, G)."""
        chance = np.einsum("nz,gzn->ng", others, self.matrix[:, :, label], optimize=True)
        return np.vstack([np.zeros(self.right.size), np.log(np.maximum(chance, TINY)).cumsum(axis=0)])

    def chance(self, logs: Floats) -> Floats:
        """Return the log-likelihood of segments, averaged over the nodes (..., G)."""
        total = logs + self.weight
        most = total.max(axis=-1, keepdims=True)
        return np.asarray(np.log(np.exp(total - most).sum(axis=-1)) + most[..., 0])

    def quality(self, logs: Floats) -> Quality:
        """Return how often the judge is right in a segment, from the log-likelihood at each node (G)."""
        weight = np.exp(logs + self.weight - (logs + self.weight).max())
        weight /= weight.sum()
        order = np.argsort(self.right, kind="stable")
        middle = weight[order].cumsum() - weight[order] / 2  # the centre of each node's share
        low, high = np.interp(INTERVAL, middle, self.right[order])
        return Quality(float(weight @ self.right), float(low), float(high))


def change_points(others: Floats, label: Codes, grid: Grid, positions: Codes | None = None) -> Change:
    """Return the change points of a series from p(truth | others) (n, K) and labels (n), at some or all positions."""
    run, n = grid.along(others, label), label.size
    positions = _change_positions(np.arange(float(n))) if positions is None else positions
    single = grid.chance(run[positions]) + grid.chance(run[-1] - run[positions])
    pairs, double = _two_changes(run, positions, grid)
    evidence = np.array([float(grid.chance(run[-1])), _log_mean(single), _log_mean(double)])
    weight = np.log(PRIOR) + evidence
    none, once, twice = np.exp(weight - logsumexp(weight)).tolist()
    first, last, (low, at, high) = 0, n, _ends(positions, single)
    if twice > once:
        first, last, (low, at, high) = _larger(run, pairs, double, grid)
    before, after = grid.quality(run[at] - run[first]), grid.quality(run[last] - run[at])
    return Change((none, once, twice), at, low, high, before, after)


def _change_positions(time: Floats) -> Codes:
    """Return where a series with these times may change: where the time increases, with enough before and after."""
    steps = time_steps(time)
    return steps[(steps >= SHORTEST) & (steps <= time.size - SHORTEST)]


def _judges(n: int) -> str:
    """Return a number of judges in words."""
    return f"{n:,} judge{'' if n == 1 else 's'}"


def _row(right: Floats) -> Floats:
    """Return rows of matrices with two labels: right and wrong (G, 2)."""
    return np.stack([right, 1 - right], axis=1)


def _logit(share: Floats) -> Floats:
    """Return the log odds of a share."""
    return np.asarray(np.log(share / (1 - share)))


def _log_mean(logs: Floats) -> float:
    """Return the log of the mean likelihood, -inf if there is none."""
    return float(logsumexp(logs) - np.log(logs.size)) if logs.size else -np.inf


def _two_changes(run: Floats, positions: Codes, grid: Grid) -> tuple[Codes, Floats]:
    """Return pairs of positions (P, 2) of two changes, and the log-likelihood of each."""
    some = positions[np.unique(np.linspace(0, positions.size - 1, min(POSITIONS, positions.size)).round().astype(int))]
    first, second = np.triu_indices(some.size, 1)
    apart = some[second] - some[first] >= SHORTEST
    first, second = first[apart], second[apart]
    ends = grid.chance(run[some])[first] + grid.chance(run[-1] - run[some])[second]
    middle = grid.chance(run[some[second]] - run[some[first]]) if first.size else np.empty(0)
    return np.stack([some[first], some[second]], axis=1), ends + middle


def _larger(run: Floats, pairs: Codes, double: Floats, grid: Grid) -> tuple[int, int, tuple[int, int, int]]:
    """Return the two segments around the larger of two changes, as begin and end, and the interval of the change."""
    first, second = (int(end) for end in pairs[np.argmax(double)])
    cuts = (0, first, second, run.shape[0] - 1)
    level = [grid.quality(run[b] - run[a]).mean for a, b in pairwise(cuts)]
    which = int(abs(level[2] - level[1]) > abs(level[1] - level[0]))
    positions = np.unique(pairs[:, which])
    logs = np.array([logsumexp(double[pairs[:, which] == position]) for position in positions])
    low, at, high = _ends(positions, logs)
    inside = positions[(positions > cuts[which]) & (positions < cuts[which + 2])]
    at = int(inside[np.argmin(np.abs(inside - at))])  # within the segments, wherever the median is
    return cuts[which], cuts[which + 2], (min(low, at), at, max(high, at))


def _ends(positions: Codes, logs: Floats) -> tuple[int, int, int]:
    """Return the low end of the 90 % interval of a position, its median, and the high end."""
    share = np.exp(logs - logsumexp(logs)).cumsum()
    index = np.minimum(np.searchsorted(share, (INTERVAL[0], 0.5, INTERVAL[1])), positions.size - 1)
    low, middle, high = positions[index]
    return int(low), int(middle), int(high)


def _flag(unchanged: Floats, level: float) -> Flags:
    """Return the judges who changed: as many as keep the mean chance of no change at the level."""
    order = np.argsort(unchanged, kind="stable")
    wrongly = unchanged[order].cumsum() / np.arange(1, order.size + 1)
    flagged = np.zeros(order.size, bool)
    flagged[order[: int((wrongly <= level).sum())]] = True
    return flagged
