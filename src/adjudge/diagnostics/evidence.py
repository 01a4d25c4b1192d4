"""The judgments of a fit beside its posterior, and draws of the judges' confusion matrices: the input of the cards.

A sampled fit has draws of the matrices. For any other fit they are drawn here, by a short run of Gibbs sampling that
starts at the fit. Its model has judges from a population, whose accuracy is learned, and items of differing
difficulty (``inference.gibbs.with_difficulty``). Drawing matrices given the posterior of the fit alone would give
intervals that are far too narrow, because the labels of a judge had a part in that posterior. Without difficulty they
are too narrow as well: if some items mislead most judges, the majority is taken for the truth, and the more judges an
item has, the surer is the error (``studies/benchmarks/difficulty.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.diagnostics.leave_out import item_logs, posterior_without_judge
from adjudge.errors import UsageError, quoted
from adjudge.inference.calibration import unmixed
from adjudge.inference.chains import Draws, Run, State, sample
from adjudge.inference.components import FIRST_SPREAD
from adjudge.inference.fitted import as_fitted
from adjudge.inference.gibbs import aligned_to, with_difficulty, with_effects, with_priors
from adjudge.inference.result import ADVERSARIAL, INTERVAL, Fit, judged
from adjudge.inference.save import read_fitted
from adjudge.kernels.block import NO_FAMILIES, Block
from adjudge.kernels.conjugate import Pareto
from adjudge.kernels.sweep import Sweep
from adjudge.kernels.truth import count

CHAINS, WARMUP = 2, 200  # of a run from a fit that has no draws
FIRST_KAPPA = 5.0  # concentration of the population of judges, where the run starts
MOST_DRAWS, ENOUGH_DRAWS, FEWEST_DRAWS = 500, 200, 100  # of each chain: of small, large and huge crowds
DRAWN_CELLS = 1 << 19  # cells of matrices from which 500 draws are more than the ends of intervals need
STORED_CELLS = 1 << 24  # cells of matrices that a chain may store
CELLS_AT_ONCE = 1 << 22  # cells of drawn matrices that are in memory at a time
TINY = 1e-12  # stands for zero in a logarithm


class Estimate(NamedTuple):
    """A number with its 90 % interval."""

    value: float
    low: float
    high: float


class Evidence(NamedTuple):
    """The judgments of a fit in the order of its judges, with its posterior and its view of the judges."""

    judgments: Judgments
    block: Block
    item_index: Codes  # (I) the index in the fit of each judged item
    posterior: Floats  # (I, K) p(truth | labels), or an indicator of the label if the model counts labels
    tally: Floats  # (J, K, K) expected labels of each judge by truth
    matrix: Floats  # (J, K, K) expected confusion matrix of each judge
    prior: Floats  # (T, K) prevalence, per topic if each topic has its own
    common: Floats  # (K) prevalence over all items

    @property
    def item(self) -> Codes:
        """The item of each judgment (N)."""
        return self.judgments.item()

    @property
    def judge(self) -> Codes:
        """The judge of each judgment, in the order of the fit (N)."""
        return self.block.cell // self.block.labels

    @property
    def weight(self) -> Floats:
        """How often each judgment counts (N)."""
        return self.block.weight if self.block.weight.size else np.ones(self.block.cell.size)


def gather_evidence(fit: Fit | str | PathLike[str], judgments: Any = None) -> tuple[Fit, Evidence]:
    """Return a fit and its evidence; judgments that the fit was not made from are refused."""
    fit, judgments = read_fitted(fit, judgments)
    if judgments.scale.names != fit.scale.names:
        raise UsageError(
            f"the fit was not made from these judgments: its labels are {quoted(fit.scale.names)}, "
            f"and theirs {quoted(judgments.scale.names)}"
        )
    block, index = as_fitted(fit, judgments), places(judgments.items, fit.items)
    model, K = fit.definition, block.labels
    full = fit.posterior.copy()  # without calibration: hedged truths say less about how good judges are
    full[index] = unmixed(fit.calibration, fit.posterior[index], block)
    full = model.credit(full)
    posterior, common = full[index], full.mean(axis=0)
    tally = count(block, posterior).label
    prevalence = fit.params.prevalence
    prior = prevalence if prevalence.shape[0] > 1 and prevalence.shape[1] == K else common[None]
    expected = (tally + 1 / K) / (tally.sum(axis=2, keepdims=True) + 1)
    matrix = expected if fit.draws is None else fit.params.confusion
    return fit, Evidence(judgments, block, index, posterior, tally, matrix, prior, common)


def typical_confusion(evidence: Evidence) -> Floats:
    """Return the average confusion matrix (K, K); no judge counts for more judgments than the median judge has."""
    number = evidence.tally.sum(axis=(1, 2))
    most = np.median(number[number > 0]) if (number > 0).any() else 0.0
    share = np.minimum(1.0, np.divide(most, number, out=np.zeros_like(number), where=number > 0))
    pooled, K = np.einsum("j,jkl->kl", share, evidence.tally), evidence.block.labels
    typical: Floats = (pooled + 1 / K) / (pooled.sum(axis=1, keepdims=True) + 1)
    return typical


def entropy(p: Floats) -> Floats:
    """Return the entropy in bits of probabilities along the last axis."""
    bits: Floats = np.abs((p * np.log2(np.maximum(p, TINY))).sum(axis=-1))
    return bits


class JudgeEstimates(NamedTuple):
    """Estimates for every judge from draws, each as the mean and the ends of its 90 % interval: (3, J, ...)."""

    right: Floats
    informedness: Floats  # Youden's J
    bits: Floats
    cell: Floats  # (3, J, K, K) confusion matrix
    bias: Floats  # (3, J, K) how much more often the judge gives each label than the truths of their items have it
    shift: Floats  # (3, J) how many levels of the scale the labels are too high
    p_chance: Floats  # (J)
    p_adversarial: Floats  # (J)


def judge_estimates(fit: Fit, evidence: Evidence, seed: int = 0, draws: Draws | None = None) -> JudgeEstimates:
    """Return estimates from draws of the judges' matrices, computed for some judges at a time.

    ``draws`` are those of ``confusion_draws``, if they were drawn already.
    """
    draws = confusion_draws(fit, evidence, seed) if draws is None else draws
    truths = evidence.tally.sum(axis=2)  # (J, K) expected truths of the items of each judge
    total = truths.sum(axis=1, keepdims=True)
    truths = np.where(total > 0, truths / np.where(total > 0, total, 1.0), evidence.common)
    parts = [_estimates(some, items, truths[group]) for group, some, items in _draw_groups(fit, draws)]
    *summaries, p_chance, p_adversarial = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    right, informedness, bits, cell, bias, shift = summaries
    return JudgeEstimates(right, informedness, bits, cell, bias, shift, p_chance[0], p_adversarial[0])


def confusion_draws(fit: Fit, evidence: Evidence, seed: int = 0) -> Draws:
    """Return draws of the judges' matrices: those of the fit or, if it has none, of a short run that starts there."""
    if fit.draws is not None:
        return fit.draws
    draws = difficulty_draws(evidence, Run(CHAINS, WARMUP, _draws_of_a_chain(evidence.matrix.size)), seed)
    return aligned_to(draws, evidence.matrix)  # the probabilities of truths are not used


