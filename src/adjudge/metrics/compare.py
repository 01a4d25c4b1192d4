"""``compare``: several models on the same judgments, side by side, best first."""

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
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, UsageError, quoted
from adjudge.inference.fit import fit
from adjudge.inference.registry import MODELS, model_named
from adjudge.inference.result import Fit
from adjudge.inference.select import FOLDS, Choice, HeldOut, candidates, chosen, dealt, held_out
from adjudge.metrics.bootstrap import DRAWS, Interval, intervals
from adjudge.metrics.labels import Scored, Scores, scores
from adjudge.metrics.paired import Paired, against

Say: TypeAlias = Callable[[str], None]

VOTE = "majority"
FEW = 50  # items of a first fit, which loads what is compiled and tells early which model refuses the judgments
ERRORS = 2.0  # standard errors within which two held-out likelihoods are not told apart
SURE = 0.05  # p below which two models are told apart
SAME = 1e-9  # shares of votes this near are equal


class Compared(NamedTuple):
    """One model: what it found, how long that took, and how good it is."""

    fit: Fit
    seconds: float  # of the fit, by the clock
    held_out: HeldOut
    vote_agreement: float  # share of items with a label than which no other has more votes
    scores: Scores | None = None
    intervals: Mapping[str, Interval] = {}
    tests: Mapping[str, Paired] = {}  # against the best, by measure; the best has none


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models on the same judgments, best first."""

    models: Mapping[str, Compared]  # M
    agreement: Floats  # (M, M) share of items with equal labels
    left_out: Mapping[str, str] = field(default_factory=dict)  # models that refuse these judgments, with the reason
    interrupted: bool = False  # whether Ctrl-C ended it: only what was finished is here
    folds: int = FOLDS  # of which each was held out
    kind: str = field(default="polars", repr=False)

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
        """What the best is best by."""
        return "accuracy" if self.scored else "held-out likelihood"

    @property
    def alike(self) -> tuple[str, ...]:
        """The models that are not told apart from the best.

        With gold, those whose accuracy differs with p of .05 or more after Holm's correction; without, those whose
        held-out likelihood differs by no more than two standard errors. These are added up as if independent, which
        is too wide where models err alike: it rather calls too many alike than too few.
        """
        best, *others = self.models
        if self.scored:
            return tuple(name for name in others if self.models[name].tests["accuracy"].adjusted >= SURE)
        held = {name: model.held_out for name, model in self.models.items()}
        return tuple(name for name in others if _within_error(held[best], held[name]))

    @property
    def choice(self) -> Choice | None:
        """What ``fit`` with the model ``auto`` takes, where all that it chooses from were compared as it does."""
        held = {name: self.models[name].held_out for name in candidates() if name in self.models}
        able = [name for name in candidates() if name not in self.left_out]
        return chosen(held) if list(held) == able and self.folds == FOLDS else None

    @property
    def table(self) -> Any:
        """A table of the models: agreement with the vote, held-out likelihood, seconds, and a block a measure."""
        return frame(self.columns(), self.kind)

    def columns(self) -> dict[str, list[Any]]:
        """Return the comparison as named columns; p values are corrected, and of differences from the best."""
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
    """What every model is asked."""

    table: Judgments
    seed: int
    folds: int
    say: Say


def compare(
    judgments: Any,
    models: Sequence[str] | None = None,
    gold: Any = None,
    *,
    seed: int = 0,
    folds: int = 5,
    draws: int = DRAWS,
    progress: Say | None = None,
) -> Comparison:
    """Fit several models and hold them against each other and, where it is given, against gold.

    ``judgments`` and ``gold`` are what ``fit`` takes; gold is for scoring and is never told to a model. ``models``
    are names, by default of all that take these judgments. Held-out likelihood is of ``folds`` parts of the
    judgments; intervals and tests rest on ``draws``. ``progress`` is told in words what is being done. Ctrl-C ends
    it with what is finished. The best is chosen on the items on which the others are then held against it, so that
    p values are somewhat too small.
    """
    job = _Job(read(judgments), seed, folds, progress or _silent)
    dealt(job.table, folds, seed)  # refuses, before any work, what cannot be held out
    known = gold if gold is None or isinstance(gold, np.ndarray) else truths(gold, job.table)
    done, left_out, interrupted = _finished_models(job, _chosen(models), named=models is not None)
    if known is not None:
        job.say(f"intervals of {len(done)} models")
        try:
            done = _held_against(known, done, job, draws)
        except KeyboardInterrupt:
            interrupted = True
    ranked = dict(sorted(done.items(), key=lambda entry: -_merit(entry[1])))
    agreement = frozen(_agreement([model.fit.label for model in ranked.values()]))
    return Comparison(ranked, agreement, left_out, interrupted, folds, job.table.kind)


def truths(gold: Any, judgments: Judgments, **named: str | None) -> Codes:
    """Return the truth of every item, -1 where unknown, and after them those of gold items that nobody judged.

    ``named`` says, as for ``read_gold``, where the gold's item and label are and what format it has.
    """
    with warnings.catch_warnings():  # the scores tell how many nobody judged
        warnings.filterwarnings("ignore", ".*nobody judged gold item", AdjudgeWarning)
        return read_gold(gold, judgments, **named)[1]


def _silent(what: str) -> None:
    """Say nothing."""


def _chosen(models: Sequence[str] | None) -> list[str]:
    """Return the models to compare, each once."""
    names = list(MODELS) if models is None else list(dict.fromkeys(models))
    if not names:
        raise UsageError(f"there is no model to compare: name some of {quoted(MODELS, most=99)}")
    return [model_named(name).name for name in names]


def _finished_models(job: _Job, names: Iterable[str], named: bool) -> tuple[dict[str, Compared], dict[str, str], bool]:
    """Return the models that came to their end, those that refuse the judgments, and whether Ctrl-C ended it."""
    done, left_out = dict[str, Compared](), dict[str, str]()
    try:
        job.say("loading")
        few, voted = _first_items(job.table), _voted(_whole(job.table, VOTE, job.seed))
        for name in names:
            with _refusal(name, left_out, named):
                _whole(few, name, job.seed)
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
    """Return one model with all that can be said of it without gold."""
    job.say(where)
    began = time.perf_counter()
    found = _whole(job.table, name, job.seed, lambda passes, evidence: job.say(f"{where}, pass {passes:,}"))
    seconds = time.perf_counter() - began
    job.say(f"{where}, {job.folds} folds")
    agreed = float(np.take_along_axis(voted, found.label[:, None].astype(np.intp), axis=1).mean())
    return Compared(found, seconds, held_out(job.table, name, folds=job.folds, seed=job.seed), agreed)


def _whole(table: Judgments, name: str, seed: int, progress: Callable[[int, float], None] | None = None) -> Fit:
    """Return a fit that came to its end: Ctrl-C leaves half a fit, which is none to compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # how a fit ended is in the comparison
        found = fit(table, name, seed=seed, inference=model_named(name).inferences[-1], progress=progress)
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    return found


