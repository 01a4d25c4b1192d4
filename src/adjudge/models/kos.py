"""Messages between items and judges, for two labels (Karger, Oh & Shah 2011).

An item sends each of its judges the weighted vote of the others; a judge sends each of their items how often they were
right on the others; after some rounds an item's label is the sign of its weighted vote, sum_j A_ij y_{j->i}. No message
returns to its sender, which makes this more than a power iteration on the table of votes.

The paper draws the first messages y from a normal distribution with mean one and variance one. Here they are one: the
answer then depends on no seed and on no order of rows, and the first round is the vote.

Of a judge only the sums Y_j of every round are learned (the comment below says why they suffice). ``predict`` subtracts
from the judge's sum what an item sent, as the fit did: slightly too much for an item that the fit does not have.

The paper has every judge label as many items. Where a few judges do most of the work, messages grow with their work: on
``rte`` and ``temp`` the answer is little better than chance, and so is crowd-kit's.

>>> import adjudge
>>> crowd = adjudge.simulate("carpenter", seed=1, topics=1, items=30, judges=5, judgments=90, gold=1)
>>> adjudge.fit(crowd.judgments, "kos").judges.columns[-1]
'reliability'
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import (
    COUNTED,
    TWO,
    Assignment,
    Confusion,
    ItemEffects,
    JudgeParams,
    own_matrix,
    tied,
    winners,
)
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import count

# Messages between items and judges (Karger, Oh & Shah 2011), replayed item by item instead of stored edge by edge.
#
# With A_ij the judge's signed vote on an item, the messages of a round are
#
# x_{i->j} = sum over j' != j of A_ij' y_{j'->i}    and    y_{j->i} = sum over i' != i of A_i'j x_{i'->j}.
#
# The second is Y_j - A_ij x_{i->j}, with Y_j = sum_i A_ij x_{i->j}: who knows the sums of the judges in every round
# knows all messages of an item from its votes alone. A pass therefore holds no message beyond the item at hand, sums
# over blocks, and gives the same answer to the same judgments ever after, for t steps a judgment in round t.
#
# Messages grow from round to round; those of a round are measured in a common unit, which is kept beside the sums.
#
# An item with gold knows its truth from no judge. It says it as loudly as if all of its judges had agreed on it,
# x_{i->j} = +-sum_j' |A_ij' Y_j'|, and as its message is no echo of theirs, nothing is taken off what they say.

LOST = 1e-12  # a sum this small beside its terms is what rounding left of zero


def pass_messages(block: Block, history: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Return (J, rounds, 2), the judges' sums Y_j and sum_i |A_ij x_{i->j}| of every round, and the items' scores.

    ``history`` (J, R, 2) holds Y_j and its unit of the rounds so far: R is ``rounds``, or one less. Scores (I, 2) are
    sum_j A_ij y_{j->i} and sum_j |A_ij y_{j->i}| under the last of them.
    """
    sums, score = np.zeros((block.judges, rounds, 2)), np.empty((block.gold.size, 2))
    longest = int(np.diff(block.start).max(initial=0))
    votes = (block.start, block.cell, block.label, block.gold, block.weight, block.labels)
    _pass(*votes, min(longest, block.judges), history, sums, score)
    return sums, score


def in_units(sums: Floats) -> Floats:
    """Return a history (J, R, 2) from sums: every round's Y_j in units of the largest, and that unit."""
    exact = np.where(np.abs(sums[..., 0]) > LOST * sums[..., 1], sums[..., 0], 0.0)  # (J, R)
    unit = np.abs(exact).max(axis=0)
    unit[unit == 0] = 1.0
    return np.stack([exact / unit, np.broadcast_to(unit, exact.shape)], axis=2)


