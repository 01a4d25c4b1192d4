"""Claim: an EM step of Dawid-Skene takes a fraction of the time of crowd-kit, and no more than a plain C loop.

Same judgments, same run, one thread each, median CPU time of several rounds; 5 judgments per item, 200 per judge. An
EM step includes everything that is repeated: posterior, prevalence, confusion, log-likelihood.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene, MajorityVote

from adjudge.data.judgments import Judgments
from adjudge.data.simulate import simulate
from adjudge.inference.params import accurate
from studies.benchmarks.claim import Claim, cpu_seconds, description
from studies.benchmarks.models import repeated_step

SIZES = (100_000, 1_000_000, 10_000_000)
GOALS = {100_000: 50, 1_000_000: 20, 10_000_000: 20}


def peer_step(judgments: Judgments) -> Callable[[], object]:
    """Return a function that runs one EM step of crowd-kit: the body of the loop in its ``fit``."""
    table = pd.DataFrame({"task": judgments.item(), "worker": judgments.judge, "label": judgments.label})
    peer = DawidSkene()
    probas = MajorityVote().fit_predict_proba(table)
    at = [probas.mean(), peer._m_step(table, probas)]

    def step() -> None:
        probas = peer._e_step(table, *at)
        at[:] = probas.mean(), peer._m_step(table, probas)
        peer._evidence_lower_bound(table, probas, *at)

    return step


def c_step(judgments: Judgments, folder: str) -> Callable[[], object]:
    """Return a function that runs one EM step in plain C."""
    library = Path(folder) / "em_step.so"
    source = Path(__file__).with_name("em_step.c")
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    call = ctypes.CDLL(str(library)).step
    call.restype = ctypes.c_double
    items, J, K = len(judgments.items), len(judgments.judges), len(judgments.scale)
    confusion = np.ascontiguousarray(accurate(J, K).confusion)
    arrays = (np.full(K, 1 / K), confusion, np.empty((J, K, K)), np.empty((items, K)))
    read = (judgments.start, judgments.judge, judgments.label)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*read, *arrays)]
    keep = (arrays, judgments)
    return lambda: call(ctypes.c_int64(items), ctypes.c_int64(J), ctypes.c_int(K), *pointers) if keep else None


def measure(sizes: tuple[int, ...] = SIZES) -> Claim:
    """Measure all sizes for two and five labels."""
    rows = []
    with ThreadPoolExecutor(1) as pool, tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for labels in (2, 5):
                sizes_of = {"items": size // 5, "judges": size // 200, "labels": labels}
                judgments = simulate("dawid-skene", **sizes_of).judgments
                steps = (repeated_step(judgments, "dawid-skene", pool), c_step(judgments, folder), peer_step(judgments))
                for step in steps[:2]:
                    step()  # compiles the kernels
                rounds = (21, 21, 4 if size > 1_000_000 else 9)
                ours, plain, peer = (cpu_seconds(step, n) for step, n in zip(steps, rounds, strict=True))
                rows.append(
                    (
                        f"{size:,}",
                        str(labels),
                        f"{1e3 * ours:,.2f}",
                        f"{1e3 * plain:,.2f}",
                        f"{1e3 * peer:,.1f}",
                        f"{peer / ours:.0f}x (goal {GOALS.get(size, 20)}x)",
                        f"{ours / plain:.2f}",
                    )
                )
                print(" ".join(rows[-1]), file=sys.stderr)
    head = (
        "judgments",
        "labels",
        "adjudge, ms",
        "plain C, ms",
        "crowd-kit, ms",
        "speed-up over crowd-kit",
        "relative to plain C",
    )
    return Claim("One EM step of Dawid-Skene", description(__doc__), head, rows)


if __name__ == "__main__":
    print(measure(tuple(int(float(size)) for size in sys.argv[1:]) or SIZES).markdown())
