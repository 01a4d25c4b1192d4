"""The cells of the study of calibration: one model on one set, measured three ways, and kept on disk when done.

A cell is a function of its name and its mark, which tells data and code, so that cells can be made anywhere and in any
order, and what is there need not be made again. Accuracy gives ties their shares. Reliability is that of the likeliest
label, whatever the number of labels, so that sets can be shown together; ECE is that of ``score.calibration``.
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
from adjudge.inference.calibrate import FEWEST, calibrated
from adjudge.inference.chains import Run
from adjudge.inference.components import winners
from adjudge.inference.fit import AUTO, fit
from adjudge.inference.registry import MODELS, model_named
from adjudge.inference.result import Fit
from adjudge.metrics.probabilities import brier, by_width, calibration, log_loss
from studies.crowds import GOLD, LABELS, META, Crowd, read_crowd, told_of
from studies.folds import told_in_folds
from studies.marks import contents, digest, version_of

FORMAT = 1  # of a cell; one of another format is made anew
OWN, JUDGMENTS, BY_GOLD = "own", "judgments", "gold"  # the three ways
LEARNED = ("dawid-skene", "hybrid-confusion", "minimax-entropy")  # models that are calibrated by gold, too
METHODS = (*MODELS, AUTO)
SHORT = Run(2, 200, 200)  # of a model that is sampled only: enough for probabilities, not for tails
FOLDS = 5
BINS = 20
MOST = 20  # labels; more are numbers
CODE = (  # that makes a cell: a change of the others leaves it as it is
    "src/adjudge/inference/*.py",
    "src/adjudge/models/*.py",
    "src/adjudge/kernels/*.py",
    "src/adjudge/data/*.py",
    "src/adjudge/metrics/probabilities.py",
    "studies/calibration_cells.py",
    "studies/crowds.py",
    "studies/folds.py",
)
LIBRARIES = ("numpy", "scipy", "numba", "polars")


class Job(NamedTuple):
    """A cell to be made."""

    data: str  # folder of the sets
    keep: str  # folder of the cells
    set: str
    model: str
    seed: int
    mark: str  # of data and code
    size: int  # judgments

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return Path(self.keep) / f"calibration-{self.set}-{self.model}-{self.seed}-{self.mark}.json"


class Way(NamedTuple):
    """What probabilities are worth."""

    accuracy: float
    log_loss: float
    brier: float
    ece: float
    bins: Floats  # (3, B) items, sums of the likeliest label's probability, and how many of these labels are right


class Cell(NamedTuple):
    """One model on one set."""

    job: Job
    items: int  # with gold
    labels: int  # of the scale
    ways: Mapping[str, Way]
    dependence: float  # deviations by which judges are seen to err together
    hedge: float  # the vote's share in calibrated probabilities
    stopped: str  # how the fit ended
    seconds: float
    left_out: str = ""  # why there is no calibration by gold, or nothing at all


def read_set(folder: Path, name: str) -> Crowd:
    """Return a set, its labels in order where its meta.json says that they have one; refuse one without labels."""
    labels = folder / name / LABELS
    if labels.is_file() and (K := len(read(str(labels)).scale)) > MOST:
        raise UsageError(f"set '{name}' has {K} labels, which are numbers: the study is of {MOST} labels at most")
    crowd = read_crowd(folder, name, ("label",), told_of(folder / name / META).get("ordinal") is True)
    if not crowd.truth.size:
        raise UsageError(f"set '{name}' has no judged item with gold")
    return crowd


def kept(job: Job) -> Cell | None:
    """Return a cell that is there, None where there is none of this mark that can be read."""
    try:
        found = json.loads(job.path.read_bytes())
        if (found.pop("format"), found.pop("mark")) != (FORMAT, job.mark):
            return None
        ways = {name: Way(**{**way, "bins": np.array(way["bins"], float)}) for name, way in found.pop("ways").items()}
        return Cell(job, ways=ways, **found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def made(job: Job) -> Cell:
    """Make a cell, and keep it."""
    began = time.perf_counter()
    with _whole(), warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the study tells how fits ended
        cell = _cell(job, _crowd(job.data, job.set, job.mark))
    cell = cell._replace(seconds=time.perf_counter() - began)
    write_file(json.dumps(_plain(cell)).encode(), job.path)
    return cell


def measured(crowd: Crowd, probability: Floats) -> Way:
    """Return what probabilities (M, K) of the scored items are worth."""
    p = np.minimum(probability, 1.0)  # a sum of shares may be a hair above
    likeliest = p.max(axis=1)
    right = winners(p)[np.arange(crowd.truth.size), crowd.truth]  # (M) of ties, their share
    place = by_width(likeliest, BINS)
    bins = [np.bincount(place, part, BINS) for part in (np.ones(place.size), likeliest, right)]
    losses = log_loss(crowd.truth, p), brier(crowd.truth, p), calibration(crowd.truth, p).ece
    loss, square, error = (float(each or 0.0) for each in losses)  # none is None: a set has items
    return Way(float(right.mean()), loss, square, error, np.array(bins))


def mark_of(folder: Path, code: str) -> str:
    """Return the mark of the cells of the set in a folder, made by some code."""
    return digest([code.encode(), *contents(folder, (folder / name for name in (LABELS, GOLD, META)))])


def code_mark() -> str:
    """Return the digest of the source that makes cells, and of the libraries that move the numbers."""
    root = Path(__file__).parents[1]
    paths = sorted(path for pattern in CODE for path in root.glob(pattern))
    return digest([*(f"{one} {version_of(one)}".encode() for one in LIBRARIES), *contents(root, paths)])


@lru_cache(maxsize=1)
def _crowd(data: str, name: str, mark: str) -> Crowd:
    """Return a set, read once by each process as long as its mark is the same."""
    return read_set(Path(data), name)


@contextmanager
def _whole() -> Iterator[None]:
    """Raise what Ctrl-C asked for at the latest in the end: a climb ends by it with what it has, and half is none."""
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
    """Measure a model's own probabilities, and calibrated ones."""
    cell = Cell(job, crowd.truth.size, len(crowd.judgments.scale), {}, 0.0, 0.0, "", 0.0)
    try:
        own = _fitted(job, crowd)
        hedged = calibrated(own, crowd.judgments, None, JUDGMENTS)
    except AdjudgeError as reason:
        return cell._replace(left_out=str(reason))
    found = {OWN: own.posterior, JUDGMENTS: hedged.posterior}
    ways = {way: measured(crowd, posterior[crowd.place]) for way, posterior in found.items()}
    left_out = ""
    if job.model in LEARNED:
        try:
            ways[BY_GOLD] = measured(crowd, _learned(job, crowd))
        except UsageError as reason:
            left_out = str(reason)
    told = hedged.calibration
    z, hedge = (0.0, 0.0) if told is None else (told.dependence, told.hedge)
    return cell._replace(ways=ways, dependence=z, hedge=hedge, stopped=own.stopped, left_out=left_out)


