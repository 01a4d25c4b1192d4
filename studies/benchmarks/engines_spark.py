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

import numpy as np
import polars as pl

from adjudge.data.blocks import Blocks
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.engines.engine import Engine
from adjudge.engines.spark import Spark
from adjudge.engines.steps import ModelSpec, assignment_step
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.options import Options
from adjudge.inference.params import Params, accurate
from adjudge.inference.registry import MODELS
from studies.benchmarks.claim import Claim

CLUSTER = "local-cluster[2,1,1024]"
SIZES = (1_000_000, 10_000_000)
ROUNDS = 12
MODEL = MODELS["dawid-skene"]


def judgments_on_disk(size: int, folder: Path, labels: int = 5, judges: int = 500) -> Blocks:
    """Return simulated judgments as blocks."""
    rng = np.random.default_rng(0)
    truth, skill = rng.integers(0, labels, size // 5), rng.uniform(0.4, 0.95, judges)
    item, judge = np.repeat(np.arange(size // 5), 5), rng.integers(0, judges, size)
    wrong = (truth[item] + rng.integers(1, labels, size)) % labels
    label = np.where(rng.random(size) < skill[judge], truth[item], wrong)
    folder.mkdir()
    pl.DataFrame({"item": item, "judge": judge, "label": label}).write_parquet(folder / "labels.parquet")
    return make_blocks(Table([folder / "labels.parquet"], {}), folder / "blocks")


def seconds(step: Callable[[Params], object], params: Params, rounds: int = ROUNDS) -> float:
    """Return the least wall time of a step, once all that is done only once has been."""
    times = []
    for _ in range(rounds + 3):
        began = time.perf_counter()
        step(params)
        times.append(time.perf_counter() - began)
    return min(times[3:])


def of_a_pass(engine: Engine, blocks: Blocks, params: Params) -> float:
    """Return the seconds of a pass of an engine: the tally of all blocks, and what follows from it."""
    step = assignment_step(ModelSpec(MODEL.name, Options()), MODEL, MODEL.assign)
    return seconds(lambda at: MODEL.estimate(engine.map_sum(blocks, step, at), at), params)


def in_memory(blocks: Blocks, params: Params) -> float:
    """Return the seconds of a pass in memory, by two threads."""
    with ThreadPoolExecutor(2) as pool:
        total = total_over(parallel_blocks(blocks.read().block()), pool)
        return seconds(lambda at: MODEL.estimate(total(MODEL.assign, at), at), params)


def line(sizes: tuple[int, ...], times: list[float]) -> tuple[float, float]:
    """Return the fixed seconds of a pass, and those of 10 million judgments more, by the line through two sizes."""
    slope = (times[1] - times[0]) / (sizes[1] - sizes[0])
    return times[0] - slope * sizes[0], slope * 1e7


def measure(sizes: tuple[int, ...] = SIZES) -> Claim:
    """Measure Spark beside memory."""
    return beside_memory(Spark(CLUSTER), "Spark", sizes)


def beside_memory(engine: Engine, name: str, sizes: tuple[int, ...] = SIZES) -> Claim:
    """Measure an engine beside memory, and close it."""
    times: dict[str, list[float]] = {name: [], "in memory": []}
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            blocks = judgments_on_disk(size, Path(folder) / str(size))
            params = accurate(len(blocks.judges), len(blocks.scale))
            times[name].append(of_a_pass(engine, blocks, params))
            times["in memory"].append(in_memory(blocks, params))
    engine.close()
    rows = []
    for who, found in times.items():
        fixed, grows = line(sizes, found)
        rows.append([who, *(f"{second:.3f} s" for second in found), f"{fixed:.3f} s", f"{grows:.3f} s"])
    how = " ".join((__doc__ or "").split("\n\n")[1].split())
    head = ["engine", *(f"{size:,} judgments" for size in sizes), "fixed", "per 10,000,000 judgments"]
    return Claim(f"An iteration on {name}", how, head, rows)


if __name__ == "__main__":
    print(measure(sizes=tuple(map(int, sys.argv[1:])) or SIZES).markdown())
