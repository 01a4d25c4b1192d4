"""``tutor``: for each judge, the items that show their own confusions, for targeted training (paper 003).

The typical mistakes of a judge are the pairs (truth, label) with most of their wrong labels. Each pair is shown from
both sides: items of the one label that they called the other (then such items that others called so), and items of
the other label (those that they mixed up the other way round, then those that they got right). All items have a truth
that is known, from gold, or that the fit is sure of.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags
from adjudge.data.show import ListView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import Evidence, gather_evidence
from adjudge.diagnostics.gold_accuracy import known_truths, read_truth
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit

SURE = 0.9  # probability from which an inferred truth is shown to judges
FEWEST_LABELS = 1.0  # expected wrong labels of a judge below which a confusion is not typical of them


class Lesson(NamedTuple):
    """An item that shows a confusion of a judge."""

    judge: str
    truth: str  # of the confusion
    said: str  # instead of it
    side: str  # "confused" for an item of the truth, "contrast" for one of the label that is said instead
    item: str
    topic: str | None
    label: str  # the truth of the item
    probability: float  # of that label; 1 if it is known
    given: str | None  # the label that the judge gave, None if they did not judge the item
    reason: str


@dataclass(frozen=True)
class Tutoring(ListView[Lesson]):
    """The items that show the confusions of judges, judge by judge, their most costly confusion first."""

    lessons: tuple[Lesson, ...] = field(repr=False)
    judges: int  # who have a set
    of: int  # judges who were looked at
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Tutoring({len(self.lessons):,} items for {self.judges:,} of {self.of:,} judges)"

    @property
    def records(self) -> tuple[Lesson, ...]:
        """The items."""
        return self.lessons

    @property
    def sentence(self) -> str:
        """Who has a set, in words."""
        none = self.of - self.judges
        text = f"{self.judges:,} of {self.of:,} judges have a tutoring set, of {len(self.lessons):,} items in all"
        hint = (
            "for the others, no item of known or nearly certain truth shows a typical mistake: give more truths "
            "(truth) or a lower probability (sure)"
        )
        return f"{text}; {hint}." if none else f"{text}."

    @property
    def table(self) -> Any:
        """A table with one row per judge and item."""
        return frame({name: [getattr(row, name) for row in self.lessons] for name in Lesson._fields}, self.kind)

    def of_judge(self, judge: str) -> tuple[Lesson, ...]:
        """Return the tutoring set of a judge, empty if they have none."""
        return tuple(lesson for lesson in self.lessons if lesson.judge == judge)


def tutor(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    truth: Any = None,
    *,
    judge: str | None = None,
    confusions: int = 2,
    items: int = 3,
    sure: float = SURE,
) -> Tutoring:
    """Return for each judge the items that show their own confusions, from both sides.

    Parameters
    ----------
    fit
        A fit, or the folder of a saved one.
    judgments
        The judgments that the fit was made from. Default: those kept with the fit.
    truth
        Truths that the fit did not use: a frame, a path, or a mapping from item to truth. Gold of the fit counts, too.
    judge
        The judge whose set is wanted. Default: all judges.
    confusions
        How many confusions of a judge are shown, those with most of their wrong labels.
    items
        How many items are shown at most for each side of a confusion.
    sure
        The probability from which a truth that is not known is shown.

    Returns
    -------
    Tutoring
        The items of every judge, with the label that they gave and the reason in words.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> sets = tutor(adjudge.fit(judgments, "dawid-skene"), judgments, confusions=1, items=1)
    >>> [lesson.reason for lesson in sets.of_judge("5")]
    ["You called it '1'; it is '2'.", "It is '1', as you said, and not '2'."]
    """
    for name, number in (("confusions", confusions), ("items", items)):
        if number < 1:
            raise UsageError(f"{name} {number} is not a whole number of at least 1")
    if not 0.5 < sure <= 1:
        raise UsageError(f"sure {sure!r} is not a probability above 0.5 and up to 1")
    fit, evidence = gather_evidence(fit, judgments)
    names = [str(name) for name in fit.judge_names.to_list()]
    if judge is not None and judge not in names:
        raise UsageError(f"there is no judge {quote(judge)} in this fit; its judges are {quoted(names)}")
    teacher = _Teacher(fit, evidence, known_truths(evidence, read_truth(fit, evidence.judgments, truth)), sure, items)
    chosen = range(len(names)) if judge is None else [names.index(judge)]
    lessons, taught = list[Lesson](), 0
    for j in chosen:
        rows = [lesson for k, y in teacher.mistakes(j, confusions) for lesson in teacher.lessons(j, names[j], k, y)]
        taught += bool(rows)
        lessons += rows
    return Tutoring(tuple(lessons), taught, len(chosen), fit.kind)


class _Teacher:
    """Finds the items of every confusion."""

    def __init__(self, fit: Fit, evidence: Evidence, truths: Codes, sure: float, items: int) -> None:
        block, labels = evidence.block, fit.scale.names
        posterior = fit.posterior[evidence.item_index]
        self.labels, self.most, J, K = labels, items, block.judges, len(labels)
        self.orders: dict[tuple[int, int], tuple[list[int], list[int]]] = {}  # the same for all judges
        self.known: Flags = truths >= 0
        self.truth = np.where(self.known, truths, posterior.argmax(axis=1))  # (I)
        self.chance = np.where(self.known, 1.0, posterior.max(axis=1))
        self.shown: Flags = self.chance >= sure
        self.items = [str(name) for name in fit.items.gather(evidence.item_index).to_list()]
        self.topics = _topics(fit, evidence.item_index)
        self.start = np.searchsorted(np.sort(evidence.judge), np.arange(J + 1))  # the judgments of each judge
        order = np.argsort(evidence.judge, kind="stable")
        self.item, self.label = evidence.item[order], block.label[order]
        credit = np.where(self.known[:, None], np.arange(K) == self.truth[:, None], evidence.posterior)
        self.votes = np.zeros((truths.size, K))  # (I, K) how often items were given each label
        np.add.at(self.votes, (evidence.item, block.label), 1.0)
        self.wrong = np.zeros((J, K, K))  # expected labels of each judge by truth
        np.add.at(self.wrong.swapaxes(1, 2), (evidence.judge, block.label), credit[evidence.item])
        self.wrong[:, np.arange(K), np.arange(K)] = 0.0

    def mistakes(self, judge: int, most: int) -> list[tuple[int, int]]:
        """Return the confusions (truth, label) with most wrong labels of a judge."""
        cost = self.wrong[judge]
        cells = np.argsort(-cost, axis=None, kind="stable")[:most].tolist()
        pairs = [divmod(cell, len(self.labels)) for cell in cells]
        return [(k, y) for k, y in pairs if cost[k, y] >= FEWEST_LABELS]

    def lessons(self, judge: int, name: str, k: int, y: int) -> list[Lesson]:
        """Return the items of a confusion of label ``k`` with ``y``, of both sides; none if one side has no item."""
        rows = slice(self.start[judge], self.start[judge + 1])
        answers = dict(zip(self.item[rows].tolist(), self.label[rows].tolist(), strict=True))
        first, second = self._choose(answers, k, y), self._choose(answers, y, k)
        if not first or not second:
            return []
        confused = [self._lesson(name, k, y, "confused", i, answers) for i in first]
        return confused + [self._lesson(name, k, y, "contrast", i, answers) for i in second]

    def _choose(self, answers: dict[int, int], k: int, y: int) -> list[int]:
        """Return items of truth ``k``: those that the judge called ``y``, that others called so, and clear ones."""
        items = sorted((i for i in answers if self.shown[i] and self.truth[i] == k), key=lambda i: (-self.chance[i], i))
        others, clear = self._ordered(k, y)
        mistakes, right = ([i for i in items if answers[i] == label] for label in (y, k))
        return list(islice(dict.fromkeys(chain(mistakes, others, right, clear)), self.most))

    def _ordered(self, k: int, y: int) -> tuple[list[int], list[int]]:
        """Return the items of truth ``k`` that somebody called ``y``, and those that nobody did, the surest first."""
        if (k, y) not in self.orders:
            candidates = np.flatnonzero(self.shown & (self.truth == k))
            votes = self.votes[candidates, y]
            order = np.lexsort((candidates, -votes, -self.chance[candidates], votes == 0))
            some = int((votes > 0).sum())
            self.orders[k, y] = (candidates[order[:some]].tolist(), candidates[order[some:]].tolist())
        return self.orders[k, y]

    def _lesson(self, name: str, k: int, y: int, side: str, i: int, answers: dict[int, int]) -> Lesson:
        """Return an item with the reason why it is shown."""
        truth, label = self.labels[int(self.truth[i])], answers.get(i)
        answer = None if label is None else self.labels[label]
        return Lesson(
            name,
            self.labels[k],
            self.labels[y],
            side,
            self.items[i],
            self.topics[i],
            truth,
            float(self.chance[i]),
            answer,
            _reason(truth, answer, self.labels[y if side == "confused" else k]),
        )


def _reason(truth: str, answer: str | None, other: str) -> str:
    """Return why an item is shown, in words for the judge."""
    if answer is None:
        return f"It is {quote(truth)}; others took it for {quote(other)}, or it is typical of {quote(truth)}."
    if answer == truth:
        return f"It is {quote(truth)}, as you said, and not {quote(other)}."
    return f"You called it {quote(answer)}; it is {quote(truth)}."


def _topics(fit: Fit, index: Codes) -> list[str | None]:
    """Return the topic of items, None without topics."""
    if fit.topics is None or fit.topic is None:
        return [None] * index.size
    names = [*(str(name) for name in fit.topics.to_list()), None]
    return [names[t] for t in fit.topic[index].tolist()]
