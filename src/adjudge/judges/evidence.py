"""What a fit knows of its judges' matrices, beside the judgments it was made from: what everything here is drawn from.

A sampled fit has draws of the matrices. For any other fit they are drawn here, given its posterior of truths: the rows
of a judge's matrix from Dirichlet(1/K + expected counts), so that each row begins with one judgment's worth of no
opinion (Perks 1947; with two labels it is Jeffreys' prior). Such intervals take the truths for as sure as the fit does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import UsageError, quoted
from adjudge.judgments.gold import places
from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.kernels.block import Block
from adjudge.kernels.conjugate import dirichlet_rows
from adjudge.kernels.others import votes, without_her
from adjudge.kernels.truth import count
from adjudge.models.answers import ADVERSARIAL, INTERVAL, judged
from adjudge.models.assign import winners
from adjudge.models.chains import Draws
from adjudge.models.fitted import as_fitted
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

DRAWS = 1_000  # of each matrix, where the fit has none
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
    model, K = model_named(fit.model), block.labels
    every = winners(fit.posterior) if model.hard or model.degrees else fit.posterior
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
    J, K = len(fit.judge_names), len(fit.scale)
    each = DRAWS if fit.draws is None else fit.draws.kappa.shape[0] * fit.draws.prevalence.shape[1]
    step = max(1, AT_ONCE // (each * K * K))
    rng = np.random.Generator(np.random.SFC64(seed))
    everywhere = evidence.common * len(fit.items) + 1 / K
    prevalence = dirichlet_rows(np.tile(everywhere, (DRAWS, 1)), rng)[None, :, None]  # (1, S, 1, K)
    for first in range(0, J, step):
        group = slice(first, min(first + step, J))
        if fit.draws is not None:
            yield group, fit.draws._replace(confusion=fit.draws.confusion[:, :, group]), _items(fit)
            continue
        pseudo = np.repeat(evidence.tally[group, None] + 1 / K, DRAWS, axis=1)  # judge by judge: groups do not matter
        rows = dirichlet_rows(pseudo, rng).swapaxes(0, 1)[None]  # (1, S, J, K, K)
        none = np.empty((1, DRAWS, 0))
        yield group, Draws(prevalence, rows, none[..., None], none, np.empty((1, 0, K)), True), np.ones(1)


def _items(fit: Fit) -> Floats:
    """Return how many items each row of a sampled fit's prevalence has (T)."""
    T = fit.params.prevalence.shape[0]
    topic = fit.topic if T > 1 and fit.topic is not None else np.zeros(len(fit.items), np.int32)
    return np.bincount(np.where(topic < 0, T - 1, topic), minlength=T).astype(float)


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
