"""The synthetic experiment of paper 003, section 3: how many items a model of judges needs.

Three judges label every item; with fewer items, less is known about each judge. Labels are simulated from the model of
Dawid and Skene, which has the most parameters; SingleConfusion has the fewest; HybridConfusion is between them, by its
prior. They are compared with the vote and, as an upper bound, with Bayes' rule and the true parameters.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.designs import LIU_WANG_CONFUSION, LIU_WANG_PREVALENCE
from adjudge.data.judgments import Judgments
from adjudge.data.simulate import simulate
from adjudge.data.simulation import Simulation
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.inference.chains import Run
from adjudge.inference.fit import fit
from adjudge.inference.model import model_named
from adjudge.inference.params import Prior
from adjudge.inference.result import Fit
from adjudge.kernels.truth import truth_posterior
from studies.curves import SECONDS, Axes, Curves, Stop, trace
from studies.outcome import StudyOptions, Table

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
    """A model and its options."""

    model: str
    options: Mapping[str, Any] = {}


METHODS: Mapping[str, Method] = {
    "majority": Method("majority"),
    "single-confusion": Method("single-confusion", {"start": "accurate"}),  # the initialisation of the paper
    "dawid-skene": Method("dawid-skene", {"start": "accurate"}),
    "hybrid, lambda 3": Method("hybrid-confusion", {"prior": Prior(trust=3.0)}),
    "hybrid, lambda 10": Method("hybrid-confusion", {"prior": Prior(trust=10.0)}),
}


def spectrum(options: StudyOptions, run: Run = PAPERS_RUN) -> Curves:
    """Run the experiment for each number of items."""
    sizes = sorted(set(options.sizes or SIZES))
    if sizes[0] < 1:
        raise UsageError(f"there is no crowd of {sizes[0]} items: --sizes are whole numbers of at least 1")
    stops = [Stop("", size, partial(once, size, run)) for size in sizes]
    return trace(AXES, stops, options, [matrices()])


def once(items: int, run: Run, seed: int) -> dict[str, dict[str, float]]:
    """Simulate a crowd, and return the scores of every method."""
    crowd = simulate("liu-wang", seed, items=items, gold=0)
    values = {name: _recovered(crowd, method, run, seed) for name, method in METHODS.items()}
    block = crowd.judgments.block()
    posterior, _ = truth_posterior(block, crowd.prevalence, crowd.confusion)
    return {**values, CEILING: {"accuracy": float((posterior.argmax(axis=1) == crowd.truth).mean())}}


def fit_method(judgments: Judgments, method: Method, run: Run, seed: int) -> Fit:
    """Return the fit of a method, without warnings about chains that are as short as in the paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # 300 draws are never reported as converged
        chains = run if model_named(method.model).sampler is not None else None
        result = fit(judgments, method.model, seed=seed, run=chains, workers=1, **method.options)
    if result.stopped == "interrupted":
        raise KeyboardInterrupt  # an unfinished fit is not comparable
    return result


def matrices() -> Table:
    """Return the true parameters. The paper shows its matrices in a figure alone, so they differ here."""
    head = ["judge", "truth", "prevalence", *(f"says {label}" for label in LABELS)]
    rows = [
        [str(j + 1), label, float(LIU_WANG_PREVALENCE[0, k]), *LIU_WANG_CONFUSION[j, k].tolist()]
        for j in range(len(LIU_WANG_CONFUSION))
        for k, label in enumerate(LABELS)
    ]
    return Table("Parameters of the simulated crowds: prevalence, and the confusion matrices of the judges", head, rows)


def _recovered(crowd: Simulation, method: Method, run: Run, seed: int) -> dict[str, float]:
    """Return the accuracy of a method, the errors of its prevalence and matrices, and the CPU time of its fit."""
    began = time.process_time()
    result = fit_method(crowd.judgments, method, run, seed)
    seconds = time.process_time() - began
    prevalence: Floats = result.params.prevalence[0]
    mae = np.abs(result.params.confusion - crowd.confusion).sum(axis=(1, 2))  # (J)
    return {
        "accuracy": float((result.label == crowd.truth).mean()),
        "prevalence_error": float(np.abs(prevalence - crowd.prevalence[0]).sum()),
        "mae": float(mae.mean()),
        SECONDS: seconds,
        **{f"mae_judge{j + 1}": value for j, value in enumerate(mae.tolist())},
        **{f"p_{label}": value for label, value in zip(LABELS, prevalence.tolist(), strict=True)},
    }
