"""The methods of the study of paper 004: what a ranker is told of every row, and how much each row counts.

A method makes a lesson of a crowd: targets, weights, and whether targets are degrees. Weights of judges are of the
whole task, as in the paper; a lesson's weights are brought to mean 1 on the rows that are learned from. Where c is not
given, every method has it chosen inside the folds that it learns from, by its own labels.
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
from adjudge.learn.crossval import fold_of, split
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.weights import SCHEMES, weights
from studies.rerank.choice import Folds, Lesson, chosen, taken
from studies.rerank.crowds import Crowd
from studies.rerank.sets import Rows

INNER = 4  # folds in which Raykar's ranker scores rows that it did not see
SURE = 1e-4  # how near to 0 or 1 a probability may come
ROUGH = 1e-2  # to which rankers that only give priors are solved
TREES = {"trees": 100, "leaves": 7, "least": 100}  # of LambdaMART: fewer and smaller than usual, for questions are few


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, their crowd, and who is relevant: what methods may look at, the truth being for the ceiling alone."""

    rows: Rows
    crowd: Crowd
    truth: Flags  # (N)
    c: float | None = None  # None: chosen inside the folds that are learned from
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
        """Which rows most judgments call relevant (N); of ties, not."""
        return self.share > 0.5

    def fit(self, model: str) -> Fit:
        """Return a consensus on the crowd, made once."""
        if model not in self.fits:
            self.fits[model] = fit(self.crowd.judgments, model)
        return self.fits[model]

    def inside(self, fold: Codes) -> Folds:
        """Return the rows in folds, made once."""
        return self.folds.setdefault(fold.tobytes(), Folds(self.rows, fold))

    def probability(self, model: str) -> Floats:
        """Return how likely each row is relevant (N)."""
        return self.fit(model).posterior[:, 1]


class Method(NamedTuple):
    """A way to learn from a crowd, or not to."""

    name: str
    summary: str
    lesson: Callable[[Task], Lesson] | None  # None of what is not learned
    needs: str = ""  # what there must be: matched, bm25, truth, lightgbm
    again: bool = False  # whether the ranker's own scores then enter the consensus, and it learns once more


def _told(of: str, task: Task) -> Lesson:
    """Learn a label that does not come from the crowd."""
    label = task.rows.matched if of == "matched" else task.truth
    assert label is not None  # what a method needs is looked at before
    return Lesson(label.astype(float))


def _majority(task: Task) -> Lesson:
    """Learn the vote."""
    return Lesson(task.majority.astype(float))


