"""How a model's posterior and the vote are mixed, to probabilities that mean what they say: a record, and its use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.kernels.block import Block
from adjudge.kernels.centre import label_counts
from adjudge.kernels.truth import fix_gold

CALIBRATIONS = ("none", "judgments", "gold")
LEAST = 1e-4  # probability that is told from none, where logarithms are weighed
SHARED = 30  # items with two judges or more, below which it cannot be seen whether judges err together
UNLIKE = -3.0  # deviations of a crowd that errs together so much less than the model that this has learned its chance
NOTED = 0.005  # share of the vote that is worth a word


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
    strength: float = 0.0  # deviation of what items do to the log odds of all their judges
    shared: int = SHARED  # items with two judges or more that this was seen on
    simulated: float = 0.0  # the vote's share that crowds drawn from the model ask for
    extra: tuple[float, ...] = ()  # (K) how one vote more is shared in every item's votes; evenly if nothing is said

    @property
    def changes(self) -> bool:
        """Whether probabilities are others than the model's own."""
        return bool(self.hedge or self.weights)

    @property
    def words(self) -> str:
        """What was done, for people."""
        if self.by == "gold":
            held = f"log loss {self.loss:.3f} +- {self.error:.3f} on gold held back"
            return f"probabilities were learned from {self.gold:,} gold items ({held})"
        given = f"the vote has a share of {self.hedge:.0%} in every probability"
        if blind(self.dependence, self.shared):
            few = "judges have few judgments each" if self.shared >= SHARED else "hardly any item has two judges"
            return f"{few}, so that it cannot be seen whether they err together: {given}"
        if self.hedge < NOTED:
            return (
                f"judges err alone, as far as can be seen (z {self.dependence:.1f}): probabilities are the model's own"
            )
        why = []
        if 1 - (1 - self.hedge) / (1 - self.simulated) >= NOTED:
            why.append(f"judges err together more than the model knows (z {self.dependence:.1f})")
        if self.simulated >= NOTED:
            why.append("the model is surer than crowds like this one bear out")
        return f"{' and '.join(why)}: {given}"


def blind(z: float, shared: int) -> bool:
    """Return whether nothing can be seen of judges who err together, by deviations and by items with two judges."""
    return shared < SHARED or z < UNLIKE


def calibration_of(saved: Mapping[str, Any]) -> Calibration:
    """Return a calibration from what ``asdict`` made of it."""
    lists = {name: tuple(saved.get(name, ())) for name in ("weights", "extra")}
    return Calibration(**{**saved, **lists})


def told(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as plain values."""
    return asdict(calibration)


def smoothed_votes(block: Block, extra: Sequence[float] = ()) -> Floats:
    """Return each label's share of an item's votes (I, K), with one vote more that is shared as ``extra`` says (K)."""
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
    """Return the model's own probabilities (I, K) from those that have a share of the vote; by gold, they stay."""
    if calibration is None or not calibration.hedge:
        return posterior
    h, vote = calibration.hedge, smoothed_votes(block, calibration.extra)
    own = np.maximum((posterior - h * vote) / (1 - h), 0.0)  # a hair below is rounding
    return fix_gold(own / own.sum(axis=1, keepdims=True), block.gold)


def weighed(weights: Floats, posterior: Floats, vote: Floats) -> Floats:
    """Return probabilities whose logarithms are weighed sums of those of the posterior and the vote (I, K)."""
    logs = (
        weights[0] * np.log(np.maximum(posterior, LEAST)) + weights[1] * np.log(np.maximum(vote, LEAST)) + weights[2:]
    )
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
