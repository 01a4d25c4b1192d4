"""Alternative methods of calibration without gold that are not used: their mean log loss over sets that fit quickly.

Six models and the smoothed vote are fitted to five folds of the judgments. The posterior of each model is tempered by
the power with the best held-out log-likelihood. Gold is used to score the methods. In ``settings``, it also shows how
much of the gain depends on constants that were chosen on the same sets: they are chosen again on all sets but one, and
scored on that one.
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
from adjudge.kernels.truth import label_counts
from studies.benchmarks.model_selection import read_judged

SETS = (
    "bluebirds", "dog", "ducks", "nyt_2p", "nyt_3p", "possent", "product", "rte", "sentiment_polarity", "temp",
    "trec2011_task2_mini", "weather_amt", "web_search", "wsd",
)  # fmt: skip
MODELS = ("dawid-skene", "hybrid-confusion", "single-confusion", "minimax-entropy", "glad", "mace")
POWERS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
VOTES = (0.5, 1, 2, 4, 8)  # numbers of pseudo-votes
FOLDS = 5
VOTE, PLAIN = "vote", "dawid-skene"
FOUR = (VOTE, PLAIN, "single-confusion", "minimax-entropy")
LEVELS = (1.0, 0.75, 0.5, 0.25, 0.0)  # shares of the judgments of an item that are not guessed
ROUNDS = 200
DOUBTS, STRONG, SHARES = (0.0, 0.75, 1.5, 3.0), (0.2, 0.4, 0.6, 0.9, 1.3), (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


class Source(NamedTuple):
    """A model, tempered by the power with the best held-out log-likelihood."""

    power: float
    posterior: Floats  # (I, K) of all judgments
    untempered: Floats  # (I, K)
    logs: Floats  # (N) log-likelihoods of held-out judgments


def measure() -> dict[str, float]:
    """Return the mean log loss of every method."""
    losses_by_idea: dict[str, list[float]] = {}
    for name in SETS:
        judgments, gold = read_judged(name)
        posteriors = ideas(sources(judgments), even_weights(judgments), simulated_weight(judgments))
        posteriors["difficulty"] = with_difficulty(judgments)
        for idea, posterior in posteriors.items():
            losses_by_idea.setdefault(idea, []).append(loss(posterior, gold))
        print(f"{name}: finished", file=sys.stderr)
    return {idea: float(np.mean(losses)) for idea, losses in losses_by_idea.items()}


def ideas(by: Mapping[str, Source], weight: Floats, simulated: Floats) -> dict[str, Floats]:
    """Return the probabilities (I, K) of each method, from the tempered models."""
    vote, plain = by[VOTE].posterior, by[PLAIN]
    logs = np.mean([np.log(np.clip(source.posterior, 1e-6, 1)) for source in by.values()], axis=0)
    pooled = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = stacked(np.array([source.logs for source in by.values()]), weight)
    return {
        "vote": vote,
        "own": plain.untempered,
        "temperature": plain.posterior,
        "log": pooled / pooled.sum(axis=1, keepdims=True),
        "stack": sum(share * source.posterior for share, source in zip(shares, by.values(), strict=True)),
        "weight of the vote": plain.power * plain.posterior + (1 - plain.power) * vote,
        "half": (plain.untempered + vote) / 2,
        "simulated": simulated,
        "equal": np.mean([source.posterior for source in by.values()], axis=0),
        "four": np.mean([by[name].posterior for name in FOUR], axis=0),
    }


def simulated_weight(judgments: adjudge.Judgments) -> Floats:
    """Return Dawid-Skene (I, K) mixed with the vote shares, with the weight from simulated crowds only."""
    plain, fit = (adjudge.fit(judgments, PLAIN, calibrate=how) for how in ("none", "judgments"))
    assert fit.calibration is not None  # calibration was requested
    h = fit.calibration.simulated
    mix: Floats = (1 - h) * plain.posterior + h * smoothed_votes(judgments.block(), fit.calibration.extra)
    return mix


def with_difficulty(judgments: adjudge.Judgments) -> Floats:
    """Return the posterior (I, K) of Dawid-Skene with difficulty as a random effect of items, by EM over its levels.

    At level a, a judge answers by their confusion matrix with probability a, and otherwise guesses with the overall
    label frequencies. Levels and true labels are summed out together; whether a judge guesses is latent, so that every
    step is exact.
    """
    item, judge, label = judgments.item(), judgments.judge, judgments.label
    (J, K), level = (len(judgments.judges), len(judgments.scale)), np.array(LEVELS)
    guess = np.bincount(label, minlength=K) / label.size
    truth = adjudge.fit(judgments, PLAIN, tolerance=1e-6).posterior
    state = truth[:, :, None] * np.full(level.size, 1 / level.size)  # (I, K, G)
    looked = np.ones((label.size, K, level.size))  # probability that the judge does not guess, by truth and level
    for _ in range(ROUNDS):
        weight = state[item] * looked
        tally = np.full((J, K, K), 0.1 / K)
        np.add.at(tally, (judge, slice(None), label), weight.sum(axis=2))
        matrix = tally / tally.sum(axis=2, keepdims=True)
        common = state.sum(axis=0) / len(state)  # (K, G)
        looking = matrix[judge, :, label][:, :, None] * level  # (N, K, G)
        chance = looking + (guess[label][:, None, None] * (1 - level))
        looked = looking / np.maximum(chance, 1e-300)
        logs = np.broadcast_to(np.log(np.maximum(common, 1e-12)), state.shape).copy()
        np.add.at(logs, item, np.log(np.maximum(chance, 1e-12)))
        state = np.exp(logs - logs.max(axis=(1, 2), keepdims=True))
        state /= state.sum(axis=(1, 2), keepdims=True)
    probabilities: Floats = state.sum(axis=2)
    return probabilities


def settings() -> dict[str, float]:
    """Return the mean log loss with the constants in use, with those chosen on the other sets, and on all sets."""
    grid = [(doubt, strong, share) for doubt in DOUBTS for strong in STRONG for share in SHARES]
    losses, used = [], []
    for name in SETS:
        judgments, gold = read_judged(name)
        plain, fit = (adjudge.fit(judgments, PLAIN, calibrate=how) for how in ("none", "judgments"))
        calibration = fit.calibration
        assert calibration is not None  # calibration was requested
        vote = smoothed_votes(judgments.block(), calibration.extra)
        hedges = [1 - (1 - calibration.simulated) * (1 - extra_share(calibration, *each)) for each in grid]
        losses.append([loss((1 - h) * plain.posterior + h * vote, gold) for h in hedges])
        used.append(loss(fit.posterior, gold))
    each = np.array(losses)  # (S, grid)
    others = (each.sum(axis=0) - each) / (len(SETS) - 1)
    left_out = each[np.arange(len(SETS)), others.argmin(axis=1)]
    losses_by_setting = {
        "used": float(np.mean(used)),
        "left out": float(left_out.mean()),
        "best": float(each.mean(axis=0).min()),
    }
    print("best on all:", grid[int(each.mean(axis=0).argmin())], file=sys.stderr)
    return losses_by_setting


def extra_share(calibration: Calibration, doubt: float, strong: float, share: float) -> float:
    """Return the additional weight of the vote for errors that cannot be observed, with other constants."""
    surely = -np.expm1(-(max(0.0, calibration.dependence - doubt) ** 2) / SURE)
    return float(share * surely * -np.expm1(-((calibration.strength / strong) ** 2)))


def sources(judgments: adjudge.Judgments) -> dict[str, Source]:
    """Return the vote and all models, each tempered by the power with the best held-out log-likelihood."""
    fold, weight, posteriors = random_folds(judgments, FOLDS, 0), even_weights(judgments), candidates(judgments)
    logs = {key: np.empty(len(judgments)) for key in posteriors}
    for f in range(FOLDS):
        training, held_out = (judgments.take(np.flatnonzero(in_part)) for in_part in (fold != f, fold == f))
        for key, posterior in candidates(training).items():
            logs[key][fold == f] = np.log(counted_chances(training.block(), posterior, held_out.block()))
    best_sources = {}
    for name in (VOTE, *MODELS):
        best = max((key for key in posteriors if key[0] == name), key=lambda key: float(weight @ logs[key]))
        best_sources[name] = Source(best[1], posteriors[best], posteriors[name, 1], logs[best])
    return best_sources


def candidates(judgments: adjudge.Judgments) -> dict[tuple[str, float], Floats]:
    """Return the smoothed vote and the posterior of every model at every power (I, K)."""
    counts = label_counts(judgments.block())
    total = counts.sum(axis=1, keepdims=True)
    common = (counts / np.maximum(total, 1))[total[:, 0] > 0].mean(axis=0)
    posteriors: dict[tuple[str, float], Floats] = {(VOTE, a): (counts + a * common) / (total + a) for a in VOTES}
    for name in MODELS:
        p = adjudge.fit(judgments, name, inference="map", tolerance=1e-6).posterior
        posteriors |= {(name, power): tempered(p, power) for power in POWERS}
    return posteriors


def tempered(posterior: Floats, power: float) -> Floats:
    """Return a posterior whose likelihood is raised to a power."""
    logs = power * np.log(np.clip(posterior, 1e-12, 1)) + (1 - power) * np.log(np.clip(posterior.mean(axis=0), 1e-6, 1))
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities


def stacked(logs: Floats, weight: Floats, rounds: int = 300) -> Floats:
    """Return the weights of models (M) that maximise the likelihood of held-out judgments (M, N)."""
    chances, share = np.exp(logs - logs.max(axis=0)), np.full(len(logs), 1 / len(logs))
    for _ in range(rounds):
        joint = share[:, None] * chances
        share = (joint / joint.sum(axis=0)) @ weight
        share /= share.sum()
    return share


def loss(posterior: Floats, gold: Codes) -> float:
    """Return the mean log loss on gold items, probabilities kept within .001 and .999."""
    items = np.flatnonzero(gold >= 0)
    return float(-np.log(np.clip(posterior[items, gold[items]], 1e-3, 1 - 1e-3)).mean())


if __name__ == "__main__":
    for idea, value in {**settings(), **measure()}.items():
        print(f"{idea:12s} {value:.3f}")
