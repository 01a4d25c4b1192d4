"""Whether a ranker beats the first stage: the run, or the feature, whose documents it ranks again.

Both are scored on the same topics. The difference of their means has a 95 % interval by Student's t over topics, and a
p-value by random signs of topics (Fisher's randomisation). A ranker beats the first stage if its MAP is higher.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.runs import System, read_run
from adjudge.errors import UsageError, quote, quoted
from adjudge.learn.topic_scores import MEASURES, score_groups
from adjudge.learn.training_set import Features
from adjudge.metrics.significance import LEVEL, sign_flips

FEATURE = "bm25"  # the first stage, unless another is named
VERDICT = "MAP"  # the measure that decides
DRAWS = 5_000


class FirstStage(NamedTuple):
    """The order before ranking again."""

    name: str
    score: Floats  # (N) of every row of the features


class Gain(NamedTuple):
    """One measure of the ranker and of the first stage, as means over topics."""

    measure: str
    first: float
    ranker: float
    difference: float
    low: float  # of the interval of the difference
    high: float
    p: float


class Comparison(NamedTuple):
    """A ranker compared with the first stage."""

    first: str  # name of the first stage
    topics: int  # with a relevant document
    gains: Mapping[str, Gain]  # by measure

    @property
    def better(self) -> bool:
        """Whether the ranker has the higher MAP."""
        return self.gains[VERDICT].difference > 0

    @property
    def verdict(self) -> str:
        """A sentence on whether the ranker beats the first stage, and by how much."""
        gain = self.gains[VERDICT]
        beats = "beats" if self.better else "does not beat"
        chance = "" if gain.low > 0 or gain.high < 0 else "; the interval includes 0, so this can be chance"
        return (
            f"the ranker {beats} the first stage {quote(self.first)}: {VERDICT} {gain.ranker:.3f} against "
            f"{gain.first:.3f}, a difference of {gain.difference:+.3f} (95% interval {gain.low:+.3f} to "
            f"{gain.high:+.3f}, p = {gain.p:.3g}) on {self.topics:,} topics{chance}"
        )


def read_first_stage(first: Any, table: Features) -> FirstStage | None:
    """Return the first stage: a feature by its name, or a run. Without a name it is the feature bm25, if there is one.

    Documents that are not in the run come last.
    """
    if first is None and FEATURE not in table.names:
        return None
    if first is None or (isinstance(first, str) and first in table.names):
        name = FEATURE if first is None else first
        return FirstStage(name, table.X[:, table.names.index(name)])
    if isinstance(first, str | os.PathLike) and not os.path.exists(first):
        raise UsageError(
            f"first stage {quote(first)} is neither a feature nor a file: features are {quoted(table.names)}, and a "
            "run is a file in TREC format"
        )
    run: System = first if isinstance(first, System) else read_run(first)
    score = {(t, d): s for t, d, s in run.table.select("topic", "document", "score").iter_rows()}
    pairs = zip(table.topics, table.documents, strict=True)
    values = np.array([score.get(pair, -np.inf) for pair in pairs])
    if np.isinf(values).all():
        raise UsageError(f"first stage {quote(run.name)} has none of the {len(table):,} documents with features")
    return FirstStage(run.name, values)


def compare(
    first: FirstStage, score: Floats, rows: Codes, relevant: Flags, table: Features, seed: int = 0
) -> Comparison:
    """Compare scores (N) with the first stage, on the judged rows (M) of which some are ``relevant`` (M)."""
    topics, documents = np.array(table.topics)[rows], np.array(table.documents)[rows]
    values = [score_groups(each[rows], relevant, topics, documents).values for each in (first.score, score)]
    gains = {}
    for measure in MEASURES:
        before, after = (value[measure] for value in values)
        difference = after - before
        low, high = interval(difference)
        p = float(sign_flips(difference[:, None], draws=DRAWS, seed=seed)[0])
        gains[measure] = Gain(
            measure, float(before.mean()), float(after.mean()), float(difference.mean()), low, high, p
        )
    return Comparison(first.name, values[0][VERDICT].size, gains)


def interval(difference: Floats) -> tuple[float, float]:
    """Return Student's interval of a mean; infinite for a single value.

    >>> low, high = interval(np.array([0.0, 1.0, 2.0]))  # 1 ± 4.3027 / sqrt(3)
    >>> round(low, 4), round(high, 4)
    (-1.4841, 3.4841)
    """
    mean, n = float(difference.mean()), difference.size
    if n < 2:
        return -np.inf, np.inf
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * float(difference.std(ddof=1)) / n**0.5
    return mean - half, mean + half
