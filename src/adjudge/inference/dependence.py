"""How far judges err together, as judgments alone show it: whether it can be chance, and how strong it is.

On the same item, one judge's error makes another's likelier than a model has it in which judges err alone
(``kernels.together``). By how many deviations, is told by judgments drawn from the model itself. How strong it is, is
told by judgments drawn from a model in which items have an effect on all their judges: the deviation of that effect, on
the log odds of being right, under which judges err together as far as they are seen to.

The yardstick is hybrid-confusion by its mode: it is hardly misled by judges of whom little is known. A model that knows
what items are like, easy or hard, is held against itself as well: it may have told the judges' reasons to err together.
Wrong labels that are alike more often than it has them tell as well.
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
from adjudge.inference.params import Params
from adjudge.inference.prior import Prior
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.replicate import count_agreement, replicate, replicate_with_truth
from adjudge.kernels.truth import truth_posterior

# Whether judges err together: on the same item, one judge's error makes another's likelier than the model has it.
#
# Two sums over pairs of judgments of an item. Of judges who err alone, given the truth, both are 0 on average. Truths
# may be finer than labels: ``side`` (S) says which label each stands for.


def together(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return the sum over pairs of the product of how far each judgment is above expectation.

    A judgment is above expectation by whether it is right less the chance that its judge has of that, both as expected
    under the posterior (I, S) of its item's truth; ``confusion`` is (J, S, K). Pairs are of different judges.
    """
    S = posterior.shape[1]
    right = np.ascontiguousarray(confusion[:, np.arange(S), side])  # (J, S)
    hers = np.zeros(block.judges)
    return float(_together(block.start, block.cell, block.weight, posterior, right, side, block.labels, hers))


def alike(block: Block, posterior: Floats, confusion: Floats) -> float:
    """Return by how much more pairs of judgments are equal than expected under the posterior (I, S): also wrong ones.

    A judgment counts once here, whatever its weight.
    """
    return float(_together_alike(block.start, block.cell, posterior, np.ascontiguousarray(confusion)))


@compiled
def _together(
    start: Codes, cell: Codes, weight: Floats, posterior: Floats, right: Floats, side: Codes, K: int, hers: Floats
) -> float:
    """Add up the products of pairs: half of the square of the sum less the squares of each judge's own sum."""
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
            hers[j] += over
        for n in range(start[i], start[i + 1]):
            j = cell[n] // K
            squares += hers[j] * hers[j]
            hers[j] = 0.0
        total += (above * above - squares) / 2
    return total


@compiled
def _together_alike(start: Codes, cell: Codes, posterior: Floats, rows: Floats) -> float:
    """Add up the pairs of equal labels, less those that are expected."""
    _, S, K = rows.shape
    total, given, chance, squares = 0.0, np.empty(K), np.empty((S, K)), np.empty(S)
    for i in range(start.size - 1):
        given[:] = 0.0
        chance[:] = 0.0
        squares[:] = 0.0
        for n in range(start[i], start[i + 1]):
            j, label = divmod(cell[n], K)
            given[label] += 1.0
            for s in range(S):  # a judge's rows lie together
                for k in range(K):
                    chance[s, k] += rows[j, s, k]
                    squares[s] += rows[j, s, k] ** 2
        for k in range(K):
            total += given[k] * (given[k] - 1) / 2
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
NEAR = 1e-5  # of its fit: its neighbourhood is enough to measure by
ENOUGH, FINER = 50_000, 100_000  # judgments by which dependence is measured well; beside a model that explains some
REPLICATES = 16  # deviations of 16 draws are known to a fifth; of small crowds, where draws cost nothing, twice as many
SMALL = 30_000  # judgments of a small crowd
STRONGEST, HALVINGS = 4.0, 6  # effects of items that are looked for, and how finely: to a sixteenth

Sum: TypeAlias = Callable[[Block, Floats, Floats, Codes], float]  # over pairs of judgments of an item


