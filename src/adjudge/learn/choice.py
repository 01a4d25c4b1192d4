"""The choice of rankers: how they learn, their c, and whether linear functions or trees are averaged.

Topics are in folds. For every two folds, each candidate is trained without both, and ranks both. For a held-out fold,
the choice is made by the rankings of the other folds, so that the held-out fold has no part in it. The rankers of all
topics are chosen by all of these rankings together.

With few topics, the best candidate is best by chance, and the candidate that is best on some folds is often worse than
others on the next one. Therefore candidates that are about as good are averaged (``adjudge.learn.average``):

1. Of the linear rankers, and of the trees, all are averaged whose rankings are at most one standard error worse than
   the best one's.
2. Both averages are averaged, unless one of them alone is better by more than one standard error.

Standard errors are those of the mean difference over topics.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import AdjudgeWarning
from adjudge.learn.average import spread_within
from adjudge.learn.lambdamart import LambdaMART
from adjudge.learn.pairs import NothingToLearn, group_codes, make_pairs
from adjudge.learn.ranksvm import RankSVM
from adjudge.learn.scikit import clone
from adjudge.learn.topic_scores import expected_precision
from adjudge.learn.training_set import TrainingSet

EXPONENTS = tuple(range(-9, 10, 3))  # e of the candidates for c
TREES: Mapping[str, Any] = {"trees": 100, "leaves": 7, "random": True}  # simpler than the default, for few topics
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
        settings = self.ranker.get_params()
        parts = [f"{name} {_plain(settings[name])}" for name in ("c", "trees", "leaves", "least") if name in settings]
        if settings.get("random"):
            parts.append("random")
        return f"{type(self.ranker).__name__} ({', '.join(parts)}), learning from {self.learn}"


class Blend(NamedTuple):
    """Candidates whose scores are averaged."""

    members: tuple[Candidate, ...]
    weights: tuple[float, ...]  # their sum is 1

    def __str__(self) -> str:
        if len(self.members) == 1:
            return str(self.members[0])
        parts = []
        for family in _families(self.members):
            rankers = [self.members[n].ranker for n in family]
            costs = sorted({ranker.c for ranker in rankers if getattr(ranker, "c", None) is not None})
            span = f" (c {_plain(costs[0])} to {_plain(costs[-1])})" if len(costs) > 1 else ""
            parts.append(f"{len(family)} {type(rankers[0]).__name__}{span}")
        ways = ", ".join(dict.fromkeys(member.learn for member in self.members))
        return f"the average of {' and '.join(parts)}, learning from {ways}"


class Choice(NamedTuple):
    """The chosen candidates."""

    final: Blend  # for all topics
    by_fold: tuple[Blend, ...]  # for each held-out fold
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
    """Choose the candidates that are averaged for each held-out fold, and for all topics.

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
        first, none = Blend((candidates[0],), (1.0,)), np.full(len(candidates), np.nan)
        return Choice(first, (first,) * folds, tuple(candidates), none, 0)
    some = np.flatnonzero(_drawn(topics, seed))
    topics = topics.take(some)
    parts = {name: subset(training, some) for name, training in sets.items()}
    rankings = rank_candidates(candidates, parts, topics, progress)
    by_fold = tuple(blend(candidates, rankings, [k]) for k in range(folds))
    final = blend(candidates, rankings, [*range(folds)])
    precision = np.array([_mean_and_error(*rankings.worth(each, range(folds)))[0] for each in rankings.score])
    return Choice(final, by_fold, tuple(candidates), precision, np.unique(topics.code).size)


