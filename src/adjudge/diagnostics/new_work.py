"""``new_work``: whether the new judgments of judges are as good as an earlier fit expects ("memory" mode, paper 003).

The truth of new items is unknown, but the earlier fit knows the judges. The statistic is the sum over a judge's new
judgments of q_n(y_n), the chance that the label is the truth according to the other judges. Under the judge's earlier
matrix its distribution is known; the uncertainty of the matrix widens it, by the draws of the fit or, without draws, by
the number of judgments behind the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.drift import Grid, Quality
from adjudge.diagnostics.leave_out import SHRINKAGE, correctness, leave_out, topic_prevalence
from adjudge.diagnostics.pair_test import tail
from adjudge.diagnostics.sentences import some_names
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit
from adjudge.metrics.significance import SMALLEST, check_rate, empirical_null, q_values

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


LEVEL = 0.05  # expected share of false alarms
QUALITY = {"quality": "mean", "low": "low", "high": "high"}  # columns of the table, and fields of an estimate
SHIFTED = 1.0  # standard errors by which the crowd is worse than expected from which this is reported


@dataclass(frozen=True, eq=False)
class NewWork(NotebookView):
    """Each judge's new work beside what an earlier fit expects; one row per judge of the new work."""

    judges: Names  # (J)
    judged: Codes  # (J) new judgments
    new: Flags  # (J) whether the judge is not in the earlier fit
    believed: Floats  # (J) expected share of right labels on these items
    quality: tuple[Quality | None, ...]  # (J) estimated share of right labels, None without judgments
    agreement: Floats  # (J) mean chance that a label is the truth according to the other judges
    expected: Floats  # (J) the same, expected from the earlier matrix
    z: Floats  # (J) distance from the expectation in standard errors; negative is worse, 0 for new judges
    p: Floats  # (J) the chance of work as bad from a judge no worse than the crowd became; 1 for new judges
    flagged: Flags  # (J) worse than expected, and than the crowd became
    centre: float  # how far the crowd is below the expectation, in standard errors; 0 if it is not
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"NewWork({self.judged.size:,} judges, {self.flagged.sum():,} worse than the earlier fit expects)"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        strangers = int(self.new.sum())
        known_judges = self.new.size - strangers
        note = f"; {strangers:,} judges are new" if strangers else ""
        if self.centre > SHIFTED:
            note += f"; half of all judges are at least {self.centre:.1f} standard errors below expectation"
        names = [self.judges[int(j)] for j in np.flatnonzero(self.flagged)]
        if not names:
            return (
                f"No judge's new work is worse than the earlier fit expects, of {known_judges:,} judges it knows{note}."
            )
        return (
            f"The new work of {len(names):,} of {known_judges:,} judges is worse than the earlier fit expects: "
            f"{some_names(names)}{note}."
        )

    @property
    def table(self) -> Any:
        """A table with one row per judge, the worst compared with the expectation first."""
        order = np.lexsort((self.p, self.new))
        columns: dict[str, list[Any]] = {
            "judge": self.judges.to_list(),
            "judgments": self.judged.tolist(),
            "new": self.new.tolist(),
            "believed": self.believed.tolist(),
            **{name: [q and getattr(q, part) for q in self.quality] for name, part in QUALITY.items()},
            "agreement": self.agreement.tolist(),
            "expected": self.expected.tolist(),
            "z": self._known_judges(self.z),
            "p": self._known_judges(self.p),
            "flagged": self.flagged.tolist(),
        }
        return frame({name: [column[j] for j in order] for name, column in columns.items()}, self.kind)

    def _known_judges(self, value: Floats) -> list[float | None]:
        """Return values of judges (J), None for new judges."""
        return [None if new else each for each, new in zip(value.tolist(), self.new.tolist(), strict=True)]


