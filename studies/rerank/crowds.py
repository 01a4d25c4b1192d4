"""Simulated crowds for the study of paper 004, on passages with known truth, with the statistics of the paper.

The paper has 108 judges with 21 to 1,050 passages each, five judgments per passage, a trust score per judge, and full
agreement on 51.8 % of the passages. The numbers of passages are drawn log-uniformly between these limits and scaled to
the right sum. A judge has a sensitivity and a specificity, both logistic in one normal skill. The mean skill is found
by bisection, so that the expected share of passages with full agreement is as required. A trust score is the share of
40 earlier tasks that a judge of this skill answered correctly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.scale import Scale
from adjudge.errors import UsageError, quoted

JUDGES, PANEL = 108, 5
LEAST, MOST = 21, 1050  # passages per judge
FULL = 0.518  # share of passages with full agreement
EARLIER = 40  # tasks behind a trust score
APART = 0.9  # standard deviation of skills, on the logistic scale
STRICT = 1.0  # specificity minus sensitivity, on the logistic scale
BISECTIONS = 40
FEW = 50  # mean passages per judge on sets that are too small for all judges
ROUNDS = 1_000  # of swaps that remove duplicates from panels


class Regime(NamedTuple):
    """The parameters of a simulated crowd."""

    name: str
    summary: str
    full: float = FULL  # share of passages with full agreement
    relation: float = 0.6  # correlation of activity with skill
    spammers: float = 0.0  # share of judges who answer at random; these are the most active
    hard: float = 0.0  # standard deviation of the difficulty of passages, for all judges
    lure: float = 0.0  # increase of the difficulty with the apparent relevance


REGIMES: Mapping[str, Regime] = {
    regime.name: regime
    for regime in (
        Regime("paper", "as in the paper: 52 % full agreement, active judges are better"),
        Regime("clean", "75 % full agreement", full=0.75),
        Regime("noisy", "30 % full agreement", full=0.30),
        Regime("unrelated", "activity is not related to skill", relation=0.0),
        Regime("careless", "active judges are worse", relation=-0.6),
        Regime("spam", "one judge in ten answers at random, and these are the most active", relation=0.0, spammers=0.1),
        Regime("noisy spam", "25 % full agreement, one judge in five answers at random", 0.25, 0.0, spammers=0.2),
        Regime("hard", "some passages are harder than others for all judges", hard=1.5),
        Regime("lured", "passages that look relevant mislead all judges", hard=0.5, lure=1.0),
    )
}


class Crowd(NamedTuple):
    """The judgments of a crowd on N passages, and the trust scores of judges."""

    judgments: Judgments
    trust: Mapping[str, float]


def regime_named(name: str) -> Regime:
    """Return a regime by its name."""
    if name not in REGIMES:
        raise UsageError(f"crowd '{name}' is not one of {quoted(REGIMES, most=99)}")
    return REGIMES[name]


def draw_crowd(truth: Flags, regime: Regime, rng: np.random.Generator, looks: Floats | None = None) -> Crowd:
    """Simulate a crowd on passages (N); ``looks`` (N) is the apparent relevance of each."""
    passages = truth.size
    judges = max(2 * PANEL, round(min(JUDGES, passages * PANEL / FEW)))  # fewer on small sets
    count = draw_activities(passages * PANEL, judges, min(MOST, passages // 2), rng)
    judge = draw_panels(count, passages, rng)  # (N, 5)
    busy = np.argsort(np.argsort(count)) / max(judges - 1, 1)
    skill = draw_skills(busy, regime.relation, rng) * APART
    strange = np.zeros(judges, dtype=bool)
    strange[np.argsort(-count)[: round(regime.spammers * judges)]] = True
    coin = rng.uniform(0.1, 0.9, judges)
    difficulty = regime.hard * rng.normal(size=passages)
    if regime.lure and looks is not None:
        difficulty = difficulty + regime.lure * np.where(truth, -1.0, 1.0) * standard(looks)
    yes = yes_probabilities(judge, truth, skill, difficulty, strange, coin, regime.full)
    label = (rng.random(yes.shape) < yes).astype(np.uint8)
    right = 1 / (1 + np.exp(-(accuracy_logits(yes, truth, judge, judges))))
    trust = rng.binomial(EARLIER, np.clip(np.where(strange, 0.5, right), 0.02, 0.98)) / EARLIER
    names = [f"j{j:03d}" for j in range(judges)]
    return Crowd(table(judge, label, names), dict(zip(names, trust.tolist(), strict=True)))


def table(judge: Codes, label: Codes, names: list[str]) -> Judgments:
    """Return the judgments of panels (N, P); items are named by row number."""
    items = pl.Series("item", [str(n) for n in range(judge.shape[0])])
    item = np.repeat(np.arange(judge.shape[0], dtype=np.int32), judge.shape[1])
    return from_codes(
        item, judge.ravel(), label.ravel(), items=items, judges=pl.Series("judge", names), scale=Scale((0, 1), False)
    )


def draw_activities(total: int, judges: int, most: int, rng: np.random.Generator) -> Codes:
    """Draw the number of passages per judge (J), log-uniform between the limits, with the given sum."""
    least = min(LEAST, total // judges)
    raw = np.log(least) + rng.random(judges) * np.log(most / least)
    raw[np.argsort(raw)[[0, -1]]] = -np.inf, np.inf  # the limits of the paper are reached
    low, high = -20.0, 20.0
    for _ in range(BISECTIONS):  # find a shift of the logarithms that gives the sum
        middle = (low + high) / 2
        below = np.clip(np.exp(raw + middle), least, most).sum() < total
        low, high = (middle, high) if below else (low, middle)
    count = np.floor(np.clip(np.exp(raw + high), least, most)).astype(np.int64)
    while (rest := total - int(count.sum())) != 0:
        able = np.flatnonzero((count > least) & (count < most))
        chosen = rng.permutation(able if able.size else np.flatnonzero(count < most))[: abs(rest)]
        count[chosen] += 1 if rest > 0 else -1
    return np.asarray(count, dtype=np.int64)


def draw_panels(count: Codes, passages: int, rng: np.random.Generator) -> Codes:
    """Draw the judges of each passage (N, 5), without duplicates; ``count`` (J) is the passages per judge."""
    judge: NDArray[np.int64] = rng.permutation(np.repeat(np.arange(count.size), count)).reshape(passages, PANEL)
    for _ in range(ROUNDS):
        ordered = np.argsort(judge, axis=1, kind="stable")
        sorted_ = np.take_along_axis(judge, ordered, axis=1)
        twice, column = np.nonzero(sorted_[:, 1:] == sorted_[:, :-1])
        if not twice.size:
            return judge
        flat = judge.reshape(-1)  # a view
        mine = twice * PANEL + ordered[twice, column + 1]
        other = rng.choice(flat.size, mine.size, replace=False)
        for a, b in zip(mine.tolist(), other.tolist(), strict=True):  # fewer in every round
            flat[a], flat[b] = flat[b], flat[a]
    raise UsageError(f"{count.size} judges are too few for panels of {PANEL} without duplicates")


def draw_skills(busy: Floats, relation: float, rng: np.random.Generator) -> Floats:
    """Draw normal skills (J) with a given correlation with activity (ranks from 0 to 1)."""
    from scipy.special import ndtri

    normal = ndtri((busy * (busy.size - 1) + 0.5) / busy.size)
    skill: Floats = relation * normal + np.sqrt(1 - relation**2) * rng.normal(size=busy.size)
    return skill


def yes_probabilities(
    judge: Codes, truth: Flags, skill: Floats, difficulty: Floats, strange: Flags, coin: Floats, full: float
) -> Floats:
    """Return p(yes) of each judgment (N, 5), with the mean skill that gives the share of full agreement."""
    low, high = -4.0, 8.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        yes = _yes(judge, truth, skill + middle, difficulty, strange, coin)
        agreed = (yes.prod(axis=1) + (1 - yes).prod(axis=1)).mean()
        if agreed < full:
            low = middle
        else:
            high = middle
    return _yes(judge, truth, skill + high, difficulty, strange, coin)


def _yes(judge: Codes, truth: Flags, skill: Floats, difficulty: Floats, strange: Flags, coin: Floats) -> Floats:
    """Return p(yes) of each judgment (N, 5)."""
    lean = np.where(truth, 0.0, STRICT)
    right = 1 / (1 + np.exp(-(skill[judge] + lean[:, None] - difficulty[:, None])))
    yes: Floats = np.where(strange[judge], coin[judge], np.where(truth[:, None], right, 1 - right))
    return yes


def accuracy_logits(yes: Floats, truth: Flags, judge: Codes, judges: int) -> Floats:
    """Return the logit of the accuracy of every judge (J)."""
    right = np.where(truth[:, None], yes, 1 - yes).ravel()
    share = np.bincount(judge.ravel(), right, judges) / np.maximum(np.bincount(judge.ravel(), minlength=judges), 1)
    share = np.clip(share, 0.01, 0.99)
    level: Floats = np.log(share / (1 - share))
    return level


def standard(value: Floats) -> Floats:
    """Return values with mean 0 and variance 1."""
    spread = float(value.std())
    plain: Floats = (value - value.mean()) / (spread if spread > 0 else 1.0)
    return plain


def full_agreement(judgments: Judgments) -> float:
    """Return the share of passages with full agreement."""
    n = np.diff(judgments.start)
    ones = np.bincount(judgments.item(), judgments.label, len(judgments.items))
    return float(((ones == 0) | (ones == n)).mean())
