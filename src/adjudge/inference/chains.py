"""Markov chains: a loop of steps per chain, each with its own random stream, and a watch over how far they are.

Steps release the GIL, so chains run in threads, as many as there are cores, and in turns if there are more chains.
Every chain has its own generator, spawned from the seed, and they share nothing: the draws are the same on one thread
and on many. What is kept is bounded: states after warm-up, thinned, and of the truths only the mean of p(truth | rest)
or, on request, one bit string per draw.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError
from adjudge.inference.convergence import r_hat
from adjudge.inference.em import Progress
from adjudge.kernels.block import Tally
from adjudge.kernels.difficulty import Swept
from adjudge.kernels.sweep import NO_DRAWS, Key


class State(NamedTuple):
    """The state of a chain."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    phi: Floats  # (P, K) means of the populations of rows, one per truth, and of topics; P = 0 if fixed
    kappa: Floats  # (P) concentrations of these populations
    truth: NDArray[np.uint8] = np.empty((0, 0), np.uint8)  # (B, I / 8) bits of the truths, if they are kept
    spread: Floats = np.empty(0)  # (1 or 2) of the difficulty of items, and how often families share it, if learned
    wrong: Floats = np.empty(0)  # (K) concentrations of the shares of wrong labels, if they have populations too


# A step adds p(truth | rest) to its last argument, unless that is empty.
Step: TypeAlias = Callable[[State, np.random.Generator, Floats], State]
Report: TypeAlias = Callable[[int, int, State], None]  # the number of a chain, its sweep, and its state
Enough: TypeAlias = Callable[["Draws"], bool]

DOUBLINGS = 6  # of a run until it has converged, at most
TURN = 50  # sweeps of a chain before the next one has its turn, if there are more chains than cores
HEARD = 0.1  # seconds between two checks for Ctrl-C: a wait without a timeout may not notice it
NOWHERE = np.empty((0, 0))  # for probabilities that are not kept
EVERY = 0.25  # seconds between two reports
FEWEST, MOST = 20, 500  # draws of each chain that an R-hat is computed from while chains run


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
            refuse_no_whole_number(name, getattr(self, name), least)


def refuse_no_whole_number(name: str, value: object, least: int) -> None:
    """Refuse an option that is not a whole number of at least ``least``."""
    if not isinstance(value, int) or value < least:
        raise UsageError(f"{name} {value!r} is not a whole number of at least {least}")


class Draws(NamedTuple):
    """The draws of C chains, D of each."""

    prevalence: Floats  # (C, D, T, K)
    confusion: Floats  # (C, D, J, K, K)
    phi: Floats  # (C, D, P, K)
    kappa: Floats  # (C, D, P)
    probability: Floats  # (C, I, K) the mean of p(truth | rest)
    complete: bool  # whether no chain was interrupted
    sweeps: int = 0  # of all chains, including those that were not kept
    truth: NDArray[np.uint8] = np.empty((0, 0, 0, 0), np.uint8)  # (C, D, B, I / 8), see ``kernels.sweep.pack``
    spread: Floats = np.empty((0, 0, 0))  # (C, D, 1 or 2) of the difficulty of items, if it was learned
    wrong: Floats = np.empty((0, 0, 0))  # (C, D, K) concentrations of the shares of wrong labels, if there are any


class Truths(Protocol):
    """Draws the truths of all items, given the rest, and counts them: a sweep over a block, or an engine."""

    items: int
    labels: int

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        rng: np.random.Generator,
        probability: Floats,
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Return the tally of the draws; see ``Sweep``."""
        ...


@runtime_checkable
class States(Protocol):
    """Draws truths and effects of all items, given the rest, and counts them: over a block, or by an engine."""

    def sweep_spreads(
        self, prevalence: Floats, confusion: Floats, spreads: list[Floats], key: Key, room: Floats, truths: int = 0
    ) -> list[Swept]:
        """Return a sweep under every spread; see ``StateSweep``."""
        ...


class Keeper(Protocol):
    """Saves the state of chains, so that a run that was killed can continue."""

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return the saved state of a chain, None if there is none."""
        ...

    def save(self, chain: int, report: Callable[[], dict[str, Any]]) -> None:
        """Save the state of a chain, if the last save is long enough ago."""
        ...


class Hooks(NamedTuple):
    """What happens while chains run, beside drawing."""

    report: Report | None = None  # is told of every sweep
    enough: Enough = lambda draws: True  # whether the draws of a round suffice
    keeper: Keeper | None = None  # for runs of a fixed length


