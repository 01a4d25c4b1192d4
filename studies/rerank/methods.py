"""The methods of the study of paper 004: the training labels and weights of a ranker.

A method makes a lesson from a crowd: targets, weights, and whether targets are soft. Weights of judges are computed on
the whole task, as in the paper; weights are scaled to mean 1 on the training rows. Unless c is given, it is chosen
inside the training folds, by the training labels of the method.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import AdjudgeWarning
from adjudge.inference.fit import fit
from adjudge.inference.result import Fit
from adjudge.learn.folds import split
from adjudge.learn.joint import joint_relevance
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.weights import SCHEMES, weights
from studies.rerank.choice import Folds, Lesson, choose_c, select_rows
from studies.rerank.crowds import Crowd
from studies.rerank.sets import Rows

ROUGH = 1e-2  # tolerance of rankers that only provide priors
TREES: Mapping[str, Any] = {
    "trees": 100,
    "leaves": 7,
    "least": 100,
}  # of LambdaMART: fewer than the defaults, for few questions


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, their crowd and the truth; only the methods with expert labels use the truth."""

    rows: Rows
    crowd: Crowd
    truth: Flags  # (N)
    c: float | None = None  # None: chosen inside the training folds
    fits: dict[str, Fit] = field(default_factory=dict)
    folds: dict[bytes, Folds] = field(default_factory=dict)

    @cached_property
    def share(self) -> Floats:
        """The share of judgments that call each row relevant (N)."""
        judgments = self.crowd.judgments
        ones = np.bincount(judgments.item(), judgments.label, len(judgments.items))
        part: Floats = ones / np.maximum(np.diff(judgments.start), 1)
        return part

    @property
    def majority(self) -> Flags:
        """Whether most judgments of a row are relevant (N); ties are not relevant."""
        return self.share > 0.5

    def fit(self, model: str) -> Fit:
        """Return the fit of a model to the crowd, computed once."""
        if model not in self.fits:
            self.fits[model] = fit(self.crowd.judgments, model)
        return self.fits[model]

    def inside(self, fold: Codes) -> Folds:
        """Return the rows in folds, computed once."""
        return self.folds.setdefault(fold.tobytes(), Folds(self.rows, fold))

    def probability(self, model: str) -> Floats:
        """Return the probability of relevance of each row (N)."""
        return self.fit(model).posterior[:, 1]


class Method(NamedTuple):
    """A way to train a ranker, or an order without training."""

    name: str
    summary: str
    lesson: Callable[[Task], Lesson] | None  # None without training
    needs: str = ""  # required: matched, bm25, truth or lightgbm
    again: bool = False  # whether the ranker is trained again with its scores as the prior of the consensus


def _label_lesson(of: str, task: Task) -> Lesson:
    """Learn labels that are not from the crowd."""
    label = task.rows.matched if of == "matched" else task.truth
    assert label is not None  # checked by ``able``
    return Lesson(label.astype(float))


def _majority(task: Task) -> Lesson:
    """Learn the vote."""
    return Lesson(task.majority.astype(float))