def new_work(fit: Fit | str | PathLike[str], judgments: Any, *, level: float = LEVEL) -> NewWork:
    """Compare new judgments with what an earlier fit expects of their judges.

    Judges are flagged by the rule of Benjamini and Hochberg if they stand out from the crowd. In simulated crowds one
    or two in a hundred judges who did not change are flagged. Use a fit with confusion matrices: votes and degrees
    predict new work less well.

    Parameters
    ----------
    fit : Fit or path
        The earlier fit, or the folder of a saved one.
    judgments : frame, path or Judgments
        The new judgments.
    level : float
        Expected share of false alarms among the flagged judges.

    Returns
    -------
    NewWork

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "dawid-skene")
    >>> new_work(fit, judgments)
    NewWork(5 judges, 0 worse than the earlier fit expects)

    """
    check_rate(level)
    earlier = read_fit(fit, judgments)
    scale = earlier.scale
    if not isinstance(judgments, Judgments):
        judgments = read(judgments, labels=scale)
    index, J = places(judgments.judges, earlier.judge_names), len(judgments.judges)
    met, number = index >= 0, np.where(index >= 0, earlier.judged[index], 0).astype(float)
    left = leave_out(predict(earlier, judgments), judgments, number)
    others, label = left.posterior(), left.block.label
    right = correctness(others, label, left.confusion[left.judge])
    observed, mean, variance = (np.bincount(left.judge, weights=each, minlength=J) for each in right[:3])
    size = np.bincount(left.judge, minlength=J)
    rows = np.split(np.argsort(left.judge, kind="stable"), size.cumsum()[:-1])
    pull = np.stack([others[each].T @ others[each] for each in rows])  # (J, K, K) derivative of the mean by each cell
    unsure = _matrix_variance(earlier, index, pull, left.confusion, number * _sharpness(others, left.judge, size))
    tails = [tail(right.chance[each], -others[each], -float(observed[j])) for j, each in enumerate(rows)]
    certain = ndtri(np.clip(tails, SMALLEST, 1 - 1e-15))  # the position of the sum if the matrix were known
    z = np.where(
        met, certain * np.sqrt(np.divide(variance, variance + unsure, out=np.zeros(J), where=variance > 0)), 0.0
    )
    p = np.where(met, ndtr(z), 1.0)
    crowd = earlier.params.population
    quality = [_quality(others[each], label[each], left.confusion[j], crowd) for j, each in enumerate(rows)]
    flagged = np.zeros(J, bool)
    p[met], centre, _ = empirical_null(p[met])
    flagged[met] = q_values(p[met]) <= level
    count = np.maximum(size, 1)
    able = np.einsum("nz,nzz->n", others, left.confusion[left.judge])  # (N) chance of being right
    believed = np.bincount(left.judge, weights=able, minlength=J) / count
    scores = believed, tuple(quality), observed / count, mean / count, z, p, flagged
    return NewWork(judgments.judges, size, ~met, *scores, centre, judgments.kind)


def _quality(others: Floats, label: Codes, confusion: Floats, crowd: Floats) -> Quality | None:
    """Return how often a judge is right in all of their new work."""
    if not label.size:
        return None
    grid = Grid.of(confusion, crowd, others)
    return grid.quality(grid.along(others, label)[-1])


def _sharpness(others: Floats, judge: Codes, size: Codes) -> Floats:
    """Return how much the other judges know about each judge's items (J): 1 if the truth, 0 if nothing.

    A judgment of an item whose truth is half known says correspondingly less about the judge.
    """
    K = others.shape[1]
    sharpness = ((others**2).sum(axis=1) - 1 / K) / (1 - 1 / K)
    return np.asarray(np.bincount(judge, weights=sharpness, minlength=size.size) / np.maximum(size, 1))


def _matrix_variance(earlier: Fit, index: Codes, pull: Floats, theta: Floats, number: Floats) -> Floats:
    """Return the variance (J) of each expected sum that comes from the uncertainty of the matrix: pull . theta.

    Without draws the rows of theta are Dirichlet, with as many counts as judgments of that truth.
    """
    if earlier.draws is not None:
        flat = earlier.draws.confusion.reshape(-1, *earlier.draws.confusion.shape[2:])  # (S, J, K, K)
        return np.array([np.einsum("zk,szk->s", pull[j], flat[:, at]).var() for j, at in enumerate(index.tolist())])
    counts = number[:, None] * topic_prevalence(earlier.params).mean(axis=0) + SHRINKAGE  # (J, K)
    square = np.einsum("jzk,jzk->jz", theta, pull**2) - np.einsum("jzk,jzk->jz", theta, pull) ** 2
    return np.asarray((np.maximum(square, 0.0) / (counts + 1)).sum(axis=1))
