"""Claim: the time of an iteration for 10^8 to 10^10 judgments on 10 to 200 executors, by a model of the measured parts.

The time of an iteration consists of: the time of the kernel per judgment, which grows with the number of judges,
because their rows no longer fit into the caches; the fixed time of the engine and of a task, as measured above;
sending the parameters to every executor and the counts back, K * K numbers per judge each, over a network of 10 Gbit/s
(an assumption), with counts added in a tree; adding the counts and the M-step on the driver; and waiting for the
slowest executor, with block sizes as uneven as hashing makes them (measured). An executor has four cores, and a task
takes 10 ms (both are assumptions); a judgment needs 6.6 bytes of its memory, and a judge 16 K * K bytes per thread.
"""

from __future__ import annotations

import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from adjudge.engines.engine import FEWEST_TASKS, MOST_BYTES, MOST_TASKS, PackedTally
from adjudge.engines.spark import TASKS
from adjudge.inference.model import MODELS
from adjudge.inference.params import accurate
from adjudge.kernels.block import Block, Tally, add
from studies.benchmarks.claim import Claim, description

K, AN_ITEM, CORES, NETWORK, BYTES = 5, 5, 4, 1.25e9, 6.6
JUDGES = (1_000, 10_000, 100_000, 1_000_000)
PIECE = 4_000_000  # judgments per measurement
SIZES, EXECUTORS, CROWDS = (10**8, 10**9, 10**10), (10, 50, 200), (10_000, 1_000_000)
BLOCK = 2_000_000
TREE = 8


class Cost(NamedTuple):
    """Measured times and sizes."""

    kernel: dict[int, float]  # seconds per judgment and thread, by number of judges
    adding: float  # seconds per byte of counts that are added
    estimating: float  # seconds per byte of counts in the M-step
    uneven: float  # relative spread of block sizes
    fixed: float  # seconds per iteration, of the engine
    task: float  # seconds per task, of the engine