def _scheme(scheme: str, agreement: str, task: Task) -> Lesson:
    """Learn the vote, weighted by a scheme of the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        weighted = weights(task.crowd.judgments, scheme, trust=task.crowd.trust, agreement=agreement)
    return Lesson(task.majority.astype(float), weighted.sample_weight(task.crowd.judgments.items))


def _consensus(model: str, kind: str, task: Task) -> Lesson:
    """Learn the labels of a model, weighted by their certainty, or unweighted."""
    label = (task.probability(model) > 0.5).astype(float)
    return Lesson(label, posterior_weights(task.fit(model), kind).weight if kind else None)


def _vote_pairs(task: Task) -> Lesson:
    """Learn from all pairs with different vote shares, weighted by the difference."""
    return Lesson(task.share, soft=True)


def _soft_pairs(model: str, task: Task) -> Lesson:
    """Learn from all pairs with different probabilities, weighted by the difference."""
    return Lesson(task.probability(model), soft=True)


class Scored(NamedTuple):
    """The scores of held-out rows."""

    score: Floats  # (N)
    c: Floats  # (K) by fold, empty without c


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("BM25", "the first stage's own order", None, "bm25"),
        Method("RE", "labels by matching the answer key", partial(_label_lesson, "matched"), "matched"),
        Method("CA", "labels by the vote", _majority),
        *(Method(name, scheme.summary, partial(_scheme, name, "count")) for name, scheme in SCHEMES.items()),
        Method("LPTC rate", "as LPTC, agreement as a rate", partial(_scheme, "LPTC", "rate")),
        Method("vote pairs", "soft pairs by shares of votes", _vote_pairs),
        Method("DS", "labels of dawid-skene", partial(_consensus, "dawid-skene", "")),
        Method("DS margin", "the same, weighing |2p - 1|", partial(_consensus, "dawid-skene", "margin")),
        Method("DS entropy", "the same, weighing 1 - entropy", partial(_consensus, "dawid-skene", "entropy")),
        Method("DS pairs", "soft pairs by dawid-skene's probabilities", partial(_soft_pairs, "dawid-skene")),
        Method("VW margin", "labels of vote-weight, weighing |2p - 1|", partial(_consensus, "vote-weight", "margin")),
        Method("GLAD margin", "labels of glad, weighing |2p - 1|", partial(_consensus, "glad", "margin")),
        Method(
            "Raykar",
            "soft pairs; the ranker's scores of rows it did not see are the consensus' prior, and it learns again",
            partial(_soft_pairs, "dawid-skene"),
            again=True,
        ),
        Method("gold", "expert labels: the ceiling", partial(_label_lesson, "truth"), "truth"),
        Method("LM CA", "LambdaMART, labels by the vote", _majority, "lightgbm"),
        Method("LM LPTC", "LambdaMART, with the weights of LPTC", partial(_scheme, "LPTC", "count"), "lightgbm"),
        Method("LM DS margin", "LambdaMART, as DS margin", partial(_consensus, "dawid-skene", "margin"), "lightgbm"),
        Method("LM gold", "LambdaMART, expert labels", partial(_label_lesson, "truth"), "lightgbm"),
    )
}


BOOSTED = tuple(method.name for method in METHODS.values() if method.needs == "lightgbm")


def able(task: Task, boosted: bool = True) -> list[Method]:
    """Return the methods that are possible for a task; ``boosted`` includes those with trees, which are slow."""
    has = {
        "": True,
        "matched": task.rows.matched is not None,
        "bm25": task.rows.bm25 is not None,
        "truth": not np.array_equal(
            task.truth, task.majority
        ),  # if the truth is the vote, expert labels are those of CA
        "lightgbm": boosted and find_spec("lightgbm") is not None,
    }
    return [method for method in METHODS.values() if has[method.needs]]


def scores(task: Task, method: Method, fold: Codes) -> Floats:
    """Return the score of every row (N), by a ranker that was trained without its fold."""
    return scored(task, method, fold).score


def scored(task: Task, method: Method, fold: Codes) -> Scored:
    """Return the score of every row, and the c of every fold."""
    if method.lesson is None:
        assert task.rows.bm25 is not None
        return Scored(task.rows.bm25, np.zeros(0))
    lesson, score, trees = method.lesson(task), np.zeros(fold.size), method.name in BOOSTED
    folds = task.inside(fold)
    cs = np.zeros(0) if trees else choose_c(folds, lesson) if task.c is None else np.full(folds.count, task.c)
    for k, (train, test) in enumerate(split(fold)):
        if trees:
            ranker: Any = _train_trees(task, select_rows(lesson, train), train)
        else:
            part = raykar_lesson(task, lesson, train, cs[k]) if method.again else select_rows(lesson, train)
            ranker = train_ranker(task, part, train, cs[k])
        score[test] = ranker.decision_function(task.rows.X[test])
    return Scored(score, cs)


def _train_trees(task: Task, lesson: Lesson, rows: Codes) -> LambdaMART:
    """Return LambdaMART, trained on some rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        ranker = LambdaMART(**TREES, soft=lesson.soft)
        return ranker.fit(task.rows.X[rows], lesson.target, task.rows.question[rows], lesson.weight)


def train_ranker(task: Task, lesson: Lesson, rows: Codes, c: float, tolerance: float = 1e-5) -> RankSVM:
    """Return a linear ranker, trained on some rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # many questions have no pairs
        ranker = RankSVM(c, soft=lesson.soft, tolerance=tolerance)
        return ranker.fit(task.rows.X[rows], lesson.target, task.rows.question[rows], lesson.weight)


def raykar_lesson(task: Task, lesson: Lesson, rows: Codes, c: float) -> Lesson:
    """Return the probabilities of some rows with the scores of the ranker as their prior, in one round."""
    ranker = RankSVM(c, soft=True, tolerance=ROUGH)
    joint = joint_relevance(lesson.target[rows], task.rows.X[rows], task.rows.question[rows], ranker, rounds=1)
    return Lesson(joint.relevance, soft=True)
