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
from adjudge.inference.model import MODELS, model_named
from adjudge.inference.params import Prior
from adjudge.inference.result import UNSETTLED, Fit
from adjudge.metrics.labels import Ranked, Scored, rank_items
from adjudge.metrics.match_gold import Answers
from adjudge.metrics.probabilities import BOUND
from adjudge.metrics.significance import DRAWS, Interval, Values, holm, item_losses, mcnemar, sign_flips
from adjudge.reports.drawing import COLOURS, SHAPES, load_altair, render_svg
from studies.datasets import TRAINED_ON_SETS, Crowd, gold_folds, read_crowd
from studies.measures import Measured, binary_measures, distances, drawn, interval, ordinal_measures
from studies.outcome import Say, Table, silent

MEAN = "mean over sets"
SURE = 0.05  # a method with a smaller p differs from the best
TINY = 0.0005  # smaller p values are printed as <.001


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
        return [_set_table(self, name, results) for name, results in self.by_set().items()]

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        messages = [
            f"{result.method} has not converged on {result.set}: {result.stopped}"
            for result in self.results
            if result.stopped.startswith(UNSETTLED)
        ]
        messages += [f"left out: {subject}: {reason}" for subject, reason in self.left_out.items()]
        if self.interrupted:
            sets = [name for name, results in self.by_set().items() if results[0].scored is not None]
            messages.append(f"interrupted; finished: {', '.join(sets)}")
        return messages

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure."""
        return {".svg": lambda: svg(self).encode()}


def _set_table(comparison: Comparison, name: str, results: Sequence[Result]) -> Table:
    """Return a table of the methods on a set, the most accurate first."""
    measures = comparison.study.shown_measures
    tested = [measure for measure in comparison.tested if results[0].scored is not None]  # no tests of means
    ranked = sorted(results, key=lambda result: -(result.values["accuracy"] or 0))
    rows = [
        [r.method, *(_short_value(r, measure) for measure in measures), *(_p(r, measure) for measure in tested)]
        for r in ranked
    ]
    title = f"{name}: {results[0].items:,} items with gold, most accurate first; intervals of 95 %"
    return Table(title, ["method", *measures, *(f"p {measure}" for measure in tested)], rows)


def with_interval(result: Result, measure: str) -> str:
    """Return a value with its interval for a page, such as 0.933 (0.923-0.945)."""
    value, span = result.values[measure], result.span(measure)
    return "-" if value is None or span is None else f"{value:.3f} ({span.low:.3f}-{span.high:.3f})"


def _short_value(result: Result, measure: str) -> str | None:
    """Return a value with its interval for a printed table, such as 0.933 .923-.945."""
    value, span = result.values[measure], result.span(measure)
    if value is None or span is None:
        return None
    return " ".join([f"{value:.3f}", "-".join(f"{end:.3f}".removeprefix("0") for end in span[:2])])


def _p(result: Result, measure: str) -> float | str | None:
    """Return a p value for a table; the best method has none."""
    p = result.p.get(measure)
    return "<.001" if p is not None and p < TINY else p


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
    scored = Scored(crowd.truth, label, posterior, scale, positive, BOUND, 0)
    return scored._replace(ranked=_in_topics(crowd, label, posterior, positive)), stopped


def _in_topics(crowd: Crowd, label: Codes, posterior: Floats, positive: int | None) -> Ranked | None:
    """Return what ranks the items with gold in their topics, None if the set has no topics."""
    table = crowd.judgments
    if table.topics is None or table.topic is None:
        return None
    topic, items = table.topic[crowd.item], table.items.gather(crowd.item)
    answers = Answers(items, table.scale, label, posterior, topics=table.topics, topic=topic)
    return rank_items(answers, np.arange(crowd.item.size), positive)


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
    able = (
        name
        for name, model in MODELS.items()
        if not model.labels.ordered and "map" in model.inferences and name not in TRAINED_ON_SETS
    )
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


# The figure: one panel per set, with a dot and its interval per method.

ALIKE, APART, MEANS = (
    "best, or not significantly different",
    f"different from the best (p < {SURE:g})",
    "mean over sets",
)
WIDTH, STEP, INNER = 190, 14, 7  # pixels: width of a panel, height of a method, and of one of several measures
NOTE = "Dots: all items that have gold. Lines: 95 % of bootstrap draws of these items."
ACROSS = 4  # panels in a row if there is one measure


class Mark(NamedTuple):
    """A dot with its interval."""

    set: str
    method: str
    kind: str  # the legend of its colour and shape
    value: float
    low: float
    high: float


def svg(comparison: Comparison) -> str:
    """Return the figure of a study, as an SVG."""
    altair, convert = load_altair()
    panels = [_panel(altair, comparison, panel) for panel in comparison.study.panels]
    chart = altair.hconcat(*panels, spacing=30, title=NOTE).resolve_legend(color="shared", shape="shared")
    return render_svg(chart, convert)


def marks(comparison: Comparison, panel: Panel) -> list[Mark]:
    """Return the dots of a panel; with a single measure, their kind says whether they differ from the best."""
    drawn = []
    for result in comparison.results:
        for of, measure in panel.of.items():
            value, span = result.values[measure], result.span(measure)
            if value is not None and span is not None:
                drawn.append(Mark(result.set, result.method, of or _rank(result, measure), value, span.low, span.high))
    return drawn


def _rank(result: Result, measure: str) -> str:
    """Return whether a method differs significantly from the best of its set."""
    if result.scored is None:
        return MEANS
    return APART if result.p.get(measure, 1.0) < SURE else ALIKE


def _panel(alt: Any, comparison: Comparison, panel: Panel) -> Any:
    """Return the panels of one axis, one per set."""
    drawn = marks(comparison, panel)
    kinds = _kinds(comparison)
    most = max(len(panel.of) for panel in comparison.study.panels)
    several = most > 1
    height = (INNER * most + 4 if several else STEP) * len(comparison.methods)
    base = alt.Chart(alt.Data(values=[mark._asdict() for mark in drawn])).encode(
        y=alt.Y("method:N", sort=list(_order(comparison)), title=None, axis=alt.Axis(grid=True, gridColor="#eee")),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(COLOURS[: len(kinds)]))),
    )
    if several:
        base = base.encode(yOffset=alt.YOffset("kind:N", scale=alt.Scale(domain=list(panel.of), paddingOuter=0.4)))
    x = alt.X("low:Q", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5), title=panel.axis)
    line = base.mark_rule(strokeWidth=1.2).encode(x=x, x2="high:Q")
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=list(SHAPES[: len(kinds)])))
    dot = base.mark_point(filled=True, size=28, opacity=1).encode(x="value:Q", shape=shape)
    sets = list(comparison.by_set())
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    layers = alt.layer(line, dot).properties(width=WIDTH * (1.6 if several else 1), height=height)
    return layers.facet(
        facet=alt.Facet("set:N", sort=sets, header=header), columns=1 if len(comparison.study.panels) > 1 else ACROSS
    ).resolve_scale(x="independent")


def _kinds(comparison: Comparison) -> list[str]:
    """Return the kinds of dots of all panels, for a shared legend."""
    used = [mark.kind for panel in comparison.study.panels for mark in marks(comparison, panel)]
    return [kind for kind in dict.fromkeys((*_measure_kinds(comparison), ALIKE, APART, MEANS)) if kind in used]


def _measure_kinds(comparison: Comparison) -> Sequence[str]:
    """Return the kinds of measures of all panels."""
    return list(dict.fromkeys(of for panel in comparison.study.panels for of in panel.of))


def _order(comparison: Comparison) -> Sequence[str]:
    """Return the methods from top to bottom: in the order of the study or, with means over sets, best first."""
    means = {result.method: result.values["accuracy"] or 0.0 for result in comparison.results if result.scored is None}
    return sorted(means, key=lambda method: -means[method]) if means else comparison.methods
