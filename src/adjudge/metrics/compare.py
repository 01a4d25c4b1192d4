"""``compare``: several models on the same judgments, best first."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, UsageError, quoted
from adjudge.inference.fit import fit
from adjudge.inference.model import MODELS, model_named
from adjudge.inference.result import Fit
from adjudge.inference.select import FOLDS, Choice, HeldOut, candidates, chosen, held_out, random_folds
from adjudge.metrics.labels import Scored, Scores, scores
from adjudge.metrics.significance import DRAWS, Interval, Paired, against, intervals

Progress: TypeAlias = Callable[[str], None]

VOTE = "majority"
FEW = 50  # items of a first fit, which compiles the model and shows early whether it refuses the judgments
ERRORS = 2.0  # standard errors within which two held-out likelihoods do not differ
SURE = 0.05  # p below which two models differ
SAME = 1e-9  # shares of votes that differ by less are equal


class Compared(NamedTuple):
    """One model: its fit, how long that took, and how good it is."""

    fit: Fit
    seconds: float  # wall-clock time of the fit
    held_out: HeldOut
    vote_agreement: float  # share of items whose label has at least as many votes as every other label
    scores: Scores | None = None
    intervals: Mapping[str, Interval] = {}
    tests: Mapping[str, Paired] = {}  # against the best, by measure; the best has none


@dataclass(frozen=True, eq=False)
class Comparison(NotebookView):
    """Several models on the same judgments, best first."""

    models: Mapping[str, Compared]  # M
    agreement: Floats  # (M, M) share of items with equal labels
    left_out: Mapping[str, str] = field(default_factory=dict)  # models that refuse these judgments, with the reason
    interrupted: bool = False  # whether Ctrl-C ended it; only finished models are included
    folds: int = FOLDS  # each was held out once
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Comparison({len(self.models)} models, best by {self.criterion}: {', '.join(self.models)})"

    @property
    def best(self) -> str:
        """The name of the best model."""
        return next(iter(self.models))

    @property
    def scored(self) -> bool:
        """Whether there was gold to score by."""
        return self.models[self.best].scores is not None

    @property
    def criterion(self) -> str:
        """The criterion of the ranking."""
        return "accuracy" if self.scored else "held-out likelihood"

    @property
    def alike(self) -> tuple[str, ...]:
        """The models that do not differ significantly from the best.

        With gold, those whose accuracy differs with a p-value of .05 or more after Holm's correction; without, those
        whose held-out likelihood differs by no more than two standard errors. The errors are added as if independent,
        which is conservative, because models err alike.
        """
        best, *others = self.models
        if self.scored:
            return tuple(name for name in others if self.models[name].tests["accuracy"].adjusted >= SURE)
        first = self.models[best].held_out
        return tuple(name for name in others if _within_error(first, self.models[name].held_out))

    @property
    def choice(self) -> Choice | None:
        """What ``fit`` with the model ``auto`` takes, where all that it chooses from were compared as it does."""
        likelihood = {name: self.models[name].held_out for name in candidates() if name in self.models}
        able = [name for name in candidates() if name not in self.left_out]
        return chosen(likelihood) if list(likelihood) == able and self.folds == FOLDS else None

    @property
    def table(self) -> Any:
        """A table of the models: agreement with the vote, held-out likelihood, seconds, and columns per measure."""
        return frame(self.columns(), self.kind)

    def columns(self) -> dict[str, list[Any]]:
        """Return the comparison as named columns; p-values are corrected, and of differences from the best."""
        models = list(self.models.values())
        columns: dict[str, list[Any]] = {
            "model": list(self.models),
            "vote_agreement": [model.vote_agreement for model in models],
            "held_out": [model.held_out.mean for model in models],
            "held_out_se": [model.held_out.error for model in models],
            "seconds": [model.seconds for model in models],
        }
        scored = {} if models[0].scores is None else models[0].scores.values
        for measure in dict.fromkeys([*scored, *models[-1].tests]):
            columns |= _block(measure, models)
        return columns


class _Job(NamedTuple):
    """The task for every model."""

    table: Judgments
    seed: int
    folds: int
    report: Progress


def compare(
    judgments: Any,
    models: str | Sequence[str] | None = None,
    gold: Any = None,
    *,
    seed: int = 0,
    folds: int = 5,
    draws: int = DRAWS,
    progress: Progress | None = None,
) -> Comparison:
    """Fit several models and compare them with each other and, if given, with gold.

    The best model is chosen on the same items on which the others are then tested against it, so p-values are somewhat
    too small. Ctrl-C returns the models that are finished.

    Parameters
    ----------
    judgments : frame, path or Judgments
        The judgments.
    models : str or sequence of str, optional
        The names of models. Default: all that accept these judgments.
    gold : frame, path or mapping, optional
        Truths for scoring; no model uses them.
    seed : int
        Seed of the fits, the folds and the draws.
    folds : int
        Parts of the judgments, each held out once.
    draws : int
        Bootstrap draws behind intervals and tests.
    progress : callable, optional
        Called with a text about each step.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import adjudge
    >>> compare(adjudge.dataset("anesthesia"), ["majority", "dawid-skene"])
    Comparison(2 models, best by held-out likelihood: majority, dawid-skene)
    """
    job = _Job(read(judgments), seed, folds, progress or _silent)
    random_folds(job.table, folds, seed)  # refuses early what cannot be held out
    truth = gold if gold is None or isinstance(gold, np.ndarray) else truths(gold, job.table)
    done, left_out, interrupted = _finished_models(job, _chosen(models), named=models is not None)
    if truth is not None:
        job.report(f"intervals of {len(done)} models")
        try:
            done = _score_models(truth, done, job, draws)
        except KeyboardInterrupt:
            interrupted = True
    ranked = dict(sorted(done.items(), key=lambda entry: -_merit(entry[1])))
    agreement = frozen(_agreement([model.fit.label for model in ranked.values()]))
    return Comparison(ranked, agreement, left_out, interrupted, folds, job.table.kind)


def truths(gold: Any, judgments: Judgments, **named: str | None) -> Codes:
    """Return the truth of every item, -1 if unknown, followed by those of gold items that nobody judged.

    ``named`` are the options of ``read_gold``: the columns item and label, and the format.
    """
    with warnings.catch_warnings():  # the scores count the items that nobody judged
        warnings.filterwarnings("ignore", ".*nobody judged gold item", AdjudgeWarning)
        return read_gold(gold, judgments, **named)[1]


def _silent(step: str) -> None:
    """Ignore progress."""


def _chosen(models: str | Sequence[str] | None) -> list[str]:
    """Return the models to compare, each once."""
    if not isinstance(models, Iterable | None):
        raise UsageError(f"models is a list of names such as 'dawid-skene', got {type(models).__name__}")
    named = [models] if isinstance(models, str) else models
    names = list(MODELS) if named is None else list(dict.fromkeys(named))
    if not names:
        raise UsageError(f"there is no model to compare: name some of {quoted(MODELS, most=99)}")
    return [model_named(name).name for name in names]


def _finished_models(job: _Job, names: Iterable[str], named: bool) -> tuple[dict[str, Compared], dict[str, str], bool]:
    """Return the models that finished, those that refuse the judgments, and whether Ctrl-C ended it."""
    done, left_out = dict[str, Compared](), dict[str, str]()
    try:
        job.report("loading")
        few, voted = _first_items(job.table), _most_voted(_complete_fit(job.table, VOTE, job.seed))
        for name in names:
            with _refusal(name, left_out, named):
                _complete_fit(few, name, job.seed)
        able = [name for name in names if name not in left_out]
        for n, name in enumerate(able, 1):
            with _refusal(name, left_out, named):
                done[name] = _compared(job, name, voted, f"{n} of {len(able)}: {name}")
    except KeyboardInterrupt:
        if not done:
            raise
        return done, left_out, True
    if not done:
        raise UsageError(f"no model takes these judgments: {'; '.join(left_out.values())}")
    return done, left_out, False


def _compared(job: _Job, name: str, voted: Flags, where: str) -> Compared:
    """Return one model with everything that needs no gold."""
    job.report(where)
    began = time.perf_counter()
    result = _complete_fit(job.table, name, job.seed, lambda passes, evidence: job.report(f"{where}, pass {passes:,}"))
    seconds = time.perf_counter() - began
    job.report(f"{where}, {job.folds} folds")
    agreed = float(np.take_along_axis(voted, result.label[:, None].astype(np.intp), axis=1).mean())
    return Compared(result, seconds, held_out(job.table, name, folds=job.folds, seed=job.seed), agreed)


def _complete_fit(table: Judgments, name: str, seed: int, progress: Callable[[int, float], None] | None = None) -> Fit:
    """Return a fit that was not interrupted; an interrupted one raises KeyboardInterrupt."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the comparison says how each fit ended
        result = fit(table, name, seed=seed, inference=model_named(name).inferences[-1], progress=progress)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt
    return result


