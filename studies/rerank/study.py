"""The study of paper 004: whether weights help a ranker that learns from a crowd, on real text, with many crowds.

Every method is trained in five folds by question, with its own c, chosen inside the training folds. Rankings of
held-out questions are scored by the truth, and by the vote as in the paper; questions without a relevant candidate are
left out. A value is the mean over questions and runs; each run has its own folds and, if crowds are simulated, its own
crowd. Its spread is the standard deviation over folds.

Methods are compared with CA and LPTC, and those with trees with trees. Questions and runs are both samples, so two
tests account for both: Student's t with the variance of a mean over crossed questions and runs, and a bootstrap that
resamples questions and runs at once (the pigeonhole bootstrap, Owen 2007). Both count the variance that questions and
runs share twice, so they are conservative. The p values have Holm's correction for the number of methods.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtr

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.learn.topic_scores import MEASURES
from adjudge.metrics.significance import DRAWS, holm
from studies.curves import Axes, Curves, Point, svg
from studies.marks import digest
from studies.outcome import Table
from studies.rerank.cells import (
    GRID,
    TARGETS,
    TRACED,
    Cell,
    Job,
    crowd_names,
    make_cell,
    mark_of,
    prepare_sets,
    read_cell,
)
from studies.rerank.methods import BOOSTED, METHODS
from studies.rerank.sets import SETS

CHUNK = 250  # draws at once
ROUNDING = 1e-12


class MethodTest(NamedTuple):
    """The test of a method against another."""

    difference: float
    error: float  # its standard error, over questions and runs
    t: float  # p of Student's t
    drawn: float  # p of the pigeonhole bootstrap
    p: float  # the larger of both, after Holm's correction


def compare_methods(values: Floats, other: Floats, present: Flags, *, draws: int, seed: int = 0) -> list[MethodTest]:
    """Return the tests of methods (M, R, Q) against another (R, Q), on the questions of each run (R, Q)."""
    difference = values - other
    error, t = zip(*(two_way(row, present) for row in difference), strict=True)
    drawn = pigeonholes(difference, present, draws=draws, seed=seed)
    p = holm(np.maximum(t, drawn))
    rows = zip(_mean(difference, present).tolist(), error, t, drawn.tolist(), p.tolist(), strict=True)
    return [MethodTest(*row) for row in rows]


def two_way(difference: Floats, present: Flags) -> tuple[float, float]:
    """Return the standard error of a mean over runs and questions (R, Q), and the p value of mean 0.

    The variance is the sum of the variances of the means over questions and over runs; a single run has none. Degrees
    of freedom are Satterthwaite's.
    """
    masked = np.where(present, difference, 0.0)
    parts = []
    for axis in (0, 1):  # questions' means, then runs'
        count = present.sum(axis=axis)
        mean = masked.sum(axis=axis)[count > 0] / count[count > 0]
        if mean.size > 1:
            parts.append((float(mean.var(ddof=1)) / mean.size, mean.size - 1))
    total = sum(part for part, _ in parts)
    centre = float(_mean(difference[None], present)[0])
    if total <= 0:
        return 0.0, 1.0 if abs(centre) <= ROUNDING else 0.0
    freedom = total**2 / sum(part**2 / free for part, free in parts)
    return float(total**0.5), float(2 * stdtr(freedom, -abs(centre) / total**0.5))


def pigeonholes(difference: Floats, present: Flags, *, draws: int, seed: int = 0) -> Floats:
    """Return the two-sided p values (M) of mean differences (M, R, Q), resampling runs and questions together."""
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    M, R, Q = difference.shape
    rng, centre = np.random.default_rng(seed), _mean(difference, present)
    masked = np.where(present, difference, 0.0).reshape(M * R, Q).T  # (Q, M * R)
    several = [size for size in (R, Q) if size > 1]
    stretch = (min(several) / (min(several) - 1)) ** 0.5 if several else 1.0  # n of n draws vary by (n - 1) / n
    reached = np.zeros(M)
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        u, v = (rng.multinomial(n, np.full(n, 1 / n), size).astype(float) for n in (R, Q))  # (B, R) and (B, Q)
        count = (v @ present.T.astype(float) * u).sum(axis=1)  # (B)
        total = ((v @ masked).reshape(size, M, R) * u[:, None, :]).sum(axis=2)  # (B, M)
        mean = total / np.maximum(count, 1)[:, None]
        far = np.abs(mean - centre) * stretch >= np.abs(centre) - ROUNDING
        reached += (far | (count == 0)[:, None]).sum(axis=0)
    p: Floats = (1 + reached) / (1 + draws)
    return p


def _mean(difference: Floats, present: Flags) -> Floats:
    """Return the mean of each method (M) over runs and questions that are present."""
    mean: Floats = np.where(present, difference, 0.0).sum(axis=(1, 2)) / max(int(present.sum()), 1)
    return mean


Each: TypeAlias = Callable[[Callable[[Job], Cell], Iterable[Job]], Iterator[Cell]]
Say: TypeAlias = Callable[[str], None]

RUNS = 10
TRACES = (
    ("xquad_sentences", "paper"),
    ("xquad_sentences", "noisy"),
    ("qa_wikiqa", "noisy"),
    ("wikiqa_hard", "paper"),
)  # of figure 1
TRACE_RUNS = 5
AGAINST = ("CA", "LPTC", "LM CA")  # the last for methods with trees
AXES = Axes(
    "rerank",
    "the effect of c",
    "c",
    "log2 of c",
    {"MRR": "MRR, percent", "MAP": "MAP, percent", "P@1": "P@1, percent"},
)


class Result(NamedTuple):
    """The scores of one method with one crowd."""

    set: str
    crowd: str
    method: str
    c: float | None  # the given one, None if it is chosen in each fold
    chosen: float | None  # the median c over runs and folds
    questions: int
    runs: int
    mean: dict[str, dict[str, float]]  # by target and measure
    spread: dict[str, dict[str, float]]  # over folds
    values: dict[str, Floats]  # (runs) by measure, with the truth as labels
    tests: dict[str, dict[str, MethodTest]]  # by other method and measure


@dataclass(frozen=True, eq=False)
class RerankStudy:
    """The outcome of the study."""

    cells: tuple[Cell, ...]
    draws: int = DRAWS
    interrupted: bool = False

    def __repr__(self) -> str:
        crowds = {(cell.job.set, cell.job.crowd) for cell in self.cells}
        return f"RerankStudy({len(self.cells)} cells of {len(crowds)} crowds)"

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """The results of every method, crowd and c."""
        results = []
        for _, group in groupby(sorted(self.cells, key=_order), key=_order):
            results += _results(list(group), self.draws)
        return tuple(results)

    def at(self, name: str, crowd: str, c: float | None = None) -> list[Result]:
        """Return the results of all methods with one crowd."""
        return [r for r in self.results if (r.set, r.crowd, r.c) == (name, crowd, c)]

    def crowd_keys(self) -> list[tuple[str, str]]:
        """Return the sets and crowds in the order of the study."""
        return list(dict.fromkeys((r.set, r.crowd) for r in self.results))

    def facts(self, name: str, crowd: str) -> dict[str, float]:
        """Return statistics of a crowd, as means over runs."""
        rows = [c.facts for c in self.cells if (c.job.set, c.job.crowd, c.job.c) == (name, crowd, None)]
        return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}

    def columns(self) -> dict[str, list[Any]]:
        """Return the results as named columns, one row per set, crowd, method, c, target and measure."""
        rows: list[dict[str, Any]] = []
        for r in self.results:
            for target in TARGETS:
                for measure in MEASURES:
                    row: dict[str, Any] = {"set": r.set, "crowd": r.crowd, "method": r.method, "given_c": r.c}
                    row |= {"c": r.chosen, "target": target, "measure": measure, "value": r.mean[target][measure]}
                    row |= {"fold_spread": r.spread[target][measure], "questions": r.questions, "runs": r.runs}
                    for other in AGAINST:
                        test = r.tests.get(other, {}).get(measure) if target == "truth" else None
                        row |= {f"over_{other}": test and test.difference, f"over_{other}_error": test and test.error}
                        row |= {f"p_t_{other}": test and test.t, f"p_drawn_{other}": test and test.drawn}
                        row[f"p_{other}"] = test and test.p
                    rows.append(row)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def tables(self) -> list[Table]:
        """Return the gains over CA by crowd, and a table of each crowd, in percent as in the paper."""
        return [*self.gains(), *(self._table(*pair) for pair in self.crowd_keys())]

    def gains(self) -> list[Table]:
        """Return a table per set with the difference in MRR to CA, by method and crowd."""
        tables = []
        for name in dict.fromkeys(pair[0] for pair in self.crowd_keys()):
            crowds = [crowd for other, crowd in self.crowd_keys() if other == name]
            by = {crowd: {r.method: r for r in self.at(name, crowd)} for crowd in crowds}
            methods = [m for m in METHODS if m != "CA" and any(m in of for of in by.values())]
            rows = [[m, *(_gain(by[crowd].get(m)) for crowd in crowds)] for m in methods]
            title = f"{name}: MRR above CA in points, by crowd (* p < .05 over questions and runs, corrected)"
            tables.append(Table(title, ["method", *crowds], rows))
        return tables

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        messages = [f"interrupted; {len(self.cells):,} cells are finished"] if self.interrupted else []
        if find_spec("lightgbm") is None:
            messages.append("LambdaMART is left out: pip install 'adjudge[lightgbm]'")
        return messages

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure, if c was varied."""
        return {".svg": lambda: figure(self).encode()} if self.curves() else {}

    def curves(self) -> list[tuple[str, float, str, dict[str, Floats]]]:
        """Return panel, c, method and the measures of each run in percent, for the cells with a given c."""
        return [
            (f"{r.set}, crowd {r.crowd}", r.c, r.method, {m: 100 * v for m, v in r.values.items()})
            for r in sorted((r for r in self.results if r.c is not None), key=lambda r: r.c or 0.0)
            if r.c is not None and r.method in TRACED
        ]

    def _table(self, name: str, crowd: str) -> Table:
        """Return table 1 for one crowd."""
        facts, results = self.facts(name, crowd), self.at(name, crowd)
        title = (
            f"{name}, crowd {crowd}: {facts['full']:.0%} full agreement, the vote is right on "
            f"{facts['vote_accuracy']:.1%}; {results[0].questions:,} questions, {results[0].runs} runs; in percent"
        )
        head = ("method", *MEASURES, "MRR by vote", "c", "over CA", "p by t", "p by draws", "p", "over LPTC", "p")
        return Table(title, head, [_row(result) for result in results])


