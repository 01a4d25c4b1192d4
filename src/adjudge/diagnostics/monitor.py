"""Monitoring judges (paper 003): against items whose truth is known, and in new work against an earlier fit.

A monitoring set is mixed into what judges are given, and its truth is known: how often a judge is right on it, period
by period, has a Beta posterior. In new work the truth is not known, but the earlier fit knows the judges ("memory"
mode): what the others say of an item says how likely her label is right, and her earlier matrix how likely it should
be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import beta, norm

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.collusion import Collusion, collusion
from adjudge.diagnostics.control_chart import ControlChart, control_chart
from adjudge.diagnostics.discoveries import SMALLEST, adjusted, against_crowd
from adjudge.diagnostics.drift import Drift, Grid, Quality, drift
from adjudge.diagnostics.others import STEADY, by_label, right_by, seen_by
from adjudge.diagnostics.pairs import tail
from adjudge.diagnostics.streaks import Streaks, streaks
from adjudge.diagnostics.times import DAY, WITHOUT, times_of, untimed
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.fitted import as_fitted
from adjudge.inference.inputs import read_fitted
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


INTERVAL = (0.05, 0.95)
LEVEL = 0.05  # expected share of judges named wrongly
SHIFTED = 1.0  # standard errors by which a whole crowd is worse than was believed, enough to say so
PERIODS = 4  # where it is not said how many


@dataclass(frozen=True, eq=False)
class Monitored(NotebookView):
    """How often judges are right on the monitoring set, period by period; a row a judge and period."""

    judges: Names  # (J)
    judge: Codes  # (R)
    period: Codes  # (R) from 0
    since: tuple[str, ...]  # (R) when the period begins; without times "all"
    judged: Codes  # (R) judgments of monitoring items
    right: Codes  # (R)
    mean: Floats  # (R) of the Beta posterior, from a flat prior
    low: Floats  # (R) ends of its 90 % interval
    high: Floats
    items: int  # of the monitoring set that were judged
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        judges, total = np.unique(self.judge).size, max(int(self.judged.sum()), 1)
        return f"Monitored({judges:,} judges on {self.items:,} gold items, {self.right.sum() / total:.1%} right)"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        total, right = int(self.judged.sum()), int(self.right.sum())
        share = f"right on {right / total:.1%} of {total:,} judgments" if total else "not seen on it"
        return f"Monitoring set of {self.items:,} items: {np.unique(self.judge).size:,} judges, {share}."

    @property
    def table(self) -> Any:
        """Return a frame with a row a judge and period."""
        return frame(
            {
                "judge": self.judges.gather(self.judge),
                "period": self.period,
                "since": list(self.since),
                "judgments": self.judged,
                "right": self.right,
                "quality": self.mean,
                "low": self.low,
                "high": self.high,
            },
            self.kind,
        )


def monitored(judgments: Judgments, gold: Any, *, periods: int | str = PERIODS, order: Any = None) -> Monitored:
    """Return each judge's quality on items whose truth is known, in so many periods of equal length or by ``"day"``.

    Without times there is one period. ``gold`` is a table of (item, label) or a mapping.
    """
    _, truth = read_gold(gold, judgments)
    times, item = times_of(judgments, order), judgments.item()
    known = np.flatnonzero(truth[item] >= 0)
    if isinstance(periods, str) and periods != "day":
        raise UsageError(f"periods {periods!r} is neither a whole number of at least 1 nor 'day'")
    if not isinstance(periods, str) and periods < 1:
        raise UsageError(f"periods {periods!r} is neither a whole number of at least 1 nor 'day'")
    if periods == "day" and (times is None or not times.dates):
        reason = WITHOUT if times is None else "the times are no dates"
        raise UsageError(f"periods of a day are not defined because {reason}")
    number = np.zeros(len(judgments), np.int64)
    if times is not None and len(judgments):
        began = times.value.min()
        if periods == "day":
            number = np.floor(times.value / DAY).astype(np.int64) - int(np.floor(began / DAY))
        else:
            whole = max(float(times.value.max() - began), 1e-300)
            number = np.minimum(((times.value - began) / whole * int(periods)).astype(np.int64), int(periods) - 1)
    right = truth[item[known]] == judgments.label[known]
    width = int(number.max(initial=0)) + 1
    key, place = np.unique(judgments.judge[known].astype(np.int64) * width + number[known], return_inverse=True)
    count = np.bincount(place, minlength=key.size)
    hits = np.bincount(place, weights=right, minlength=key.size).astype(np.int64)
    low, high = (beta.ppf(end, hits + 1, count - hits + 1) for end in INTERVAL)
    judge, period = np.divmod(key, width)
    if times is None:
        since = ["all"] * width
    else:
        first = [np.flatnonzero(number == one) for one in range(width)]
        since = [times.shown(int(of[np.argmin(times.value[of])])) if of.size else "" for of in first]
    return Monitored(
        judgments.judges,
        judge,
        period,
        tuple(since[one] for one in period.tolist()),
        count,
        hits,
        (hits + 1) / (count + 2),
        low,
        high,
        int(np.unique(item[known]).size),
        judgments.kind,
    )


@dataclass(frozen=True, eq=False)
class NewWork(NotebookView):
    """Each judge's new work beside what an earlier fit believed of her; a row a judge of the new work."""

    judges: Names  # (J)
    judged: Codes  # (J) new judgments
    new: Flags  # (J) whether the earlier fit never met her
    believed: Floats  # (J) how often she was expected to be right on these items
    quality: tuple[Quality | None, ...]  # (J) how often she was, None without judgments
    agreement: Floats  # (J) mean chance that her label is the truth, as the others tell
    expected: Floats  # (J) the same, from what was believed
    z: Floats  # (J) how far below expectation, in standard errors: negative is worse; 0 where nothing was believed
    p: Floats  # (J) the chance of new work as bad, by one no worse than the crowd became; 1 where nothing was believed
    flagged: Flags  # (J) worse than believed, and than the crowd as a whole became
    centre: float  # how far the crowd as a whole is below what was believed, in standard errors; 0 if it is not
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"NewWork({self.judged.size:,} judges, {self.flagged.sum():,} worse than the earlier fit expects)"

    @property
    def sentence(self) -> str:
        """What was found, for people."""
        strangers = int(self.new.sum())
        met = self.new.size - strangers
        more = f"; {strangers:,} judges are new" if strangers else ""
        if self.centre > SHIFTED:
            more += f"; half of all judges are {self.centre:.1f} standard errors or more below what was believed"
        names = [quote(self.judges[int(j)]) for j in np.flatnonzero(self.flagged)]
        if not names:
            return f"No judge's new work is worse than the earlier fit believed, of {met:,} it had met{more}."
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")
        return (
            f"The new work of {len(names):,} of {met:,} judges is worse than the earlier fit believed: {shown}{more}."
        )

    @property
    def table(self) -> Any:
        """Return a frame with a row a judge, the worst against belief first."""
        order = np.lexsort((self.p, self.new))
        columns: dict[str, list[Any]] = {
            "judge": self.judges.to_list(),
            "judgments": self.judged.tolist(),
            "new": self.new.tolist(),
            "believed": self.believed.tolist(),
        }
        for name in Quality._fields:
            key = "quality" if name == "mean" else name
            columns[key] = [None if one is None else getattr(one, name) for one in self.quality]
        columns |= {
            "agreement": self.agreement.tolist(),
            "expected": self.expected.tolist(),
            "z": [None if new else z for z, new in zip(self.z.tolist(), self.new.tolist(), strict=True)],
            "p": [None if new else p for p, new in zip(self.p.tolist(), self.new.tolist(), strict=True)],
            "flagged": self.flagged.tolist(),
        }
        return frame({name: [column[j] for j in order] for name, column in columns.items()}, self.kind)


