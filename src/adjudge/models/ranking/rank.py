"""``rank``: combine rankings or preferences of several judges into one ranking per topic, by any registered method."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.formats import open_source
from adjudge.data.gold import read_gold
from adjudge.data.rankings import Rankings, holds_pairs, read_labelled_rankings, read_pairs, read_rankings
from adjudge.data.scale import Label, Scale
from adjudge.data.source import Source
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, UsageError, not_one_of, quote
from adjudge.kernels.compiled import compiled
from adjudge.models.ranking.borda import borda
from adjudge.models.ranking.bradley_terry import bradley_terry
from adjudge.models.ranking.graded import graded
from adjudge.models.ranking.plackett_luce import plackett_luce
from adjudge.models.ranking.worth import Consensus, RankOptions

SAME = 1e-5  # scores closer than this share a rank: they are equal up to the tolerance of the optimiser
SPREADS = (0.01, 1000)  # beyond these the data, or the prior, would not count


@dataclass(frozen=True)
class Method:
    """A method of rank consensus."""

    name: str
    run: Callable[[Rankings, RankOptions], Consensus]
    summary: str
    paper: str
    pairs: bool = False  # whether it is for preferences only
    labels: bool = False  # whether it needs labels beside ranks
    reliability: bool | None = None  # whether it is estimated by default; None: the method has none


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method("borda", borda, "the mean share of the other items that an item beats", "Borda 1781"),
        Method(
            "plackett-luce",
            plackett_luce,
            "items are drawn one by one in proportion to their worth; reliable judges count more",
            "Luce 1959; Plackett 1975; Raman and Joachims 2014",
            reliability=True,
        ),
        Method(
            "bradley-terry",
            bradley_terry,
            "the item with the higher worth wins more often; with ties and position bias",
            "Bradley and Terry 1952; Davidson 1970",
            pairs=True,
            reliability=False,
        ),
        Method(
            "graded",
            graded,
            "a grade of relevance from labels and ranks together, with probabilities and intervals of ranks",
            "this package; Plackett 1975",
            labels=True,
            reliability=True,
        ),
    )
}


@dataclass(frozen=True, eq=False)
class Ranking:
    """The consensus ranking of every topic, and the agreement and reliability of every judge."""

    method: str
    rankings: Rankings
    score: Floats  # (I) higher is better: mean points of Borda, expected gain of graded, log worths of the others
    se: Floats  # (I) standard errors, nan if unknown
    rank: Codes  # (I) from 1 in each topic; equal scores share a rank
    tau: Floats  # (J) Kendall's tau-b with the consensus, nan if the judge ranked all items equal
    stopped: str
    reliability: Floats | None = None  # (J), 1 on average
    log_likelihood: float | None = None
    position_bias: float | None = None  # log odds of left against right for equal items
    tie: float | None = None  # Davidson's nu: the odds of a tie against either winner for equal items
    grades: Floats | None = None  # (I, Z) probabilities of grades
    interval: Codes | None = None  # (I, 2) 90 % interval of the rank
    confusion: Floats | None = None  # (J, Z, K) p(label | grade)

    def __repr__(self) -> str:
        return f"Ranking({self.method}: {', '.join(self.summary())})"

    @property
    def converged(self) -> bool:
        """Whether the optimiser converged."""
        return not self.stopped.startswith("stopped")

    def summary(self) -> list[str]:
        """Return the size of the data, how the fit ended, and its estimates, as short phrases."""
        data, kind = self.rankings, "rankings" if self.rankings.side is None else "preferences"
        counts = ((len(data.items), "items"), (len(data.judges), "judges"), (data.judge.size, kind))
        numbers = (
            ("log-likelihood", self.log_likelihood),
            ("position bias", self.position_bias),
            ("tie odds", self.tie),
        )
        sizes = [f"{count:,} {name}" for count, name in counts]
        return [*sizes, self.stopped, *(f"{name} {value:,.3f}" for name, value in numbers if value is not None)]

    @property
    def items(self) -> Any:
        """A table of items, best first in each topic: topic, item, rank, score, se, and the number of judges."""
        return frame(self.item_columns(), self.rankings.kind)

    @property
    def judges(self) -> Any:
        """A table of judges: rankings, reliability if it is estimated, and Kendall's tau-b with the consensus."""
        return frame(self.judge_columns(), self.rankings.kind)

    def item_columns(self) -> dict[str, Any]:
        """Return the consensus as named columns."""
        data = self.rankings
        order = np.lexsort((self.rank, data.topic))
        topics = {} if data.topics is None else {"topic": data.topics.gather(data.topic[order])}
        return {
            **topics,
            "item": data.items.gather(order),
            "rank": self.rank[order],
            **{name: column[order] for name, column in self._interval_columns().items()},
            "score": self.score[order],
            "se": _missing_if_nan(self.se[order]),
            **{name: column[order] for name, column in self._grade_columns().items()},
            "judges" if data.side is None else "preferences": self._counts()[order],
        }

    def _interval_columns(self) -> dict[str, Codes]:
        """Return the ends of the intervals of ranks, if there are any."""
        return {} if self.interval is None else {"low": self.interval[:, 0], "high": self.interval[:, 1]}

    def _grade_columns(self) -> dict[str, Any]:
        """Return the most likely grade, the expected one, P(relevant) and the probability of each grade, if known."""
        if self.grades is None:
            return {}
        chance = {f"p_{g}": self.grades[:, g] for g in range(self.grades.shape[1])}
        expected = self.grades @ np.arange(self.grades.shape[1])
        return {"grade": self.grades.argmax(axis=1), "expected": expected, "relevant": 1 - self.grades[:, 0], **chance}

    def _confusion_columns(self) -> dict[str, Floats]:
        """Return how often each judge gives each label to items of each grade, if known."""
        if self.confusion is None or self.rankings.judgments is None:
            return {}
        labels = self.rankings.judgments.scale.names
        cells = ((g, k, label) for g in range(self.confusion.shape[1]) for k, label in enumerate(labels))
        return {f"p_{label}_if_{g}": self.confusion[:, g, k] for g, k, label in cells}

    def _counts(self) -> Codes:
        """Return the number of judges who ranked each item (I), or of its preferences."""
        data, judges = self.rankings, len(self.rankings.judges)
        if data.side is not None:
            return np.bincount(data.item)
        if data.judgments is not None:
            return np.diff(data.judgments.start)
        pairs = data.item * np.int64(judges) + np.repeat(data.judge, np.diff(data.start))
        return np.bincount(np.unique(pairs) // judges)

    def judge_columns(self) -> dict[str, Any]:
        """Return the judges as named columns."""
        data = self.rankings
        count = np.bincount(data.judge, minlength=len(data.judges))
        reliability = {} if self.reliability is None else {"reliability": self.reliability}
        kind = "rankings" if data.side is None else "preferences"
        tau = _missing_if_nan(self.tau)
        return {"judge": data.judges, kind: count, **reliability, "tau": tau, **self._confusion_columns()}


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
    set: str | None = None,  # noqa: A002
    left: str | None = None,
    right: str | None = None,
    winner: str | None = None,
    label: str | None = None,
    labels: Sequence[Label] | None = None,
    gold: Any = None,
    seed: int = 0,
    ties: bool = False,
    format: str | None = None,  # noqa: A002
) -> Ranking:
    """Combine rankings, or preferences between two items, into one ranking per topic.

    Parameters
    ----------
    data
        A path or a frame with the columns (item, judge, rank) or (left, right, winner), and optionally a topic. Ranks
        count from 1, and equal ranks are a tie. The columns ``set`` and ``assignment``, if there are any, tell the
        rankings of a judge in a topic apart. The winner is an item, ``left``, ``right`` or ``tie``.
    method
        One of ``METHODS``. By default ``bradley-terry`` for preferences and ``plackett-luce`` for rankings.
    items
        A table or a list of all items; any other item in the data is refused.
    labels
        For ``graded``: all labels, lowest first, if they are not numbers.
    gold
        For ``graded``: items whose grade is known, as a table or a mapping from item to grade.
    seed
        For ``graded``: the seed of random numbers.
    reliability
        Whether judges differ in reliability (1 on average). By default yes for ``plackett-luce``.
    position_bias
        Whether the left item may have an advantage (``bradley-terry`` only).
    spread, judge_spread
        Prior standard deviations of log worths and of log reliabilities.
    topic, item, judge, rank, set, left, right, winner, label
        Names of columns, if they are not the usual ones.
    ties
        Whether equal ranks of a judge are ties even if they look like those of several sets, such as 1 to 5 twice.
    format
        The format of the file, if its name does not tell.

    Returns
    -------
    Ranking
        With the tables ``items`` and ``judges``.

    Examples
    --------
    >>> from polars import DataFrame
    >>> table = {"item": list("abcabc"), "judge": list("xxxyyy"), "rank": [1, 2, 3, 1, 3, 2]}
    >>> rank(DataFrame(table), "borda").items["rank"].to_list()
    [1, 2, 2]
    >>> table["label"] = [1, 0, 0, 1, 0, 0]
    >>> best = rank(DataFrame(table), "graded").items[0]
    >>> best["item"].item(), best["relevant"].item() > 0.5
    ('a', True)
    """
    roles = ("topic", "item", "judge", "rank", "set", "left", "right", "winner", "label")
    named = dict(zip(roles, (topic, item, judge, rank, set, left, right, winner, label), strict=True))
    options = RankOptions(spread, judge_spread, bool(reliability), position_bias, seed)
    if method is not None:
        _check_options(method, options, reliability)
    source = open_source(data, format)
    chosen = METHODS[method or ("bradley-terry" if holds_pairs(source, named) else "plackett-luce")]
    _check_options(chosen.name, options, reliability)
    if chosen.labels:
        rankings = with_gold(read_labelled_rankings(source, named, items, ties, labels), gold)
    else:
        rankings = _read(source, named, items, ties, chosen)
        _warn_of_unlinked_items(source, rankings)
    if reliability is None:
        reliability = bool(chosen.reliability and len(rankings.judges) > 1)
    return rank_by(chosen.name, rankings, options._replace(reliability=reliability))


