"""The choice of a ranker: how it learns, its c, or trees instead of a linear function.

Topics are in folds. For every two folds, each candidate is trained without both, and ranks both. For a held-out fold,
the candidate with the best rankings of the other folds is chosen, so that the held-out fold has no part in the choice.
The ranker of all topics is chosen by all of these rankings together.

Rankings are compared by their expected average precision under the probabilities of the labels that are learned from
(``adjudge.learn.topic_scores.expected_precision``). With certain labels it is MAP; with uncertain ones it varies less,
so that fewer choices are made by chance.

The candidates for the cost of slack are relative to the data: c = 2^e / W, rounded to a power of two, where W is the
sum of the weights of all pairs. Below the lowest e, a ranking hardly changes with c; the default, c = 1, is a candidate
too.

The cost is bounded: from a large training set, topics with at most ``MOST_ROWS`` rows and ``MOST_PAIRS`` pairs are
drawn at random, and the choice is made on these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import AdjudgeWarning
from adjudge.learn.pairs import NothingToLearn, group_codes, make_pairs
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone
from adjudge.learn.topic_scores import expected_precision
from adjudge.learn.training_set import TrainingSet

EXPONENTS = tuple(range(-9, 10, 3))  # e of the candidates for c
TREES: Mapping[str, Any] = {"trees": 100, "leaves": 7, "least": 100}  # fewer than the default, for few topics
ROUGH = 1e-2  # tolerance of rankers that only serve the choice
MOST_ROWS, MOST_PAIRS = 20_000, 2_000_000
ROUNDING = 1e-9
FEWEST = 3  # folds: two are left out, and the others are learned from

Progress: TypeAlias = Callable[[int, int, str], None]  # called with the rankers trained, the number of all, and a text


class Candidate(NamedTuple):
    """A way to learn, and a ranker that is not trained yet."""

    learn: str  # the name of a training set
    ranker: Any

    def __str__(self) -> str:
        settings = {k: v for k, v in self.ranker.get_params().items() if k in ("c", "trees", "leaves", "least")}
        shown = ", ".join(f"{name} {_plain(value)}" for name, value in settings.items())
        return f"{type(self.ranker).__name__} ({shown}), learning from {self.learn}"


class Choice(NamedTuple):
    """The chosen candidates."""

    final: Candidate  # for all topics
    by_fold: tuple[Candidate, ...]  # for each held-out fold
    candidates: tuple[Candidate, ...]
    precision: Floats  # (C) expected average precision on topics that were not learned from; NaN without a choice
    topics: int  # that the choice was made on


class Topics(NamedTuple):
    """The rows of a training set (M), as the choice needs them."""

    X: Floats  # (M, F)
    code: Codes  # (M) numbers of topics
    tie: Codes  # (M) breaks ties, highest first
    fold: Codes  # (M)
    degree: Floats  # (M) probabilities of relevance

    def take(self, rows: Codes) -> Topics:
        """Return some of the rows."""
        return Topics(self.X[rows], self.code[rows], self.tie[rows], self.fold[rows], self.degree[rows])


def svm_candidates(training: TrainingSet, topics: Any, template: RankSVM) -> list[RankSVM]:
    """Return linear rankers like the template with the candidates for c."""
    how = template.pair_weight
    pairs = make_pairs(training.target, topics, unit_weights(training), pair_weight=how, soft=training.soft)
    scale = round(np.log2(max(pairs.weight, 1e-300)))
    return [clone(template).set_params(c=2.0 ** (e - scale)) for e in EXPONENTS]


def choose(
    candidates: Sequence[Candidate],
    sets: Mapping[str, TrainingSet],
    topics: Topics,
    seed: int = 0,
    progress: Progress | None = None,
) -> Choice:
    """Choose a candidate for each held-out fold, and one for all topics; of equals the first.

    Parameters
    ----------
    candidates
        What to choose from; the first is the choice if there are fewer than three folds.
    sets
        The training sets by name, with the same rows.
    topics
        The features, topics, folds and labels of these rows.
    seed
        Seed of the topics that are drawn from a large training set.
    progress
        Called with the number of rankers trained, the number of all, and the candidate.
    """
    folds = int(topics.fold.max()) + 1
    if len(candidates) < 2 or folds < FEWEST or not topics.degree.any():
        none = np.full(len(candidates), np.nan)
        return Choice(candidates[0], (candidates[0],) * folds, tuple(candidates), none, 0)
    some = np.flatnonzero(_drawn(topics, seed))
    topics = topics.take(some)
    parts = {name: subset(training, some) for name, training in sets.items()}
    pairs = list(combinations(range(folds), 2))
    total = np.zeros((len(candidates), folds, folds))  # by held-out fold and ranked fold
    weight = np.zeros((folds, folds))
    for n, candidate in enumerate(candidates):
        for m, (i, j) in enumerate(pairs):
            if progress is not None:
                progress(n * len(pairs) + m, len(candidates) * len(pairs), str(candidate))
            score = ranked_without(candidate, parts[candidate.learn], topics, (i, j))
            for held_out, ranked in ((i, j), (j, i)):
                total[n, held_out, ranked], weight[held_out, ranked] = _worth(score, topics, ranked)
    by_fold = total.sum(axis=2) / weight.sum(axis=1)  # (C, K)
    precision = total.sum(axis=(1, 2)) / weight.sum()
    best = tuple(candidates[n] for n in np.argmax(by_fold.round(9), axis=0).tolist())
    final = candidates[int(np.argmax(precision.round(9)))]
    return Choice(final, best, tuple(candidates), precision, np.unique(topics.code).size)


def ranked_without(candidate: Candidate, training: TrainingSet, topics: Topics, without: tuple[int, ...]) -> Floats:
    """Return the scores of the rows (M) by a candidate that is trained without some folds; 0 if nothing is learned."""
    rows = np.flatnonzero(~np.isin(topics.fold, without))
    part = subset(training, rows)
    ranker = clone(candidate.ranker).set_params(soft=training.soft)
    if isinstance(ranker, RankSVM):
        ranker.set_params(tolerance=max(ROUGH, ranker.tolerance))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the ranker of all rows gives them
        try:
            ranker.fit(topics.X[rows], part.target, topics.code[rows], unit_weights(part))
        except NothingToLearn:
            return np.zeros(topics.code.size)
    scores: Floats = ranker.decision_function(topics.X)
    return scores


def _worth(score: Floats, topics: Topics, fold: int) -> tuple[float, float]:
    """Return the weighted sum of expected average precision over the topics of a fold, and the sum of weights."""
    rows = np.flatnonzero(topics.fold == fold)
    code, count = group_codes(topics.code[rows], rows.size)
    precision, weight = expected_precision(score[rows], topics.degree[rows], code, count, topics.tie[rows])
    return float(precision @ weight), float(weight.sum())


def _drawn(topics: Topics, seed: int) -> Flags:
    """Return which rows (M) the choice is made on: all, or those of topics drawn at random, some of every fold."""
    code, count = group_codes(topics.code, topics.code.size)
    size = np.bincount(code, minlength=count)
    cost = np.maximum(size / MOST_ROWS, size * (size - 1.0) / 2 / MOST_PAIRS)
    if cost.sum() <= 1:
        return np.ones(code.size, dtype=bool)
    order = np.random.default_rng(seed).permutation(count)
    first = topics.fold[np.unique(code, return_index=True)[1]][order]
    turn = np.empty(count, np.int64)  # how many topics of the same fold come before each
    for k in np.unique(first):
        turn[first == k] = np.arange((first == k).sum())
    order = order[np.argsort(turn, kind="stable")]
    within = np.cumsum(cost[order]) <= 1 + ROUNDING
    within[: 2 * np.unique(first).size] = True
    chosen = np.zeros(count, dtype=bool)
    chosen[order[within]] = True
    return chosen[code]


def subset(training: TrainingSet, selected: Any) -> TrainingSet:
    """Return some rows of a training set."""
    weight = None if training.weight is None else training.weight[selected]
    return TrainingSet(training.rows[selected], training.target[selected], weight, training.soft)


def unit_weights(training: TrainingSet) -> Floats | None:
    """Return the weights of a training set (M), scaled to a mean of 1."""
    return None if training.weight is None else training.weight / max(float(training.weight.mean()), 1e-300)


def _plain(value: Any) -> str:
    """Return a setting as short text; a power of two as such."""
    is_power = isinstance(value, float) and np.frexp(value)[0] == 0.5
    return f"2^{np.log2(value):.0f}" if is_power else str(value)
