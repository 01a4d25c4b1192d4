"""The study of calibration: how far the probabilities of every model can be believed, on every set with gold.

Each model is measured three ways: by its own probabilities, by those that are hedged where judges are seen to err
together (``calibrate="judgments"``; no gold is used), and, of three models, by those that are learned from gold
(``calibrate="gold"``) in five folds: no item is scored by a fit or a map that was told its truth. Every set counts as
much as another. ``auto`` is whatever model it takes for a set. Models that take two labels or an order alone are
measured on fewer sets, and their means are not to be held against those of the others.
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
    Way,
    code_mark,
    kept,
    made,
    mark_of,
    read_set,
)
from studies.crowds import Crowd, data_folder, sets_in
from studies.outcome import Asked, Shown
from studies.side_by_side import side_by_side

TITLE = "calibration: whether probabilities mean what they say"
PAPER = "Naeini et al. 2015, Guo et al. 2017 (its measures)"
ON = "every set with gold, every model"
VOTE = "majority"
WORSE = 0.05  # log loss above that of the vote's shares which is counted
MEASURES = ("accuracy", "log_loss", "brier", "ece")
CELLS = "cells"
DRAWS = 10_000  # of sets, for intervals of means


class ByModel(NamedTuple):
    """One model over all its sets."""

    model: str
    sets: int
    own: dict[str, float]  # means by measure
    judgments: dict[str, float]
    gain: tuple[float, float, float]  # of log loss by calibration, with the 90 % interval of sets drawn anew
    vote: float | None  # mean log loss of the vote's shares on the same sets
    worse: list[str]  # sets where calibrated log loss is above the vote's by more than WORSE


@dataclass(frozen=True, eq=False)
class Found:
    """What the study found."""

    cells: tuple[Cell, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # sets and models, with the reason
    interrupted: bool = False

    def __repr__(self) -> str:
        return f"Found(calibration: {len(self.models)} models on {len(self.sets)} sets)"

    @property
    def sets(self) -> list[str]:
        """The sets, by name."""
        return sorted({cell.job.set for cell in self.cells if cell.ways})

    @property
    def models(self) -> list[str]:
        """The models, as the registry orders them, and ``auto``."""
        there = {cell.job.model for cell in self.cells if cell.ways}
        return [name for name in METHODS if name in there]

    def of(self, model: str) -> list[Cell]:
        """Return a model's cells, by set."""
        found = [cell for cell in self.cells if cell.job.model == model and cell.ways]
        return sorted(found, key=lambda cell: cell.job.set)

    def vote(self, name: str) -> float | None:
        """Return the log loss of the vote's shares on a set, None where it is not there yet."""
        return next((cell.ways[OWN].log_loss for cell in self.of(VOTE) if cell.job.set == name), None)

    def by_model(self) -> list[ByModel]:
        """Return every model over its sets."""
        found = []
        for model in self.models:
            cells = self.of(model)
            own, judgments = ([cell.ways[way] for cell in cells] for way in (OWN, JUDGMENTS))
            votes = {cell.job.set: vote for cell in cells if (vote := self.vote(cell.job.set)) is not None}
            loss = {cell.job.set: cell.ways[JUDGMENTS].log_loss for cell in cells}
            worse = [name for name, vote in votes.items() if loss[name] > vote + WORSE]
            vote = fmean(votes.values()) if len(votes) == len(cells) else None
            gain = _mean_interval([one.log_loss - two.log_loss for one, two in zip(own, judgments, strict=True)])
            found.append(ByModel(model, len(cells), _means(own), _means(judgments), gain, vote, worse))
        return found

    def columns(self) -> dict[str, list[Any]]:
        """Return the study as named columns, a row for each set, model and way."""
        rows = [
            {
                "set": cell.job.set,
                "model": cell.job.model,
                "calibrate": "none" if name == OWN else name,
                "items": cell.items,
                "labels": cell.labels,
                **{measure: getattr(way, measure) for measure in MEASURES},
                "says": float(way.bins[1].sum() / way.bins[0].sum()),
                "vote_log_loss": self.vote(cell.job.set),
                "dependence": cell.dependence if name == JUDGMENTS else None,
                "hedge": cell.hedge if name == JUDGMENTS else None,
                "stopped": cell.stopped,
                "seconds": round(cell.seconds, 3),
            }
            for cell in sorted(self.cells, key=lambda cell: (cell.job.set, METHODS.index(cell.job.model)))
            for name, way in cell.ways.items()
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}

    def tables(self) -> list[Shown]:
        """Return all models over all sets, and a table by set of those that gold calibrates, too."""
        return [self._models(), *(self._sets(model) for model in LEARNED if self.of(model))]

    def warnings(self) -> list[str]:
        """Return what the reader must know."""
        said = [f"left out: {what}: {reason}" for what, reason in self.left_out.items()]
        for cell in self.cells:
            what = f"{cell.job.model} on {cell.job.set}"
            if cell.left_out:
                said.append(f"left out: {what}{', by gold' * bool(cell.ways)}: {cell.left_out}")
            if cell.stopped.startswith(UNSETTLED):
                said.append(f"{what} has not converged: {cell.stopped}")
        return [*said, f"interrupted; cells finished: {len(self.cells):,}"] if self.interrupted else said

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure."""
        return {".svg": lambda: svg(self).encode()}

    def _models(self) -> Shown:
        """Return a row for each model."""
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
                one.model,
                one.sets,
                *(_pair(one, measure) for measure in MEASURES[:2]),
                "{:.3f} ({:.3f} to {:.3f})".format(*one.gain),
                one.vote,
                *(_pair(one, measure) for measure in MEASURES[2:]),
                ", ".join([str(len(one.worse)), *one.worse]),
            ]
            for one in self.by_model()
        ]
        title = f"Means over sets ({len(self.sets)} in all): the model's own probabilities, and calibrated by judgments"
        return Shown(title, head, rows)

    def _sets(self, model: str) -> Shown:
        """Return a row for each set, and the means."""
        cells, ways = self.of(model), (OWN, JUDGMENTS, BY_GOLD)
        losses = [[self.vote(cell.job.set), *(_loss(cell, way) for way in ways)] for cell in cells]
        rows = [
            [cell.job.set, cell.items, *loss, f"{cell.dependence:.1f}", f"{cell.hedge:.2f}"]
            for cell, loss in zip(cells, losses, strict=True)
        ]
        means = [_mean(each) for each in zip(*losses, strict=True)]
        head = ["set", "items", "vote", "own", "by judgments", "by gold", "z", "hedge"]
        title = f"{model}: log loss, clipped at .001; z: how far judges are seen to err together"
        return Shown(title, head, [*rows, ["mean", None, *means, None, None]])


def calibrating(asked: Asked) -> Found:
    """Run the study; finished cells are kept where asked, and are not made again. Ctrl-C ends it with those."""
    folder = data_folder(asked.data)
    if asked.keep is None:
        with TemporaryDirectory() as keep:
            return _run(folder, Path(keep), asked)
    place = Path(asked.keep) / CELLS
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}; name another folder with --out", str(place)) from error
    return _run(folder, place, asked)


def progress(done: int, all_: int, seconds: float, job: Job) -> str:
    """Return a bar, and how long the rest may take."""
    full = round(20 * done / all_)
    left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"[{'#' * full}{'-' * (20 - full)}] {done:,} of {all_:,}, {left} left: {job.set}, {job.model}"


def _run(folder: Path, keep: Path, asked: Asked) -> Found:
    """Make what is not there, and gather all."""
    left_out: dict[str, str] = {}
    code = code_mark()
    every = [job for crowd in _crowds(folder, asked, left_out) for job in _jobs(folder, keep, crowd, asked.seed, code)]
    have = {job: cell for job in every if (cell := kept(job)) is not None}
    missing = [job for job in every if job not in have]
    interrupted = False
    try:
        for cell in _told(missing, len(every), asked):
            have[cell.job] = cell
    except KeyboardInterrupt:
        if not have:
            raise
        interrupted = True
    return Found(tuple(have[job] for job in every if job in have), left_out, interrupted)


def _told(missing: Sequence[Job], all_: int, asked: Asked) -> Iterator[Cell]:
    """Make cells side by side, and tell of each how far that is."""
    begun, done, whole = time.monotonic(), 0, sum(job.size for job in missing)
    with side_by_side(asked.workers) as each:
        for n, cell in enumerate(each(made, missing), 1):  # type: ignore[arg-type]
            done += cell.job.size
            left = (time.monotonic() - begun) * (whole / done - 1)  # cells take as long as they have judgments
            asked.say(progress(all_ - len(missing) + n, all_, left, cell.job))
            yield cell


def _crowds(folder: Path, asked: Asked, left_out: dict[str, str]) -> list[Crowd]:
    """Return the sets that were named or, of all, those that can be taken; the largest first, so that no core waits."""
    found = []
    for name in dict.fromkeys(sets_in(folder) if asked.sets is None else asked.sets):
        asked.say(f"reading {name}")
        try:
            found.append(read_set(folder, name))
        except AdjudgeError as reason:
            if asked.sets is not None:
                raise
            left_out[name] = str(reason)
    if not found:
        raise UsageError("there is no set to study: name some with --sets")
    return sorted(found, key=lambda crowd: -len(crowd.judgments))


def _jobs(folder: Path, keep: Path, crowd: Crowd, seed: int, code: str) -> list[Job]:
    """Return the cells of a set."""
    mark, size = mark_of(folder / crowd.name, code), len(crowd.judgments)
    able = [name for name in METHODS if name == AUTO or takes(name, crowd.judgments.scale)]
    return [Job(str(folder), str(keep), crowd.name, model, seed, mark, size) for model in able]


def _means(ways: Sequence[Way]) -> dict[str, float]:
    """Return the mean of every measure over sets."""
    return {measure: fmean(getattr(way, measure) for way in ways) for measure in MEASURES}


def _mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a mean over sets, and the 90 % interval of the means of sets drawn anew."""
    drawn = np.random.default_rng(0).choice(values, (DRAWS, len(values))).mean(axis=1)
    low, high = np.quantile(drawn, (0.05, 0.95))
    return fmean(values), float(low), float(high)


