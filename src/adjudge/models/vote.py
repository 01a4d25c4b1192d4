"""Votes: every judgment counts the same, or as much as its judge has been right; the label with most votes wins.

- ``majority``: each judgment counts once.
- ``weighted-vote``: a judge counts by her accuracy on gold items, (right + 1) / (judged + 2); all alike without gold.
- ``wawa`` ("worker agreement with aggregate"): a judge counts by her share of agreement with the majority.
- ``zbs`` ("zero-based skill"): the same, repeated with the weighted vote in the majority's place until nothing changes.

Prevalence and confusion follow by counting against the winners, as paper 003 does for its MajorityVote.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.components import coin, mode, own, smoothed_coin, voted, winners
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, vote_shares


def shares(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of an item's votes; a vote has no likelihood, so its evidence says nothing."""
    return vote_shares(block), 0.0


def weighed_shares(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of an item's votes, a judge's votes counted by her chance of being right."""
    return vote_shares(block, _weight(params)), 0.0


def weighed(block: Block, params: Params) -> Tally:
    """Assign every judgment to the label with the largest weighted share; ties share."""
    return count(block, winners(vote_shares(block, _weight(params))))


def told(block: Block, params: Params) -> Tally:
    """Assign the judgments of gold items to their truths, and no others."""
    return count(block, (block.gold[:, None] == np.arange(block.labels)).astype(float))


def weight_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return what each judge's votes count."""
    return {"vote_weight": _weight(params)}


def _weight(params: Params) -> Floats:
    """Return each judge's chance of being right (J)."""
    return np.ascontiguousarray(params.confusion[:, 0, 0])


CROWD_KIT = "Ustalov, Pavlichenko & Tseitlin 2024 (crowd-kit)"

MODELS = (
    Model(
        "majority",
        "the label with most votes; probabilities are vote shares",
        "Liu & Wang 2012, section 3",
        assign=voted,
        estimate=mode(own),
        posterior=shares,
        begins={"vote": voted},
        until="rounds",
    ),
    Model(
        "weighted-vote",
        "votes weighed by a judge's accuracy on gold items",
        CROWD_KIT,
        assign=told,
        estimate=mode(smoothed_coin),
        posterior=weighed_shares,
        judge_columns=weight_column,
        begins={"gold": told},
        until="rounds",
    ),
    Model(
        "wawa",
        "votes weighed by a judge's agreement with the majority",
        CROWD_KIT,
        assign=voted,
        estimate=mode(coin),
        posterior=weighed_shares,
        judge_columns=weight_column,
        begins={"vote": voted},
        until="rounds",
    ),
    Model(
        "zbs",
        "the same, with the weighted vote in the majority's place, until nothing changes",
        CROWD_KIT,
        assign=weighed,
        estimate=mode(coin),
        posterior=weighed_shares,
        judge_columns=weight_column,
        begins={"vote": voted},
        until="labels",
    ),
)
