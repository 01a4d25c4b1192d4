"""``evaluate``: search systems compared with uncertain labels, and the documents that would decide between them.

The quantity of interest is the mean of a measure over all topics like these T. It is uncertain for two reasons. With
x_t the measure of topic t under labels L, drawn from the posterior of a fit:

    labels    Var_L( mean_t x_t )              the labels may be wrong, so these T topics may have other scores
    topics    Var_t( E_L[x_t] ) / (T - 1)      other topics would give other numbers, with the labels as expected

The two add up. A draw is the mean of these topics under drawn labels, plus the deviation of the mean of their expected
values in a bootstrap over topics (``metrics.score``). Intervals, and the chance that one system is better than
another, are those of such draws. Topics are not resampled under drawn labels, because the spread between topics would
then count the labels twice. What labels add to a single topic may still be in both parts, so intervals are rather too
wide; they are too narrow if a model shrinks topics towards a mean learned from them. Labels of a calibrated fit are
drawn from judges and runs together, with an uncertain scale of the judges (``label_chances``). Those of other fits are
drawn from a posterior that does not use the runs, which shrinks their difference towards 0, the more the less certain
the labels are. No posterior can show an error that the judges share with a system; an audit can
(``evaluation.certify``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.run_judges import judges_path, run_judges
from adjudge.data.runs import System, frame_kind, read_runs
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, quote, quoted
from adjudge.evaluation.deciding import Deciding, DecidingOrder, deciding_documents, kept_draws
from adjudge.evaluation.label_chances import uses_runs
from adjudge.evaluation.uncertain_labels import SAME, LabelledTopic, draw_labels, grades_for, stored_draws
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, saved_judgments
from adjudge.metrics.leaderboard import (
    Place,
    best_chances,
    better_pairs,
    compare_draws,
    place_rows,
    places,
    simultaneous_reach,
)
from adjudge.metrics.ranking import DEFAULT, LEVEL, Measure, parse_measures, values, without_relevant
from adjudge.metrics.score import INTERVAL, compared_runs, find_run, topic_deviations

DRAWS = 1_000
BUDGET = 10
ONE_TOPIC = "the variance of topics is not defined because there is only one topic"
ASSUMED = (
    "all of this is valid only if no system shares a bias with the judges, which no probability can show: an audit of "
    "a few expert labels can (`adjudge evaluate --audit`)"
)
HOLD_BACK = "train it on a fit without half of the judges (adjudge fit --without-judges), compare it by a fit of these"
NO_PAIR = "deciding documents are not defined because there is only one run"


class Parts(NamedTuple):
    """The variance of a mean over topics, by its source."""

    labels: float
    topics: float

    @property
    def shares(self) -> tuple[float, float] | None:
        """The parts as shares of the total, None if nothing varies."""
        total = sum(self)
        return (self.labels / total, self.topics / total) if total > SAME**2 else None


class Span(NamedTuple):
    """The ends of a 90 % interval."""

    low: float
    high: float


class SystemScore(NamedTuple):
    """A run's mean of a measure over topics, and its uncertainty."""

    run: str
    measure: str
    value: float  # expected over the labels
    labels: Span  # these topics, uncertain labels
    topics: Span | None  # expected labels, resampled topics
    both: Span  # labels and topics
    parts: Parts


class SystemPair(NamedTuple):
    """Two runs by one measure."""

    measure: str
    first: str
    second: str
    difference: float  # above 0, the first is better
    span: Span  # over labels and topics
    better: float  # chance that the first is better than the second, over labels and topics
    tied: float  # chance that they are the same
    better_labels: float  # the same over the labels alone
    tied_labels: float
    parts: Parts
    simultaneous: Span | None = None  # with a baseline: intervals that hold for all runs together with 90 %

    @property
    def decided(self) -> bool:
        """Whether the runs differ beyond doubt: 0 is outside of the interval."""
        low, high = self.simultaneous or self.span
        return low > 0 or high < 0


