"""``score_runs``: runs of search systems held against grades, with intervals over topics and paired tests.

Topics are those that are in the grades and in a run, as in trec_eval; with ``complete`` (its -c) a run has 0 for topics
of the grades that it leaves out. Topics are what the next evaluation would draw anew, so intervals are of the bootstrap
over them, widened for how few they are (``score.topics``), and two runs are compared on the topics that both have, each
topic's difference being of either sign with the same chance where they are equally good (Fisher's randomisation), with
Holm's correction for the number of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import System, read_grades, read_runs
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.metrics.bootstrap import DRAWS
from adjudge.metrics.paired import holm, sign_flips
from adjudge.metrics.ranking import LEVEL, USUAL, Pool, checked, pooled, values, without_relevant
from adjudge.metrics.ranking import measures as measures_named

# Topics drawn anew: how far a mean over topics would move had other topics been asked (bootstrap; Efron 1979).
#
# Drawn from T topics, means move less than those of other topics would: by a factor of sqrt((T - 1) / T), as the
# variance of a sample does, and with few topics the spread itself is not well known, which Student's t allows for.
# Deviations from the mean are therefore widened by
#
# sqrt(T / (T - 1)) * t(T - 1) / z
#
# with t and z the deviates within which nine in ten lie. Where values are normal a 90 % interval so holds the mean of
# all topics about nine times in ten also where T is small: with 5 topics 90 %, where it would be 79 % without
# widening. With 3 it is 86 %, since means of so few values that repeat are not normal.

INTERVAL = (0.05, 0.95)  # the ends of a 90 % interval, as quantiles
CHUNK = 256  # resamples of topics held at once


def widening(topics: int) -> float:
    """Return by how much deviations of a bootstrap over so many topics are too small; of one topic there are none."""
    if topics < 2:
        return 1.0
    return float(np.sqrt(topics / (topics - 1)) * stdtrit(topics - 1, INTERVAL[1]) / ndtri(INTERVAL[1]))


def topic_deviations(value: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return how far means over topics drawn anew lie from the mean (draws, C), widened, of values by topic (T, C)."""
    T = value.shape[0]
    apart = (value - value.mean(axis=0)) * widening(T)
    found = np.empty((draws, value.shape[1]))
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        found[begin : begin + size] = rng.multinomial(T, np.full(T, 1 / T), size=size) @ apart / T
    return found


ONE_TOPIC = "its interval is not defined because there is one topic only"
TIES = ("name", "expected")


class RunScore(NamedTuple):
    """A run's mean of a measure over its topics."""

    run: str
    measure: str
    value: float
    low: float | None  # the ends of a 90 % interval over topics
    high: float | None
    topics: int
    note: str = ""


class RunPair(NamedTuple):
    """Two runs held against each other."""

    measure: str
    first: str
    second: str
    difference: float  # of the means, on the topics that both have; above 0, the first is better
    p: float
    adjusted: float  # p after Holm's correction
    topics: int


class TopicScore(NamedTuple):
    """A run's value of a measure in one topic."""

    run: str
    topic: str
    measure: str
    value: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class RunScores:
    """What runs are worth; ``value`` has 0 where a run leaves out a topic, and ``seen`` says where it counts."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    value: Floats  # (R, M, T)
    seen: Flags  # (R, T)
    scores: tuple[RunScore, ...]  # runs by measures
    pairs: tuple[RunPair, ...]
    barren: tuple[str, ...]  # topics without a relevant document
    unjudged: Floats  # (R) the share of documents returned that nobody judged, which count as grade 0
    notes: tuple[str, ...]
    undefined: frozenset[str] = frozenset()  # measures that are not defined of a topic without a relevant document

    def __repr__(self) -> str:
        shown = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"RunScores({len(self.topics):,} topics: {', '.join(shown[:4])})"

    def by_topic(self) -> list[TopicScore]:
        """Return every run's value in every topic that counts for it."""
        return [
            TopicScore(run, topic, measure, float(self.value[r, m, t]), self._note(topic, measure))
            for r, run in enumerate(self.runs)
            for t, topic in enumerate(self.topics)
            if self.seen[r, t]
            for m, measure in enumerate(self.measures)
        ]

    def _note(self, topic: str, measure: str) -> str:
        """Return what must be said with a topic's value."""
        barren = topic in self.barren and measure in self.undefined
        return f"not defined because topic {topic} has no relevant document; 0 as in trec_eval" if barren else ""


def score_runs(
    runs: Mapping[str, Any] | Sequence[Any],
    grades: Any,
    measures: str | Sequence[str] = USUAL,
    *,
    level: float = LEVEL,
    complete: bool = False,
    ties: str = "name",
    draws: int = DRAWS,
    seed: int = 0,
) -> RunScores:
    """Score runs (files, frames or {topic: {document: score}}) by the grades of documents.

    A document is relevant where its grade is at least ``level``. Tied documents are ordered by ``name``, as in
    trec_eval, or measures are ``expected`` over all their orders. ``draws`` are of topics, for intervals and tests.
    """
    asked = measures_named(measures)
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    if ties not in TIES:
        raise UsageError(f"ties {ties!r} is not one of {quoted(TIES)}")
    systems, known = read_runs(runs), read_grades(grades)
    _refuse_strangers(systems, known)
    topics = [topic for topic in known if complete or any(topic in system.ranked for system in systems)]
    graded = [_graded(topic, known, systems) for topic in topics]
    worth = _worth(known)
    codes = [_codes(pool, known[pool.topic], worth) for pool in graded]
    both = list(zip(graded, codes, strict=True))
    ends = [_ends(pool, systems) if ties == "expected" else None for pool in graded]
    found = [
        values(pool.orders, code, worth, asked, checked(level), e) for (pool, code), e in zip(both, ends, strict=True)
    ]
    value = np.concatenate(found, axis=2)
    barren = [pool.topic for pool, code in both if without_relevant(code, worth, level)[0]]
    seen = np.array([[complete or topic in system.ranked for topic in topics] for system in systems])
    names, named = [system.name for system in systems], [one.name for one in asked]
    return RunScores(
        tuple(names),
        tuple(named),
        tuple(topics),
        value,
        seen,
        tuple(_scores(names, named, value, seen, draws, seed)),
        tuple(_pairs(names, named, value, seen, draws, seed)),
        tuple(barren),
        _unjudged(graded),
        tuple(_notes(systems, topics, barren, seen, complete, len(known))),
        frozenset(one.name for one in asked if one.kind.needs_relevant),
    )


