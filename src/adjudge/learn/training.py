"""``train``: train a ranker on judged documents, and measure it on topics that it was not trained on.

A ``TrainingSet`` holds the targets and weights of the judged rows: from a fit, from training weights, or from grades.
From a fit there are four ways (``HOW``): ``pairs`` uses degrees of relevance as targets, so that the weight of a pair
is their difference; ``margin`` and ``entropy`` use the most likely label, weighted by its certainty; ``label`` uses the
most likely label without weights.
"""

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
from adjudge.learn.crossval import FOLDS, score_groups
from adjudge.learn.feature_file import Features
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn, constant_features, group_codes, make_pairs
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone
from adjudge.learn.weights import Weights

HOW: Mapping[str, str] = {
    "pairs": "degrees of relevance; the weight of a pair is their difference",
    "margin": "the most likely label, weighted by its margin over the next",
    "entropy": "the most likely label, weighted by 1 - entropy",
    "label": "the most likely label, without weights",
}


class TrainingSet(NamedTuple):
    """The rows to train on, with their targets and weights."""

    rows: Codes  # (M) indices of rows of the features
    target: Floats  # (M)
    weight: Floats | None  # (M)
    soft: bool


def from_fit(table: Features, fit: Fit, how: str = "pairs") -> TrainingSet:
    """Return the training set of the documents in a fit."""
    if how not in HOW:
        raise UsageError(f"how {quote(how)} is not one of {quoted(HOW)}")
    rows, item = rows_in_fit(table, fit)
    relevance = degree(fit)  # also refuses labels without an order
    if how == "pairs":
        return TrainingSet(rows, relevance[item], None, True)
    label = fit.label[item].astype(float)
    return TrainingSet(rows, label, None if how == "label" else posterior_weights(fit, how).weight[item], False)


def from_weights(table: Features, weights: Any) -> TrainingSet:
    """Return the training set of weighted labels: a ``Weights``, or its table as ``adjudge weights`` writes it."""
    source = open_source(weights.table if isinstance(weights, Weights) else weights)
    for column in ("topic", "item", "label", "weight"):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)}: write the weights of judgments with topics")
    topic, item = (source.column(name).cast(str).to_list() for name in ("topic", "item"))
    weight, target = _numbers(source, "weight"), _label_targets(source)
    rows, index = _match(table, _pair_index(topic, item))
    return TrainingSet(rows, target[index], weight[index], False)


def _numbers(source: Source, name: str, least: float = 0.0) -> Floats:
    """Return a column as numbers of at least ``least``."""
    values = source.column(name)
    number = values.cast(float, strict=False).fill_null(float("nan")).to_numpy()
    wrong = ~(number >= least) | np.isinf(number)
    if wrong.any():
        row = int(wrong.argmax())
        problem = "is empty" if values[row] is None else f"{quote(values[row])} is not a number of at least {least:g}"
        raise source.wrong(f"{name} {problem}", row)
    return number


def _label_targets(source: Source) -> Floats:
    """Return the target of each label: 1 for the positive side by its votes, or the label itself if it is a number."""
    column = source.column("label").cast(str)
    if column.null_count():
        raise source.wrong("label is empty", int(column.is_null().arg_true()[0]))
    labels = column.to_list()
    if {"positive", "judgments"} <= set(source.columns):
        positive, judged = _numbers(source, "positive"), _numbers(source, "judgments", least=1)
        share = (positive / judged).tolist()
        sided = _sides(dict(zip(dict.fromkeys(labels), _means(labels, share), strict=True)))
        if sided is not None:
            return np.array([sided[label] for label in labels])
    numbers = {label: number_of(label) for label in labels}
    if any(number is None for number in numbers.values()):
        raise source.wrong(
            f"which of {quoted(sorted(numbers))} is relevant is unknown: add the columns 'positive' and 'judgments'"
        )
    return np.array([numbers[label] for label in labels], dtype=float)


def _means(labels: Sequence[str], share: Sequence[float]) -> list[float]:
    """Return the mean share of positive judgments of the items of each label, in order of first appearance."""
    by_label: dict[str, list[float]] = {}
    for label, value in zip(labels, share, strict=True):
        by_label.setdefault(label, []).append(value)
    return [float(np.mean(shares)) for shares in by_label.values()]


