"""The cells of the study of paper 004: the scores of all methods with one crowd on one set, stored on disk.

A cell depends on its name and its mark (a digest of data, methods and code) alone. So cells can be computed in parallel
and in any order, and finished ones are reused. A cell also has the time that it took. A mark is a digest of the files
of the set, the methods, the crowds, the values of c, the versions of libraries, and the source code of all modules that
compute a cell.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.write import write_file
from adjudge.learn.folds import FOLDS, fold_of
from adjudge.learn.scikit import threadpool_limits
from adjudge.learn.topic_scores import MEASURES, score_groups
from studies.marks import contents, digest, version_of
from studies.rerank import sets as study_sets
from studies.rerank.choice import CHOICE
from studies.rerank.crowds import REGIMES, Crowd, draw_crowd, full_agreement, regime_named, table
from studies.rerank.methods import METHODS, TREES, Method, Scored, Task, able, scored
from studies.rerank.sets import Rows, folder_of, read_rows

FORMAT = 2  # of a stored cell; a cell of another format is computed again
TARGETS = ("truth", "vote")  # the labels that rankings are scored with
GRID = tuple(2.0**e for e in range(-24, 5, 4))  # values of c for figure 1
TRACED = ("RE", "CA", "L", "LPTC", "DS pairs")  # methods of figure 1
SLOW = tuple((name, crowd) for name in ("xquad_sentences", "qa_wikiqa", "trecqa_letor") for crowd in ("paper", "noisy"))
# crowds on which LambdaMART is trained as well
PACKAGES = (
    "src/adjudge/learn",
    "src/adjudge/inference",
    "src/adjudge/models",
    "src/adjudge/kernels",
    "src/adjudge/data",
    "studies/rerank",
)  # packages whose changes make cells outdated
LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "lightgbm")
UNASKED = ("RE", "gold", "LM gold")  # methods that do not use the crowd


class Job(NamedTuple):
    """A cell to compute."""

    data: str  # folder of the sets
    keep: str  # folder of the cells
    set: str
    crowd: str  # a simulated regime, or the real crowd
    run: int
    seed: int
    c: float | None = None  # None: every method chooses c
    mark: str = ""  # of data, methods and code
    methods: tuple[str, ...] = ()  # all if there are none

    @property
    def path(self) -> Path:
        """The file of the cell."""
        c = "" if self.c is None else f"-c{self.c:g}"
        name = f"{self.set}-{self.crowd}-{self.seed}-{self.run}{c}-{self.mark}".replace(" ", "_")
        return Path(self.keep) / f"{name}.json"


class Cell(NamedTuple):
    """The scores of all methods."""

    job: Job
    facts: Mapping[str, float]
    questions: Sequence[str]  # (Q) with a relevant candidate
    values: Mapping[str, Mapping[str, Floats]]  # (Q) by method and measure, with the truth as labels
    voted: Mapping[str, Mapping[str, float]]  # by method and measure, with the vote as labels: means over questions
    folds: Mapping[str, Mapping[str, Mapping[str, Floats]]]  # (5) by method, target and measure
    c: Mapping[str, Floats]  # (5) by method, empty if the method has no c


def read_cell(job: Job) -> Cell | None:
    """Return a stored cell, None if there is none with this mark."""
    try:
        stored = json.loads(job.path.read_bytes())
        if (stored["format"], stored["mark"]) != (FORMAT, job.mark) or set(stored["values"]) - set(METHODS):
            return None
        values = {m: {name: np.array(v) for name, v in of.items()} for m, of in stored["values"].items()}
        folds = {
            m: {t: {name: np.array(v) for name, v in of.items()} for t, of in targets.items()}
            for m, targets in stored["folds"].items()
        }
        c = {m: np.array(v) for m, v in stored["c"].items()}
        return Cell(job, stored["facts"], stored["questions"], values, stored["voted"], folds, c)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def make_cell(job: Job) -> Cell:
    """Return a cell, computed and stored unless it is stored already."""
    before = read_cell(job)
    if before is not None:
        return before
    with threadpool_limits(1):  # cells run in parallel
        rows, wall, cpu = _rows(job.data, job.keep, job.set), time.perf_counter(), time.process_time()
        cell = _cell(job, rows)
        spent = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        cell = cell._replace(facts={**cell.facts, **spent})
    job.path.parent.mkdir(parents=True, exist_ok=True)
    write_file(json.dumps(_plain(cell)).encode(), job.path)
    return cell


def mark_of(data: Path, name: str) -> str:
    """Return the mark of the cells of one set."""
    parts = [repr((m.name, m.summary, m.needs, m.again)) for m in METHODS.values()]
    parts += [repr(tuple(regime)) for regime in REGIMES.values()]
    parts += [repr(CHOICE), repr(TREES), code_mark(), *(f"{library} {version_of(library)}" for library in LIBRARIES)]
    folder = folder_of(data, name)
    return digest([*(part.encode() for part in parts), *contents(folder, sorted(folder.rglob("*")))])


def code_mark() -> str:
    """Return a digest of the source code of cells."""
    root = Path(__file__).parents[2]
    return digest(contents(root, sorted(path for package in PACKAGES for path in (root / package).rglob("*.py"))))


def crowd_names(name: str) -> list[str]:
    """Return the crowds of a set: its real crowd if it has one, and simulated ones if the truth is known."""
    real = {"xquad_sentences": ["shipped"], "cast_snippets": ["real"], "nyt_passages": ["real"]}.get(name, [])
    return real + ([] if real == ["real"] else list(REGIMES))


def _cell(job: Job, rows: Rows) -> Cell:
    """Train every method, and score its rankings of held-out folds."""
    rng = np.random.default_rng([job.seed, job.run, zlib.crc32(f"{job.set} {job.crowd}".encode())])
    crowd, truth = _crowd(rows, job.crowd, rng)
    fold = _fold(job, rows)
    task = Task(rows, crowd, truth, job.c)
    targets = dict(zip(TARGETS, (truth, task.majority), strict=True))
    values, voted, folds, cs, questions = {}, {}, {}, {}, list[str]()
    names = list(dict.fromkeys(rows.question.tolist()))
    for method in able(task, boosted=(job.set, job.crowd) in SLOW):
        if method.name not in (TRACED if job.c is not None else job.methods or METHODS):
            continue
        score, cs[method.name] = _scored(job, task, method, fold)
        by_truth, by_vote = (score_groups(score, target, rows.question, rows.document) for target in targets.values())
        questions = [names[g] for g in by_truth.group.tolist()]
        values[method.name] = {name: by_truth.values[name].round(6) for name in MEASURES}
        voted[method.name] = {name: round(mean, 6) for name, mean in by_vote.means().items()}
        folds[method.name] = {name: _by_fold(score, target, rows, fold) for name, target in targets.items()}
    return Cell(job, _facts(task, fold), questions, values, voted, folds, cs)


def _scored(job: Job, task: Task, method: Method, fold: Codes) -> Scored:
    """Return the scores of a method; without the crowd, they are the same for all crowds of a run."""
    if method.name not in UNASKED or task.rows.truth is None:
        return scored(task, method, fold)
    return _unasked(job._replace(crowd=""), method.name)


@lru_cache(maxsize=8)
def _unasked(job: Job, name: str) -> Scored:
    """Return the scores of a method that does not use the crowd."""
    rows = _rows(job.data, job.keep, job.set)
    assert rows.truth is not None
    nobody = Crowd(table(np.zeros((0, 1), np.int64), np.zeros((0, 1), np.uint8), []), {})
    return scored(Task(rows, nobody, rows.truth, job.c), METHODS[name], _fold(job, rows))


def _fold(job: Job, rows: Rows) -> Codes:
    """Return the folds of a run (N)."""
    return fold_of(rows.question, FOLDS, job.seed + job.run)


def _crowd(rows: Rows, name: str, rng: np.random.Generator) -> tuple[Crowd, Flags]:
    """Return the crowd of a cell, and which rows are relevant."""
    if rows.crowd is not None and name == rows.crowd_name:
        return rows.crowd(rng)
    assert rows.truth is not None  # crowds are simulated only if the truth is known
    return draw_crowd(rows.truth, regime_named(name), rng, rows.bm25), rows.truth


def _by_fold(score: Floats, target: Flags, rows: Rows, fold: Codes) -> dict[str, Floats]:
    """Return the mean of every measure in each fold (5)."""
    parts = [np.flatnonzero(fold == k) for k in range(FOLDS)]
    means = [score_groups(score[p], target[p], rows.question[p], rows.document[p]).means() for p in parts]
    return {name: np.array([mean[name] for mean in means]).round(6) for name in MEASURES}


def _facts(task: Task, fold: Codes) -> dict[str, float]:
    """Return statistics of a crowd."""
    judgments = task.crowd.judgments
    judged = np.bincount(judgments.judge, minlength=len(judgments.judges))
    right = (judgments.label == task.truth[judgments.item()]).astype(float)
    accuracy = np.bincount(judgments.judge, right, judged.size)[judged > 0] / judged[judged > 0]
    busy = judged[judged > 0]
    alike = accuracy.std() == 0 or busy.std() == 0
    return {
        "rows": float(fold.size),
        "judges": float(busy.size),
        "judgments": float(len(judgments)),
        "least": float(busy.min()),
        "most": float(busy.max()),
        "full": full_agreement(judgments),
        "judge_accuracy": float(right.mean()),
        "relation": 0.0 if alike else float(np.corrcoef(np.log(busy), accuracy)[0, 1]),
        "vote_accuracy": float((task.majority == task.truth).mean()),
        "relevant": float(task.truth.mean()),
    }


def _plain(cell: Cell) -> dict[str, Any]:
    """Return a cell as plain values for JSON."""
    return {
        "format": FORMAT,
        "mark": cell.job.mark,
        "set": cell.job.set,
        "crowd": cell.job.crowd,
        "run": cell.job.run,
        "seed": cell.job.seed,
        "given_c": cell.job.c,
        "c": {m: v.tolist() for m, v in cell.c.items()},
        "voted": {m: dict(of) for m, of in cell.voted.items()},
        "facts": dict(cell.facts),
        "questions": list(cell.questions),
        "values": {m: {name: v.tolist() for name, v in of.items()} for m, of in cell.values.items()},
        "folds": {
            m: {t: {name: v.tolist() for name, v in of.items()} for t, of in targets.items()}
            for m, targets in cell.folds.items()
        },
    }


@lru_cache(maxsize=1)
def _rows(data: str, keep: str, name: str) -> Rows:
    """Return a set, which each process reads once."""
    return read_rows(Path(data), name, lambda _: None, Path(keep), 1)


def prepare_sets(data: Path, keep: Path, names: Sequence[str], say: study_sets.Say, workers: int) -> None:
    """Read every set once, so that errors appear at once and features are computed before the cells."""
    for name in names:
        read_rows(data, name, say, keep, workers)
