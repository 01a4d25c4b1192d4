"""``audit`` draws documents for experts to label; ``certify`` evaluates runs with their labels, whatever judges do.

The statistics are in ``evaluation.audit``. The table of an audit has one row per drawn document: topic, document,
round, probability (of being drawn) and label, which is empty until an expert fills it in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.stats import norm as normal
from scipy.stats import t as student

from adjudge.arrays import Floats
from adjudge.data.formats import open_source
from adjudge.data.runs import System, frame_kind, read_runs
from adjudge.data.show import NotebookView
from adjudge.data.source import Source
from adjudge.data.trec import document_of
from adjudge.data.write import frame
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.evaluation.audit import (
    FEWEST,
    FEWEST_FREEDOM,
    AuditTopic,
    Estimate,
    Round,
    Sample,
    estimate_all,
    estimate_rounds,
    of_runs,
    sampling_probabilities,
    variance_of,
)
from adjudge.evaluation.expected_measures import check_expectation
from adjudge.evaluation.uncertain_labels import SAME, check_unjudged, grades_for, pools
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit
from adjudge.metrics.leaderboard import (
    TOGETHER,
    Compared,
    Place,
    better_pairs,
    compare_tests,
    place_rows,
    places,
)
from adjudge.metrics.ranking import DEFAULT, LEVEL, Measure, parse_measures
from adjudge.metrics.score import compared_runs, find_run
from adjudge.metrics.significance import holm

COLUMNS = ("topic", "document", "round", "probability", "label")
SMALL = 50  # labels below which an interval is wide
STREAM = 20_111  # key of the random numbers of audits


class CertifiedScore(NamedTuple):
    """The mean of a measure over topics, estimated with an audit."""

    run: str
    measure: str
    value: float
    low: float | None  # of the 90 % interval for these topics, None if too few audited documents matter
    high: float | None
    topics_low: float | None  # of the 90 % interval for a population of topics
    topics_high: float | None
    judges: float  # what the calibrated judges say
    correction: float  # what the audit adds
    saved: float | None  # expert labels that the same interval would need beyond these, without the judges


class CertifiedPair(NamedTuple):
    """The difference of two runs, estimated with an audit."""

    measure: str
    first: str
    second: str
    difference: float  # above 0, the first is better
    low: float | None
    high: float | None
    topics_low: float | None
    topics_high: float | None
    better: str | None  # the run that is better on these topics, None if that is not decided
    needed: int | None  # labels that would probably decide, if it is not decided
    adjusted: float  # p of the difference on these topics, with Holm's correction for all pairs of the measure

    @property
    def decided(self) -> bool:
        """Whether the runs differ beyond doubt, with all others of the measure."""
        return self.better is not None


@dataclass(frozen=True, eq=False)
class Certificate(NotebookView):
    """Search systems evaluated with an audit."""

    runs: tuple[str, ...]  # (R)
    measures: tuple[str, ...]  # (M)
    topics: tuple[str, ...]  # (T)
    labels: int  # audited documents
    rounds: int
    scores: tuple[CertifiedScore, ...]  # runs by measures
    pairs: tuple[CertifiedPair, ...]
    notes: tuple[str, ...]
    errors: Floats = field(repr=False)  # (R, M, A) what every document drawn by chance adds to the error of a value
    added: Floats = field(repr=False)  # (M, R, R) what is added to the squares of errors, and to their products
    certain: int = field(repr=False)  # audited documents that were drawn with certainty
    baseline: str | None = None  # the run that all others are compared with
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        values = [f"{score.run} {score.measure} {score.value:.4f}" for score in self.scores]
        return f"Certificate({self.labels:,} audited documents, {len(self.topics):,} topics: {', '.join(values[:4])})"

    @cached_property
    def leaderboard(self) -> tuple[Place, ...]:
        """The place of every run by every measure on these topics, the best first: rank interval and groups."""
        result = []
        for measure in self.measures:
            scores = [score for score in self.scores if score.measure == measure]
            ends = [(score.low, score.high) for score in scores]
            value = np.array([score.value for score in scores])
            result += places(measure, self.runs, value, ends, self._compared(measure))
        return tuple(result)

    def distinguished(self, measure: str) -> set[tuple[str, str]]:
        """Return the pairs of runs of which the first is better by a measure, all together with 90 % probability."""
        return better_pairs(self.runs, self._compared(measure))

    def _compared(self, measure: str) -> Compared:
        """Return which runs are distinguished by a measure."""
        value = np.array([score.value for score in self.scores if score.measure == measure])
        m = self.measures.index(measure)
        return compare_tests(value, paired_p(value, self.errors[:, m], self.added[m], self.certain))

    @property
    def leaderboard_table(self) -> Any:
        """A table with one row per measure and run, the best run first."""
        return frame(place_rows(self.leaderboard), self.kind)

    @property
    def table(self) -> Any:
        """A table with one row per run and measure."""
        return frame({name: [getattr(row, name) for row in self.scores] for name in CertifiedScore._fields}, self.kind)

    @property
    def pair_table(self) -> Any:
        """A table with one row per measure and pair of runs."""
        return frame({name: [getattr(row, name) for row in self.pairs] for name in CertifiedPair._fields}, self.kind)


def audit(
    fit: Fit | str | PathLike[str],
    runs: Mapping[str, Any] | Sequence[Any],
    size: int,
    measures: str | Sequence[str] = DEFAULT,
    *,
    answers: Any = None,
    seed: int = 0,
    unjudged: str = "zero",
    level: float = LEVEL,
    complete: bool = False,
) -> Any:
    """Draw documents for experts to label, so that ``certify`` can evaluate the runs whatever the judges' errors are.

    Every document is drawn on its own with a recorded probability, which is larger the more its label matters for the
    values of the runs and the differences between them. The number of documents therefore varies around ``size``.

    Parameters
    ----------
    fit : Fit or path
        A fit of judgments with topics, or the folder of a saved one.
    runs : mapping or sequence
        Runs, or one: files, frames of adjudge, ir_measures or PyTerrier, ``{topic: {document: score}}``, rows of
        ir_measures or ir_datasets, or runs of ranx; a mapping names them.
    size : int
        The expected number of documents.
    measures : str or sequence of str
        Measures such as "MAP,nDCG@10". Others can be certified too, with wider intervals.
    answers : table, optional
        The labelled documents of earlier rounds, which are not drawn again.
    seed : int
        Seed of the draw.
    unjudged : str
        Documents that nobody judged have grade ``"zero"``, or may be drawn, with the ``"prevalence"`` of their topic.
    level : float
        The grade from which a document is relevant.
    complete : bool
        Whether to use all topics of the fit, not only those that a run has.

    Returns
    -------
    frame
        The columns topic, document, round, probability and label, which is empty.

    Examples
    --------
    >>> import adjudge
    >>> from polars import DataFrame
    >>> rows = {"item": ["t1_a", "t1_b"] * 2, "judge": ["x", "x", "y", "y"], "label": [1, 0, 0, 0]}
    >>> fit = adjudge.fit(DataFrame(rows | {"topic": ["t1"] * 4}), "majority")
    >>> audit(fit, {"bm25": {"t1": {"a": 2.0, "b": 1.0}}}, 2, "MRR").select("document", "probability").rows()
    [('a', 1.0), ('b', 1.0)]
    """
    if size < 1:
        raise UsageError(f"an audit of {size} documents says nothing: ask for 1 or more, better 50")
    collection = _prepare(fit, runs, measures, unjudged, level, complete)
    rounds = [] if answers is None else read_answers(answers, collection)
    labelled = np.max([each.truth for each in rounds], axis=0) >= 0 if rounds else None
    probability = sampling_probabilities(
        collection.topics, collection.worth, collection.measures, level, size, labelled
    )
    drawn = np.flatnonzero(_stream(seed, len(rounds)).random(probability.size) < probability)
    if not drawn.size:
        raise UsageError("no document was drawn: all are labelled already, or the audit is too small")
    names = _document_names(collection)
    columns = {
        "topic": [names[i][0] for i in drawn],
        "document": [names[i][1] for i in drawn],
        "round": [len(rounds) + 1] * drawn.size,
        "probability": probability[drawn].tolist(),
        "label": pl.Series([None] * drawn.size, dtype=pl.String),
    }
    return frame(columns, collection.fit.kind)


def certify(
    fit: Fit | str | PathLike[str],
    runs: Mapping[str, Any] | Sequence[Any],
    answers: Any,
    measures: str | Sequence[str] = DEFAULT,
    *,
    seed: int = 0,
    unjudged: str = "zero",
    level: float = LEVEL,
    complete: bool = False,
    baseline: str | None = None,
) -> Certificate:
    """Evaluate runs with an audit: intervals hold whatever the judges' errors are, and good judges make them narrow.

    Parameters
    ----------
    fit : Fit or path
        The fit that the audit was drawn for.
    runs : mapping or sequence
        Runs. They need not be those that the audit was drawn for, but the same documents must be in question.
    answers : table or list of tables
        The labelled audit: topic, document, round, probability and label, for all rounds.
    measures : str or sequence of str
        Measures such as "MAP,nDCG@10".
    seed : int
        Seed of the folds in which the judges are calibrated.
    unjudged, level, complete
        As in ``audit``.
    baseline : str, optional
        The name of a run. All others are compared with it, and not every two runs with each other.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import adjudge
    >>> from polars import DataFrame, Series
    >>> rows = {"item": ["t1_a", "t1_b"] * 2, "judge": ["x", "x", "y", "y"], "label": [1, 0, 0, 0]}
    >>> fit = adjudge.fit(DataFrame(rows | {"topic": ["t1"] * 4}), "majority")
    >>> run = {"bm25": {"t1": {"a": 2.0, "b": 1.0}}}
    >>> answers = audit(fit, run, 2, "MRR").with_columns(label=Series([0, 1]))
    >>> certify(fit, run, answers, "MRR").scores[0].value
    0.5
    """
    collection = _prepare(fit, runs, measures, unjudged, level, complete)
    rounds = read_answers(answers, collection)
    drawn_from = (collection.topics, collection.worth, collection.measures, level, rounds, seed)
    samples = list(estimate_rounds(*drawn_from))
    alone = list(estimate_rounds(*drawn_from, judges=False, only_effects=True))
    names = [system.name for system in collection.systems]
    base = None if baseline is None else find_run(names, baseline, "baseline")
    labels = sum(each.size for each in rounds)
    scores, pairs, every = [], [], np.arange(len(names))
    estimates, without = (
        [estimate_all(each, m, every) for m in range(len(collection.measures))] for each in (samples, alone)
    )
    for r, run in enumerate(names):
        for m, measure in enumerate(collection.measures):
            scores.append(_score(run, measure.name, estimates[m][r], without[m][r], labels))
    (errors, added), certain = error_parts(samples), sum(sample.certain for sample in samples)
    compared = np.array(compared_runs(len(names), base), np.int64).reshape(-1, 2)
    for m, measure in enumerate(collection.measures) if compared.size else ():
        value = np.array([each.value for each in estimates[m]])
        adjusted = holm(paired_p(value, errors[:, m], added[m], certain)[compared[:, 0], compared[:, 1]]).tolist()
        apart = estimate_all(samples, m, compared[:, 0], compared[:, 1])
        for (a, b), each, p in zip(compared.tolist(), apart, adjusted, strict=True):
            pairs.append(_pair(measure.name, names[a], names[b], each, labels, p, len(compared)))
    return Certificate(
        tuple(names),
        tuple(measure.name for measure in collection.measures),
        tuple(topic.name for topic in collection.topics),
        labels,
        len(rounds),
        tuple(scores),
        tuple(pairs),
        tuple(_notes(collection, labels, scores)),
        errors,
        added,
        certain,
        None if base is None else names[base],
        frame_kind(collection.systems, collection.fit.kind),
    )


def error_parts(samples: Sequence[Sample]) -> tuple[Floats, Floats]:
    """Return the parts of the errors of all means over topics (R, M, A), and what is added to their products (M, R, R).

    They are of the samples of all rounds.
    """
    labels = np.array([sample.left.size + sample.certain for sample in samples], float)
    weights = labels / labels.sum() / samples[0].value.shape[2]
    parts = [weight * np.sqrt(sample.left) * sample.effect for weight, sample in zip(weights, samples, strict=True)]
    added = sum(weight**2 * sample.added for weight, sample in zip(weights, samples, strict=True))
    return np.concatenate(parts, axis=2), np.asarray(added)


def paired_p(value: Floats, error: Floats, added: Floats, certain: int = 0) -> Floats:
    """Return the two-sided p-value of every difference of runs (R, R), from the parts of their errors (R, A).

    The variance of a difference is the sum of the squares of its parts and what is ``added`` to them (from R, R), and
    the test is Student's t with Satterthwaite's degrees of freedom. Without five documents that matter, p is 1;
    ``certain`` ones have no error.
    """
    p, every = np.ones((value.size, value.size)), np.arange(value.size)
    for a in range(value.size):
        pieces = (error[a] - error) ** 2  # (R, A)
        total = pieces.sum(axis=1)
        freedom = np.maximum(FEWEST_FREEDOM, total**2 / np.maximum((pieces**2).sum(axis=1), SAME**4) - 1)
        variance = variance_of(total, of_runs(added, np.full_like(every, a), every))
        size = abs(value[a] - value) / np.sqrt(np.maximum(variance, SAME**2))
        enough = (np.sqrt(pieces) > SAME).sum(axis=1) + certain >= FEWEST
        p[a] = np.where(enough, 2 * student.sf(size, freedom), 1.0)
    return p


def _stream(seed: int, rounds: int) -> np.random.Generator:
    """Return the random numbers of a round: a stream of its own, which no simulation with the same seed shares."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(STREAM, rounds)))


