"""Votes: every judgment counts the same, or as much as its judge has been right; the label with most votes wins.

- ``majority``: each judgment counts once (the baseline of Liu & Wang 2012; paper 003). ``predict`` is its mode with
  memory: Bayes' rule with the prevalence and the matrices that were counted against the winners, without smoothing.
- ``weighted-vote``: a judge counts by their accuracy on gold items, (right + 1) / (judged + 2); all count the same
  without gold.
- ``wawa`` ("worker agreement with aggregate"): a judge counts by their share of agreement with the majority.
- ``zbs`` ("zero-based skill"): the same, repeated with the weighted vote as the majority until nothing changes.

The last three are those of crowd-kit (Ustalov, Pavlichenko & Tseitlin 2024). Prevalence and confusion follow by
counting against the winners, as in paper 003.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "majority")
>>> fit.labels["label"].head(3).to_list()
['1', '3', '2']
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import (
    COUNTED,
    Assignment,
    coin,
    majority_vote,
    own_matrix,
    smoothed_coin,
    tied,
    winners,
)
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, vote_shares

CROWD_KIT = "Ustalov, Pavlichenko & Tseitlin 2024 (crowd-kit)"


def shares(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of an item's votes; a vote has no likelihood, so its evidence is 0."""
    return vote_shares(block), 0.0


def weighted_shares(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of an item's votes, every vote weighed by its judge's accuracy."""
    return vote_shares(block, _weight(params)), 0.0


def weighted_majority(block: Block, params: Params) -> Tally:
    """Assign every judgment to the label with the largest weighted share; tied labels share it."""
    return count(block, winners(vote_shares(block, _weight(params))))


def gold_tally(block: Block, params: Params) -> Tally:
    """Assign the judgments of gold items to their truths, and no others."""
    return count(block, (block.gold[:, None] == np.arange(block.labels)).astype(float))


def weight_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return how much each judge's votes count."""
    return {"vote_weight": _weight(params)}


def _weight(params: Params) -> Floats:
    """Return each judge's probability of being right (J)."""
    return np.ascontiguousarray(params.confusion[:, 0, 0])


MODELS = (
    Model(
        "majority",
        "the label with most votes; probabilities are vote shares",
        "Liu & Wang 2012, section 3",
        prevalence=COUNTED,
        confusion=tied(own_matrix),
        assignment=Assignment(hard=True, memory=True, assign=majority_vote, posterior=shares),
        starts={"vote": majority_vote},
        rounds=0,
        auto_rank=10,
    ),
    Model(
        "weighted-vote",
        "votes weighed by a judge's accuracy on gold items",
        CROWD_KIT,
        prevalence=COUNTED,
        confusion=tied(smoothed_coin, weight_column),
        assignment=Assignment(hard=True, assign=gold_tally, posterior=weighted_shares),
        starts={"gold": gold_tally},
        rounds=0,
    ),
    Model(
        "wawa",
        "votes weighed by a judge's agreement with the majority",
        CROWD_KIT,
        prevalence=COUNTED,
        confusion=tied(coin, weight_column),
        assignment=Assignment(hard=True, assign=majority_vote, posterior=weighted_shares),
        starts={"vote": majority_vote},
        rounds=0,
        auto_rank=20,
    ),
    Model(
        "zbs",
        "the same, with the weighted vote as the majority, until nothing changes",
        CROWD_KIT,
        prevalence=COUNTED,
        confusion=tied(coin, weight_column),
        assignment=Assignment(hard=True, assign=weighted_majority, posterior=weighted_shares),
        starts={"vote": majority_vote},
        auto_rank=30,
    ),
)
