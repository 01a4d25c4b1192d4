"""Judges of several kinds: whose judgments the consensus is fitted to, and who has a weight of their own beside it.

One person would be drowned by many machines that err alike, so people are never one more judge in the machines' EM:
the consensus is fitted to the machines, and each person's label adds to the log odds of that label
(``calibration.GoldMap``). Experts stand beside people and machines in the same way. Judges of one family
(``Panel.family``) share their evidence: of m judgments of a family on an item, each counts 1 / sqrt(m).
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.panel import EXPERT, MACHINE, Panel
from adjudge.kernels.block import Block

BASE, PERSON_TIER, EXPERT_TIER = 0, 1, 2  # fitted by EM; people beside it; experts beside it
COVERED = 0.5  # share of the judged items that the judges who are fitted must have judged


def judge_tiers(judgments: Judgments) -> Codes:
    """Return the tier of every judge (J): 0 if the consensus is fitted to them, 1 for people beside it, 2 for experts.

    The lowest kind that is present is fitted, machines before people before experts. All judges are, if those of that
    kind have judged less than half of the items. A judge of an unknown kind is fitted.
    """
    none = np.zeros(len(judgments.judges), np.int64)
    if judgments.panel is None or not len(judgments):
        return none
    tier = panel_tiers(judgments.panel, np.bincount(judgments.judge, minlength=len(judgments.judges)))
    fitted = np.unique(judgments.item()[tier[judgments.judge] == BASE]).size
    judged = int((np.diff(judgments.start) > 0).sum())
    return tier if fitted >= COVERED * judged else none


def panel_tiers(panel: Panel, judged: Codes) -> Codes:
    """Return the tier of every judge (J) by their kinds alone; ``judged`` (J) counts their judgments."""
    rank = _ranks(panel)
    present = np.unique(rank[judged > 0])
    lowest = present[present >= 0].min() if (present >= 0).any() else BASE
    return np.where(rank > lowest, rank, BASE)


def _ranks(panel: Panel) -> Codes:
    """Return 0 for machines, 1 for people, 2 for experts, and -1 for judges of an unknown kind."""
    ranks = {MACHINE: BASE, EXPERT: EXPERT_TIER, None: -1}
    return np.array([ranks.get(kind, PERSON_TIER) for kind in panel.kind], np.int64)


def evidence_weights(judgments: Judgments, tier: Codes | None = None) -> Floats | None:
    """Return how much each judgment counts when the consensus is fitted (N); None if all count the same.

    ``tier`` (J) is that of an earlier fit, by default the one that these judgments give.

    >>> import adjudge
    >>> table = {"item": [*"aaaa"], "judge": [*"uvwx"], "label": [1, 1, 0, 1]}
    >>> judges = {"u": "person", "v": {"kind": "machine", "model": "m"}, "w": {"kind": "machine", "model": "m"},
    ...           "x": "machine"}
    >>> import polars as pl
    >>> evidence_weights(adjudge.read(pl.DataFrame(table), judges=judges)).round(2).tolist()
    [0.0, 0.71, 0.71, 1.0]
    """
    if judgments.panel is None:
        return judgments.weight
    fitted = (judge_tiers(judgments) if tier is None else tier)[judgments.judge] == BASE
    weight = _family_shares(judgments.item(), judgments.judge, judgments.panel, fitted)
    return frozen(weight if judgments.weight is None else weight * judgments.weight)


def weighed_block(block: Block, panel: Panel, tier: Codes) -> Block:
    """Return a block whose judgments count as in ``evidence_weights``."""
    item = np.repeat(np.arange(block.topic.size), np.diff(block.start))
    judge = (block.cell // block.labels).astype(np.int64)
    weight = _family_shares(item, judge, panel, tier[judge] == BASE)
    return block._replace(weight=weight * block.weight if block.weight.size else weight)


def _family_shares(item: Codes, judge: Codes, panel: Panel, fitted: Flags) -> Floats:
    """Return 1 / sqrt(m) for m judgments of a family on an item (N), and 0 for judgments that are not fitted."""
    family, names = panel.family_codes()
    _, group = np.unique(item.astype(np.int64) * len(names) + family[judge], return_inverse=True)
    members = np.bincount(group, fitted)[group]
    shares: Floats = fitted / np.sqrt(np.maximum(members, 1.0))
    return shares
