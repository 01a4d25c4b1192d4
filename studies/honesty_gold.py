"""What a few gold items teach the consensus, on crowds and panels whose family was left out.

For every set in full, n gold items are drawn at random, a ``GoldMap`` is learned from them with the prior of the sets
of other families, and the other gold items are scored. The prior of the package is that of all sets. Half-widths of the
interval of the share of right labels are the 90 % quantiles of |claimed - right|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.calibration import map_features, mapped
from adjudge.inference.gold_map import Design, MapPrior, fit_candidate, learn_map, observed_cells, people_weights
from adjudge.kernels.block import Block, take_items
from studies.honesty import Sample, Score, score

SIZES = (5, 10, 20, 50, 100, 200)  # gold items
DRAWS = {5: 6, 10: 6, 20: 5, 50: 4, 100: 3, 200: 3}  # samples of gold
ALONE = np.zeros(0, np.int64)  # no people beside the judges
SHRUNK, JITTER = 0.3, 0.005  # of the covariance of weights among sets towards its diagonal; added variance


class GoldSet(NamedTuple):
    """A set: the probabilities of its gold items by coefficients of other families, and their judgments."""

    name: str
    kind: str
    family: str
    base: Floats  # (M, K)
    vote: Floats  # (M, K)
    rows: Block
    truth: Codes  # (M)


class GoldScore(NamedTuple):
    """The scores of a set with so many gold items."""

    gold_set: GoldSet
    gold: int  # 0: the consensus without gold, on the same items
    score: Score


def gold_sets(samples: Sequence[Sample], thetas: dict[str, Floats]) -> list[GoldSet]:
    """Return the sets in full, with probabilities by the coefficients that were learned without their family."""
    sets = []
    for each in samples:
        case = each.case
        if case.kind == "simulated" or case.thinned:
            continue
        base = each.probabilities(thetas[case.family])
        rows = take_items(case.judgments.block(), each.gold)
        sets.append(GoldSet(case.name, case.kind, case.family, base, each.vote, rows, each.truth))
    return sets


def best_weights(gold_set: GoldSet) -> Floats:
    """Return the weights (2) of the base and the vote with all gold of a set, under a wide prior."""
    features = map_features(gold_set.base, gold_set.vote, gold_set.rows, ALONE)
    wide = MapPrior(np.array([1.0, 0.0, 0.0, 0.0]), np.eye(4))
    fitted = fit_candidate(Design(features, *observed_cells(gold_set.rows), gold_set.truth), wide, "none")
    return fitted.weights[:2]


def prior_of(weights: Iterable[Floats]) -> MapPrior:
    """Return the prior of the weights of a map, from the best weights (2) of sets."""
    table = np.array([*weights])
    mean = table.mean(axis=0)
    spread = (table - mean).T @ (table - mean) / len(table)
    covariance = np.diag([0.0, 0.0, 1.0, 1.0])
    covariance[:2, :2] = (1 - SHRUNK) * spread + SHRUNK * np.diag(np.diag(spread)) + JITTER * np.eye(2)
    return MapPrior(np.array([*mean, *people_weights(3.0)]), covariance)


def gold_scores(sets: Sequence[GoldSet], say: Callable[[str], None]) -> tuple[list[GoldScore], MapPrior]:
    """Return the scores of every set and number of gold items, families left out, and the prior of all sets."""
    best = {each.name: best_weights(each) for each in sets}
    scores = []
    for each in sets:
        say(f"gold items of {each.name}")
        prior = prior_of(best[other.name] for other in sets if other.family != each.family)
        for size in SIZES:
            if size > each.truth.size // 2:
                break
            for draw in range(DRAWS[size]):
                scores += _scored(each, prior, size, draw)
    return scores, prior_of(best.values())


def _scored(each: GoldSet, prior: MapPrior, size: int, draw: int) -> list[GoldScore]:
    """Return the scores without gold and with a sample of gold, on the items that are not in the sample."""
    order = np.random.default_rng((size, draw)).permutation(each.truth.size)
    known, rest = order[:size], order[size:]
    rows = take_items(each.rows, known)
    learned = learn_map(each.base[known], each.vote[known], rows, each.truth[known], prior, ALONE, keep=True)
    probability = mapped(learned.gold_map, each.base[rest], each.vote[rest], take_items(each.rows, rest))
    truth = each.truth[rest]
    return [
        GoldScore(each, size, score(probability, truth)),
        GoldScore(each, -size, score(each.base[rest], truth)),  # the same items without gold
    ]


def gold_content(scores: Sequence[GoldScore], prior: MapPrior) -> dict[str, Any]:
    """Return what the package keeps: the prior, half-widths of intervals, and what gold items have bought."""
    margins, gains = {}, {}
    for size in SIZES:
        gaps = [abs(each.score.gap) for each in scores if each.gold == size]
        margins[str(size)] = round(float(np.quantile(gaps, 0.9)), 3)
        with_gold, without = ([each.score for each in scores if each.gold == n] for n in (size, -size))
        pairs = list(zip(with_gold, without, strict=True))
        gains[str(size)] = {
            "log_loss": round(float(np.mean([b.log_loss - a.log_loss for a, b in pairs])), 3),
            "accuracy": round(float(np.mean([a.accuracy - b.accuracy for a, b in pairs])), 3),
        }
    return {
        "mean": prior.mean[:2].round(4).tolist(),
        "covariance": prior.covariance[:2, :2].round(4).tolist(),
        "margins": margins,
        "gains": gains,
    }


def rows_of_gold(scores: Sequence[GoldScore]) -> Iterable[list[str]]:
    """Yield the means over sets, by kind and number of gold items, beside the consensus without gold."""
    for kind in ("crowd", "panel"):
        for size in SIZES:
            cells = []
            for gold in (-size, size):
                by_set: dict[str, list[Score]] = {}
                for each in scores:
                    if each.gold == gold and each.gold_set.kind == kind:
                        by_set.setdefault(each.gold_set.name, []).append(each.score)
                means = [
                    np.mean([(s.accuracy, s.log_loss, abs(s.gap)) for s in group], axis=0) for group in by_set.values()
                ]
                cells.append(" / ".join(f"{value:.3f}".removeprefix("0") for value in np.mean(means, axis=0)))
            yield [f"{kind}s", str(size), str(len(means)), *cells]
