"""``train``: a ranker from a lesson, and how it ranks topics that it did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeWarning, UsageError, quote, quoted
from adjudge.judgments.runs import System
from adjudge.learn.crossval import FOLDS, ranked
from adjudge.learn.feature_file import Features
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.lessons import Lesson
from adjudge.learn.pairs import NothingToLearn, group_codes, paired, unchanging
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone

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
