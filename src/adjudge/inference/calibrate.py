"""Probabilities that mean what they say, from the judgments alone or with a little gold.

A model takes judges to err independently, given the truth, and takes what it has learned of them for certain. Both make
it too sure. Two shares of the vote mend that, and both come from judgments alone.

What can be simulated is: judgments are drawn anew from a model of the crowd, by the same judges on the same items, who
err together as far as they are seen to (``models.dependence``). The truths behind these are known, so the model that
was asked for is fitted to them, and the share of the vote is taken that serves it best there. In a sparse crowd, of
whose judges little is known, it is large; where the model is true and judgments are many, it is nothing.

What cannot be seen without gold, is how often all judges of an item are wrong. Where they surely err together, up to
half of every probability is therefore the vote's, by how strong that is; it errs on the side of doubt. Where hardly any
item has two judges, or judges have so few judgments that the model fits each of them, nothing can be seen at all, and
it is half.

With gold, the logarithms of the posterior and of the vote are weighed, and labels get a head start, such that gold
items are as likely as can be (Platt scaling with two inputs), with a weak pull to what is usual; the loss is told of
gold that was held back, in the fit and in the weighing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.calibration import LEAST, Calibration, blind, mixed, smoothed_votes, weighed
from adjudge.inference.dependence import Dependence, dependence, whole, yardstick
from adjudge.inference.infer import infer
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.inference.ties import settled
from adjudge.kernels.block import Block
from adjudge.kernels.replicate import replicate_with_truth

HALF = 0.5  # the vote's share where judges surely and strongly err together
DOUBT, SURE = 1.5, 3.0  # deviations below which nothing is done, and the scale on which it sets in
STRONG = 0.6  # effect of items on the log odds of being right, on whose scale it grows
SHARES = np.linspace(0, 0.9, 19)  # of the vote that are tried where truths are known
CLIP = 1e-3  # probability that counts for no less, however wrong
COARSE = 1e-5  # tolerance of fits whose shares are wanted, and nothing else
FEW, AGAIN = 500, 3  # items below which crowds are drawn several times
FEWEST = 20  # gold items that weights are learned from
FOLDS = 5
USUAL = (0.25, 0.5)  # weights of the logarithms that gold pulls away from
PULL = 1.0  # as if it were known from about a gold item or two


def calibrated(found: Fit, judgments: Judgments, known: Codes | None, how: str) -> Fit:
    """Return the fit with calibrated probabilities; labels are the likeliest by these."""
    block = judgments.block(known)
    calibration = by_gold(found, judgments, known) if how == "gold" else by_judgments(found, judgments, known)
    return with_calibration(found, calibration, block)


def with_calibration(found: Fit, calibration: Calibration, block: Block) -> Fit:
    """Return a fit with its probabilities mixed as a calibration says."""
    if not calibration.changes:
        return replace(found, calibration=calibration)
    posterior = mixed(calibration, found.posterior, block)
    label = settled(posterior, found.items, options_of(found.options))
    return replace(found, posterior=frozen(posterior), label=frozen(label), calibration=calibration)


def by_judgments(found: Fit, judgments: Judgments, known: Codes | None) -> Calibration:
    """Return how much of the vote is to be mixed in."""
    if len(judgments.scale) < 2:
        return Calibration("judgments")
    options, params = options_of(found.options), yardstick(judgments, known, found)
    seen, extra = dependence(judgments, known, params, found, options.seed), _extra(found)
    strength = seen.strength * _surely(seen)  # what may be chance is not simulated
    simulated, unseen = _simulated(found, judgments, known, params, strength, extra), _unseen(seen)
    return Calibration(
        "judgments",
        dependence=seen.z,
        strength=seen.strength,
        shared=seen.shared,
        simulated=simulated,
        hedge=1 - (1 - simulated) * (1 - unseen),
        extra=extra,
    )


def _unseen(seen: Dependence) -> float:
    """Return the vote's share for what cannot be seen: items that mislead all their judges."""
    if blind(seen.z, seen.shared):
        return HALF
    return HALF * _surely(seen) * -math.expm1(-((seen.strength / STRONG) ** 2))


def _surely(seen: Dependence) -> float:
    """Return how sure it is that judges err together, from 0 to 1."""
    return -math.expm1(-(max(0.0, seen.z - DOUBT) ** 2) / SURE)


