"""``train``: a ranker from a lesson, and how it ranks topics that it did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.formats import open_source
from adjudge.data.runs import System, read_grades
from adjudge.data.scale import number_of
from adjudge.data.source import Source
from adjudge.data.trec import document_of
from adjudge.errors import AdjudgeWarning, UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.learn.crossval import FOLDS, ranked
from adjudge.learn.feature_file import Features
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn, group_codes, paired, unchanging
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone
from adjudge.learn.weights import Weights

# What a ranker is told of documents: targets and weights from a fit, from judgments, or from grades, row by row.
#
# A lesson holds for the rows that somebody judged. From a fit it is one of ``HOW``: ``pairs`` takes degrees of
# relevance as targets, so that a pair weighs as much as they differ; ``margin`` and ``entropy`` take the most likely
# label and how sure it is; ``label`` takes it as it is.

HOW: Mapping[str, str] = {
    "pairs": "degrees of relevance; a pair weighs as much as they differ",
    "margin": "the most likely label, weighing how far it is ahead of the next",
    "entropy": "the most likely label, weighing 1 - entropy",
    "label": "the most likely label, all weighing the same",
}


class Lesson(NamedTuple):
    """What is learned from: some rows, their targets and weights."""

    rows: Codes  # (M) of the features
    target: Floats  # (M)
    weight: Floats | None  # (M)
    soft: bool


def from_fit(table: Features, fit: Fit, how: str = "pairs") -> Lesson:
    """Return what a fit teaches of the documents that it knows."""
    if how not in HOW:
        raise UsageError(f"learning from {quote(how)} is not one of {quoted(HOW)}")
    rows, item = known_rows(table, fit)
    relevance = degree(fit)  # refuses labels without an order, whatever is then taken of them
    if how == "pairs":
        return Lesson(rows, relevance[item], None, True)
    label = fit.label[item].astype(float)
    return Lesson(rows, label, None if how == "label" else posterior_weights(fit, how).weight[item], False)


def from_weights(table: Features, weights: Any) -> Lesson:
    """Return what weighted labels teach: a ``Weights``, or its table as ``adjudge weights`` writes it."""
    source = open_source(weights.table if isinstance(weights, Weights) else weights)
    for column in ("topic", "item", "label", "weight"):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)}: weights of judgments with topics have it")
    topic, item = (source.column(name).cast(str).to_list() for name in ("topic", "item"))
    weight, worth = _numbers(source, "weight"), _lessons_worth(source)
    rows, at = _matched(table, _places(topic, item))
    return Lesson(rows, worth[at], weight[at], False)


def _numbers(source: Source, name: str, least: float = 0.0) -> Floats:
    """Return a column as numbers of at least ``least``, refusing any other."""
    given = source.column(name)
    number = given.cast(float, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(number >= least) | np.isinf(number)
    if wrong.any():
        row = int(wrong.argmax())
        what = "is empty" if given[row] is None else f"{quote(given[row])} is not a number of at least {least:g}"
        raise source.wrong(f"{name} {what}", row)
    return number


def _lessons_worth(source: Source) -> Floats:
    """Return labels as numbers: which of them is the positive side, as the votes on them tell, or their own."""
    given = source.column("label").cast(str)
    if given.null_count():
        raise source.wrong("label is empty", int(given.is_null().arg_true()[0]))
    labels = given.to_list()
    if {"positive", "judgments"} <= set(source.columns):
        positive, judged = _numbers(source, "positive"), _numbers(source, "judgments", least=1)
        share = (positive / judged).tolist()
        sided = _sides(dict(zip(dict.fromkeys(labels), _means(labels, share), strict=True)))
        if sided is not None:
            return np.array([sided[label] for label in labels])
    numbers = {label: number_of(label) for label in labels}
    if any(number is None for number in numbers.values()):
        raise source.wrong(
            f"which of {quoted(sorted(numbers))} is relevant? The columns 'positive' and 'judgments' tell"
        )
    return np.array([numbers[label] for label in labels], dtype=float)


def _means(labels: Sequence[str], share: Sequence[float]) -> list[float]:
    """Return the mean share of positive judgments of each label's items, labels in the order of first appearance."""
    held: dict[str, list[float]] = {}
    for label, one in zip(labels, share, strict=True):
        held.setdefault(label, []).append(one)
    return [float(np.mean(shares)) for shares in held.values()]


