"""How likely judgments are that were held back, given what is believed of their items and judges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import AdjudgeWarning, UsageError, quote
from adjudge.inference.infer import infer
from adjudge.inference.options import Options
from adjudge.inference.registry import MODELS, model_named, refuse_other_scales
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import count, truth_posterior

TRUSTED = 3.0  # judgments' worth of everybody's rows in a judge's own


def counted_chances(block: Block, posterior: Floats, held: Block) -> Floats:
    """Return p(label | item, judge) of held judgments (N): truths as believed (I, Z), and judges as counted under them.

    A judge's row is shrunk to everybody's as if they had been seen in a few more judgments, so that no label is
    impossible and judges of whom little is known are average ones.
    """
    label = count(block, posterior).label  # (J, Z, K)
    everybody = label.sum(axis=0) + 1
    everybody /= everybody.sum(axis=1, keepdims=True)
    rows = (label + TRUSTED * everybody) / (label.sum(axis=2, keepdims=True) + TRUSTED)
    chance = np.empty(held.cell.size)
    _chances(held.start, held.cell, posterior, _by_cell(rows), chance)
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


# How well a model foretells judgments that it was not shown: one yardstick for all models, and no gold needed.
#
# Judgments are dealt into folds at random. Each fold in turn is held back, the model is fitted to the others, and
# what is held back is foretold: the truths of its items as the model believes them, its judges as counted under these
# truths (``kernels.predictive``). So a vote is measured as a likelihood model is: by how well its truths explain what
# judges say next. A model that knows more of an item than its truth foretells by its own formula.
#
# No judge counts for more than fifteen typical ones. Crowds often have a few judges who give a large share of all
# judgments, and not the best of them; one who always says the same is easily foretold by any model, and would drown
# what sets models apart.

FOLDS = 5
NEAR = 1e-6  # of a fit that is only asked how well it foretells
MOST = 15  # typical judges that no judge counts for more than


class HeldOut(NamedTuple):
    """How likely held judgments are."""

    mean: float  # log likelihood a judgment
    error: float  # its standard error
    judgments: int


def held_out(data: Any, model: str, *, folds: int = FOLDS, seed: int = 0) -> HeldOut:
    """Return the log likelihood of judgments that were held back, by cross-validation over judgments."""
    judgments = read(data)
    logs = held_out_logs(judgments, model, folds=folds, seed=seed)
    weight = even_weights(judgments)
    mean = float((weight * logs).sum() / max(weight.sum(), np.finfo(float).tiny))
    spread = float(np.square(weight * (logs - mean)).sum())
    return HeldOut(mean, float(np.sqrt(spread) / max(weight.sum(), np.finfo(float).tiny)), logs.size)


def even_weights(judgments: Judgments) -> Floats:
    """Return what every judgment counts (N): less where its judge has more than ``MOST`` times the median judge's."""
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    judged = np.bincount(judgments.judge, weight, minlength=len(judgments.judges))
    most = MOST * np.median(judged[judged > 0]) if (judged > 0).any() else 1.0
    share: Floats = np.minimum(1.0, most / np.maximum(judged, np.finfo(float).tiny))
    even: Floats = weight * share[judgments.judge]
    return even


def held_out_logs(judgments: Judgments, model: str, *, folds: int = FOLDS, seed: int = 0) -> Floats:
    """Return the log likelihood of every judgment (N), foretold from the folds that it is not in."""
    definition, fold = model_named(model), dealt(judgments, folds, seed)
    refuse_other_scales(definition, judgments.scale)
    options = Options(seed=seed, inference=definition.inferences[-1])
    if options.inference == "map":
        options = replace(options, tolerance=NEAR)
    logs = np.empty(len(judgments))
    for f in range(min(folds, len(judgments))):
        shown = judgments.take(np.flatnonzero(fold != f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)  # a short run foretells well enough
            found = infer(definition, shown, None, options)
        if found.stopped == "interrupted":
            raise KeyboardInterrupt
        logs[fold == f] = np.log(_foretold(judgments, found, fold == f))
    return logs


def dealt(judgments: Judgments, folds: int, seed: int) -> Codes:
    """Return the fold of every judgment (N), dealt at random."""
    if folds < 2:
        raise UsageError(f"folds {folds} is not a whole number of at least 2")
    if len(judgments) < 2:
        raise UsageError("one judgment cannot be foretold from others: give two at least")
    return np.random.default_rng(seed).permutation(len(judgments)) % folds


def _foretold(judgments: Judgments, found: Fit, held: Codes) -> Floats:
    """Return the chances of held judgments under a fit to the others."""
    model = found.definition
    shown, away = (model.block(judgments.take(np.flatnonzero(rows)))[0] for rows in (~held, held))
    if model.items.predictive is not None:
        return model.items.predictive(shown, found.params, away)
    if model.items.rows_per_state:
        return counted_chances(shown, truth_posterior(shown, *model.states(found.params))[0], away)
    return counted_chances(shown, found.posterior, away)


# Which model to take, from the judgments alone: the one that foretells held judgments best, or the plainest as good.
#
# The difference between models is often less than chance would make it. So of all models within one standard error of
# the best (the rule of Breiman, Friedman, Olshen & Stone 1984) the plainest is taken: votes first, then models by how
# many numbers they have for a judge.

Trying: TypeAlias = Callable[[str, int, int], None]  # a model, its number, and how many there are


class Choice(NamedTuple):
    """The model to take, and what spoke for it."""

    model: str
    best: str  # by held-out likelihood alone
    held: Mapping[str, HeldOut]  # by model, the plainest first
    folds: int

    @property
    def reason(self) -> str:
        """Why this model was taken, for people."""
        taken, best = self.held[self.model], self.held[self.best]
        what = f"held-out log likelihood {taken.mean:.4f} a judgment over {self.folds} folds"
        if self.model == self.best:
            return f"its {what} is the best of {len(self.held)} models"
        return (
            f"its {what} is within a standard error ({best.error:.4f}) of the best of {len(self.held)} models, "
            f"{best.mean:.4f} of {quote(self.best)}, and no model that is plainer comes as near"
        )


def choose(data: Any, *, folds: int = FOLDS, seed: int = 0, trying: Trying | None = None) -> Choice:
    """Return the model to take for these judgments; no gold is needed, and none is looked at."""
    judgments = read(data)
    models = [name for name in candidates() if takes(name, judgments.scale)]
    held = {}
    for n, model in enumerate(models):
        if trying is not None:
            trying(model, n + 1, len(models))
        held[model] = held_out(judgments, model, folds=folds, seed=seed)
    return chosen(held, folds)


def chosen(held: Mapping[str, HeldOut], folds: int = FOLDS) -> Choice:
    """Return the plainest model, which stands first, within a standard error of the best."""
    best = max(held, key=lambda model: held[model].mean)
    enough = held[best].mean - held[best].error
    return Choice(next(model for model in held if held[model].mean >= enough), best, held, folds)


def candidates() -> list[str]:
    """Return the registered models that ``auto`` tries, the simplest first."""
    ranked = [(model.auto_rank, name) for name, model in MODELS.items() if model.auto_rank is not None]
    return [name for _, name in sorted(ranked, key=lambda candidate: candidate[0])]


def takes(name: str, scale: Scale) -> bool:
    """Return whether a model can take labels on this scale."""
    return model_named(name).labels.accept(scale)
