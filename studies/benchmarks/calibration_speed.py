"""Claim: a fit that is calibrated by judgments takes at most three times as long as one that is not.

CPU time of both fits on one thread, one after the other, minimum of three after a first one.
"""

from __future__ import annotations

import sys
import time
import warnings

import adjudge
from adjudge.errors import AdjudgeWarning
from studies.benchmarks.claim import Claim
from studies.benchmarks.model_selection import read_judged

MODELS = ("majority", "one-coin", "dawid-skene", "hybrid-confusion", "glad", "minimax-entropy")
SETS = ("bluebirds", "rte", "web_search", "trec2011_task2")
SIZES = (100_000, 1_000_000)  # of crowds simulated from the model of Dawid and Skene
SLOW, MOST = "minimax-entropy", 100_000  # and the most judgments that it is timed with, since it takes minutes
ROUNDS = 3
GOAL = 3.0


def crowds() -> dict[str, adjudge.Judgments]:
    """Return sets of several sizes, and larger crowds that are simulated."""
    judgments_by_name = {name: read_judged(name)[0] for name in SETS}
    for size in SIZES:
        drawn = adjudge.simulate("dawid-skene", items=size // 5, judges=size // 200, labels=3, per_item=5, seed=1)
        judgments_by_name[f"simulated, {size:,}"] = drawn.judgments
    return judgments_by_name


def seconds(judgments: adjudge.Judgments, model: str, calibrate: str) -> float:
    """Return the CPU time of one fit."""
    began = time.process_time()
    adjudge.fit(judgments, model, inference=None if model == "majority" else "map", calibrate=calibrate, workers=1)
    return time.process_time() - began


def measure() -> Claim:
    """Time every model on every crowd."""
    rows, worst = [], (0.0, "", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        for name, judgments in crowds().items():
            cells = []
            for model in MODELS:
                if model == SLOW and len(judgments) > MOST:
                    cells.append("")
                    continue
                seconds(
                    judgments.take(range(50)), model, "judgments"
                )  # compiles the kernels, or reads them from the cache
                pairs = [[seconds(judgments, model, how) for how in ("none", "judgments")] for _ in range(ROUNDS)]
                plain, hedged = map(min, zip(*pairs, strict=True))
                worst = max(worst, (hedged / plain if model != "majority" else 0.0, model, name))
                cells.append(f"{plain:.3f} + {max(0.0, hedged - plain):.3f} ({hedged / plain:.1f}x)")
                print(name, model, cells[-1], file=sys.stderr)
            rows.append((name, f"{len(judgments):,}", *cells))
    ratio, model, name = worst
    how = (
        "CPU seconds of a fit on one thread, the additional time for calibration by judgments, and the ratio; minimum "
        f"of {ROUNDS} rounds. Calibration fits hybrid-confusion by its mode, simulates judgments about twenty times, "
        "and fits the model to one such crowd, or to three if there are few items. The ratio of a vote is not "
        f"meaningful, because a vote takes almost no time; the largest ratio of the others is {ratio:.1f} (`{model}` "
        f"on `{name}`; goal {GOAL:g})."
    )
    return Claim("Run time of calibration", how, ("crowd", "judgments", *(f"`{each}`" for each in MODELS)), rows)


if __name__ == "__main__":
    print(measure().markdown())
