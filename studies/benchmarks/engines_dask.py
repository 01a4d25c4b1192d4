"""Claim: an EM step of Dawid-Skene over blocks with two Dask workers takes at most three times as long as in memory.

The same judgments, five labels, 500 judges, five judgments per item; seconds per iteration on two cores, minimum of
several rounds that take turns. The fixed part and the part that is proportional to the judgments (for ten million) are
separated by the line through both sizes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import polars as pl

from adjudge.data.blocks import Blocks
from adjudge.data.make_blocks import Table, make_blocks
from adjudge.data.simulate import simulate
from adjudge.engines.dask import Dask
from adjudge.engines.engine import Engine, Threads
from adjudge.engines.steps import ModelSpec, assignment_step
from adjudge.inference.infer import initial_params, parallel_blocks, total_over
from adjudge.inference.model import MODELS
from adjudge.inference.options import Options
from adjudge.inference.params import accurate
from studies.benchmarks.claim import Claim, description

SIZES = (1_000_000, 10_000_000)
MODEL = "dawid-skene"
WORKERS = 2
ROUNDS = 30
GOAL = 3.0  # times the step in memory


def simulated_blocks(size: int, folder: Path) -> Blocks:
    """Return simulated judgments as blocks; a table that exists in the folder is reused."""
    file = folder / f"{size}.parquet"
    if not file.exists():
        judgments = simulate(MODEL, items=size // 5, judges=500, labels=5, per_item=5).judgments
        columns = {"item": judgments.item(), "judge": judgments.judge, "label": judgments.label}
        pl.DataFrame(columns).write_parquet(file)
    return make_blocks(Table([file], {}), folder / str(size))


def steps(blocks: Blocks, engines: Mapping[str, Engine], pool: ThreadPoolExecutor) -> dict[str, Callable[[], object]]:
    """Return functions that run one EM step: in memory, and by each engine over blocks."""
    model, spec = MODELS[MODEL], ModelSpec(MODEL, Options(inference="map"))
    total = total_over(parallel_blocks(blocks.read().block()), pool)
    begin = initial_params(model, total, accurate(len(blocks.judges), len(blocks.scale)), None)

    def by(engine: Engine) -> Callable[[], object]:
        return lambda: model.estimate(engine.map_sum(blocks, assignment_step(spec, model, model.assign), begin), begin)

    in_memory = {"in memory": lambda: model.estimate(total(model.assign, begin), begin)}
    return in_memory | {name: by(engine) for name, engine in engines.items()}


def least(works: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the minimum seconds of each function; they take turns, so that other load affects all alike."""
    seconds = dict.fromkeys(works, float("inf"))
    for n in range(rounds + 2):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            if n > 1:  # after compilation
                seconds[name] = min(seconds[name], time.perf_counter() - began)
    return seconds


def measure(sizes: tuple[int, int] = SIZES, folder: str | None = None, rounds: int = ROUNDS) -> Claim:
    """Measure both sizes, and separate the fixed and the proportional part."""
    with ExitStack() as stack:
        blocks_folder = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        pool = stack.enter_context(ThreadPoolExecutor(WORKERS))
        engines = {"threads, on disk": Threads(WORKERS), f"Dask, {WORKERS} workers": Dask(workers=WORKERS)}
        for engine in engines.values():
            stack.enter_context(closing(engine))
        small, large = (least(steps(simulated_blocks(size, blocks_folder), engines, pool), rounds) for size in sizes)
    rows = []
    for name in small:
        growing = max(0.0, (large[name] - small[name]) / (sizes[1] - sizes[0]) * sizes[1])
        cells = (small[name], large[name], large[name] - growing, growing)
        rows.append((name, *(f"{1e3 * cell:,.1f}" for cell in cells), f"{large[name] / large['in memory']:.2f}"))
    head = (
        "engine",
        *(f"{size:,}, ms" for size in sizes),
        "fixed, ms",
        "proportional, ms",
        f"relative to memory (goal {GOAL:.0f})",
    )
    return Claim("One EM step of Dawid-Skene with Dask", description(__doc__), head, rows)


if __name__ == "__main__":
    print(measure(folder=sys.argv[1] if len(sys.argv) > 1 else None).markdown())