def _draws_of_a_chain(cells: int) -> int:
    """Return how many draws of matrices with so many cells a chain keeps.

    Beyond ``DRAWN_CELLS`` they take seconds. With 200 draws the ends of a judge's interval are within 0.1 standard
    deviations of those with 500, and intervals cover as often.
    """
    enough = max(ENOUGH_DRAWS, DRAWN_CELLS // max(cells, 1))
    return max(FEWEST_DRAWS, min(MOST_DRAWS, enough, STORED_CELLS // max(cells, 1)))


def difficulty_draws(evidence: Evidence, run: Run, seed: int = 0) -> Draws:
    """Return draws of a run that starts at a fit, with items of differing difficulty and a population of judges.

    Families have no effects of their own here: on real panels they do not make the model better
    (``studies/benchmarks/difficulty.py``).
    """
    over, K = Sweep(evidence.block._replace(family=NO_FAMILIES)), evidence.block.labels
    even, matrix = np.full(K, 1 / K), np.ascontiguousarray(evidence.matrix)  # kernels are compiled for one layout
    if K == 1:
        start, step = (
            State(evidence.prior, matrix, np.empty((0, 1)), np.empty(0)),
            with_priors(over, even, even),
        )
    else:
        population = typical_confusion(evidence), np.full(K, FIRST_KAPPA)
        start, step = (
            with_effects(State(evidence.prior, matrix, *population), FIRST_SPREAD),
            with_difficulty(over, Pareto(), even),
        )
    with ThreadPoolExecutor(run.chains) as pool:
        return sample(step, [start] * run.chains, evidence.block.topic.size, run, seed, pool)


class OtherJudges(NamedTuple):
    """The most likely truth of the item of each judgment, with the labels of the judge left out."""

    truth: Codes  # (N) the most likely truth
    probability: Floats  # (N) its probability
    any: Flags  # (N) whether there are other judges, or gold


def other_judges(evidence: Evidence) -> OtherJudges:
    """Return what all judges except the one who made it say about the item of each judgment."""
    block = evidence.block
    left = posterior_without_judge(block, item_logs(block, evidence.prior, evidence.matrix))  # (N, K)
    pair = evidence.item.astype(np.int64) * block.judges + evidence.judge
    _, inverse, times = np.unique(pair, return_inverse=True, return_counts=True)  # repeats of a judge on an item
    number, has_gold = np.diff(block.start)[evidence.item], block.gold[evidence.item] >= 0
    return OtherJudges(left.argmax(axis=1), left.max(axis=1), (number > times[inverse]) | has_gold)


def _estimates(draws: Draws, items: Floats, truths: Floats) -> tuple[Floats, ...]:
    """Return the estimates for some judges, whose items have these shares of truths (J, K)."""
    numbers, theta = judged(draws, items), draws.confusion.reshape(-1, *draws.confusion.shape[2:])  # (S, J, K, K)
    bias = np.einsum("jk,sjkl->sjl", truths, theta) - truths
    shift = bias @ np.arange(theta.shape[3])
    return (
        *map(_mean_and_ends, (numbers.p_right, numbers.informedness, numbers.bits, theta, bias, shift)),
        (numbers.informedness <= 0).mean(axis=0)[None],
        (numbers.informedness < ADVERSARIAL).mean(axis=0)[None],
    )


def _mean_and_ends(draws: Floats) -> Floats:
    """Return the mean of draws and the ends of their interval (3, ...); the mean is moved into the interval."""
    low, high = np.quantile(draws, INTERVAL, axis=0)
    return np.stack([np.clip(draws.mean(axis=0), low, high), low, high])


def _draw_groups(fit: Fit, draws: Draws) -> Iterator[tuple[slice, Draws, Floats]]:
    """Yield the draws of some judges at a time, and the number of items of each topic (T)."""
    J, K = len(fit.judge_names), len(fit.scale)
    step = max(1, CELLS_AT_ONCE // (draws.confusion.shape[0] * draws.confusion.shape[1] * K * K))
    for first in range(0, J, step):
        group = slice(first, min(first + step, J))
        part = draws._replace(confusion=draws.confusion[:, :, group])
        yield group, part, _topic_sizes(fit, draws.prevalence.shape[2])


def _topic_sizes(fit: Fit, topics: int) -> Floats:
    """Return the number of items of each row of prevalence (T)."""
    topic = fit.topic if topics > 1 and fit.topic is not None else np.zeros(len(fit.items), np.int32)
    return np.bincount(np.where(topic < 0, topics - 1, topic), minlength=topics).astype(float)