class _Collection(NamedTuple):
    """What an audit is drawn from."""

    fit: Fit
    systems: list[System]
    measures: list[Measure]
    worth: Floats  # (K + 1) the grade of every label, and of documents that nobody judged
    topics: list[AuditTopic]


def _prepare(
    fit: Fit | str | PathLike[str],
    runs: Mapping[str, Any] | Sequence[Any],
    measures: str | Sequence[str],
    unjudged: str,
    level: float,
    complete: bool,
) -> _Collection:
    """Return the documents of all topics with the judges' probabilities."""
    check_unjudged(unjudged)
    named = parse_measures(measures)
    check_expectation(named)
    fitted, systems = read_fit(fit, runs), read_runs(runs)
    worth = grades_for(fitted, level)
    topics = []
    for pool, item in pools(fitted, systems, complete):
        posterior = fitted.posterior[item]
        strange = len(pool.documents) - item.size
        chance = np.concatenate([posterior, np.tile(posterior.mean(axis=0), (strange, 1))])
        is_open = np.arange(len(chance)) < (item.size if unjudged == "zero" else len(chance))
        topics.append(AuditTopic(pool.topic, pool.documents, pool.orders, chance, is_open))
    return _Collection(fitted, systems, named, worth, topics)


def read_answers(answers: Any, collection: _Collection) -> list[Round]:
    """Read the labelled documents of an audit, one table or several, and return its rounds."""
    tables = answers if isinstance(answers, list | tuple) else [answers]
    rows = pl.concat([_answer_rows(each, collection) for each in tables])
    again = rows.filter(pl.col("code").is_duplicated())
    if len(again):
        topic, document = _document_names(collection)[again["code"][0]]
        raise InputError(f"document {quote(document)} of topic {quote(topic)} is in the audit twice: keep one row")
    size = sum(len(topic.documents) for topic in collection.topics)
    rounds = []
    for _, part in rows.sort("round", maintain_order=True).group_by("round", maintain_order=True):
        probability, truth = np.zeros(size), np.full(size, -1)
        at = part["code"].to_numpy()
        probability[at], truth[at] = part["probability"].to_numpy(), part["truth"].to_numpy()
        rounds.append(Round(probability, truth))
    return rounds