def sample(
    step: Step | Sequence[Step],
    starts: Sequence[State],
    items: int,
    run: Run,
    seed: int,
    pool: Executor,
    hooks: Hooks = Hooks(),  # noqa: B008
) -> Draws:
    """Run a chain from every start until the draws are enough; Ctrl-C ends all with the draws so far.

    Parameters
    ----------
    step
        The step of all chains, or one for every chain.
    starts
        The state at which every chain starts.
    items
        The number of items whose p(truth | rest) is kept.
    run
        How long the chains are.
    seed
        The seed of the random streams, one for every chain.
    pool
        Where turns of chains run.
    hooks
        What happens while they run.

    Returns
    -------
    Draws
        The draws of all chains, as many of each.
    """
    chains, stop = _chains(step, starts, run, seed), threading.Event()
    draws: Draws | None = None
    rounds = DOUBLINGS + 1 if run.until_converged else 1
    while True:
        room = _room(starts, items, run)
        _prepare(chains, room, hooks.keeper)
        interrupted = _run(chains, hooks.report, stop, pool)
        if draws is not None and min(chain.kept for chain in chains) < run.draws / 2:
            return draws._replace(complete=False)  # the shorter run is better than the beginning of this one
        draws = _gathered(room, chains, interrupted)
        rounds -= 1
        if interrupted or not rounds or hooks.enough(draws):
            return draws
        for chain in chains:
            chain.begin_again()


def _chains(step: Step | Sequence[Step], starts: Sequence[State], run: Run, seed: int) -> list[_Chain]:
    """Return a chain for every start, each with a random stream of its own."""
    steps = [step] * len(starts) if callable(step) else step
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    streams = [np.random.Generator(np.random.SFC64(child)) for child in seeds]  # the fastest there is
    parts = zip(steps, starts, streams, strict=True)
    return [_Chain(c, each, start, rng, run) for c, (each, start, rng) in enumerate(parts)]


def _prepare(chains: Sequence[_Chain], room: Sequence[NDArray[Any]], keeper: Keeper | None) -> None:
    """Give every chain its part of the room, and the keeper of its states."""
    for chain in chains:
        chain.keep_in([array[chain.number] for array in room])
        if keeper is not None:
            chain.keep_at(keeper)


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
    *states, summed = room if len(started) == len(chains) else _rows_of(room, started)
    least = min(chain.kept for chain in started)
    prevalence, confusion, phi, kappa, truth, spread, wrong = (array[:, :least] for array in states)
    probability = summed / np.array([chain.swept for chain in started])[:, None, None]
    swept = sum(chain.sweep for chain in chains)
    return Draws(prevalence, confusion, phi, kappa, probability, not interrupted, swept, truth, spread, wrong)


def _rows_of(room: Sequence[NDArray[Any]], chains: Sequence[_Chain]) -> list[NDArray[Any]]:
    """Return copies of the parts of the room that some chains have."""
    numbers = [chain.number for chain in chains]
    return [array[numbers] for array in room]


def _run(chains: Sequence[_Chain], report: Report | None, stop: threading.Event, pool: Executor) -> bool:
    """Run all chains in turns; Ctrl-C, or an error in one of them, stops the others. Return whether it was Ctrl-C."""
    running = {pool.submit(chain.go, stop, report): chain for chain in chains}
    try:
        while running:
            for turn in wait(running, HEARD, FIRST_COMPLETED).done:
                chain = running.pop(turn)
                if turn.result():
                    running[pool.submit(chain.go, stop, report)] = chain
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

    def __init__(self, number: int, step: Step, start: State, rng: np.random.Generator, run: Run) -> None:
        self.number, self.step, self.here, self.rng, self.run, self.sweep = number, step, start, rng, run, 0
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

    def go(self, stop: threading.Event, report: Report | None) -> bool:
        """Sweep for a turn, until all is drawn, or until ``stop`` is set; return whether there is more to draw."""
        end = self.run.warmup + self.run.draws * self.run.thin
        for _ in range(TURN):
            if stop.is_set() or self.gone == end:
                return False
            warm = self.gone >= self.run.warmup
            self.gone += 1
            self.here = self.step(self.here, self.rng, self.probability if warm else NOWHERE)
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


class Watch:
    """Collects the states of chains, and reports the worst R-hat to ``progress`` from time to time."""

    def __init__(self, chains: int, progress: Progress) -> None:
        self.seen: list[list[Floats]] = [[] for _ in range(chains)]
        self.progress, self.said, self.speaking = progress, time.monotonic(), threading.Lock()

    def __call__(self, chain: int, sweep: int, state: State) -> None:
        """Collect a state; if it is time, report on all chains."""
        self.seen[chain].append(_worst_of(state))
        if time.monotonic() - self.said > EVERY and self.speaking.acquire(blocking=False):
            try:
                self.said = time.monotonic()
                self.progress(sum(map(len, self.seen)) // len(self.seen), self.worst())
            finally:
                self.speaking.release()

    def worst(self) -> float:
        """Return the worst R-hat of the second half of the states, NaN if there are too few."""
        sweeps = min(map(len, self.seen))
        if sweeps < 2 * FEWEST:
            return float("nan")
        rows = np.linspace(sweeps // 2, sweeps - 1, min(MOST, sweeps // 2)).astype(int)
        measured = r_hat(np.stack([[chain[row] for row in rows] for chain in self.seen]))
        return float(np.nanmax(measured)) if np.isfinite(measured).any() else float("nan")


def _worst_of(state: State) -> Floats:
    """Return the parameters that mix worst: the populations or, without any, the first topic's prevalence."""
    return np.r_[state.phi.ravel(), state.kappa] if state.kappa.size else np.array(state.prevalence[0])
