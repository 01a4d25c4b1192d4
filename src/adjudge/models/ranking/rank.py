"""Kendall's tau between each judge's rankings and one ranking of all items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.rankings import Rankings, holds_pairs, read_pairs, read_rankings
from adjudge.data.read import open_source
from adjudge.data.source import Source
from adjudge.data.write import frame
from adjudge.errors import UsageError, quoted
from adjudge.kernels.compiled import compiled
from adjudge.models.ranking.borda import borda
from adjudge.models.ranking.bradley_terry import bradley_terry
from adjudge.models.ranking.plackett_luce import plackett_luce
from adjudge.models.ranking.worth import Consensus, Wishes


def tau_b(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, judges: int) -> Floats:
    """Return tau-b of each judge (J) with the ``rank`` (I) of items; nan where nothing is told apart.

    With C pairs in the same order, D in the opposite, and X and Y pairs told apart by the judge and by the
    ranks, tau-b = (C - D) / sqrt(X Y) (Kendall, 1945, Biometrika 33, 239-251); pairs are of one ranking, and
    a judge's rankings are taken together.
    """
    tally = np.zeros((judges, 3))  # C - D, X, Y
    _count(start, judge, item, level, rank, tally)
    tau = np.full(judges, np.nan)
    apart = np.sqrt(tally[:, 1] * tally[:, 2])
    np.divide(tally[:, 0], apart, out=tau, where=apart > 0)
    return tau


@compiled
def _count(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, tally: Floats) -> None:
    """Add up the pairs of each ranking; entries stand best first."""
    for r in range(judge.size):
        for a in range(start[r], start[r + 1]):
            for b in range(a + 1, start[r + 1]):
                below, lead = level[b] > level[a], rank[item[b]] - rank[item[a]]
                tally[judge[r], 0] += below * np.sign(lead)
                tally[judge[r], 1] += below
                tally[judge[r], 2] += lead != 0


# ``rank``: rankings or preferences in, one ranking out. The doorway to every method of rank consensus.

SAME = 1e-5  # scores nearer than this share a rank: the climb does not tell them apart
SPREADS = (0.01, 1000)  # beyond these no data would count, or nothing but data


@dataclass(frozen=True)
class Method:
    """A way to one ranking."""

    name: str
    run: Callable[[Rankings, Wishes], Consensus]
    summary: str
    paper: str
    pairs: bool = False  # whether it is for preferences only
    reliability: bool | None = None  # whether judges differ in it unless told otherwise; None: it knows none


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("borda", borda, "the mean share of the others that an item beats", "Borda 1781"),
        Method(
            "plackett-luce",
            plackett_luce,
            "the best of what is left is drawn again and again, by worth; reliable judges count more",
            "Luce 1959; Plackett 1975; Raman and Joachims 2014",
            reliability=True,
        ),
        Method(
            "bradley-terry",
            bradley_terry,
            "of two items, the worthier wins more often; ties and a favoured place",
            "Bradley and Terry 1952; Davidson 1970",
            pairs=True,
            reliability=False,
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Ranking:
    """The consensus ranking of every topic, and what was learned of every judge."""

    method: str
    rankings: Rankings
    score: Floats  # (I) higher is better: mean points of Borda, log worths of the others
    se: Floats  # (I) standard errors, nan where they are not known
    rank: Codes  # (I) from 1 in each topic; equal scores share a rank
    tau: Floats  # (J) Kendall's tau-b with the consensus, nan where a judge told nothing apart
    stopped: str
    reliability: Floats | None = None  # (J), 1 on average
    log_likelihood: float | None = None
    position_bias: float | None = None  # log odds of left against right between equals
    tie: float | None = None  # Davidson's nu: between equals a tie has the odds nu against either

    def __repr__(self) -> str:
        return f"Ranking({self.method}: {', '.join(self.summary())})"

    @property
    def converged(self) -> bool:
        """Whether the climb came to rest."""
        return not self.stopped.startswith("stopped")

    def summary(self) -> list[str]:
        """Return how large the consensus is, how it ended, and what else it says, in words."""
        given, what = self.rankings, "rankings" if self.rankings.side is None else "preferences"
        counts = ((len(given.items), "items"), (len(given.judges), "judges"), (given.judge.size, what))
        numbers = (
            ("log likelihood", self.log_likelihood),
            ("position bias", self.position_bias),
            ("tie odds", self.tie),
        )
        sizes = [f"{count:,} {name}" for count, name in counts]
        return [*sizes, self.stopped, *(f"{name} {value:,.3f}" for name, value in numbers if value is not None)]

    @property
    def items(self) -> Any:
        """A table of items, best first in each topic: topic, item, rank, score, se, and how many ranked it."""
        return frame(self.item_columns(), self.rankings.kind)

    @property
    def judges(self) -> Any:
        """A table of judges: how many rankings, reliability where it is estimated, and tau with the consensus."""
        return frame(self.judge_columns(), self.rankings.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the consensus as named columns."""
        given = self.rankings
        order = np.lexsort((self.rank, given.topic))
        topics = {} if given.topics is None else {"topic": given.topics.gather(given.topic[order])}
        return {
            **topics,
            "item": given.items.gather(order),
            "rank": self.rank[order],
            "score": self.score[order],
            "se": _known(self.se[order]),
            "judges" if given.side is None else "preferences": np.bincount(given.item)[order],
        }

    def judge_columns(self) -> dict[str, Any]:
        """Return the judges as named columns."""
        given = self.rankings
        count = np.bincount(given.judge, minlength=len(given.judges))
        reliability = {} if self.reliability is None else {"reliability": self.reliability}
        what = "rankings" if given.side is None else "preferences"
        return {"judge": given.judges, what: count, **reliability, "tau": _known(self.tau)}


