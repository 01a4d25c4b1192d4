"""The cells of the study of calibration: the scores of one model on one set, stored on disk.

A cell depends on its name and its mark (a digest of data and code) alone. So cells can be computed in parallel and in
any order, and finished ones are reused. Accuracy counts ties by their shares. Reliability is that of the most likely
label, so that sets with different numbers of labels can be pooled; ECE is that of ``metrics.probabilities``.
"""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.read import read
from adjudge.data.write import write_file
from adjudge.errors import AdjudgeError, AdjudgeWarning, UsageError
from adjudge.inference.calibrate import calibrated
from adjudge.inference.chains import Run
from adjudge.inference.components import winners
from adjudge.inference.fit import AUTO, fit
from adjudge.inference.gold_map import FEWEST
from adjudge.inference.model import MODELS, model_named
from adjudge.inference.result import Fit
from adjudge.metrics.probabilities import brier, by_width, calibration, log_loss
from studies.datasets import GOLD, LABELS, META, TRAINED_ON_SETS, Crowd, gold_folds, read_crowd, read_meta
from studies.marks import contents, digest, version_of

FORMAT = 1  # of a stored cell; a cell of another format is computed again
OWN, JUDGMENTS, BY_GOLD = "own", "judgments", "gold"  # the kinds of calibration
LEARNED = ("dawid-skene", "hybrid-confusion", "minimax-entropy")  # models that are also calibrated by gold
METHODS = (*(name for name in MODELS if name not in TRAINED_ON_SETS), AUTO)
SHORT = Run(2, 200, 200)  # of models that can only be sampled: enough for probabilities, not for tails
FOLDS = 5
BINS = 20
MOST = 20  # labels; sets with more have numbers
CODE = (  # whose changes make cells outdated
    "src/adjudge/inference/*.py",
    "src/adjudge/models/*.py",
    "src/adjudge/kernels/*.py",
    "src/adjudge/data/*.py",
    "src/adjudge/metrics/probabilities.py",
    "studies/calibration_cells.py",
    "studies/datasets.py",
)
LIBRARIES = ("numpy", "scipy", "numba", "polars")


class Job(NamedTuple):
    """A cell to compute."""

    data: str  # folder of the sets
    keep: str  # folder of the cells
    set: str
    model: str
    seed: int
    mark: str  # of data and code
    size: int  # judgments

    @property
    def path(self) -> Path:
        """The file of the cell."""
        return Path(self.keep) / f"calibration-{self.set}-{self.model}-{self.seed}-{self.mark}.json"


class Scores(NamedTuple):
    """The scores of probabilities."""

    accuracy: float
    log_loss: float
    brier: float
    ece: float
    bins: Floats  # (3, B) by bin: items, and sums of the largest probability and of its hits


class Cell(NamedTuple):
    """One model on one set, with the scores of each kind of calibration."""

    job: Job
    items: int  # with gold
    labels: int  # of the scale
    ways: Mapping[str, Scores]
    dependence: float  # evidence of correlated errors, in standard deviations
    hedge: float  # weight of the vote in calibrated probabilities
    stopped: str  # how the fit ended
    seconds: float
    left_out: str = ""  # why there is no calibration by gold, or nothing at all


def read_set(folder: Path, name: str) -> Crowd:
    """Return a set, with ordered labels if its meta.json says so; refuse a set of numbers."""
    labels = folder / name / LABELS
    if labels.is_file() and (K := len(read(str(labels)).scale)) > MOST:
        raise UsageError(f"set '{name}' has {K} labels, which are numbers: the study is of {MOST} labels at most")
    crowd = read_crowd(folder, name, ("label",), read_meta(folder / name / META).get("ordinal") is True)
    if not crowd.truth.size:
        raise UsageError(f"set '{name}' has no judged item with gold")
    return crowd