def _answer_rows(answers: Any, collection: _Collection) -> pl.DataFrame:
    """Return the rows of one table of answers: code of the document, round, probability, and code of the label."""
    source = open_source(answers)
    missing = [name for name in COLUMNS if name not in source.columns]
    if missing:
        raise source.wrong(
            f"there is no column {quote(missing[0])}: answers are the table that adjudge evaluate --audit wrote, with "
            "its column label filled in"
        )
    topic, document = (source.column(name).cast(pl.String).to_list() for name in ("topic", "document"))
    codes = {pair: n for n, pair in enumerate(_document_names(collection))}
    pairs = [(t, document_of(d or "", t or "")) for t, d in zip(topic, document, strict=True)]
    if not pairs:
        raise source.wrong("there are no rows")
    unknown = [n for n, pair in enumerate(pairs) if pair not in codes]
    if unknown:
        name, other = pairs[unknown[0]]
        raise source.wrong(
            f"document {quote(other)} of topic {quote(name)} is in no run and was not judged: give the fit and the "
            "runs that the audit was drawn for",
            unknown[0],
        )
    return pl.DataFrame(
        {
            "code": [codes[pair] for pair in pairs],
            "round": _numbers(source, "round", 1.0, np.inf),
            "probability": _numbers(source, "probability", SAME, 1.0),
            "truth": _labels(source, collection.fit),
        }
    )


