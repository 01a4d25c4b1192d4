"""What a fit knows of its judges' matrices, beside the judgments it was made from: what everything here is drawn from.

A sampled fit has draws of the matrices. For any other fit they are drawn here, by Gibbs sampling from where the fit is:
truths given matrices, matrices given truths, every row from Dirichlet(1/K + counts), so that each begins with one
judgment's worth of no opinion (Perks 1947; with two labels it is Jeffreys' prior). Matrices drawn given the posterior
of the fit alone would be far too sure of themselves: a judge's own labels had a part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.data.read import read
from adjudge.diagnostics.others import votes, without_her
from adjudge.errors import UsageError, quoted
from adjudge.inference.answers import ADVERSARIAL, INTERVAL, judged
from adjudge.inference.calibration import unmixed
from adjudge.inference.chains import Draws, Run, State, sample
from adjudge.inference.components import winners
from adjudge.inference.fitted import as_fitted
from adjudge.inference.gibbs import with_priors
from adjudge.inference.result import Fit
from adjudge.inference.sampling import aligned_to
from adjudge.kernels.block import Block
from adjudge.kernels.sweep import Sweep
from adjudge.kernels.truth import count

CHAINS, WARMUP, DRAWS, FEWEST = (
    2,
    200,
    500,
    100,
)  # of a run from a fit that has no draws: of each chain, at most, at least
KEPT = 1 << 24  # cells of matrices that a chain may keep
AT_ONCE = 1 << 22  # cells of drawn matrices that are in memory at a time
LEAST = 1e-12  # stands for zero where a logarithm is taken


class Estimate(NamedTuple):
    """A number with its 90 % interval."""

    value: float
    low: float
    high: float


class Evidence(NamedTuple):
    """Judgments in the order of their fit's judges, and what the fit says of truths and judges."""

    judgments: Judgments
    block: Block
    place: Codes  # (I) where each judged item stands in the fit
    posterior: Floats  # (I, K) p(truth | labels), or the label alone where the model counts that
    tally: Floats  # (J, K, K) expected labels of each judge by truth
    matrix: Floats  # (J, K, K) her matrix, expected
    prior: Floats  # (T, K) how common truths are, in each topic where each has its own
    common: Floats  # (K) the same over all items

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


def gathered(fit: Fit, data: Any) -> Evidence:
    """Return what is known; ``data`` are the judgments that the fit was made from, any others are refused."""
    labels, ordinal = fit.scale.labels, fit.scale.ordinal
    judgments = data if isinstance(data, Judgments) else read(data, labels=labels, ordinal=ordinal)
    if judgments.scale.names != fit.scale.names:
        raise UsageError(
            f"the fit was not made from these judgments: its labels are {quoted(fit.scale.names)}, "
            f"and theirs {quoted(judgments.scale.names)}"
        )
    block, place = as_fitted(fit, judgments), places(judgments.items, fit.items)
    model, K = fit.definition, block.labels
    every = fit.posterior.copy()  # as the model has it: how good judges are is not known better by hedged truths
    every[place] = unmixed(fit.calibration, fit.posterior[place], block)
    every = winners(every) if model.hard or model.degrees else every
    posterior, common = every[place], every.mean(axis=0)
    tally = count(block, posterior).label
    known = fit.params.prevalence
    prior = known if known.shape[0] > 1 and known.shape[1] == K else common[None]
    expected = (tally + 1 / K) / (tally.sum(axis=2, keepdims=True) + 1)
    matrix = expected if fit.draws is None else fit.params.confusion
    return Evidence(judgments, block, place, posterior, tally, matrix, prior, common)


def typical_matrix(evidence: Evidence) -> Floats:
    """Return how judges err on average (K, K); none counts for more judgments than the median judge has."""
    said = evidence.tally.sum(axis=(1, 2))
    most = np.median(said[said > 0]) if (said > 0).any() else 0.0
    share = np.minimum(1.0, np.divide(most, said, out=np.zeros_like(said), where=said > 0))
    pooled, K = np.einsum("j,jkl->kl", share, evidence.tally), evidence.block.labels
    typical: Floats = (pooled + 1 / K) / (pooled.sum(axis=1, keepdims=True) + 1)
    return typical


def entropy(p: Floats) -> Floats:
    """Return the entropy in bits of probabilities along the last axis."""
    bits: Floats = np.abs((p * np.log2(np.maximum(p, LEAST))).sum(axis=-1))
    return bits