def _read(source: Source, named: Mapping[str, str | None], items: Any, ties: bool, method: Method) -> Rankings:
    """Return the preferences or rankings of a table, whichever it holds."""
    if method.pairs or holds_pairs(source, named):
        return read_pairs(source, named, items)
    return read_rankings(source, named, items, ties)


def with_gold(rankings: Rankings, gold: Any) -> Rankings:
    """Return labelled rankings with the known grades of their items."""
    if gold is None or rankings.judgments is None:
        return rankings
    labels = len(rankings.judgments.scale)
    scale = Scale(tuple(range(3 if labels == 2 else labels)), ordinal=True)
    _, grades = read_gold(gold, dataclasses.replace(rankings.judgments, scale=scale))
    return dataclasses.replace(rankings, gold=frozen(grades[: len(rankings.items)]))


def _warn_of_unlinked_items(source: Source, rankings: Rankings) -> None:
    """Warn of topics in which some items are linked to others by no chain of rankings."""
    groups = linked_groups(rankings)
    split = np.flatnonzero(groups > 1)
    if not split.size:
        return
    few = f"{groups[split[0]]:,} groups of items"
    where = "no chain of rankings links all items"
    if rankings.topics is None:
        problem = f"{where}: there are {few}"
    else:
        name = quote(rankings.topics[int(split[0])])
        problem = f"in {split.size:,} of {groups.size:,} topics {where}, such as topic {name} with {few}"
    advice = "the data do not tell the order of items of different groups"
    warnings.warn(f"{source.name}: {problem}; {advice}", AdjudgeWarning, stacklevel=3)


