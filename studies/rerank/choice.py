"""The choice of c for a ranker, inside its training folds and by its training labels.

Folds form a ring. If fold i is held out, rankers are trained without i and a neighbour j, and rank j. The c with the
best rankings of both neighbours by the training labels (never by the truth) is chosen. A ranker trained without i and j
also serves if j is held out, so that five folds need five fits per c.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.learn.pairs import group_codes, make_pairs
from adjudge.learn.ranksvm import solve
from adjudge.learn.topic_scores import measure_groups, name_order
from studies.rerank.sets import Rows

CHOICE = tuple(2.0**e for e in (-20, -16, -12, -8, -4, 0))  # below, rankings hardly change
NEAR = 1e-2  # tolerance of rankers that only choose c, as a share of the first gradient
SAME = 1e-12  # a relative standard deviation of a feature below this is rounding


class Lesson(NamedTuple):
    """The training labels and weights of a ranker."""

    target: Floats  # (N)
    weight: Floats | None = None  # (N)
    soft: bool = False


class Part(NamedTuple):
    """The training rows without some folds."""

    train: Codes  # (T)
    X: Floats  # (T, F) of mean 0 and variance 1
    spread: Floats  # (F) standard deviations; infinite for a constant feature


class Test(NamedTuple):
    """The rows of a fold, to be ranked."""

    rows: Codes  # (T)
    X: Floats  # (T, F)
    question: Codes  # (T)
    questions: int
    tie: Codes  # (T) order of rows with equal scores

    def worth(self, score: Floats, lesson: Lesson) -> Floats:
        """Return the average precision of every question with a relevant row, by the training labels."""
        label = lesson.target[self.rows] > 0.5
        return measure_groups(score, label, self.question, self.questions, self.tie).values["MAP"]


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows in folds, with arrays that all methods share."""

    rows: Rows
    fold: Codes  # (N)
    parts: dict[tuple[int, ...], Part] = field(default_factory=dict)

    @cached_property
    def count(self) -> int:
        """The number of folds."""
        return int(self.fold.max()) + 1

    @cached_property
    def question(self) -> Codes:
        """The number of every row's question (N)."""
        return group_codes(self.rows.question, self.fold.size)[0]

    @cached_property
    def tests(self) -> list[Test]:
        """The rows of every fold."""
        tie, tests = name_order(self.rows.document, self.fold.size), []
        for k in range(self.count):
            rows = np.flatnonzero(self.fold == k)
            tests.append(Test(rows, self.rows.X[rows], *group_codes(self.question[rows], rows.size), tie[rows]))
        return tests

    def part(self, *out: int) -> Part:
        """Return the training rows without some folds."""
        if out not in self.parts:
            train = np.flatnonzero(~np.isin(self.fold, out))
            X = self.rows.X[train]
            spread, size = X.std(axis=0), np.abs(X).max(axis=0)
            spread = np.where(spread <= SAME * size, np.inf, spread)
            self.parts[out] = Part(train, (X - X.mean(axis=0)) / spread, spread)
        return self.parts[out]


def select_rows(lesson: Lesson, rows: Codes) -> Lesson:
    """Return the lesson for some rows, with weights of mean 1."""
    if lesson.weight is None:
        return lesson._replace(target=lesson.target[rows])
    weight = lesson.weight[rows]
    return lesson._replace(target=lesson.target[rows], weight=weight / weight.mean())


def choose_c(folds: Folds, lesson: Lesson, grid: tuple[float, ...] = CHOICE) -> Floats:
    """Return the c for each held-out fold (K); of equals the smallest."""
    total = np.zeros((folds.count, len(grid)))
    for i, j in ring(folds.count):
        w = _rankers(folds, lesson, i, j, grid)
        for out, tested in ((i, j), (j, i)):
            test = folds.tests[tested]
            score = test.X @ w  # (T, C)
            total[out] += [float(test.worth(column, lesson).sum()) for column in score.T]
    best: Floats = np.array(grid)[np.argmax(total.round(9), axis=1)]
    return best


def ring(count: int) -> list[tuple[int, int]]:
    """Return the pairs of neighbouring folds in a ring."""
    return [(0, 1)] if count == 2 else [(k, (k + 1) % count) for k in range(count)]


def _rankers(folds: Folds, lesson: Lesson, i: int, j: int, grid: tuple[float, ...]) -> Floats:
    """Return the rankers (F, C), one per c, trained without two folds."""
    part = folds.part(i, j)
    part_lesson = select_rows(lesson, part.train)
    pairs = make_pairs(part_lesson.target, folds.question[part.train], part_lesson.weight, soft=part_lesson.soft)
    X = np.ascontiguousarray(part.X[pairs.order])
    return np.column_stack([solve(X, pairs.rows, c, tolerance=NEAR).w / part.spread for c in grid])
