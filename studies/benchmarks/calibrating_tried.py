"""What was tried for calibration without gold, and dropped: mean log loss over the sets that are quickly fitted.

Seven models and the smoothed vote are fitted to five folds of the judgments; each model's posterior is tempered by the
power that foretells the judgments held back best. Gold is looked at only to score what each idea comes to; and, in
``settings``, to ask how much of the hedge's gain hangs on its constants having been chosen on these same sets: they are
chosen anew on all sets but one, and scored on that one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.inference.calibrate import SURE
from adjudge.inference.calibration import Calibration, smoothed_votes
from adjudge.inference.select import counted_chances, even_weights, random_folds
from adjudge.kernels.centre import label_counts
from studies.benchmarks.choosing import judged

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
LEVELS = (1.0, 0.75, 0.5, 0.25, 0.0)  # shares of judgments of an item that are judged, and not guessed
ROUNDS = 200
DOUBTS, STRONG, SHARES = (0.0, 0.75, 1.5, 3.0), (0.2, 0.4, 0.6, 0.9, 1.3), (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


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
        tried = ideas(sources(judgments), even_weights(judgments), drawn_only(judgments))
        tried["difficulty"] = easy_and_hard(judgments)
        for idea, posterior in tried.items():
            found.setdefault(idea, []).append(loss(posterior, gold))
        print(f"{name}: tried", file=sys.stderr)
    return {idea: float(np.mean(losses)) for idea, losses in found.items()}


def ideas(by: Mapping[str, Source], weight: Floats, simulated: Floats) -> dict[str, Floats]:
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
        "half": (plain.own + vote) / 2,
        "simulated": simulated,
        "equal": np.mean([one.posterior for one in by.values()], axis=0),
        "four": np.mean([by[name].posterior for name in FOUR], axis=0),
    }


def drawn_only(judgments: adjudge.Judgments) -> Floats:
    """Return Dawid-Skene (I, K) with the share of the vote that simulated crowds ask for, and no more."""
    own, fit = (adjudge.fit(judgments, PLAIN, calibrate=how) for how in ("none", "judgments"))
    assert fit.calibration is not None  # it was asked for
    h = fit.calibration.simulated
    mix: Floats = (1 - h) * own.posterior + h * smoothed_votes(judgments.block(), fit.calibration.extra)
    return mix


def easy_and_hard(judgments: adjudge.Judgments) -> Floats:
    """Return the truths (I, K) of Dawid-Skene with difficulty as a random effect of items, by EM over its levels.

    At level a, a judge looks with probability a and then says what her matrix has, and else guesses as all labels are
    common. Levels and truths are summed over together; looks are latent, so that every step is exact.
    """
    item, judge, label = judgments.item(), judgments.judge, judgments.label
    (J, K), level = (len(judgments.judges), len(judgments.scale)), np.array(LEVELS)
    guess = np.bincount(label, minlength=K) / label.size
    truth = adjudge.fit(judgments, PLAIN, tolerance=1e-6).posterior
    state = truth[:, :, None] * np.full(level.size, 1 / level.size)  # (I, K, G)
    looked = np.ones((label.size, K, level.size))  # chance that she looked, by truth and level
    for _ in range(ROUNDS):
        held = state[item] * looked
        tally = np.full((J, K, K), 0.1 / K)
        np.add.at(tally, (judge, slice(None), label), held.sum(axis=2))
        matrix = tally / tally.sum(axis=2, keepdims=True)
        common = state.sum(axis=0) / len(state)  # (K, G)
        own = matrix[judge, :, label][:, :, None] * level  # (N, K, G)
        chance = own + (guess[label][:, None, None] * (1 - level))
        looked = own / np.maximum(chance, 1e-300)
        logs = np.broadcast_to(np.log(np.maximum(common, 1e-12)), state.shape).copy()
        np.add.at(logs, item, np.log(np.maximum(chance, 1e-12)))
        state = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        state /= state.sum(axis=(1, 2), keepdims=True)
    probabilities: Floats = state.sum(axis=2)
    return probabilities


def settings() -> dict[str, float]:
    """Return the mean log loss of the hedge as it is, with constants chosen on the other sets, and on all."""
    grid = [(doubt, strong, share) for doubt in DOUBTS for strong in STRONG for share in SHARES]
    losses, used = [], []
    for name in SETS:
        judgments, gold = judged(name)
        own, fit = (adjudge.fit(judgments, PLAIN, calibrate=how) for how in ("none", "judgments"))
        seen = fit.calibration
        assert seen is not None  # it was asked for
        vote = smoothed_votes(judgments.block(), seen.extra)
        hedges = [1 - (1 - seen.simulated) * (1 - unseen(seen, *each)) for each in grid]
        losses.append([loss((1 - h) * own.posterior + h * vote, gold) for h in hedges])
        used.append(loss(fit.posterior, gold))
    each = np.array(losses)  # (S, grid)
    others = (each.sum(axis=0) - each) / (len(SETS) - 1)
    left_out = each[np.arange(len(SETS)), others.argmin(axis=1)]
    found = {"used": float(np.mean(used)), "left out": float(left_out.mean()), "best": float(each.mean(axis=0).min())}
    print("best on all:", grid[int(each.mean(axis=0).argmin())], file=sys.stderr)
    return found


def unseen(seen: Calibration, doubt: float, strong: float, share: float) -> float:
    """Return the share for what cannot be seen, under other constants."""
    surely = -np.expm1(-(max(0.0, seen.dependence - doubt) ** 2) / SURE)
    return float(share * surely * -np.expm1(-((seen.strength / strong) ** 2)))


def sources(judgments: adjudge.Judgments) -> dict[str, Source]:
    """Return the vote and all models, each as tempered as foretells judgments best."""
    fold, weight, whole = random_folds(judgments, FOLDS, 0), even_weights(judgments), candidates(judgments)
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
    for idea, value in {**settings(), **measure()}.items():
        print(f"{idea:12s} {value:.3f}")