def new_work(known: Fit, data: Any, *, level: float = LEVEL) -> NewWork:
    """Score new judgments in "memory" mode: say whether each judge is as good as an earlier fit believed.

    The statistic is the sum over her new judgments of q_n(y_n), the chance that her label is the truth as the others
    tell. Under her earlier matrix the sum has a known distribution; what is not known of the matrix widens it, by the
    fit's draws or, without, by how few judgments it rests on. Judges are named by Benjamini and Hochberg's rule, if
    they stand out from the crowd. In simulated crowds one or two in a hundred who did not change are named. It is best
    asked of a model whose judges have matrices: what a vote or a degree says of them foretells new work less well.
    """
    if not 0 < level < 1:
        raise UsageError(f"level {level!r} is not between 0 and 1")
    scale = known.scale
    judgments = data if isinstance(data, Judgments) else read(data, labels=scale.labels, ordinal=scale.ordinal)
    there = predict(known, judgments)
    place, J = places(judgments.judges, known.judge_names), len(judgments.judges)
    met, number = place >= 0, np.where(place >= 0, known.judged[place], 0).astype(float)
    seen = seen_by(there, judgments, number)
    others, label = seen.others(), seen.block.label
    right = right_by(others, label, seen.confusion[seen.judge])
    told, mean, variance = (np.bincount(seen.judge, weights=each, minlength=J) for each in right[:3])
    size = np.bincount(seen.judge, minlength=J)
    rows = np.split(np.argsort(seen.judge, kind="stable"), size.cumsum()[:-1])
    pull = np.stack([others[own].T @ others[own] for own in rows])  # (J, K, K) how the mean moves with each cell
    unsure = _unsure(known, place, pull, seen.confusion, number * _sharpness(others, seen.judge, size))
    tails = [tail(right.chance[own], -others[own], -float(told[j])) for j, own in enumerate(rows)]
    certain = -norm.isf(np.clip(tails, SMALLEST, 1 - 1e-15))  # where the sum lies if the matrix were known
    z = np.where(
        met, certain * np.sqrt(np.divide(variance, variance + unsure, out=np.zeros(J), where=variance > 0)), 0.0
    )
    p = np.where(met, norm.cdf(z), 1.0)
    crowd = known.params.population
    quality = [_quality(others[own], label[own], seen.confusion[j], crowd) for j, own in enumerate(rows)]
    flagged = np.zeros(J, bool)
    own, centre, _ = against_crowd(p[met])
    p[met] = own
    flagged[met] = adjusted(own) <= level
    many = np.maximum(size, 1)
    able = np.einsum("nz,nzz->n", others, seen.confusion[seen.judge])  # (N) her chance of being right
    believed = np.bincount(seen.judge, weights=able, minlength=J) / many
    return NewWork(
        judgments.judges,
        size,
        ~met,
        believed,
        tuple(quality),
        told / many,
        mean / many,
        z,
        p,
        flagged,
        centre,
        judgments.kind,
    )


