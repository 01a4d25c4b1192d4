"""Minimax entropy: Zhou, Platt, Basu & Mao 2012, regularised as in Zhou, Liu, Platt, Meek & Shah 2015.

Of all the ways in which judges may label, take the one with most entropy whose labels, per judge and truth and per item
and truth, are as frequent as those observed: judge j labels item i of truth k with y with probability proportional to
exp(sigma_j[k, y] + tau_i[k, y]). Of all truths, take those that make this entropy least: that is maximum likelihood,
with the penalties alpha / 2 |sigma|^2 and beta / 2 |tau|^2 for constraints that need to hold only nearly.

Truths are soft, and an item's tilt is penalised under the truth it belongs to: p(labels | truth k) is the best that a
tilt of its own makes of it. Where truths are certain, this is the papers' sum. Where they are not, an item's misleading
everybody is weighed against its being what everybody says; started at what they say, the papers' own sums never ask.

A matrix holds sigma as its logarithms (confusion = softmax of sigma: what the judge says where nothing tilts), and the
sigma that is penalised has rows of sum zero, which every optimum has.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.entropy import tilted_chances, tilted_posterior, tilted_tally
from adjudge.kernels.simplex import normal
from adjudge.kernels.truth import FLOOR
from adjudge.models.base import Assign, Estimate, LogPrior, Model, Params, Posterior, Predictive
from adjudge.models.confusion_columns import confusion_columns

# Penalties, times K^2. The papers choose theirs by cross-validation; these are the best of a grid (alpha .004 to .25,
# beta .08 to 250) on thirteen sets with gold, among those under which three judges who always agree are believed.
# All but one set stay within a standard error from beta = .5 to 2; ducks needs items that tilt easily, beta <= .5.
# Prevalence is learned: flat, as in the papers, it costs much where one truth is rare, as in product.
ALPHA = 0.01  # of a judge's sigma
BETA = 0.5  # of an item's tau


def judge_terms(confusion: Floats) -> Floats:
    """Return sigma, the logarithms of matrices less their mean over labels."""
    logs = np.log(np.maximum(confusion, FLOOR))
    sigma: Floats = logs - logs.mean(axis=-1, keepdims=True)
    return sigma


def softmax(sigma: Floats) -> Floats:
    """Return the matrices of sigma."""
    powers = np.exp(sigma - sigma.max(axis=-1, keepdims=True))
    matrices: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return matrices


def tilting(beta: float) -> Assign:
    """Return the E-step, each item at its best tilt under each truth."""

    def assign(block: Block, params: Params) -> Tally:
        tally = tilted_tally(block, params.prevalence, params.confusion, _scaled(beta, block.labels))
        said, expected = tally.label
        stood = expected.sum(axis=-1, keepdims=True) * judge_terms(params.confusion)  # n sigma: what adds up
        return tally._replace(label=np.stack([said, expected, stood]))  # (3, J, K, K)

    return assign


def truths_and_difficulty(beta: float) -> Posterior:
    """Return p(truth | labels), and how often the average judge would err on the item."""

    def posterior(block: Block, params: Params) -> tuple[Floats, float]:
        beliefs = (params.prevalence, params.confusion, params.population)
        return tilted_posterior(block, *beliefs, _scaled(beta, block.labels))

    return posterior


def tilted(beta: float) -> Predictive:
    """Return how held judgments are foretold; a judge of whom nothing was shown is an average one."""

    def predictive(block: Block, params: Params, held: Block) -> Floats:
        met = np.bincount(block.cell // block.labels, minlength=block.judges) > 0
        confusion = np.where(met[:, None, None], params.confusion, params.population)
        return tilted_chances(block, params.prevalence, confusion, _scaled(beta, block.labels), held)

    return predictive


def matching(alpha: float) -> Estimate:
    """Return the M-step, which moves sigma so that the labels expected match those said, by one step of Newton.

    The curvature is bounded and the step shortened as in ``kernels.entropy``, so that it never falls. Votes, which are
    plain counts (J, K, K), begin at their frequencies.
    """

    def estimate(tally: Tally, start: Params) -> Params:
        penalty = _scaled(alpha, tally.truth.shape[1])
        if tally.label.ndim == 3:
            held, sigma = tally.label.sum(axis=-1, keepdims=True), judge_terms(tally.label + penalty)
        else:
            said, expected, stood = tally.label
            held, sigma = _stepped(said, expected, stood, penalty)
        average = (held * sigma).sum(axis=0) / np.maximum(held.sum(axis=0), FLOOR)
        return Params(normal(tally.truth, start.prevalence), softmax(sigma), softmax(average))

    return estimate


def _stepped(said: Floats, expected: Floats, stood: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Return how many labels each judge gave each truth (J, K, 1), and sigma (J, K, K) after one step."""
    held = expected.sum(axis=-1, keepdims=True)
    sigma = stood / np.maximum(held, FLOOR)  # a judge who never met a truth is at zero, her best
    g, curve = said - expected - penalty * sigma, expected + penalty
    left = (expected * penalty / curve).sum(axis=-1, keepdims=True)
    share = (expected * g / curve).sum(axis=-1, keepdims=True) / np.maximum(left, FLOOR)
    step = (g + expected * share) / curve  # (diag S - S S' / n + alpha)^-1 g
    r = np.ptp(step, axis=-1, keepdims=True)
    return held, sigma + step * np.divide(np.log1p(r), r, out=np.ones_like(r), where=r > 0)


def small_terms(alpha: float) -> LogPrior:
    """Return the log prior of sigma: - alpha / 2 |sigma|^2."""

    def log_prior(params: Params) -> float:
        size = float(np.square(judge_terms(params.confusion)).sum())
        return -_scaled(alpha, params.confusion.shape[2]) / 2 * size

    return log_prior


def _scaled(penalty: float, labels: int) -> float:
    """Return a penalty times K^2, as the paper of 2015 scales its own."""
    return penalty * labels * labels


def minimax(alpha: float, beta: float) -> Model:
    """Return the model with these penalties, each times K^2."""
    return Model(
        "minimax-entropy",
        "items tilt labels as judges do, each no more than the labels ask for",
        "Zhou et al. 2012; Zhou et al. 2015",
        assign=tilting(beta),
        estimate=matching(alpha),
        posterior=truths_and_difficulty(beta),
        predictive=tilted(beta),
        judge_columns=confusion_columns,
        item_columns=("difficulty",),
        log_prior=small_terms(alpha),
    )


MODELS = (minimax(ALPHA, BETA),)
