"""Consensus: the vote and the judges' confusions, combined with weights that were learned on other crowds.

Models of independent judges are over-confident, because real judges share errors, and EM that is run to convergence
follows whatever judges share. So EM stops after a few rounds, with every judge shrunk to the crowd:

    S_kl     = (sum_j c_jkl + 5 D_kl) / row sum,  D = .6 on the diagonal + .4 / K
    theta_jkl = (c_jkl + 5 S_kl) / (c_jk. + 5)

where c_jkl counts the labels l of judge j on items of truth k. The evidence e_ik = sum_n log theta of an item is then
scaled by its effective number of judges (``inference.correlation``), and weighed with the log of the vote and the log
of the prevalence. The weights were learned on real crowds and panels with gold (``inference.calibration``); fitted with
``calibrate="none"``, the model's own over-confident probabilities are returned. If there is evidence that errors are
independent (``inference.dependence``), EM continues until it has settled, and its own probabilities get a share.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "consensus")
>>> fit.model, round(fit.calibration.expected, 2)  # the share of labels that is expected to be right
('consensus', 0.89)
"""

from __future__ import annotations

import numpy as np

from adjudge.inference.components import ANY_ORDER, SOFT, Confusion, JudgeParams, confusion_columns
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, fix_gold, label_counts

ROUNDS = 2
SHRINK = 5.0  # pseudo-counts of the crowd's confusion, for every judge and truth
WEAK, RIGHT = 5.0, 0.6  # pseudo-counts of a weakly diagonal confusion in the crowd's, and its share of right labels
FAINT = 1e-3  # weight of items without gold in a start from gold, so that no label is impossible


def smoothed_vote(block: Block, params: Params) -> Tally:
    """Assign every judgment to every label by its share of the item's votes, with one more vote for all labels."""
    counts = label_counts(block)
    share = (counts + 1 / block.labels) / (counts.sum(axis=1, keepdims=True) + 1)
    return count(block, fix_gold(share, block.gold), len(params.prevalence))


def gold_truths(block: Block, params: Params) -> Tally:
    """Assign the judgments of gold items to their truths; other items hardly count."""
    counts = label_counts(block)
    share = FAINT * (counts + 1 / block.labels) / (counts.sum(axis=1, keepdims=True) + 1)
    return count(block, fix_gold(share, block.gold), len(params.prevalence))


def shrunk_rows(tally: Tally, start: Params) -> JudgeParams:
    """Return the confusion of every judge, shrunk to that of the crowd, which an unknown judge has."""
    K = tally.label.shape[2]
    crowd = tally.label.sum(axis=0) + WEAK * (RIGHT * np.eye(K) + (1 - RIGHT) / K)
    crowd = crowd / crowd.sum(axis=1, keepdims=True)
    rows = tally.label + SHRINK * crowd
    return JudgeParams(rows / rows.sum(axis=2, keepdims=True), crowd)


MODELS = (
    Model(
        "consensus",
        "the vote and the judges' confusions, combined with weights learned on other crowds",
        "this package; trained on crowds and panels with gold",
        confusion=Confusion(shrunk_rows, columns=confusion_columns),
        assignment=SOFT,
        labels=ANY_ORDER,
        starts={"vote": smoothed_vote, "gold": gold_truths},
        rounds=ROUNDS,
        by_kind=True,
    ),
)
