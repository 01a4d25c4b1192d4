"""``Calibration``: how a model's posterior and the vote are mixed to calibrated probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block
from adjudge.kernels.truth import fix_gold, label_counts

CALIBRATIONS = ("none", "judgments", "gold")
LEAST = 1e-4  # smallest probability in a weighed logarithm
SHARED = 30  # items with two judges or more that are needed to measure correlated errors
UNLIKE = -3.0  # z below which errors are so much less correlated than expected that the model has fitted noise
NOTED = 0.005  # weight of the vote that is worth mentioning


@dataclass(frozen=True)
class Calibration:
    """How probabilities were calibrated: mixed with the vote (by judgments), or with weighed logarithms (by gold)."""

    by: str
    dependence: float = 0.0  # z score of correlated errors
    hedge: float = 0.0  # weight of the vote
    weights: tuple[float, ...] = ()  # of the log posterior and the log vote, then the offset of each label
    gold: int = 0  # number of gold items
    loss: float = 0.0  # log loss on held-out gold
    error: float = 0.0  # its standard error
    strength: float = 0.0  # standard deviation of the effect of items on the log odds of being right
    shared: int = SHARED  # items with two judges or more
    simulated: float = 0.0  # weight of the vote by simulated crowds alone
    extra: tuple[float, ...] = ()  # (K) pseudo-votes of every item, which sum to one; equal if empty

    @property
    def changes(self) -> bool:
        """Whether probabilities differ from the model's own."""
        return bool(self.hedge or self.weights)

    @property
    def words(self) -> str:
        """What was done, in words."""
        if self.by == "gold":
            loss = f"log loss {self.loss:.3f} +- {self.error:.3f} on held-out gold"
            return f"probabilities were learned from {self.gold:,} gold items ({loss})"
        if blind(self.dependence, self.shared):
            few_shared = f"fewer than {SHARED} items have two judges"
            reason = few_shared if self.shared < SHARED else "judges have few judgments each"
            return self._softened(f"{reason}, so that correlated errors cannot be detected")
        if self.hedge < NOTED:
            return f"probabilities are the model's own: no correlated errors were detected (z {self.dependence:.1f})"
        reasons = []
        if 1 - (1 - self.hedge) / (1 - self.simulated) >= NOTED:
            reasons.append(f"errors of judges are more correlated than the model assumes (z {self.dependence:.1f})")
        if self.simulated >= NOTED:
            reasons.append("on simulated crowds like this one the model is over-confident")
        return self._softened(", and ".join(reasons))

    def _softened(self, reason: str) -> str:
        """Return why probabilities were mixed with vote shares, and how much."""
        return (
            f"probabilities were softened: {reason}. "
            f"Each one is now {1 - self.hedge:.0%} model, {self.hedge:.0%} vote share"
        )


def blind(z: float, shared: int) -> bool:
    """Return whether correlated errors cannot be measured, by the z score and the items with two judges."""
    return shared < SHARED or z < UNLIKE


def calibration_of(saved: Mapping[str, Any]) -> Calibration:
    """Return a calibration from plain values."""
    lists = {name: tuple(saved.get(name, ())) for name in ("weights", "extra")}
    return Calibration(**{**saved, **lists})


def as_dict(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as plain values."""
    return asdict(calibration)


def smoothed_votes(block: Block, extra: Sequence[float] = ()) -> Floats:
    """Return each label's share of an item's votes (I, K), with the pseudo-votes ``extra`` (K)."""
    counts = label_counts(block)
    more = np.asarray(extra) if len(extra) else np.full(block.labels, 1 / block.labels)
    shares: Floats = (counts + more) / (counts.sum(axis=1, keepdims=True) + 1)
    return shares


def mixed(calibration: Calibration, posterior: Floats, block: Block) -> Floats:
    """Return calibrated probabilities (I, K) from a model's posterior and the votes of a block; gold stays certain."""
    vote = smoothed_votes(block, calibration.extra)
    if calibration.by == "gold":
        return fix_gold(weighed(np.array(calibration.weights), posterior, vote), block.gold)
    h = calibration.hedge
    return fix_gold((1 - h) * posterior + h * vote, block.gold)


def unmixed(calibration: Calibration | None, posterior: Floats, block: Block) -> Floats:
    """Return the model's own probabilities (I, K) from a mixture with the vote; those by gold stay as they are."""
    if calibration is None or not calibration.hedge:
        return posterior
    h, vote = calibration.hedge, smoothed_votes(block, calibration.extra)
    plain = np.maximum((posterior - h * vote) / (1 - h), 0.0)  # below zero by rounding
    return fix_gold(plain / plain.sum(axis=1, keepdims=True), block.gold)


def weighed(weights: Floats, posterior: Floats, vote: Floats) -> Floats:
    """Return probabilities (I, K) whose logarithms are weighted sums of those of posterior and vote."""
    logs = (
        weights[0] * np.log(np.maximum(posterior, LEAST)) + weights[1] * np.log(np.maximum(vote, LEAST)) + weights[2:]
    )
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
