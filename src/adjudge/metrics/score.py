"""``score``: answers against the truth, whether they are labels or runs of search systems.

Labels are scored by ``metrics.labels``. Runs are scored here against grades, with intervals over topics and paired
tests. Topics are those that are in the grades and in a run, as in trec_eval; with ``complete`` (its -c) a run has 0 for
topics of the grades that it leaves out. The next evaluation would use other topics, so intervals are those of a
bootstrap over topics (Efron 1979). Two runs are compared on the topics that both have, with random signs of each
topic's difference (Fisher's randomisation) and Holm's correction for the number of pairs.

Means over resampled topics vary less than those of other topics would: by a factor of sqrt((T - 1) / T), and with few
topics the spread itself is not well known, which Student's t allows for. Deviations from the mean are therefore widened
by sqrt(T / (T - 1)) t(T - 1) / z, with t and z the 95 % quantiles. For normal values a 90 % interval then covers the
mean of all topics with 90 % probability also if T is small: with 5 topics in 90 % of cases, instead of 79 % without
widening; with 3 topics in 86 %, because means of so few values are not normal.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import System, are_run_columns, frame_kind, is_one_run, is_run, read_grades, read_runs, run_name
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, InputError, UsageError, not_one_of, quote, quoted
from adjudge.inference.result import Fit
from adjudge.metrics.labels import Scores, scores
from adjudge.metrics.leaderboard import Place, best_chances, better_pairs, compare_draws, place_rows, places
from adjudge.metrics.ranking import (
    DEFAULT,
    LEVEL,
    Measure,
    Pool,
    check_level,
    only_judged,
    parse_measures,
    pool_documents,
    values,
    without_relevant,
)
from adjudge.metrics.significance import DRAWS, holm, sign_flips

INTERVAL = (0.05, 0.95)  # the ends of a 90 % interval, as quantiles
CHUNK = 256  # resamples of topics at once


def widening(topics: int) -> float:
    """Return the factor by which deviations of a bootstrap over so many topics are too small."""
    if topics < 2:
        return 1.0
    return float(np.sqrt(topics / (topics - 1)) * stdtrit(topics - 1, INTERVAL[1]) / ndtri(INTERVAL[1]))


def topic_deviations(value: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return the widened deviations of means over resampled topics (draws, C), from values by topic (T, C)."""
    T = value.shape[0]
    apart = (value - value.mean(axis=0)) * widening(T)
    deviations = np.empty((draws, value.shape[1]))
    for begin in range(0, draws, CHUNK):
        size = min(CHUNK, draws - begin)
        deviations[begin : begin + size] = rng.multinomial(T, np.full(T, 1 / T), size=size) @ apart / T
    return deviations


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
    """Two runs compared by one measure."""

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
class RunScores(NotebookView):
    """The scores of runs; ``value`` is 0 if a run leaves out a topic, and ``counts`` says whether that counts."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    value: Floats  # (R, M, T)
    counts: Flags  # (R, T) whether a topic counts for a run
    scores: tuple[RunScore, ...]  # runs by measures
    pairs: tuple[RunPair, ...]
    barren: tuple[str, ...]  # topics without a relevant document
    unjudged: Floats  # (R) share of the returned documents that nobody judged, which have grade 0
    notes: tuple[str, ...]
    undefined: frozenset[str] = frozenset()  # measures that need a relevant document
    kind: str = field(default="polars", repr=False)  # of the frames to give back
    baseline: str | None = None  # the run that all others are compared with
    draws: int = DRAWS  # of topics
    seed: int = 0

    def __repr__(self) -> str:
        values = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"RunScores({len(self.topics):,} topics: {', '.join(values[:4])})"

    @property
    def table(self) -> Any:
        """A table with one row per run and measure."""
        return frame({name: [getattr(row, name) for row in self.scores] for name in RunScore._fields}, self.kind)

    @property
    def pair_table(self) -> Any:
        """A table with one row per measure and pair of runs."""
        return frame({name: [getattr(row, name) for row in self.pairs] for name in RunPair._fields}, self.kind)

    @cached_property
    def leaderboard(self) -> tuple[Place, ...]:
        """The place of every run by every measure, the best first; empty if runs do not have the same topics."""
        if not (self.counts == self.counts[0]).all() or self.counts[0].sum() < 2:
            return ()
        result = []
        for measure in self.measures:
            value, drawn = self._values(measure)
            ends = [(row.low, row.high) for row in self.scores if row.measure == measure]
            result += places(measure, self.runs, value, ends, compare_draws(value, drawn), best_chances(drawn))
        return tuple(result)

    def distinguished(self, measure: str) -> set[tuple[str, str]]:
        """Return the pairs of runs of which the first is better, all together with 90 % probability over topics."""
        return better_pairs(self.runs, compare_draws(*self._values(measure)))

    def _values(self, measure: str) -> tuple[Floats, Floats]:
        """Return the values of all runs (R), which have the same topics, and draws of them over topics (R, S)."""
        by_topic = self.value[:, self.measures.index(measure), self.counts[0]]  # (R, T')
        value = by_topic.mean(axis=1)
        return value, value[:, None] + topic_deviations(by_topic.T, self.draws, np.random.default_rng(self.seed)).T

    @property
    def leaderboard_table(self) -> Any:
        """A table with one row per measure and run, the best run first."""
        return frame(place_rows(self.leaderboard), self.kind)

    def by_topic(self) -> list[TopicScore]:
        """Return every run's value in every topic that counts for it."""
        return [
            TopicScore(run, topic, measure, float(self.value[r, m, t]), self._note(topic, measure))
            for r, run in enumerate(self.runs)
            for t, topic in enumerate(self.topics)
            if self.counts[r, t]
            for m, measure in enumerate(self.measures)
        ]

    def _note(self, topic: str, measure: str) -> str:
        """Return the note on a topic's value."""
        barren = topic in self.barren and measure in self.undefined
        return f"not defined because topic {topic} has no relevant document; 0 as in trec_eval" if barren else ""


