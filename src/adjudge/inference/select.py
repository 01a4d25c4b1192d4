"""Model selection by the held-out likelihood of judgments: ``held_out`` of one model, ``choose`` among all candidates.

Judgments are split into folds at random. Each fold in turn is held out, the model is fitted to the others, and the
held-out judgments are predicted: the truths of their items by the model's posterior, their judges by counting under
these truths. So a vote is measured as a likelihood model is: by how well its truths explain further judgments. A model
with item effects may predict by its own formula. No gold is needed.

No judge counts for more than fifteen typical ones. Crowds often have a few judges who give a large share of all
judgments, and not the best of them; a judge who always gives the same label is easy to predict for any model, and would
hide the differences between models.

These differences are often smaller than their standard error. So of all models within one standard error of the best
(the rule of Breiman, Friedman, Olshen & Stone 1984) ``choose`` takes the simplest: votes first, then models by how many
parameters they have per judge (``Model.auto_rank``).

A model that predicts further judgments predicts what judges share, errors included: the best one can be wrong on most
items. So model ``auto`` is the consensus with a share of the chosen model (``with_share``), .3 at most. There is none
if the chosen model is not better than the consensus by a standard error, and the share falls to none as the two come
to give different labels to .4 of the items.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import AdjudgeWarning, UsageError, quote
from adjudge.inference.calibration import NOTED, expected_share
from adjudge.inference.infer import infer, settled
from adjudge.inference.model import MODELS, model_named, refuse_other_scales
from adjudge.inference.options import Options, options_of
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import count, fix_gold, truth_posterior

FOLDS = 5
TRUSTED = 3.0  # judgments of the average judge that are added to each judge's own
NEAR = 1e-6  # tolerance of fits that only predict
MOST = 15  # typical judges that the weight of a judge is limited to

LEAST_PER_ITEM = 3.0  # judgments per item, below which models are not compared
SHARE = 0.3  # largest share of the chosen model
APART = 0.4  # share of items with another label at which the chosen model has no share

Trying: TypeAlias = Callable[[str, int, int], None]  # the name of a model, its number, and the number of models


class HeldOut(NamedTuple):
    """The log-likelihood of held-out judgments."""

    mean: float  # per judgment
    error: float  # its standard error
    judgments: int


def held_out(data: Any, model: str, *, folds: int = FOLDS, seed: int = 0) -> HeldOut:
    """Return the held-out log-likelihood of a model, by cross-validation over judgments.

    Parameters
    ----------
    data
        A ``Judgments``, a frame, or a path.
    model
        A name of ``MODELS``.
    folds, seed
        The number of folds, and the seed of the split into folds.

    Returns
    -------
    HeldOut
        The mean per judgment, its standard error, and the number of judgments.

    Examples
    --------
    >>> import adjudge
    >>> round(adjudge.held_out(adjudge.dataset("anesthesia"), "dawid-skene").mean, 2)
    -0.69
    """
    judgments = read(data)
    logs = held_out_logs(judgments, model, folds=folds, seed=seed)
    weight = even_weights(judgments)
    mean = float((weight * logs).sum() / max(weight.sum(), np.finfo(float).tiny))
    spread = float(np.square(weight * (logs - mean)).sum())
    return HeldOut(mean, float(np.sqrt(spread) / max(weight.sum(), np.finfo(float).tiny)), logs.size)


def even_weights(judgments: Judgments) -> Floats:
    """Return the weight of every judgment (N): less if its judge has more than ``MOST`` times the median."""
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    judged = np.bincount(judgments.judge, weight, minlength=len(judgments.judges))
    most = MOST * np.median(judged[judged > 0]) if (judged > 0).any() else 1.0
    share: Floats = np.minimum(1.0, most / np.maximum(judged, np.finfo(float).tiny))
    even: Floats = weight * share[judgments.judge]
    return even


def held_out_logs(judgments: Judgments, model: str, *, folds: int = FOLDS, seed: int = 0) -> Floats:
    """Return the log-likelihood of every judgment (N), predicted from the folds that it is not in."""
    definition, fold = model_named(model), random_folds(judgments, folds, seed)
    refuse_other_scales(definition, judgments.scale)
    options = Options(seed=seed, inference=definition.inferences[-1])
    if options.inference == "map":
        options = replace(options, tolerance=NEAR)
    logs = np.empty(len(judgments))
    for f in range(min(folds, len(judgments))):
        training = judgments.take(np.flatnonzero(fold != f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)  # a short run predicts well enough
            fit = infer(definition, training, None, options)
        if fit.stopped == "interrupted":
            raise KeyboardInterrupt
        logs[fold == f] = np.log(_predicted(judgments, fit, fold == f))
    return logs


def random_folds(judgments: Judgments, folds: int, seed: int) -> Codes:
    """Return the fold of every judgment (N), at random."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a whole number of at least 2")
    if len(judgments) < 2:
        raise UsageError("a held-out likelihood needs at least two judgments, and there is one")
    return np.random.default_rng(seed).permutation(len(judgments)) % folds


