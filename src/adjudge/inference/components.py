"""The components of models: prevalence x confusion x assignment x item effects.

Every consensus model here alternates two steps over the same two kernels. ``Assignment`` turns params into a tally (how
much of each truth every topic has, and how often each judge gave each label to each truth); ``Prevalence`` and
``Confusion`` turn the tally into params. A ``Model`` is a choice of components, and EM, Gibbs sampling, ``predict``,
``update`` and the engines read the components, never the name of a model:

- ``Prevalence``: how common truths are, p(truth). ``LEARNED``, under a Dirichlet prior, ``EQUAL``, ``POPULATION``;
  one for all items, or with ``per_topic`` one for every topic.
- ``Confusion``: how judges err, p(label | truth): a matrix of their own, a shared one, one coin, ...
- ``Assignment``: ``SOFT`` (every truth by its probability, the E-step), ``HARD`` (the most likely truth), or a pass of
  the model's own.
- ``ItemEffects``: what an item has beyond its truth, such as a difficulty.
- ``Labels``: which scales the model takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, row_maxima
from adjudge.data.scale import Scale, number_of
from adjudge.inference.params import Assign, JudgeColumns, LogPrior, Params, Posterior, Prior
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.difficulty import (
    GRID,
    POINTS,
    SCALE,
    SHARES,
    mode_rows,
    mode_rows_and_spread,
    state_labels,
    state_prior,
    state_rows,
)
from adjudge.kernels.family_effects import by_family, family_posterior
from adjudge.kernels.probability import normalise_matrices, normalise_rows
from adjudge.kernels.truth import FLOOR, count, fix_gold, shares_between, truth_posterior, vote_shares

FIRST_SPREAD = 0.5  # of the difficulty of items, before it is learned
PEAK = 0.2  # the least probability of a second peak of a posterior on an ordered scale
TIED = 1e-9  # probabilities that differ by less than this are tied


def no_log_prior(params: Params) -> float:
    """Return the log density of a flat prior."""
    return 0.0


def no_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return no columns: the model has nothing to report about a judge beyond the accuracy."""
    return {}


# Prevalence: p(truth).

PrevalenceRows: TypeAlias = Callable[[Floats, Floats], Floats]  # counts (T, Z) and the start (T, Z) to rows


@dataclass(frozen=True)
class Prevalence:
    """How common each truth is: one row for all items, or one row per topic.

    ``rows`` computes the rows from how often each truth was counted in each topic. ``learned`` is False if the
    posterior does not depend on them; such a prevalence cannot be per topic.
    """

    rows: PrevalenceRows
    log_prior: LogPrior = no_log_prior
    learned: bool = True
    by_topic: bool = False
    hierarchical: bool = False  # topics are drawn from a population that is learned (sampled models only)

    def per_topic(self) -> Prevalence:
        """Return the same prevalence with one row per topic."""
        return replace(self, by_topic=True)

    def estimate(self, truth: Floats, start: Floats) -> tuple[Floats, Floats]:
        """Return the rows (T, Z), and the row of any other topic (Z): that of all items together."""
        if not self.by_topic:
            return self.rows(truth, start), np.empty(0)
        return self.rows(truth, start), self.rows(truth.sum(axis=0, keepdims=True), start[:1])[0]


def _shares(truth: Floats, start: Floats) -> Floats:
    """Return the share of each truth; a topic without items keeps its start."""
    return normalise_rows(truth, start if start.shape == truth.shape else np.full_like(truth, 1 / truth.shape[1]))


def _equal(truth: Floats, start: Floats) -> Floats:
    """Return the same prevalence for every label."""
    return np.full_like(start, 1 / start.shape[1])


def dirichlet_prevalence(alpha: float) -> Prevalence:
    """Return the prevalence whose rows have a Dirichlet(alpha) prior, by its mode."""

    def rows(truth: Floats, start: Floats) -> Floats:
        return _shares(truth + (alpha - 1), start)

    def log_prior(params: Params) -> float:
        return float((np.log(np.maximum(params.prevalence, FLOOR)) * (alpha - 1)).sum())

    return Prevalence(rows, log_prior)