def rank(
    data: Any,
    method: str | None = None,
    *,
    items: Any = None,
    reliability: bool | None = None,
    position_bias: bool = False,
    spread: float = 1.0,
    judge_spread: float = 1.0,
    topic: str | None = None,
    item: str | None = None,
    judge: str | None = None,
    rank: str | None = None,
    left: str | None = None,
    right: str | None = None,
    winner: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Ranking:
    """Combine judges' rankings, or preferences between two, into one ranking a topic.

    ``data`` is a path or a frame of (item, judge, rank), ranks counted from 1, equal ones a tie, or of (left, right,
    winner), the winner being an item, left, right or tie; both may have a topic. ``topic`` to ``winner`` name
    columns that are called otherwise. ``items``, a table or a list, says which items there are: others are
    refused. ``method`` is one of ``METHODS``; if not given, bradley-terry for preferences, else plackett-luce.
    ``reliability`` (1 on average) says whether judges differ in it, ``position_bias`` whether left may be favoured.
    ``spread`` and ``judge_spread`` are the prior standard deviations of log worths and log reliabilities.

    >>> from polars import DataFrame
    >>> table = {"item": list("abcabc"), "judge": list("xxxyyy"), "rank": [1, 2, 3, 1, 3, 2]}
    >>> rank(DataFrame(table), "borda").items["rank"].to_list()
    [1, 2, 2]
    """
    roles = ("topic", "item", "judge", "rank", "left", "right", "winner")
    named = dict(zip(roles, (topic, item, judge, rank, left, right, winner), strict=True))
    wishes = Wishes(spread, judge_spread, bool(reliability), position_bias)
    if method is not None:
        _refuse_wishes(method, wishes, reliability)
    source = open_source(data, format)
    chosen = METHODS[method or ("bradley-terry" if holds_pairs(source, named) else "plackett-luce")]
    _refuse_wishes(chosen.name, wishes, reliability)
    rankings = _read(source, named, items, chosen)
    usual = chosen.reliability and len(rankings.judges) > 1
    own = wishes._replace(reliability=bool(usual if reliability is None else reliability))
    return _record(chosen, rankings, chosen.run(rankings, own))


def _read(source: Source, named: Mapping[str, str | None], items: Any, method: Method) -> Rankings:
    """Return the preferences or rankings of a table, whichever it holds."""
    pairs = method.pairs or holds_pairs(source, named)
    return (read_pairs if pairs else read_rankings)(source, named, items)


def _refuse_wishes(method: str, wishes: Wishes, reliability: bool | None) -> None:
    """Refuse an unknown method, and wishes it cannot fulfil."""
    if method not in METHODS:
        raise UsageError(f"method {method!r} is not one of {quoted(METHODS)}")
    for name in ("spread", "judge_spread"):
        if not SPREADS[0] <= getattr(wishes, name) <= SPREADS[1]:
            raise UsageError(f"{name} {getattr(wishes, name)!r} is not a number from {SPREADS[0]} to {SPREADS[1]}")
    if wishes.position_bias and not METHODS[method].pairs:
        raise UsageError(f"position bias is for preferences by bradley-terry: {method} has no left and right")
    if reliability and METHODS[method].reliability is None:
        raise UsageError(f"{method} knows no reliability of judges: plackett-luce does")


def _record(method: Method, rankings: Rankings, found: Consensus) -> Ranking:
    """Return everything a consensus leaves behind, as one record."""
    place = _ranks(found.score, rankings.topic)
    tau = tau_b(rankings.start, rankings.judge, rankings.item, rankings.level, place, len(rankings.judges))
    parts = {"rank": place, "tau": tau, **found._asdict()}
    fixed: dict[str, Any] = {
        name: frozen(part) if isinstance(part, np.ndarray) else part for name, part in parts.items()
    }
    return Ranking(method=method.name, rankings=rankings, **fixed)


def _ranks(score: Floats, topic: Codes) -> Codes:
    """Return the place of each item in its topic (I): 1, 2, 2, 4 where two scores are the same."""
    order = np.lexsort((-score, topic))
    n = np.arange(order.size)
    new = np.r_[True, np.diff(topic[order]) != 0]
    apart = new | np.r_[True, -np.diff(score[order]) > SAME]
    begin, group = (np.maximum.accumulate(np.where(flag, n, 0)) for flag in (new, apart))
    place = np.empty(order.size, np.int64)
    place[order] = group - begin + 1
    return place


def _known(values: Floats) -> list[float | None]:
    """Return numbers as a column in which nan is missing."""
    return [None if math.isnan(value) else value for value in values.tolist()]