def score_runs(
    runs: Mapping[str, Any] | Sequence[Any],
    grades: Any,
    measures: str | Sequence[str] = DEFAULT,
    *,
    level: float = LEVEL,
    complete: bool = False,
    judged: bool = False,
    ties: str = "name",
    draws: int = DRAWS,
    seed: int = 0,
    baseline: str | None = None,
) -> RunScores:
    """Score runs by the grades of documents.

    Parameters
    ----------
    runs : mapping or sequence
        Runs, or one: files, frames of adjudge, ir_measures or PyTerrier, ``{topic: {document: score}}``, rows of
        ir_measures or ir_datasets, or runs of ranx; a mapping names them.
    grades : path, frame or mapping
        The grades: a qrels file, ``{topic: {document: grade}}``, or the same kinds of tables and objects.
    measures : str or sequence of str
        Measures such as "MAP,nDCG@10".
    level : float
        The grade from which a document is relevant.
    complete : bool
        Whether topics that a run leaves out count as 0.
    judged : bool
        Whether documents without a grade are left out of the runs before they are scored.
    ties : str
        Tied documents are ordered by ``"name"``, as in trec_eval, or values are ``"expected"`` over all their orders.
    draws : int
        Draws of topics behind intervals and tests.
    seed : int
        Seed of the draws.
    baseline : str, optional
        The name of a run. All others are compared with it, and not every two runs with each other.

    Returns
    -------
    RunScores

    Examples
    --------
    >>> score_runs({"a": {"t1": {"d1": 2.0, "d2": 1.0}}}, {"t1": {"d1": 0, "d2": 1}}, "MRR")
    RunScores(1 topics: a MRR 0.5000)
    """
    named = parse_measures(measures)
    if draws < 1:
        raise UsageError(f"draws {draws} is not 1 or more")
    if ties not in TIES:
        raise UsageError(not_one_of("ties", ties, TIES))
    systems, graded = read_runs(runs), read_grades(grades)
    base = None if baseline is None else find_run([system.name for system in systems], baseline, "baseline")
    _refuse_strangers(systems, graded)
    topics, counts = _counted_topics(systems, graded, complete)
    _refuse_ties(named, ties)
    value, barren, pools = _topic_values(systems, graded, topics, named, check_level(level), ties, judged)
    return RunScores(
        tuple(system.name for system in systems),
        tuple(each.name for each in named),
        tuple(topics),
        value,
        counts,
        tuple(_scores(systems, named, value, counts, draws, seed)),
        tuple(_pairs(systems, named, value, counts, draws, seed, base)),
        tuple(barren),
        _unjudged(pools),
        tuple(_notes(systems, topics, barren, complete, len(graded))),
        frozenset(each.name for each in named if each.kind.needs_relevant),
        frame_kind(systems),
        None if base is None else systems[base].name,
        draws,
        seed,
    )


