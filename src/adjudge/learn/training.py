"""``train``: a ranker from a lesson, and how it ranks topics that it did not learn from."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning, UsageError, quote, quoted
from adjudge.judgments.runs import System
from adjudge.learn.crossval import FOLDS, fold_of, ranked
from adjudge.learn.feature_file import Features
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.lessons import Lesson
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone

RANKERS: Mapping[str, Callable[..., Any]] = {"svm": RankSVM, "lambdamart": LambdaMART}


class Trained(NamedTuple):
    """A ranker, and what rankers like it are worth on topics that they did not see."""

    ranker: Any
    score: Floats  # (N) of every row, by a ranker that did not learn from its topic
    measures: Mapping[str, float]  # of these scores, on the rows of the lesson
    topics: int  # that were learned from
    folds: int

    def run(self, table: Features, name: str = "rerank") -> System:
        """Return the run of these scores: fit to be evaluated on the topics that were learned from."""
        return table.run(self.score, name)


def ranker_named(name: str, **options: Any) -> Any:
    """Return a ranker by its name; options that are None are left at their usual values."""
    if name not in RANKERS:
        raise UsageError(f"ranker {quote(name)} is not one of {quoted(RANKERS)}")
    return RANKERS[name](**{option: value for option, value in options.items() if value is not None})


def train(table: Features, lesson: Lesson, ranker: Any, *, folds: int = FOLDS, seed: int = 0) -> Trained:
    """Let a ranker learn from all rows of a lesson and, for what it is worth, in folds by topic."""
    topics, frame = np.array(table.topics), table.frame
    own = clone(ranker).set_params(soft=lesson.soft)
    learned = np.unique(topics[lesson.rows]).size
    folds = min(folds, np.unique(topics).size)
    score = np.full(len(table), np.nan)
    if folds >= 2:
        fold = fold_of(topics, folds, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)  # what is said of all rows is enough
            for k in range(folds):
                part = _part(lesson, fold[lesson.rows] != k)
                score[fold == k] = _fitted(own, frame, topics, part).decision_function(frame.filter(fold == k))
    whole = _fitted(own, frame, topics, lesson)
    measures = _worth(score, lesson, topics, np.array(table.documents)) if folds >= 2 else {}
    return Trained(whole, score, measures, learned, folds)


def _fitted(ranker: Any, frame: Any, topics: Any, lesson: Lesson) -> Any:
    """Return a ranker that has learned from a lesson."""
    weight = lesson.weight if lesson.weight is None else lesson.weight / max(float(lesson.weight.mean()), 1e-300)
    return clone(ranker).fit(frame[lesson.rows], lesson.target, topics[lesson.rows], weight)


def _part(lesson: Lesson, kept: Any) -> Lesson:
    """Return some rows of a lesson."""
    weight = None if lesson.weight is None else lesson.weight[kept]
    return Lesson(lesson.rows[kept], lesson.target[kept], weight, lesson.soft)


def _worth(score: Floats, lesson: Lesson, topics: Any, documents: Any) -> dict[str, float]:
    """Return MRR, MAP and P@1 on the rows of a lesson, those above half of the highest target being relevant."""
    rows = lesson.rows
    relevant = lesson.target > (0.5 if lesson.soft else float(lesson.target.max()) / 2)
    return ranked(score[rows], relevant, topics[rows], documents[rows]).means()
