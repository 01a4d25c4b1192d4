"""How well a model foretells judgments that it was not shown: one yardstick for all models, and no gold needed.

Judgments are dealt into folds at random. Each fold in turn is held back, the model is fitted to the others, and what is
held back is foretold: the truths of its items as the model believes them, its judges as counted under these truths
(``kernels.predictive``). So a vote is measured as a likelihood model is: by how well its truths explain
what judges say next. A model that knows more of an item than its truth foretells by its own formula.

No judge counts for more than fifteen typical ones. Crowds often have a few judges who give a large share of all
judgments, and not the best of them; one who always says the same is easily foretold by any model, and would drown what
sets models apart.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.kernels.predictive import counted_chances
from adjudge.models.fit import fit
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

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
    fold, quick = dealt(judgments, folds, seed), model_named(model).inferences[-1]
    near: dict[str, Any] = {"tolerance": NEAR} if quick == "map" else {}
    logs = np.empty(len(judgments))
    for f in range(min(folds, len(judgments))):
        shown = judgments.take(np.flatnonzero(fold != f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AdjudgeWarning)  # a short run foretells well enough
            found = fit(shown, model, seed=seed, inference=quick, **near)
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
    model = model_named(found.model)
    shown, away = (judgments.take(np.flatnonzero(kept)).block() for kept in (~held, held))
    if model.predictive is not None:
        return model.predictive(shown, found.params, away)
    states = found.posterior if model.states is None else model.states(shown, found.params)[0]
    return counted_chances(shown, states, away)