@dataclass(frozen=True, eq=False)
class Evaluation(NotebookView):
    """Search systems compared with uncertain labels."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    draws: int  # of the labels
    joint: bool  # whether labels are joint draws that the fit stored
    scores: tuple[SystemScore, ...]  # runs by measures
    decision: tuple[str, ...] | None  # the measure and the two runs that the documents decide between, if not all runs
    deciding: tuple[Deciding, ...] | tuple[DecidingOrder, ...]  # the most important first
    notes: tuple[str, ...]
    by_topic: Floats = field(repr=False)  # (R, M, T) expected values
    by_draw: Floats = field(repr=False)  # (R, M, S) means over topics under drawn labels
    moved: Floats = field(repr=False)  # (R, M, S) what other topics would add to these
    baseline: str | None = None  # the run that all others are compared with
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        values = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"Evaluation({len(self.topics):,} topics, {self.draws:,} draws: {', '.join(values[:4])})"

    @cached_property
    def pairs(self) -> tuple[SystemPair, ...]:
        """Every two runs by every measure or, with a baseline, every run and the baseline; computed when it is used."""
        return tuple(_pairs(self))

    @cached_property
    def leaderboard(self) -> tuple[Place, ...]:
        """The place of every run by every measure, the best first: rank interval, chance to be best, and groups."""
        result = []
        for m, measure in enumerate(self.measures):
            ends = [score.both for score in self.scores if score.measure == measure]
            value, drawn = self._values(m)
            result += places(measure, self.runs, value, ends, compare_draws(value, drawn), best_chances(drawn))
        return tuple(result)

    def distinguished(self, measure: str) -> set[tuple[str, str]]:
        """Return the pairs of runs of which the first is better by a measure, all together with 90 % probability."""
        return better_pairs(self.runs, compare_draws(*self._values(self.measures.index(measure))))

    def _values(self, m: int) -> tuple[Floats, Floats]:
        """Return the values of all runs by a measure (R), and draws of them over labels and topics (R, S)."""
        return self.by_topic[:, m].mean(axis=1), self.by_draw[:, m] + self.moved[:, m]

    @property
    def table(self) -> Any:
        """A table with one row per run and measure."""
        return _frame(self.score_rows(), self.columns()[0], self.kind)

    @property
    def pair_table(self) -> Any:
        """A table with one row per measure and pair of runs or, with a baseline, run other than the baseline."""
        return _frame(self.pair_rows(), self.columns()[1], self.kind)

    @property
    def document_table(self) -> Any:
        """A table with one row per document that would decide."""
        return _frame(self.deciding_rows(), self.columns()[2], self.kind)

    @property
    def leaderboard_table(self) -> Any:
        """A table with one row per measure and run, the best run first."""
        return frame(place_rows(self.leaderboard), self.kind)

    def columns(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the names of the columns of runs, of pairs and of documents."""
        ends, shares = ("low", "high"), ("share_labels", "share_topics")
        apart = tuple(f"{name}_{end}" for name in ("labels", "topics") for end in ends)
        chances = ("better", "tied", "better_labels", "tied_labels")
        together = () if self.baseline is None else ("simultaneous_low", "simultaneous_high")
        order = self.decision is not None and len(self.decision) == 1
        return (
            ("run", "measure", "value", *apart, *ends, *shares),
            ("measure", "first", "second", "difference", *ends, *together, *chances, *shares),
            DecidingOrder._fields if order else Deciding._fields,
        )

    def score_rows(self) -> list[dict[str, Any]]:
        """Return the runs as rows of a table."""
        return [
            {
                "run": row.run,
                "measure": row.measure,
                "value": row.value,
                **_ends("labels", row.labels),
                **_ends("topics", row.topics),
                **_ends("", row.both),
                **_shares(row.parts),
            }
            for row in self.scores
        ]

    def pair_rows(self) -> list[dict[str, Any]]:
        """Return the pairs of runs as rows of a table."""
        return [
            {
                "measure": row.measure,
                "first": row.first,
                "second": row.second,
                "difference": row.difference,
                **_ends("", row.span),
                **_ends("simultaneous", row.simultaneous),
                "better": row.better,
                "tied": row.tied,
                "better_labels": row.better_labels,
                "tied_labels": row.tied_labels,
                **_shares(row.parts),
            }
            for row in self.pairs
        ]

    def deciding_rows(self) -> list[dict[str, Any]]:
        """Return the documents that decide as rows of a table."""
        return [document._asdict() for document in self.deciding]