def read_cell(job: Job) -> Cell | None:
    """Return a stored cell, None if there is none with this mark."""
    try:
        values = json.loads(job.path.read_bytes())
        if (values.pop("format"), values.pop("mark")) != (FORMAT, job.mark):
            return None
        ways = {
            name: Scores(**{**scores, "bins": np.array(scores["bins"], float)})
            for name, scores in values.pop("ways").items()
        }
        return Cell(job, ways=ways, **values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def make_cell(job: Job) -> Cell:
    """Compute a cell and store it."""
    began = time.perf_counter()
    with _reraise_interrupt(), warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the study reports how fits ended
        cell = _cell(job, _crowd(job.data, job.set, job.mark))
    cell = cell._replace(seconds=time.perf_counter() - began)
    write_file(json.dumps(_plain(cell)).encode(), job.path)
    return cell


def score_posterior(crowd: Crowd, probability: Floats) -> Scores:
    """Return the scores of the probabilities (M, K) of the scored items."""
    p = np.minimum(probability, 1.0)  # rounding may give slightly more
    likeliest = p.max(axis=1)
    right = winners(p)[np.arange(crowd.truth.size), crowd.truth]  # (M) 1 if correct; a share for ties
    bin_of = by_width(likeliest, BINS)
    bins = [np.bincount(bin_of, part, BINS) for part in (np.ones(bin_of.size), likeliest, right)]
    losses = log_loss(crowd.truth, p), brier(crowd.truth, p), calibration(crowd.truth, p).ece
    loss, square, error = (float(each or 0.0) for each in losses)  # never None, since a set has items
    return Scores(float(right.mean()), loss, square, error, np.array(bins))


def mark_of(folder: Path, code: str) -> str:
    """Return the mark of the cells of a set, from its folder and the digest of the code."""
    return digest([code.encode(), *contents(folder, (folder / name for name in (LABELS, GOLD, META)))])


def code_mark() -> str:
    """Return a digest of the source code of cells and of the versions of libraries."""
    root = Path(__file__).parents[1]
    paths = sorted(path for pattern in CODE for path in root.glob(pattern))
    return digest([*(f"{library} {version_of(library)}".encode() for library in LIBRARIES), *contents(root, paths)])


@lru_cache(maxsize=1)
def _crowd(data: str, name: str, mark: str) -> Crowd:
    """Return a set, read once by each process as long as its mark is the same."""
    return read_set(Path(data), name)


@contextmanager
def _reraise_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt after Ctrl-C, also if a fit has ended early without raising it."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or current_thread() is not main_thread():
        yield
        return
    pressed = list[bool]()

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(True)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _cell(job: Job, crowd: Crowd) -> Cell:
    """Score the probabilities of a model, and calibrated ones."""
    cell = Cell(job, crowd.truth.size, len(crowd.judgments.scale), {}, 0.0, 0.0, "", 0.0)
    try:
        fitted = _fitted(job, crowd)
        hedged = calibrated(fitted, crowd.judgments, None, JUDGMENTS)
    except AdjudgeError as reason:
        return cell._replace(left_out=str(reason))
    posteriors = {OWN: fitted.posterior, JUDGMENTS: hedged.posterior}
    ways = {name: score_posterior(crowd, posterior[crowd.item]) for name, posterior in posteriors.items()}
    left_out = ""
    if job.model in LEARNED:
        try:
            ways[BY_GOLD] = score_posterior(crowd, _gold_calibrated(job, crowd))
        except UsageError as reason:
            left_out = str(reason)
    summary = hedged.calibration
    z, hedge = (0.0, 0.0) if summary is None else (summary.dependence, summary.hedge)
    return cell._replace(ways=ways, dependence=z, hedge=hedge, stopped=fitted.stopped, left_out=left_out)


def _gold_calibrated(job: Job, crowd: Crowd) -> Floats:
    """Return probabilities (M, K) calibrated by gold, each by a fit and a calibration without its truth."""
    least = crowd.truth.size - -(-crowd.truth.size // FOLDS)  # gold items for the smallest fold
    if least < FEWEST:
        raise UsageError(f"{crowd.truth.size} items with gold are too few: {FEWEST} are needed beside a fold")
    posterior = np.empty((crowd.truth.size, len(crowd.judgments.scale)))
    for gold, scored in gold_folds(crowd, FOLDS, job.seed):
        posterior[scored] = _fitted(job, crowd, gold=gold, calibrate="gold").posterior[crowd.item[scored]]
    return posterior


def _fitted(job: Job, crowd: Crowd, **options: Any) -> Fit:
    """Return the fit of a model by its fastest inference, in one thread, since cells run in parallel."""
    options = {"calibrate": "none", "seed": job.seed, "workers": 1, **options}
    if job.model != AUTO:
        options["inference"] = quick = model_named(job.model).inferences[-1]
        options["run"] = SHORT if quick == "gibbs" else None
    return fit(crowd.judgments, job.model, **options)


def _plain(cell: Cell) -> dict[str, Any]:
    """Return a cell as plain values for JSON."""
    ways = {name: {**scores._asdict(), "bins": scores.bins.tolist()} for name, scores in cell.ways.items()}
    rest = {name: value for name, value in cell._asdict().items() if name not in ("job", "ways")}
    return {"format": FORMAT, "mark": cell.job.mark, "ways": ways, **rest}
