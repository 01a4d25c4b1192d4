"""Clear and hard cases of every label: confusion matrices with more truths than labels (Li, Rubinstein & Cohn 2019).

Errors of judges are correlated where items mislead all of them: a grebe looks like a duck. So every label has two kinds
of items, and every judge a row of their matrix for either kind, rows ~ Dirichlet(ones + lambda * identity) as in paper
003. The paper explains correlated judges by subtypes of labels; here there are two, and the model is taken at its mode.
An item starts as a clear case of a label by how far its votes are from a tie.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "subtypes")
>>> fit.labels.columns[-1]
'hard'
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import LEARNED, SOFT, Confusion, ItemEffects, JudgeParams, confusion_columns
from adjudge.inference.model import Model
from adjudge.inference.params import TRUST, Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.probability import normalise_rows
from adjudge.kernels.truth import FLOOR, count, fix_gold, vote_shares

KINDS = 2  # clear, hard


def by_clarity(block: Block, params: Params) -> Tally:
    """Assign every judgment to the labels by their votes, and to their kinds by how far the item is from a tie."""
    share = vote_shares(block)
    clear = (share.max(axis=1) - 1 / block.labels) / max(1 - 1 / block.labels, FLOOR)  # (I) 0 tied, 1 unanimous
    kind = np.column_stack([clear, 1 - clear])
    return count(block, (share[:, :, None] * kind[:, None]).reshape(len(share), -1), len(params.prevalence))


def labels_and_kind(posterior: Floats, block: Block) -> Floats:
    """Return p(label | judgments), and the probability that an item is a hard case (I, K + 1)."""
    joint = posterior.reshape(-1, block.labels, KINDS)
    return np.column_stack([fix_gold(joint.sum(axis=2), block.gold), joint[:, :, 1].sum(axis=1)])


def trusted_rows(tally: Tally, start: Params) -> JudgeParams:
    """Return the mode of every judge's rows; a judge that the fit does not have is what the prior expects."""
    J, _, K = tally.label.shape
    trust = TRUST * np.eye(K)[kind_labels(K)]  # (Z, K)
    counts = tally.label + trust
    rows = counts / counts.sum(axis=2, keepdims=True)
    everybody = (1 + trust) / (K + TRUST)
    share = normalise_rows(tally.truth.sum(axis=0, keepdims=True), np.full((1, KINDS * K), 1 / (KINDS * K)))
    mix = normalise_rows(share.reshape(K, KINDS), np.full((K, KINDS), 1 / KINDS))  # of the kinds of each label
    matrices = np.einsum("kg,jkgl->jkl", mix, rows.reshape(J, K, KINDS, K))
    skill, typical = (np.log(np.maximum(part, FLOOR)) for part in (rows.reshape(J, -1), everybody.reshape(-1)))
    return JudgeParams(matrices, everybody[::KINDS], skill, typical)


def log_trust(params: Params) -> float:
    """Return the log density of the rows under their prior, up to a constant."""
    if not params.skill.size:
        return 0.0
    K = params.confusion.shape[1]
    return float(TRUST * _log_rows(params)[:, np.arange(K * KINDS), kind_labels(K)].sum())


def kind_rows(params: Params) -> Floats:
    """Return p(label | label and kind) of every judge (J, K * 2, K)."""
    return np.exp(_log_rows(params))


def kind_labels(K: int) -> Codes:
    """Return the label of every kind (K * 2)."""
    return np.repeat(np.arange(K), KINDS)


def _log_rows(params: Params) -> Floats:
    """Return the logarithms of the rows (J, K * 2, K), normalised: acceleration leaves rows that do not sum to one."""
    K = params.confusion.shape[2]
    logs = params.skill.reshape(-1, K * KINDS, K)
    most = logs.max(axis=-1, keepdims=True)
    total: Floats = logs - most - np.log(np.exp(logs - most).sum(axis=-1, keepdims=True))
    return total


MODELS = (
    Model(
        "subtypes",
        "every label has clear and hard cases, on which errors are correlated",
        "Li, Rubinstein & Cohn 2019, with two subtypes, by the mode",
        prevalence=LEARNED,
        confusion=Confusion(trusted_rows, kind_rows, log_trust, confusion_columns),
        assignment=SOFT,
        items=ItemEffects(("hard",), kind_labels, summary=labels_and_kind, rows_per_state=True),
        starts={"vote": by_clarity},
        auto_rank=130,
    ),
)