@contextmanager
def _refusal(name: str, left_out: dict[str, str], named: bool) -> Iterator[None]:
    """Note why a model refuses the judgments; if the user named it, that is an error."""
    try:
        yield
    except UsageError as reason:
        if named:
            raise
        left_out[name] = str(reason)


def _voted(vote: Fit) -> Flags:
    """Return which labels have most of an item's votes (I, K)."""
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


def _held_against(truth: Codes, done: Mapping[str, Compared], job: _Job, draws: int) -> dict[str, Compared]:
    """Return the models with their scores, the intervals of these, and the tests against the most accurate."""
    table, judged = job.table, truth[: len(job.table.items)]
    place = np.flatnonzero(judged >= 0)
    gold = frame({"item": table.items.gather(place), "label": [table.scale.labels[k] for k in judged[place]]})
    missing = truth.size - judged.size
    found = {name: replace(scores(model.fit, gold), missing=missing) for name, model in done.items()}
    scored = {name: _scored(done[name].fit, found[name], judged[place], place) for name in done}
    ranges = dict(zip(scored, intervals(list(scored.values()), draws=draws, seed=job.seed), strict=True))
    best = max(found, key=lambda name: found[name].values["accuracy"] or 0)
    others = [name for name in scored if name != best]
    pairs = against(scored[best], [scored[name] for name in others], draws=draws, seed=job.seed)
    tests = {best: {}, **dict(zip(others, pairs, strict=True))}
    return {
        name: model._replace(scores=found[name], intervals=ranges[name], tests=tests[name])
        for name, model in done.items()
    }


def _scored(fit: Fit, scores: Scores, truth: Codes, place: Codes) -> Scored:
    """Return truths and answers side by side, of the items at these places."""
    positive = None if scores.positive is None else fit.scale.labels.index(scores.positive)
    return Scored(truth, fit.label[place], fit.posterior[place], fit.scale, positive, scores.bound, scores.known)


def _merit(model: Compared) -> float:
    """Return what models are ranked by; one whose held-out likelihood is not known comes last."""
    accuracy = None if model.scores is None else model.scores.values["accuracy"]
    return float(np.nan_to_num(model.held_out.mean if accuracy is None else accuracy, nan=-np.inf))


def _within_error(best: HeldOut, other: HeldOut) -> bool:
    """Whether two held-out likelihoods are too near to be told apart."""
    return bool(abs(best.mean - other.mean) <= ERRORS * np.hypot(best.error, other.error))


def _agreement(labels: Sequence[Codes]) -> Floats:
    """Return the share of items on which two models agree (M, M), from the labels of each (I)."""
    return np.array([[np.mean(one == other) for other in labels] for one in labels])


def _block(measure: str, models: Sequence[Compared]) -> dict[str, list[Any]]:
    """Return the columns of one measure: its values and intervals, and the tests where it was tested."""
    block: dict[str, list[Any]] = {}
    if models[0].scores is not None and measure in models[0].scores.values:
        spans = [model.intervals.get(measure) for model in models]
        block[measure] = [model.scores and model.scores.values[measure] for model in models]
        block[f"{measure}_low"] = [span and span.low for span in spans]
        block[f"{measure}_high"] = [span and span.high for span in spans]
    if measure in models[-1].tests:
        pairs = [model.tests.get(measure) for model in models]
        block[f"{measure}_difference"] = [pair and pair.difference for pair in pairs]
        block["p_value" if measure == "accuracy" else f"{measure}_p_value"] = [pair and pair.adjusted for pair in pairs]
    return block
