"""A fit's judgments, ready to ask what the other judges say of each.

Votes can be left out where an item's truth follows from judges' matrices by Bayes' rule. A fit whose model has another
rule (a vote, a degree, the hardness of items) is looked at through ``hybrid-confusion``, fitted to the same judgments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.errors import UsageError, quoted
from adjudge.inference.fit import fit as infer
from adjudge.inference.fitted import as_fitted
from adjudge.inference.model import likely_truths
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

# What others say of an item: its truth with one judge's votes, or two judges', left out.
#
# The log of p(truth, labels) of an item is a sum over its judgments, so a judge's votes are left out by taking them
# away again. Everything is kept in logs: a product that was divided may lose all its digits.

IMPOSSIBLE = -1e9  # the log of what gold rules out; added to, it stays far below all that is possible


class Votes(NamedTuple):
    """What is needed to leave votes out."""

    whole: Floats  # (I, K) log p(truth, labels) of an item
    own: Floats  # (N, K) the part of it that is the judge's own: all that she said of the item


def votes(block: Block, prevalence: Floats, confusion: Floats) -> Votes:
    """Return the logs of items and of each judge's part in them, under (T, K) and (J, K, K)."""
    whole, own = np.empty((block.topic.size, block.labels)), np.empty((block.label.size, block.labels))
    log_prior = np.log(np.maximum(prevalence, FLOOR))
    log_chance = np.log(np.maximum(confusion, FLOOR)).transpose(0, 2, 1).reshape(-1, block.labels)  # (J * K, K)
    _add_up(block.start, block.cell, block.topic, block.gold, block.weight, log_prior, log_chance, whole, own)
    return Votes(whole, own)


def without_her(block: Block, seen: Votes) -> Floats:
    """Return p(truth | what the others said, gold) for each judgment (N, K)."""
    size = np.diff(block.start)
    return softmax(np.repeat(seen.whole, size, axis=0) - seen.own)


def softmax(logs: Floats) -> Floats:
    """Return rows of logs as probabilities."""
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


@compiled
def _add_up(
    start: Codes,
    cell: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    log_prior: Floats,
    log_chance: Floats,
    whole: Floats,
    own: Floats,
) -> None:
    """Fill in the logs of items and of judges' parts in them: a judge may have said several things of one item."""
    K = whole.shape[1]
    said = np.zeros((log_chance.shape[0] // K, K))  # (J, K) by each judge of this item
    for i in range(topic.size):
        t = topic[i] if log_prior.shape[0] > 1 else 0
        for k in range(K):
            whole[i, k] = log_prior[t, k] + (IMPOSSIBLE if gold[i] >= 0 and gold[i] != k else 0.0)
        for n in range(start[i], start[i + 1]):
            times = weight[n] if weight.size else 1.0
            for k in range(K):
                whole[i, k] += times * log_chance[cell[n], k]
                said[cell[n] // K, k] += times * log_chance[cell[n], k]
        for n in range(start[i], start[i + 1]):
            for k in range(K):
                own[n, k] = said[cell[n] // K, k]
        for n in range(start[i], start[i + 1]):
            for k in range(K):
                said[cell[n] // K, k] = 0.0


INSTEAD = "hybrid-confusion"  # of models without Bayes' rule
STEADY = 2.0  # judgments of an average judge that are added to each row of a judge's matrix, so that no chance is 0


class Seen(NamedTuple):
    """Judgments in the codes of a fit, and what all judges and each of them alone say of an item's truth."""

    block: Block
    judge: Codes  # (N)
    confusion: Floats  # (J, K, K) of the fit, drawn a little to that of an average judge
    prior: Floats  # (J, K, K) what was added to the counts for that
    votes: Votes

    @property
    def usual(self) -> Floats:
        """The matrix of an average judge (K, K)."""
        matrix: Floats = self.prior[0] / self.prior[0].sum(axis=1, keepdims=True)
        return matrix

    def others(self) -> Floats:
        """Return p(truth | what the other judges said, gold) for each judgment (N, K)."""
        return without_her(self.block, self.votes)


class Right(NamedTuple):
    """How likely each judgment is right as the others tell, and how likely it would be by a matrix."""

    told: Floats  # (N) q_n(y_n), the chance of the label that was given
    mean: Floats  # (N) of q_n(y), where y is said with the chances of the matrix
    variance: Floats  # (N)
    chance: Floats  # (N, K) that each label is said


def right_by(others: Floats, label: Codes, matrix: Floats) -> Right:
    """Return how likely labels (N) are right where the others say (N, K), beside what matrices (N, K, K) expect."""
    told = np.take_along_axis(others, label[:, None].astype(np.int64), axis=1)[:, 0]
    chance = np.einsum("nz,nzk->nk", others, matrix)
    mean = (chance * others).sum(axis=1)
    return Right(told, mean, np.maximum((chance * others**2).sum(axis=1) - mean**2, 0.0), chance)


def seen_by(fit: Fit, judgments: Judgments, judged: Floats | None = None) -> Seen:
    """Return the judgments as a fit has seen them; ``judged`` (J) is on how many other judgments each matrix rests."""
    if len(fit.scale) < 2:
        raise UsageError(f"judges cannot be told from each other: all they can say is {quoted(fit.scale.names)}")
    block = as_fitted(fit, judgments)
    if judged is None and fit.definition.posterior is not likely_truths:
        fit = _by_matrices(fit, judgments)
    prevalence = by_label(fit.params)
    common = prevalence.mean(axis=0)
    number = fit.judged.astype(float) if judged is None else judged
    weight = number[:, None, None] * common[None, :, None]  # (J, K, 1) judgments that each row rests on
    usual = np.maximum(fit.params.population, 1e-6)
    prior = STEADY * usual / usual.sum(axis=1, keepdims=True)
    confusion = (weight * fit.params.confusion + prior) / (weight + STEADY)
    judge = (block.cell // block.labels).astype(np.int64)
    each = np.broadcast_to(prior, confusion.shape).copy()
    return Seen(block, judge, confusion, each, votes(block, prevalence, confusion))


def _by_matrices(fit: Fit, judgments: Judgments) -> Fit:
    """Return a fit of the same judgments whose judges have matrices, in the same codes and with the same gold."""
    gold = fit.gold[places(judgments.items, fit.items)] if fit.gold is not None else np.full(len(judgments.items), -1)
    known = {judgments.items[i]: fit.scale.labels[int(gold[i])] for i in np.flatnonzero(gold >= 0).tolist()}
    instead = infer(judgments, INSTEAD, inference="map", gold=known or None)
    place = places(fit.judge_names, instead.judge_names)
    params = instead.params._replace(confusion=instead.params.confusion[place])
    return replace(fit, params=params)


def by_label(params: Params) -> Floats:
    """Return the prevalence of labels (T, K), where labels come in several kinds that of all kinds together."""
    T, K = params.prevalence.shape[0], params.population.shape[1]
    return np.asarray(params.prevalence.reshape(T, K, -1).sum(axis=2))
