"""From what is believed to what is counted: how judgments are assigned to truths."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.inference.params import Estimate, Params
from adjudge.inference.prior import Prior
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.probability import normalise_matrices, normalise_rows
from adjudge.kernels.truth import FLOOR, count, expect, truth_posterior, vote_shares

TIED = 1e-9  # probabilities closer than this are taken for equal


def soft(block: Block, params: Params) -> Tally:
    """Assign every judgment to every truth by its posterior: the E-step of EM."""
    return expect(block, params.prevalence, params.confusion)


def hard(block: Block, params: Params) -> Tally:
    """Assign every judgment to its item's most likely truth; ties share."""
    return count(block, winners(truth_posterior(block, params.prevalence, params.confusion)[0]))


def voted(block: Block, params: Params) -> Tally:
    """Assign every judgment to the label its item was given most often; ties share."""
    return count(block, winners(vote_shares(block)))


def by_shares(block: Block, params: Params) -> Tally:
    """Assign every judgment to every label by its share of the item's votes: the classic start."""
    return count(block, vote_shares(block))


def most_likely(posterior: Floats) -> Flags:
    """Return which truths of each item are the most likely, or as good as (I, Z)."""
    most = reduce(np.maximum, posterior.T)  # column by column: rows of a few numbers are slow to reduce
    best: Flags = posterior >= (most - TIED)[:, None]
    return best


def winners(posterior: Floats) -> Floats:
    """Return each item's most likely truth as a weight of one, shared where several tie (I, Z)."""
    best = most_likely(posterior)
    weights: Floats = best / best.sum(axis=1, keepdims=True)
    return weights


# From what was counted to what is believed: the M-steps, by what judges share.

Tie: TypeAlias = Callable[[Floats, Floats], Floats]


def mode(tie: Tie) -> Estimate:
    """Return the M-step of maximum likelihood, given what judges share."""

    def estimate(tally: Tally, start: Params) -> Params:
        return Params(
            normalise_rows(tally.truth, start.prevalence),
            tie(tally.label, start.confusion),
            tie(tally.label.sum(axis=0)[None], start.population[None])[0],
        )

    return estimate


def trusted(prior: Prior) -> Estimate:
    """Return the M-step of paper 003 under a prior: rows ~ Dirichlet(pseudo-counts), by their mode.

    A judge never seen is what the prior expects of one.
    """

    def estimate(tally: Tally, start: Params) -> Params:
        pseudo = prior.pseudo_counts(tally.label.shape[2])
        rows = normalise_matrices(tally.label + (pseudo - 1), start.confusion)
        truths = normalise_rows(tally.truth + (prior.prevalence - 1), start.prevalence)
        return Params(truths, rows, pseudo / pseudo.sum(axis=1, keepdims=True))

    return estimate


def trusted_log_prior(prior: Prior) -> Callable[[Params], float]:
    """Return the log density, up to a constant, of rows and prevalence under a prior."""

    def log_prior(params: Params) -> float:
        rows = np.log(np.maximum(params.confusion, FLOOR)) * (prior.pseudo_counts(params.confusion.shape[2]) - 1)
        topics = np.log(np.maximum(params.prevalence, FLOOR)) * (prior.prevalence - 1)
        return float(rows.sum() + topics.sum())

    return log_prior


def flat(tie: Tie) -> Estimate:
    """Return an M-step that takes all truths to be as common as each other, and learns judges only."""
    learned = mode(tie)

    def estimate(tally: Tally, start: Params) -> Params:
        equal = np.full_like(tally.truth, 1 / tally.truth.shape[1])
        return learned(tally, start)._replace(prevalence=equal)

    return estimate


def own(counts: Floats, start: Floats) -> Floats:
    """Give each judge the matrix of her own labels."""
    return normalise_matrices(counts, start)


def laplace(counts: Floats, start: Floats) -> Floats:
    """Give each judge the matrix of her own labels, every cell counted once more: (count + 1) / (row + K)."""
    return normalise_matrices(counts + 1, start)


def shared(counts: Floats, start: Floats) -> Floats:
    """Give all judges the matrix of all labels."""
    return np.broadcast_to(normalise_rows(counts.sum(axis=0), start[0]), counts.shape)


def coin(counts: Floats, start: Floats) -> Floats:
    """Give each judge one probability of being right; her wrong labels are equally likely."""
    K = counts.shape[2]
    total, right = counts.sum(axis=(1, 2)), np.trace(counts, axis1=1, axis2=2)
    accuracy = np.divide(right, total, out=np.array(start[:, 0, 0]), where=total > 0)[:, None, None]  # (J, 1, 1)
    return _coins(accuracy, K)


def smoothed_coin(counts: Floats, start: Floats) -> Floats:
    """Give each judge one probability of being right, (right + 1) / (judgments + 2), never 0 or 1."""
    total, right = counts.sum(axis=(1, 2)), np.trace(counts, axis1=1, axis2=2)
    return _coins(((right + 1) / (total + 2))[:, None, None], counts.shape[2])


def smoothed_coins(counts: Floats, start: Floats) -> Floats:
    """Give each judge a probability of being right for every truth, smoothed in the same way."""
    total, right = counts.sum(axis=2), np.diagonal(counts, axis1=1, axis2=2)
    return _coins(((right + 1) / (total + 2))[:, :, None], counts.shape[2])


def _coins(accuracy: Floats, K: int) -> Floats:
    """Return matrices with these chances of being right, and equal ones of each wrong label."""
    matrices: Floats = np.where(np.eye(K, dtype=bool), accuracy if K > 1 else 1.0, (1 - accuracy) / max(K - 1, 1))
    return matrices
