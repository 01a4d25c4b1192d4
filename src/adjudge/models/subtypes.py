"""Clear and hard cases of every label: confusion matrices with more truths than labels.

Judges err together where items mislead them all: a grebe looks like a duck. So every label has two kinds of items, and
every judge a row of her matrix for either kind, rows ~ Dirichlet(ones + lambda * identity) as in paper 003. This is the
model of Li, Rubinstein & Cohn 2019, who explain correlated judges by subtypes of labels, with two of them and by its
mode. An item begins as a clear case of a label by how far its votes are from a tie.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.inference.prior import TRUST
from adjudge.inference.tables import confusion_columns
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.probability import normalise_rows
from adjudge.kernels.truth import FLOOR, count, expect, fix_gold, truth_posterior, vote_shares

KINDS = 2  # clear, hard


def by_clarity(block: Block, params: Params) -> Tally:
    """Assign every judgment to the labels by their votes, and to their kinds by how far the item is from a tie."""
    share = vote_shares(block)
    clear = (share.max(axis=1) - 1 / block.labels) / max(1 - 1 / block.labels, FLOOR)  # (I) 0 tied, 1 unanimous
    kind = np.column_stack([clear, 1 - clear])
    return count(block, (share[:, :, None] * kind[:, None]).reshape(len(share), -1))


def weigh(block: Block, params: Params) -> Tally:
    """Assign every judgment to every kind of every label by its posterior."""
    return expect(block, params.prevalence, _rows(params, block), _side(block.labels))


def kinds(block: Block, params: Params) -> tuple[Floats, float]:
    """Return p(label and kind | judgments) (I, K * 2), and the log evidence."""
    return truth_posterior(block, params.prevalence, _rows(params, block), _side(block.labels))


def labels_and_kind(block: Block, params: Params) -> tuple[Floats, float]:
    """Return p(label | judgments), and the probability that an item is a hard case (I, K + 1)."""
    posterior, evidence = kinds(block, params)
    joint = posterior.reshape(-1, block.labels, KINDS)
    return np.column_stack([fix_gold(joint.sum(axis=2), block.gold), joint[:, :, 1].sum(axis=1)]), evidence


def trusted_rows(tally: Tally, start: Params) -> Params:
    """Return the mode of prevalence and of every judge's rows; a judge never seen is what the prior expects."""
    J, Z, K = tally.label.shape
    trust = TRUST * np.eye(K)[_side(K)]  # (Z, K)
    counts = tally.label + trust
    rows = counts / counts.sum(axis=2, keepdims=True)
    everybody = (1 + trust) / (K + TRUST)
    prevalence = normalise_rows(tally.truth, np.full_like(tally.truth, 1 / Z))
    mix = normalise_rows(prevalence.reshape(K, KINDS), np.full((K, KINDS), 1 / KINDS))  # of the kinds of each label
    matrices = np.einsum("kg,jkgl->jkl", mix, rows.reshape(J, K, KINDS, K))
    skill, typical = (np.log(np.maximum(part, FLOOR)) for part in (rows.reshape(J, -1), everybody.reshape(-1)))
    return Params(prevalence, matrices, everybody[::KINDS], skill, typical)


def log_trust(params: Params) -> float:
    """Return the log density of the rows under their prior, but for a constant."""
    if not params.skill.size:
        return 0.0
    J, K = params.confusion.shape[:2]
    logs = _normal_logs(params.skill.reshape(J, K * KINDS, K))
    return float(TRUST * logs[:, np.arange(K * KINDS), _side(K)].sum())


def kinds_of(params: Params, block: Block) -> tuple[Floats, Floats, Codes]:
    """Return prevalence (1, K * 2), matrices (J, K * 2, K) and labels (K * 2) of the kinds."""
    return params.prevalence, _rows(params, block), _side(block.labels)


def _side(K: int) -> Codes:
    """Return the label of every kind (K * 2)."""
    return np.repeat(np.arange(K), KINDS)


def _rows(params: Params, block: Block) -> Floats:
    """Return p(label said | label and kind) of every judge (J, K * 2, K)."""
    return np.exp(_normal_logs(params.skill.reshape(-1, block.labels * KINDS, block.labels)))


def _normal_logs(logs: Floats) -> Floats:
    """Return logs of rows that sum to one, which those of a leap do not."""
    most = logs.max(axis=-1, keepdims=True)
    total: Floats = logs - most - np.log(np.exp(logs - most).sum(axis=-1, keepdims=True))
    return total


MODELS = (
    Model(
        "subtypes",
        "every label has clear and hard cases, on which judges err together",
        "Li, Rubinstein & Cohn 2019, with two subtypes, by the mode",
        assign=weigh,
        estimate=trusted_rows,
        posterior=labels_and_kind,
        states=kinds,
        finer=kinds_of,
        judge_columns=confusion_columns,
        item_columns=("hard",),
        log_prior=log_trust,
        begins={"vote": by_clarity},
    ),
)
