"""Markov chains: a loop of steps per chain, each with its own random stream.

Steps release the GIL, so chains run in threads, as many as there are cores, and in turns if there are more chains.
Every chain has its own generator, spawned from the seed, and they share nothing: the draws are the same on one thread
and on many. What is kept is bounded: states after warm-up, thinned, and of the truths only the mean of p(truth | rest)
or, on request, one bit string per draw.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Floats
from adjudge.errors import UsageError


class State(NamedTuple):
    """The state of a chain."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (P, K) means of the populations of rows, one per truth, and of topics; P = 0 if fixed
    kappa: Floats  # (P) concentrations of these populations
    truth: NDArray[np.uint8] = np.empty((0, 0), np.uint8)  # (B, I / 8) bits of the truths, if they are kept


Step: TypeAlias = Callable[
    [State, np.random.Generator, Floats], State
]  # adds p(truth | rest) to its last argument, unless that is empty
Report: TypeAlias = Callable[[int, int, State], None]  # the number of a chain, its sweep, and its state

Enough: TypeAlias = Callable[["Draws"], bool]

DOUBLINGS = 6  # of a run until it has converged, at most
TURN = 50  # sweeps of a chain before the next one has its turn, if there are more chains than cores
HEARD = 0.1  # seconds between two checks for Ctrl-C: a wait without a timeout may not notice it
NOWHERE = np.empty((0, 0))  # for probabilities that are not kept


@dataclass(frozen=True)
class Run:
    """How many Markov chains there are, and how long they are.

    With ``until_converged``, chains that have not converged are continued: their draws become warm-up, and they run
    twice as long, thinned to the same number of draws.

    Examples
    --------
    >>> Run(chains=2, warmup=100, draws=100).thin
    1
    """

    chains: int = 3
    warmup: int = 1_000  # sweeps of each chain that are not kept
    draws: int = 1_000  # kept of each chain
    thin: int = 1  # sweeps per draw that is kept
    until_converged: bool = False
    truths: bool = False  # whether every drawn truth is kept, as bits

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("warmup", 0), ("draws", 4), ("thin", 1)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise UsageError(f"{name} {getattr(self, name)!r} is not a whole number of at least {least}")


class Draws(NamedTuple):
    """The draws of C chains, D of each."""

    prevalence: Floats  # (C, D, T, K)
    confusion: Floats  # (C, D, J, K, K)
    phi: Floats  # (C, D, P, K)
    kappa: Floats  # (C, D, P)
    probability: Floats  # (C, I, K) the mean of p(truth | rest)
    complete: bool  # whether no chain was interrupted
    sweeps: int = 0  # of all chains, including those that were not kept
    truth: NDArray[np.uint8] = np.empty((0, 0, 0, 0), np.uint8)  # (C, D, B, I / 8), see ``kernels.bits``