def _extra(found: Fit) -> tuple[float, ...]:
    """Return how the one vote more is shared (K): as labels are common or, where votes are all there is, evenly.

    An even one would make rare labels common; one that is not would break every tie of votes for the commonest.
    """
    items, K = found.posterior.shape
    common = (found.posterior.sum(axis=0) + 1 / K) / (items + 1)
    shares = np.full(K, 1 / K) if found.definition.rounds is not None else common
    return tuple(map(float, shares))


def _simulated(
    found: Fit, judgments: Judgments, known: Codes | None, params: Params, strength: float, extra: tuple[float, ...]
) -> float:
    """Return the vote's share that serves the model best on crowds like this one whose truths are known."""
    block, seed = judgments.block(known), options_of(found.options).seed
    asked = np.flatnonzero((np.diff(block.start) > 0) & (block.gold < 0))
    losses = np.zeros(SHARES.size)
    for n in range(AGAIN if asked.size < FEW else 1):
        rng = np.random.default_rng((seed, n))
        drawn, truth = replicate_with_truth(block, params.prevalence, params.confusion, rng, strength)
        again = _again(found, replace(judgments, label=drawn.label), known, tolerance=COARSE)
        own, vote = (each[asked, truth[asked]] for each in (again.posterior, smoothed_votes(drawn, extra)))
        losses -= [np.log(np.maximum((1 - share) * own + share * vote, CLIP)).sum() for share in SHARES]
    return float(SHARES[losses.argmin()])


def by_gold(found: Fit, judgments: Judgments, known: Codes | None) -> Calibration:
    """Return the weights that gold items ask for, and the loss on gold that was held back in everything."""
    judged = np.diff(judgments.start) > 0
    place = np.flatnonzero((known >= 0) & judged) if known is not None else np.empty(0, np.int64)
    if known is None or place.size < FEWEST:
        raise UsageError(
            f"calibrate 'gold' needs the truths of {FEWEST} judged items at least, and there are {place.size}: "
            "give more gold, or calibrate by 'judgments'"
        )
    extra = _extra(found)
    vote = smoothed_votes(judgments.block(), extra)
    fold = np.random.default_rng(options_of(found.options).seed).permutation(place.size) % FOLDS
    unseen = np.empty((place.size, len(judgments.scale)))  # p(truth | judgments) of gold items that were held back
    for f in range(FOLDS):
        shown = known.copy()
        shown[place[fold == f]] = -1
        unseen[fold == f] = _again(found, judgments, shown).posterior[place[fold == f]]
    truth, losses = known[place], np.empty(place.size)
    for f in range(FOLDS):
        held = fold == f
        weights = _learned(unseen[~held], vote[place[~held]], truth[~held])
        q = weighed(weights, unseen[held], vote[place[held]])
        losses[held] = -np.log(np.maximum(q[np.arange(held.sum()), truth[held]], np.finfo(float).tiny))
    weights = _learned(unseen, vote[place], truth)
    error = float(losses.std(ddof=1) / math.sqrt(place.size))
    return Calibration(
        "gold",
        weights=tuple(map(float, weights)),
        gold=int(place.size),
        loss=float(losses.mean()),
        error=error,
        extra=extra,
    )


def _learned(posterior: Floats, vote: Floats, truth: Codes) -> Floats:
    """Return the weights under which truths are likeliest, pulled a little to the usual ones (2 + K)."""
    from scipy.optimize import minimize

    K = posterior.shape[1]
    logs = [np.log(np.maximum(each, LEAST)) for each in (posterior, vote)]
    usual, hit = np.r_[USUAL, np.zeros(K)], np.eye(K)[truth]

    def loss(weights: Floats) -> tuple[float, Floats]:
        q = weighed(weights, posterior, vote)
        over, off = q - hit, weights - usual
        slope = np.r_[(over * logs[0]).sum(), (over * logs[1]).sum(), over.sum(axis=0)]
        value = -np.log(np.maximum((q * hit).sum(axis=1), np.finfo(float).tiny)).sum() + PULL * (off @ off)
        return float(value), slope + 2 * PULL * off

    found: Floats = minimize(loss, usual, jac=True, method="BFGS").x
    return found


def _again(found: Fit, judgments: Judgments, known: Codes | None, tolerance: float | None = None) -> Fit:
    """Return the same fit of other judgments or other gold; a model that is sampled is climbed where it can be."""
    options = replace(options_of(found.options), calibrate="none")
    quickest = found.definition.inferences[-1]
    if tolerance is not None and quickest == "map":
        options = replace(options, tolerance=max(tolerance, options.tolerance), inference=quickest, run=None)
    return whole(infer(found.definition, judgments, known, options))