def _learned(job: Job, crowd: Crowd) -> Floats:
    """Return probabilities (M, K) that gold has calibrated, each by a fit and a map that were not told its truth."""
    least = crowd.truth.size - -(-crowd.truth.size // FOLDS)  # items that a fold is told
    if least < FEWEST:
        raise UsageError(f"{crowd.truth.size} items with gold are too few: {FEWEST} are needed beside a fold")
    posterior = np.empty((crowd.truth.size, len(crowd.judgments.scale)))
    for gold, asked in told_in_folds(crowd, FOLDS, job.seed):
        posterior[asked] = _fitted(job, crowd, gold=gold, calibrate="gold").posterior[crowd.place[asked]]
    return posterior


def _fitted(job: Job, crowd: Crowd, **options: Any) -> Fit:
    """Return the fit of a model by its quickest inference, one thread each: cells are what runs side by side."""
    options = {"calibrate": "none", "seed": job.seed, "workers": 1, **options}
    if job.model != AUTO:
        options["inference"] = quick = model_named(job.model).inferences[-1]
        options["run"] = SHORT if quick == "gibbs" else None
    return fit(crowd.judgments, job.model, **options)


def _plain(cell: Cell) -> dict[str, Any]:
    """Return a cell as JSON has it."""
    ways = {name: {**way._asdict(), "bins": way.bins.tolist()} for name, way in cell.ways.items()}
    rest = {name: value for name, value in cell._asdict().items() if name not in ("job", "ways")}
    return {"format": FORMAT, "mark": cell.job.mark, "ways": ways, **rest}