class Keeper(Protocol):
    """Saves the state of chains, so that a run that was killed can continue."""

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return the saved state of a chain, None if there is none."""
        ...

    def save(self, chain: int, report: Callable[[], dict[str, Any]]) -> None:
        """Save the state of a chain, if the last save is long enough ago."""
        ...


def sample(
    step: Step | Sequence[Step],
    starts: Sequence[State],
    items: int,
    run: Run,
    seed: int,
    pool: Executor,
    report: Report | None = None,
    enough: Enough = lambda draws: True,
    keeper: Keeper | None = None,
) -> Draws:
    """Run a chain from every start until the draws are ``enough``; Ctrl-C ends all with the draws so far.

    Every chain may have its own step. A ``keeper`` is for runs of a fixed length.
    """
    steps = [step] * len(starts) if callable(step) else step
    stop = threading.Event()
    draws: Draws | None = None
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    streams = [np.random.Generator(np.random.SFC64(child)) for child in seeds]  # the fastest there is
    room = _room(starts, items, run)
    chains = [_Chain(c, start, rng, run) for c, (start, rng) in enumerate(zip(starts, streams, strict=True))]
    rounds = DOUBLINGS + 1 if run.until_converged else 1
    while True:
        for chain in chains:
            chain.keep_in([array[chain.number] for array in room])
            if keeper is not None:
                chain.keep_at(keeper)
        interrupted = _run(chains, steps, report, stop, pool)
        if draws is not None and min(chain.kept for chain in chains) < run.draws / 2:
            return draws._replace(complete=False)  # the shorter run is better than the beginning of this one
        draws = _gathered(room, chains, interrupted)
        rounds -= 1
        if interrupted or not rounds or enough(draws):
            return draws
        room = _room(starts, items, run)
        for chain in chains:
            chain.begin_again()


def _room(starts: Sequence[State], items: int, run: Run) -> list[NDArray[Any]]:
    """Return arrays for what all chains keep: their states, and the sum of p(truth | rest)."""
    C = len(starts)
    states = [np.empty((C, run.draws, *field.shape), field.dtype) for field in starts[0]]
    return [*states, np.zeros((C, items, starts[0].prevalence.shape[1]))]


def _gathered(room: Sequence[NDArray[Any]], chains: Sequence[_Chain], interrupted: bool) -> Draws:
    """Return the draws of all chains, as many of each as the shortest one has."""
    started = [chain for chain in chains if chain.kept]  # Ctrl-C may come before a chain has any draw
    if interrupted and not started:
        raise KeyboardInterrupt
    which, least = [chain.number for chain in started], min(chain.kept for chain in started)
    all_started = len(started) == len(chains)  # then nothing is copied
    *states, summed = room if all_started else [array[which] for array in room]
    prevalence, confusion, phi, kappa, truth = (array[:, :least] for array in states)
    probability = summed / np.array([chain.swept for chain in started])[:, None, None]
    swept = sum(chain.sweep for chain in chains)
    return Draws(prevalence, confusion, phi, kappa, probability, not interrupted, swept, truth)


def _run(
    chains: Sequence[_Chain], steps: Sequence[Step], report: Report | None, stop: threading.Event, pool: Executor
) -> bool:
    """Run all chains in turns; Ctrl-C, or an error in one of them, stops the others. Return whether it was Ctrl-C."""
    running = {pool.submit(chain.go, steps[chain.number], stop, report): chain for chain in chains}
    try:
        while running:
            for turn in wait(running, HEARD, FIRST_COMPLETED).done:
                chain = running.pop(turn)
                if turn.result():
                    running[pool.submit(chain.go, steps[chain.number], stop, report)] = chain
    except KeyboardInterrupt:
        stop.set()
        wait(running)
        return True
    except BaseException:
        stop.set()
        wait(running)
        raise
    return False


class _Chain:
    """One chain, and its draws."""

    def __init__(self, number: int, start: State, rng: np.random.Generator, run: Run) -> None:
        self.number, self.here, self.rng, self.run, self.sweep = number, start, rng, run, 0
        self.keeper: Keeper | None = None

    def keep_in(self, room: Sequence[NDArray[Any]]) -> None:
        """Write the next draws to these arrays."""
        *self.states, self.probability = room
        self.kept = self.swept = self.gone = 0

    def keep_at(self, keeper: Keeper) -> None:
        """Save states with a keeper from now on; continue from the state that it has."""
        self.keeper, saved = keeper, keeper.load(self.number)
        if saved is None:
            return
        self.here = State(*(saved[name] for name in State._fields))
        self.rng.bit_generator.state = saved["stream"]
        self.sweep, self.gone, self.swept, self.kept = saved["counts"]
        self.probability[:] = saved["probability"]
        for array, name in zip(self.states, State._fields, strict=True):
            array[: self.kept] = saved[f"kept_{name}"]

    def memory(self) -> dict[str, Any]:
        """Return everything that is needed to continue."""
        state: dict[str, Any] = {**self.here._asdict(), "stream": self.rng.bit_generator.state}
        state |= {"counts": [self.sweep, self.gone, self.swept, self.kept], "probability": self.probability}
        named = zip(self.states, State._fields, strict=True)
        return state | {f"kept_{name}": array[: self.kept] for array, name in named}

    def begin_again(self) -> None:
        """Use all draws as warm-up, and run twice as long."""
        self.run = replace(self.run, warmup=0, thin=2 * self.run.thin)

    def go(self, step: Step, stop: threading.Event, report: Report | None) -> bool:
        """Sweep for a turn, until all is drawn, or until ``stop`` is set; return whether there is more to draw."""
        end = self.run.warmup + self.run.draws * self.run.thin
        for _ in range(TURN):
            if stop.is_set() or self.gone == end:
                return False
            warm = self.gone >= self.run.warmup
            self.gone += 1
            self.here = step(self.here, self.rng, self.probability if warm else NOWHERE)
            self.sweep += 1
            if warm:
                self.swept += 1
                if self.swept % self.run.thin == 0:
                    self._keep()
            if report is not None:
                report(self.number, self.sweep, self.here)
            if self.keeper is not None:
                self.keeper.save(self.number, self.memory)
        return self.gone < end

    def _keep(self) -> None:
        """Keep the state as a draw."""
        for array, field in zip(self.states, self.here, strict=True):
            array[self.kept] = field
        self.kept += 1
