"""The study of calibration: whether the probabilities of models can be believed, on every set with gold.

Every model is scored with its own probabilities and with those calibrated by judgments (``calibrate="judgments"``,
which uses no gold). Three models are also calibrated by gold (``calibrate="gold"``) in five folds, so that no item is
scored with a fit or a calibration that knew its truth. All sets have the same weight. ``auto`` is the model that is
selected for a set. Models for two labels or for ordered labels have fewer sets; their means are not comparable with
those of other models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.inference.fit import AUTO
from adjudge.inference.result import UNSETTLED
from adjudge.inference.select import takes
from adjudge.reports.drawing import COLOURS, INK, data_chart, load_altair, render_svg
from studies.calibration_cells import (
    BY_GOLD,
    JUDGMENTS,
    LEARNED,
    METHODS,
    OWN,
    Cell,
    Job,
    Scores,
    code_mark,
    make_cell,
    mark_of,
    read_cell,
    read_set,
)
from studies.datasets import Crowd, data_folder, list_sets
from studies.outcome import StudyOptions, Table
from studies.parallel import parallel_map

TITLE = "calibration: whether probabilities mean what they say"
PAPER = "Naeini et al. 2015, Guo et al. 2017 (its measures)"
ON = "every set with gold, every model"
VOTE = "majority"
WORSE = 0.05  # a log loss that exceeds that of the vote shares by this is reported
MEASURES = ("accuracy", "log_loss", "brier", "ece")
CELLS = "cells"
DRAWS = 10_000  # bootstrap draws of sets, for intervals of means


class ByModel(NamedTuple):
    """The means of one model over its sets."""

    model: str
    sets: int
    before: dict[str, float]  # means by measure, of the probabilities of the model
    after: dict[str, float]  # the same after calibration by judgments
    gain: tuple[float, float, float]  # of log loss by calibration, with its 90 % bootstrap interval over sets
    vote: float | None  # mean log loss of the vote shares on the same sets
    worse: list[str]  # sets on which the calibrated log loss exceeds that of the vote by more than WORSE


@dataclass(frozen=True, eq=False)
class CalibrationStudy:
    """The outcome of the study."""

    cells: tuple[Cell, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # sets and models, with the reason
    interrupted: bool = False

    def __repr__(self) -> str:
        return f"CalibrationStudy({len(self.models)} models on {len(self.sets)} sets)"

    @property
    def sets(self) -> list[str]:
        """The sets, by name."""
        return sorted({cell.job.set for cell in self.cells if cell.ways})

    @property
    def models(self) -> list[str]:
        """The models in the order of the registry, and ``auto``."""
        names = {cell.job.model for cell in self.cells if cell.ways}
        return [name for name in METHODS if name in names]

    def of(self, model: str) -> list[Cell]:
        """Return the cells of a model, sorted by set."""
        cells = [cell for cell in self.cells if cell.job.model == model and cell.ways]
        return sorted(cells, key=lambda cell: cell.job.set)

    def vote(self, name: str) -> float | None:
        """Return the log loss of the vote shares on a set, None if that cell is not finished."""
        return next((cell.ways[OWN].log_loss for cell in self.of(VOTE) if cell.job.set == name), None)

    def by_model(self) -> list[ByModel]:
        """Return the means of every model over its sets."""
        rows = []
        for model in self.models:
            cells = self.of(model)
            before, after = ([cell.ways[kind] for cell in cells] for kind in (OWN, JUDGMENTS))
            votes = {cell.job.set: vote for cell in cells if (vote := self.vote(cell.job.set)) is not None}
            loss = {cell.job.set: cell.ways[JUDGMENTS].log_loss for cell in cells}
            worse = [name for name, vote in votes.items() if loss[name] > vote + WORSE]
            vote = fmean(votes.values()) if len(votes) == len(cells) else None
            gain = _mean_interval(
                [first.log_loss - second.log_loss for first, second in zip(before, after, strict=True)]
            )
            rows.append(ByModel(model, len(cells), _means(before), _means(after), gain, vote, worse))
        return rows

    def columns(self) -> dict[str, list[Any]]:
        """Return the study as named columns, one row per set, model and calibration."""
        rows = [
            {
                "set": cell.job.set,
                "model": cell.job.model,
                "calibrate": "none" if name == OWN else name,
                "items": cell.items,
                "labels": cell.labels,
                **{measure: getattr(scores, measure) for measure in MEASURES},
                "says": float(scores.bins[1].sum() / scores.bins[0].sum()),
                "vote_log_loss": self.vote(cell.job.set),
                "dependence": cell.dependence if name == JUDGMENTS else None,
                "hedge": cell.hedge if name == JUDGMENTS else None,
                "stopped": cell.stopped,
                "seconds": round(cell.seconds, 3),
            }
            for cell in sorted(self.cells, key=lambda cell: (cell.job.set, METHODS.index(cell.job.model)))
            for name, scores in cell.ways.items()
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def tables(self) -> list[Table]:
        """Return a table of all models, and a table by set for each model that is also calibrated by gold."""
        return [self._models(), *(self._sets(model) for model in LEARNED if self.of(model))]

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        messages = [f"left out: {subject}: {reason}" for subject, reason in self.left_out.items()]
        for cell in self.cells:
            subject = f"{cell.job.model} on {cell.job.set}"
            if cell.left_out:
                messages.append(f"left out: {subject}{', by gold' * bool(cell.ways)}: {cell.left_out}")
            if cell.stopped.startswith(UNSETTLED):
                messages.append(f"{subject} has not converged: {cell.stopped}")
        return [*messages, f"interrupted; cells finished: {len(self.cells):,}"] if self.interrupted else messages

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure."""
        return {".svg": lambda: svg(self).encode()}

    def _models(self) -> Table:
        """Return a table with one row per model."""
        head = [
            "model",
            "sets",
            "accuracy",
            "log loss",
            "gain",
            "vote",
            "Brier",
            "ECE",
            f"worse than the vote by > {WORSE:g}",
        ]
        rows = [
            [
                row.model,
                row.sets,
                *(_pair(row, measure) for measure in MEASURES[:2]),
                "{:.3f} ({:.3f} to {:.3f})".format(*row.gain),
                row.vote,
                *(_pair(row, measure) for measure in MEASURES[2:]),
                ", ".join([str(len(row.worse)), *row.worse]),
            ]
            for row in self.by_model()
        ]
        title = f"Means over sets ({len(self.sets)} in all): the model's own probabilities, and calibrated by judgments"
        return Table(title, head, rows)

    def _sets(self, model: str) -> Table:
        """Return a table with one row per set, and the means."""
        cells, ways = self.of(model), (OWN, JUDGMENTS, BY_GOLD)
        losses = [[self.vote(cell.job.set), *(log_loss_of(cell, kind) for kind in ways)] for cell in cells]
        rows = [
            [cell.job.set, cell.items, *loss, f"{cell.dependence:.1f}", f"{cell.hedge:.2f}"]
            for cell, loss in zip(cells, losses, strict=True)
        ]
        means = [mean_of_all(each) for each in zip(*losses, strict=True)]
        head = ["set", "items", "vote", "own", "by judgments", "by gold", "z", "hedge"]
        title = f"{model}: log loss, clipped at .001; z: evidence of correlated errors"
        return Table(title, head, [*rows, ["mean", None, *means, None, None]])


