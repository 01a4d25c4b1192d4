"""The synthetic experiment of paper 003, section 3: how many items a model of judges needs.

Three judges label every item; the fewer items, the less is known of each judge. Dawid-Skene's model is the one that
made the labels, and has most to learn; SingleConfusion has least; HybridConfusion lies between, by its prior. Beside
them stand the vote and, as the ceiling, Bayes' rule with the true parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.crowds import Simulation
from adjudge.data.designs import LIU_WANG_CONFUSION, LIU_WANG_PREVALENCE
from adjudge.data.judgments import Judgments
from adjudge.data.simulate import simulate
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.inference.chains import Run
from adjudge.inference.fit import fit
from adjudge.inference.prior import Prior
from adjudge.inference.registry import model_named
from adjudge.inference.result import Fit
from adjudge.kernels.truth import truth_posterior
from studies.curves import Axes, Curves, Stop, trace
from studies.outcome import Asked, Shown

SIZES = (5, 10, 20, 50, 100, 300, 1_000, 3_000)  # items; the paper's go from 3000 down to 5
PAPERS_RUN = Run(chains=3, warmup=1_000, draws=100, thin=10)
LABELS = ("A", "B", "C")
CEILING = "true parameters"

AXES = Axes(
    "spectrum",
    "models by number of items",
    "items",
    "number of items (three judges label each)",
    {
        "accuracy": "accuracy of labels",
        "prevalence_error": "error of prevalence (sum of |difference|)",
        "mae": "MAE of a judge's matrix (sum of |difference|)",
    },
    log=True,
)


class Method(NamedTuple):
    """A model and the options it is fitted with."""

    model: str
    options: Mapping[str, Any] = {}


METHODS: Mapping[str, Method] = {
    "majority": Method("majority"),
    "single-confusion": Method("single-confusion", {"start": "accurate"}),  # the paper's own start
    "dawid-skene": Method("dawid-skene", {"start": "accurate"}),
    "hybrid, lambda 3": Method("hybrid-confusion", {"prior": Prior(trust=3.0)}),
    "hybrid, lambda 10": Method("hybrid-confusion", {"prior": Prior(trust=10.0)}),
}


def spectrum(asked: Asked, run: Run = PAPERS_RUN) -> Curves:
    """Run the experiment at each number of items."""
    sizes = sorted(set(asked.sizes or SIZES))
    if sizes[0] < 1:
        raise UsageError(f"there is no crowd of {sizes[0]} items: --sizes are whole numbers of at least 1")
    stops = [Stop("", size, partial(once, size, run)) for size in sizes]
    return trace(AXES, stops, asked, [matrices()])


def once(items: int, run: Run, seed: int) -> dict[str, dict[str, float]]:
    """Draw a crowd, and return what every method recovers of it."""
    crowd = simulate("liu-wang", seed, items=items, gold=0)
    found = {name: _recovered(crowd, method, run, seed) for name, method in METHODS.items()}
    block = crowd.judgments.block()
    known, _ = truth_posterior(block, crowd.prevalence, crowd.confusion)
    return {**found, CEILING: {"accuracy": float((known.argmax(axis=1) == crowd.truth).mean())}}


def fitted(judgments: Judgments, method: Method, run: Run, seed: int) -> Fit:
    """Return the fit of a method, without a word about chains that are as short as the paper's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # 300 draws never pass for converged
        chains = run if model_named(method.model).sampler is not None else None
        found = fit(judgments, method.model, seed=seed, run=chains, workers=1, **method.options)
    if found.stopped == "interrupted":
        raise KeyboardInterrupt  # half a fit is none to compare
    return found


def matrices() -> Shown:
    """Return the true parameters: the paper's matrices are lost with its figure, so these are ours."""
    head = ["judge", "truth", "prevalence", *(f"says {label}" for label in LABELS)]
    rows = [
        [str(j + 1), label, float(LIU_WANG_PREVALENCE[0, k]), *LIU_WANG_CONFUSION[j, k].tolist()]
        for j in range(len(LIU_WANG_CONFUSION))
        for k, label in enumerate(LABELS)
    ]
    return Shown("Parameters of the simulated crowds: prevalence, and the confusion matrices of the judges", head, rows)


def _recovered(crowd: Simulation, method: Method, run: Run, seed: int) -> dict[str, float]:
    """Return how well one method recovers labels, prevalence and matrices."""
    found = fitted(crowd.judgments, method, run, seed)
    prevalence: Floats = found.params.prevalence[0]
    mae = np.abs(found.params.confusion - crowd.confusion).sum(axis=(1, 2))  # (J)
    return {
        "accuracy": float((found.label == crowd.truth).mean()),
        "prevalence_error": float(np.abs(prevalence - crowd.prevalence[0]).sum()),
        "mae": float(mae.mean()),
        **{f"mae_judge{j + 1}": value for j, value in enumerate(mae.tolist())},
        **{f"p_{label}": value for label, value in zip(LABELS, prevalence.tolist(), strict=True)},
    }
