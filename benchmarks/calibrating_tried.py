"""What was tried for calibration without gold, and dropped: mean log loss over the sets that are quickly fitted.

Seven models and the smoothed vote are fitted to five folds of the judgments; each model's posterior is tempered by the
power that foretells the judgments held back best. Gold is looked at only to score what each idea comes to.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.kernels.centre import label_counts
from adjudge.kernels.predictive import counted_chances
from adjudge.models.holdout import dealt, even_weights
from choosing import judged

SETS = (
    "bluebirds", "dog", "ducks", "nyt_2p", "nyt_3p", "possent", "product", "rte", "sentiment_polarity", "temp",
    "trec2011_task2_mini", "weather_amt", "web_search", "wsd",
)  # fmt: skip
MODELS = ("dawid-skene", "hybrid-confusion", "single-confusion", "minimax-entropy", "glad", "mace")
POWERS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
VOTES = (0.5, 1, 2, 4, 8)  # pseudo-votes that are tried
FOLDS = 5
VOTE, PLAIN = "vote", "dawid-skene"
FOUR = (VOTE, PLAIN, "single-confusion", "minimax-entropy")


class Source(NamedTuple):
    """What one model comes to at the power that foretells judgments best."""

    power: float
    posterior: Floats  # (I, K) of all judgments
    own: Floats  # (I, K) untempered
    logs: Floats  # (N) of judgments held back


def measure() -> dict[str, float]:
    """Return the mean log loss of every idea."""
    found: dict[str, list[float]] = {}
    for name in SETS:
        judgments, gold = judged(name)
        for idea, posterior in ideas(sources(judgments), even_weights(judgments)).items():
            found.setdefault(idea, []).append(loss(posterior, gold))
        print(f"{name}: tried", file=sys.stderr)
    return {idea: float(np.mean(losses)) for idea, losses in found.items()}


def ideas(by: Mapping[str, Source], weight: Floats) -> dict[str, Floats]:
    """Return what each idea makes of the sources (I, K)."""
    vote, plain = by[VOTE].posterior, by[PLAIN]
    logs = np.mean([np.log(np.clip(one.posterior, 1e-6, 1)) for one in by.values()], axis=0)
    pooled = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = stacked(np.array([one.logs for one in by.values()]), weight)
    return {
        "vote": vote,
        "own": plain.own,
        "temperature": plain.posterior,
        "log": pooled / pooled.sum(axis=1, keepdims=True),
        "stack": sum(share * one.posterior for share, one in zip(shares, by.values(), strict=True)),
        "hedge": plain.power * plain.posterior + (1 - plain.power) * vote,
        "half": (plain.posterior + vote) / 2,
        "equal": np.mean([one.posterior for one in by.values()], axis=0),
        "four": np.mean([by[name].posterior for name in FOUR], axis=0),
    }


def sources(judgments: adjudge.Judgments) -> dict[str, Source]:
    """Return the vote and all models, each as tempered as foretells judgments best."""
    fold, weight, whole = dealt(judgments, FOLDS, 0), even_weights(judgments), candidates(judgments)
    logs = {key: np.empty(len(judgments)) for key in whole}
    for f in range(FOLDS):
        shown, held = (judgments.take(np.flatnonzero(kept)) for kept in (fold != f, fold == f))
        for key, posterior in candidates(shown).items():
            logs[key][fold == f] = np.log(counted_chances(shown.block(), posterior, held.block()))
    found = {}
    for name in (VOTE, *MODELS):
        best = max((key for key in whole if key[0] == name), key=lambda key: float(weight @ logs[key]))
        found[name] = Source(best[1], whole[best], whole[name, 1], logs[best])
    return found


def candidates(judgments: adjudge.Judgments) -> dict[tuple[str, float], Floats]:
    """Return the smoothed vote and every model's posterior at every power (I, K)."""
    counts = label_counts(judgments.block())
    total = counts.sum(axis=1, keepdims=True)
    common = (counts / np.maximum(total, 1))[total[:, 0] > 0].mean(axis=0)
    found: dict[tuple[str, float], Floats] = {(VOTE, a): (counts + a * common) / (total + a) for a in VOTES}
    for name in MODELS:
        p = adjudge.fit(judgments, name, inference="map", tolerance=1e-6).posterior
        found |= {(name, power): tempered(p, power) for power in POWERS}
    return found


def tempered(posterior: Floats, power: float) -> Floats:
    """Return a posterior whose likelihood counts by a power."""
    logs = power * np.log(np.clip(posterior, 1e-12, 1)) + (1 - power) * np.log(np.clip(posterior.mean(axis=0), 1e-6, 1))
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities


def stacked(logs: Floats, weight: Floats, rounds: int = 300) -> Floats:
    """Return the shares of models (M) under which judgments held back (M, N) are likeliest."""
    chances, share = np.exp(logs - logs.max(axis=0)), np.full(len(logs), 1 / len(logs))
    for _ in range(rounds):
        own = share[:, None] * chances
        share = (own / own.sum(axis=0)) @ weight
        share /= share.sum()
    return share


def loss(posterior: Floats, gold: Codes) -> float:
    """Return the mean log loss on gold items, probabilities kept within .001 and .999."""
    known = np.flatnonzero(gold >= 0)
    return float(-np.log(np.clip(posterior[known, gold[known]], 1e-3, 1 - 1e-3)).mean())


if __name__ == "__main__":
    for idea, value in measure().items():
        print(f"{idea:12s} {value:.3f}")
