"""What a few gold items teach the consensus, on crowds and panels whose family was left out.

For every set in full, n gold items are drawn at random, a ``GoldMap`` is learned from them with the prior of the sets
of other families, and the other gold items are scored. The prior of the package is that of all sets. Half-widths of the
interval of the share of right labels are the 90 % quantiles of |claimed - right|.

For comparison, small sets are also fitted with Dawid and Skene's model, which knows the same gold. Simulated crowds
whose labels are exchanged show whether gold finds that out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.inference.calibration import map_features, mapped
from adjudge.inference.fit import fit
from adjudge.inference.gold_map import Design, MapPrior, fit_candidate, learn_map, observed_cells, people_weights
from adjudge.kernels.block import Block, take_items
from studies.honesty import Sample, Score, mean_scores, score, simulate
from studies.parallel import Each

SIZES = (5, 10, 20, 50, 100, 200)  # gold items
DRAWS = {5: 6, 10: 6, 20: 5, 50: 4, 100: 3, 200: 3}  # samples of gold
ALONE = np.zeros(0, np.int64)  # no people beside the judges
MOST_FITTED = 10_000  # judgments of the largest set that Dawid-Skene is fitted to with gold
EXCHANGED = ((200, 50), (1000, 100))  # items and gold items of simulated crowds with exchanged labels
EXCHANGES = 5  # crowds of each size
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
    judgments: Judgments
    gold: Codes  # (M) positions of its gold items among the items


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
        sets.append(
            GoldSet(case.name, case.kind, case.family, base, each.vote, rows, each.truth, case.judgments, each.gold)
        )
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


def gold_priors(sets: Sequence[GoldSet]) -> dict[str, MapPrior]:
    """Return the prior without each family, by its name; that of all sets is the family "simulated"."""
    best = {each.name: best_weights(each) for each in sets}
    priors = {"simulated": prior_of(best.values())}
    for family in dict.fromkeys(each.family for each in sets):
        priors[family] = prior_of(best[each.name] for each in sets if each.family != family)
    return priors


def gold_scores(
    sets: Sequence[GoldSet], priors: dict[str, MapPrior], say: Callable[[str], None], each_set: Each = map
) -> list[GoldScore]:
    """Return the scores of every set and number of gold items, families left out; ``each_set`` may be parallel."""
    scores = []
    jobs = [(each, priors[each.family]) for each in sets]
    for each, group in zip(sets, each_set(_scores_of_set, jobs), strict=True):
        say(f"gold items of {each.name}")
        scores += group
    return scores


def _scores_of_set(job: tuple[GoldSet, MapPrior]) -> list[GoldScore]:
    """Return the scores of a set with its prior."""
    each, prior = job
    sizes = [(size, draw) for size in usable_sizes(each) for draw in range(DRAWS[size])]
    return [result for size, draw in sizes for result in _scored(each, prior, size, draw)]


def usable_sizes(each: GoldSet) -> list[int]:
    """Return the numbers of gold items that leave at least as many to score."""
    return [size for size in SIZES if size <= each.truth.size // 2]


def _scored(each: GoldSet, prior: MapPrior, size: int, draw: int) -> list[GoldScore]:
    """Return the scores without gold and with a sample of gold, on the items that are not in the sample."""
    known, rest = drawn_gold(each, size, draw)
    rows = take_items(each.rows, known)
    learned = learn_map(each.base[known], each.vote[known], rows, each.truth[known], prior, ALONE, keep=True)
    probability = mapped(learned.gold_map, each.base[rest], each.vote[rest], take_items(each.rows, rest))
    truth = each.truth[rest]
    return [
        GoldScore(each, size, score(probability, truth)),
        GoldScore(each, -size, score(each.base[rest], truth)),  # the same items without gold
    ]


def drawn_gold(each: GoldSet, size: int, draw: int) -> tuple[Codes, Codes]:
    """Return a sample of gold items and the others, as positions among the gold items."""
    order = np.random.default_rng((size, draw)).permutation(each.truth.size)
    return order[:size], order[size:]


def gold_content(scores: Sequence[GoldScore], prior: MapPrior) -> dict[str, Any]:
    """Return what the package keeps: the prior, half-widths of intervals, and what gold items have bought."""
    margins, gains = {}, {}
    for size in SIZES:
        gaps = [abs(each.score.gap) for each in scores if each.gold == size]
        if not gaps:
            continue
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


def rows_of_gold(scores: Sequence[GoldScore]) -> Iterator[list[str]]:
    """Yield the means over sets, by kind and number of gold items, beside the consensus without gold."""
    for kind in ("crowd", "panel"):
        for size in SIZES:
            group = [each for each in scores if each.gold_set.kind == kind and abs(each.gold) == size]
            if group:
                cells = [mean_scores(set_means(group, gold)) for gold in (-size, size)]
                worse = sum(after.log_loss > before.log_loss for before, after in gold_changes(group, size))
                yield [f"{kind}s", str(size), str(len(set_means(group, size))), *cells, str(worse)]


def set_means(scores: Sequence[GoldScore], gold: int) -> list[Score]:
    """Return the mean scores of each set with so many gold items; gaps are means of their absolute values."""
    by_set: dict[str, list[Score]] = {}
    for each in scores:
        if each.gold == gold:
            by_set.setdefault(each.gold_set.name, []).append(each.score._replace(gap=abs(each.score.gap)))
    return [Score(*map(float, np.mean(group, axis=0))) for group in by_set.values()]


def gold_changes(scores: Sequence[GoldScore], size: int) -> list[tuple[Score, Score]]:
    """Return the mean scores of each set without gold and with so many gold items."""
    return list(zip(set_means(scores, -size), set_means(scores, size), strict=True))


class FittedScores(NamedTuple):
    """The scores of several methods with the same gold items, on the same other items."""

    name: str
    gold: int
    scores: dict[str, Score]


def fitted_scores(
    sets: Sequence[GoldSet], priors: dict[str, MapPrior], say: Callable[[str], None], each_set: Each = map
) -> list[FittedScores]:
    """Return the scores of the vote, the consensus and Dawid-Skene with gold, on sets with few judgments."""
    result = []
    jobs = [(each, priors[each.family]) for each in sets if len(each.judgments) <= MOST_FITTED]
    for (each, _), group in zip(jobs, each_set(_fitted_to_set, jobs), strict=True):
        say(f"Dawid-Skene with gold on {each.name}")
        result += group
    return result


def _fitted_to_set(job: tuple[GoldSet, MapPrior]) -> list[FittedScores]:
    """Return the scores of all methods on a set, with its prior."""
    each, prior = job
    return [_fitted(each, prior, size) for size in usable_sizes(each)]


def _fitted(each: GoldSet, prior: MapPrior, size: int) -> FittedScores:
    """Return the scores of all methods with one sample of gold."""
    known, rest = drawn_gold(each, size, 0)
    visible = np.full(len(each.judgments.items), -1, np.int32)
    visible[each.gold[known]] = each.truth[known]
    with_gold, without = _scored(each, prior, size, 0)
    truth, rows = each.truth[rest], each.gold[rest]
    scores = {
        "vote + 1": score(each.vote[rest], truth),
        "consensus without gold": without.score,
        "consensus": with_gold.score,
        "dawid-skene": score(fit(each.judgments, "dawid-skene", visible).posterior[rows], truth),
        "dawid-skene, calibrated by gold": score(
            fit(each.judgments, "dawid-skene", visible, calibrate="gold").posterior[rows], truth
        ),
    }
    return FittedScores(each.name, size, scores)


def rows_of_fitted(fitted: Sequence[FittedScores]) -> Iterator[list[str]]:
    """Yield the means of every method over sets, by number of gold items."""
    for size in SIZES:
        group = [each for each in fitted if each.gold == size]
        if group:
            columns = [mean_scores([each.scores[name] for each in group]) for name in group[0].scores]
            yield [str(size), str(len(group)), *columns]


class Exchange(NamedTuple):
    """The shares of right labels in simulated crowds, some of which give other labels than they mean."""

    items: int
    gold: int
    labels: int
    plain: float  # labels as they are, with gold
    exchanged: float  # labels exchanged, with gold
    without: float  # labels exchanged, no gold


def exchanges() -> list[Exchange]:
    """Return the shares of right labels among items without gold, with and without exchanged labels."""
    return [_exchange(items, gold, labels) for items, gold in EXCHANGED for labels in (2, 4)]


def _exchange(items: int, gold: int, labels: int) -> Exchange:
    """Return the mean shares over several crowds; every label becomes the next one."""
    shares = []
    for seed in range(EXCHANGES):
        rng = np.random.default_rng((items, labels, seed))
        judgments, truth = simulate(rng, items, max(10, items // 20), 5, labels, 0.75)
        wrong = replace(judgments, label=frozen(((judgments.label + 1) % labels).astype(judgments.label.dtype)))
        known = rng.permutation(items)[:gold]
        visible = np.full(items, -1, np.int32)
        visible[known] = truth[known]
        rest = visible < 0
        fits = (fit(judgments, gold=visible), fit(wrong, gold=visible), fit(wrong))
        shares.append([score(each.posterior[rest], truth[rest]).accuracy for each in fits])
    return Exchange(items, gold, labels, *map(float, np.mean(shares, axis=0)))


def rows_of_exchanges(results: Iterable[Exchange]) -> Iterator[list[str]]:
    """Yield the shares of right labels in simulated crowds with and without exchanged labels."""
    for each in results:
        shares = (each.plain, each.exchanged, each.without)
        yield [f"{each.items:,}", str(each.gold), str(each.labels), *(f"{share:.3f}" for share in shares)]