def _scheme(scheme: str, agreement: str, task: Task) -> Lesson:
    """Learn the vote, weighted by a scheme of the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        found = weights(task.crowd.judgments, scheme, trust=task.crowd.trust, agreement=agreement)
    return Lesson(task.majority.astype(float), found.sample_weight(task.crowd.judgments.items))


def _consensus(model: str, kind: str, task: Task) -> Lesson:
    """Learn the labels of a model, weighted by how sure they are, or not at all."""
    label = (task.probability(model) > 0.5).astype(float)
    return Lesson(label, posterior_weights(task.fit(model), kind).weight if kind else None)


def _vote_pairs(task: Task) -> Lesson:
    """Learn from all pairs whose shares of votes differ, by how much they do."""
    return Lesson(task.share, soft=True)


def _soft_pairs(model: str, task: Task) -> Lesson:
    """Learn from all pairs whose probabilities differ, by how much they do."""
    return Lesson(task.probability(model), soft=True)


class Scored(NamedTuple):
    """Rows that were ranked by rankers that did not see them."""

    score: Floats  # (N)
    c: Floats  # (K) by fold, none where there is no c


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("BM25", "the first stage's own order", None, "bm25"),
        Method("RE", "labels by matching the answer key", partial(_told, "matched"), "matched"),
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
        Method("gold", "expert labels: the ceiling", partial(_told, "truth"), "truth"),
        Method("LM CA", "LambdaMART, labels by the vote", _majority, "lightgbm"),
        Method("LM LPTC", "LambdaMART, with the weights of LPTC", partial(_scheme, "LPTC", "count"), "lightgbm"),
        Method("LM DS margin", "LambdaMART, as DS margin", partial(_consensus, "dawid-skene", "margin"), "lightgbm"),
        Method("LM gold", "LambdaMART, expert labels", partial(_told, "truth"), "lightgbm"),
    )
}


BOOSTED = tuple(method.name for method in METHODS.values() if method.needs == "lightgbm")


def able(task: Task, boosted: bool = True) -> list[Method]:
    """Return the methods that have what they need here; those with trees are asked for, since they take long."""
    has = {
        "": True,
        "matched": task.rows.matched is not None,
        "bm25": task.rows.bm25 is not None,
        "truth": not np.array_equal(task.truth, task.majority),  # where truth is the vote, the ceiling is CA
        "lightgbm": boosted and find_spec("lightgbm") is not None,
    }
    return [method for method in METHODS.values() if has[method.needs]]


def scores(task: Task, method: Method, fold: Codes) -> Floats:
    """Return the score of every row (N), by a ranker that did not see its fold."""
    return scored(task, method, fold).score


def scored(task: Task, method: Method, fold: Codes) -> Scored:
    """Return the same, with the c of every fold."""
    if method.lesson is None:
        assert task.rows.bm25 is not None
        return Scored(task.rows.bm25, np.zeros(0))
    lesson, found, trees = method.lesson(task), np.zeros(fold.size), method.name in BOOSTED
    folds = task.inside(fold)
    cs = np.zeros(0) if trees else chosen(folds, lesson) if task.c is None else np.full(folds.count, task.c)
    for k, (train, test) in enumerate(split(fold)):
        if trees:
            ranker: Any = _boosted(task, taken(lesson, train), train)
        else:
            own = taught_again(task, lesson, train, cs[k]) if method.again else taken(lesson, train)
            ranker = learned(task, own, train, cs[k])
        found[test] = ranker.decision_function(task.rows.X[test])
    return Scored(found, cs)


def _boosted(task: Task, lesson: Lesson, rows: Codes) -> LambdaMART:
    """Return the trees that some rows teach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        ranker = LambdaMART(**TREES, soft=lesson.soft)
        return ranker.fit(task.rows.X[rows], lesson.target, task.rows.question[rows], lesson.weight)


def learned(task: Task, lesson: Lesson, rows: Codes, c: float, tolerance: float = 1e-5) -> RankSVM:
    """Return the ranker that some rows teach."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # questions without pairs are usual here
        ranker = RankSVM(c, soft=lesson.soft, tolerance=tolerance)
        return ranker.fit(task.rows.X[rows], lesson.target, task.rows.question[rows], lesson.weight)


def taught_again(task: Task, lesson: Lesson, rows: Codes, c: float) -> Lesson:
    """Return probabilities of some rows with the ranker's own scores as their prior (Raykar et al. 2010).

    Scores are of rankers that did not see the row, turned into probabilities by a logistic curve through those of the
    consensus, whose log odds then have these in the place of the prevalence.
    """
    p, X = lesson.target[rows], task.rows.X[rows]
    score = np.zeros(rows.size)
    for train, test in split(fold_of(task.rows.question[rows], INNER)):
        ranker = learned(task, lesson._replace(target=p[train]), rows[train], c, ROUGH)
        score[test] = ranker.decision_function(X[test])
    prior = logistic(score, p)
    usual = np.log(p.mean() / (1 - p.mean()))
    odds = _odds(p) - usual + _odds(prior)
    return Lesson(1 / (1 + np.exp(-odds)), soft=True)


def logistic(x: Floats, p: Floats, steps: int = 50) -> Floats:
    """Return the logistic curve in x that is nearest to the probabilities p by their cross entropy (N)."""
    A = np.column_stack([np.ones(x.size), (x - x.mean()) / max(float(x.std()), SURE)])
    b = np.zeros(2)
    for _ in range(steps):
        q = 1 / (1 + np.exp(-A @ b))
        slope = (A * (q * (1 - q))[:, None]).T @ A + 1e-6 * np.eye(2)
        step = np.linalg.solve(slope, A.T @ (p - q))
        b = b + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    curve: Floats = 1 / (1 + np.exp(-A @ b))
    return curve


def _odds(p: Floats) -> Floats:
    """Return log odds, of probabilities that are kept from 0 and 1."""
    near = np.clip(p, SURE, 1 - SURE)
    odds: Floats = np.log(near / (1 - near))
    return odds