def _predicted(judgments: Judgments, fit: Fit, test: Codes) -> Floats:
    """Return the probabilities of held-out judgments under a fit to the others."""
    model = fit.definition
    training, away = (model.block(judgments.take(np.flatnonzero(rows)))[0] for rows in (~test, test))
    if model.items.predictive is not None:
        return model.items.predictive(training, fit.params, away)
    if model.items.rows_per_state:
        return counted_chances(training, truth_posterior(training, *model.states(fit.params))[0], away)
    return counted_chances(training, fit.posterior, away)


class Choice(NamedTuple):
    """The model that was chosen, and the scores of all candidates."""

    model: str
    best: str  # by the held-out likelihood alone
    scores: Mapping[str, HeldOut]  # by model, the simplest first
    folds: int

    @property
    def reason(self) -> str:
        """Why this model was chosen, in words."""
        selected, best = self.scores[self.model], self.scores[self.best]
        text = f"held-out log-likelihood of {selected.mean:.4f} per judgment over {self.folds} folds"
        if self.model == self.best:
            return f"its {text} is the best of {len(self.scores)} models"
        return (
            f"its {text} is within a standard error ({best.error:.4f}) of the best of {len(self.scores)} models, "
            f"{best.mean:.4f} of {quote(self.best)}, and no simpler model is"
        )


def choose(data: Any, *, folds: int = FOLDS, seed: int = 0, trying: Trying | None = None) -> Choice:
    """Return the model to use for these judgments; no gold is needed.

    Parameters
    ----------
    data
        A ``Judgments``, a frame, or a path.
    folds, seed
        The number of folds, and the seed of the split into folds.
    trying
        Is called with the name of each model before it is tried, its number, and the number of models.

    Returns
    -------
    Choice
        The model, the reason, and the held-out log-likelihood of every candidate.

    Examples
    --------
    >>> import adjudge
    >>> adjudge.choose(adjudge.dataset("anesthesia")).model in adjudge.MODELS
    True
    """
    judgments = read(data)
    models = [name for name in candidates() if takes(name, judgments.scale)]
    scores = {}
    for n, model in enumerate(models):
        if trying is not None:
            trying(model, n + 1, len(models))
        scores[model] = held_out(judgments, model, folds=folds, seed=seed)
    return chosen(scores, folds)


def why_no_comparison(base: Fit, judgments: Judgments) -> str:
    """Return why models are not compared, empty if they are."""
    per_item = len(judgments) / max(int((np.diff(judgments.start) > 0).sum()), 1)
    if len(judgments.scale) < 2:
        return "there is one label only"
    if base.calibration is not None and base.calibration.by == "gold":
        return "gold teaches more than held-out judgments can"
    if per_item < LEAST_PER_ITEM:
        return f"models cannot be compared with {per_item:.1f} judgments per item: {LEAST_PER_ITEM:.0f} are needed"
    if base.calibration is not None and base.calibration.gold_map is not None:
        return "judges are of several kinds, which other models do not know"
    if base.calibration is not None and base.calibration.one_voice:
        return "models cannot be compared, because judges hardly ever disagree"
    return ""