LEARNED = Prevalence(_shares)  # by maximum likelihood
PER_TOPIC = LEARNED.per_topic()
EQUAL = Prevalence(_equal, learned=False)
COUNTED = Prevalence(_shares, learned=False)  # reported, but not part of the model: that of a vote
POPULATION = Prevalence(_shares, by_topic=True, hierarchical=True)


# Confusion: p(label | truth) of every judge.

Tie: TypeAlias = Callable[[Floats, Floats], Floats]  # counts (J, Z, K) and the start (J, K, K) to matrices


class JudgeParams(NamedTuple):
    """The part of ``Params`` about judges."""

    confusion: Floats  # (J, K, K)
    population: Floats  # (K, K)
    skill: Floats = np.empty((0, 0))  # (J, S)
    typical: Floats = np.empty(0)  # (S)


def matrices(params: Params) -> Floats:
    """Return p(label | truth) of every judge (J, K, K): the matrices of the params."""
    return params.confusion


@dataclass(frozen=True)
class Confusion:
    """How judges err.

    ``estimate`` computes what is learned about judges from a tally, and ``rows`` p(label | state) from params
    (J, Z, K): a state is a truth, or finer with ``ItemEffects``. ``columns`` are those of the table of judges. With
    ``free`` matrices, nothing in the likelihood says which truth has the name of which label.
    """

    estimate: Callable[[Tally, Params], JudgeParams]
    rows: Callable[[Params], Floats] = matrices
    log_prior: LogPrior = no_log_prior
    columns: JudgeColumns = no_columns
    free: bool = False


def confusion_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return one column per cell of the judges' matrices, p(label | truth)."""
    cells = [(z, truth, k, label) for z, truth in enumerate(labels) for k, label in enumerate(labels)]
    return {f"p_{label}_if_{truth}": params.confusion[:, z, k] for z, truth, k, label in cells}


def tied(tie: Tie, columns: JudgeColumns = no_columns, *, free: bool = False) -> Confusion:
    """Return matrices by maximum likelihood, given what the judgments of a judge, or of all judges, have in common."""

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        everybody = tally.label.sum(axis=0)[None]
        return JudgeParams(tie(tally.label, start.confusion), tie(everybody, start.population[None])[0])

    return Confusion(estimate, columns=columns, free=free)


def dirichlet_confusion(prior: Prior) -> Confusion:
    """Return matrices whose rows have a Dirichlet prior, by its mode; an unknown judge is what the prior expects."""

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        pseudo = prior.pseudo_counts(tally.label.shape[2])
        rows = normalise_matrices(tally.label + (pseudo - 1), start.confusion)
        return JudgeParams(rows, pseudo / pseudo.sum(axis=1, keepdims=True))

    def log_prior(params: Params) -> float:
        pseudo = prior.pseudo_counts(params.confusion.shape[2])
        return float((np.log(np.maximum(params.confusion, FLOOR)) * (pseudo - 1)).sum())

    return Confusion(estimate, log_prior=log_prior, columns=confusion_columns)


def own_matrix(counts: Floats, start: Floats) -> Floats:
    """Give each judge the matrix of their own labels."""
    return normalise_matrices(counts, start)


def smoothed_matrix(counts: Floats, start: Floats) -> Floats:
    """Give each judge the matrix of their own labels, every cell counted once more: (count + 1) / (row + K)."""
    return normalise_matrices(counts + 1, start)


def shared_matrix(counts: Floats, start: Floats) -> Floats:
    """Give all judges the matrix of all labels."""
    return np.broadcast_to(normalise_rows(counts.sum(axis=0), start[0]), counts.shape)


def coin(counts: Floats, start: Floats) -> Floats:
    """Give each judge one probability of being right; their wrong labels are equally likely."""
    total, right = counts.sum(axis=(1, 2)), np.trace(counts, axis1=1, axis2=2)
    accuracy = np.divide(right, total, out=np.array(start[:, 0, 0]), where=total > 0)[:, None, None]  # (J, 1, 1)
    return _coin_matrix(accuracy, counts.shape[2])