def evaluate(
    fit: Fit | str | PathLike[str],
    runs: Mapping[str, Any] | Sequence[Any],
    measures: str | Sequence[str] = DEFAULT,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    budget: int = BUDGET,
    unjudged: str = "zero",
    level: float = LEVEL,
    complete: bool = False,
    pair: tuple[str, str] | None = None,
    baseline: str | None = None,
) -> Evaluation:
    """Evaluate runs of search systems by the posterior of a fit, and name the documents that would decide.

    The posterior of a calibrated fit is combined with the ranks of the runs. If its judgments are saved beside it, as
    ``adjudge fit --out`` does, the prevalence of labels is also estimated again where items have few judgments.

    Parameters
    ----------
    fit : Fit or path
        A fit of judgments with topics, or the folder of a saved one.
    runs : mapping or sequence
        Runs, or one: files, frames of adjudge, ir_measures or PyTerrier, ``{topic: {document: score}}``, rows of
        ir_measures or ir_datasets, or runs of ranx; a mapping names them.
    measures : str or sequence of str
        Measures such as "MAP,nDCG@10".
    draws : int
        Draws of the labels.
    seed : int
        Seed of the draws.
    budget : int
        How many documents to name that would decide.
    unjudged : str
        Documents that nobody judged have grade ``"zero"``, or a label drawn by its ``"prevalence"`` in the topic.
    level : float
        The grade from which a document is relevant.
    complete : bool
        Whether to use all topics of the fit, not only those that a run has; a run without a topic has 0 there.
    pair : tuple of two names, optional
        The runs that documents should decide between. Default: if there are more than two runs, documents that decide
        on the order of all by the first measure.
    baseline : str, optional
        The name of a run. All others are compared with it, and not every two runs with each other.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import adjudge
    >>> import polars as pl
    >>> rows = {"item": ["t1_a", "t1_b"] * 2, "judge": ["x", "x", "y", "y"], "label": [1, 0, 1, 0]}
    >>> fit = adjudge.fit(pl.DataFrame(rows).with_columns(topic=pl.lit("t1")), "majority")
    >>> evaluate(fit, {"bm25": {"t1": {"a": 2.0, "b": 1.0}}}, "MRR", draws=20).scores[0].value
    1.0
    """
    for name, number, least in (("draws", draws, 1), ("budget", budget, 0)):
        if number < least:
            raise UsageError(f"{name} {number} is not {least} or more")
    folder, fit = fit, read_fit(fit, runs)
    named, systems = parse_measures(measures), read_runs(runs)
    worth, judgments = grades_for(fit, level), saved_judgments(folder, fit)
    names = [system.name for system in systems]
    base = None if baseline is None else find_run(names, baseline, "baseline")
    if pair is not None:
        _check_pair(names, pair)
    how: dict[str, Any] = {"unjudged": unjudged, "complete": complete, "level": level, "judgments": judgments}
    drawn = draw_labels(fit, systems, draws=draws, seed=seed, **how)
    single = pair is not None or len(names) == 2
    topics, by_topic, by_draw, barren = _measured(drawn, worth, named, level, single and budget > 0)
    between = _between(names, by_topic[:, 0].mean(axis=1), pair, base) if budget else []
    arguments = (topics, worth, named[0], level)
    deciding = deciding_documents(*arguments, between, by_draw[:, 0], unjudged, budget) if between else []
    moved = _topic_deviations(by_topic, by_draw.shape[2], seed)
    return Evaluation(
        tuple(names),
        tuple(measure.name for measure in named),
        tuple(topic.pool.topic for topic in topics),
        by_draw.shape[2],
        stored_draws(fit, draws) is not None,
        tuple(_scores(names, named, by_topic, by_draw, moved)),
        _decision(named[0].name, names, between),
        tuple(deciding),  # type: ignore[arg-type]
        (
            ASSUMED,
            *learned_notes(fit, runs, systems),
            *_draw_notes(fit, level, draws),
            *_system_notes(systems, topics, unjudged),
            *_barren_notes([topic.pool.topic for topic in topics], barren),
            *_missing_notes(systems, topics),
        ),
        by_topic,
        by_draw,
        moved,
        None if base is None else names[base],
        frame_kind(systems, fit.kind),
    )


def _measured(
    drawn: Iterator[LabelledTopic], worth: Floats, measures: Sequence[Measure], level: float, pair: bool
) -> tuple[list[LabelledTopic], Floats, Floats, list[float]]:
    """Return all topics, expected values (R, M, T), means by draw (R, M, S), and how often topics have none relevant.

    Values by topic and draw, and most drawn labels, are not kept: of many runs they would fill the memory.
    """
    topics, expected, barren, stored = list[LabelledTopic](), [], [], 0
    total: Floats = np.zeros(())
    for topic in drawn:
        value = values(topic.pool.orders, topic.code, worth, measures, level, unjudged=True)  # (R, M, S)
        total = total + value
        expected.append(value.mean(axis=2))
        barren.append(float(without_relevant(topic.code, worth, level).mean()))
        topics.append(kept_draws(topic, stored, pair))
        stored += topics[-1].code.size
    return topics, np.stack(expected, axis=2), total / len(topics), barren


