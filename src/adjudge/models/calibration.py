"""How a model's posterior and the vote are mixed, to probabilities that mean what they say: a record, and its use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.kernels.block import Block
from adjudge.kernels.centre import label_counts
from adjudge.kernels.truth import gilded

CALIBRATIONS = ("none", "judgments", "gold")
LEAST = 1e-4  # probability that is told from none, where logarithms are weighed


@dataclass(frozen=True)
class Calibration:
    """How probabilities were calibrated: by judgments, a share of the vote; by gold, weights of logarithms."""

    by: str
    dependence: float = 0.0  # deviations by which judges err together more than judges who err alone would
    hedge: float = 0.0  # the vote's share
    weights: tuple[float, ...] = ()  # of the log posterior and of the log vote, then what is added to each label's
    gold: int = 0  # items it was learned from
    loss: float = 0.0  # log loss on gold that was held back
    error: float = 0.0  # its standard error

    @property
    def words(self) -> str:
        """What was done, for people."""
        if self.by == "gold":
            held = f"log loss {self.loss:.3f} +- {self.error:.3f} on gold held back"
            return f"probabilities were learned from {self.gold:,} gold items ({held})"
        if not self.hedge:
            return (
                f"judges err alone, as far as can be seen (z {self.dependence:.1f}): probabilities are the model's own"
            )
        return (
            f"judges err together more than the model knows (z {self.dependence:.1f}): "
            f"the vote has a share of {self.hedge:.0%} in every probability"
        )


def calibration_of(saved: Mapping[str, Any]) -> Calibration:
    """Return a calibration from what ``asdict`` made of it."""
    return Calibration(**{**saved, "weights": tuple(saved["weights"])})


def told(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as plain values."""
    return asdict(calibration)


def smoothed_votes(block: Block) -> Floats:
    """Return each label's share of an item's votes, with one vote more that all labels share: ties stay (I, K)."""
    counts = label_counts(block)
    shares: Floats = (counts + 1 / block.labels) / (counts.sum(axis=1, keepdims=True) + 1)
    return shares


def mixed(calibration: Calibration, posterior: Floats, vote: Floats, gold: Codes) -> Floats:
    """Return calibrated probabilities (I, K) from the model's posterior and the smoothed vote; gold stays certain."""
    if calibration.by == "gold":
        return gilded(weighed(np.array(calibration.weights), posterior, vote), gold)
    h = calibration.hedge
    return gilded((1 - h) * posterior + h * vote, gold)


def weighed(weights: Floats, posterior: Floats, vote: Floats) -> Floats:
    """Return probabilities whose logarithms are weighed sums of those of the posterior and the vote (I, K)."""
    logs = (
        weights[0] * np.log(np.maximum(posterior, LEAST)) + weights[1] * np.log(np.maximum(vote, LEAST)) + weights[2:]
    )
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