def _refuse_ties(measures: Sequence[Measure], ties: str) -> None:
    """Refuse the expectation over ties of a measure that has none."""
    without = [each.name for each in measures if not each.kind.tied]
    if ties == "expected" and without:
        raise UsageError(f"{without[0]} has no expectation over the orders of ties: use ties 'name'")


def _counted_topics(systems: Sequence[System], graded: Mapping[str, Any], complete: bool) -> tuple[list[str], Flags]:
    """Return the topics that count for some run (T), and whether each counts for each run (R, T)."""
    topics = [topic for topic in graded if complete or any(topic in system.ranked for system in systems)]
    return topics, np.array([[complete or topic in system.ranked for topic in topics] for system in systems])


def _topic_values(
    systems: Sequence[System],
    graded: Mapping[str, Mapping[str, float]],
    topics: Sequence[str],
    measures: Sequence[Measure],
    level: float,
    ties: str,
    judged: bool,
) -> tuple[Floats, list[str], list[Pool]]:
    """Return the values of runs by measure and topic (R, M, T), topics without a relevant document, and all pools."""
    worth, parts, barren, pools = _grades(graded), [], [], []
    for topic in topics:
        pool = _pool(topic, graded, systems)
        code = _codes(pool, graded[topic], worth)
        ends = _tie_ends(pool, systems) if ties == "expected" else None
        if judged:
            pool, ends = _only_judged(pool, ends)
        parts.append(values(pool.orders, code, worth, measures, level, ends, unjudged=True))
        pools.append(pool)
        if without_relevant(code, worth, level)[0]:
            barren.append(topic)
    return np.concatenate(parts, axis=2), barren, pools


def _pool(topic: str, graded: Mapping[str, Mapping[str, float]], systems: Sequence[System]) -> Pool:
    """Return a topic's documents, those with grades first."""
    codes = {document: d for d, document in enumerate(graded[topic])}
    return pool_documents(topic, codes, list(graded[topic]), [system.ranked.get(topic, []) for system in systems])


def _tie_ends(pool: Pool, systems: Sequence[System]) -> list[Codes]:
    """Return the ends of the ties of every run in a topic."""
    return [system.ties.get(pool.topic, np.empty(0, np.int64)) for system in systems]


def _only_judged(pool: Pool, ends: list[Codes] | None) -> tuple[Pool, list[Codes] | None]:
    """Return the same without ranked documents that have no grade, as trec_eval -J."""
    judged = np.arange(len(pool.documents)) < pool.judged
    tied: Sequence[Codes | None] = [None] * len(pool.orders) if ends is None else ends
    judged_orders = [only_judged(order, end, judged) for order, end in zip(pool.orders, tied, strict=True)]
    rest = None if ends is None else [end for _, end in judged_orders if end is not None]
    return pool._replace(orders=[order for order, _ in judged_orders]), rest


def _grades(graded: Mapping[str, Mapping[str, float]]) -> Floats:
    """Return all grades that occur and, last, that of documents that nobody judged (K + 1)."""
    occurring = np.unique([grade for documents in graded.values() for grade in documents.values()])
    return np.append(occurring, 0.0)


def _codes(pool: Pool, grades: Mapping[str, float], worth: Floats) -> Codes:
    """Return the grade of every document as a code, as a single draw (D, 1)."""
    code = np.full(len(pool.documents), worth.size - 1)
    code[: pool.judged] = np.searchsorted(worth[:-1], list(grades.values()))
    return code.astype(np.uint16)[:, None]


def _unjudged(pools: Sequence[Pool]) -> Floats:
    """Return the share of each run's documents that nobody judged (R)."""
    strange = np.array([[(order >= pool.judged).sum() for order in pool.orders] for pool in pools])
    returned = np.array([[order.size for order in pool.orders] for pool in pools])
    share: Floats = strange.sum(axis=0) / np.maximum(returned.sum(axis=0), 1)
    return share


def _refuse_strangers(systems: Sequence[System], graded: Mapping[str, Any]) -> None:
    """Refuse a run of which no topic has grades."""
    for system in systems:
        if not graded.keys() & system.ranked.keys():
            theirs, ours = quote(next(iter(system.ranked))), quote(next(iter(graded)))
            message = f"no topic of this run has grades: the run has topics such as {theirs}, the grades such as {ours}"
            raise InputError(message, system.name)