def smoothed_coin(counts: Floats, start: Floats) -> Floats:
    """Give each judge one probability of being right, (right + 1) / (judgments + 2), never 0 or 1."""
    total, right = counts.sum(axis=(1, 2)), np.trace(counts, axis1=1, axis2=2)
    return _coin_matrix(((right + 1) / (total + 2))[:, None, None], counts.shape[2])


def smoothed_coins(counts: Floats, start: Floats) -> Floats:
    """Give each judge such a probability for every truth."""
    total, right = counts.sum(axis=2), np.diagonal(counts, axis1=1, axis2=2)
    return _coin_matrix(((right + 1) / (total + 2))[:, :, None], counts.shape[2])


def _coin_matrix(accuracy: Floats, K: int) -> Floats:
    """Return matrices with these probabilities of being right, and equal ones of each wrong label."""
    cells: Floats = np.where(np.eye(K, dtype=bool), accuracy if K > 1 else 1.0, (1 - accuracy) / max(K - 1, 1))
    return cells


def coin_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return the probability that a judge is right."""
    return {"p_right": params.confusion[:, 0, 0]}


OWN = tied(own_matrix, confusion_columns, free=True)
SHARED = tied(shared_matrix, free=True)
ONE_COIN = tied(coin, coin_column)


# Assignment: from params to a tally.


@dataclass(frozen=True)
class Assignment:
    """How judgments are assigned to truths.

    Without functions of its own, p(truth | labels) is Bayes' rule under prevalence and confusion. A vote, or an
    algorithm with a pass of its own, brings ``assign`` and ``posterior``.
    """

    hard: bool = False  # an item counts for its most likely truth alone; there is no evidence
    memory: bool = False  # ``predict`` is Bayes' rule with the prevalence and the matrices that were counted
    assign: Assign | None = None
    posterior: Posterior | None = None


SOFT = Assignment()
HARD = Assignment(hard=True)


def majority_vote(block: Block, params: Params) -> Tally:
    """Assign every judgment to the label that its item was given most often; tied labels share it."""
    return count(block, winners(vote_shares(block)), len(params.prevalence))


def by_vote_shares(block: Block, params: Params) -> Tally:
    """Assign every judgment to every label by its share of the item's votes: the usual start of EM."""
    return count(block, vote_shares(block), len(params.prevalence))


def most_likely(posterior: Floats) -> Flags:
    """Return which truths of each item are the most likely, or tied with it (I, Z)."""
    best: Flags = posterior >= (row_maxima(posterior) - TIED)[:, None]
    return best


def winners(posterior: Floats) -> Floats:
    """Return each item's most likely truth as a weight of one, shared if several tie (I, Z)."""
    best = most_likely(posterior)
    weights: Floats = best / best.sum(axis=1, keepdims=True)
    return weights


# Item effects: what an item has beyond its truth.

Predictive: TypeAlias = Callable[[Block, Params, Block], Floats]  # chances of the second block, given the first


def prevalence_rows(params: Params) -> Floats:
    """Return the prior of the states (T, Z): the prevalence of the params."""
    return params.prevalence


@dataclass(frozen=True)
class ItemEffects:
    """What an item has beyond its truth: a difficulty, a degree, a kind.

    With ``labels``, truths are finer than labels: a state is a label together with, say, a difficulty. ``prior`` gives
    p(state) and ``summary`` the columns of an item from its posterior over states.
    """

    columns: tuple[str, ...] = ()  # E names of what the posterior holds beyond p(truth | labels)
    labels: Callable[[int], Codes] | None = None  # the label of every state (Z), for K labels
    prior: Callable[[Params], Floats] = prevalence_rows  # (T, Z)
    summary: Callable[[Floats, Block], Floats] | None = None  # (I, Z) to (I, K + E)
    posterior: Posterior | None = None  # a pass of its own, where states are not enough
    predictive: Predictive | None = None  # the model's own p(label | item, judge) of judgments that were held out
    rows_per_state: bool = False  # judges have a row of their own for every state
    degrees: bool = False  # the posterior holds degrees: judges are compared with the more likely label


NO_EFFECTS = ItemEffects()


