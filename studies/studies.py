"""Comparisons of many methods on many sets with gold.

A study is data: sets, methods, measures, tests and panels of a figure. Gold is used for scoring. No method knows the
truth of an item that it is scored on: methods that use gold get it in folds. Intervals are bootstrap intervals over
items, with the same draws for all methods. The p values compare a method with the best of its set (exact McNemar test
for accuracy, sign flips for losses), with Holm's correction. They are slightly too small, because the best is chosen on
the same items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError, quoted
from adjudge.inference.chains import Run
from adjudge.inference.fit import fit
from adjudge.inference.prior import Prior
from adjudge.inference.registry import MODELS, model_named
from adjudge.inference.result import UNSETTLED, Fit
from adjudge.metrics.bootstrap import DRAWS, Interval, Values, item_losses
from adjudge.metrics.labels import Scored
from adjudge.metrics.paired import holm, mcnemar, sign_flips
from adjudge.metrics.probabilities import BOUND
from studies.crowds import Crowd, read_crowd
from studies.folds import gold_folds
from studies.measures import Measured, binary_measures, distances, drawn, interval, ordinal_measures
from studies.outcome import Say, Table, silent
from studies.set_tables import set_table, study_warnings

MEAN = "mean over sets"
SURE = 0.05  # a method with a smaller p differs from the best


class Method(NamedTuple):
    """A model with its initialisation, and the folds in which it gets gold."""

    name: str
    model: str
    start: str | None = None
    folds: int = 0  # of gold, each held out in turn; 0 without gold
    prior: Prior | None = None


class Panel(NamedTuple):
    """An axis of a figure, and its measures by their legend."""

    axis: str
    of: Mapping[str, str]


class Study(NamedTuple):
    """The definition of a study."""

    name: str
    title: str
    paper: str
    sets: tuple[str, ...]
    methods: Callable[[], tuple[Method, ...]]
    measures: Callable[[Sequence[Scored]], list[Measured]]
    losses: Callable[[Sequence[Scored]], Mapping[str, Sequence[Floats]]]  # tested in addition to accuracy, (I) each
    shown_measures: tuple[str, ...]  # printed with their intervals
    panels: tuple[Panel, ...]
    columns: tuple[str, ...] = ("label",)  # possible columns of labels; the first that exists is used
    ordinal: bool = False  # whether labels have an order; if not, there are two
    mean: bool = False  # whether means over sets are meaningful


class Result(NamedTuple):
    """One method on one set, or its mean over sets."""

    set: str
    method: str
    items: int  # scored
    values: Values
    draws: Mapping[str, Floats]  # (R) per measure, one value per bootstrap draw
    p: Mapping[str, float]  # against the best of the set, corrected; the best has none
    stopped: str = ""  # how the fit ended
    scored: Scored | None = None  # truths and answers, None for a mean

    def span(self, measure: str) -> Interval | None:
        """Return the interval of a measure, None if no draw has a value."""
        return interval(self.draws[measure])


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outcome of a study, set by set."""

    study: Study
    results: tuple[Result, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)  # the reasons of methods that refuse a set
    interrupted: bool = False  # whether Ctrl-C ended the study: only finished sets are included

    def __repr__(self) -> str:
        return f"Comparison({self.study.name}: {len(self.methods)} methods on {', '.join(self.by_set())})"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods in the order of the study."""
        return tuple(dict.fromkeys(result.method for result in self.results))

    @property
    def tested(self) -> tuple[str, ...]:
        """The measures with p values."""
        return tuple(measure for measure in self.results[0].values if any(measure in row.p for row in self.results))

    def by_set(self) -> dict[str, list[Result]]:
        """Return the results of each set and, last, the means if there are any."""
        return {name: list(group) for name, group in groupby(self.results, key=lambda result: result.set)}

    def columns(self) -> dict[str, list[Any]]:
        """Return the results as named columns, one row per set and method."""
        rows = self.results
        columns: dict[str, list[Any]] = {
            "set": [row.set for row in rows],
            "method": [row.method for row in rows],
            "items": [row.items for row in rows],
        }
        for measure in rows[0].values:
            spans = [row.span(measure) for row in rows]
            columns[measure] = [row.values[measure] for row in rows]
            columns[f"{measure}_low"] = [span and span.low for span in spans]
            columns[f"{measure}_high"] = [span and span.high for span in spans]
        for measure in self.tested:
            columns[f"{measure}_p"] = [row.p.get(measure) for row in rows]
        return {**columns, "stopped": [row.stopped for row in rows]}

    def tables(self) -> list[Table]:
        """Return a table of each set."""
        return [set_table(self, name, results) for name, results in self.by_set().items()]

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        return study_warnings(self)

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure."""
        from studies.figures import svg

        return {".svg": lambda: svg(self).encode()}