def _sides(share: Mapping[str, float]) -> dict[str, float] | None:
    """Return 1 for the positive label and 0 for the other, or None where votes do not tell them apart.

    Of two labels it is the one with more positive judgments, even if these are no more than half: all of its items may
    be ties. A label alone is positive if most of its judgments are.
    """
    line = 0.5 if len(share) == 1 else (min(share.values()) + max(share.values())) / 2
    if len(share) > 1 and min(share.values()) == max(share.values()):
        return None
    return {label: float(mean > line) for label, mean in share.items()}


def from_grades(table: Features, grades: Any) -> Lesson:
    """Return what grades teach: of the documents that have one."""
    known = read_grades(grades)
    told = {(topic, document): grade for topic, held in known.items() for document, grade in held.items()}
    rows, at = _matched(table, {pair: n for n, pair in enumerate(told)})
    return Lesson(rows, np.array(list(told.values()))[at], None, False)


def degree(fit: Fit) -> Floats:
    """Return how relevant each item is expected to be (I), from 0, the lowest label, to 1, the highest."""
    K = len(fit.scale)
    if K > 2 and not fit.scale.ordinal:
        raise UsageError(
            f"the fit has {K} labels without an order, {quoted(fit.scale.names)}: fit them with --ordinal, lowest first"
        )
    expected: Floats = fit.posterior @ np.linspace(0.0, 1.0, max(K, 2))[:K]
    return expected


def known_rows(table: Features, fit: Fit) -> tuple[Codes, Codes]:
    """Return which rows a fit knows (M), and the item of each (M)."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("this fit has no topics: fit judgments that have a column of them (--topic)")
    names = [*fit.topics.cast(str).to_list(), None]
    return _matched(table, _places([names[t] for t in fit.topic.tolist()], fit.items.cast(str).to_list()))


def _places(topics: Sequence[Any], items: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return where each pair of topic and document stands; items may be called topic_document."""
    found = {}
    for n, (topic, item) in enumerate(zip(topics, items, strict=True)):
        if topic is not None:
            found[(str(topic), item)] = n
            found[(str(topic), document_of(item, topic))] = n
    return found


def _matched(table: Features, place: Mapping[tuple[str, str], int]) -> tuple[Codes, Codes]:
    """Return the rows that are there, and where."""
    at = [place.get(pair, -1) for pair in zip(table.topics, table.documents, strict=True)]
    rows = np.flatnonzero(np.array(at) >= 0)
    if not rows.size:
        mine, theirs = (table.topics[0], table.documents[0]), next(iter(place), ("", ""))
        raise UsageError(
            f"none of {len(table):,} documents with features was judged: features are of such as {quote(mine[1])} of "
            f"topic {quote(mine[0])}, judgments of such as {quote(theirs[1])} of topic {quote(theirs[0])}"
        )
    return rows, np.array(at)[rows]


RANKERS: Mapping[str, Callable[..., Any]] = {"svm": RankSVM, "lambdamart": LambdaMART}


class Trained(NamedTuple):
    """A ranker, and what rankers like it are worth on topics that they did not see."""

    ranker: Any
    score: Floats  # (N) of every row, by a ranker that did not learn from its topic; NaN where there is none
    measures: Mapping[str, float]  # of these scores, on the rows of the lesson; none where ``unmeasured`` tells why
    topics: int  # that were learned from
    folds: int  # 1 where a single topic teaches, which no other ranker can then rank
    unmeasured: str | None = None
    unchanging: tuple[str, ...] = ()  # features by which no two rows of a topic differ

    def run(self, table: Features, name: str = "rerank") -> System:
        """Return the run of these scores: fit to be evaluated on the topics that were learned from."""
        if self.folds < 2:
            raise UsageError(
                "no run can be given of rankers that did not learn from the topic, since one topic alone teaches: save "
                "the ranker without a run, and let `adjudge rerank apply` rank new topics by it"
            )
        return table.run(self.score, name)


def ranker_named(name: str, **options: Any) -> Any:
    """Return a ranker by its name; options that are None are left at their usual values."""
    if name not in RANKERS:
        raise UsageError(f"ranker {quote(name)} is not one of {quoted(RANKERS)}")
    return RANKERS[name](**{option: value for option, value in options.items() if value is not None})