def rerank(
    data: Path,
    sets: Sequence[str] | None = None,
    *,
    crowds: Mapping[str, Sequence[str]] | None = None,
    methods: Sequence[str] = (),
    runs: int | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    keep: Path | None = None,
    workers: int = 1,
    say: Say | None = None,
    each: Each = map,
) -> RerankStudy:
    """Run the study, with all crowds of each set or those that are named for it, and all methods or some.

    Finished cells are stored in ``keep`` and reused; Ctrl-C ends with the finished ones.
    """
    names = list(dict.fromkeys(SETS if sets is None else sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    if keep is None:
        with TemporaryDirectory() as folder:
            return _run(data, names, crowds, methods, runs or RUNS, seed, draws, Path(folder), workers, say, each)
    keep.mkdir(parents=True, exist_ok=True)
    return _run(data, names, crowds, methods, runs or RUNS, seed, draws, keep, workers, say, each)


def jobs(
    data: Path, keep: Path, names: Sequence[str], runs: int, seed: int, marks: Mapping[str, str] | None = None
) -> list[Job]:
    """Return all cells of the study, ordered by run, so that an interrupted study has runs of all crowds."""
    mark = marks or {}
    cells = []
    for name in names:
        crowds = [(crowd, run) for run in range(runs) for crowd in crowd_names(name)]
        cells += [Job(str(data), str(keep), name, crowd, run, seed, None, mark.get(name, "")) for crowd, run in crowds]
        cells += [
            Job(str(data), str(keep), name, crowd, run, seed, c, mark.get(name, ""))
            for traced, crowd in TRACES
            if traced == name
            for run in range(min(runs, TRACE_RUNS))
            for c in GRID
        ]
    return cells


def _run(
    data: Path,
    names: Sequence[str],
    crowds: Mapping[str, Sequence[str]] | None,
    methods: Sequence[str],
    runs: int,
    seed: int,
    draws: int,
    keep: Path,
    workers: int,
    say: Say | None,
    each: Each,
) -> RerankStudy:
    """Compute the cells that are missing, and return all."""
    tell = say or (lambda _: None)
    marks = {name: mark_of(data, name) for name in names}
    if methods:  # a cell with some methods is not one with all
        marks = {name: digest([mark.encode(), repr(methods).encode()]) for name, mark in marks.items()}
    every = [job._replace(methods=tuple(methods)) for job in jobs(data, keep, names, runs, seed, marks)]
    every = [job for job in every if crowds is None or job.crowd in crowds[job.set]]
    have = {job: cell for job in every if (cell := read_cell(job)) is not None}
    missing = [job for job in every if job not in have]
    interrupted, start = False, time.monotonic()
    try:
        prepare_sets(data, keep, list(dict.fromkeys(job.set for job in missing)), tell, workers)
        for done, cell in enumerate(each(make_cell, missing), 1):
            have[cell.job] = cell
            tell(progress(len(have), len(every), (time.monotonic() - start) / done * (len(missing) - done), cell.job))
    except KeyboardInterrupt:
        if not have:
            raise
        interrupted = True
    return RerankStudy(tuple(have[job] for job in every if job in have), draws, interrupted)


def progress(done: int, all_: int, seconds: float, job: Job) -> str:
    """Return a progress bar with the estimated remaining time."""
    full = round(20 * done / all_)
    left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"[{'#' * full}{'-' * (20 - full)}] {done:,} of {all_:,}, {left} left: {job.set}, {job.crowd}"


def _order(cell: Cell) -> tuple[int, int, float]:
    """Return the sort key of a cell."""
    sets = list(SETS)
    return sets.index(cell.job.set), crowd_names(cell.job.set).index(cell.job.crowd), cell.job.c or 0.0


def _results(cells: Sequence[Cell], draws: int) -> list[Result]:
    """Return the results of every method with one crowd and one c (or the chosen ones)."""
    job = cells[0].job
    methods = [method for method in METHODS if all(method in cell.values for cell in cells)]
    values, present = _by_question(cells, methods)
    tests = _tests(values, present, methods, draws) if job.c is None else {m: {} for m in methods}
    results = []
    for m in methods:
        runs = {k: np.array([cell.values[m][k].mean() for cell in cells]) for k in MEASURES}
        spread = {
            t: {k: float(np.mean([np.nanstd(cell.folds[m][t][k]) for cell in cells])) for k in MEASURES}
            for t in TARGETS
        }
        mean = {
            "truth": {k: float(v.mean()) for k, v in runs.items()},
            "vote": {k: float(np.mean([cell.voted[m][k] for cell in cells])) for k in MEASURES},
        }
        cs = np.concatenate([cell.c[m] for cell in cells])
        chosen = float(np.median(cs)) if cs.size else None
        size = present.shape[1]
        results.append(Result(job.set, job.crowd, m, job.c, chosen, size, len(cells), mean, spread, runs, tests[m]))
    return results


def _by_question(cells: Sequence[Cell], methods: Sequence[str]) -> tuple[Floats, Flags]:
    """Return the measures of every question in every run (K, M, R, Q), and which runs have it (R, Q)."""
    names = list(dict.fromkeys(q for cell in cells for q in cell.questions))
    column = {q: n for n, q in enumerate(names)}
    values = np.zeros((len(MEASURES), len(methods), len(cells), len(names)))
    present = np.zeros((len(cells), len(names)), dtype=bool)
    for r, cell in enumerate(cells):
        at = [column[q] for q in cell.questions]
        present[r, at] = True
        for k, measure in enumerate(MEASURES):
            for m, method in enumerate(methods):
                values[k, m, r, at] = cell.values[method][measure]
    return values, present


def _tests(
    values: Floats, present: Flags, methods: Sequence[str], draws: int
) -> dict[str, dict[str, dict[str, MethodTest]]]:
    """Return the tests by method, other method and measure."""
    by_method: dict[str, dict[str, dict[str, MethodTest]]] = {m: {} for m in methods}
    for other in AGAINST:
        rivals = [m for m in methods if m != other and (other not in BOOSTED or m in BOOSTED)]
        if other not in methods or not rivals or present.shape[1] < 2:
            continue
        at = [methods.index(m) for m in rivals]
        for k, measure in enumerate(MEASURES):
            tests = compare_methods(values[k][at], values[k][methods.index(other)], present, draws=draws)
            for m, test in zip(rivals, tests, strict=True):
                by_method[m].setdefault(other, {})[measure] = test
    return by_method


def _gain(result: Result | None) -> str | None:
    """Return the difference in MRR to CA in points, with a star if p < .05."""
    if result is None or "CA" not in result.tests:
        return None
    test = result.tests["CA"]["MRR"]
    return f"{100 * test.difference:+.2f}{'*' if test.p < 0.05 else ''}"


def _row(result: Result) -> list[Any]:
    """Return the row of a method in table 1."""
    mean, spread = result.mean["truth"], result.spread["truth"]
    row: list[Any] = [result.method]
    row += [f"{100 * mean[k]:.2f}±{100 * spread[k]:.2f}" for k in MEASURES]
    row.append(f"{100 * result.mean['vote']['MRR']:.2f}")
    row.append(None if result.chosen is None else power(result.chosen))
    over, best = (result.tests.get(other, {}).get("MRR") for other in ("CA", "LPTC"))
    row += [None] * 4 if over is None else [f"{100 * over.difference:+.2f}", *map(p_text, (over.t, over.drawn, over.p))]
    row += [None] * 2 if best is None else [f"{100 * best.difference:+.2f}", p_text(best.p)]
    return row


def power(c: float) -> str:
    """Return a c as a power of two."""
    return f"2^{np.log2(c):.0f}"


def p_text(p: float) -> str:
    """Return a p value as short text."""
    return "< .001" if p < 0.0005 else f"{p:.3f}".replace("0.", ".", 1)


def figure(study: RerankStudy) -> str:
    """Return the figure of c, as an SVG."""
    points = [Point(panel, log2(c), method, values) for panel, c, method, values in study.curves()]  # type: ignore[arg-type]
    runs = min(value.size for point in points for value in point.values.values())
    return svg(Curves(AXES, tuple(points), runs))
