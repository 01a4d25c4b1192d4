"""Correlated errors, from judgments alone: a z score, and the strength of the effect.

On the same item, an error of one judge makes an error of another more likely than a model of independent judges has it.
The z score compares the sum over pairs of judgments with that of judgments drawn from the model itself. The strength is
the standard deviation of an effect of items on the log odds of being right: the one under which simulated errors are as
correlated as those observed.

The reference is hybrid-confusion at its mode, which judges with few judgments hardly mislead. A model with states of
items, easy or hard, is compared with itself as well, because it may explain the correlation; there, wrong labels that
agree more often than the model expects count as well.

Whether errors are independent (``independence``) is decided by the score of such an effect, in closed form: its mean
and its variance are known for no effect and for weak ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.inference.components import SOFT, dirichlet_confusion, dirichlet_prevalence
from adjudge.inference.infer import infer
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.params import Params, Prior
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block, item_of
from adjudge.kernels.compiled import compiled, pays
from adjudge.kernels.replicate import FLATTER, count_agreement, replicate, replicate_with_truth
from adjudge.kernels.truth import truth_posterior

# Two sums over pairs of judgments of an item. If judges err independently, given the truth, both are 0 on average.
# States may be finer than labels: ``side`` (S) is the label of each.


def together(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return the sum over pairs of judges of the product of their residuals on an item.

    The residual of a judgment is whether it is right less the probability of that, both expected under the posterior
    (I, S) of its item; ``confusion`` is (J, S, K).
    """
    S = posterior.shape[1]
    right = np.ascontiguousarray(confusion[:, np.arange(S), side])  # (J, S)
    residual = np.zeros(block.judges)
    return float(_together(block.start, block.cell, block.weight, posterior, right, side, block.labels, residual))


def alike(block: Block, posterior: Floats, confusion: Floats) -> float:
    """Return how many more pairs of judgments are equal, right or wrong, than expected under the posterior (I, S).

    Every judgment counts once, whatever its weight.
    """
    return float(_together_alike(block.start, block.cell, posterior, np.ascontiguousarray(confusion)))


@compiled
def _together(
    start: Codes, cell: Codes, weight: Floats, posterior: Floats, right: Floats, side: Codes, K: int, residual: Floats
) -> float:
    """Add up the products of pairs: half of the square of the sum less the squares of each judge's sum."""
    total, hit = 0.0, np.empty(K)
    for i in range(start.size - 1):
        above, squares = 0.0, 0.0
        hit[:] = 0.0
        for s in range(side.size):
            hit[side[s]] += posterior[i, s]
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            over = hit[label]
            for s in range(side.size):
                over -= posterior[i, s] * right[j, s]
            if weight.size:
                over *= weight[n]
            above += over
            residual[j] += over
        for n in range(start[i], start[i + 1]):
            j = cell[n] // K
            squares += residual[j] * residual[j]
            residual[j] = 0.0
        total += (above * above - squares) / 2
    return total


@compiled
def _together_alike(start: Codes, cell: Codes, posterior: Floats, rows: Floats) -> float:
    """Add up the pairs of equal labels, less the expected number."""
    _, S, K = rows.shape
    total, counts, chance, squares = 0.0, np.empty(K), np.empty((S, K)), np.empty(S)
    for i in range(start.size - 1):
        counts[:] = 0.0
        chance[:] = 0.0
        squares[:] = 0.0
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            counts[label] += 1.0
            for s in range(S):  # a judge's rows are adjacent in memory
                for k in range(K):
                    chance[s, k] += rows[j, s, k]
                    squares[s] += rows[j, s, k] ** 2
        for k in range(K):
            total += counts[k] * (counts[k] - 1) / 2
        for s in range(S):
            expected = -squares[s]
            for k in range(K):
                expected += chance[s, k] ** 2
            total -= posterior[i, s] * expected / 2
    return total