def _quality(others: Floats, label: Codes, confusion: Floats, crowd: Floats) -> Quality | None:
    """Return how often a judge is right in all of her new work."""
    if not label.size:
        return None
    grid = Grid.of(confusion, crowd, others)
    return grid.quality(grid.along(others, label)[-1])


def _sharpness(others: Floats, judge: Codes, size: Codes) -> Floats:
    """Return how much the others know of each judge's items (J): 1 if the truth, 0 if nothing.

    A judgment of an item whose truth is half known teaches so much less of the judge.
    """
    K = others.shape[1]
    known = ((others**2).sum(axis=1) - 1 / K) / (1 - 1 / K)
    return np.asarray(np.bincount(judge, weights=known, minlength=size.size) / np.maximum(size, 1))


def _unsure(known: Fit, place: Codes, pull: Floats, confusion: Floats, number: Floats) -> Floats:
    """Return the variance (J) of each expected sum that comes of not knowing the matrix: pull . theta.

    Without draws the rows of theta are Dirichlet, with as many counts as judgments of that truth.
    """
    if known.draws is not None:
        flat = known.draws.confusion.reshape(-1, *known.draws.confusion.shape[2:])  # (S, J, K, K)
        return np.array([np.einsum("zk,szk->s", pull[j], flat[:, at]).var() for j, at in enumerate(place.tolist())])
    counts = number[:, None] * by_label(known.params).mean(axis=0) + STEADY  # (J, K)
    square = np.einsum("jzk,jzk->jz", confusion, pull**2) - np.einsum("jzk,jzk->jz", confusion, pull) ** 2
    return np.asarray((np.maximum(square, 0.0) / (counts + 1)).sum(axis=1))


