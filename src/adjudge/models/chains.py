"""Markov chains: states drawn one from another, side by side, each from a random stream of its own.

A chain is a loop of steps that release the GIL, so chains run in threads. Every chain has its own generator, spawned
from the seed, and they share nothing: the draws are the same on one thread and on many. What is kept is bounded: states
after warm-up, thinned, and of the truths only the mean of p(truth | rest), not every draw.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Floats


class State(NamedTuple):
    """Where a chain is."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (P, K) means of the populations of rows, one a truth, and of topics; P = 0 where these are fixed
    kappa: Floats  # (P) how alike rows are


Step: TypeAlias = Callable[
    [State, np.random.Generator, Floats], State
]  # adds p(truth | rest) to the last, if it has room
Told: TypeAlias = Callable[[int, int, State], None]  # a chain, its sweep, and where it is

NOWHERE = np.empty((0, 0))  # for probabilities that are not kept


class Run(NamedTuple):
    """How long chains are."""

    chains: int = 3
    warmup: int = 1_000  # sweeps of each that are not kept
    draws: int = 1_000  # kept of each
    thin: int = 1  # sweeps for each that is kept


class Draws(NamedTuple):
    """What chains C have drawn, D states of each."""

    prevalence: Floats  # (C, D, T, K)
    confusion: Floats  # (C, D, J, K, K)
    phi: Floats  # (C, D, P, K)
    kappa: Floats  # (C, D, P)
    probability: Floats  # (C, I, K) the mean of p(truth | rest)
    complete: bool  # whether no chain was interrupted


def sample(
    step: Step, starts: Sequence[State], items: int, run: Run, seed: int, pool: Executor, told: Told | None = None
) -> Draws:
    """Run a chain from every start; Ctrl-C ends all of them with what is drawn so far."""
    stop = threading.Event()
    streams = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(len(starts))]
    chains = [_Chain(number, start, items, run) for number, start in enumerate(starts)]
    running = [pool.submit(chain.go, step, rng, stop, told) for chain, rng in zip(chains, streams, strict=True)]
    interrupted = _wait(running, stop)
    least = min(chain.kept for chain in chains)
    if interrupted and not least:
        raise KeyboardInterrupt
    prevalence, confusion, phi, kappa = (np.stack([chain.states[f][:least] for chain in chains]) for f in range(4))
    probability = np.stack([chain.probability / max(1, chain.swept) for chain in chains])
    return Draws(prevalence, confusion, phi, kappa, probability, not interrupted)


def _wait(running: Sequence[Future[None]], stop: threading.Event) -> bool:
    """Wait for all chains; Ctrl-C, or an error in one of them, stops the others. Return whether it was Ctrl-C."""
    try:
        for chain in running:
            chain.result()
    except KeyboardInterrupt:
        stop.set()
        wait(running)
        return True
    except BaseException:
        stop.set()
        raise
    return False


class _Chain:
    """One chain, and what is kept of it."""

    def __init__(self, number: int, start: State, items: int, run: Run) -> None:
        self.number, self.here, self.run = number, start, run
        self.states = [np.empty((run.draws, *field.shape)) for field in start]
        self.probability = np.zeros((items, start.prevalence.shape[1]))
        self.kept = self.swept = 0

    def go(self, step: Step, rng: np.random.Generator, stop: threading.Event, told: Told | None) -> None:
        """Sweep until all is drawn, or until told to stop."""
        for sweep in range(self.run.warmup + self.run.draws * self.run.thin):
            if stop.is_set():
                return
            warm = sweep >= self.run.warmup
            self.here = step(self.here, rng, self.probability if warm else NOWHERE)
            if warm:
                self.swept += 1
                if self.swept % self.run.thin == 0:
                    self._keep()
            if told is not None:
                told(self.number, sweep + 1, self.here)

    def _keep(self) -> None:
        """Keep where the chain is."""
        for kept, field in zip(self.states, self.here, strict=True):
            kept[self.kept] = field
        self.kept += 1
