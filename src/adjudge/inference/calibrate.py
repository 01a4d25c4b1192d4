"""Calibrated probabilities: by what other crowds taught, by gold, or by the judgments alone.

A model assumes that judges err independently, given the truth, and takes its estimates of them as certain. Both make it
over-confident.

Model ``consensus`` is calibrated by weights that were learned on other crowds ("crowds", ``calibration``). Five gold
items or more also teach a ``GoldMap`` ("gold", ``gold_map``). The consensus is fitted without gold then, so that it
is honest about the gold items. If gold contradicts it, EM is started a second time from gold: the start that predicts
held-out gold better is kept, so that exchanged labels are found.

Another model can be calibrated by gold too: its own posterior takes the place of the consensus, from fits that did not
know the gold items that they predict.

By "judgments", every probability is mixed with the share of votes that its label has. The weight of the vote has two
parts:

- Simulated: judgments are drawn from a model of the crowd, by the same judges on the same items, with errors as
  correlated as those observed (``dependence``). Their truths are known, so the model is fitted to them, and the weight
  with the least log loss is taken. It is large in a sparse crowd, and zero if the model is true and judgments are many.
- Unobserved: without gold it is unknown how often all judges of an item are wrong. Where errors are surely correlated,
  up to half of every probability is the vote's, by the strength of the correlation. It is half if correlation cannot be
  measured: if fewer than 30 items have two judges, or judges have so few judgments that the model fits each of them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.calibration import (
    Calibration,
    GoldMap,
    blind,
    by_crowds,
    expected_share,
    gold_margin,
    mixed,
    smoothed_votes,
)
from adjudge.inference.correlation import Correlation, correlation_of
from adjudge.inference.dependence import Dependence, dependence, independence, require_finished, yardstick
from adjudge.inference.gold_map import FEWEST, FOLDS, MapPrior, learn_map, map_prior, people_weights
from adjudge.inference.infer import infer, settled
from adjudge.inference.model import Model, model_named
from adjudge.inference.options import Options, options_of
from adjudge.inference.params import Params
from adjudge.inference.people import judge_tiers
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block, take_items
from adjudge.kernels.replicate import replicate_with_truth
from adjudge.kernels.truth import count, label_counts

HALF = 0.5  # weight of the vote if errors are surely and strongly correlated
DOUBT, SURE = 1.5, 3.0  # z below which nothing is done, and the scale on which the weight grows
STRONG = 0.6  # effect of items on the log odds of being right, the scale on which the weight grows
SHARES = np.linspace(0, 0.9, 19)  # weights of the vote that are tried on simulated crowds
CLIP = 1e-3  # smallest probability in a log loss
COARSE = 1e-5  # tolerance of the fits to simulated crowds
FEW, AGAIN = 500, 3  # below so many items, so many crowds are simulated
POSSIBLE, SETTLED = 0.05, 30  # evidence of independent errors from which EM has so many rounds
NAMED_PRIOR = MapPrior(np.array([0.25, 0.5, 0.0, 0.0]), np.diag([0.5, 0.5, 1.0, 1.0]))  # of a model's own posterior
CONTRADICTED = 2.0  # standard errors by which gold falls short of the claim, so that EM is started from gold
TOO_MUCH = 0.05  # share of right labels that a model may claim beyond what is expected
LIKELIER = 3.0  # log-likelihood of gold by which the start from gold must be better


def calibrated(fit: Fit, judgments: Judgments, gold: Codes | None, how: str) -> Fit:
    """Return the fit with calibrated probabilities, and the most likely labels by these."""
    if how == "crowds":
        return _by_crowds(fit, judgments, gold)
    if how == "gold":
        gold_items = usable_gold(judgments, gold)
        if gold_items.size < FEWEST or gold is None:
            raise UsageError(
                f"calibrate 'gold' needs the truths of at least {FEWEST} judged items, and there are "
                f"{gold_items.size}: give more gold, or leave it out"
            )
        learn = _consensus_by_gold if fit.definition.by_kind else _by_gold
        return learn(fit, judgments, gold, gold_items)
    return with_calibration(fit, by_judgments(fit, judgments, gold), judgments.block(gold))


def default_calibration(model: Model, calibrate: str | None, judgments: Judgments, gold: Codes | None) -> str:
    """Return how a fit is calibrated: as asked; by default the consensus by gold if there is enough, else by crowds."""
    if calibrate == "crowds" and not model.by_kind:
        raise UsageError(
            "calibrate 'crowds' works with model 'consensus' only: its weights were learned for that model"
        )
    if calibrate is not None or not model.by_kind:
        return calibrate or "none"
    return "gold" if usable_gold(judgments, gold).size >= FEWEST else "crowds"


def doubt(fit: Fit, judgments: Judgments) -> str:
    """Return why the probabilities of a named model are not to be believed, empty if nothing speaks against them.

    They are not, if the model claims that more labels are right than the consensus expects, by more than five points.
    """
    if fit.calibration is not None or fit.definition.by_kind or len(fit.scale) < 2 or not len(judgments):
        return ""
    gold = None if fit.gold is None else fit.gold[: len(judgments.items)]
    seed = options_of(fit.options).seed
    consensus = infer(model_named("consensus"), judgments, gold, Options(seed))
    reference = with_calibration(*_crowd_weights(consensus, judgments, gold)).calibration
    assert reference is not None  # with_calibration
    claimed = expected_share(fit.posterior[: len(judgments.items)], judgments.start, gold)
    if claimed - reference.expected <= TOO_MUCH:
        return ""
    low, high = reference.interval
    return (
        f"do not believe these probabilities: {fit.model} claims that {claimed:.0%} of the labels are right, and of "
        f"judgments like these {reference.expected:.0%} are expected to be ({low:.0%} to {high:.0%}); model consensus, "
        "the default, has calibrated ones"
    )


def usable_gold(judgments: Judgments, gold: Codes | None) -> Codes:
    """Return the positions of the judged items whose truth is known and may teach."""
    if gold is None:
        return np.empty(0, np.int64)
    teaches = (gold >= 0) & (np.diff(judgments.start) > 0)
    return np.flatnonzero(teaches if judgments.aside is None else teaches & ~judgments.aside)


def _by_crowds(fit: Fit, judgments: Judgments, gold: Codes | None) -> Fit:
    """Return a fit of the consensus with probabilities by the weights that were learned on other crowds."""
    if len(judgments.scale) < 2:
        return replace(fit, calibration=Calibration("crowds"))
    return _following(with_calibration(*_crowd_weights(fit, judgments, gold)), judgments)


class CrowdEvidence(NamedTuple):
    """A fit of the consensus, and what the judgments say about how far it can be believed."""

    fit: Fit
    correlation: Correlation
    independent: float  # evidence that judges err independently, from 0 to 1


def crowd_evidence(fit: Fit, judgments: Judgments, gold: Codes | None = None) -> CrowdEvidence:
    """Measure how correlated the errors of judges are under a fit of the consensus.

    Only if they are not clearly correlated, independence is tested. If there is evidence of it, EM continues until it
    has settled: no shared errors mislead it.
    """
    model, options = fit.definition, options_of(fit.options)
    bare, _ = model.block(judgments)  # without gold
    counts = label_counts(bare)
    correlation = correlation_of(bare, fit.params, counts, options.seed)
    if correlation.clear:
        return CrowdEvidence(fit, correlation, 0.0)
    weighed = replace(judgments, weight=bare.weight if bare.weight.size else None)
    if weighed.weight is not None:  # people beside machines are no more judgments of an item
        weighed = weighed.take(np.flatnonzero(weighed.weight > 0))
    independent = independence(weighed, gold, fit)
    if independent <= POSSIBLE:
        return CrowdEvidence(fit, correlation, independent)
    longer = require_finished(infer(replace(model, rounds=SETTLED), judgments, gold, options))
    settled_fit = replace(longer, definition=model)
    correlation = correlation_of(bare, settled_fit.params, counts, options.seed)
    return CrowdEvidence(settled_fit, correlation, independent)


def _crowd_weights(fit: Fit, judgments: Judgments, gold: Codes | None) -> tuple[Fit, Calibration, Block]:
    """Return the fit, its calibration by crowds, and the judgments."""
    fit, correlation, independent = crowd_evidence(fit, judgments, gold)
    block, _ = fit.definition.block(judgments, gold)
    calibration = by_crowds(correlation, independent, block, fit.params.label_prevalence)
    return fit, beside_people(calibration, judge_tiers(judgments)), block


def beside_people(calibration: Calibration, tier: Codes) -> Calibration:
    """Return the calibration with the weights of people and experts beside the judges that were fitted."""
    if not calibration.changes or not tier.any():
        return calibration
    weights = (1.0, 0.0, *people_weights(calibration.judgments))
    return replace(calibration, gold_map=GoldMap(weights, tier=frozen(tier)))


def _consensus_by_gold(fit: Fit, judgments: Judgments, gold: Codes, gold_items: Codes) -> Fit:
    """Return the consensus with probabilities by a map that gold taught."""
    if len(judgments.scale) < 2:
        return replace(fit, calibration=Calibration("gold"), gold=frozen(gold))
    model, options = fit.definition, options_of(fit.options)
    if fit.gold is not None:  # the base must not know the gold items
        fit = require_finished(infer(model, judgments, None, options))
    fit, calibration, bare = _crowd_weights(fit, judgments, None)
    calibration, truth = replace(calibration, gold_map=None), gold[gold_items]
    base = mixed(calibration, fit.posterior, bare)[gold_items]
    if _contradicted(base, truth):
        second = _start_from_gold(fit, calibration, judgments, gold, gold_items)
        if _likelier(second.held_out, base, truth):
            fit, calibration, base = second
    tier, seed = judge_tiers(judgments), options.seed
    rows, vote = take_items(bare, gold_items), smoothed_votes(bare)[gold_items]
    prior = map_prior(people_weights(calibration.judgments))
    learned = learn_map(base, vote, rows, truth, prior, tier, keep=True, seed=seed)
    calibration = replace(
        calibration,
        by="gold",
        gold_map=learned.gold_map,
        gold=int(gold_items.size),
        loss=learned.loss,
        error=learned.error,
        margin=gold_margin(calibration.margin, gold_items.size),
    )
    block, _ = model.block(judgments, gold)
    fit = replace(fit, gold=frozen(gold), options=MappingProxyType({**fit.options, "start": options.start}))
    return _following(with_calibration(fit, calibration, block), judgments)


class _Second(NamedTuple):
    """A fit whose EM started from gold, its calibration, and its probabilities of held-out gold."""

    fit: Fit
    calibration: Calibration
    held_out: Floats  # (G, K)


def _contradicted(base: Floats, truth: Codes) -> bool:
    """Return whether fewer labels of gold items are right than the probabilities (G, K) claim, beyond chance."""
    claimed = base.max(axis=1)
    short = claimed.sum() - (base.argmax(axis=1) == truth).sum()
    return bool(short > CONTRADICTED * math.sqrt((claimed * (1 - claimed)).sum()))


def _likelier(first: Floats, other: Floats, truth: Codes) -> bool:
    """Return whether the first probabilities (G, K) of gold are better than the others by more than chance."""
    at = np.arange(truth.size)
    logs = [np.log(np.maximum(each[at, truth], CLIP)) for each in (first, other)]
    gain = logs[0] - logs[1]
    return bool(gain.sum() > max(LIKELIER, CONTRADICTED * gain.std(ddof=1) * math.sqrt(gain.size)))


def _start_from_gold(fit: Fit, before: Calibration, judgments: Judgments, gold: Codes, gold_items: Codes) -> _Second:
    """Return the fit whose EM starts from the confusions of judges on gold items."""
    rounds = SETTLED if before.independent > POSSIBLE else fit.definition.rounds
    model, options = replace(fit.definition, rounds=rounds), replace(options_of(fit.options), start="gold")
    bare, _ = model.block(judgments)

    def again(visible: Codes) -> Fit:
        return require_finished(infer(model, judgments, visible, options))

    full = replace(again(gold), definition=fit.definition)
    correlation = correlation_of(bare, full.params, label_counts(bare), options.seed)
    calibration = by_crowds(correlation, before.independent, bare, full.params.label_prevalence)
    calibration = replace(calibration, from_gold=True)
    held_out = np.empty((gold_items.size, len(judgments.scale)))
    for test in _gold_folds(gold_items.size, options.seed):
        visible = gold.copy()
        visible[gold_items[test]] = -1
        held_out[test] = mixed(calibration, again(visible).posterior, bare)[gold_items[test]]
    return _Second(full, calibration, held_out)


def _gold_folds(gold: int, seed: int) -> list[Codes]:
    """Return the gold items of each fold, as positions among the gold items."""
    fold = np.random.default_rng(seed).permutation(gold) % min(FOLDS, gold)
    return [np.flatnonzero(fold == f) for f in range(min(FOLDS, gold))]


def _following(fit: Fit, judgments: Judgments) -> Fit:
    """Return a fit whose judges are counted under its calibrated probabilities."""
    if fit.calibration is None or not fit.calibration.changes:
        return fit
    tally = count(judgments.block(), fit.posterior)
    right, total = np.trace(tally.label, axis1=1, axis2=2), tally.label.sum(axis=(1, 2))
    confusion = fit.definition.confusion.estimate(tally, fit.params).confusion
    accuracy = np.divide(right, total, out=fit.accuracy.copy(), where=total > 0)
    return replace(fit, accuracy=frozen(accuracy), calibration=replace(fit.calibration, confusion=frozen(confusion)))


def with_calibration(fit: Fit, calibration: Calibration, block: Block) -> Fit:
    """Return a fit with the probabilities of a calibration; one with an interval claims the share that they give."""
    if not calibration.changes:
        return replace(fit, calibration=calibration)
    posterior = mixed(calibration, fit.posterior, block)
    if calibration.margin:
        calibration = replace(calibration, expected=expected_share(posterior, block.start, block.gold))
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


def _by_gold(fit: Fit, judgments: Judgments, gold: Codes, gold_items: Codes) -> Fit:
    """Return a fit of any model, with probabilities by a map of its posterior and the vote that gold taught."""
    extra, truth, block = _extra(fit), gold[gold_items], judgments.block()
    unseen = np.empty((gold_items.size, len(judgments.scale)))  # p(truth | judgments) of held-out gold items
    for test in _gold_folds(gold_items.size, options_of(fit.options).seed):
        visible = gold.copy()
        visible[gold_items[test]] = -1
        unseen[test] = _again(fit, judgments, visible).posterior[gold_items[test]]
    vote, nobody = smoothed_votes(block, extra)[gold_items], np.zeros(0, np.int64)
    learned = learn_map(unseen, vote, take_items(block, gold_items), truth, NAMED_PRIOR, nobody, keep=False)
    calibration = Calibration(
        "gold",
        gold_map=learned.gold_map,
        gold=int(gold_items.size),
        loss=learned.loss,
        error=learned.error,
        extra=extra,
    )
    return with_calibration(fit, calibration, judgments.block(gold))


def _again(fit: Fit, judgments: Judgments, gold: Codes | None, tolerance: float | None = None) -> Fit:
    """Return the same fit of other judgments or other gold; a sampled model is fitted by EM if it has EM."""
    options = replace(options_of(fit.options), calibrate="none")
    quickest = fit.definition.inferences[-1]
    if tolerance is not None and quickest == "map":
        options = replace(options, tolerance=max(tolerance, options.tolerance), inference=quickest, run=None)
    return require_finished(infer(fit.definition, judgments, gold, options))
