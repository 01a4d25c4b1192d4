"""Whether one method is better than another, for other questions and for other crowds.

What a study has seen are some questions and some runs, each with a crowd and folds of its own: both are draws, and a
difference is sure only if neither's chance explains it. Two tests see both: Student's t with the variance of a mean
over crossed questions and runs, and a bootstrap that draws questions and runs at once (Owen's pigeonholes, 2007). Both
count what questions and runs share twice, and so err to the side of doubt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import stdtr

from adjudge.arrays import Flags, Floats
from adjudge.errors import UsageError
from adjudge.learn.crossval import MEASURES
from adjudge.metrics.bootstrap import DRAWS
from adjudge.metrics.paired import holm
from studies.rerank.cells import GRID, TARGETS, TRACED, Cell, Job, crowds_of, kept, made, prepared
from studies.rerank.mark import mark_of
from studies.rerank.methods import BOOSTED, METHODS
from studies.rerank.sets import SETS

CHUNK = 250  # draws at once
ROUNDING = 1e-12


class Held(NamedTuple):
    """A method held against another."""

    difference: float
    error: float  # its standard error, over questions and runs
    t: float  # p of Student's t
    drawn: float  # p of the bootstrap
    p: float  # the larger of both, corrected for the number of methods


def held(values: Floats, other: Floats, present: Flags, *, draws: int, seed: int = 0) -> list[Held]:
    """Return methods (M, R, Q) held against another (R, Q), on the questions that each run has (R, Q)."""
    difference = values - other
    error, t = zip(*(two_way(one, present) for one in difference), strict=True)
    drawn = pigeonholes(difference, present, draws=draws, seed=seed)
    p = holm(np.maximum(t, drawn))
    rows = zip(_mean(difference, present).tolist(), error, t, drawn.tolist(), p.tolist(), strict=True)
    return [Held(*row) for row in rows]


def two_way(difference: Floats, present: Flags) -> tuple[float, float]:
    """Return the standard error of a mean over runs and questions (R, Q), and the p of its being 0.

    The variance is that of the questions' means over their number and that of the runs' means over theirs; a single run
    has none. Degrees of freedom are Satterthwaite's.
    """
    seen = np.where(present, difference, 0.0)
    parts = []
    for axis in (0, 1):  # questions' means, then runs'
        count = present.sum(axis=axis)
        mean = seen.sum(axis=axis)[count > 0] / count[count > 0]
        if mean.size > 1:
            parts.append((float(mean.var(ddof=1)) / mean.size, mean.size - 1))
    total = sum(part for part, _ in parts)
    centre = float(_mean(difference[None], present)[0])
    if total <= 0:
        return 0.0, 1.0 if abs(centre) <= ROUNDING else 0.0
    freedom = total**2 / sum(part**2 / free for part, free in parts)
    return float(total**0.5), float(2 * stdtr(freedom, -abs(centre) / total**0.5))


def pigeonholes(difference: Floats, present: Flags, *, draws: int, seed: int = 0) -> Floats:
    """Return the two-sided p (M) of mean differences (M, R, Q) when runs and questions are drawn anew, together."""
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    M, R, Q = difference.shape
    rng, centre = np.random.default_rng(seed), _mean(difference, present)
    seen = np.where(present, difference, 0.0).reshape(M * R, Q).T  # (Q, M * R)
    several = [size for size in (R, Q) if size > 1]
    stretch = (min(several) / (min(several) - 1)) ** 0.5 if several else 1.0  # n draws of n spread by (n - 1) / n
    reached = np.zeros(M)
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        u, v = (rng.multinomial(n, np.full(n, 1 / n), size).astype(float) for n in (R, Q))  # (B, R) and (B, Q)
        count = (v @ present.T.astype(float) * u).sum(axis=1)  # (B)
        total = ((v @ seen).reshape(size, M, R) * u[:, None, :]).sum(axis=2)  # (B, M)
        mean = total / np.maximum(count, 1)[:, None]
        far = np.abs(mean - centre) * stretch >= np.abs(centre) - ROUNDING
        reached += (far | (count == 0)[:, None]).sum(axis=0)
    p: Floats = (1 + reached) / (1 + draws)
    return p


def _mean(difference: Floats, present: Flags) -> Floats:
    """Return the mean of each method (M) over what is there."""
    mean: Floats = np.where(present, difference, 0.0).sum(axis=(1, 2)) / max(int(present.sum()), 1)
    return mean


# The study of paper 004: whether weights help a ranker that learns from a crowd, on real text, with many crowds.
#
# Every method learns in five folds by question, with a c of its own that is chosen inside the folds that it learns
# from; what it ranks it has not seen. Rankings are held against the truth, and against the vote as in the paper;
# questions without a relevant candidate are left out. A value is the mean over questions and runs, each run with a
# crowd (where it is drawn) and folds of its own; its spread is that of the folds. Methods are held against CA and
# LPTC, and those with trees against trees, by tests that see both questions and runs, with Holm's correction for the
# number of methods.

Each: TypeAlias = Callable[[Callable[[Job], Cell], Iterable[Job]], Iterator[Cell]]
Say: TypeAlias = Callable[[str], None]

RUNS = 10
TRACES = (("xquad_sentences", "paper"), ("xquad_sentences", "noisy"), ("qa_wikiqa", "noisy"))  # where c varies
TRACE_RUNS = 5
AGAINST = ("CA", "LPTC", "LM CA")  # the last for what has trees
TITLE = "learning to rank from a crowd: weights, posteriors, soft labels"
PAPER = "Abad and Moschitti 2016 (paper 004), table 1 and figure 1"


class Result(NamedTuple):
    """What one method reached on one crowd."""

    set: str
    crowd: str
    method: str
    c: float | None  # that was given, None where each fold has its own
    chosen: float | None  # the median c over runs and folds
    questions: int
    runs: int
    mean: dict[str, dict[str, float]]  # by target and measure
    spread: dict[str, dict[str, float]]  # over folds
    values: dict[str, Floats]  # (runs) by measure, held against the truth
    held: dict[str, dict[str, Held]]  # by other method and measure


class Shown(NamedTuple):
    """A table for people."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Found:
    """What the study found."""

    cells: tuple[Cell, ...]
    draws: int = DRAWS
    interrupted: bool = False

    def __repr__(self) -> str:
        return f"Found(rerank: {len(self.cells)} cells of {len({(c.job.set, c.job.crowd) for c in self.cells})} crowds)"

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """Every method on every crowd, at every c."""
        found = []
        for _, group in groupby(sorted(self.cells, key=_order), key=_order):
            found += _results(list(group), self.draws)
        return tuple(found)

    def at(self, name: str, crowd: str, c: float | None = None) -> list[Result]:
        """Return the methods on one crowd."""
        return [r for r in self.results if (r.set, r.crowd, r.c) == (name, crowd, c)]

    def places(self) -> list[tuple[str, str]]:
        """Return the sets and crowds, in the study's order."""
        return list(dict.fromkeys((r.set, r.crowd) for r in self.results))

    def facts(self, name: str, crowd: str) -> dict[str, float]:
        """Return what describes a crowd, as means over runs."""
        told = [c.facts for c in self.cells if (c.job.set, c.job.crowd, c.job.c) == (name, crowd, None)]
        return {key: float(np.mean([one[key] for one in told])) for key in told[0]}

    def columns(self) -> dict[str, list[Any]]:
        """Return the study as named columns, a row for each set, crowd, method, c, target and measure."""
        rows: list[dict[str, Any]] = []
        for r in self.results:
            for target in TARGETS:
                for measure in MEASURES:
                    row: dict[str, Any] = {"set": r.set, "crowd": r.crowd, "method": r.method, "given_c": r.c}
                    row |= {"c": r.chosen, "target": target, "measure": measure, "value": r.mean[target][measure]}
                    row |= {"fold_spread": r.spread[target][measure], "questions": r.questions, "runs": r.runs}
                    for other in AGAINST:
                        test = r.held.get(other, {}).get(measure) if target == "truth" else None
                        row |= {f"over_{other}": test and test.difference, f"over_{other}_error": test and test.error}
                        row |= {f"p_t_{other}": test and test.t, f"p_drawn_{other}": test and test.drawn}
                        row[f"p_{other}"] = test and test.p
                    rows.append(row)
        return {name: [row[name] for row in rows] for name in rows[0]}

    def tables(self) -> list[Shown]:
        """Return what weighting gains by crowd, and a table of each crowd, in percent as the paper has it."""
        return [*self.gains(), *(self._table(*place) for place in self.places())]

    def gains(self) -> list[Shown]:
        """Return a table of each set: by how much methods are above CA by MRR, crowd by crowd."""
        found = []
        for name in dict.fromkeys(place[0] for place in self.places()):
            crowds = [crowd for own, crowd in self.places() if own == name]
            by = {crowd: {r.method: r for r in self.at(name, crowd)} for crowd in crowds}
            methods = [m for m in METHODS if m != "CA" and any(m in of for of in by.values())]
            rows = [[m, *(_gain(by[crowd].get(m)) for crowd in crowds)] for m in methods]
            title = f"{name}: MRR above CA in points, by crowd (* p < .05 over questions and runs, corrected)"
            found.append(Shown(title, ["method", *crowds], rows))
        return found

    def warnings(self) -> list[str]:
        """Return what the reader must know."""
        told = [f"interrupted; {len(self.cells):,} cells are finished"] if self.interrupted else []
        if find_spec("lightgbm") is None:
            told.append("LambdaMART is left out: pip install 'adjudge[lightgbm]'")
        return told

    def curves(self) -> list[tuple[str, float, str, dict[str, Floats]]]:
        """Return panel, c, method and each run's measures in percent, where c was varied."""
        return [
            (f"{r.set}, crowd {r.crowd}", r.c, r.method, {m: 100 * v for m, v in r.values.items()})
            for r in sorted((r for r in self.results if r.c is not None), key=lambda r: r.c or 0.0)
            if r.c is not None and r.method in TRACED
        ]

    def _table(self, name: str, crowd: str) -> Shown:
        """Return table 1 for one crowd."""
        facts, results = self.facts(name, crowd), self.at(name, crowd)
        told = (
            f"{name}, crowd {crowd}: {facts['full']:.0%} full agreement, the vote is right on "
            f"{facts['vote_accuracy']:.1%}; {results[0].questions:,} questions, {results[0].runs} runs; in percent"
        )
        head = ("method", *MEASURES, "MRR by vote", "c", "over CA", "p by t", "p by draws", "p", "over LPTC", "p")
        return Shown(told, head, [_row(result) for result in results])


