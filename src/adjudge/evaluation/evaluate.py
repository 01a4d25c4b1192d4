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
from itertools import combinations
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.run_judges import judges_path, run_judges
from adjudge.data.runs import System, read_runs
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, quote, quoted
from adjudge.evaluation.label_chances import uses_runs
from adjudge.evaluation.uncertain_labels import (
    SAME,
    Deciding,
    LabelledTopic,
    deciding_documents,
    draw_labels,
    grades_for,
    importance,
    stored_draws,
)
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, saved_judgments
from adjudge.metrics.ranking import DEFAULT, LEVEL, Measure, parse_measures, values, without_relevant
from adjudge.metrics.score import INTERVAL, topic_deviations

DRAWS = 1_000
BUDGET = 10
ONE_TOPIC = "the variance of topics is not defined because there is only one topic"
ASSUMED = (
    "all of this is valid only if no system shares a bias with the judges, which no probability can show: an audit of "
    "a few expert labels can (--audit)"
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


@dataclass(frozen=True, eq=False)
class Evaluation(NotebookView):
    """Search systems compared with uncertain labels."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    draws: int  # of the labels
    joint: bool  # whether labels are joint draws that the fit stored
    scores: tuple[SystemScore, ...]  # runs by measures
    pairs: tuple[SystemPair, ...]
    decision: tuple[str, str, str] | None  # the measure and the two runs that the documents decide between
    deciding: tuple[Deciding, ...]  # the most important first
    notes: tuple[str, ...]
    value: Floats = field(repr=False, default_factory=lambda: np.empty((0, 0, 0, 0)))  # (R, M, T, S)
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        values = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"Evaluation({len(self.topics):,} topics, {self.draws:,} draws: {', '.join(values[:4])})"

    @property
    def table(self) -> Any:
        """A table with one row per run and measure."""
        return _frame(self.score_rows(), self.columns()[0], self.kind)

    @property
    def pair_table(self) -> Any:
        """A table with one row per measure and pair of runs."""
        return _frame(self.pair_rows(), self.columns()[1], self.kind)

    @property
    def document_table(self) -> Any:
        """A table with one row per document that would decide."""
        return _frame(self.deciding_rows(), self.columns()[2], self.kind)

    @staticmethod
    def columns() -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return the names of the columns of runs, of pairs and of documents."""
        ends, shares = ("low", "high"), ("share_labels", "share_topics")
        apart = tuple(f"{name}_{end}" for name in ("labels", "topics") for end in ends)
        chances = ("better", "tied", "better_labels", "tied_labels")
        return (
            ("run", "measure", "value", *apart, *ends, *shares),
            ("measure", "first", "second", "difference", *ends, *chances, *shares),
            Deciding._fields,
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
) -> Evaluation:
    """Evaluate runs of search systems by the posterior of a fit, and name the documents that would decide.

    The posterior of a calibrated fit is combined with the ranks of the runs. If its judgments are saved beside it, as
    ``adjudge fit --out`` does, the prevalence of labels is also estimated again where items have few judgments.

    Parameters
    ----------
    fit : Fit or path
        A fit of judgments with topics, or the folder of a saved one.
    runs : mapping or sequence
        Files, frames with topic, document and score, or ``{topic: {document: score}}``; a mapping names them.
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
        The runs to decide between. Default: the two best by the first measure.

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
    named, systems = parse_measures(measures), read_runs(runs)
    folder, fit = fit, read_fit(fit)
    worth, judgments = grades_for(fit, level), saved_judgments(folder, fit)
    how: dict[str, Any] = {"unjudged": unjudged, "complete": complete, "level": level, "judgments": judgments}
    topics = list(draw_labels(fit, systems, draws=draws, seed=seed, **how))
    value = np.stack([values(topic.pool.orders, topic.code, worth, named, level) for topic in topics], axis=2)
    names = [system.name for system in systems]
    between = _between(names, value[:, 0].mean(axis=(1, 2)), pair) if budget else None
    deciding = [] if between is None else deciding_documents(topics, worth, named[0], level, between, value, unjudged)
    moved = _topic_deviations(value, seed)
    return Evaluation(
        tuple(names),
        tuple(measure.name for measure in named),
        tuple(topic.pool.topic for topic in topics),
        value.shape[3],
        stored_draws(fit, draws) is not None,
        tuple(_scores(names, named, value, moved)),
        tuple(_pairs(names, named, value, moved)),
        None if between is None else (named[0].name, names[between[0]], names[between[1]]),
        tuple(sorted(deciding, key=importance)[:budget]),
        (
            ASSUMED,
            *learned_notes(fit, runs, systems),
            *_draw_notes(fit, level, draws),
            *_system_notes(systems, topics, unjudged),
            *_barren_notes(topics, worth, level),
            *_missing_notes(systems, topics),
        ),
        value,
        fit.kind,
    )


def variance_parts(x: Floats) -> Parts:
    """Return the parts of the variance of the mean over topics, from a measure by topic and draw (T, S)."""
    expected = x.mean(axis=1)  # (T)
    topics = expected.var() / (expected.size - 1) if expected.size > 1 else 0.0
    return Parts(float(x.mean(axis=0).var()), float(topics))


def _between(names: Sequence[str], mean: Floats, pair: tuple[str, str] | None) -> tuple[int, int] | None:
    """Return the two runs to decide between, None if there is only one."""
    if pair is None:
        best = np.argsort(-mean, kind="stable")
        return (int(best[0]), int(best[1])) if best.size > 1 else None
    unknown = [name for name in pair if name not in names]
    if unknown or pair[0] == pair[1]:
        which = quote(unknown[0]) if unknown else f"{quote(pair[0])} twice"
        raise UsageError(f"the pair names {which}: give two of the runs {quoted(names)}")
    return names.index(pair[0]), names.index(pair[1])


def _topic_deviations(value: Floats, seed: int) -> Floats:
    """Return deviations of means over resampled topics (R, M, S) from expected values, with the same topics for all."""
    R, M, T, S = value.shape
    rng = np.random.default_rng([seed, 1])  # a different stream from that of the labels
    expected = value.mean(axis=3).reshape(R * M, T)
    return np.ascontiguousarray(topic_deviations(expected.T, S, rng).T).reshape(R, M, S)


def _span(drawn: Floats, least: float = 0.0) -> Span:
    """Return the interval of draws (S) of a quantity between ``least`` and 1."""
    low, high = np.clip(np.quantile(drawn, INTERVAL), least, 1.0)
    return Span(float(low), float(high))


def _scores(names: Sequence[str], measures: Sequence[Measure], value: Floats, moved: Floats) -> Iterator[SystemScore]:
    """Yield every run by every measure."""
    for r, run in enumerate(names):
        for m, measure in enumerate(measures):
            x, by_topics = value[r, m], moved[r, m]  # (T, S), (S)
            mean, by_labels = float(x.mean()), x.mean(axis=0)
            topics = _span(mean + by_topics) if x.shape[0] > 1 else None
            spans = _span(by_labels), topics, _span(by_labels + by_topics)
            yield SystemScore(run, measure.name, mean, *spans, variance_parts(x))


def _pairs(names: Sequence[str], measures: Sequence[Measure], value: Floats, moved: Floats) -> Iterator[SystemPair]:
    """Yield every two runs by every measure."""
    for m, measure in enumerate(measures):
        for a, b in combinations(range(len(names)), 2):
            x = value[a, m] - value[b, m]  # (T, S)
            labels = x.mean(axis=0)
            both = labels + (moved[a, m] - moved[b, m])
            mean, parts = float(x.mean()), variance_parts(x)
            chances = (*_better(both), *_better(labels))
            yield SystemPair(measure.name, names[a], names[b], mean, _span(both, -1.0), *chances, parts)


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
    for system, run in zip(systems, runs.values() if isinstance(runs, Mapping) else runs, strict=True):
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
        yield "labels are drawn item by item from the posterior: joint draws need a fit with --keep-truths"
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


def _barren_notes(topics: Sequence[LabelledTopic], worth: Floats, level: float) -> Iterator[str]:
    """Yield a note on topics that have no relevant document in some draws."""
    share = {topic.pool.topic: float(without_relevant(topic.code, worth, level).mean()) for topic in topics}
    worst = max(share, key=lambda topic: share[topic])
    if share[worst] > 0:
        count = sum(each > 0 for each in share.values())
        yield (
            f"{count:,} of {len(topics):,} topics have no relevant document in some draws (topic {quote(worst)} in "
            f"{share[worst]:.0%}): undefined values count as 0, as in trec_eval"
        )


def _missing_notes(systems: Sequence[System], topics: Sequence[LabelledTopic]) -> Iterator[str]:
    """Yield notes on results that need a second topic or a second run."""
    if len(topics) == 1:
        yield ONE_TOPIC
    if len(systems) == 1:
        yield NO_PAIR
