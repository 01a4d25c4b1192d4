"""``Options``: how a fit is made, checked before any work is done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adjudge.errors import UsageError, not_one_of
from adjudge.inference.calibration import CALIBRATIONS
from adjudge.inference.chains import Run, refuse_no_whole_number
from adjudge.inference.params import Prior

INFERENCES = ("gibbs", "map")
TIES = ("random", "first", "all")
PREVALENCES = ("global", "topic")


@dataclass(frozen=True)
class Options:
    """The options of ``fit``, with their defaults; ``fit`` explains them.

    A value that no model takes is refused here. ``configure`` refuses what the chosen model does not take.
    """

    seed: int = 0
    ties: str = "random"  # which of several tied labels an item gets
    start: str | None = None  # None is the model's default
    tolerance: float = 1e-8  # gain of the log-likelihood per judgment at which EM stops
    iterations: int = 5_000  # largest number of passes over the judgments
    accelerate: bool = True
    inference: str | None = None  # None is the model's default
    run: Run | None = None  # the chains of a sampled model
    prior: Prior | None = None  # None is the model's default
    calibrate: str | None = None  # what probabilities are calibrated by; None is the model's default
    prevalence: str = "global"  # one for all items, or one per topic

    def __post_init__(self) -> None:
        for name, choices in (("ties", TIES), ("calibrate", (*CALIBRATIONS, None)), ("prevalence", PREVALENCES)):
            if getattr(self, name) not in choices:
                raise UsageError(not_one_of(name, getattr(self, name), filter(None, choices)))
        if self.inference not in (None, *INFERENCES):
            raise UsageError(not_one_of("inference", self.inference, INFERENCES))
        for name, kind in (("run", Run), ("prior", Prior)):
            if not isinstance(getattr(self, name), kind | None):
                raise UsageError(f"{name} {getattr(self, name)!r} is not an adjudge.{kind.__name__}")
        for name, least in (("seed", 0), ("iterations", 1)):
            refuse_no_whole_number(name, getattr(self, name), least)
        if not 0 <= self.tolerance < math.inf:
            raise UsageError(f"tolerance {self.tolerance!r} is not a number of at least 0")


def options_of(saved: Mapping[str, Any]) -> Options:
    """Return options from the plain values of a saved fit.

    ``saved`` is the mapping ``Fit.options``, in which the records ``Run`` and ``Prior`` are mappings too.
    """
    run, prior = saved.get("run"), saved.get("prior")
    records = {"run": Run(**run) if run else None, "prior": Prior(**prior) if prior else None}
    return Options(**{**saved, **records})