@contextmanager
def _refusal(name: str, left_out: dict[str, str], named: bool) -> Iterator[None]:
    """Store why a model refuses the judgments; if the user named the model, raise it."""
    try:
        yield
    except UsageError as reason:
        if named:
            raise
        left_out[name] = str(reason)


def _most_voted(vote: Fit) -> Flags:
    """Return the labels with the most votes of each item (I, K)."""
    most: Flags = vote.posterior >= vote.posterior.max(axis=1, keepdims=True) - SAME
    return most


def _first_items(table: Judgments) -> Judgments:
    """Return the judgments of a few items."""
    end = int(table.start[: FEW + 1][-1])
    return replace(
        table,
        items=table.items[:FEW],
        start=table.start[: FEW + 1],
        judge=table.judge[:end],
        label=table.label[:end],
        topic=None if table.topic is None else table.topic[:FEW],
        weight=None if table.weight is None else table.weight[:end],
        time=None if table.time is None else table.time[:end],
    )


def _score_models(truth: Codes, done: Mapping[str, Compared], job: _Job, draws: int) -> dict[str, Compared]:
    """Return the models with scores, their intervals, and tests against the most accurate model."""
    table, judged = job.table, truth[: len(job.table.items)]
    index = np.flatnonzero(judged >= 0)
    gold = frame({"item": table.items.gather(index), "label": [table.scale.labels[k] for k in judged[index]]})
    missing = truth.size - judged.size
    results = {name: replace(scores(model.fit, gold), missing=missing) for name, model in done.items()}
    scored = {name: _scored(done[name].fit, results[name], judged[index], index) for name in done}
    ranges = dict(zip(scored, intervals(list(scored.values()), draws=draws, seed=job.seed), strict=True))
    best = max(results, key=lambda name: results[name].values["accuracy"] or 0)
    others = [name for name in scored if name != best]
    pairs = against(scored[best], [scored[name] for name in others], draws=draws, seed=job.seed)
    tests = {best: {}, **dict(zip(others, pairs, strict=True))}
    return {
        name: model._replace(scores=results[name], intervals=ranges[name], tests=tests[name])
        for name, model in done.items()
    }


