"""Markov chains: states drawn one from another, side by side, each from a random stream of its own.

A chain is a loop of steps that release the GIL, so chains run in threads, as many as there are cores, and in turns
where there are more of them. Every chain has its own generator, spawned from the seed, and they share nothing: the
draws are the same on one thread and on many. What is kept is bounded: states after warm-up, thinned, and of the truths
only the mean of p(truth | rest) or, if asked for, bits.
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
    """Where a chain is."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (P, K) means of the populations of rows, one a truth, and of topics; P = 0 where these are fixed
    kappa: Floats  # (P) how alike rows are
    truth: NDArray[np.uint8] = np.empty((0, 0), np.uint8)  # (B, I / 8) bits of the truths, where they are kept


Step: TypeAlias = Callable[
    [State, np.random.Generator, Floats], State
]  # adds p(truth | rest) to the last, if it has room
Told: TypeAlias = Callable[[int, int, State], None]  # a chain, its sweep, and where it is

Enough: TypeAlias = Callable[["Draws"], bool]

DOUBLINGS = 6  # of a run that goes on until it has converged
TURN = 50  # sweeps of a chain before another has its turn, where chains are more than cores
HEARD = 0.1  # seconds after which Ctrl-C is heard: without an end to the waiting it may not be
NOWHERE = np.empty((0, 0))  # for probabilities that are not kept


@dataclass(frozen=True)
class Run:
    """How long chains are.

    Until they have converged, they are run on: what they drew becomes warm-up, and they go twice as far, of which as
    many draws are kept as before.
    """

    chains: int = 3
    warmup: int = 1_000  # sweeps of each that are not kept
    draws: int = 1_000  # kept of each
    thin: int = 1  # sweeps for each that is kept
    until_converged: bool = False
    truths: bool = False  # whether every truth drawn is kept, as bits

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("warmup", 0), ("draws", 4), ("thin", 1)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise UsageError(f"{name} {getattr(self, name)!r} is not a whole number of at least {least}")


class Draws(NamedTuple):
    """What chains C have drawn, D states of each."""

    prevalence: Floats  # (C, D, T, K)
    confusion: Floats  # (C, D, J, K, K)
    phi: Floats  # (C, D, P, K)
    kappa: Floats  # (C, D, P)
    probability: Floats  # (C, I, K) the mean of p(truth | rest)
    complete: bool  # whether no chain was interrupted
    sweeps: int = 0  # of all chains, those that are not kept included
    truth: NDArray[np.uint8] = np.empty((0, 0, 0, 0), np.uint8)  # (C, D, B, I / 8), see ``kernels.bits``