def _sides(share: Mapping[str, float]) -> dict[str, float] | None:
    """Return 1 for the positive label and 0 for the other, or None if the votes do not distinguish them.

    Of two labels, the positive one has more positive judgments, even if they are no more than half (all of its items
    may be ties). A single label is positive if most of its judgments are.
    """
    line = 0.5 if len(share) == 1 else (min(share.values()) + max(share.values())) / 2
    if len(share) > 1 and min(share.values()) == max(share.values()):
        return None
    return {label: float(mean > line) for label, mean in share.items()}


def from_grades(table: Features, grades: Any) -> TrainingSet:
    """Return the training set of the documents that have a grade."""
    by_topic = read_grades(grades)
    grade = {(topic, document): value for topic, row in by_topic.items() for document, value in row.items()}
    rows, index = _match(table, {pair: n for n, pair in enumerate(grade)})
    return TrainingSet(rows, np.array(list(grade.values()))[index], None, False)


def degree(fit: Fit) -> Floats:
    """Return the expected relevance of each item (I), from 0 for the lowest label to 1 for the highest."""
    K = len(fit.scale)
    if K > 2 and not fit.scale.ordinal:
        raise UsageError(
            f"the fit has {K} labels without an order, {quoted(fit.scale.names)}: fit them with --ordinal and "
            "--labels, lowest first"
        )
    expected: Floats = fit.posterior @ np.linspace(0.0, 1.0, max(K, 2))[:K]
    return expected


def rows_in_fit(table: Features, fit: Fit) -> tuple[Codes, Codes]:
    """Return the rows whose document is in the fit (M), and the item of each (M)."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("this fit has no topics: fit judgments with a column of topics (--topic)")
    names = [*fit.topics.cast(str).to_list(), None]
    return _match(table, _pair_index([names[t] for t in fit.topic.tolist()], fit.items.cast(str).to_list()))


def _pair_index(topics: Sequence[Any], items: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return the index of each pair of topic and document; items may be named topic_document."""
    index = {}
    for n, (topic, item) in enumerate(zip(topics, items, strict=True)):
        if topic is not None:
            index[(str(topic), item)] = n
            index[(str(topic), document_of(item, topic))] = n
    return index


def _match(table: Features, index: Mapping[tuple[str, str], int]) -> tuple[Codes, Codes]:
    """Return the rows of the features whose pair is in the index, and their position there."""
    position = [index.get(pair, -1) for pair in zip(table.topics, table.documents, strict=True)]
    rows = np.flatnonzero(np.array(position) >= 0)
    if not rows.size:
        mine, theirs = (table.topics[0], table.documents[0]), next(iter(index), ("", ""))
        raise UsageError(
            f"none of {len(table):,} documents with features was judged: features have for example {quote(mine[1])} of "
            f"topic {quote(mine[0])}, judgments have {quote(theirs[1])} of topic {quote(theirs[0])}"
        )
    return rows, np.array(position)[rows]


RANKERS: Mapping[str, Callable[..., Any]] = {"svm": RankSVM, "lambdamart": LambdaMART}


class Trained(NamedTuple):
    """A trained ranker, and its cross-validated measures on topics that it was not trained on."""

    ranker: Any
    score: Floats  # (N) of every row, by a ranker that was not trained on its topic; NaN if there is none
    measures: Mapping[str, float]  # of these scores on the training set; empty if ``unmeasured`` says why
    topics: int  # in the training set
    folds: int  # 1 if only one topic has pairs, so that cross-validation is impossible
    unmeasured: str | None = None
    unchanging: tuple[str, ...] = ()  # features that are constant within every topic

    def run(self, table: Features, name: str = "rerank") -> System:
        """Return the run of the cross-validated scores, which can be evaluated on the training topics."""
        if self.folds < 2:
            raise UsageError(
                "there is no cross-validated run, because only one topic has pairs: save the ranker without a run, and "
                "rank new topics with `adjudge rerank apply`"
            )
        return table.run(self.score, name)


def ranker_named(name: str, **options: Any) -> Any:
    """Return a ranker by its name; options that are None keep their defaults."""
    if name not in RANKERS:
        raise UsageError(f"ranker {quote(name)} is not one of {quoted(RANKERS)}")
    return RANKERS[name](**{option: value for option, value in options.items() if value is not None})