PARTS = ("drift", "chart", "streaks", "collusion", "gold", "new")
TIMED = ("drift", "chart", "streaks")


@dataclass(frozen=True, eq=False)
class Monitoring(NotebookView):
    """What monitoring says of judges. A part that could not be computed is ``None``, with the reason in ``reasons``."""

    drift: Drift | None = None
    chart: ControlChart | None = None
    streaks: Streaks | None = None
    collusion: Collusion | None = None
    gold: Monitored | None = None
    new: NewWork | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    kind: str = field(default="polars", repr=False)

    def __repr__(self) -> str:
        return f"Monitoring({', '.join(self.parts) or 'nothing'}; {len(self.reasons)} parts not available)"

    @property
    def parts(self) -> dict[str, Drift | ControlChart | Streaks | Collusion | Monitored | NewWork]:
        """The parts that were computed, by name."""
        return {name: part for name in PARTS if (part := getattr(self, name)) is not None}

    @property
    def table(self) -> Any:
        """A table with one row per part: its name, and its sentence or the reason why there is none."""
        lines = {name: part.sentence for name, part in self.parts.items()} | dict(self.reasons)
        names = [name for name in PARTS if name in lines]
        available = [name in self.parts for name in names]
        return frame({"part": names, "available": available, "text": [lines[name] for name in names]}, self.kind)


def monitor(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    gold: Any = None,
    new: Any = None,
    parts: Sequence[str] = PARTS,
) -> Monitoring:
    """Monitor the judges of a fit: who changed, copies or repeats one label, and how good new work is.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit. Drift, control charts and streaks
        need their times.
    gold : frame, path or mapping, optional
        Items whose truth is known. Default: the gold of the fit.
    new : frame, path or Judgments, optional
        New judgments, to be compared with what the fit expects of their judges.
    parts : sequence of str
        The parts to compute: drift, chart, streaks, collusion, gold, new.

    Returns
    -------
    Monitoring

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> found = monitor(adjudge.fit(judgments, "dawid-skene"), judgments)
    >>> found.collusion.sentence
    'No pair of judges agreed more than the model allows, of 10 pairs with 8 shared items or more.'
    >>> found.reasons["drift"]
    'the judgments have no times'

    """
    unknown = [name for name in parts if name not in PARTS]
    if unknown:
        raise UsageError(f"part {unknown[0]!r} is not one of {quoted(PARTS)}")
    record, table = read_fitted(fit, judgments)
    as_fitted(record, table)  # refuses judgments that the fit was not made from
    truths = _fit_gold(record) if gold is None else gold
    compute: Mapping[str, Callable[[], Any]] = {
        "drift": lambda: drift(record, table),
        "chart": lambda: control_chart(record, table),
        "streaks": lambda: streaks(record, table),
        "collusion": lambda: collusion(record, table),
        "gold": lambda: monitored(table, truths),
        "new": lambda: new_work(record, new),
    }
    reasons = dict.fromkeys(TIMED, WITHOUT) if untimed(table) == WITHOUT else {}
    reasons |= {} if truths is not None else {"gold": "no truth is known: give gold"}
    reasons |= {} if new is not None else {"new": "there are no new judgments: give new"}
    results = {}
    for name in parts:
        try:
            if name not in reasons:
                results[name] = compute[name]()
        except UsageError as error:  # the other parts may be defined
            reasons[name] = str(error)
    return Monitoring(**results, reasons={n: reasons[n] for n in parts if n in reasons}, kind=table.kind)


def _fit_gold(fit: Fit) -> dict[Any, Any] | None:
    """Return the gold that a fit used, by item; None if it used none."""
    if fit.gold is None or not (fit.gold >= 0).any():
        return None
    return {item: fit.scale.labels[k] for item, k in zip(fit.items.to_list(), fit.gold.tolist(), strict=True) if k >= 0}