class Keeper(Protocol):
    """Who keeps where chains are, so that a run that was killed goes on."""

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return what was kept of a chain, None where nothing was."""
        ...

    def save(self, chain: int, told: Callable[[], dict[str, Any]]) -> None:
        """Keep what a chain tells of itself, if it is time to."""
        ...


def sample(
    step: Step | Sequence[Step],
    starts: Sequence[State],
    items: int,
    run: Run,
    seed: int,
    pool: Executor,
    told: Told | None = None,
    enough: Enough = lambda draws: True,
    keeper: Keeper | None = None,
) -> Draws:
    """Run a chain from every start, and on until it is enough; Ctrl-C ends all of them with what is drawn so far.

    Chains may have a step each. A ``keeper`` is for runs that do not go on until they have converged.
    """
    steps = [step] * len(starts) if callable(step) else step
    stop = threading.Event()
    found: Draws | None = None
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    streams = [np.random.Generator(np.random.SFC64(child)) for child in seeds]  # the fastest there is
    room = _room(starts, items, run)
    chains = [_Chain(c, start, rng, run) for c, (start, rng) in enumerate(zip(starts, streams, strict=True))]
    rounds = DOUBLINGS + 1 if run.until_converged else 1
    while True:
        for chain in chains:
            chain.keep_in([kept[chain.number] for kept in room])
            if keeper is not None:
                chain.keep_at(keeper)
        interrupted = _run(chains, steps, told, stop, pool)
        if found is not None and min(chain.kept for chain in chains) < run.draws / 2:
            return found._replace(complete=False)  # the shorter run has more to say than the beginning of this one
        found = _gathered(room, chains, interrupted)
        rounds -= 1
        if interrupted or not rounds or enough(found):
            return found
        room = _room(starts, items, run)
        for chain in chains:
            chain.begin_again()


def _room(starts: Sequence[State], items: int, run: Run) -> list[NDArray[Any]]:
    """Return room for what all chains keep: their states, and the sum of p(truth | rest)."""
    C = len(starts)
    states = [np.empty((C, run.draws, *field.shape), field.dtype) for field in starts[0]]
    return [*states, np.zeros((C, items, starts[0].prevalence.shape[1]))]


def _gathered(room: Sequence[NDArray[Any]], chains: Sequence[_Chain], interrupted: bool) -> Draws:
    """Return what the chains have kept: as much of each as of the one that has least."""
    begun = [chain for chain in chains if chain.kept]  # Ctrl-C may come before one has anything to give
    if interrupted and not begun:
        raise KeyboardInterrupt
    which, least = [chain.number for chain in begun], min(chain.kept for chain in begun)
    whole = len(begun) == len(chains)  # then nothing is copied
    *states, summed = room if whole else [kept[which] for kept in room]
    prevalence, confusion, phi, kappa, truth = (kept[:, :least] for kept in states)
    probability = summed / np.array([chain.swept for chain in begun])[:, None, None]
    swept = sum(chain.sweep for chain in chains)
    return Draws(prevalence, confusion, phi, kappa, probability, not interrupted, swept, truth)


def _run(
    chains: Sequence[_Chain], steps: Sequence[Step], told: Told | None, stop: threading.Event, pool: Executor
) -> bool:
    """Run all chains in turns; Ctrl-C, or an error in one of them, stops the others. Return whether it was Ctrl-C."""
    running = {pool.submit(chain.go, steps[chain.number], stop, told): chain for chain in chains}
    try:
        while running:
            for turn in wait(running, HEARD, FIRST_COMPLETED).done:
                chain = running.pop(turn)
                if turn.result():
                    running[pool.submit(chain.go, steps[chain.number], stop, told)] = chain
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
    """One chain, and what is kept of it."""

    def __init__(self, number: int, start: State, rng: np.random.Generator, run: Run) -> None:
        self.number, self.here, self.rng, self.run, self.sweep = number, start, rng, run, 0
        self.keeper: Keeper | None = None

    def keep_in(self, room: Sequence[NDArray[Any]]) -> None:
        """Keep what is drawn from here on in this room."""
        *self.states, self.probability = room
        self.kept = self.swept = self.gone = 0

    def keep_at(self, keeper: Keeper) -> None:
        """Tell a keeper from here on where the chain is; go on from where it knows it to have been."""
        self.keeper, known = keeper, keeper.load(self.number)
        if known is None:
            return
        self.here = State(*(known[name] for name in State._fields))
        self.rng.bit_generator.state = known["stream"]
        self.sweep, self.gone, self.swept, self.kept = known["counts"]
        self.probability[:] = known["probability"]
        for kept, name in zip(self.states, State._fields, strict=True):
            kept[: self.kept] = known[f"kept_{name}"]

    def memory(self) -> dict[str, Any]:
        """Return all it takes to go on from here."""
        told: dict[str, Any] = {**self.here._asdict(), "stream": self.rng.bit_generator.state}
        told |= {"counts": [self.sweep, self.gone, self.swept, self.kept], "probability": self.probability}
        named = zip(self.states, State._fields, strict=True)
        return told | {f"kept_{name}": kept[: self.kept] for kept, name in named}

    def begin_again(self) -> None:
        """Take all there is for warm-up, and go twice as far from here."""
        self.run = replace(self.run, warmup=0, thin=2 * self.run.thin)

    def go(self, step: Step, stop: threading.Event, told: Told | None) -> bool:
        """Sweep for a turn, until all is drawn, or until told to stop; return whether there is more to draw."""
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
            if told is not None:
                told(self.number, self.sweep, self.here)
            if self.keeper is not None:
                self.keeper.save(self.number, self.memory)
        return self.gone < end

    def _keep(self) -> None:
        """Keep where the chain is."""
        for kept, field in zip(self.states, self.here, strict=True):
            kept[self.kept] = field
        self.kept += 1