def _graded(topic: str, known: Mapping[str, Mapping[str, float]], systems: Sequence[System]) -> Pool:
    """Return a topic's documents, those with grades first."""
    place = {document: d for d, document in enumerate(known[topic])}
    return pooled(topic, place, list(known[topic]), [system.ranked.get(topic, []) for system in systems])


def _ends(pool: Pool, systems: Sequence[System]) -> list[Codes]:
    """Return where the ties of every run end in a topic, nowhere where it returns nothing."""
    return [system.ties.get(pool.topic, np.empty(0, np.int64)) for system in systems]


def _worth(known: Mapping[str, Mapping[str, float]]) -> Floats:
    """Return all grades there are, and 0 (K)."""
    return np.unique([0.0, *(grade for held in known.values() for grade in held.values())])


def _codes(pool: Pool, grades: Mapping[str, float], worth: Floats) -> Codes:
    """Return the grade of every document as a code, in what is one draw (D, 1)."""
    grade = np.zeros(len(pool.documents))
    grade[: pool.judged] = list(grades.values())
    return np.searchsorted(worth, grade).astype(np.uint16)[:, None]


def _unjudged(pools: Sequence[Pool]) -> Floats:
    """Return the share of what each run returns that nobody judged (R)."""
    strange = np.array([[(order >= pool.judged).sum() for order in pool.orders] for pool in pools])
    returned = np.array([[order.size for order in pool.orders] for pool in pools])
    share: Floats = strange.sum(axis=0) / np.maximum(returned.sum(axis=0), 1)
    return share


def _refuse_strangers(systems: Sequence[System], known: Mapping[str, Any]) -> None:
    """Refuse a run of which no topic has grades."""
    for system in systems:
        if not known.keys() & system.ranked.keys():
            theirs, ours = next(iter(system.ranked)), next(iter(known))
            what = f"no topic of this run has grades: its topics are such as {quote(theirs)}"
            raise InputError(f"{what}, those with grades such as {quote(ours)}", system.name)


def _scores(
    names: Sequence[str], named: Sequence[str], value: Floats, seen: Flags, draws: int, seed: int
) -> list[RunScore]:
    """Return the means of every run with their intervals; runs with the same topics share the draws of these."""
    found = []
    for r, run in enumerate(names):
        own = value[r][:, seen[r]]  # (M, T')
        T = own.shape[1]
        mean = own.mean(axis=1)
        apart = topic_deviations(own.T, draws, np.random.default_rng(seed))
        low, high = np.clip(mean + np.quantile(apart, INTERVAL, axis=0), 0.0, 1.0)  # as measures are
        for m, measure in enumerate(named):
            one = RunScore(run, measure, float(mean[m]), None, None, T, ONE_TOPIC)
            found.append(one if T == 1 else one._replace(low=float(low[m]), high=float(high[m]), note=""))
    return found


def _pairs(
    names: Sequence[str], named: Sequence[str], value: Floats, seen: Flags, draws: int, seed: int
) -> list[RunPair]:
    """Return every two runs' difference with its p, corrected within a measure; pairs that share no topic are not."""
    found = []
    pairs = [(a, b) for a, b in combinations(range(len(names)), 2) if (seen[a] & seen[b]).any()]
    for m, measure in enumerate(named):
        difference = [(value[a, m] - value[b, m])[seen[a] & seen[b]] for a, b in pairs]
        p = np.array([sign_flips(d[:, None], draws=draws, seed=seed)[0] for d in difference])
        rows = zip(pairs, difference, p, holm(p), strict=True)
        found += [
            RunPair(measure, names[a], names[b], float(d.mean()), float(chance), float(adjusted), d.size)
            for (a, b), d, chance, adjusted in rows
        ]
    return found


def _notes(
    systems: Sequence[System], topics: Sequence[str], barren: Sequence[str], seen: Flags, complete: bool, known: int
) -> list[str]:
    """Return what must be said with the scores."""
    said = []
    if barren:
        which = f"topic {quote(barren[0])}" + (f" and {len(barren) - 1} more" if len(barren) > 1 else "")
        said.append(f"{which} without a relevant document: counted as 0 where not defined, as in trec_eval")
    for system, own in zip(systems, seen, strict=True):
        absent = [topic for topic in topics if topic not in system.ranked]
        how = "which count as 0" if complete else "which are left out"
        if absent:
            said.append(f"{system.name} returns nothing for {len(absent):,} of {own.size:,} topics, {how}")
        strange = len(system.ranked) - (len(topics) - len(absent))
        if strange:
            said.append(f"{system.name} has {strange:,} topics without grades, which are left out")
    if known > len(topics):
        said.append(f"no run has {known - len(topics):,} of {known:,} topics with grades, which are left out")
    return said