@compiled
def _pass(
    start: Codes,
    cell: Codes,
    label: Codes,
    gold: Codes,
    weight: Floats,
    labels: int,
    most: int,
    history: Floats,
    sums: Floats,
    score: Floats,
) -> None:
    """Replay every item's messages, adding to the judges' sums what it tells them in each round."""
    J, R, _ = history.shape
    position, judge = np.full(J, -1), np.empty(most, np.int64)  # where a judge stands among the item's, and back
    vote, message = np.empty(most), np.empty(most)  # A_ij and y_{j->i}
    for i in range(gold.size):
        heard = _votes(start[i], start[i + 1], cell, label, weight, labels, position, judge, vote)
        message[:heard] = 1.0
        for t in range(R + 1):
            total, volume = _score(heard, vote, message)
            if gold[i] >= 0:
                total = volume if gold[i] == 1 else -volume
            for e in range(heard):
                j, x = judge[e], total
                if gold[i] < 0:
                    x = _less(total, vote[e] * message[e], volume)
                sent = vote[e] * x
                if t < sums.shape[1]:
                    sums[j, t, 0] += sent
                    sums[j, t, 1] += abs(sent)
                if t < R:
                    Y, term = history[j, t, 0], 0.0 if gold[i] >= 0 else sent / history[j, t, 1]
                    message[e] = _less(Y, term, abs(Y) + abs(term))
        score[i, 0], score[i, 1] = total, volume


@compiled
def _votes(
    first: int,
    last: int,
    cell: Codes,
    label: Codes,
    weight: Floats,
    labels: int,
    position: Codes,
    judge: Codes,
    vote: Floats,
) -> int:
    """Merge an item's judgments into one vote a judge, A_ij, and return how many judges it has."""
    heard = 0
    for n in range(first, last):
        j = cell[n] // labels
        if position[j] < 0:
            position[j], judge[heard], vote[heard] = heard, j, 0.0
            heard += 1
        times = weight[n] if weight.size else 1.0
        vote[position[j]] += times if label[n] == 1 else -times
    for e in range(heard):
        position[judge[e]] = -1
    return heard


@compiled
def _score(heard: int, vote: Floats, message: Floats) -> tuple[float, float]:
    """Return sum_j A_ij y_{j->i}, and the sum of its terms' sizes."""
    total, volume = 0.0, 0.0
    for e in range(heard):
        total += vote[e] * message[e]
        volume += abs(vote[e] * message[e])
    return _less(total, 0.0, volume), volume


@compiled
def _less(total: float, term: float, volume: float) -> float:
    """Return a sum without one of its terms; what is lost beside the size of the terms is zero."""
    rest = total - term
    return rest if abs(rest) > LOST * volume else 0.0


ROUNDS = 10  # the paper's k_max is of the order of log I; labels rarely change after the third round
SECOND = 1  # the label that counts +1; the first counts -1


def messages(block: Block, params: Params) -> Tally:
    """Send one more round of messages, and count labels under the present winners (J, 2 rounds + K * K).

    The rounds before are counted along: they cost nothing beside being replayed, and a tally tells the whole story.
    """
    history = _history(block, params)
    sums, score = pass_messages(block, history, min(history.shape[1] + 1, ROUNDS))
    labels_counted = count(block, winners(_shares(block, score)))
    sent = [sums.reshape(block.judges, -1), labels_counted.label.reshape(block.judges, -1)]
    return Tally(labels_counted.truth, np.concatenate(sent, axis=1), 0.0)


def listen(tally: Tally, start: Params) -> JudgeParams:
    """Return the judges' sums of every round, in units; confusion and prevalence follow by counting, as in a vote."""
    J, K = tally.label.shape[0], tally.truth.shape[1]
    sums, labels_counted = np.split(tally.label, [-K * K], axis=1)
    skill = in_units(sums.reshape(J, -1, 2)).reshape(J, -1)
    counted = tied(own_matrix).estimate(tally._replace(label=labels_counted.reshape(J, K, K)), start)
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
    is_gold = block.gold >= 0
    size[is_gold] = np.where(block.gold[is_gold] == SECOND, 1.0, -1.0)  # an item nobody weighed is known all the same
    return np.column_stack([(1 - size) / 2, (1 + size) / 2])


MODELS = (
    Model(
        "kos",
        "messages between items and judges; votes weighed by how often a judge agrees with others (two labels)",
        "Karger, Oh & Shah 2011",
        prevalence=COUNTED,
        confusion=Confusion(listen, columns=reliability_column),
        assignment=Assignment(hard=True, assign=messages, posterior=weighted_vote),
        items=ItemEffects(("score",)),
        labels=TWO,
        starts={"vote": messages},
        rounds=ROUNDS,  # the beginning is the first; the last pass counts labels under the answers
    ),
)