def calibration(options: StudyOptions) -> CalibrationStudy:
    """Run the study. Finished cells are stored in ``options.keep`` and reused; Ctrl-C ends with the finished ones."""
    folder = data_folder(options.data)
    if options.keep is None:
        with TemporaryDirectory() as keep:
            return _run(folder, Path(keep), options)
    cells = Path(options.keep) / CELLS
    try:
        cells.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be created: {error.strerror}; name another folder with --out", str(cells)) from error
    return _run(folder, cells, options)


def progress(done: int, all_: int, seconds: float, job: Job) -> str:
    """Return a progress bar with the estimated remaining time."""
    full = round(20 * done / all_)
    left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"[{'#' * full}{'-' * (20 - full)}] {done:,} of {all_:,}, {left} left: {job.set}, {job.model}"


def _run(folder: Path, keep: Path, options: StudyOptions) -> CalibrationStudy:
    """Compute the cells that are missing, and return all."""
    left_out: dict[str, str] = {}
    code = code_mark()
    every = [
        job for crowd in _crowds(folder, options, left_out) for job in _jobs(folder, keep, crowd, options.seed, code)
    ]
    have = {job: cell for job in every if (cell := read_cell(job)) is not None}
    missing = [job for job in every if job not in have]
    interrupted = False
    try:
        for cell in _make_cells(missing, len(every), options):
            have[cell.job] = cell
    except KeyboardInterrupt:
        if not have:
            raise
        interrupted = True
    return CalibrationStudy(tuple(have[job] for job in every if job in have), left_out, interrupted)


def _make_cells(missing: Sequence[Job], all_: int, options: StudyOptions) -> Iterator[Cell]:
    """Compute cells in parallel, and report the progress after each."""
    start, done, total = time.monotonic(), 0, sum(job.size for job in missing)
    with parallel_map(options.workers) as each:
        for n, cell in enumerate(each(make_cell, missing), 1):
            done += cell.job.size
            left = (time.monotonic() - start) * (total / done - 1)  # proportional to judgments
            options.say(progress(all_ - len(missing) + n, all_, left, cell.job))
            yield cell