def measured(fixed: float, task: float) -> Cost:
    """Measure the inputs of the estimate on this machine."""
    kernel = {}
    for judges in JUDGES:
        block, params = _block(judges), accurate(judges, K)
        MODELS["dawid-skene"].assign(block, params)
        kernel[judges] = _least(lambda block=block, params=params: MODELS["dawid-skene"].assign(block, params)) / PIECE
        print(f"{judges:,} judges: {1e9 * kernel[judges]:.1f} ns per judgment", file=sys.stderr)
    tally = Tally(np.ones((1, K)), np.random.default_rng(0).random((10**6, K, K)), 0.0)
    start, estimate = accurate(10**6, K), MODELS["dawid-skene"].estimate
    adding = _least(lambda: add([tally, tally, tally])) / (2 * tally.label.nbytes)
    estimating = _least(lambda: estimate(tally, start)) / tally.label.nbytes
    items = np.bincount(np.random.default_rng(1).integers(0, 500, 10**6 // AN_ITEM), minlength=500)
    uneven = float(items.std() / items.mean()) * math.sqrt(10**6 / AN_ITEM / 500 / (BLOCK / AN_ITEM))
    return Cost(kernel, adding, estimating, uneven, fixed, task)


def predicted(cost: Cost, size: int, executors: int, judges: int) -> dict[str, float]:
    """Return the seconds of an iteration by part."""
    blocks = -(-size // BLOCK)
    tally = 8.0 * judges * K**2
    tasks = min(blocks, max(FEWEST_TASKS, min(MOST_TASKS, int(MOST_BYTES / tally))))  # counts that are sent
    a_task = size / tasks * _interpolated(cost.kernel, judges)
    rounds = math.ceil(tasks / (executors * CORES))
    slowest = 1 + cost.uneven * math.sqrt(BLOCK * tasks / size) * math.sqrt(2 * math.log(max(2, executors * CORES)))
    levels = math.ceil(math.log(max(2, tasks), TREE))
    return {
        "kernel": rounds * a_task * slowest,
        "engine": cost.fixed + min(tasks, TASKS * executors * CORES) * cost.task,
        "network": 2 * tally / NETWORK + levels * TREE * tally / NETWORK,
        "adding": levels * TREE * tally * cost.adding + tally * cost.estimating,
    }


def measure(fixed: float = 0.3, task: float = 0.01) -> list[Claim]:
    """Return the table of estimates, and its inputs."""
    cost = measured(fixed, task)
    rows = []
    for judges in CROWDS:
        for size in SIZES:
            for executors in EXECUTORS:
                parts = predicted(cost, size, executors, judges)
                memory = (size * BYTES / executors + CORES * 16 * judges * K**2 + 8 * judges * K**2) / 1e9
                most = max(parts, key=lambda name: parts[name])
                cells = [f"{parts[name]:.2f}" for name in ("kernel", "engine", "network", "adding")]
                rows.append((f"{judges:,}", f"1e{math.log10(size):.0f}", str(executors), *cells,
                             f"{sum(parts.values()):.1f}", f"{memory:.1f}", most))  # fmt: skip
    head = ("judges", "judgments", "executors", "kernel, s", "engine, s", "network, s", "adding and M-step, s")
    head = (*head, "iteration, s", "GB per executor", "largest part")
    basis = [
        (f"kernel, {judges:,} judges", f"{1e9 * value:.1f} ns per judgment") for judges, value in cost.kernel.items()
    ]
    basis += [
        ("adding counts", f"{cost.adding * 1e9:.2f} s per GB"),
        ("the M-step", f"{cost.estimating * 1e9:.2f} s per GB"),
    ]
    basis += [
        ("block sizes", f"{cost.uneven:.2%} spread"),
        ("engine", f"{cost.fixed:.2f} s per iteration, {1e3 * cost.task:.1f} ms per task"),
    ]
    return [
        Claim("Estimated time of an iteration, up to 10^10", description(__doc__), head, rows),
        Claim("Inputs of the estimate", "Measured on this machine; the engine is Spark on two local workers.",
              ("input", "value"), basis),
        _sent_counts(),
    ]  # fmt: skip


def _sent_counts() -> Claim:
    """Return the share of counts that is sent, if the work of judges is uneven."""
    rows, rng = [], np.random.default_rng(0)
    for judges in (10_000, 100_000, 1_000_000):
        for spread in (0.0, 2.0):
            share = rng.lognormal(0, spread, judges)
            counts = rng.multinomial(BLOCK, share / share.sum())
            label = np.zeros((judges, K, K))
            label[counts > 0] = 1.0
            sent = PackedTally(np.ones((1, K)), label, 0.0).__reduce__()
            size = label.nbytes if sent[0] is Tally else sent[1][2].nbytes + sent[1][1].nbytes
            how = "equal" if not spread else f"log-normal, standard deviation {spread:g}"
            rows.append((f"{judges:,}", how, f"{(counts > 0).mean():.0%}", f"{size / label.nbytes:.0%}"))
    how = (
        f"For a block of {BLOCK:,} judgments: the share of judges with a judgment in it, and the share of the bytes "
        "of its counts that are sent (rows of other judges are left out if they are the majority). K = 5."
    )
    return Claim(
        "Counts that are sent", how, ("judges", "distribution of work", "judges in the block", "bytes sent"), rows
    )


def _interpolated(kernel: dict[int, float], judges: int) -> float:
    """Return the time per judgment for a number of judges, interpolated between those that were measured."""
    return float(np.exp(np.interp(math.log(judges), np.log([*kernel]), np.log([*kernel.values()]))))


def _block(judges: int) -> Block:
    """Return random judgments of a number of judges."""
    rng = np.random.default_rng(0)
    items = PIECE // AN_ITEM
    label = rng.integers(0, K, PIECE, np.uint8)
    cell = (rng.integers(0, judges, PIECE) * K + label).astype(np.uint32)
    start, nothing = np.arange(items + 1) * AN_ITEM, np.zeros(items, np.int32)
    return Block(start, cell, label, nothing, nothing - 1, np.empty(0), judges, K, np.arange(float(K)))


def _least(work: object, rounds: int = 5) -> float:
    """Return the minimum wall time of several calls, on one thread."""
    times = []
    with ThreadPoolExecutor(1) as pool:
        for _ in range(rounds):
            began = time.perf_counter()
            pool.submit(work).result()  # type: ignore[arg-type]
            times.append(time.perf_counter() - began)
    return min(times)


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown())