def _pair(one: ByModel, measure: str) -> str:
    """Return a mean before and after calibration."""
    return f"{one.own[measure]:.3f} {one.judgments[measure]:.3f}"


def _loss(cell: Cell, way: str) -> float | None:
    """Return the log loss of a way, None where it was left out."""
    return cell.ways[way].log_loss if way in cell.ways else None


def _mean(values: Sequence[float | None]) -> float | None:
    """Return a mean over sets, None where one has no value."""
    there = [value for value in values if value is not None]
    return fmean(there) if len(there) == len(values) else None


# The figure of calibration: what models say of their likeliest labels beside how often these are right.

SHOWN = ("majority", "dawid-skene", "hybrid-confusion", "minimax-entropy")
WAYS = {OWN: "own", JUDGMENTS: "by judgments"}
SIDE, ACROSS = 165, 4  # pixels of a panel, and panels in a row
LEAST = 0.003  # share of items below which a dot is chance
NOTE = "Items of {sets} sets together, each set with equal weight. Areas of dots: shares of items."


def svg(found: Found) -> str:
    """Return the figure, as an SVG."""
    alt, convert = load_altair()
    shown = [model for model in SHOWN if model in found.models]
    panels = [_panel(alt, found, model, way) for model in shown for way in WAYS]
    rows = [alt.hconcat(*panels[n : n + ACROSS], spacing=18) for n in range(0, len(panels), ACROSS)]
    return render_svg(alt.vconcat(*rows, spacing=18, title=NOTE.format(sets=len(found.sets))), convert)


