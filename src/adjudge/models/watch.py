"""How far chains are while they run: their sweeps, the mean of all, and the worst R-hat of what mixes worst."""

from __future__ import annotations

import threading
import time

import numpy as np

from adjudge.arrays import Floats
from adjudge.models.chains import State
from adjudge.models.convergence import r_hat
from adjudge.models.drive import Progress

EVERY = 0.25  # seconds between two words
FEWEST, MOST = 20, 500  # draws of each chain that an R-hat is computed from


class Watch:
    """What chains tell as they go; ``progress`` hears of it now and then."""

    def __init__(self, chains: int, progress: Progress) -> None:
        self.seen: list[list[Floats]] = [[] for _ in range(chains)]
        self.progress, self.said, self.speaking = progress, time.monotonic(), threading.Lock()

    def __call__(self, chain: int, sweep: int, state: State) -> None:
        """Take note of a state; whoever comes when it is time says how far all are."""
        self.seen[chain].append(_worst_of(state))
        if time.monotonic() - self.said > EVERY and self.speaking.acquire(blocking=False):
            try:
                self.said = time.monotonic()
                self.progress(sum(map(len, self.seen)) // len(self.seen), self.worst())
            finally:
                self.speaking.release()

    def worst(self) -> float:
        """Return the worst R-hat of the second half of what was seen, not a number while that is too little."""
        sweeps = min(map(len, self.seen))
        if sweeps < 2 * FEWEST:
            return float("nan")
        rows = np.linspace(sweeps // 2, sweeps - 1, min(MOST, sweeps // 2)).astype(int)
        found = r_hat(np.stack([[chain[row] for row in rows] for chain in self.seen]))
        return float(np.nanmax(found)) if np.isfinite(found).any() else float("nan")


def _worst_of(state: State) -> Floats:
    """Return what mixes worst of a state: the populations or, where these are fixed, the first topic's prevalence."""
    return np.r_[state.phi.ravel(), state.kappa] if state.kappa.size else np.array(state.prevalence[0])
