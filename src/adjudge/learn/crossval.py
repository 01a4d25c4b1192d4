"""Folds by group, and what a ranking is worth in every group: MRR, MAP and P@1 as trec_eval has them.

Scores are compared as 32-bit floats, and equal ones are ordered by the document's name, the last first: what trec_eval
does to a run. Here all groups are sorted at once, since a study ranks the same rows many thousand times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, quote, quoted
from adjudge.learn.pairs import group_codes

MEASURES = ("MRR", "MAP", "P@1")
FOLDS = 5


class Fold(NamedTuple):
    """One fold: the rows to learn from, and those to be ranked."""

    train: Codes
    test: Codes


class Ranked(NamedTuple):
    """What a ranking is worth, group by group."""

    group: Codes  # (G) numbers of the groups with a relevant row, in the order of first appearance
    values: Mapping[str, Floats]  # (G) by measure

    def means(self) -> dict[str, float]:
        """Return the mean of every measure over groups, NaN where there is none."""
        return {name: float(value.mean()) if value.size else float("nan") for name, value in self.values.items()}


def fold_of(groups: Any, folds: int = FOLDS, seed: int = 0) -> Codes:
    """Return the fold of every row (N), groups dealt out at random: no group is in two folds."""
    given = np.asarray(groups)
    code, count = group_codes(given, given.size)
    if not 2 <= folds <= count:
        raise UsageError(f"folds {folds} is not a number from 2 to that of the groups, which is {count:,}")
    dealt = np.empty(count, np.int64)
    dealt[np.random.default_rng(seed).permutation(count)] = np.arange(count) % folds
    return dealt[code]


def split(fold: Codes) -> Iterator[Fold]:
    """Return the folds in turn, each held back once."""
    for k in range(int(fold.max()) + 1):
        yield Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k))


def ranked(score: Floats, relevant: Any, groups: Any, names: Any = None) -> Ranked:
    """Return what the order by ``score`` (N) is worth in every group that has a relevant row.

    ``names`` (N) are of documents, for ties; without them the later row is first.
    """
    wanted = np.asarray(relevant, dtype=bool)
    code, count = group_codes(groups, wanted.size)
    return measured(np.asarray(score, dtype=float), wanted, code, count, name_order(names, wanted.size))


def name_order(names: Any, rows: int) -> Codes:
    """Return a number for each row (N) by which ties are broken, the highest first."""
    if names is None:
        return np.arange(rows)
    _, place = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    return place


def measured(score: Floats, relevant: Flags, code: Codes, groups: int, tie: Codes) -> Ranked:
    """Return the measures of every group with a relevant row; groups are numbers, and equal scores go by ``tie``."""
    with np.errstate(over="ignore"):
        single = score.astype(np.float32)
    order = np.lexsort((-tie, -single, code))
    group, hit = code[order], relevant[order].astype(float)
    start = np.searchsorted(group, np.arange(groups))
    rank = np.arange(group.size) - start[group] + 1.0
    before = np.r_[0.0, np.cumsum(hit)]
    found = before[1:] - before[start[group]]  # relevant ones up to here
    total, precision = _sums(group, hit, groups), _sums(group, hit * found / rank, groups)
    first, top = (_sums(group, np.where(at, hit / rank, 0.0), groups) for at in (found == 1, rank == 1))
    kept = np.flatnonzero(total > 0)
    values = {"MRR": first[kept], "MAP": precision[kept] / total[kept], "P@1": top[kept]}
    return Ranked(kept, values)


def _sums(group: Codes, value: Floats, groups: int) -> Floats:
    """Return the sum of values in every group (G)."""
    return np.asarray(np.bincount(group, value, groups), dtype=np.float64)


def scorer(measure: str = "MAP") -> Any:
    """Return a measure for the ``scoring`` of scikit-learn's searches; rows with a target above one half are relevant.

    Groups reach it by metadata routing, which must be on: ``sklearn.set_config(enable_metadata_routing=True)``.
    """
    if measure not in MEASURES:
        raise UsageError(f"measure {quote(measure)} is not one of {quoted(MEASURES)}")
    from adjudge.learn.scikit import make_scorer

    def mean(y_true: Any, y_pred: Any, groups: Any = None) -> float:
        """Return the mean over groups."""
        return ranked(y_pred, np.asarray(y_true) > 0.5, groups).means()[measure]

    return make_scorer(mean, response_method="decision_function").set_score_request(groups=True)