# Difficulty: items that are harder than others for all judges (``kernels.difficulty``), or for some families of judges
# (``kernels.family_effects``). The skill of a judge is the logs of their matrix, and the spread of the effect, with
# families followed by the probability that they share the effect of an item; these are the same for all judges.


def difficulty_skill(confusion: Floats, spread: Floats) -> Floats:
    """Return matrices (J, K, K) and the spread (1 or 2) as skills (J, K * K + 1 or 2)."""
    logs = np.log(np.maximum(confusion, FLOOR)).reshape(confusion.shape[0], -1)
    return np.column_stack([logs, np.tile(spread, (len(logs), 1))])


def difficulty_of(params: Params) -> tuple[Floats, float]:
    """Return the matrices (J, K, K) and the spread that skills stand for; without skills, a start."""
    J, K, _ = params.confusion.shape
    if not params.skill.size:
        return np.ascontiguousarray(params.confusion), FIRST_SPREAD
    logs = params.skill[:, : K * K].reshape(J, K, K)
    rows = np.exp(logs - logs.max(axis=2, keepdims=True))
    return rows / rows.sum(axis=2, keepdims=True), abs(float(params.skill[:, K * K].mean()))


def difficulty_rows(params: Params) -> Floats:
    """Return p(label | state) of every judge (J, K * G, K)."""
    return state_rows(*difficulty_of(params))


def difficult_prevalence(base: Prevalence) -> Prevalence:
    """Return a prevalence of labels whose states are counted."""

    def rows(truth: Floats, start: Floats) -> Floats:
        return base.rows(truth.reshape(*start.shape, -1).sum(axis=2), start)

    return replace(base, rows=rows)


def difficult_confusion(prior: Prior) -> Confusion:
    """Return matrices with a Dirichlet prior, by its mode, on items whose difficulty differs by a learned spread."""
    plain = dirichlet_confusion(prior)

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        J, Z, K = tally.label.shape
        before, spread = difficulty_of(start)
        # the first assignment has no states
        state_counts = tally.label[:, :, None] * SHARES[:, None] if Z == K else tally.label
        counts = np.ascontiguousarray(state_counts.reshape(J, K, -1, K).transpose(0, 3, 1, 2))  # (J, label, truth, G)
        pseudo = prior.pseudo_counts(K)
        if Z == K:
            rows = mode_rows(counts, pseudo, before, spread)
        else:
            rows, spread = mode_rows_and_spread(counts, pseudo, before, spread)
        typical = pseudo / pseudo.sum(axis=1, keepdims=True)
        effect = np.array([spread])
        return JudgeParams(rows, typical, difficulty_skill(rows, effect), difficulty_skill(typical[None], effect)[0])

    def log_prior(params: Params) -> float:
        confusion, spread = difficulty_of(params)
        return plain.log_prior(params._replace(confusion=confusion)) - (spread / SCALE) ** 2 / 2

    return Confusion(estimate, difficulty_rows, log_prior, confusion_columns)


def labels_and_difficulty(posterior: Floats, block: Block) -> Floats:
    """Return p(label | judgments), and how hard an item is expected to be, in standard deviations (I, K + 1)."""
    joint = posterior.reshape(-1, block.labels, GRID)
    return np.column_stack([fix_gold(joint.sum(axis=2), block.gold), -joint.sum(axis=1) @ POINTS])


def _state_prior(params: Params) -> Floats:
    """Return p(state) (T, K * G) of params."""
    return state_prior(params.prevalence)


def _difficulty_posterior(block: Block, params: Params) -> tuple[Floats, float]:
    """Return p(label | judgments) and the difficulty of items (I, K + 1), and the log evidence."""
    confusion, spread = difficulty_of(params)
    if params.skill.shape[1] <= confusion[0].size + 1:  # without families
        posterior, evidence = truth_posterior(
            block, _state_prior(params), state_rows(confusion, spread), state_labels(block.labels)
        )
        return labels_and_difficulty(posterior, block), evidence
    if not block.family.size:
        block = block._replace(family=np.arange(block.judges, dtype=np.int32))
    shared = float(params.skill[:, -1].mean())
    posterior, item = family_posterior(by_family(block), params.prevalence, confusion, spread, shared)
    return np.column_stack([posterior, -item[:, 0]]), float(item[:, 1].sum())