def linked_groups(rankings: Rankings) -> Codes:
    """Return the number of groups of items in each topic (T) that no chain of rankings links.

    Two items are linked if some ranking has both, or if both are linked to a third.
    """
    from scipy.sparse import coo_array  # imported here because it takes as long to load as a small fit to run
    from scipy.sparse.csgraph import connected_components

    items, size = len(rankings.items), np.diff(rankings.start)
    edges = (rankings.item, items + np.repeat(np.arange(size.size), size))
    graph = coo_array((np.ones(rankings.item.size, bool), edges), shape=(items + size.size,) * 2)
    _, component = connected_components(graph, directed=False)
    pair = np.unique(rankings.topic.astype(np.int64) * (items + size.size) + component[:items])
    groups: Codes = np.bincount(pair // (items + size.size))
    return groups


def _check_options(method: str, options: RankOptions, reliability: bool | None) -> None:
    """Refuse an unknown method, and options that it does not have."""
    if method not in METHODS:
        raise UsageError(not_one_of("method", method, METHODS))
    for name in ("spread", "judge_spread"):
        if not SPREADS[0] <= getattr(options, name) <= SPREADS[1]:
            raise UsageError(f"{name} {getattr(options, name)!r} is not a number from {SPREADS[0]} to {SPREADS[1]}")
    if options.position_bias and not METHODS[method].pairs:
        raise UsageError(f"position_bias needs preferences and the method 'bradley-terry', not '{method}'")
    if reliability is False and METHODS[method].labels:
        raise UsageError(f"method '{method}' always estimates the reliability of judges")
    if reliability and METHODS[method].reliability is None:
        raise UsageError(f"method '{method}' does not estimate the reliability of judges; 'plackett-luce' does")


def rank_by(method: str, rankings: Rankings, options: RankOptions) -> Ranking:
    """Return the consensus of encoded rankings by one of ``METHODS``, with ranks and the agreement of judges."""
    consensus = METHODS[method].run(rankings, options)
    ranks = _ranks(consensus.score, rankings.topic)
    tau = tau_b(rankings.start, rankings.judge, rankings.item, rankings.level, ranks, len(rankings.judges))
    parts = {"rank": ranks, "tau": tau, **consensus._asdict()}
    fixed: dict[str, Any] = {
        name: frozen(part) if isinstance(part, np.ndarray) else part for name, part in parts.items()
    }
    return Ranking(method=method, rankings=rankings, **fixed)


def _ranks(score: Floats, topic: Codes) -> Codes:
    """Return the rank of each item in its topic (I): 1, 2, 2, 4 if two scores are equal."""
    order = np.lexsort((-score, topic))
    n = np.arange(order.size)
    new = np.r_[True, np.diff(topic[order]) != 0]
    apart = new | np.r_[True, -np.diff(score[order]) > SAME]
    begin, group = (np.maximum.accumulate(np.where(flag, n, 0)) for flag in (new, apart))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = group - begin + 1
    return ranks


def _missing_if_nan(values: Floats) -> list[float | None]:
    """Return numbers as a column in which nan is missing."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def tau_b(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, judges: int) -> Floats:
    """Return Kendall's tau-b of each judge (J) with the ``rank`` (I) of items; nan if all pairs are tied.

    With C pairs in the same order, D in the opposite order, and X and Y pairs that the judge and the ranks do not tie,
    tau-b = (C - D) / sqrt(X Y) (Kendall, 1945, Biometrika 33, 239-251). Pairs are within one ranking; those of all
    rankings of a judge are added.
    """
    tally = np.zeros((judges, 3))  # C - D, X, Y
    _count(start, judge, item, level, rank, tally)
    tau = np.full(judges, np.nan)
    apart = np.sqrt(tally[:, 1] * tally[:, 2])
    np.divide(tally[:, 0], apart, out=tau, where=apart > 0)
    return tau


@compiled
def _count(start: Codes, judge: Codes, item: Codes, level: Codes, rank: Codes, tally: Floats) -> None:
    """Count the pairs of each ranking; entries are sorted, best first."""
    for r in range(judge.size):
        for a in range(start[r], start[r + 1]):
            for b in range(a + 1, start[r + 1]):
                below, lead = level[b] > level[a], rank[item[b]] - rank[item[a]]
                tally[judge[r], 0] += below * np.sign(lead)
                tally[judge[r], 1] += below
                tally[judge[r], 2] += lead != 0