class Told(NamedTuple):
    """What draws say of every judge, each as the mean and the ends of its 90 % interval: (3, J, ...)."""

    right: Floats
    informedness: Floats
    bits: Floats
    cell: Floats  # (3, J, K, K) her matrix
    bias: Floats  # (3, J, K) how much more often she gives each label than the truths of her items have it
    shift: Floats  # (3, J) how many places on the scale she goes too high
    p_chance: Floats  # (J)
    p_adversarial: Floats  # (J)


def told(fit: Fit, evidence: Evidence, seed: int = 0) -> Told:
    """Return what draws of the judges' matrices say, some judges at a time."""
    met = evidence.tally.sum(axis=2)  # (J, K) truths of her items
    total = met.sum(axis=1, keepdims=True)
    met = np.where(total > 0, met / np.where(total > 0, total, 1.0), evidence.common)
    parts = [_told(draws, items, met[group]) for group, draws, items in _drawn(fit, evidence, seed)]
    *summed, p_chance, p_adversarial = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    right, informedness, bits, cell, bias, shift = summed
    return Told(right, informedness, bits, cell, bias, shift, p_chance[0], p_adversarial[0])


def _told(draws: Draws, items: Floats, met: Floats) -> tuple[Floats, ...]:
    """Return what draws say of some judges, whose items have these shares of truths (J, K)."""
    found, theta = judged(draws, items), draws.confusion.reshape(-1, *draws.confusion.shape[2:])  # (S, J, K, K)
    bias = np.einsum("jk,sjkl->sjl", met, theta) - met
    shift = bias @ np.arange(theta.shape[3])
    return (
        *map(_summed, (found.p_right, found.informedness, found.bits, theta, bias, shift)),
        (found.informedness <= 0).mean(axis=0)[None],
        (found.informedness < ADVERSARIAL).mean(axis=0)[None],
    )


def _summed(drawn: Floats) -> Floats:
    """Return the mean of draws and the ends of their interval (3, ...); the mean of a skewed few stays within."""
    low, high = np.quantile(drawn, INTERVAL, axis=0)
    return np.stack([np.clip(drawn.mean(axis=0), low, high), low, high])


def _drawn(fit: Fit, evidence: Evidence, seed: int) -> Iterator[tuple[slice, Draws, Floats]]:
    """Yield the draws of some judges at a time, and how many items each of their topics has (T)."""
    draws, J, K = matrices(fit, evidence, seed), len(fit.judge_names), len(fit.scale)
    step = max(1, AT_ONCE // (draws.confusion.shape[0] * draws.confusion.shape[1] * K * K))
    for first in range(0, J, step):
        group = slice(first, min(first + step, J))
        yield group, draws._replace(confusion=draws.confusion[:, :, group]), _items(fit, draws.prevalence.shape[2])


def matrices(fit: Fit, evidence: Evidence, seed: int = 0) -> Draws:
    """Return draws of the judges' matrices: those of the fit or, of one that has none, a short run from where it is."""
    if fit.draws is not None:
        return fit.draws
    K = evidence.block.labels
    many = max(FEWEST, min(DRAWS, KEPT // max(evidence.matrix.size, 1)))
    start = State(evidence.prior, evidence.matrix, np.empty((0, K)), np.empty(0))
    step, run = with_priors(Sweep(evidence.block), np.full((K, K), 1 / K), np.full(K, 1 / K)), Run(CHAINS, WARMUP, many)
    with ThreadPoolExecutor(CHAINS) as pool:
        draws = sample(step, [start] * CHAINS, evidence.block.topic.size, run, seed, pool)
    return aligned_to(draws, evidence.matrix)  # the probabilities of truths are not used


def _items(fit: Fit, topics: int) -> Floats:
    """Return how many items each row of prevalence has (T)."""
    topic = fit.topic if topics > 1 and fit.topic is not None else np.zeros(len(fit.items), np.int32)
    return np.bincount(np.where(topic < 0, topics - 1, topic), minlength=topics).astype(float)


class Others(NamedTuple):
    """What the others say of the item of each judgment, the judge's own labels left out."""

    truth: Codes  # (N) the most likely truth
    probability: Floats  # (N) its probability
    any: Flags  # (N) whether there are others, or gold


def others(evidence: Evidence) -> Others:
    """Return what everyone but the judge herself says of her items."""
    block = evidence.block
    left = without_her(block, votes(block, evidence.prior, evidence.matrix))  # (N, K)
    pair = evidence.item.astype(np.int64) * block.judges + evidence.judge
    _, met, times = np.unique(pair, return_inverse=True, return_counts=True)  # who said it twice
    given, told = np.diff(block.start)[evidence.item], block.gold[evidence.item] >= 0
    return Others(left.argmax(axis=1), left.max(axis=1), (given > times[met]) | told)