def _crowds(folder: Path, options: StudyOptions, left_out: dict[str, str]) -> list[Crowd]:
    """Return the named sets, or all that can be used; the largest first, so that no core is idle at the end."""
    crowds = []
    for name in dict.fromkeys(list_sets(folder) if options.sets is None else options.sets):
        options.say(f"reading {name}")
        try:
            crowds.append(read_set(folder, name))
        except AdjudgeError as reason:
            if options.sets is not None:
                raise
            left_out[name] = str(reason)
    if not crowds:
        raise UsageError("there is no set to study: name some with --sets")
    return sorted(crowds, key=lambda crowd: -len(crowd.judgments))


def _jobs(folder: Path, keep: Path, crowd: Crowd, seed: int, code: str) -> list[Job]:
    """Return the cells of a set."""
    mark, size = mark_of(folder / crowd.name, code), len(crowd.judgments)
    able = [name for name in METHODS if name == AUTO or takes(name, crowd.judgments.scale)]
    return [Job(str(folder), str(keep), crowd.name, model, seed, mark, size) for model in able]


def _means(ways: Sequence[Scores]) -> dict[str, float]:
    """Return the mean of every measure over sets."""
    return {measure: fmean(getattr(each, measure) for each in ways) for measure in MEASURES}


def _mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a mean over sets, and its 90 % bootstrap interval."""
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.05, 0.95))
    return fmean(values), float(low), float(high)


def _pair(row: ByModel, measure: str) -> str:
    """Return a mean before and after calibration."""
    return f"{row.before[measure]:.3f} {row.after[measure]:.3f}"


def log_loss_of(cell: Cell, kind: str) -> float | None:
    """Return the log loss of a kind of calibration, None if it was left out."""
    return cell.ways[kind].log_loss if kind in cell.ways else None


def mean_of_all(values: Sequence[float | None]) -> float | None:
    """Return a mean over sets, None if one has no value."""
    present = [value for value in values if value is not None]
    return fmean(present) if len(present) == len(values) else None


# The figure: reliability diagrams of the most likely label.

SHOWN = ("majority", "dawid-skene", "hybrid-confusion", "minimax-entropy")
WAYS = {OWN: "own", JUDGMENTS: "by judgments"}
SIDE, ACROSS = 165, 4  # pixels of a panel, and panels in a row
LEAST = 0.003  # bins with a smaller share of items are not drawn
NOTE = "Items of {sets} sets together, each set with equal weight. Areas of dots: shares of items."


def svg(study: CalibrationStudy) -> str:
    """Return the figure, as an SVG."""
    alt, convert = load_altair()
    models = [model for model in SHOWN if model in study.models]
    panels = [_panel(alt, study, model, kind) for model in models for kind in WAYS]
    rows = [alt.hconcat(*panels[n : n + ACROSS], spacing=18) for n in range(0, len(panels), ACROSS)]
    return render_svg(alt.vconcat(*rows, spacing=18, title=NOTE.format(sets=len(study.sets))), convert)


def pooled(study: CalibrationStudy, model: str, kind: str) -> Floats:
    """Return, by bin, the share of items, their mean probability and accuracy (3, B); sets have equal weight."""
    cells = study.of(model)
    sums = np.mean([cell.ways[kind].bins / cell.items for cell in cells], axis=0)  # (3, B)
    share = sums[0]
    return np.vstack([share, np.divide(sums[1:], share, out=np.zeros_like(sums[1:]), where=share > 0)])


def _panel(alt: Any, study: CalibrationStudy, model: str, kind: str) -> Any:
    """Return one reliability diagram."""
    share, says, right = pooled(study, model, kind)
    points = [
        {"says": float(p), "right": float(r), "share": float(s)}
        for s, p, r in zip(share, says, right, strict=True)
        if s >= LEAST
    ]
    unit = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], grid=False, format=".2~f")
    x = alt.X("says:Q", scale=unit, axis=axis, title="probability of the likeliest label")
    y = alt.Y("right:Q", scale=unit, axis=axis, title="share of these that are right")
    area = alt.Size("share:Q", scale=alt.Scale(domain=[0, 1], range=[6, 500]), legend=None)
    colour = COLOURS[list(WAYS).index(kind)]
    line = data_chart(alt, points).mark_line(color=colour, strokeWidth=1.2).encode(x=x, y=y)
    dots = data_chart(alt, points).mark_circle(color=colour, opacity=0.8).encode(x=x, y=y, size=area)
    ends = data_chart(alt, [{"says": 0, "right": 0}, {"says": 1, "right": 1}])
    even = ends.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y)
    mean, hit = share @ says, share @ right
    title = [f"{model}, {WAYS[kind]}", f"says {mean:.0%}, right in {hit:.0%}"]
    return alt.layer(even, line, dots).properties(width=SIDE, height=SIDE, title=title)
