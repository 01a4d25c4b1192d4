"""Votes: one a judge and item, which is what judges can agree in.

A judge who judged an item several times has one vote there all the same, shared among her labels by how often she gave
each (by their weights, where judgments have weights): she does not agree with herself, and does not count twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.judgments.table import Judgments


class Votes(NamedTuple):
    """The votes on items that two judges or more have voted on, in the order of items (V).

    A vote that is shared among labels has a row for each of them.
    """

    item: Codes  # (V) from 0 to I - 1
    judge: Codes  # (V)
    label: Codes  # (V)
    share: Floats  # (V) of the judge's vote
    voters: Codes  # (I) judges of each item, 2 or more
    alone: int  # items with a single judge, or none, which are left out
    repeats: int  # judgments beyond a judge's first on an item

    @property
    def split(self) -> bool:
        """Whether some vote is shared among labels."""
        return self.item.size > int(self.voters.sum())


def votes(judgments: Judgments) -> Votes:
    """Return the votes of judgments; those of weight 0 are none."""
    item, judge, label = judgments.item(), judgments.judge, judgments.label
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    if judgments.weight is not None:
        counted = weight > 0
        item, judge, label, weight = item[counted], judge[counted], label[counted], weight[counted]
    ballot = item.astype(np.int64) * len(judgments.judges) + judge  # one number for item and judge
    repeats = _repeats(ballot)
    share = np.ones(ballot.size)
    if repeats:
        cell, place = np.unique(ballot * len(judgments.scale) + label, return_inverse=True)
        total = sums_of(place, weight)  # of each label of a ballot
        ballot, label = np.divmod(cell, len(judgments.scale))
        item, judge = np.divmod(ballot, len(judgments.judges))
        share = total / _whole(ballot, total)
    return _shared(item, judge, label, share, len(judgments.items), repeats)


def _repeats(ballot: Codes) -> int:
    """Return how many ballots are not the first of their item and judge."""
    ordered = np.sort(ballot)
    return int((ordered[1:] == ordered[:-1]).sum())


def _whole(ballot: Codes, weight: Floats) -> Floats:
    """Return the whole weight of the ballot that each row is of; rows of a ballot are neighbours."""
    number = np.r_[0, np.cumsum(ballot[1:] != ballot[:-1])]
    return sums_of(number, weight)[number]


def sums_of(number: Codes, part: Floats, size: int = 0) -> Floats:
    """Return the sum of the parts of each number from 0 on, for ``size`` numbers at least."""
    total: Any = np.bincount(number, part, size)
    return np.asarray(total, np.float64)


def _shared(item: Codes, judge: Codes, label: Codes, share: Floats, items: int, repeats: int) -> Votes:
    """Return the votes on items that have two or more, and the items numbered anew."""
    voters = np.rint(sums_of(item, share, items)).astype(np.int64)
    several = voters > 1
    number = np.cumsum(several) - 1
    kept = several[item]
    chosen = (number[item[kept]], judge[kept], label[kept], share[kept])
    return Votes(*chosen, voters[several], items - int(several.sum()), repeats)
