"""A fit's judgments, ready to ask what the other judges say of each.

Votes can be left out where an item's truth follows from judges' matrices by Bayes' rule. A fit whose model has another
rule (a vote, a degree, the hardness of items) is looked at through ``hybrid-confusion``, fitted to the same judgments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError, quoted
from adjudge.judgments.gold import places
from adjudge.judgments.table import Judgments
from adjudge.kernels.block import Block
from adjudge.kernels.others import Votes, votes, without_her
from adjudge.models.base import Params, likely_truths
from adjudge.models.fit import fit as infer
from adjudge.models.fitted import as_fitted
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

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
    if judged is None and model_named(fit.model).posterior is not likely_truths:
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
