"""How well a model foretells judgments that it was not shown: one yardstick for all models, and no gold needed.

Judgments are dealt into folds at random. Each fold in turn is held back, the model is fitted to the others, and what is
held back is foretold: the truths of its items as the model believes them, its judges as counted under these truths
(``kernels.predictive``). So a vote is measured as a likelihood model is: by how well its truths explain
what judges say next. A model that knows more of an item than its truth foretells by its own formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.kernels.predictive import counted_chances
from adjudge.models.fit import fit
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

FOLDS = 5
NEAR = 1e-6  # of a fit that is only asked how well it foretells


class HeldOut(NamedTuple):
    """How likely held judgments are."""

    mean: float  # log likelihood a judgment
    error: float  # its standard error
    judgments: int


def held_out(data: Any, model: str, *, folds: int = FOLDS, seed: int = 0) -> HeldOut:
    """Return the log likelihood of judgments that were held back, by cross-validation over judgments."""
    judgments = read(data)
    logs = held_out_logs(judgments, model, folds=folds, seed=seed)
    weight = np.ones_like(logs) if judgments.weight is None else judgments.weight
    mean = float((weight * logs).sum() / max(weight.sum(), np.finfo(float).tiny))
    spread = float(np.square(weight * (logs - mean)).sum())
    return HeldOut(mean, float(np.sqrt(spread) / max(weight.sum(), np.finfo(float).tiny)), logs.size)


def held_out_logs(judgments: Judgments, model: str, *, folds: int = FOLDS, seed: int = 0) -> Floats:
    """Return the log likelihood of every judgment (N), foretold from the folds that it is not in."""
    fold = dealt(judgments, folds, seed)
    logs = np.empty(len(judgments))
    for f in range(min(folds, len(judgments))):
        found = fit(judgments.take(np.flatnonzero(fold != f)), model, seed=seed, tolerance=NEAR)
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