def pooled(found: Found, model: str, way: str) -> Floats:
    """Return shares of items, and of these the mean probability and the share right (3, B); every set weighs 1."""
    cells = found.of(model)
    sums = np.mean([cell.ways[way].bins / cell.items for cell in cells], axis=0)  # (3, B)
    share = sums[0]
    return np.vstack([share, np.divide(sums[1:], share, out=np.zeros_like(sums[1:]), where=share > 0)])


def _panel(alt: Any, found: Found, model: str, way: str) -> Any:
    """Return one reliability diagram."""
    share, says, right = pooled(found, model, way)
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
    colour = COLOURS[list(WAYS).index(way)]
    line = data_chart(alt, points).mark_line(color=colour, strokeWidth=1.2).encode(x=x, y=y)
    dots = data_chart(alt, points).mark_circle(color=colour, opacity=0.8).encode(x=x, y=y, size=area)
    ends = data_chart(alt, [{"says": 0, "right": 0}, {"says": 1, "right": 1}])
    even = ends.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(x=x, y=y)
    mean, hit = share @ says, share @ right
    title = [f"{model}, {WAYS[way]}", f"says {mean:.0%}, right in {hit:.0%}"]
    return alt.layer(even, line, dots).properties(width=SIDE, height=SIDE, title=title)
