"""Judges of several kinds: whose judgments the consensus is fitted to, and who has a weight of their own beside it.

One person would be drowned by many machines that err alike, so people are never one more judge in the machines' EM:
the consensus is fitted to the machines, and each person's label adds to the log odds of that label
(``calibration.GoldMap``). Experts stand beside people and machines in the same way. Judges of one family
(``Panel.family``) share their evidence: of m judgments of a family on an item, each counts 1 / sqrt(m).
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.panel import EXPERT, MACHINE, Panel
from adjudge.kernels.block import Block, item_of

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
    tier = judge_tiers(judgments) if tier is None else tier
    return weigh_evidence(judgments.item(), judgments.judge, judgments.panel, tier, judgments.weight)


def weigh_evidence(item: Codes, judge: Codes, panel: Panel, tier: Codes, weight: Floats | None = None) -> Floats:
    """Return how much each judgment counts (N), from its item and judge (N), the judges' tiers (J) and its weight."""
    family, names = panel.family_codes()
    fitted = tier[judge] == BASE
    _, group = np.unique(item.astype(np.int64) * len(names) + family[judge], return_inverse=True)
    members = np.bincount(group, fitted)[group]
    shared = fitted / np.sqrt(np.maximum(members, 1.0))
    return frozen(shared if weight is None else shared * weight)


def weighed_block(block: Block, panel: Panel, tier: Codes) -> Block:
    """Return a block whose judgments count as in ``evidence_weights``."""
    item = item_of(block)
    judge = (block.cell // block.labels).astype(np.int64)
    return block._replace(weight=weigh_evidence(item, judge, panel, tier, block.weight if block.weight.size else None))


def tiers_as_fitted(tier: Codes, fitted: Panel | None, panel: Panel | None, position: Codes) -> Codes:
    """Return the tiers of judges (J) as in a fit: of those that it knows their own, of others that of their kind.

    Parameters
    ----------
    tier, fitted
        The tiers of the judges of the fit, and what is known about them.
    panel
        What is known about the judges.
    position
        Where they are among the judges of the fit (J), -1 if it does not know them.
    """
    tiers = np.where(position >= 0, tier[position], BASE)
    if fitted is None or panel is None:
        return tiers
    before, rank = _ranks(fitted), _ranks(panel)
    base = before[(tier == BASE) & (before >= 0)]
    if not base.size:
        return tiers
    return np.where(position >= 0, tiers, np.where(rank > base.min(), rank, BASE))
