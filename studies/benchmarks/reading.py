"""Claim: reading 10 million rows of Parquet as judgments takes at most 3 times as long as polars needs to load them.

Wall time of the call alone, each in a new process, median of five, with the two sides taking turns. Ids are strings;
rows are shuffled, as in a log, or grouped by item.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

from studies.benchmarks.claim import Claim, description, in_new_process

ROWS = 10_000_000
LOAD = """
import json, sys, time
import polars as pl
began = time.perf_counter()
frame = pl.read_parquet(sys.argv[1], columns=["item", "judge", "label"])
print(json.dumps(time.perf_counter() - began))
"""
READ = """
import json, sys, time
import polars as pl
from adjudge.data.read import read
read(pl.DataFrame({"item": ["a", "b", "a"], "judge": ["x", "y", "y"], "label": ["0", "1", "0"]}))  # compiled
began = time.perf_counter()
judgments = read(sys.argv[1])
print(json.dumps(time.perf_counter() - began))
"""


def table(rows: int, shuffled: bool) -> pl.DataFrame:
    """Return judgments with text ids, 5 per item and 200 per judge."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(rows // 5), 5)
    columns = {"item": rng.permutation(item) if shuffled else item}
    columns |= {"judge": rng.integers(0, rows // 200, rows), "label": rng.integers(0, 5, rows)}
    names = {"item": "document-{}", "judge": "worker{}", "label": "{}"}
    return pl.DataFrame(columns).select(pl.format(names[name], name).alias(name) for name in columns)


def measure(rows: int = ROWS) -> Claim:
    """Time both libraries on both orders of rows."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for order, shuffled in (("shuffled", True), ("grouped by item", False)):
            path = Path(folder) / "judgments.parquet"
            table(rows, shuffled).write_parquet(path)
            times = [(in_new_process(LOAD, str(path)), in_new_process(READ, str(path))) for _ in range(5)]
            load, read = (median(side) for side in zip(*times, strict=True))
            cells.append((f"{rows:,}, {order}", f"{load:.2f}", f"{read:.2f}", f"{read / load:.2f}x (goal 3x)"))
            print(" ".join(cells[-1]), file=sys.stderr)
    head = ("rows", "polars, s", "adjudge, s", "ratio")
    return Claim("Reading Parquet", description(__doc__), head, cells)


if __name__ == "__main__":
    print(measure().markdown())