class _Job(NamedTuple):
    """The options for every set."""

    study: Study
    folder: Path
    seed: int
    draws: int
    say: Say
    chains: Run | None


def run(
    study: Study,
    folder: Path,
    sets: Sequence[str] | None = None,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    progress: Say | None = None,
    chains: Run | None = None,
) -> Comparison:
    """Run a study on the sets of a folder, by default those of the study. Ctrl-C ends with the finished sets.

    All sets are read before the first fit, so that errors in them appear at once.
    """
    names = list(dict.fromkeys(study.sets if sets is None else sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    job = _Job(study, folder, seed, draws, progress or silent, chains)
    results, left_out, interrupted = list[Result](), dict[str, str](), False
    try:
        crowds = [_crowd(job, name) for name in names]
        for n, crowd in enumerate(crowds, 1):
            results += _compare_on_set(job, crowd, f"{n} of {len(crowds)}: {crowd.name}", left_out)
    except KeyboardInterrupt:
        if not results:
            raise
        interrupted = True
    means = _means(results) if study.mean else []
    return Comparison(study, (*results, *means), left_out, interrupted)


def _crowd(job: _Job, name: str) -> Crowd:
    """Return a set, refusing more than two labels unless the study is ordinal."""
    job.say(f"reading {name}")
    crowd = read_crowd(job.folder, name, job.study.columns, job.study.ordinal)
    K = len(crowd.judgments.scale)
    if not job.study.ordinal and K != 2:
        labels = quoted(crowd.judgments.scale.names)
        raise UsageError(f"set '{name}' has {K} labels, {labels}, but the study '{job.study.name}' needs two")
    return crowd


def _compare_on_set(job: _Job, crowd: Crowd, where: str, left_out: dict[str, str]) -> list[Result]:
    """Return the results of every method on one set."""
    stopped, scored = dict[str, str](), dict[str, Scored]()
    for method in job.study.methods():
        job.say(f"{where}, {method.name}")
        try:
            scored[method.name], stopped[method.name] = _answers(job, crowd, method)
        except UsageError as reason:
            left_out[f"{method.name} on {crowd.name}"] = str(reason)
    job.say(f"{where}, intervals")
    answers, items = list(scored.values()), crowd.truth.size
    measured = job.study.measures(answers)
    values = [of(np.ones(items)) for of in measured]
    draws = drawn(measured, items, job.draws, job.seed)
    tests = _tests(answers, job)
    return [
        Result(crowd.name, name, items, value, draw, p, stopped[name], scored[name])
        for name, value, draw, p in zip(scored, values, draws, tests, strict=True)
    ]


def _answers(job: _Job, crowd: Crowd, method: Method) -> tuple[Scored, str]:
    """Return the answers of a method with the truths, and how its fit ended."""
    scale, stopped = crowd.judgments.scale, ""
    label, posterior = np.zeros_like(crowd.truth), np.empty((crowd.truth.size, len(scale)))
    for gold, index in gold_folds(crowd, method.folds, job.seed):
        result = _fitted(job, crowd, method, gold)
        stopped = stopped if stopped.startswith(UNSETTLED) else result.stopped
        label[index], posterior[index] = result.label[crowd.item[index]], result.posterior[crowd.item[index]]
    positive = len(scale) - 1 if len(scale) <= 2 else None
    return Scored(crowd.truth, label, posterior, scale, positive, BOUND, 0), stopped


def _fitted(job: _Job, crowd: Crowd, method: Method, gold: Codes | None) -> Fit:
    """Return the fit of a method, by its fastest inference."""
    options: dict[str, Any] = {} if gold is None else {"gold": gold}
    if method.prior is not None:
        options |= {"prior": method.prior, "run": job.chains}
    quick = model_named(method.model).inferences[-1]
    result = fit(crowd.judgments, method.model, start=method.start, seed=job.seed, inference=quick, **options)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt  # an unfinished fit is not comparable
    return result


def _tests(answers: Sequence[Scored], job: _Job) -> list[dict[str, float]]:
    """Return the p values of every method against the best, by measure; the best has none."""
    right = [scored.answer == scored.truth for scored in answers]
    best = int(np.argmax([flags.mean() for flags in right]))
    p_values = [_against(best, "accuracy", [mcnemar(flags, right[best]) for flags in right])]
    for measure, losses in job.study.losses(answers).items():
        best = int(np.argmin([loss.mean() for loss in losses]))
        difference = np.column_stack([loss - losses[best] for loss in losses])  # (I, M)
        p_values.append(_against(best, measure, sign_flips(difference, draws=job.draws, seed=job.seed)))
    return [{measure: p for tests in p_values for measure, p in tests[m].items()} for m in range(len(answers))]


def _against(best: int, measure: str, p: Sequence[float] | Floats) -> list[dict[str, float]]:
    """Return p values after Holm's correction, by method; the best has none."""
    corrected = holm(np.delete(np.asarray(p, dtype=float), best)).tolist()
    return [{measure: value} for value in corrected[:best]] + [{}] + [{measure: value} for value in corrected[best:]]


def _means(results: Sequence[Result]) -> list[Result]:
    """Return the mean of each method over the sets, with equal weights, of every measure and every draw."""
    sets = len({result.set for result in results})
    together: dict[str, list[Result]] = {}
    for result in results:
        together.setdefault(result.method, []).append(result)
    return [_mean(rows) for rows in together.values() if len(rows) == sets]


def _mean(rows: Sequence[Result]) -> Result:
    """Return the mean of the results of one method; a measure that a set does not have is None."""
    measures, items = rows[0].values, sum(row.items for row in rows)
    values = {measure: [row.values[measure] for row in rows] for measure in measures}
    means = {name: None if None in each else float(np.mean(each)) for name, each in values.items()}  # type: ignore[arg-type]
    draws = {measure: np.mean([row.draws[measure] for row in rows], axis=0) for measure in measures}
    return Result(MEAN, rows[0].method, items, means, draws, {})


def _ordinal_methods() -> tuple[Method, ...]:
    """Return the ordinal model with each of its initialisations, and the methods that paper 001 compares."""
    starts = MODELS["ordinal"].starts
    others = ("mean", "median", "trimmed-mean", "glad", "majority", "dawid-skene")
    return (*(Method(f"ordinal {start}", "ordinal", start) for start in starts), *(Method(n, n) for n in others))


def _vote_methods() -> tuple[Method, ...]:
    """Return all models for unordered labels that are fitted by EM."""
    able = (name for name, model in MODELS.items() if not model.labels.ordered and "map" in model.inferences)
    return tuple(Method(name, name) for name in able)


def _absolute_errors(answers: Sequence[Scored]) -> Mapping[str, Sequence[Floats]]:
    """Return the errors of expected values."""
    return {"mae": distances(answers)["expected"]}


def log_losses(answers: Sequence[Scored]) -> Mapping[str, Sequence[Floats]]:
    """Return the log losses."""
    return {"log_loss": [item_losses(scored)["log_loss"] for scored in answers]}


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study(
            "ordinal",
            "ordered labels: values, averages and labels",
            "Faridani et al. 2013 (paper 001)",
            ("web_search", "adult2", "nyt_3p", "trec2011_task2"),
            _ordinal_methods,
            ordinal_measures,
            _absolute_errors,
            ("accuracy", "rounded_accuracy", "mae", "closest"),
            (
                Panel(
                    "accuracy (share of items)",
                    {"most likely label": "accuracy", "expected value, rounded": "rounded_accuracy"},
                ),
                Panel(
                    "mean absolute error (steps of the scale)",
                    {
                        "expected value": "mae",
                        "expected value, rounded": "rounded_mae",
                        "most likely label": "label_mae",
                    },
                ),
            ),
            columns=("label3", "label"),
            ordinal=True,
        ),
        Study(
            "vote",
            "two labels: all models for unordered labels",
            "Xia et al. 2011 (paper 002)",
            (
                "bluebirds",
                "ducks",
                "nyt_2p",
                "possent",
                "product",
                "rte",
                "sentiment_polarity",
                "temp",
                "trec2011_task2",
                "trec2011_task2_mini",
            ),
            _vote_methods,
            binary_measures,
            log_losses,
            ("accuracy", "f1", "log_loss", "auc"),
            (Panel("accuracy (share of items)", {"": "accuracy"}),),
            mean=True,
        ),
    )
}