def rerank(
    data: Path,
    sets: Sequence[str] | None = None,
    *,
    runs: int | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    keep: Path | None = None,
    workers: int = 1,
    say: Say | None = None,
    each: Each = map,
) -> Found:
    """Run the study; finished cells are kept in ``keep``, and are not made again. Ctrl-C ends it with those."""
    names = list(dict.fromkeys(SETS if sets is None else sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    if keep is None:
        with TemporaryDirectory() as folder:
            return _run(data, names, runs or RUNS, seed, draws, Path(folder), workers, say, each)
    keep.mkdir(parents=True, exist_ok=True)
    return _run(data, names, runs or RUNS, seed, draws, keep, workers, say, each)


def jobs(
    data: Path, keep: Path, names: Sequence[str], runs: int, seed: int, marks: Mapping[str, str] | None = None
) -> list[Job]:
    """Return all cells of the study: runs in the outer loop, so that all crowds have a few before any has all."""
    mark = marks or {}
    found = []
    for name in names:
        crowds = [(crowd, run) for run in range(runs) for crowd in crowds_of(name)]
        found += [Job(str(data), str(keep), name, crowd, run, seed, None, mark.get(name, "")) for crowd, run in crowds]
        found += [
            Job(str(data), str(keep), name, crowd, run, seed, c, mark.get(name, ""))
            for own, crowd in TRACES
            if own == name
            for run in range(min(runs, TRACE_RUNS))
            for c in GRID
        ]
    return found


def _run(
    data: Path,
    names: Sequence[str],
    runs: int,
    seed: int,
    draws: int,
    keep: Path,
    workers: int,
    say: Say | None,
    each: Each,
) -> Found:
    """Make what is not there, and gather all."""
    tell = say or (lambda _: None)
    every = jobs(data, keep, names, runs, seed, {name: mark_of(data, name) for name in names})
    have = {job: cell for job in every if (cell := kept(job)) is not None}
    missing = [job for job in every if job not in have]
    interrupted, begun = False, time.monotonic()
    try:
        prepared(data, keep, list(dict.fromkeys(job.set for job in missing)), tell, workers)
        for done, cell in enumerate(each(made, missing), 1):
            have[cell.job] = cell
            tell(progress(len(have), len(every), (time.monotonic() - begun) / done * (len(missing) - done), cell.job))
    except KeyboardInterrupt:
        if not have:
            raise
        interrupted = True
    return Found(tuple(have[job] for job in every if job in have), draws, interrupted)


def progress(done: int, all_: int, seconds: float, job: Job) -> str:
    """Return a bar, and how long the rest may take."""
    full = round(20 * done / all_)
    left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    return f"[{'#' * full}{'-' * (20 - full)}] {done:,} of {all_:,}, {left} left: {job.set}, {job.crowd}"


def _order(cell: Cell) -> tuple[int, int, float]:
    """Return where a cell stands in the study."""
    sets = list(SETS)
    return sets.index(cell.job.set), crowds_of(cell.job.set).index(cell.job.crowd), cell.job.c or 0.0


def _results(cells: Sequence[Cell], draws: int) -> list[Result]:
    """Return every method on one crowd, at one c or each at its own."""
    job = cells[0].job
    methods = [method for method in METHODS if all(method in cell.values for cell in cells)]
    values, present = _by_question(cells, methods)
    tests = _tests(values, present, methods, draws) if job.c is None else {m: {} for m in methods}
    found = []
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
        found.append(Result(job.set, job.crowd, m, job.c, chosen, size, len(cells), mean, spread, runs, tests[m]))
    return found


def _by_question(cells: Sequence[Cell], methods: Sequence[str]) -> tuple[Floats, Flags]:
    """Return every question's measures in every run (K, M, R, Q), and which runs have it (R, Q)."""
    names = list(dict.fromkeys(q for cell in cells for q in cell.questions))
    place = {q: n for n, q in enumerate(names)}
    values = np.zeros((len(MEASURES), len(methods), len(cells), len(names)))
    present = np.zeros((len(cells), len(names)), dtype=bool)
    for r, cell in enumerate(cells):
        at = [place[q] for q in cell.questions]
        present[r, at] = True
        for k, measure in enumerate(MEASURES):
            for m, method in enumerate(methods):
                values[k, m, r, at] = cell.values[method][measure]
    return values, present


def _tests(values: Floats, present: Flags, methods: Sequence[str], draws: int) -> dict[str, dict[str, dict[str, Held]]]:
    """Return, by method, other method and measure, how they compare."""
    found: dict[str, dict[str, dict[str, Held]]] = {m: {} for m in methods}
    for other in AGAINST:
        rivals = [m for m in methods if m != other and (other not in BOOSTED or m in BOOSTED)]
        if other not in methods or not rivals or present.shape[1] < 2:
            continue
        at = [methods.index(m) for m in rivals]
        for k, measure in enumerate(MEASURES):
            tests = held(values[k][at], values[k][methods.index(other)], present, draws=draws)
            for m, test in zip(rivals, tests, strict=True):
                found[m].setdefault(other, {})[measure] = test
    return found


def _gain(result: Result | None) -> str | None:
    """Return how far a method is above CA by MRR, with a star where that is sure."""
    if result is None or "CA" not in result.held:
        return None
    test = result.held["CA"]["MRR"]
    return f"{100 * test.difference:+.2f}{'*' if test.p < 0.05 else ''}"


def _row(result: Result) -> list[Any]:
    """Return a method's row of table 1."""
    mean, spread = result.mean["truth"], result.spread["truth"]
    row: list[Any] = [result.method]
    row += [f"{100 * mean[k]:.2f}±{100 * spread[k]:.2f}" for k in MEASURES]
    row.append(f"{100 * result.mean['vote']['MRR']:.2f}")
    row.append(None if result.chosen is None else power(result.chosen))
    over, best = (result.held.get(other, {}).get("MRR") for other in ("CA", "LPTC"))
    row += [None] * 4 if over is None else [f"{100 * over.difference:+.2f}", *map(_p, (over.t, over.drawn, over.p))]
    row += [None] * 2 if best is None else [f"{100 * best.difference:+.2f}", _p(best.p)]
    return row


def power(c: float) -> str:
    """Return a c as a power of two."""
    return f"2^{np.log2(c):.0f}"


def _p(p: float) -> str:
    """Return a p value in short."""
    return "< .001" if p < 0.0005 else f"{p:.3f}".replace("0.", ".", 1)
