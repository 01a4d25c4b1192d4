"""Claim: the time of an EM step is linear in the number of judgments, and a fit of 10 million needs little memory.

CPU time of one EM step per judgment (one thread, five labels, 5 judgments per item, 200 per judge), the memory that a
fit needs in addition to its judgments, and the peak resident memory of a new process that simulates and fits them.
"""

from __future__ import annotations

import sys

from studies.benchmarks.claim import RESIDENT, Claim, description, in_new_process

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
PROGRAM = (
    RESIDENT
    + """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import adjudge
from adjudge.inference.params import accurate
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.model import MODELS

size = int(sys.argv[1])
small = adjudge.simulate("dawid-skene", items=60_000, judges=6_000).judgments
adjudge.fit(small, "dawid-skene", iterations=12)  # everything is compiled and loaded
judgments = adjudge.simulate("dawid-skene", items=size // 5, judges=size // 200).judgments
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")  # the high-water mark starts again from here
before = resident()
adjudge.fit(judgments, "dawid-skene", iterations=12, workers=2)
after = resident()
model = MODELS["dawid-skene"]
with ThreadPoolExecutor(1) as pool:
    total = total_over(parallel_blocks(judgments.block()), pool)
    begin = accurate(len(judgments.judges), 5)
    params = model.estimate(total(model.assign, begin), begin)
    times = []
    for _ in range(9):
        began = time.process_time()
        params = model.estimate(total(model.assign, params), begin)
        times.append(time.process_time() - began)
print(json.dumps({"step": float(np.median(times)), "extra": after - before, "resident": after}))
"""
)


def measure() -> Claim:
    """Measure each size in a new process."""
    rows = []
    for size in SIZES:
        result = in_new_process(PROGRAM, str(size))
        extra = f"{max(0, result['extra']) / size:.0f}" if size >= 1_000_000 else "-"
        rows.append((f"{size:,}", f"{1e9 * result['step'] / size:.1f}", extra, f"{result['resident'] / 2**20:,.0f}"))
        print(" ".join(rows[-1]), file=sys.stderr)
    head = ("judgments", "ns per judgment and step", "extra bytes per judgment (goal 40)", "resident, MiB (goal 2,048)")
    return Claim("Scaling", description(__doc__), head, rows)


if __name__ == "__main__":
    print(measure().markdown())
