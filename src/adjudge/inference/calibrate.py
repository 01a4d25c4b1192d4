"""Calibrated probabilities, from the judgments alone or with some gold.

A model assumes that judges err independently, given the truth, and takes its estimates of them as certain. Both make it
over-confident. Without gold, every probability is mixed with the share of votes that its label has. The weight of the
vote has two parts:

- Simulated: judgments are drawn from a model of the crowd, by the same judges on the same items, with errors as
  correlated as those observed (``dependence``). Their truths are known, so the model is fitted to them, and the weight
  with the least log loss is taken. It is large in a sparse crowd, and zero if the model is true and judgments are many.
- Unobserved: without gold it is unknown how often all judges of an item are wrong. Where errors are surely correlated,
  up to half of every probability is the vote's, by the strength of the correlation. It is half if correlation cannot be
  measured: if hardly any item has two judges, or judges have so few judgments that the model fits each of them.

With gold, the logarithms of posterior and vote are weighed, with an offset per label, to maximise the likelihood of the
gold items (Platt scaling with two inputs), with a weak penalty towards default weights. The reported loss is that of
gold items that were held out of both the fit and the weighing.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.calibration import LEAST, Calibration, blind, by_crowds, mixed, smoothed_votes, weighed
from adjudge.inference.correlation import correlation_of
from adjudge.inference.dependence import Dependence, dependence, independence, require_finished, yardstick
from adjudge.inference.infer import infer, settled
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.replicate import replicate_with_truth
from adjudge.kernels.truth import label_counts

HALF = 0.5  # weight of the vote if errors are surely and strongly correlated
DOUBT, SURE = 1.5, 3.0  # z below which nothing is done, and the scale on which the weight grows
STRONG = 0.6  # effect of items on the log odds of being right, the scale on which the weight grows
SHARES = np.linspace(0, 0.9, 19)  # weights of the vote that are tried on simulated crowds
CLIP = 1e-3  # smallest probability in a log loss
COARSE = 1e-5  # tolerance of the fits to simulated crowds
FEW, AGAIN = 500, 3  # below so many items, so many crowds are simulated
FEWEST = 20  # smallest number of gold items
FOLDS = 5
POSSIBLE, SETTLED = 0.05, 30  # evidence of independent errors from which EM has so many rounds
DEFAULT_WEIGHTS = (0.25, 0.5)  # of the logarithms of posterior and vote
PENALTY = 1.0  # on other weights: worth about a gold item or two


def calibrated(fit: Fit, judgments: Judgments, gold: Codes | None, how: str) -> Fit:
    """Return the fit with calibrated probabilities, and the most likely labels by these."""
    block = judgments.block(gold)
    if how == "crowds":
        return _by_crowds(fit, judgments, gold, block)
    calibration = by_gold(fit, judgments, gold) if how == "gold" else by_judgments(fit, judgments, gold)
    return with_calibration(fit, calibration, block)


def _by_crowds(fit: Fit, judgments: Judgments, gold: Codes | None, block: Block) -> Fit:
    """Return the fit with probabilities by the weights that were learned on other crowds.

    If there is evidence that judges err independently, EM continues until it has settled: no shared errors mislead it.
    """
    if len(judgments.scale) < 2:
        return replace(fit, calibration=Calibration("crowds"))
    model, options = fit.definition, options_of(fit.options)
    independent = independence(judgments, gold, options.seed)
    if independent > POSSIBLE:
        longer = require_finished(infer(replace(model, rounds=SETTLED), judgments, gold, options))
        fit = replace(longer, definition=model)
    bare, _ = model.block(judgments)  # without gold
    correlation = correlation_of(bare, fit.params, label_counts(bare), options.seed)
    prevalence = fit.params.label_prevalence
    return with_calibration(fit, by_crowds(correlation, independent, fit.posterior, block, prevalence), block)


def with_calibration(fit: Fit, calibration: Calibration, block: Block) -> Fit:
    """Return a fit with the probabilities of a calibration."""
    if not calibration.changes:
        return replace(fit, calibration=calibration)
    posterior = mixed(calibration, fit.posterior, block)
    label = settled(posterior, fit.items, options_of(fit.options))
    return replace(fit, posterior=frozen(posterior), label=frozen(label), calibration=calibration)


def by_judgments(fit: Fit, judgments: Judgments, gold: Codes | None) -> Calibration:
    """Return the calibration by judgments: how much of the vote is mixed in."""
    if len(judgments.scale) < 2:
        return Calibration("judgments")
    options, params = options_of(fit.options), yardstick(judgments, gold, fit)
    correlation, extra = dependence(judgments, gold, params, fit, options.seed), _extra(fit)
    strength = correlation.strength * _surely(correlation)  # without what may be chance
    simulated, unseen = _simulated(fit, judgments, gold, params, strength, extra), _unseen(correlation)
    return Calibration(
        "judgments",
        dependence=correlation.z,
        strength=correlation.strength,
        shared=correlation.shared,
        simulated=simulated,
        hedge=1 - (1 - simulated) * (1 - unseen),
        extra=extra,
    )


def _unseen(correlation: Dependence) -> float:
    """Return the weight of the vote for items that mislead all their judges, which judgments cannot show."""
    if blind(correlation.z, correlation.shared):
        return HALF
    return HALF * _surely(correlation) * -math.expm1(-((correlation.strength / STRONG) ** 2))


def _surely(correlation: Dependence) -> float:
    """Return how sure it is that errors are correlated, from 0 to 1."""
    return -math.expm1(-(max(0.0, correlation.z - DOUBT) ** 2) / SURE)


def _extra(fit: Fit) -> tuple[float, ...]:
    """Return the pseudo-votes of labels (K), which sum to one: by how common labels are, or equal for plain votes.

    Equal ones would make rare labels common; unequal ones would break every tie of votes for the most common label.
    """
    items, K = fit.posterior.shape
    common = (fit.posterior.sum(axis=0) + 1 / K) / (items + 1)
    shares = np.full(K, 1 / K) if fit.definition.rounds is not None else common
    return tuple(map(float, shares))


def _simulated(
    fit: Fit, judgments: Judgments, gold: Codes | None, params: Params, strength: float, extra: tuple[float, ...]
) -> float:
    """Return the weight of the vote with the least log loss on simulated crowds, whose truths are known."""
    block, seed = judgments.block(gold), options_of(fit.options).seed
    open_items = np.flatnonzero((np.diff(block.start) > 0) & (block.gold < 0))
    losses = np.zeros(SHARES.size)
    for n in range(AGAIN if open_items.size < FEW else 1):
        rng = np.random.default_rng((seed, n))
        drawn, truth = replicate_with_truth(block, params.prevalence, params.confusion, rng, strength)
        again = _again(fit, replace(judgments, label=drawn.label), gold, tolerance=COARSE)
        chance, vote = (each[open_items, truth[open_items]] for each in (again.posterior, smoothed_votes(drawn, extra)))
        losses -= [np.log(np.maximum((1 - share) * chance + share * vote, CLIP)).sum() for share in SHARES]
    return float(SHARES[losses.argmin()])


def by_gold(fit: Fit, judgments: Judgments, gold: Codes | None) -> Calibration:
    """Return the calibration by gold: weights, and the log loss on gold held out of both fit and weighing."""
    judged = np.diff(judgments.start) > 0
    index = np.flatnonzero((gold >= 0) & judged) if gold is not None else np.empty(0, np.int64)
    if gold is None or index.size < FEWEST:
        raise UsageError(
            f"calibrate 'gold' needs the truths of at least {FEWEST} judged items, and there are {index.size}: "
            "give more gold, or calibrate by 'judgments'"
        )
    extra = _extra(fit)
    vote = smoothed_votes(judgments.block(), extra)
    fold = np.random.default_rng(options_of(fit.options).seed).permutation(index.size) % FOLDS
    unseen = np.empty((index.size, len(judgments.scale)))  # p(truth | judgments) of held-out gold items
    for f in range(FOLDS):
        visible = gold.copy()
        visible[index[fold == f]] = -1
        unseen[fold == f] = _again(fit, judgments, visible).posterior[index[fold == f]]
    truth, losses = gold[index], np.empty(index.size)
    for f in range(FOLDS):
        test = fold == f
        weights = _learned(unseen[~test], vote[index[~test]], truth[~test])
        q = weighed(weights, unseen[test], vote[index[test]])
        losses[test] = -np.log(np.maximum(q[np.arange(test.sum()), truth[test]], np.finfo(float).tiny))
    weights = _learned(unseen, vote[index], truth)
    error = float(losses.std(ddof=1) / math.sqrt(index.size))
    return Calibration(
        "gold",
        weights=tuple(map(float, weights)),
        gold=int(index.size),
        loss=float(losses.mean()),
        error=error,
        extra=extra,
    )


def _learned(posterior: Floats, vote: Floats, truth: Codes) -> Floats:
    """Return the weights (2 + K) of the penalised maximum likelihood of the truths."""
    from scipy.optimize import minimize

    K = posterior.shape[1]
    logs = [np.log(np.maximum(each, LEAST)) for each in (posterior, vote)]
    default, hit = np.r_[DEFAULT_WEIGHTS, np.zeros(K)], np.eye(K)[truth]

    def loss(weights: Floats) -> tuple[float, Floats]:
        q = weighed(weights, posterior, vote)
        over, off = q - hit, weights - default
        slope = np.r_[(over * logs[0]).sum(), (over * logs[1]).sum(), over.sum(axis=0)]
        value = -np.log(np.maximum((q * hit).sum(axis=1), np.finfo(float).tiny)).sum() + PENALTY * (off @ off)
        return float(value), slope + 2 * PENALTY * off

    best: Floats = minimize(loss, default, jac=True, method="BFGS").x
    return best


def _again(fit: Fit, judgments: Judgments, gold: Codes | None, tolerance: float | None = None) -> Fit:
    """Return the same fit of other judgments or other gold; a sampled model is fitted by EM if it has EM."""
    options = replace(options_of(fit.options), calibrate="none")
    quickest = fit.definition.inferences[-1]
    if tolerance is not None and quickest == "map":
        options = replace(options, tolerance=max(tolerance, options.tolerance), inference=quickest, run=None)
    return require_finished(infer(fit.definition, judgments, gold, options))
