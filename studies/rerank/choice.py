"""The c of a ranker, chosen inside the folds that it learns from, by what its own method can see.

Folds stand in a ring. Where fold i is held back, rankers learn without i and without a neighbour j, and rank j: taken
is the c under which they rank both neighbours best by the lesson's own labels, never by the truth. One that saw neither
i nor j serves where j is held back, too, so that five folds take five fits for each c.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.learn.crossval import measure_groups, name_order
from adjudge.learn.pairs import group_codes, make_pairs
from adjudge.learn.ranksvm import solve
from studies.rerank.sets import Rows

CHOICE = tuple(2.0**e for e in (-20, -16, -12, -8, -4, 0))  # below, the order hardly changes any more
NEAR = 1e-2  # to which rankers that only choose are solved, as a share of the first gradient
SAME = 1e-12  # spread of a feature, as a share of its size, that is rounding


class Lesson(NamedTuple):
    """What is learned from."""

    target: Floats  # (N)
    weight: Floats | None = None  # (N)
    soft: bool = False


class Part(NamedTuple):
    """The rows that are left when some folds are not looked at."""

    train: Codes  # (T)
    X: Floats  # (T, F) of mean 0 and variance 1
    spread: Floats  # (F) infinite of a feature that never changes


class Test(NamedTuple):
    """The rows of a fold, and what ranking them takes."""

    rows: Codes  # (T)
    X: Floats  # (T, F)
    question: Codes  # (T)
    questions: int
    tie: Codes  # (T) by which equal scores are ordered

    def worth(self, score: Floats, lesson: Lesson) -> Floats:
        """Return the average precision of every question that has a relevant row, by the lesson's own labels."""
        label = lesson.target[self.rows] > 0.5
        return measure_groups(score, label, self.question, self.questions, self.tie).values["MAP"]


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows in folds, with what every method needs of them, made once."""

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
        tie, found = name_order(self.rows.document, self.fold.size), []
        for k in range(self.count):
            rows = np.flatnonzero(self.fold == k)
            found.append(Test(rows, self.rows.X[rows], *group_codes(self.question[rows], rows.size), tie[rows]))
        return found

    def part(self, *out: int) -> Part:
        """Return the rows without some folds."""
        if out not in self.parts:
            train = np.flatnonzero(~np.isin(self.fold, out))
            X = self.rows.X[train]
            spread, size = X.std(axis=0), np.abs(X).max(axis=0)
            spread = np.where(spread <= SAME * size, np.inf, spread)
            self.parts[out] = Part(train, (X - X.mean(axis=0)) / spread, spread)
        return self.parts[out]


def taken(lesson: Lesson, rows: Codes) -> Lesson:
    """Return a lesson of some rows, with weights of mean 1."""
    if lesson.weight is None:
        return lesson._replace(target=lesson.target[rows])
    weight = lesson.weight[rows]
    return lesson._replace(target=lesson.target[rows], weight=weight / weight.mean())


def chosen(folds: Folds, lesson: Lesson, grid: tuple[float, ...] = CHOICE) -> Floats:
    """Return the c for each fold that is held back (K); of equals the smallest."""
    total = np.zeros((folds.count, len(grid)))
    for i, j in ring(folds.count):
        w = _rankers(folds, lesson, i, j, grid)
        for out, seen in ((i, j), (j, i)):
            test = folds.tests[seen]
            score = test.X @ w  # (T, C)
            total[out] += [float(test.worth(column, lesson).sum()) for column in score.T]
    best: Floats = np.array(grid)[np.argmax(total.round(9), axis=1)]
    return best


def ring(count: int) -> list[tuple[int, int]]:
    """Return every fold with the next one: each has two neighbours, or the only other one."""
    return [(0, 1)] if count == 2 else [(k, (k + 1) % count) for k in range(count)]


def _rankers(folds: Folds, lesson: Lesson, i: int, j: int, grid: tuple[float, ...]) -> Floats:
    """Return the ranker of each c (F, C) that saw neither of two folds."""
    part = folds.part(i, j)
    own = taken(lesson, part.train)
    found = make_pairs(own.target, folds.question[part.train], own.weight, soft=own.soft)
    X = np.ascontiguousarray(part.X[found.order])
    return np.column_stack([solve(X, found.rows, c, tolerance=NEAR).w / part.spread for c in grid])
