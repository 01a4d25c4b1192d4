"""Claim: judgments beyond memory are fitted on one machine in little more time than judgments in memory.

A table of judgments (five labels, 1,000 judges, 5 judgments per item on average, rows in random order) is written to
Parquet files, converted to blocks, and fitted with Dawid-Skene for a few iterations. Each step runs in its own
process, whose peak resident memory is shown. Blocks are memory-mapped files, which are released after use. For
comparison, the same iteration over as many judgments in memory (at most 10 million), as in `adjudge fit`. Wall time,
two threads.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from studies.benchmarks.claim import RESIDENT, Claim, description, in_new_process

SIZES = (1_000_000, 10_000_000, 100_000_000)
IN_MEMORY = 10_000_000  # the most judgments that are also fitted in memory
PASSES = 6

WRITE = """
import json, sys
from pathlib import Path
import numpy as np
import polars as pl
size, folder = int(sys.argv[1]), Path(sys.argv[2])
items, judges, K, piece = size // 5, 1_000, 5, 5_000_000
rng = np.random.default_rng(0)
skill = rng.uniform(0.4, 0.95, judges)
truth = rng.integers(0, K, items, np.int8)
for number, first in enumerate(range(0, size, piece)):
    many = min(piece, size - first)
    item, judge = rng.integers(0, items, many), rng.integers(0, judges, many)
    right = rng.random(many) < skill[judge]
    label = np.where(right, truth[item], (truth[item] + rng.integers(1, K, many)) % K)
    pl.DataFrame({"item": item, "judge": judge.astype(np.int32), "label": label.astype(np.int8)}).write_parquet(
        folder / f"{number:03}.parquet"
    )
print(json.dumps({}))
"""
SHELVE = (
    RESIDENT
    + """
import json, sys, time
from pathlib import Path
from adjudge.data.make_blocks import Table, make_blocks
files = sorted(Path(sys.argv[1]).glob("*.parquet"))
began, cpu = time.perf_counter(), time.process_time()
blocks = make_blocks(Table(files, {}), sys.argv[2])
print(json.dumps({"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu, "resident": resident(),
                  "blocks": len(blocks.parts),
                  "bytes": sum(file.stat().st_size for file in Path(sys.argv[2]).glob("block*"))}))
"""
)
FIT = (
    RESIDENT
    + """
import json, sys, time
import numpy as np
from adjudge.engines.engine import Threads
from adjudge.engines.fit_blocks import fit_blocks
from adjudge.data.blocks import open_blocks
from adjudge.inference.options import Options
blocks, passes = open_blocks(sys.argv[1]), int(sys.argv[3])
times = []
engine = Threads(2)
fit_blocks(blocks, "dawid-skene", out=sys.argv[2], engine=engine, options=Options(iterations=passes),
           progress=lambda n, e: times.append(time.perf_counter()))
print(json.dumps({"pass": float(np.median(np.diff(times))), "resident": resident()}))
"""
)
MEMORY = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from adjudge.data.blocks import open_blocks
from adjudge.inference.params import accurate
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.model import MODELS
judgments = open_blocks(sys.argv[1]).read()
model, begin = MODELS["dawid-skene"], accurate(len(judgments.judges), 5)
with ThreadPoolExecutor(2) as pool:
    total = total_over(parallel_blocks(judgments.block()), pool)
    params, times = model.estimate(total(model.assign, begin), begin), []
    for _ in range(9):
        began = time.perf_counter()
        params = model.estimate(total(model.assign, params), begin)
        times.append(time.perf_counter() - began)
print(json.dumps({"pass": float(np.median(times))}))
"""


def measure() -> list[Claim]:
    """Measure each size in new processes."""
    rows = []
    best = 0.0  # judgments per second in memory
    for size in SIZES:
        folder = Path(tempfile.mkdtemp(prefix="adjudge-blocks-"))
        try:
            rows.append(_row(size, folder, best))
            best = max(best, rows[-1][1])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(" ".join(rows[-1][0]), file=sys.stderr)
    head = (
        "judgments", "blocks", "bytes per judgment", "conversion, s", "resident, MiB", "iteration in memory, s",
        "iteration on disk, s", "throughput relative to memory (goal .5)", "resident, MiB (goal 2,048)",
    )  # fmt: skip
    return [Claim("Blocks on disk", description(__doc__), head, [row for row, _ in rows])]


def _row(size: int, folder: Path, best: float) -> tuple[tuple[str, ...], float]:
    """Return the row of one size, and the judgments per second in memory."""
    table, blocks, out = folder / "table", folder / "blocks", folder / "fit"
    table.mkdir()
    in_new_process(WRITE, str(size), str(table))
    shelved = in_new_process(SHELVE, str(table), str(blocks))
    shutil.rmtree(table)
    fitted = in_new_process(FIT, str(blocks), str(out), str(PASSES))
    small = size <= IN_MEMORY
    memory = in_new_process(MEMORY, str(blocks))["pass"] if small else size / best
    cells = (f"{size:,}", str(shelved["blocks"]), f"{shelved['bytes'] / size:.1f}", f"{shelved['wall']:.1f}")
    cells += (f"{shelved['resident'] / 2**20:,.0f}", f"{memory:.3f}" if small else f"({memory:.3f})")
    share = memory / fitted["pass"]
    return (*cells, f"{fitted['pass']:.3f}", f"{share:.2f}", f"{fitted['resident'] / 2**20:,.0f}"), size / memory


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown())
