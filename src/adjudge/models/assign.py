"""From what is believed to what is counted: how judgments are assigned to truths."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, expect, truth_posterior, vote_shares

if TYPE_CHECKING:
    from adjudge.models.base import Params

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