def with_share(base: Fit, judgments: Judgments, other: Fit, choice: Choice, reference: HeldOut) -> Fit:
    """Return the consensus with the share of the chosen model that held-out judgments and its labels allow.

    ``reference`` is the held-out log-likelihood of the consensus.
    """
    score = choice.scores[choice.model]
    name = quote(choice.model)
    figures = (
        f"held-out log-likelihood per judgment {score.mean:.4f}, consensus {reference.mean:.4f}, {choice.folds} folds"
    )
    if score.mean - reference.mean <= score.error:
        reason = f"it is the consensus alone: {name} is not better by more than a standard error ({figures})"
        return replace(base, reason=reason)
    apart = float(
        (base.posterior.argmax(axis=1) != other.posterior.argmax(axis=1))[np.diff(judgments.start) > 0].mean()
    )
    share = SHARE * max(0.0, 1 - apart / APART)
    if share < NOTED:
        return replace(
            base,
            reason=f"{name} predicts held-out judgments better, but gives another label to {apart:.0%} of the items: "
            "without gold nothing says which of the two is right",
        )
    posterior = fix_gold((1 - share) * base.posterior + share * other.posterior, judgments.block(base.gold).gold)
    calibration = base.calibration
    if calibration is not None:
        calibration = replace(calibration, expected=expected_share(posterior, judgments.start, base.gold))
    return replace(
        base,
        posterior=frozen(posterior),
        label=frozen(settled(posterior, base.items, options_of(base.options))),
        calibration=calibration,
        reason=f"each probability is {1 - share:.0%} consensus and {share:.0%} {name}, which predicts further "
        f"judgments better ({figures}) and agrees with the consensus on {1 - apart:.0%} of the labels",
    )


def chosen(scores: Mapping[str, HeldOut], folds: int = FOLDS) -> Choice:
    """Return the simplest model, which comes first, within a standard error of the best."""
    best = max(scores, key=lambda model: scores[model].mean)
    enough = scores[best].mean - scores[best].error
    return Choice(next(model for model in scores if scores[model].mean >= enough), best, scores, folds)


def candidates() -> list[str]:
    """Return the registered models that ``auto`` tries, the simplest first."""
    ranked = [(model.auto_rank, name) for name, model in MODELS.items() if model.auto_rank is not None]
    return [name for _, name in sorted(ranked, key=lambda candidate: candidate[0])]


def takes(name: str, scale: Scale) -> bool:
    """Return whether a model can take labels on this scale."""
    return model_named(name).labels.accept(scale)


def counted_chances(block: Block, posterior: Floats, test: Block) -> Floats:
    """Return p(label | item, judge) of held-out judgments (N), given p(truth) of items (I, Z).

    Judges are counted under these truths, and shrunk to the average judge as if they had given a few more judgments:
    then no label is impossible, and judges with few judgments are average.
    """
    label = count(block, posterior).label  # (J, Z, K)
    everybody = label.sum(axis=0) + 1
    everybody /= everybody.sum(axis=1, keepdims=True)
    rows = (label + TRUSTED * everybody) / (label.sum(axis=2, keepdims=True) + TRUSTED)
    chance = np.empty(test.cell.size)
    _chances(test.start, test.cell, posterior, _by_cell(rows), chance)
    return chance


def _by_cell(rows: Floats) -> Floats:
    """Return matrices (J, Z, K) in the order of cells (J * K, Z)."""
    J, Z, K = rows.shape
    return np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(J * K, Z)


@compiled
def _chances(start: Codes, cell: Codes, posterior: Floats, rows: Floats, chance: Floats) -> None:
    """Fill in each judgment's chance, summed over the truths of its item."""
    for i in range(start.size - 1):
        for n in range(start[i], start[i + 1]):
            total = 0.0
            for z in range(posterior.shape[1]):
                total += posterior[i, z] * rows[cell[n], z]
            chance[n] = total
