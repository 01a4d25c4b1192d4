"""``evaluate``: search systems compared where labels are uncertain, and which documents would settle it.

What is asked for is a measure's mean over all topics such as these T. It is uncertain for two reasons. With x_t the
measure of topic t under labels L, drawn from the posterior of a fit:

    labels    Var_L( mean_t x_t )              the labels may be wrong, and these T topics score otherwise than thought
    topics    Var_t( E_L[x_t] ) / (T - 1)      other topics would give other numbers, the labels as expected

The two add up. A draw is the mean of these topics under drawn labels, plus how far the mean of their expected values
moves in a bootstrap over topics (``score.topics``); intervals, and the chance that one system is better than another,
are of such draws. Topics are not drawn anew under drawn labels: between topics these spread by what labels add, which
would then count once more. What labels add to one topic alone may still be in both parts, so that intervals are rather
too wide; they are too narrow where a model draws topics together towards a mean learnt from them. What no interval here
knows of is that a posterior which does not see the runs also draws their difference towards 0, the more the less sure
the labels are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.runs import System, read_runs
from adjudge.errors import UsageError, quote, quoted
from adjudge.evaluation.uncertain_labels import (
    SAME,
    Deciding,
    Labelled,
    deciding_documents,
    kept_draws,
    labelled,
    weight,
    worth_of,
)
from adjudge.inference.result import Fit
from adjudge.inference.save import load
from adjudge.metrics.ranking import LEVEL, USUAL, Measure, checked, values, without_relevant
from adjudge.metrics.ranking import measures as measures_named
from adjudge.metrics.run_scores import INTERVAL, topic_deviations

DRAWS = 1_000
BUDGET = 10
ONE_TOPIC = "what topics add is not defined because there is one topic only"
NO_PAIR = "which documents decide is not defined because there is one run only"


class Parts(NamedTuple):
    """The variance of a mean over topics, by where it comes from."""

    labels: float
    topics: float

    @property
    def shares(self) -> tuple[float, float] | None:
        """The parts as shares of the whole, None where nothing varies."""
        whole = sum(self)
        return (self.labels / whole, self.topics / whole) if whole > SAME**2 else None


class Span(NamedTuple):
    """The ends of a 90 % interval."""

    low: float
    high: float


class SystemScore(NamedTuple):
    """A run's mean of a measure over topics, and how uncertain it is."""

    run: str
    measure: str
    value: float  # expected over the labels
    labels: Span  # the topics as they are, the labels uncertain
    topics: Span | None  # the labels averaged over, the topics drawn anew
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
class Evaluation:
    """Search systems under uncertain labels."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    draws: int  # of the labels
    joint: bool  # whether labels were drawn together, from draws that the fit kept
    scores: tuple[SystemScore, ...]  # runs by measures
    pairs: tuple[SystemPair, ...]
    asked: tuple[str, str, str] | None  # the measure and the two runs that the documents decide between
    deciding: tuple[Deciding, ...]  # those that move it most first
    notes: tuple[str, ...]
    value: Floats = field(repr=False, default_factory=lambda: np.empty((0, 0, 0, 0)))  # (R, M, T, S)

    def __repr__(self) -> str:
        shown = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"Evaluation({len(self.topics):,} topics, {self.draws:,} draws: {', '.join(shown[:4])})"

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
                "run": one.run,
                "measure": one.measure,
                "value": one.value,
                **_ends("labels", one.labels),
                **_ends("topics", one.topics),
                **_ends("", one.both),
                **_shares(one.parts),
            }
            for one in self.scores
        ]

    def pair_rows(self) -> list[dict[str, Any]]:
        """Return the pairs of runs as rows of a table."""
        return [
            {
                "measure": one.measure,
                "first": one.first,
                "second": one.second,
                "difference": one.difference,
                **_ends("", one.span),
                "better": one.better,
                "tied": one.tied,
                "better_labels": one.better_labels,
                "tied_labels": one.tied_labels,
                **_shares(one.parts),
            }
            for one in self.pairs
        ]

    def deciding_rows(self) -> list[dict[str, Any]]:
        """Return the documents that decide as rows of a table."""
        return [one._asdict() for one in self.deciding]


def evaluate(
    fit: Fit | str | Path,
    runs: Mapping[str, Any] | Sequence[Any],
    measures: str | Sequence[str] = USUAL,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    budget: int = BUDGET,
    unjudged: str = "zero",
    level: float = LEVEL,
    complete: bool = False,
    pair: tuple[str, str] | None = None,
) -> Evaluation:
    """Evaluate runs (files, frames or {topic: {document: score}}) by what a fit holds likely of the documents.

    ``unjudged`` documents have grade zero, or a label drawn by its prevalence in the topic. Topics are those of the fit
    that a run has, with ``complete`` all; a run without a topic has 0 there. ``budget`` documents are named that would
    decide between the two best runs by the first measure, or between a ``pair``.
    """
    for name, number, least in (("draws", draws, 1), ("budget", budget, 0)):
        if number < least:
            raise UsageError(f"{name} {number} is not {least} or more")
    asked, systems = measures_named(measures), read_runs(runs)
    fitted = fit if isinstance(fit, Fit) else load(fit)
    worth = _worth(fitted, level)
    topics = list(labelled(fitted, systems, draws=draws, seed=seed, unjudged=unjudged, complete=complete))
    value = np.stack([values(one.pool.orders, one.code, worth, asked, level) for one in topics], axis=2)
    names = [system.name for system in systems]
    between = _between(names, value[:, 0].mean(axis=(1, 2)), pair) if budget else None
    deciding = [] if between is None else deciding_documents(topics, worth, asked[0], level, between, value, unjudged)
    moved = _moved(value, seed)
    return Evaluation(
        tuple(names),
        tuple(one.name for one in asked),
        tuple(one.pool.topic for one in topics),
        value.shape[3],
        kept_draws(fitted, draws) is not None,
        tuple(_scores(names, asked, value, moved)),
        tuple(_pairs(names, asked, value, moved)),
        None if between is None else (asked[0].name, names[between[0]], names[between[1]]),
        tuple(sorted(deciding, key=weight)[:budget]),
        tuple(_notes(fitted, systems, topics, worth, level, unjudged, draws)),
        value,
    )


def variance_parts(x: Floats) -> Parts:
    """Return where the variance of the mean over topics comes from, of a measure by topic and draw (T, S)."""
    expected = x.mean(axis=1)  # (T)
    topics = expected.var() / (expected.size - 1) if expected.size > 1 else 0.0
    return Parts(float(x.mean(axis=0).var()), float(topics))


def _worth(fit: Fit, level: float) -> Floats:
    """Return the grades of the labels, refusing a level that none reaches."""
    if max(fit.scale.values) < checked(level):
        grades = ", ".join(f"{value:g}" for value in fit.scale.values)
        raise UsageError(f"no label is relevant at level {level:g}: the grades of the fit are {grades}")
    return worth_of(fit)


def _between(names: Sequence[str], mean: Floats, pair: tuple[str, str] | None) -> tuple[int, int] | None:
    """Return the two runs that are to be decided between, None where there is one only."""
    if pair is None:
        best = np.argsort(-mean, kind="stable")
        return (int(best[0]), int(best[1])) if best.size > 1 else None
    unknown = [name for name in pair if name not in names]
    if unknown or pair[0] == pair[1]:
        which = quote(unknown[0]) if unknown else f"{quote(pair[0])} twice"
        raise UsageError(f"the pair names {which}: give two of the runs {quoted(names)}")
    return names.index(pair[0]), names.index(pair[1])


def _moved(value: Floats, seed: int) -> Floats:
    """Return how far means over topics move in a bootstrap of expected values (R, M, S), the same topics for all."""
    R, M, T, S = value.shape
    rng = np.random.default_rng([seed, 1])  # a stream apart from that of the labels
    expected = value.mean(axis=3).reshape(R * M, T)
    return np.ascontiguousarray(topic_deviations(expected.T, S, rng).T).reshape(R, M, S)


def _span(drawn: Floats, least: float = 0.0) -> Span:
    """Return the interval of draws (S) of what lies between ``least`` and 1."""
    low, high = np.clip(np.quantile(drawn, INTERVAL), least, 1.0)
    return Span(float(low), float(high))


def _scores(names: Sequence[str], asked: Sequence[Measure], value: Floats, moved: Floats) -> Iterator[SystemScore]:
    """Yield every run by every measure."""
    for r, run in enumerate(names):
        for m, measure in enumerate(asked):
            x, by_topics = value[r, m], moved[r, m]  # (T, S), (S)
            mean, by_labels = float(x.mean()), x.mean(axis=0)
            topics = _span(mean + by_topics) if x.shape[0] > 1 else None
            spans = _span(by_labels), topics, _span(by_labels + by_topics)
            yield SystemScore(run, measure.name, mean, *spans, variance_parts(x))


def _pairs(names: Sequence[str], asked: Sequence[Measure], value: Floats, moved: Floats) -> Iterator[SystemPair]:
    """Yield every two runs by every measure."""
    for m, measure in enumerate(asked):
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


def _notes(
    fit: Fit,
    systems: Sequence[System],
    topics: Sequence[Labelled],
    worth: Floats,
    level: float,
    unjudged: str,
    draws: int,
) -> Iterator[str]:
    """Yield what must be said with the result."""
    kept = kept_draws(fit, draws)
    if kept is None:
        yield "labels are drawn item by item from the posterior: joint draws need a fit with --keep-truths"
    elif kept.size < draws:
        yield f"the fit kept {kept.size:,} draws, fewer than the {draws:,} asked for: all are used"
    if min(fit.scale.values) >= level:
        yield f"every label is relevant at level {level:g}: only nDCG tells them apart"
    for r, system in enumerate(systems):
        sizes = [(one.pool.orders[r].size, int((one.pool.orders[r] >= one.pool.judged).sum())) for one in topics]
        returned, strange = (sum(column) for column in zip(*sizes, strict=True))
        absent = sum(size == 0 for size, _ in sizes)
        if strange:
            how = "grade 0" if unjudged == "zero" else "labels by their topic's prevalence"
            yield f"{system.name}: nobody judged {strange:,} of {returned:,} documents, which have {how}"
        if absent:
            yield f"{system.name} returns nothing for {absent:,} of {len(topics):,} topics, which count as 0"
        strangers = len(system.ranked) - (len(topics) - absent)
        if strangers:
            yield f"{system.name} has {strangers:,} topics that the fit does not know, which are left out"
    barren = {one.pool.topic: float(without_relevant(one.code, worth, level).mean()) for one in topics}
    worst = max(barren, key=lambda topic: barren[topic])
    if barren[worst] > 0:
        count = sum(share > 0 for share in barren.values())
        yield (
            f"{count:,} of {len(topics):,} topics have no relevant document in some draws (topic {quote(worst)} in "
            f"{barren[worst]:.0%}): what is not defined there counts as 0, as in trec_eval"
        )
    if len(topics) == 1:
        yield ONE_TOPIC
    if len(systems) == 1:
        yield NO_PAIR