YARDSTICK = Model(
    "hybrid-confusion",
    "at its mode, under its default prior",
    "Liu & Wang 2012, algorithm 1",
    prevalence=dirichlet_prevalence(Prior().prevalence),
    confusion=dirichlet_confusion(Prior()),
    assignment=SOFT,
)
NEAR = 1e-5  # tolerance of its fit
ENOUGH, FINER = 50_000, 100_000  # judgments that suffice; and those for a model with states of items
REPLICATES = 16  # the standard deviation of 16 draws is known to a fifth; small crowds have twice as many
SMALL = 30_000  # judgments of a small crowd
CORRELATED = 4.0  # z above which errors are surely correlated
INDEPENDENT = 0.25  # prior probability that judges err independently
EFFECTS = (0.35, 0.6, 1.0, 1.7)  # effects of items as strong as in real crowds with gold, the weakest first
EFFECT_SPREAD = 0.3  # relative standard deviation of the z score of such a crowd
Z_SPREAD = 1.2  # standard deviation of z under independence: params are estimates
NEGLIGIBLE = 1e-9  # probability of a truth that adds nothing
FEWEST_ITEMS = 30  # judged items that are needed to see whether errors are independent
LEAST_PER_ITEM = 5  # judgments per item that are needed to see correlated errors
STRONGEST, HALVINGS = 4.0, 6  # range of the bisection, and its steps: to a sixteenth

Sum: TypeAlias = Callable[[Block, Floats, Floats, Codes], float]  # over pairs of judgments of an item


class Dependence(NamedTuple):
    """How correlated errors are."""

    z: float  # by how many standard deviations more than by chance
    strength: float  # standard deviation of the effect of items on the log odds of being right
    shared: int  # items with two judges or more, among those used


def yardstick(judgments: Judgments, gold: Codes | None, fit: Fit | None = None) -> Params:
    """Return the params of hybrid-confusion, the reference; those of ``fit`` if it is such a fit."""
    if fit is None or fit.model != YARDSTICK.name or fit.draws is not None or fit.params.unseen.size:
        fit = require_finished(infer(YARDSTICK, judgments, gold, Options(tolerance=NEAR)))
    return fit.params


def dependence(
    judgments: Judgments, gold: Codes | None, params: Params, fit: Fit | None = None, seed: int = 0
) -> Dependence:
    """Return how correlated errors are, given ``params`` or, if it has states of items, given ``fit``."""
    block, side = _some(judgments, gold, ENOUGH, seed), np.arange(len(judgments.scale))
    shared = count_agreement(block).shared
    if not shared:
        return Dependence(0.0, 0.0, 0)
    z = _deviations(block, (together,), params.prevalence, params.confusion, side, seed)[0]
    strength = _strength(block, params, side, seed) if z > 0 else 0.0
    if fit is not None and knows_items(fit.definition):
        prior, rows, label = fit.definition.states(fit.params)
        assert label is not None  # knows_items
        sample = _some(judgments, None, FINER, seed, fit.definition)
        z = _deviations(sample, (together, _alike), prior, rows, label, seed).max()
    return Dependence(float(z), strength, shared)


