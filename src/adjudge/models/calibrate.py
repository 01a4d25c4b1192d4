"""Probabilities that mean what they say, from the judgments alone or with a little gold.

A model takes judges to err independently, given the truth. They do not: hard items mislead everybody, habits are
shared, some copy. Ten judgments are then worth two or three, and a posterior that counts ten is far too sure. That they
err together can be seen without gold: on the same item, one judge's error makes another's likelier than the model has
it (``kernels.together``), measured in deviations against judgments drawn from the model itself. What cannot be seen
without gold is how often all of them are wrong. So the model is not bent: where judges are seen to err together, half
of every probability is the vote's, which errs on the side of doubt; where they are not, the model is left alone.

The yardstick is hybrid-confusion by its mode: it is hardly misled by judges of whom little is known, and where it is,
other models are far too sure as well. A model that knows what items are like, easy or hard, is held against itself: it
may have told the judges' reasons to err together. Wrong labels that are alike more often than it has them tell as well.

With gold, the logarithms of the posterior and of the vote are weighed, and labels get a head start, such that gold
items are as likely as can be (Platt scaling with two inputs), with a weak pull to what is usual; the loss is told of
gold that was held back, in the fit and in the weighing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.errors import UsageError
from adjudge.judgments.table import Judgments
from adjudge.kernels.block import Block
from adjudge.kernels.replicate import replicate
from adjudge.kernels.together import alike, together
from adjudge.kernels.truth import truth_posterior
from adjudge.models.calibration import Calibration, mixed, smoothed_votes, weighed
from adjudge.models.fit import fit
from adjudge.models.options import Options, options_of
from adjudge.models.record import Fit
from adjudge.models.registry import model_named
from adjudge.models.ties import settled

YARDSTICK = "hybrid-confusion"
NEAR = 1e-5  # of its fit: its neighbourhood is enough to measure by
REPLICATES = 16
HALF = 0.5  # the vote's share where judges surely err together
DOUBT, SURE = 1.5, 3.0  # deviations below which nothing is done, and the scale on which it sets in
ENOUGH = 100_000  # judgments by which dependence is measured well
FEWEST = 20  # gold items that weights are learned from
FOLDS = 5
USUAL = (0.25, 0.5)  # weights of the logarithms that gold pulls away from
PULL = 1.0

Sum: TypeAlias = Callable[[Block, Floats, Floats, Codes], float]  # over pairs of judgments of an item


def calibrated(found: Fit, judgments: Judgments, known: Codes | None, how: str) -> Fit:
    """Return the fit with calibrated probabilities; labels are the likeliest by these."""
    block = judgments.block(known)
    calibration = by_gold(found, judgments, known) if how == "gold" else by_judgments(found, judgments, known)
    return with_calibration(found, calibration, block)


def with_calibration(found: Fit, calibration: Calibration, block: Block) -> Fit:
    """Return a fit with its probabilities mixed as a calibration says."""
    if not calibration.hedge and not calibration.weights:
        return replace(found, calibration=calibration)
    posterior = mixed(calibration, found.posterior, smoothed_votes(block), block.gold)
    label = settled(posterior, found.items, options_of(found.options))
    return replace(found, posterior=frozen(posterior), label=frozen(label), calibration=calibration)


def by_judgments(found: Fit, judgments: Judgments, known: Codes | None) -> Calibration:
    """Return how much of the vote is to be mixed in, by how far judges are seen to err together."""
    if len(judgments.scale) < 2:
        return Calibration("judgments", 0.0)
    seed = int(found.options.get("seed", 0))
    z = dependence(judgments, known, found, seed)
    share = HALF * -math.expm1(-(max(0.0, z - DOUBT) ** 2) / SURE)
    votes = model_named(found.model).until == "rounds"  # shares of votes, of which some are 0
    return Calibration("judgments", z, max(share, HALF) if votes else share)


def dependence(judgments: Judgments, known: Codes | None, found: Fit | None = None, seed: int = 0) -> float:
    """Return by how many deviations judges err together more than judges who err alone would."""
    finer = None if found is None else model_named(found.model).finer
    if found is not None and finer is not None:
        block = _some(judgments, None, seed)
        return float(_deviations(block, (together, _alike), *finer(found.params, block), seed).max())
    if found is None or found.model != YARDSTICK or found.draws is not None:
        found = _whole(fit(judgments, YARDSTICK, known, inference="map", tolerance=NEAR))
    block, side = _some(judgments, known, seed), np.arange(len(judgments.scale))
    return float(_deviations(block, (together,), found.params.prevalence, found.params.confusion, side, seed)[0])


def _deviations(
    block: Block, sums: Sequence[Sum], prevalence: Floats, confusion: Floats, side: Codes, seed: int
) -> Floats:
    """Return by how many deviations sums over pairs of judgments are above those of judgments drawn anew."""
    rng = np.random.default_rng(seed)
    seen = np.empty((1 + REPLICATES, len(sums)))  # then drawn
    for n in range(1 + REPLICATES):
        each = replicate(block, prevalence, confusion, rng) if n else block
        posterior, _ = truth_posterior(each, prevalence, confusion, side)
        seen[n] = [add_up(each, posterior, confusion, side) for add_up in sums]
    spread = seen[1:].std(axis=0, ddof=1)
    found: Floats = np.divide(seen[0] - seen[1:].mean(axis=0), spread, out=np.zeros(len(sums)), where=spread > 0)
    return found


def _alike(block: Block, posterior: Floats, confusion: Floats, side: Codes) -> float:
    """Return by how much more pairs of judgments are equal than expected, right ones and wrong ones."""
    return alike(block, posterior, confusion)


def by_gold(found: Fit, judgments: Judgments, known: Codes | None) -> Calibration:
    """Return the weights that gold items ask for, and the loss on gold that was held back in everything."""
    place = np.flatnonzero(known >= 0) if known is not None else np.empty(0, np.int64)
    if known is None or place.size < FEWEST:
        raise UsageError(
            f"calibrate 'gold' needs the truths of {FEWEST} items at least, and there are {place.size}: "
            "give more gold, or calibrate by 'judgments'"
        )
    options = options_of(found.options)
    vote = smoothed_votes(judgments.block())
    fold = np.random.default_rng(options.seed).permutation(place.size) % FOLDS
    unseen = np.empty((place.size, len(judgments.scale)))  # p(truth | judgments) of gold items that were held back
    for f in range(FOLDS):
        shown = known.copy()
        shown[place[fold == f]] = -1
        unseen[fold == f] = _again(found, judgments, shown, options).posterior[place[fold == f]]
    truth, losses = known[place], np.empty(place.size)
    for f in range(FOLDS):
        held = fold == f
        weights = _learned(unseen[~held], vote[place[~held]], truth[~held])
        q = weighed(weights, unseen[held], vote[place[held]])
        losses[held] = -np.log(np.maximum(q[np.arange(held.sum()), truth[held]], np.finfo(float).tiny))
    weights = _learned(unseen, vote[place], truth)
    error = float(losses.std(ddof=1) / math.sqrt(place.size))
    return Calibration(
        "gold", weights=tuple(map(float, weights)), gold=int(place.size), loss=losses.mean(), error=error
    )


def _learned(posterior: Floats, vote: Floats, truth: Codes) -> Floats:
    """Return the weights under which truths are likeliest, pulled a little to the usual ones (2 + K)."""
    from scipy.optimize import minimize

    K = posterior.shape[1]
    logs = [np.log(np.maximum(each, 1e-4)) for each in (posterior, vote)]
    usual, hit = np.r_[USUAL, np.zeros(K)], np.eye(K)[truth]

    def loss(weights: Floats) -> tuple[float, Floats]:
        q = weighed(weights, posterior, vote)
        over, off = q - hit, weights - usual
        slope = np.r_[(over * logs[0]).sum(), (over * logs[1]).sum(), over.sum(axis=0)]
        value = -np.log(np.maximum((q * hit).sum(axis=1), np.finfo(float).tiny)).sum() + PULL * (off @ off)
        return float(value), slope + 2 * PULL * off

    found: Floats = minimize(loss, usual, jac=True, method="BFGS").x
    return found


def _again(found: Fit, judgments: Judgments, known: Codes, options: Options) -> Fit:
    """Return the same fit, told other gold."""
    asked: dict[str, Any] = {**vars(options), "calibrate": "none"}
    return _whole(fit(judgments, found.model, known, **asked))


def _whole(found: Fit) -> Fit:
    """Return a fit that came to its end; half of one is none to calibrate by."""
    if found.stopped == "interrupted":
        raise KeyboardInterrupt
    return found


def _some(judgments: Judgments, known: Codes | None, seed: int) -> Block:
    """Return all judgments or, of very many, those of enough items at random."""
    if len(judgments) <= ENOUGH:
        return judgments.block(known)
    wanted = np.random.default_rng(seed).random(len(judgments.items)) < ENOUGH / len(judgments)
    return judgments.take(np.flatnonzero(wanted[judgments.item()])).block(known)
