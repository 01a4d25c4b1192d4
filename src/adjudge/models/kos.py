"""Messages between items and judges: Karger, Oh & Shah 2011, for two labels.

An item tells each of its judges what the others make of it; a judge tells each of her items how often she was right on
the others; after some rounds an item's label is the sign of its weighted vote, sum_j A_ij y_{j->i}. Nobody is told her
own words again, which is what makes it more than a power iteration on the table of votes.

The paper draws the first messages y from a normal distribution with mean one and variance one. Here they are one: the
answer then depends on no seed and on no order of rows, and the first round is the vote.

What is learned of a judge is her sum Y_j of every round (``kernels.messages`` says why that is enough). A saved fit
takes off the judge's sum what an item told her, as the fit did: of an item it never met that is a trifle too much.

The paper has every judge label as many items. Where a few judges do most of the work, messages grow with the work they
did: on ``rte`` and ``temp`` the answer is little better than a coin's, as crowd-kit's is.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.messages import in_units, pass_messages
from adjudge.kernels.truth import count
from adjudge.models.assign import winners
from adjudge.models.base import Model, Params
from adjudge.models.estimate import mode, own

ROUNDS = 10  # the paper's k_max is of the order of log I; labels rarely change after the third round
SECOND = 1  # the label that counts +1; the first counts -1


def messages(block: Block, params: Params) -> Tally:
    """Send one more round of messages, and count labels under the present winners (J, 2 rounds + K * K).

    The rounds before are counted along: they cost nothing beside being replayed, and a tally tells the whole story.
    """
    history = _history(block, params)
    sums, score = pass_messages(block, history, min(history.shape[1] + 1, ROUNDS))
    said = count(block, winners(_shares(block, score)))
    told = [sums.reshape(block.judges, -1), said.label.reshape(block.judges, -1)]
    return Tally(said.truth, np.concatenate(told, axis=1), 0.0)


def listen(tally: Tally, start: Params) -> Params:
    """Return the judges' sums of every round, in units; confusion and prevalence follow by counting, as in a vote."""
    J, K = tally.label.shape[0], tally.truth.shape[1]
    sums, said = np.split(tally.label, [-K * K], axis=1)
    skill = in_units(sums.reshape(J, -1, 2)).reshape(J, -1)
    counted = mode(own)(tally._replace(label=said.reshape(J, K, K)), start)
    return counted._replace(skill=skill, typical=skill.mean(axis=0))


def weighted_vote(block: Block, params: Params) -> tuple[Floats, float]:
    """Return each label's share of the weight, and the score (I, K + 1); a vote has no evidence."""
    history = _history(block, params)
    _, score = pass_messages(block, history, 0)
    return np.column_stack([_shares(block, score), score[:, 0]]), 0.0


def reliability_column(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's sum Y_j of the last round; the largest is one, and who answers the reverse is below zero."""
    return {"reliability": params.skill[:, -2]}


def _history(block: Block, params: Params) -> Floats:
    """Return the judges' sums of the rounds so far, and their units (J, R, 2)."""
    return np.ascontiguousarray(params.skill).reshape(block.judges, -1, 2)


def _shares(block: Block, score: Floats) -> Floats:
    """Return (1 + score / its largest) / 2 for the second label, the rest for the first (I, K); nothing is one half."""
    if block.labels == 1:
        return np.ones((block.gold.size, 1))
    size = np.divide(score[:, 0], score[:, 1], out=np.zeros(len(score)), where=score[:, 1] > 0)
    known = block.gold >= 0
    size[known] = np.where(block.gold[known] == SECOND, 1.0, -1.0)  # an item nobody weighed is known all the same
    return np.column_stack([(1 - size) / 2, (1 + size) / 2])


MODELS = (
    Model(
        "kos",
        "messages between items and judges; votes weighed by how often a judge agrees with others (two labels)",
        "Karger, Oh & Shah 2011",
        assign=messages,
        estimate=listen,
        posterior=weighted_vote,
        judge_columns=reliability_column,
        item_columns=("score",),
        begins={"vote": messages},
        until="rounds",
        rounds=ROUNDS,  # the beginning is the first; the last pass counts labels under the answers
        binary=True,
    ),
)