def independence(judgments: Judgments, gold: Codes | None = None, fit: Fit | None = None) -> float:
    """Return the evidence that judges err independently, given the truth: from 0 (none) to 1.

    The score of effects of items under the reference model is compared with what it is expected to be without and with
    effects as strong as in real crowds. The result is the posterior probability of no effect, rescaled so that the
    prior probability is 0: a crowd that is too small to show a difference gets 0. If errors are surely correlated under
    a ``fit`` of these items, that is enough, and the reference is not fitted.
    """
    items = np.count_nonzero(np.diff(judgments.start))
    size = len(judgments) if judgments.weight is None else float(judgments.weight.sum())
    if items < FEWEST_ITEMS or size < LEAST_PER_ITEM * items:
        return 0.0
    block, _ = YARDSTICK.block(judgments, gold)
    if fit is not None and item_score(block, fit.posterior, fit.params.confusion).z > CORRELATED:
        return 0.0
    params = yardstick(judgments, gold)
    score = item_score(block, truth_posterior(block, params.prevalence, params.confusion)[0], params.confusion)
    effects = np.array([0.0, *EFFECTS])
    expected = effects**2 / (1 + FLATTER * effects**2) * score.deviation  # z scores
    spread = np.maximum(Z_SPREAD, EFFECT_SPREAD * expected)  # real effects lie between those tried
    logs = -np.square((score.z - expected) / spread) / 2 - np.log(spread)
    prior = np.array([INDEPENDENT, *np.full(len(EFFECTS), (1 - INDEPENDENT) / len(EFFECTS))])
    shares = prior * np.exp(logs - logs.max())
    return float(max(0.0, (shares[0] / shares.sum() - INDEPENDENT) / (1 - INDEPENDENT)))


class ItemScore(NamedTuple):
    """The score test of effects of items on the log odds of being right (Chesher 1984)."""

    total: float  # sum over pairs of judges of an item of the expected product of their residuals
    deviation: float  # its standard deviation, if judges err independently

    @property
    def z(self) -> float:
        """The score in standard deviations."""
        return self.total / self.deviation if self.deviation > 0 else 0.0


def item_score(block: Block, posterior: Floats, confusion: Floats) -> ItemScore:
    """Return the score of effects of items, under a posterior (I, K) and confusions (J, K, K).

    The residual of a judgment, given truth k, is whether it says k less the probability of that. Without effects the
    products of two judges' residuals, expected under the posterior, have the mean 0. Their variance is at most the
    expected product of the variances of the two; the squares of the items' sums estimate it too, and the smaller one is
    taken. The mean under effects of variance s^2 is s^2 times that variance, for small effects.
    """
    right = np.ascontiguousarray(np.diagonal(confusion, axis1=1, axis2=2))  # (J, K)
    if pays(_item_score, block.cell.size * block.labels):
        total, squares, bound = _item_score(block.start, block.cell, block.weight, posterior, right)
    else:
        total, squares, bound = _item_score_in_numpy(block, posterior, right)
    return ItemScore(total, float(np.sqrt(min(squares, bound))))


def _item_score_in_numpy(block: Block, posterior: Floats, right: Floats) -> tuple[float, float, float]:
    """Return the same as ``_item_score``: the same operations in the same order."""
    item, (judge, label) = item_of(block), np.divmod(block.cell.astype(np.int64), block.labels)
    _, first, group = np.unique(item * block.judges + judge, return_index=True, return_inverse=True)
    order = np.argsort(first)  # the judges of each item in the order of their first judgments
    times, items = block.weight if block.weight.size else np.ones(item.size), block.topic.size
    products, bound = np.zeros(items), np.zeros((items, block.labels))
    for k in range(block.labels):
        chance, p = right[judge, k], np.where(posterior[:, k] < NEGLIGIBLE, 0.0, posterior[:, k])
        residual = np.bincount(group, times * ((label == k) - chance))[order]
        variance = np.bincount(group, times * times * chance * (1 - chance))[order]
        sums = (residual, residual * residual, variance, variance * variance)
        above, residual_squares, spread, variance_squares = (
            np.bincount(item[first[order]], value, items) for value in sums
        )
        products += p * (above * above - residual_squares) / 2
        bound[:, k] = p * (spread * spread - variance_squares) / 2
    return _sum(products), _sum(products * products), _sum(bound.ravel())


def _sum(values: Floats) -> float:
    """Return the sum, added from first to last."""
    return float(np.cumsum(values)[-1]) if values.size else 0.0