def train(table: Features, training: TrainingSet, ranker: Any, *, folds: int = FOLDS, seed: int = 0) -> Trained:
    """Train a ranker on a training set, and measure it by cross-validation over topics."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a number of at least 2")
    topics, frame = np.array(table.topics), table.frame
    configured = clone(ranker).set_params(soft=training.soft)
    final = _fit(configured, frame, topics, training)
    with_pairs = _topics_with_pairs(training, topics, getattr(configured, "pair_weight", "mean"))
    folds = min(folds, len(with_pairs))
    score = np.full(len(table), np.nan)
    fold = _assign_folds(topics, with_pairs, folds, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the fit of all rows has given them
        for k in range(folds) if folds > 1 else ():
            part = _subset(training, fold[training.rows] != k)
            score[fold == k] = _fit(configured, frame, topics, part).decision_function(frame.filter(fold == k))
    measures, why = _measure(score, training, topics, np.array(table.documents))
    same = _constant_features(table, training, topics)
    return Trained(final, score, measures, np.unique(topics[training.rows]).size, folds, why, same)


def _constant_features(table: Features, training: TrainingSet, topics: Any) -> tuple[str, ...]:
    """Return the features that are constant within every topic of the training set."""
    pairs = make_pairs(training.target, topics[training.rows], soft=training.soft)
    same = constant_features(pairs, table.X[training.rows])
    return tuple(name for name, constant in zip(table.names, same.tolist(), strict=True) if constant)


def _topics_with_pairs(training: TrainingSet, topics: Any, pair_weight: str) -> set[str]:
    """Return the topics with at least one pair."""
    code, count = group_codes(topics[training.rows], training.rows.size)
    weight = _weights(training)
    order = np.argsort(code, kind="stable")
    with_pairs = set()
    for rows in np.split(order, np.searchsorted(code[order], np.arange(1, count))):
        try:
            make_pairs(
                training.target[rows],
                None,
                None if weight is None else weight[rows],
                pair_weight=pair_weight,
                soft=training.soft,
            )
        except NothingToLearn:
            continue
        with_pairs.add(str(topics[training.rows[rows[0]]]))
    return with_pairs


def _assign_folds(topics: Any, with_pairs: set[str], folds: int, seed: int) -> Codes:
    """Return the fold of every row (N), by topic; topics with pairs are assigned first, so that every fold has one."""
    code, count = group_codes(topics, topics.size)
    name = topics[np.unique(code, return_index=True)[1]].tolist()
    order = np.random.default_rng(seed).permutation(count).tolist()
    fold = np.empty(count, np.int64)
    fold[sorted(order, key=lambda t: name[t] not in with_pairs)] = np.arange(count) % folds
    return fold[code]


def _fit(ranker: Any, frame: Any, topics: Any, training: TrainingSet) -> Any:
    """Return the ranker trained on a training set."""
    return clone(ranker).fit(frame[training.rows], training.target, topics[training.rows], _weights(training))


def _weights(training: TrainingSet) -> Floats | None:
    """Return the weights of a training set (M), scaled to a mean of 1."""
    return None if training.weight is None else training.weight / max(float(training.weight.mean()), 1e-300)


def _subset(training: TrainingSet, selected: Any) -> TrainingSet:
    """Return some rows of a training set."""
    weight = None if training.weight is None else training.weight[selected]
    return TrainingSet(training.rows[selected], training.target[selected], weight, training.soft)


def _measure(score: Floats, training: TrainingSet, topics: Any, documents: Any) -> tuple[dict[str, float], str | None]:
    """Return MRR, MAP and P@1 on the training set, where rows above half of the highest target are relevant.

    If they are not defined, the second value says why.
    """
    rows = training.rows
    relevant = training.target > (0.5 if training.soft else float(training.target.max()) / 2)
    if np.isnan(score[rows]).any():
        return {}, "only one topic has pairs, so that cross-validation over topics is impossible"
    if not relevant.any():
        relevance = "more likely relevant than not" if training.soft else "above half of the highest grade"
        return {}, f"no document of the training set is {relevance}"
    return score_groups(score[rows], relevant, topics[rows], documents[rows]).means(), None