def _document_names(collection: _Collection) -> list[tuple[str, str]]:
    """Return the topic and the name of every document."""
    return [(topic.name, document) for topic in collection.topics for document in topic.documents]


def _numbers(source: Source, column: str, least: float, most: float) -> pl.Series:
    """Return a column of numbers in a range."""
    series = source.column(column)
    number = series.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    wrong = (~number.is_between(least, most).fill_null(value=False)).arg_true()
    if len(wrong):
        value = series[int(wrong[0])]
        raise source.wrong(
            f"{column} is {quote(value)}, which adjudge evaluate --audit never writes: restore it, or draw a new audit",
            int(wrong[0]),
        )
    return number


def _labels(source: Source, fit: Fit) -> list[int]:
    """Return the codes of the labels; a document without a label is refused."""
    names = {str(label): n for n, label in enumerate(fit.scale.labels)}
    series = source.column("label").cast(pl.String).str.strip_chars()
    empty = (series.is_null() | (series == "")).fill_null(value=True).arg_true()
    if len(empty):
        raise source.wrong(
            f"{len(empty):,} of {len(series):,} documents have no label: all must be labelled, because those left out "
            "may differ from the others",
            int(empty[0]),
        )
    codes = []
    for n, value in enumerate(series.to_list()):
        code = names.get(value, names.get(value.removesuffix(".0")))
        if code is None:
            raise source.wrong(f"label {quote(value)} is not one of {quoted(names)}", n)
        codes.append(code)
    return codes