@compiled
def _item_score(
    start: Codes, cell: Codes, weight: Floats, posterior: Floats, right: Floats
) -> tuple[float, float, float]:
    """Add up over items: the products of pairs of judges, their squares, and the products of variances."""
    J, K = right.shape
    residual, variance = np.zeros(J), np.zeros(J)  # of each judge on one item
    total, squares, bound = 0.0, 0.0, 0.0
    for i in range(start.size - 1):
        products = 0.0
        for k in range(K):
            if posterior[i, k] < NEGLIGIBLE:
                continue
            above, spread, residual_squares, variance_squares = 0.0, 0.0, 0.0, 0.0
            for n in range(start[i], start[i + 1]):
                j, label = divmod(cell[n], K)
                times, chance = weight[n] if weight.size else 1.0, right[j, k]
                residual[j] += times * ((1.0 if label == k else 0.0) - chance)
                variance[j] += times * times * chance * (1 - chance)
            for n in range(start[i], start[i + 1]):
                j = cell[n] // K
                above += residual[j]
                spread += variance[j]
                residual_squares += residual[j] * residual[j]
                variance_squares += variance[j] * variance[j]
                residual[j] = 0.0
                variance[j] = 0.0
            products += posterior[i, k] * (above * above - residual_squares) / 2
            bound += posterior[i, k] * (spread * spread - variance_squares) / 2
        total += products
        squares += products * products
    return total, squares, bound


def knows_items(model: Model) -> bool:
    """Return whether a model has states of items that explain correlated errors."""
    return model.items.labels is not None and not model.items.degrees


def require_finished(fit: Fit) -> Fit:
    """Return a fit that was not interrupted; otherwise pass the interruption on."""
    if fit.stopped == "interrupted":
        raise KeyboardInterrupt
    return fit


def _deviations(
    block: Block, sums: Sequence[Sum], prevalence: Floats, confusion: Floats, side: Codes, seed: int
) -> Floats:
    """Return the z scores of sums over pairs of judgments, against judgments drawn from the model."""
    rng, many = np.random.default_rng(seed), REPLICATES * (1 + (block.label.size < SMALL))
    observed = np.empty((1 + many, len(sums)))  # first observed, then drawn
    for n in range(1 + many):
        each = replicate(block, prevalence, confusion, rng) if n else block
        posterior, _ = truth_posterior(each, prevalence, confusion, side)
        observed[n] = [add_up(each, posterior, confusion, side) for add_up in sums]
    spread = observed[1:].std(axis=0, ddof=1)
    deviations: Floats = np.divide(
        observed[0] - observed[1:].mean(axis=0), spread, out=np.zeros(len(sums)), where=spread > 0
    )
    return deviations


def _pair_sum(block: Block, params: Params, side: Codes) -> float:
    """Return ``together`` under the posterior of the params."""
    posterior, _ = truth_posterior(block, params.prevalence, params.confusion, side)
    return together(block, posterior, params.confusion, side)


def _strength(block: Block, params: Params, side: Codes, seed: int) -> float:
    """Return the effect of items under which simulated errors are as correlated as observed, by bisection."""
    observed, low, high = _pair_sum(block, params, side), 0.0, STRONGEST
    for _ in range(HALVINGS):
        middle, rng = (
            (low + high) / 2,
            np.random.default_rng(seed),
        )  # the same random numbers, so that the sum is monotone
        drawn = replicate_with_truth(block, params.prevalence, params.confusion, rng, middle).block
        low, high = (middle, high) if _pair_sum(drawn, params, side) < observed else (low, middle)
    return (low + high) / 2


def _alike(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return ``alike`` with the arguments of ``together``."""
    return alike(block, posterior, confusion)


def _some(judgments: Judgments, gold: Codes | None, enough: int, seed: int, model: Model = YARDSTICK) -> Block:
    """Return all judgments or, if there are very many, those of a random sample of items."""
    if len(judgments) <= enough:
        return model.block(judgments, gold)[0]
    sampled = np.random.default_rng(seed).random(len(judgments.items)) < enough / len(judgments)
    return model.block(judgments.take(np.flatnonzero(sampled[judgments.item()])), gold)[0]