def _scored(fit: Fit, scores: Scores, truth: Codes, index: Codes) -> Scored:
    """Return truths and answers of the items with these indices."""
    positive = None if scores.positive is None else fit.scale.labels.index(scores.positive)
    return Scored(truth, fit.label[index], fit.posterior[index], fit.scale, positive, scores.bound, scores.used)


def _merit(model: Compared) -> float:
    """Return the value that models are ranked by; an unknown held-out likelihood comes last."""
    accuracy = None if model.scores is None else model.scores.values["accuracy"]
    return float(np.nan_to_num(model.held_out.mean if accuracy is None else accuracy, nan=-np.inf))


def _within_error(best: HeldOut, other: HeldOut) -> bool:
    """Whether two held-out likelihoods do not differ significantly."""
    return bool(abs(best.mean - other.mean) <= ERRORS * np.hypot(best.error, other.error))


def _agreement(labels: Sequence[Codes]) -> Floats:
    """Return the share of items on which two models agree (M, M), from the labels of each (I)."""
    return np.array([[np.mean(label == other) for other in labels] for label in labels])


def _block(measure: str, models: Sequence[Compared]) -> dict[str, list[Any]]:
    """Return the columns of one measure: its values and intervals, and its tests if there are any."""
    block: dict[str, list[Any]] = {}
    if models[0].scores is not None and measure in models[0].scores.values:
        spans = [model.intervals.get(measure) for model in models]
        block[measure] = [model.scores and model.scores.values[measure] for model in models]
        block |= {f"{measure}_low": _fields(spans, "low"), f"{measure}_high": _fields(spans, "high")}
    if measure in models[-1].tests:
        pairs = [model.tests.get(measure) for model in models]
        block[f"{measure}_difference"] = _fields(pairs, "difference")
        block["p_value" if measure == "accuracy" else f"{measure}_p_value"] = _fields(pairs, "adjusted")
    return block


def _fields(records: Sequence[Any], name: str) -> list[Any]:
    """Return a field of each record, None for None."""
    return [None if record is None else getattr(record, name) for record in records]