def variance_parts(by_topic: Floats, by_draw: Floats) -> Parts:
    """Return the parts of the variance of a mean, from expected values by topic (T) and means over topics (S)."""
    topics = by_topic.var() / (by_topic.size - 1) if by_topic.size > 1 else 0.0
    return Parts(float(by_draw.var()), float(topics))


def _check_pair(names: Sequence[str], pair: tuple[str, str]) -> None:
    """Refuse a pair that does not name two runs."""
    unknown = [name for name in pair if name not in names]
    if unknown or pair[0] == pair[1]:
        which = quote(unknown[0]) if unknown else f"{quote(pair[0])} twice"
        raise UsageError(f"the pair names {which}: give two of the runs {quoted(names)}")


def _between(
    names: Sequence[str], mean: Floats, pair: tuple[str, str] | None, baseline: int | None
) -> list[tuple[int, int]]:
    """Return the pairs of runs that documents should decide: one, all with the baseline, or each run and the next."""
    if pair is not None:
        return [(names.index(pair[0]), names.index(pair[1]))]
    best = [int(run) for run in np.argsort(-mean, kind="stable")]
    if baseline is not None:
        return [(run, baseline) for run in best if run != baseline]
    return list(pairwise(best))


def _decision(measure: str, names: Sequence[str], between: Sequence[tuple[int, int]]) -> tuple[str, ...] | None:
    """Return the measure, and the two runs if there is one pair; None without any."""
    if not between:
        return None
    return (measure, *(names[run] for run in between[0])) if len(between) == 1 else (measure,)


def _topic_deviations(by_topic: Floats, draws: int, seed: int) -> Floats:
    """Return deviations of means over resampled topics (R, M, S) from expected values, with the same topics for all."""
    R, M, T = by_topic.shape
    rng = np.random.default_rng([seed, 1])  # a different stream from that of the labels
    deviations = topic_deviations(by_topic.reshape(R * M, T).T, draws, rng)
    return np.ascontiguousarray(deviations.T).reshape(R, M, draws)


def _span(drawn: Floats, least: float = 0.0) -> Span:
    """Return the interval of draws (S) of a quantity between ``least`` and 1."""
    low, high = np.clip(np.quantile(drawn, INTERVAL), least, 1.0)
    return Span(float(low), float(high))


def _scores(
    names: Sequence[str], measures: Sequence[Measure], by_topic: Floats, by_draw: Floats, moved: Floats
) -> Iterator[SystemScore]:
    """Yield every run by every measure."""
    for r, run in enumerate(names):
        for m, measure in enumerate(measures):
            x, labels, topics = by_topic[r, m], by_draw[r, m], moved[r, m]  # (T), (S), (S)
            mean = float(x.mean())
            spans = _span(labels), _span(mean + topics) if x.size > 1 else None, _span(labels + topics)
            yield SystemScore(run, measure.name, mean, *spans, variance_parts(x, labels))


def _pairs(result: Evaluation) -> Iterator[SystemPair]:
    """Yield every two runs, or every run and the baseline, by every measure."""
    names = result.runs
    compared = compared_runs(len(names), None if result.baseline is None else names.index(result.baseline))
    for m, measure in enumerate(result.measures):
        both = result.by_draw[:, m] + result.moved[:, m]  # (R, S)
        apart = None if result.baseline is None else both[[a for a, _ in compared]] - both[[b for _, b in compared]]
        reach = None if apart is None else simultaneous_reach(apart)
        for n, (a, b) in enumerate(compared):
            x, labels = (values[a, m] - values[b, m] for values in (result.by_topic, result.by_draw))
            mean, parts = float(x.mean()), variance_parts(x, labels)
            together = None if reach is None else Span(max(-1.0, mean - reach[n]), min(1.0, mean + reach[n]))
            chances = (*_better(both[a] - both[b]), *_better(labels))
            span = _span(both[a] - both[b], -1.0)
            yield SystemPair(measure, names[a], names[b], mean, span, *chances, parts, together)


def _better(difference: Floats) -> tuple[float, float]:
    """Return the share of draws (S) in which a difference is above 0, and in which it is 0."""
    return float((difference > SAME).mean()), float((abs(difference) <= SAME).mean())


