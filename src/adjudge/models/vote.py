"""The vote: every judgment counts the same, and the label with most of them wins.

Prevalence and confusion follow by counting against the winners, as paper 003 does for its MajorityVote.
"""

from __future__ import annotations

from adjudge.arrays import Floats
from adjudge.kernels.block import Block
from adjudge.kernels.truth import vote_shares
from adjudge.models.assign import voted
from adjudge.models.base import Model, Params
from adjudge.models.estimate import mode, own


def shares(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of an item's votes; a vote has no likelihood, so its evidence says nothing."""
    return vote_shares(block), 0.0


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
)