def compared_runs(runs: int, baseline: int | None) -> list[tuple[int, int]]:
    """Return the pairs of runs that are compared: every two, or every other run and the baseline.

    >>> compared_runs(3, None), compared_runs(3, 1)
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (2, 1)])
    """
    if baseline is None:
        return list(combinations(range(runs), 2))
    return [(run, baseline) for run in range(runs) if run != baseline]


def find_run(names: Sequence[str], name: str, role: str) -> int:
    """Return the index of a run by its name, or by the file that it was read from."""
    called = name if name in names else run_name(name)
    if called not in names:
        raise UsageError(f"the {role} {quote(name)} is not one of the runs {quoted(names)}")
    return names.index(called)


def _scores(
    systems: Sequence[System], measures: Sequence[Measure], value: Floats, counts: Flags, draws: int, seed: int
) -> list[RunScore]:
    """Return the means of every run with their intervals; runs with the same topics share the draws of these."""
    scores = []
    for r, system in enumerate(systems):
        by_topic = value[r][:, counts[r]]  # (M, T')
        T = by_topic.shape[1]
        mean = by_topic.mean(axis=1)
        apart = topic_deviations(by_topic.T, draws, np.random.default_rng(seed))
        low, high = np.clip(mean + np.quantile(apart, INTERVAL, axis=0), 0.0, 1.0)  # measures are within 0 and 1
        for m, measure in enumerate(measures):
            score = RunScore(system.name, measure.name, float(mean[m]), None, None, T, ONE_TOPIC)
            scores.append(score if T == 1 else score._replace(low=float(low[m]), high=float(high[m]), note=""))
    return scores


def _pairs(
    systems: Sequence[System],
    measures: Sequence[Measure],
    value: Floats,
    counts: Flags,
    draws: int,
    seed: int,
    baseline: int | None,
) -> list[RunPair]:
    """Return the difference of compared runs that share a topic, with its p-value, corrected within a measure."""
    compared = [(a, b) for a, b in compared_runs(len(systems), baseline) if (counts[a] & counts[b]).any()]
    alike: dict[bytes, list[int]] = {}  # pairs that share the same topics, and so the draws of signs
    for n, (a, b) in enumerate(compared):
        alike.setdefault((counts[a] & counts[b]).tobytes(), []).append(n)
    results = []
    for m, measure in enumerate(measures):
        p, mean, size = np.zeros(len(compared)), np.zeros(len(compared)), np.zeros(len(compared), np.int64)
        for which in alike.values():
            first, second = np.array([compared[n] for n in which]).T
            shared = counts[first[0]] & counts[second[0]]
            difference = (value[first, m] - value[second, m])[:, shared].T  # (T', C)
            p[which] = sign_flips(difference, draws=draws, seed=seed)
            mean[which], size[which] = difference.mean(axis=0), shared.sum()
        for n, ((a, b), adjusted) in enumerate(zip(compared, holm(p), strict=True)):
            names = measure.name, systems[a].name, systems[b].name
            results.append(RunPair(*names, float(mean[n]), float(p[n]), float(adjusted), int(size[n])))
    return results


def _notes(
    systems: Sequence[System], topics: Sequence[str], barren: Sequence[str], complete: bool, graded: int
) -> list[str]:
    """Return notes on topics and documents that are missing."""
    notes = []
    if barren:
        which = f"topic {quote(barren[0])}" + (f" and {len(barren) - 1} more" if len(barren) > 1 else "")
        notes.append(f"{which} without a relevant document: undefined values count as 0, as in trec_eval")
    for system in systems:
        absent = [topic for topic in topics if topic not in system.ranked]
        how = "which count as 0" if complete else "which are left out"
        if absent:
            notes.append(f"{system.name} returns nothing for {len(absent):,} of {len(topics):,} topics, {how}")
        strange = len(system.ranked) - (len(topics) - len(absent))
        if strange:
            notes.append(f"{system.name} has {strange:,} topics without grades, which are left out")
    if graded > len(topics):
        notes.append(f"no run has {graded - len(topics):,} of {graded:,} topics with grades, which are left out")
    return notes


LABEL_OPTIONS = ("positive", "bound", "item", "label", "labels", "ordinal", "values", "level")
RUN_OPTIONS = ("level", "complete", "judged", "ties", "draws", "seed", "baseline")


