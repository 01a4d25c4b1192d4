"""MRR, MAP and P@1 of every topic, as trec_eval computes them.

Scores are compared as 32-bit floats, and ties are broken by document name in descending order. All topics are sorted at
once, because a study ranks the same rows many thousand times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, not_one_of
from adjudge.learn.pairs import group_codes
from adjudge.learn.scikit import make_scorer

MEASURES = ("MRR", "MAP", "P@1")


class GroupScores(NamedTuple):
    """The measures of a ranking, group by group."""

    group: Codes  # (G) numbers of the groups with a relevant row, in order of first appearance
    values: Mapping[str, Floats]  # (G) by measure

    def means(self) -> dict[str, float]:
        """Return the mean of every measure over groups, NaN without any group."""
        return {name: float(value.mean()) if value.size else float("nan") for name, value in self.values.items()}


def score_groups(score: Floats, relevant: Any, groups: Any, names: Any = None) -> GroupScores:
    """Return the measures of the ranking by ``score`` (N) in every group with a relevant row.

    ``names`` (N) are document names that break ties; without them the later row ranks first.

    >>> score_groups(np.array([0.9, 0.8]), [False, True], ["a", "a"]).means()
    {'MRR': 0.5, 'MAP': 0.5, 'P@1': 0.0}
    """
    is_relevant = np.asarray(relevant, dtype=bool)
    code, count = group_codes(groups, is_relevant.size)
    return measure_groups(np.asarray(score, dtype=float), is_relevant, code, count, name_order(names, is_relevant.size))


def name_order(names: Any, rows: int) -> Codes:
    """Return a number for each row (N) that breaks ties, highest first."""
    if names is None:
        return np.arange(rows)
    _, order = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return order


def measure_groups(score: Floats, relevant: Flags, code: Codes, groups: int, tie: Codes) -> GroupScores:
    """Return the measures of every group with a relevant row, for group numbers; ``tie`` breaks ties."""
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    order = np.lexsort((-tie, -single, code))
    group, hit = code[order], relevant[order].astype(float)
    start = np.searchsorted(group, np.arange(groups))
    rank = np.arange(group.size) - start[group] + 1.0
    before = np.r_[0.0, np.cumsum(hit)]
    hits = before[1:] - before[start[group]]  # relevant rows up to this one
    total, precision = _sums(group, hit, groups), _sums(group, hit * hits / rank, groups)
    first, top = (_sums(group, np.where(at, hit / rank, 0.0), groups) for at in (hits == 1, rank == 1))
    scored = np.flatnonzero(total > 0)
    values = {"MRR": first[scored], "MAP": precision[scored] / total[scored], "P@1": top[scored]}
    return GroupScores(scored, values)


def expected_precision(score: Floats, p: Floats, code: Codes, groups: int, tie: Codes) -> tuple[Floats, Floats]:
    """Return the expected average precision of every group (G), and its weight (G).

    Rows are relevant with the probabilities ``p`` (N), independently. The expected sum of precisions at relevant rows
    is divided by the expected number of relevant rows; with probabilities of 0 and 1 this is average precision. A group
    weighs as much as the expected number of its relevant rows, at most 1.

    >>> score, p, code = np.array([3.0, 2.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.zeros(3, np.int64)
    >>> expected_precision(score, p, code, 1, np.arange(3))
    (array([0.83333333]), array([1.]))
    """
    order = np.lexsort((-tie, -score.astype(np.float32), code))
    group, chance = code[order], p[order]
    start = np.searchsorted(group, np.arange(groups))
    rank = np.arange(group.size) - start[group] + 1.0
    before = np.r_[0.0, np.cumsum(chance)[:-1]]
    above = before - before[start[group]]  # relevant rows expected above this one
    total, precision = _sums(group, chance, groups), _sums(group, chance * (1 + above) / rank, groups)
    return precision / np.where(total > 0, total, 1.0), np.minimum(total, 1.0)


def _sums(group: Codes, value: Floats, groups: int) -> Floats:
    """Return the sum of values in every group (G)."""
    return np.asarray(np.bincount(group, value, groups), dtype=np.float64)


def scorer(measure: str = "MAP") -> Any:
    """Return a measure for ``scoring`` in scikit-learn's searches; rows with a target above one half are relevant.

    It needs metadata routing for the groups: ``sklearn.set_config(enable_metadata_routing=True)``.
    """
    if measure not in MEASURES:
        raise UsageError(not_one_of("measure", measure, MEASURES))

    def mean(y_true: Any, y_pred: Any, groups: Any = None) -> float:
        """Return the mean over groups."""
        return score_groups(y_pred, np.asarray(y_true) > 0.5, groups).means()[measure]

    return make_scorer(mean, response_method="decision_function").set_score_request(groups=True)