def _score(run: str, measure: str, estimated: Estimate, alone: Estimate, labels: int) -> CertifiedScore:
    """Return the score of a run."""
    saved = labels * ((alone.half / estimated.half) ** 2 - 1) if estimated.half > SAME and alone.half > 0 else None
    ends = (*_ends(estimated.value, estimated.half, 0.0), *_ends(estimated.value, estimated.population, 0.0))
    return CertifiedScore(run, measure, estimated.value, *ends, estimated.judges, estimated.correction, saved)


def _pair(
    measure: str, first: str, second: str, estimated: Estimate, labels: int, adjusted: float, pairs: int
) -> CertifiedPair:
    """Return the difference of two runs, and whether it is decided beside all pairs of the measure."""
    ends = (*_ends(estimated.value, estimated.half, -1.0), *_ends(estimated.value, estimated.population, -1.0))
    decided = adjusted <= 1 - TOGETHER and abs(estimated.value) > SAME
    better = (first if estimated.value > 0 else second) if decided else None
    needed = None
    if not decided and abs(estimated.value) > SAME and np.isfinite(estimated.half):
        wider = normal.isf((1 - TOGETHER) / 2 / pairs) / normal.isf((1 - TOGETHER) / 2)
        needed = max(labels + 1, int(np.ceil(labels * (wider * estimated.half / abs(estimated.value)) ** 2)))
    return CertifiedPair(measure, first, second, estimated.value, *ends, better, needed, adjusted)


def _ends(value: float, half: float, least: float) -> tuple[float | None, float | None]:
    """Return the ends of an interval within the range of a measure, None if there is no interval."""
    if not np.isfinite(half):
        return None, None
    return max(least, value - half), min(1.0, value + half)


def _notes(collection: _Collection, labels: int, scores: Sequence[CertifiedScore]) -> Iterator[str]:
    """Yield notes on what the intervals mean."""
    yield (
        "intervals hold whatever the judges' errors are, if the audit was labelled completely and correctly "
        "(90 %; for these topics, and for a population of topics like these)"
    )
    if any(score.saved is not None for score in scores):
        yield "labels saved: so many more expert labels would give the same interval without the judges"
    if labels < SMALL:
        yield f"{labels:,} audited documents are few: below about {SMALL} intervals are wide, and say little"
    if any(score.low is None for score in scores):
        yield "some intervals are missing: fewer than 5 audited documents matter for these runs and measures"
    if not all(topic.open.all() for topic in collection.topics):
        count = sum(int((~topic.open).sum()) for topic in collection.topics)
        yield f"documents of the runs that nobody judged have grade 0 and cannot be drawn: {count:,} (see unjudged)"