class Dependence(NamedTuple):
    """How far judges are seen to err together."""

    z: float  # deviations by which they do so more than judges who err alone would
    strength: float  # deviation of the effect of items on all their judges, on the log odds of being right
    shared: int  # items that two judges or more have labelled, of those that were looked at


def yardstick(judgments: Judgments, known: Codes | None, found: Fit | None = None) -> Params:
    """Return what hybrid-confusion has learned of judges who err alone; a fit of it may be at hand."""
    if found is None or found.model != YARDSTICK.name or found.draws is not None or found.params.unseen.size:
        found = whole(infer(YARDSTICK, judgments, known, Options(tolerance=NEAR)))
    return found.params


def dependence(
    judgments: Judgments, known: Codes | None, params: Params, found: Fit | None = None, seed: int = 0
) -> Dependence:
    """Return how far judges err together beside those of ``params``, or of ``found`` where that knows items better."""
    block, side = _some(judgments, known, ENOUGH, seed), np.arange(len(judgments.scale))
    shared = count_agreement(block).shared
    if not shared:
        return Dependence(0.0, 0.0, 0)
    z = _deviations(block, (together,), params.prevalence, params.confusion, side, seed)[0]
    strength = _strength(block, params, side, seed) if z > 0 else 0.0
    if found is not None and knows_items(found.definition):
        prior, rows, label = found.definition.states(found.params)
        assert label is not None  # knows_items
        own = _some(judgments, None, FINER, seed, found.definition)
        z = _deviations(own, (together, _alike), prior, rows, label, seed).max()
    return Dependence(float(z), strength, shared)


def knows_items(model: Model) -> bool:
    """Return whether a model has states of items on which all their judges err more, or less."""
    return model.items.labels is not None and not model.items.degrees


def whole(found: Fit) -> Fit:
    """Return a fit that came to its end; half of one is none to measure by."""
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    return found


def _deviations(
    block: Block, sums: Sequence[Sum], prevalence: Floats, confusion: Floats, side: Codes, seed: int
) -> Floats:
    """Return by how many deviations sums over pairs of judgments are above those of judgments drawn anew."""
    rng, many = np.random.default_rng(seed), REPLICATES * (1 + (block.label.size < SMALL))
    seen = np.empty((1 + many, len(sums)))  # then drawn
    for n in range(1 + many):
        each = replicate(block, prevalence, confusion, rng) if n else block
        posterior, _ = truth_posterior(each, prevalence, confusion, side)
        seen[n] = [add_up(each, posterior, confusion, side) for add_up in sums]
    spread = seen[1:].std(axis=0, ddof=1)
    found: Floats = np.divide(seen[0] - seen[1:].mean(axis=0), spread, out=np.zeros(len(sums)), where=spread > 0)
    return found


def _strength(block: Block, params: Params, side: Codes, seed: int) -> float:
    """Return the effect of items under which judges err together as they are seen to, by halving."""

    def erring(each: Block) -> float:
        posterior, _ = truth_posterior(each, params.prevalence, params.confusion, side)
        return together(each, posterior, params.confusion, side)

    seen, low, high = erring(block), 0.0, STRONGEST
    for _ in range(HALVINGS):
        middle, rng = (low + high) / 2, np.random.default_rng(seed)  # the same chance, so that the sum rises steadily
        drawn = replicate_with_truth(block, params.prevalence, params.confusion, rng, middle).block
        low, high = (middle, high) if erring(drawn) < seen else (low, middle)
    return (low + high) / 2


def _alike(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return by how much more pairs of judgments are equal than expected, right ones and wrong ones."""
    return alike(block, posterior, confusion)


def _some(judgments: Judgments, known: Codes | None, enough: int, seed: int, model: Model = YARDSTICK) -> Block:
    """Return all judgments or, of very many, those of enough items at random."""
    if len(judgments) <= enough:
        return model.block(judgments, known)[0]
    wanted = np.random.default_rng(seed).random(len(judgments.items)) < enough / len(judgments)
    return model.block(judgments.take(np.flatnonzero(wanted[judgments.item()])), known)[0]