class Rankings(NamedTuple):
    """What candidates (C) make of topics that they have not learned from, by held-out fold (K)."""

    topics: Topics
    score: Floats  # (C, K, M) in units of the spread within topics; 0 for the rows of the held-out fold itself

    def worth(self, score: Floats, held_out: Iterable[int]) -> tuple[Floats, Floats]:
        """Return the expected average precision of scores (K, M) on every topic that is ranked (G), and weights (G).

        Topics that are ranked several times, because several folds are held out in turn, have the mean.
        """
        code, count = group_codes(self.topics.code, self.topics.code.size)
        total, times, weight = np.zeros(count), np.zeros(count), np.zeros(count)
        for k in held_out:
            rows = np.flatnonzero(self.topics.fold != k)
            values, weights = expected_precision(
                score[k, rows], self.topics.degree[rows], code[rows], count, self.topics.tie[rows]
            )
            total, times, weight = total + values, times + (weights > 0), np.maximum(weight, weights)
        return total / np.maximum(times, 1), weight


def rank_candidates(
    candidates: Sequence[Candidate], sets: Mapping[str, TrainingSet], topics: Topics, progress: Progress | None = None
) -> Rankings:
    """Train every candidate without every two folds, and return how it ranks them."""
    folds, number = topics.fold, int(topics.fold.max()) + 1
    pairs = list(combinations(range(number), 2))
    score = np.zeros((len(candidates), number, folds.size))
    for n, candidate in enumerate(candidates):
        for m, (i, j) in enumerate(pairs):
            if progress is not None:
                progress(n * len(pairs) + m, len(candidates) * len(pairs), str(candidate))
            every, learned = ranked_without(candidate, sets[candidate.learn], topics, (i, j)), ~np.isin(folds, (i, j))
            scaled = every / spread_within(every[learned], topics.code[learned])
            for held_out, ranked in ((i, j), (j, i)):
                score[n, held_out, folds == ranked] = scaled[folds == ranked]
    return Rankings(topics, score)


def blend(candidates: Sequence[Candidate], rankings: Rankings, held_out: Sequence[int]) -> Blend:
    """Return the average of the candidates that are about as good as the best, for some held-out folds."""
    values = [rankings.worth(each, held_out) for each in rankings.score]
    worth, weight = np.array([value for value, _ in values]), values[0][1]  # (C, G), (G)
    if not all(isinstance(candidate.ranker, RankSVM | LambdaMART) for candidate in candidates):
        return Blend((candidates[int(np.argmax((worth @ weight).round(9)))],), (1.0,))  # others are not averaged
    families = [[n for n in family if rankings.score[n].any()] for family in _families(candidates)]
    groups = [_nearly_best(worth, weight, family) for family in families if family]
    if not groups:  # no candidate can tell the documents of a topic apart
        return Blend((candidates[0],), (1.0,))
    averages = [rankings.score[group].mean(axis=0) for group in groups]  # each (K, M)
    together = rankings.worth(np.mean(averages, axis=0), held_out)[0]
    gains = [_mean_and_error(rankings.worth(each, held_out)[0] - together, weight) for each in averages]
    alone = [mean if mean > error + ROUNDING else 0.0 for mean, error in gains]
    used = [groups[int(np.argmax(alone))]] if max(alone) > 0 else groups
    members = [(candidates[n], 1 / len(used) / len(group)) for group in used for n in group]
    return Blend(tuple(member for member, _ in members), tuple(share for _, share in members))


def _families(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Return the numbers of the candidates of each kind of ranker."""
    kinds = [type(candidate.ranker).__name__ for candidate in candidates]
    return [[n for n, kind in enumerate(kinds) if kind == name] for name in dict.fromkeys(kinds)]


def _nearly_best(worth: Floats, weight: Floats, family: list[int]) -> list[int]:
    """Return those of a family that are at most one standard error worse than its best."""
    best = family[int(np.argmax((worth[family] @ weight).round(9)))]
    behind = [_mean_and_error(worth[best] - worth[n], weight) for n in family]
    return [n for n, (mean, error) in zip(family, behind, strict=True) if mean <= error + ROUNDING]


def _mean_and_error(difference: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean of differences over topics (G), and its standard error."""
    share = weight / max(float(weight.sum()), 1e-300)  # without a weight, nothing differs
    mean = float(share @ difference)
    return mean, float(np.linalg.norm(share * (difference - mean)))


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