def _ends(name: str, span: Span | None) -> dict[str, float | None]:
    """Return an interval as two columns."""
    before = f"{name}_" if name else ""
    return {f"{before}low": None if span is None else span.low, f"{before}high": None if span is None else span.high}


def _shares(parts: Parts) -> dict[str, float | None]:
    """Return the parts of a variance as columns of shares."""
    shares = parts.shares or (None, None)
    return dict(zip(("share_labels", "share_topics"), shares, strict=True))


def _frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: str) -> Any:
    """Return rows as a frame, which has its columns also without rows."""
    return frame({name: [row[name] for row in rows] for name in columns}, kind)


def learned_notes(fit: Fit, runs: Mapping[str, Any] | Sequence[Any], systems: Sequence[System]) -> Iterator[str]:
    """Yield notes on runs that have learned from the labels of judges who evaluate them here."""
    names = fit.judge_names.cast(str).to_list()
    judging = {name for name, judged in zip(names, fit.judged.tolist(), strict=True) if judged}
    raw_runs = list(runs.values()) if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else [runs]
    for system, run in zip(systems, raw_runs, strict=False):
        both = judging.intersection(run_judges(run))
        if both == judging:
            remedy = HOLD_BACK
        elif both:
            remedy = f"compare it by a fit of other judges (adjudge fit --without-judges {judges_path(run)})"
        if both:
            yield (
                f"{system.name} has learned from {len(both):,} of the {len(judging):,} judges who evaluate it here, "
                f"and repeats their errors: {remedy}, or with an audit"
            )


def _draw_notes(fit: Fit, level: float, draws: int) -> Iterator[str]:
    """Yield notes on the draws of labels."""
    stored = stored_draws(fit, draws)
    if stored is None and uses_runs(fit) and fit.calibration is not None:
        yield (
            "labels are drawn from what judges and runs say together, and intervals include that judges as a whole may "
            f"be too lenient or too strict (a share of 50% may be {0.5 - fit.calibration.margin:.0%} or "
            f"{0.5 + fit.calibration.margin:.0%})"
        )
    elif stored is None:
        yield (
            "labels are drawn item by item from the posterior: joint draws need a fit that kept its truths "
            "(`adjudge fit --keep-truths`)"
        )
    elif stored.size < draws:
        yield f"the fit stored {stored.size:,} draws, fewer than the {draws:,} asked for: all are used"
    if min(fit.scale.values) >= level:
        yield f"every label is relevant at level {level:g}: only nDCG distinguishes them"


def _system_notes(systems: Sequence[System], topics: Sequence[LabelledTopic], unjudged: str) -> Iterator[str]:
    """Yield notes on documents and topics that a run has and the fit does not, or the reverse."""
    for r, system in enumerate(systems):
        pools = [topic.pool for topic in topics]
        sizes = [(pool.orders[r].size, int((pool.orders[r] >= pool.judged).sum())) for pool in pools]
        returned, strange = (sum(column) for column in zip(*sizes, strict=True))
        absent = sum(size == 0 for size, _ in sizes)
        if strange:
            how = "grade 0" if unjudged == "zero" else "labels by their topic's prevalence"
            yield f"{system.name}: nobody judged {strange:,} of {returned:,} documents, which have {how}"
        if absent:
            yield f"{system.name} returns nothing for {absent:,} of {len(topics):,} topics, which count as 0"
        strangers = len(system.ranked) - (len(topics) - absent)
        if strangers:
            yield f"{system.name} has {strangers:,} topics that are not in the fit, which are left out"


def _barren_notes(topics: Sequence[str], barren: Sequence[float]) -> Iterator[str]:
    """Yield a note on topics that have no relevant document in some draws, from the share of these draws."""
    worst = int(np.argmax(barren))
    if barren[worst] > 0:
        count = sum(each > 0 for each in barren)
        yield (
            f"{count:,} of {len(topics):,} topics have no relevant document in some draws (topic "
            f"{quote(topics[worst])} in {barren[worst]:.0%}): undefined values count as 0, as in trec_eval"
        )


def _missing_notes(systems: Sequence[System], topics: Sequence[LabelledTopic]) -> Iterator[str]:
    """Yield notes on results that need a second topic or a second run."""
    if len(topics) == 1:
        yield ONE_TOPIC
    if len(systems) == 1:
        yield NO_PAIR