DIFFICULTY = ItemEffects(
    ("difficulty",), state_labels, prior=_state_prior, summary=labels_and_difficulty, posterior=_difficulty_posterior
)


# Labels: which scales a model takes.


@dataclass(frozen=True)
class Labels:
    """Which labels a model takes, and the columns that they add to the table of items."""

    needs: str
    ordered: bool = False
    binary: bool = False
    expected: bool = False  # whether items have an expected value if labels are ordered

    def accept(self, scale: Scale) -> bool:
        """Return whether a model can take labels on this scale."""
        return not (self.ordered and not scale.ordinal) and not (self.binary and len(scale) > 2)

    def columns(self, posterior: Floats, scale: Scale) -> dict[str, Any]:
        """Return the expected value on an ordered scale, and the two labels around it: 0.7 good + 0.3 very good.

        The text of an item whose posterior has two peaks that are apart names these instead: the truth is one of the
        two rather than what lies between them.
        """
        if not (self.ordered or (self.expected and scale.ordinal and len(scale) > 1)):
            return {}
        value = np.array(scale.values)
        expected = posterior @ value
        texts = [_mixture(scale, row) for row in shares_between(expected, value)]
        for i in np.flatnonzero(is_divided(posterior)).tolist():
            texts[i] = _division(scale, posterior[i])
        return {"expected": expected, "between": texts}


ANY = Labels("any")
ANY_ORDER = Labels("any", expected=True)
ORDERED = Labels("in an order", ordered=True)
TWO = Labels("two", binary=True)


def peaks(posterior: Floats) -> Flags:
    """Return the most likely label of each item, and the likely labels that unlikely ones part from it (I, K).

    Such a label has a probability of at least PEAK, and some label between the two has less than half of that.
    """
    rows, mode = np.arange(posterior.shape[0]), posterior.argmax(axis=1)
    peak: Flags = np.eye(posterior.shape[1], dtype=bool)[mode]
    for step in (1, -1):
        valley, k = np.full(rows.size, np.inf), mode + step  # the least probability on the way, none for a neighbour
        while ((k >= 0) & (k < posterior.shape[1])).any():
            inside = (k >= 0) & (k < posterior.shape[1])
            chance = np.where(inside, posterior[rows, np.where(inside, k, 0)], 0.0)
            peak[rows[inside], k[inside]] |= ((chance >= PEAK) & (valley < chance / 2))[inside]
            valley, k = np.minimum(valley, chance), k + step
    return peak


def is_divided(posterior: Floats) -> Flags:
    """Return which items have a posterior (I, K) of two or more peaks: their expected value lies where no truth is.

    >>> is_divided(np.array([[0.5, 0.0, 0.5], [0.3, 0.4, 0.3], [0.9, 0.0, 0.1]])).tolist()
    [True, False, False]
    """
    divided: Flags = peaks(posterior).sum(axis=1) > 1
    return divided


def _mixture(scale: Scale, share: Floats) -> str:
    """Return the labels with a share of at least .05, to one digit, or the one that has all of it."""
    parts = [(round(float(share[k]), 1), scale.names[k]) for k in np.flatnonzero(share)]
    if max(parts)[0] == 1.0:
        return max(parts)[1]
    (low, below), (_, above) = parts
    return f"{_part(low, below)} + {_part(1 - low, above)}"


def _division(scale: Scale, posterior: Floats) -> str:
    """Return the peaks of a divided posterior (K) with their probabilities."""
    parts = [_part(float(posterior[k]), scale.names[k]) for k in np.flatnonzero(peaks(posterior[None])[0])]
    return f"divided: {', '.join(parts)}"


def _part(share: float, name: str) -> str:
    """Return a share of a label: 0.7 good, or 0.7 of 3, since 0.7 3 would read as two numbers."""
    return f"{share:.1f} {name}" if number_of(name) is None else f"{share:.1f} of {name}"
