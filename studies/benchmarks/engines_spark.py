"""Claim: an iteration on Spark takes at most 1.5 s more than the same iteration in memory, nearly all of it fixed.

Dawid-Skene, five labels, 500 judges, 5 judgments per item; two executors with one core and one Python process each
(`local-cluster[2,1,1024]`), compared with two threads in memory in the same run. Wall time of an iteration, minimum of
several. The fixed part and the part that grows with the judgments are separated by the line through both sizes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from adjudge.data.blocks import Blocks
from adjudge.engines.engine import Engine
from adjudge.engines.spark import Spark
from adjudge.engines.steps import ModelSpec, assignment_step
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.model import MODELS
from adjudge.inference.options import Options
from adjudge.inference.params import Params, accurate
from studies.benchmarks.claim import Claim, description
from studies.benchmarks.engines_dask import simulated_blocks

CLUSTER = "local-cluster[2,1,1024]"
SIZES = (1_000_000, 10_000_000)
ROUNDS = 12
MODEL = MODELS["dawid-skene"]


def seconds(step: Callable[[Params], object], params: Params, rounds: int = ROUNDS) -> float:
    """Return the minimum wall time of a step, after three that do not count."""
    times = []
    for _ in range(rounds + 3):
        began = time.perf_counter()
        step(params)
        times.append(time.perf_counter() - began)
    return min(times[3:])


def engine_seconds(engine: Engine, blocks: Blocks, params: Params) -> float:
    """Return the seconds of an EM iteration of an engine over all blocks."""
    step = assignment_step(ModelSpec(MODEL.name, Options()), MODEL, MODEL.assign)
    return seconds(lambda at: MODEL.estimate(engine.map_sum(blocks, step, at), at), params)


def memory_seconds(blocks: Blocks, params: Params) -> float:
    """Return the seconds of an EM iteration in memory, with two threads."""
    with ThreadPoolExecutor(2) as pool:
        total = total_over(parallel_blocks(blocks.read().block()), pool)
        return seconds(lambda at: MODEL.estimate(total(MODEL.assign, at), at), params)


def line(sizes: tuple[int, ...], times: list[float]) -> tuple[float, float]:
    """Return the fixed seconds of an iteration, and those per 10 million judgments, by the line through two sizes."""
    slope = (times[1] - times[0]) / (sizes[1] - sizes[0])
    return times[0] - slope * sizes[0], slope * 1e7


def measure(sizes: tuple[int, ...] = SIZES) -> Claim:
    """Compare Spark with memory."""
    return beside_memory(Spark(CLUSTER), "Spark", sizes)


def beside_memory(engine: Engine, name: str, sizes: tuple[int, ...] = SIZES) -> Claim:
    """Compare an engine with memory, and close it."""
    times: dict[str, list[float]] = {name: [], "in memory": []}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            blocks = simulated_blocks(size, Path(folder))
            params = accurate(len(blocks.judges), len(blocks.scale))
            times[name].append(engine_seconds(engine, blocks, params))
            times["in memory"].append(memory_seconds(blocks, params))
    engine.close()
    rows = []
    for side, seconds_by_size in times.items():
        fixed, grows = line(sizes, seconds_by_size)
        rows.append([side, *(f"{second:.3f} s" for second in seconds_by_size), f"{fixed:.3f} s", f"{grows:.3f} s"])
    how = description(__doc__)
    head = ["engine", *(f"{size:,} judgments" for size in sizes), "fixed", "per 10,000,000 judgments"]
    return Claim(f"An iteration on {name}", how, head, rows)


if __name__ == "__main__":
    print(measure(sizes=tuple(map(int, sys.argv[1:])) or SIZES).markdown())
