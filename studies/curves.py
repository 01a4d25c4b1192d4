"""Curves: the scores of methods as one number grows, such as the number of items. A point is a mean over many runs.

A run depends on its seed alone, so runs can be computed in any order and in parallel. Ctrl-C keeps the points whose
runs are all finished. The intervals are 95 % intervals of the mean, from the standard deviation of the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats
from adjudge.reports.drawing import COLOURS, SHAPES, load_altair, render_svg
from studies.outcome import RUNS, StudyOptions, Table
from studies.parallel import parallel_map

Once: TypeAlias = Callable[[int], Mapping[str, Mapping[str, float]]]  # from a seed to measures by method

WIDE = 1.96  # standard errors on either side of a mean
SECONDS = "seconds"  # the measure that depends on the machine, and is in no table of results


class Stop(NamedTuple):
    """One value on the axis of one panel, and the function that computes one run there."""

    panel: str
    x: int
    once: Once


class Axes(NamedTuple):
    """The axis of curves, their measures with titles, and how they are drawn."""

    name: str
    title: str
    x: str  # column of the axis
    axis: str  # title of the axis in a figure
    measures: Mapping[str, str]
    log: bool = False  # whether the axis is logarithmic
    alike: bool = False  # whether the measures share an axis


class Point(NamedTuple):
    """The scores of one method at one value of the axis, in each run."""

    panel: str
    x: int
    method: str
    values: Mapping[str, Floats]  # (R) by measure

    def mean(self, measure: str) -> float | None:
        """Return the mean of a measure over the runs, None if the method does not have it."""
        return float(self.values[measure].mean()) if measure in self.values else None

    def span(self, measure: str) -> tuple[float, float] | None:
        """Return the interval of the mean."""
        if measure not in self.values:
            return None
        value, runs = self.values[measure], self.values[measure].size
        error = WIDE * float(value.std(ddof=1)) / runs**0.5 if runs > 1 else 0.0
        return float(value.mean()) - error, float(value.mean()) + error


@dataclass(frozen=True, eq=False)
class Curves:
    """The scores of methods along an axis."""

    axes: Axes
    points: tuple[Point, ...]
    runs: int
    notes: tuple[Table, ...] = ()  # tables that describe the data
    interrupted: bool = False

    def __repr__(self) -> str:
        positions = f"{len(self.positions())} places x {self.runs} runs"
        return f"Curves({self.axes.name}: {len(self.methods)} methods at {positions})"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, as the study orders them."""
        return tuple(dict.fromkeys(point.method for point in self.points))

    @property
    def panels(self) -> tuple[str, ...]:
        """The panels, as the study orders them."""
        return tuple(dict.fromkeys(point.panel for point in self.points))

    def positions(self, panel: str | None = None) -> list[tuple[str, int]]:
        """Return the panel and x of all points, panel by panel."""
        return list(dict.fromkeys((p.panel, p.x) for p in self.points if panel in (None, p.panel)))

    def at(self, x: int, method: str, panel: str | None = None) -> Point:
        """Return a point."""
        return next(p for p in self.points if (p.x, p.method) == (x, method) and panel in (None, p.panel))

    def columns(self) -> dict[str, list[Any]]:
        """Return the means and intervals as named columns, one row per point."""
        points = self.points
        columns: dict[str, list[Any]] = {"set": [p.panel for p in points]} if any(self.panels) else {}
        columns |= {self.axes.x: [p.x for p in points], "method": [p.method for p in points]}
        columns["runs"] = [self.runs for _ in points]
        for measure in dict.fromkeys(name for p in points for name in p.values if name != SECONDS):
            spans = [p.span(measure) for p in points]
            columns[measure] = [p.mean(measure) for p in points]
            columns[f"{measure}_low"] = [span and span[0] for span in spans]
            columns[f"{measure}_high"] = [span and span[1] for span in spans]
        return columns

    def tables(self) -> list[Table]:
        """Return a table per panel and measure, with one row per x and one column per method."""
        tables = list(self.notes)
        for panel in self.panels:
            for measure, title in self.axes.measures.items():
                where = f"{panel}: " if panel else ""
                tables.append(self._pivot(panel, measure, f"{where}{title}, mean of {self.runs:,} runs"))
        return tables

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        done = ", ".join(f"{panel} {x:,}".strip() for panel, x in self.positions())
        return [f"interrupted; finished: {self.axes.x} {done}"] if self.interrupted else []

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure."""
        return {".svg": lambda: svg(self).encode()}

    def _pivot(self, panel: str, measure: str, title: str) -> Table:
        """Return a measure by x and method."""
        able = [m for m in self.methods if any(p.method == m and measure in p.values for p in self.points)]
        rows = [[x, *(self.at(x, method, panel).mean(measure) for method in able)] for _, x in self.positions(panel)]
        return Table(title, [self.axes.x, *able], rows)


def trace(axes: Axes, stops: Sequence[Stop], options: StudyOptions, notes: Iterable[Table] = ()) -> Curves:
    """Compute all runs at every stop, and return the curves. Ctrl-C ends with the stops that are finished."""
    points, interrupted, runs = list[Point](), False, options.runs or RUNS
    try:
        with parallel_map(options.workers) as each:
            for n, stop in enumerate(stops, 1):
                where = f"{n} of {len(stops)}: {f'{stop.panel}, ' * bool(stop.panel)}{stop.x:,} {axes.x}"
                results = []
                for value in each(stop.once, seeds(options.seed, stop.x, runs)):
                    results.append(value)
                    options.say(f"{where}, run {len(results):,} of {runs:,}")
                points += _points(stop, results)
    except KeyboardInterrupt:
        if not points:
            raise
        interrupted = True
    return Curves(axes, tuple(points), runs, tuple(notes), interrupted)


def seeds(seed: int, x: int, runs: int) -> list[int]:
    """Return a seed for each run at x, which depends on ``seed`` and x alone."""
    return [int(np.random.SeedSequence([seed, x, run]).generate_state(1)[0]) for run in range(runs)]


def _points(stop: Stop, runs: Sequence[Mapping[str, Mapping[str, float]]]) -> list[Point]:
    """Return the points of one stop, from the values of its runs."""
    return [
        Point(
            stop.panel,
            stop.x,
            method,
            {measure: np.array([run[method][measure] for run in runs]) for measure in runs[0][method]},
        )
        for method in runs[0]
    ]


# The figure: one panel per measure, with a line per method and the intervals of its means.

MORE_COLOURS, MORE_SHAPES = (*COLOURS, "#CC79A7", "#E69F00"), (*SHAPES, "cross", "triangle-down")
WIDTH, HEIGHT = 300, 210  # pixels of a panel
MARGIN = 0.05  # of a measure's range, on either side
NOTE = "Points: means over {runs} runs. Lines through them: 95 % intervals of the means."


def svg(curves: Curves) -> str:
    """Return the figure, as an SVG."""
    altair, convert = load_altair()
    rows = [
        altair.hconcat(*(_panel(altair, curves, panel, measure) for measure in curves.axes.measures), spacing=30)
        for panel in curves.panels
    ]
    return render_svg(altair.vconcat(*rows, title=NOTE.format(runs=curves.runs)), convert)


def marks(curves: Curves, panel: str, measure: str) -> list[dict[str, Any]]:
    """Return the points of one panel."""
    drawn = []
    for point in curves.points:
        span = point.span(measure)
        if point.panel == panel and span is not None:
            low, high = span
            drawn.append({"x": point.x, "method": point.method, "value": point.mean(measure), "low": low, "high": high})
    return drawn


def _panel(alt: Any, curves: Curves, panel: str, measure: str) -> Any:
    """Return the curves of one measure."""
    drawn, axes, methods = marks(curves, panel, measure), curves.axes, list(curves.methods)
    both = [mark for each in axes.measures if axes.alike for mark in marks(curves, panel, each)] or drawn
    low, high = min(mark["low"] for mark in both), max(mark["high"] for mark in both)
    margin = MARGIN * (high - low)
    positions = [x for _, x in curves.positions(panel)]
    base = alt.Chart(alt.Data(values=drawn)).encode(
        x=alt.X(
            "x:Q",
            scale=alt.Scale(type="log" if axes.log else "linear", nice=False),
            axis=alt.Axis(values=positions, labelOverlap=False, grid=False),
            title=axes.axis,
        ),
        color=alt.Color("method:N", sort=methods, scale=alt.Scale(domain=methods, range=list(MORE_COLOURS))),
    )
    y = alt.Y(
        "value:Q", scale=alt.Scale(domain=[low - margin, high + margin], nice=False), title=axes.measures[measure]
    )
    line = base.mark_line(strokeWidth=1.3).encode(y=y)
    bar = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q"), y2="high:Q")
    shape = alt.Shape("method:N", sort=methods, scale=alt.Scale(domain=methods, range=list(MORE_SHAPES)))
    dot = base.mark_point(filled=True, size=34, opacity=1).encode(y=y, shape=shape)
    return alt.layer(line, bar, dot).properties(width=WIDTH, height=HEIGHT, title=panel)