def train(table: Features, lesson: Lesson, ranker: Any, *, folds: int = FOLDS, seed: int = 0) -> Trained:
    """Let a ranker learn from all rows of a lesson and, for what it is worth, in folds by topic."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a number of at least 2")
    topics, frame = np.array(table.topics), table.frame
    own = clone(ranker).set_params(soft=lesson.soft)
    whole = _fitted(own, frame, topics, lesson)
    teaches = _teaching(lesson, topics, getattr(own, "pair_weight", "mean"))
    folds = min(folds, len(teaches))
    score = np.full(len(table), np.nan)
    fold = _dealt(topics, teaches, folds, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # what is said of all rows is enough
        for k in range(folds) if folds > 1 else ():
            part = _part(lesson, fold[lesson.rows] != k)
            score[fold == k] = _fitted(own, frame, topics, part).decision_function(frame.filter(fold == k))
    measures, why = _worth(score, lesson, topics, np.array(table.documents))
    same = _unchanging(table, lesson, topics)
    return Trained(whole, score, measures, np.unique(topics[lesson.rows]).size, folds, why, same)


def _unchanging(table: Features, lesson: Lesson, topics: Any) -> tuple[str, ...]:
    """Return the features by which no two rows of a topic differ, of those that are learned from."""
    found = paired(lesson.target, topics[lesson.rows], soft=lesson.soft)
    same = unchanging(found, table.X[lesson.rows])
    return tuple(name for name, one in zip(table.names, same.tolist(), strict=True) if one)


def _teaching(lesson: Lesson, topics: Any, pair_weight: str) -> set[str]:
    """Return the topics that have a pair to learn from."""
    code, count = group_codes(topics[lesson.rows], lesson.rows.size)
    own = _weights(lesson)
    order = np.argsort(code, kind="stable")
    found = set()
    for rows in np.split(order, np.searchsorted(code[order], np.arange(1, count))):
        try:
            paired(
                lesson.target[rows], None, None if own is None else own[rows], pair_weight=pair_weight, soft=lesson.soft
            )
        except NothingToLearn:
            continue
        found.add(str(topics[lesson.rows[rows[0]]]))
    return found


def _dealt(topics: Any, teaches: set[str], folds: int, seed: int) -> Codes:
    """Return the fold of every row (N), by topic: those that teach are dealt out first, so that every fold has one."""
    code, count = group_codes(topics, topics.size)
    name = topics[np.unique(code, return_index=True)[1]].tolist()
    order = np.random.default_rng(seed).permutation(count).tolist()
    dealt = np.empty(count, np.int64)
    dealt[sorted(order, key=lambda t: name[t] not in teaches)] = np.arange(count) % folds
    return dealt[code]


def _fitted(ranker: Any, frame: Any, topics: Any, lesson: Lesson) -> Any:
    """Return a ranker that has learned from a lesson."""
    return clone(ranker).fit(frame[lesson.rows], lesson.target, topics[lesson.rows], _weights(lesson))


def _weights(lesson: Lesson) -> Floats | None:
    """Return the weights of a lesson (M), with the mean 1."""
    return None if lesson.weight is None else lesson.weight / max(float(lesson.weight.mean()), 1e-300)


def _part(lesson: Lesson, kept: Any) -> Lesson:
    """Return some rows of a lesson."""
    weight = None if lesson.weight is None else lesson.weight[kept]
    return Lesson(lesson.rows[kept], lesson.target[kept], weight, lesson.soft)


def _worth(score: Floats, lesson: Lesson, topics: Any, documents: Any) -> tuple[dict[str, float], str | None]:
    """Return MRR, MAP and P@1 on the rows of a lesson, those above half of the highest target being relevant.

    Where there are none, say why.
    """
    rows = lesson.rows
    relevant = lesson.target > (0.5 if lesson.soft else float(lesson.target.max()) / 2)
    if np.isnan(score[rows]).any():
        return {}, "one topic alone teaches, so that no ranker can be tried on a topic that it did not learn from"
    if not relevant.any():
        what = "more likely relevant than not" if lesson.soft else "above half of the highest grade"
        return {}, f"no document that is learned from is {what}"
    return ranked(score[rows], relevant, topics[rows], documents[rows]).means(), None