def score(answers: Any, truth: Any, measures: str | Sequence[str] | None = None, **options: Any) -> Scores | RunScores:
    """Score labels, probabilities, expected values and ranks against the truth, or runs against grades.

    Parameters
    ----------
    answers : Fit, path, frame, mapping or sequence
        What is scored. Labels are a fit, the folder of a saved fit, a table with the columns item, label and
        optionally ``p_<label>``, expected and topic, a task 2 run of TREC, or ``{item: label}``. Runs are files with
        lines "topic Q0 document rank score tag", frames with the columns topic, document and score or with those of
        ir_measures or PyTerrier, ``{topic: {document: score}}``, rows of ir_measures or ir_datasets, or runs of ranx:
        one of these, a sequence of them, or a mapping from their names.
    truth : path, frame or mapping
        For labels a table with item and label, for runs the grades of documents, such as a qrels file.
    measures : str or sequence of str, optional
        Runs only: measures such as "MAP,nDCG@10". Naming measures says that the answers are runs.
    **options
        For labels the options of ``scores``: positive, bound, item, label, labels, ordinal, values, level. For runs
        those of ``score_runs``: level, complete, judged, ties, draws, seed, baseline.

    Returns
    -------
    Scores or RunScores

    Examples
    --------
    >>> score({"d1": "yes", "d2": "no"}, {"d1": "yes", "d2": "yes"}).values["accuracy"]
    0.5
    >>> run = {"t1": {"d1": 2.0, "d2": 1.0}}
    >>> score(run, {"t1": {"d1": 0, "d2": 1}}, "MRR").scores[0].value
    0.5

    """
    answers, truth = (list(data) if hasattr(data, "__next__") else data for data in (answers, truth))
    runs = find_runs(answers, named=measures is not None)
    allowed = LABEL_OPTIONS if runs is None else RUN_OPTIONS
    other = [name for name in options if name not in allowed]
    if other:
        content = "labels" if runs is None else "runs"
        raise UsageError(f"{other[0]} is not an option for {content}: their options are {quoted(allowed)}")
    if runs is not None:
        return score_runs(runs, truth, DEFAULT if measures is None else measures, **options)
    if isinstance(answers, list | tuple):
        if len(answers) != 1:
            problem = f"score takes one set of labels or several runs, but got {len(answers)} sets of labels"
            raise UsageError(f"{problem}: labels are a table with the columns item and label, or {{item: label}}")
        answers = answers[0]
    if isinstance(truth, str | PathLike) and is_run(truth):
        raise UsageError(f"{truth} is a run, not the truth: runs come first, then the truth")
    if _has_probabilities(truth) and not (_has_probabilities(answers) or isinstance(answers, Fit | str | PathLike)):
        swapped = "the truth has probabilities, and the answers have none: answers come first, then the truth"
        warnings.warn(f"score: {swapped}", AdjudgeWarning, stacklevel=2)
    return scores(answers, truth, **options)


def _has_probabilities(data: Any) -> bool:
    """Whether data are a frame with a column of probabilities, as labels of a fit are."""
    return "probability" in map(str, getattr(data, "columns", ()))


def find_runs(answers: Any, named: bool = False) -> Mapping[str, Any] | Sequence[Any] | None:
    """Return answers as several runs, None if they are labels; ``named`` says that they are runs.

    >>> find_runs({"t1": {"d1": 2.0}})
    [{'t1': {'d1': 2.0}}]
    >>> find_runs({"d1": "yes"}) is None
    True
    """
    if isinstance(answers, Mapping | list | tuple):
        if is_one_run(answers):
            return [answers]
        parts = list(answers.values() if isinstance(answers, Mapping) else answers)
        enough = all if isinstance(answers, Mapping) else any
        return answers if named or (parts and enough(map(_holds_runs, parts))) else None
    return [answers] if named or _is_run(answers) else None


def _holds_runs(data: Any) -> bool:
    """Whether data are one run or several."""
    return find_runs(data) is not None


def _is_run(data: Any) -> bool:
    """Whether data are one run: a system, a file of the format, a frame with its columns, or an object of ranx."""
    if isinstance(data, str | PathLike):
        return is_run(data)
    columns: Any = getattr(data, "column_names", None) or getattr(data, "columns", None)  # pyarrow has both
    return is_one_run(data) if columns is None else are_run_columns(columns)
